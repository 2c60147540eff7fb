"""The dual bound, rounding included: the one formula everything trusts.

For any dual point the node's optimum is at least

    D(p) = Σ w_i H(p_i) + Σ_in (μ - q_j) - Σ_{κ largest free} (q_j - μ)₊,      q_j = γ c_j² / 4,  c = Aᵀα.

What a computer evaluates is never quite ``D``, so everything here errs downwards: every ``|c_j|`` is widened by the
most that rounding can have taken from it, and the accumulated error of the sums is subtracted. The result is a lower
bound on the optimum in real arithmetic. Pruning and screening use nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from safescreen.design import UNIT
from safescreen.numerics import absolute_total, compiled, dot, logistic_terms, total, two_largest_cuts

if TYPE_CHECKING:
    from safescreen.problem import Problem

FREE, IN, OUT = 0, 1, -1

_NEVER = 1e300  # the margin of a branch that cannot exist
_EXACT_COLUMNS = 1000  # at most so many columns are summed exactly


@compiled
def dual_point(y, w, intercept, u, point):
    """Evaluate loss and dual point at the linear predictor ``u``, with the intercept first moved to its best value.

    Returns the loss, the entropy rounded down, ``reach`` (rounding moves ``c_j`` by at most ``reach *
    data.error[j]``) and the shift of the intercept, which is already added to ``u``.
    """
    shift = _logistic(y, w, intercept, u, point)
    m = u.size
    loss = total(point.loss)
    entropy = loss + total(point.cross)
    slack = (m + 24.0) * UNIT * (loss + absolute_total(point.cross))
    growth = 1.0
    if intercept:
        entropy, slack = _balance(y, w, u, point, slack)
        growth = 4.0
    norm = np.sqrt(dot(point.alpha, point.alpha)) * (1.0 + 1e-9)
    return loss, entropy - slack, growth * norm, shift


@compiled
def _logistic(y, w, intercept, u, point):
    """Logistic terms at ``u``; with an intercept, at the best shift of ``u`` (Newton steps on one number)."""
    shift = 0.0
    for attempt in range(60):
        logistic_terms(u, y, w, point.p, point.alpha, point.curvature, point.loss, point.cross, point.scratch)
        if not intercept:
            break
        gradient = total(point.alpha)
        bend = total(point.curvature)
        size = absolute_total(point.alpha)
        if abs(gradient) <= 1e-13 * size or bend <= 0.0 or attempt == 59:
            break
        move = min(max(gradient / bend, -2.0), 2.0)
        shift += move
        for i in range(u.size):
            u[i] += move
    return shift


@compiled
def _balance(y, w, u, point, slack):
    """Scale one class down until ``Σ α = 0``, as the dual of an intercept demands; return entropy and error bound.

    Scaling down keeps ``p`` in [0, 1], so the bound stays valid. The floats sum to zero only up to rounding. The
    exact point that does sum to zero differs by a relative 3 m u at most, which the enlarged error bounds cover.
    """
    m = u.size
    positive, negative = 0.0, 0.0
    for i in range(m):
        if y[i] > 0.0:
            positive += point.alpha[i]
        else:
            negative -= point.alpha[i]
    if positive == negative:
        factor, side = 1.0, 1.0
    elif positive > negative:
        factor, side = negative / positive, 1.0
    else:
        factor, side = positive / negative, -1.0
    log_factor = np.log(factor) if factor > 0.0 else 0.0
    entropy, magnitude = 0.0, 0.0
    for i in range(m):
        a = y[i] * u[i]
        whole = point.loss[i] + point.cross[i]
        size = point.loss[i] + abs(point.cross[i])
        if y[i] == side and factor < 1.0:
            point.alpha[i] *= factor
            q = point.p[i] * factor
            if q > 0.0:
                rest = 1.0 - q
                log_q = log_factor - max(a, 0.0) - np.log1p(np.exp(-abs(a)))
                log_rest = np.log1p(-q) if q < 0.5 else np.log(max(rest, 1e-300))
                whole = -w[i] * (q * log_q + rest * log_rest)
                size = w[i] * (q * (abs(log_q) + 8.0) + 4.0)
            else:
                whole, size = 0.0, w[i]
        entropy += whole
        magnitude += size
    return entropy, (8.0 * m + 64.0) * UNIT * magnitude + slack


@compiled
def dual_bound(error, gamma, mu, features, count, status, c, entropy, reach, kappa, q, scratch):
    """Safe lower bound over ``features[:count]`` (none of them out), and the two cuts that screening needs.

    Fills ``q`` (rounded up). The cuts are the κ-th and the next largest gain ``(q - μ)₊`` among free features.
    """
    quarter = 0.25 * gamma * (1.0 + 16.0 * UNIT)
    fixed, gains, magnitude, free = 0.0, 0.0, entropy, 0
    for i in range(count):
        j = features[i]
        widened = abs(c[j]) + reach * error[j]
        q[j] = quarter * widened * widened
        if status[j] == IN:
            fixed += mu - q[j]
            magnitude += mu + q[j]
        elif q[j] > mu:
            gain = q[j] - mu
            scratch[free] = gain
            gains += gain
            free += 1
    if free <= kappa:
        last, following = 0.0, 0.0
        for i in range(free if free == kappa else 0):
            last = scratch[i] if i == 0 else min(last, scratch[i])
    else:
        last, following = two_largest_cuts(scratch, free, kappa)
        gains = 0.0
        for i in range(kappa):
            gains += scratch[i]
    magnitude += gains
    slack = 2.0 * (count + 8.0) * UNIT * magnitude
    return entropy + fixed - gains - slack, last, following


@dataclass(frozen=True)
class Fixings:
    """Features decided in or out, as masks; everything else is free."""

    included: npt.NDArray[np.bool_]
    excluded: npt.NDArray[np.bool_]

    @property
    def free(self) -> npt.NDArray[np.bool_]:
        """The features still open."""
        return ~(self.included | self.excluded)


@dataclass(frozen=True)
class Bound:
    """What one dual point proves about a whole problem, rounding included."""

    value: float  # no model is better than this
    gain: npt.NDArray[np.float64]  # q - μ per feature, rounded up
    last: float  # the κ-th largest gain among free features, 0 if there are fewer
    following: float  # and the next one
    correlation: npt.NDArray[np.float64]
    dual: npt.NDArray[np.float64]
    sharp: bool = False  # whether some columns were summed exactly

    def raised(self, fixings: Fixings) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float64]]:
        """The relaxation's own choice for each feature, and the bound once that choice is flipped.

        Flipping a chosen feature loses its gain and lets the next one in; flipping another one displaces the last that
        was chosen. Decided features are never flipped: their entry is minus infinity.
        """
        chosen = (self.gain > 0.0) & (self.gain >= self.last)
        margin = np.where(chosen, self.gain - self.following, self.last - self.gain)
        slack = 4.0 * UNIT * (abs(self.value) + np.abs(self.gain) + self.last + self.following)
        return chosen, np.where(fixings.free, self.value + margin - slack, -np.inf)

    def decide(self, fixings: Fixings, upper: float) -> Fixings:
        """Decide every free feature on which one branch cannot hold an optimum. Strict: a tie proves nothing."""
        chosen, raised = self.raised(fixings)
        decided = fixings.free & (raised > upper)
        return Fixings(fixings.included | (decided & chosen), fixings.excluded | (decided & ~chosen))


def bound_at(problem: Problem, fixings: Fixings, dual: npt.NDArray[np.float64]) -> Bound:
    """The safe lower bound that a dual point ``p`` in [0, 1] gives for the whole problem: one pass over the matrix."""
    p, alpha = _dual_point(problem, dual)
    correlation = problem.design.correlations(alpha)
    error, drift = _correlation_errors(problem, alpha)
    return _bound(problem, fixings, p, correlation, np.abs(correlation) + error + drift)


def sharp_bound_at(problem: Problem, fixings: Fixings, dual: npt.NDArray[np.float64]) -> Bound:
    """The same bound, with the columns that lose most to rounding summed exactly: slower, for badly scaled data."""
    p, alpha = _dual_point(problem, dual)
    correlation = problem.design.correlations(alpha)
    error, drift = _correlation_errors(problem, alpha)
    size = np.abs(correlation)
    cost = 0.5 * problem.gamma * size * error
    relevant = fixings.included | (fixings.free & (_gain(problem, size + error + drift) > 0.0))
    columns = np.flatnonzero(relevant)
    columns = columns[np.argsort(-cost[columns], kind="stable")[:_EXACT_COLUMNS]]
    correlation[columns], error[columns] = problem.design.exact_correlations(columns, alpha)
    bound = _bound(problem, fixings, p, correlation, np.abs(correlation) + error + drift)
    return replace(bound, sharp=True)


def _dual_point(
    problem: Problem, dual: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """A feasible dual point near the given one, as ``p`` and as ``α``."""
    p = np.clip(dual, 0.0, 1.0)
    p = balanced(problem, p) if problem.fit_intercept else p
    return p, problem.y * (problem.weights * p)


def _correlation_errors(
    problem: Problem, alpha: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """How far ``Aᵀα`` can be off by rounding, and by the distance to an exactly balanced dual point."""
    reach = float(np.linalg.norm(alpha)) * (1.0 + 1e-9)
    imbalance = _imbalance(problem, alpha) if problem.fit_intercept else 0.0
    return reach * problem.design.error, np.asarray(reach * imbalance * problem.design.norms)


def _bound(
    problem: Problem,
    fixings: Fixings,
    p: npt.NDArray[np.float64],
    correlation: npt.NDArray[np.float64],
    widened: npt.NDArray[np.float64],
) -> Bound:
    """The bound from correlations that are rounded up."""
    gain = _gain(problem, widened)
    kappa = problem.k - int(np.count_nonzero(fixings.included))
    gains = np.maximum(gain[fixings.free], 0.0)
    last, following = 0.0, 0.0
    if kappa < gains.size:
        gains = np.partition(gains, [i for i in (gains.size - kappa - 1, gains.size - kappa) if i < gains.size])
        following = float(gains[gains.size - kappa - 1])
        gains = gains[gains.size - kappa :]
        last = float(gains[0]) if kappa else _NEVER
    elif kappa == gains.size and kappa:
        last = float(gains.min())
    terms = (
        entropy_below(problem, p), -math.fsum(gain[fixings.included].tolist()), -math.fsum(gains[gains > 0.0].tolist())
    )  # fmt: skip
    value = math.fsum(terms) - 8.0 * UNIT * math.fsum(map(abs, terms))
    return Bound(value, gain, last, following, correlation, p)


def _gain(problem: Problem, widened: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """``q - μ`` from correlations that are rounded up."""
    return np.asarray(0.25 * problem.gamma * (1.0 + 16.0 * UNIT) * widened * widened - problem.mu)


def _imbalance(problem: Problem, alpha: npt.NDArray[np.float64]) -> float:
    """Relative distance to a dual point with exactly ``Σ α = 0``: one class scaled by this much is one."""
    smaller = min(math.fsum(alpha[problem.y > 0.0].tolist()), -math.fsum(alpha[problem.y < 0.0].tolist()))
    return abs(math.fsum(alpha.tolist())) / smaller * (1.0 + 1e-9) if smaller > 0.0 else 1.0


def entropy_below(problem: Problem, p: npt.NDArray[np.float64]) -> float:
    """``Σ w H(p)`` minus all that rounding can have added, the distance to an exactly balanced point included."""
    rest = 1.0 - p
    log_rest = np.log1p(-np.minimum(p, 0.5))  # accurate for small p, where rest has lost the digits of p
    log_p, log_high = np.log(np.maximum(p, 1e-300)), np.log(np.maximum(rest, 1e-300))
    terms = -p * log_p - rest * np.where(p < 0.5, log_rest, log_high)
    spread = p * np.abs(log_p - log_high)  # change per relative change of p
    drift = 4.0 * UNIT
    if problem.fit_intercept:
        drift += 2.0 * _imbalance(problem, problem.y * (problem.weights * p))
    errors = 16.0 * UNIT * terms + 64.0 * UNIT * (p >= 0.5) + drift * (spread + p * p)
    weighted = problem.weights * (terms - errors)
    return math.fsum(weighted.tolist()) - 4.0 * UNIT * float(np.abs(weighted).sum()) * (1.0 + 1e-9)


def balanced(problem: Problem, p: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Scale the heavier class down so that ``Σ α = 0``, as the dual of an intercept demands."""
    mass = problem.weights * p
    upper = problem.y > 0.0
    positive, negative = math.fsum(mass[upper].tolist()), math.fsum(mass[~upper].tolist())
    if positive > negative:
        return np.where(upper, p * (negative / positive), p)
    if negative > positive:
        return np.where(upper, p, p * (positive / negative))
    return p
