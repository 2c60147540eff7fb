"""The dual bound of a whole problem, rounding included: the one formula everything trusts.

For any dual point the optimum is at least

    D(p) = Σ w_i H(p_i) + Σ_in (μ - q_j) - Σ_{κ largest free} (q_j - μ)₊,      q_j = γ c_j² / 4,  c = Aᵀα.

What a computer evaluates is never quite ``D``, so everything here errs downwards: every ``|c_j|`` is widened by the
most that rounding can have taken from it, and the accumulated error of the sums is subtracted. The result is a lower
bound on the optimum in real arithmetic. Pruning and screening use nothing else. Its compiled twin, for the nodes of a
search, is :mod:`safescreen.kernels.dual_bound`; a test holds one against the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from safescreen.arrays import BoolArray, FloatArray
from safescreen.problem import Problem
from safescreen.rounding import UNIT
from safescreen.tuning import EXACT_COLUMNS, EXACT_ENTRIES

NEVER = 1e300
"""The gain that a feature would have to displace where no place is left: that branch cannot exist."""


@dataclass(frozen=True)
class Fixings:
    """Features decided in or out, as masks; everything else is free."""

    included: BoolArray
    excluded: BoolArray

    @classmethod
    def given(cls, problem: Problem) -> Fixings:
        """What the user has decided, and the data themselves: constant columns."""
        return cls(problem.included, problem.excluded)

    @property
    def free(self) -> BoolArray:
        """The features still open."""
        return ~(self.included | self.excluded)


@dataclass(frozen=True)
class Bound:
    """What one dual point proves about a whole problem, rounding included."""

    value: float  # no model is better than this
    gain: FloatArray  # q - μ per feature, rounded up
    kth_gain: float  # the κ-th largest gain among free features, 0 if there are fewer
    next_gain: float  # and the next one
    correlation: FloatArray
    dual: FloatArray
    sharp: bool = False  # whether some columns were summed exactly


def trivial_bound(problem: Problem) -> float:
    """What needs no dual point: no loss or ridge is negative, and the features the user includes have their price."""
    return problem.mu * problem.include.size * (1.0 - 4.0 * UNIT)


def bound_at(problem: Problem, fixings: Fixings, dual: FloatArray) -> Bound:
    """The safe lower bound that a dual point ``p`` in [0, 1] gives for the whole problem: one pass over the matrix."""
    p, alpha = _dual_point(problem, dual)
    correlation = problem.design.correlations(alpha)
    error, drift = _correlation_errors(problem, alpha)
    return _bound(problem, fixings, p, correlation, np.abs(correlation) + error + drift)


def bound_without_matrix(problem: Problem) -> Bound:
    """What holds without a look at the matrix: no loss is negative, and every included feature has its price.

    It is the bound of the dual point zero, at which all correlations are zero. The point that stands for it is next to
    it, so that a checker of proofs can balance it.
    """
    near_zero = 1e-200 * problem.loss.null_dual(problem.y, problem.weights, problem.fit_intercept)
    gain = np.full(problem.n_features, -problem.mu)
    return Bound(trivial_bound(problem), gain, 0.0, 0.0, np.zeros(problem.n_features), near_zero)


def sharp_bound_at(problem: Problem, fixings: Fixings, dual: FloatArray) -> Bound:
    """The same bound, with the columns that lose most to rounding summed exactly: slower, for badly scaled data."""
    p, alpha = _dual_point(problem, dual)
    correlation = problem.design.correlations(alpha)
    error, drift = _correlation_errors(problem, alpha)
    size = np.abs(correlation)
    cost = 0.5 * problem.gamma * size * error
    relevant = fixings.included | (fixings.free & (_gain(problem, size + error + drift) > 0.0))
    columns = np.flatnonzero(relevant)
    most = min(EXACT_COLUMNS, max(EXACT_ENTRIES // problem.n_samples, 1))
    columns = columns[np.argsort(-cost[columns], kind="stable")[:most]]
    correlation[columns], error[columns] = problem.design.exact_correlations(columns, alpha)
    bound = _bound(problem, fixings, p, correlation, np.abs(correlation) + error + drift)
    return replace(bound, sharp=True)


def _dual_point(problem: Problem, dual: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A feasible dual point near the given one, as ``p`` and as ``α``."""
    p = np.clip(dual, 0.0, 1.0)
    p = problem.loss.balanced(problem.y, problem.weights, p) if problem.fit_intercept else p
    return p, problem.y * (problem.weights * p)


def _correlation_errors(problem: Problem, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How far ``Aᵀα`` can be off by rounding, and by the distance to an exactly balanced dual point."""
    scale = float(np.linalg.norm(alpha)) * (1.0 + 1e-9)
    imbalance = _imbalance(problem, alpha) if problem.fit_intercept else 0.0
    return scale * problem.design.error, np.asarray(scale * imbalance * problem.design.norms)


def _bound(
    problem: Problem,
    fixings: Fixings,
    p: FloatArray,
    correlation: FloatArray,
    widened: FloatArray,
) -> Bound:
    """The bound from correlations that are rounded up."""
    gain = _gain(problem, widened)
    kappa = problem.k - int(np.count_nonzero(fixings.included))
    gains = np.maximum(gain[fixings.free], 0.0)
    kth_gain, next_gain = 0.0, 0.0
    if kappa < gains.size:
        gains = np.partition(gains, [i for i in (gains.size - kappa - 1, gains.size - kappa) if i < gains.size])
        next_gain = float(gains[gains.size - kappa - 1])
        gains = gains[gains.size - kappa :]
        kth_gain = float(gains[0]) if kappa else NEVER
    elif kappa == gains.size and kappa:
        kth_gain = float(gains.min())
    terms = entropy_below(problem, p), -_sum(gain[fixings.included]), -_sum(gains[gains > 0.0])
    value = math.fsum(terms) - 8.0 * UNIT * math.fsum(map(abs, terms))
    return Bound(value, gain, kth_gain, next_gain, correlation, p)


def _sum(gains: FloatArray) -> float:
    """Their exact sum, rounded; infinite where badly scaled columns make it so."""
    try:
        return math.fsum(gains.tolist())
    except OverflowError:
        return math.inf


def _gain(problem: Problem, widened: FloatArray) -> FloatArray:
    """``q - μ`` from correlations that are rounded up."""
    with np.errstate(over="ignore"):
        return np.asarray(0.25 * problem.gamma * (1.0 + 16.0 * UNIT) * widened * widened - problem.mu)


def _imbalance(problem: Problem, alpha: FloatArray) -> float:
    """Relative distance to a dual point with exactly ``Σ α = 0``: one class scaled by this much is one."""
    smaller = min(math.fsum(alpha[problem.y > 0.0].tolist()), -math.fsum(alpha[problem.y < 0.0].tolist()))
    return abs(math.fsum(alpha.tolist())) / smaller * (1.0 + 1e-9) if smaller > 0.0 else 1.0


def entropy_below(problem: Problem, p: FloatArray) -> float:
    """The loss's part of the bound at ``p``, from below, the distance to an exactly balanced point included."""
    imbalance = _imbalance(problem, problem.y * (problem.weights * p)) if problem.fit_intercept else 0.0
    return problem.loss.conjugate_below(problem.weights, p, imbalance)
