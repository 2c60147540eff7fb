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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from safescreen.arrays import BoolArray, FloatArray, IndexArray
from safescreen.exact_sums import exact_sum
from safescreen.problem import Problem
from safescreen.rounding import UNIT
from safescreen.tuning import EXACT_COLUMNS, EXACT_ENTRIES

FEATURES_AT_A_TIME = 1 << 15
"""So many that a formula of several steps over all features stays in a core's cache between them."""

STRETCH = 1 << 10
"""Features whose largest value stands for them, where the largest of all are sought."""

SHORTER = tuple(0.85**power for power in range(1, 33))
"""Lengths to which a dual point is shortened."""

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


@dataclass(frozen=True)
class Decided:
    """What is decided in a node of a search that cannot hold all columns: masks would be too long for every node."""

    included: IndexArray  # all features that are in
    rows: FloatArray  # (included, m): their dense columns
    excluded: IndexArray  # features that are out here and not everywhere
    undecided: BoolArray  # (features,): what is free in the whole tree, but for paths; shared by all nodes
    n_free: int  # none, where no place is left for them

    def free(self, features: IndexArray) -> BoolArray:
        """Which of these features are free."""
        if self.n_free == 0:
            return np.zeros(features.size, np.bool_)
        free = self.undecided[features]
        if self._path.size:
            places = np.minimum(np.searchsorted(self._path, features), self._path.size - 1)
            free &= self._path[places] != features
        return np.asarray(free)

    @cached_property
    def _path(self) -> IndexArray:
        """All that is decided here, sorted."""
        return np.sort(np.concatenate([self.included, self.excluded]))


@dataclass(frozen=True)
class ListedBound:
    """What one dual point proves about a node, from the strongest features alone."""

    value: float  # no model of the node is better than this
    features: IndexArray  # the strongest free ones
    widened: FloatArray  # their correlations, rounded up
    gain: FloatArray  # q - μ of each, rounded up
    kth_gain: float  # as in `Bound`; where the list is too short to tell, so that they prove nothing
    next_gain: float
    dropped: int  # listed features that are decided
    complete: bool  # False if features that are not listed may count, and a longer list give a better bound


def trivial_bound(problem: Problem) -> float:
    """What needs no dual point: no loss or ridge is negative, and the features the user includes have their price."""
    return problem.mu * problem.include.size * (1.0 - 4.0 * UNIT)


def bound_at(problem: Problem, fixings: Fixings, dual: FloatArray) -> Bound:
    """The safe lower bound that a dual point ``p`` in [0, 1] gives for the whole problem: one pass over the matrix."""
    p, alpha = _dual_point(problem, dual)
    correlation = problem.design.correlations(alpha)
    return _bound(problem, fixings, p, correlation, _gains(problem, alpha, correlation))


@dataclass(frozen=True)
class Group:
    """Some features, of which a model may use a few at most; those decided beforehand do not count as members."""

    members: BoolArray
    most: int


def group_bound_at(problem: Problem, group: Group, dual: FloatArray) -> Bound:
    """The same for all models that use at most ``group.most`` features of the group: one pass over the matrix."""
    return regrouped(problem, group, bound_at(problem, Fixings.given(problem), dual))


def regrouped(problem: Problem, group: Group, bound: Bound) -> Bound:
    """What the dual point of a bound proves about a group, without another pass.

    The largest gains that such a model can have together are ``s`` of the group and ``κ - s`` others, for some ``s``.
    """
    included, free = np.flatnonzero(problem.included), Fixings.given(problem).free
    kappa = problem.k - included.size
    inside = _descending(np.where(free & group.members, bound.gain, 0.0), min(group.most, kappa))
    others = _descending(np.where(free & ~group.members, bound.gain, 0.0), kappa)
    sums = [_sum(np.append(inside[:s], others[: kappa - s])) for s in range(inside.size + 1)]
    largest_sum = float(np.max(sums))  # which keeps what is not a number
    value = _value(entropy_below(problem, bound.dual), _sum(bound.gain[included]), largest_sum)
    return replace(bound, value=value)


def _descending(gains: FloatArray, count: int) -> FloatArray:
    """At most ``count`` of the largest gains, those that are no gains left out; what is no number comes first."""
    chosen = largest(gains, min(count, gains.size)) if count else np.empty(0)
    chosen = chosen[~(chosen <= 0.0)]
    return np.sort(chosen)[::-1]


def bound_without_matrix(problem: Problem) -> Bound:
    """What holds without a look at the matrix: no loss is negative, and every included feature has its price.

    It is the bound of the dual point zero, at which all correlations are zero. The point that stands for it is next to
    it, so that a checker of proofs can balance it.
    """
    near_zero = 1e-200 * problem.loss.null_dual(problem.y, problem.weights, problem.fit_intercept)
    gain = np.full(problem.n_features, -problem.mu)
    return Bound(trivial_bound(problem), gain, 0.0, 0.0, np.zeros(problem.n_features), near_zero)


def shorter_bound_at(problem: Problem, fixings: Fixings, bound: Bound) -> Bound:
    """The bound at a multiple of a dual point, which is better where columns count that the point knows nothing of.

    Their cost falls with the square of the length, the entropy about in proportion. One pass for the best of a few.
    """
    kappa, free = problem.k - int(np.count_nonzero(fixings.included)), fixings.free
    gains = largest(np.where(free, bound.gain, -problem.mu), min(kappa, free.size)) if kappa else np.empty(0)
    q, inside = gains + problem.mu, bound.gain[fixings.included] + problem.mu

    def about(length: float) -> float:
        square = length * length
        lost = float(np.maximum(square * q - problem.mu, 0.0).sum() + (square * inside - problem.mu).sum())
        return entropy_below(problem, length * bound.dual) - lost

    return bound_at(problem, fixings, max(SHORTER, key=about) * bound.dual)


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
    gain = _gain(problem, np.abs(correlation) + error + drift)
    return replace(_bound(problem, fixings, p, correlation, gain), sharp=True)


def bounds_of_nodes(
    problem: Problem, nodes: Sequence[Decided], duals: Sequence[FloatArray], count: int
) -> list[ListedBound]:
    """The safe lower bound of each node at its dual point, from ``count`` features per point: one pass for all of them.

    Nothing that is not listed has a larger correlation than the last one that is, so that as many of those as there
    are places left stand for what is not known.
    """
    points = [_dual_point(problem, dual) for dual in duals]
    drifts = [_imbalance(problem, alpha) if problem.fit_intercept else 0.0 for _, alpha in points]
    alphas, count = np.array([alpha for _, alpha in points]), min(count, problem.n_features)
    lists = problem.design.strongest(alphas, np.array(drifts), count)
    return [
        _listed_bound(problem, node, point, drift, (features, widened))
        for node, point, drift, features, widened in zip(nodes, points, drifts, *lists, strict=True)
    ]


def bound_of_leaf(problem: Problem, leaf: Decided, dual: FloatArray) -> ListedBound:
    """The same for a node without free features, which needs no pass."""
    p, alpha = _dual_point(problem, dual)
    drift = _imbalance(problem, alpha) if problem.fit_intercept else 0.0
    return _listed_bound(problem, leaf, (p, alpha), drift, (np.empty(0, np.int64), np.empty(0)))


def _listed_bound(
    problem: Problem,
    node: Decided,
    point: tuple[FloatArray, FloatArray],
    drift: float,
    listed: tuple[IndexArray, FloatArray],
) -> ListedBound:
    """The bound from the strongest features and their correlations, rounded up; see `bounds_of_nodes`."""
    p, alpha = point
    features, widened = listed[0], np.where(np.isnan(listed[1]), np.inf, listed[1])  # what is no number may be anything
    free = node.free(features)
    gain = _gain(problem, widened[free])
    kappa, unlisted = problem.k - node.included.size, node.n_free - gain.size
    beyond = max(float(_gain(problem, widened[-1])), 0.0) if unlisted else 0.0
    gains, kth_gain, next_gain = _chosen_gains(np.maximum(gain, 0.0), kappa)
    others = min(max(kappa - gain.size, 0), unlisted) if beyond > 0.0 else 0
    if beyond > 0.0 and kappa >= gain.size:
        kth_gain, next_gain = 0.0, math.inf
    largest = np.append(gains[gains > 0.0], others * beyond * (1.0 + 4.0 * UNIT) if others else 0.0)
    value = _value(entropy_below(problem, p), _sum(_gain_inside(problem, node, alpha, drift)), _sum(largest))
    dropped, complete = int(features.size - gain.size), others == 0
    return ListedBound(value, features[free], widened[free], gain, kth_gain, next_gain, dropped, complete)


def _gain_inside(problem: Problem, node: Decided, alpha: FloatArray, drift: float) -> FloatArray:
    """``q - μ`` of the features that are in, from their columns."""
    design, scale = problem.design, float(np.linalg.norm(alpha)) * (1.0 + 1e-9)
    error = scale * (design.block_error[node.included] + drift * design.norms[node.included])
    return _gain(problem, np.abs(node.rows @ alpha) + error)


def _dual_point(problem: Problem, dual: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A feasible dual point near the given one, as ``p`` and as ``α``."""
    p = np.clip(dual, 0.0, 1.0)
    p = problem.loss.balanced(problem.y, problem.weights, p) if problem.fit_intercept else p
    return p, problem.y * (problem.weights * p)


def _correlation_errors(problem: Problem, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How far ``Aᵀα`` can be off by rounding, and by the distance to an exactly balanced dual point."""
    rounding, drift = _error_factors(problem, alpha)
    return rounding * problem.design.error, np.asarray(drift * problem.design.norms)


def _error_factors(problem: Problem, alpha: FloatArray) -> tuple[float, float]:
    """The same as factors on the design's error coefficients and norms."""
    scale = float(np.linalg.norm(alpha)) * (1.0 + 1e-9)
    imbalance = _imbalance(problem, alpha) if problem.fit_intercept else 0.0
    return scale, scale * imbalance


def _gains(problem: Problem, alpha: FloatArray, correlation: FloatArray) -> FloatArray:
    """``q - μ`` per feature, rounded up: of millions of features some at a time."""
    rounding, drift = _error_factors(problem, alpha)
    error, norms = problem.design.error, problem.design.norms
    gain = np.empty(correlation.size)
    for start in range(0, correlation.size, FEATURES_AT_A_TIME):
        some = slice(start, start + FEATURES_AT_A_TIME)
        gain[some] = _gain(problem, np.abs(correlation[some]) + rounding * error[some] + drift * norms[some])
    return gain


def _bound(
    problem: Problem,
    fixings: Fixings,
    p: FloatArray,
    correlation: FloatArray,
    gain: FloatArray,
) -> Bound:
    """The bound from gains that are rounded up."""
    included, decided = np.flatnonzero(fixings.included), fixings.included | fixings.excluded
    kappa, free = problem.k - included.size, gain.size - int(np.count_nonzero(decided))
    gains = gain if free == gain.size else np.where(decided, 0.0, gain)
    kth_gain, next_gain = 0.0, 0.0
    if kappa < free:
        gains = np.maximum(np.partition(largest(gains, kappa + 1), 0), 0.0)
        next_gain, gains = float(gains[0]), gains[1:]
        kth_gain = float(gains.min()) if kappa else NEVER
    elif kappa == free and kappa:
        kth_gain = float(np.maximum(gain[~decided], 0.0).min())
    value = _value(entropy_below(problem, p), _sum(gain[included]), _sum(gains[gains > 0.0]))
    return Bound(value, gain, kth_gain, next_gain, correlation, p)


def _chosen_gains(gains: FloatArray, kappa: int) -> tuple[FloatArray, float, float]:
    """The κ largest gains, the last of them and the one after it, 0 where there are fewer."""
    kth_gain, next_gain = 0.0, 0.0
    if kappa < gains.size:
        gains = np.partition(gains, [i for i in (gains.size - kappa - 1, gains.size - kappa) if i < gains.size])
        next_gain = float(gains[gains.size - kappa - 1])
        gains = gains[gains.size - kappa :]
        kth_gain = float(gains[0]) if kappa else NEVER
    elif kappa == gains.size and kappa:
        kth_gain = float(gains.min())
    return gains, kth_gain, next_gain


def _value(entropy: float, gain_inside: float, largest_gains: float) -> float:
    """The bound from its three parts, and never more than what they amount to."""
    terms = entropy, -gain_inside, -largest_gains
    return math.fsum(terms) - 8.0 * UNIT * math.fsum(map(abs, terms))


def largest(values: FloatArray, count: int) -> FloatArray:
    """The ``count`` largest of perhaps millions of values, in any order; what is no number counts as large.

    In as many stretches as are wanted the largest values are no smaller than the last of their maxima, so that only
    values as large as that one are looked at.
    """
    stretches = values.size // STRETCH
    if stretches > count:
        maxima = values[: stretches * STRETCH].reshape(stretches, STRETCH).max(axis=1)
        values = values[~(values < np.partition(maxima, stretches - count)[stretches - count])]
    return np.partition(values, values.size - count)[values.size - count :]


def _sum(gains: FloatArray) -> float:
    """Their exact sum, rounded; infinite where badly scaled columns make it so."""
    try:
        return exact_sum(gains)
    except OverflowError:
        return math.inf


def _gain(problem: Problem, widened: FloatArray) -> FloatArray:
    """``q - μ`` from correlations that are rounded up; infinite for one that is no number, which may be anything."""
    with np.errstate(over="ignore"):
        gain = np.asarray(0.25 * problem.gamma * (1.0 + 16.0 * UNIT) * widened * widened - problem.mu)
    return np.where(np.isnan(gain), np.inf, gain)


def _imbalance(problem: Problem, alpha: FloatArray) -> float:
    """Relative distance to a dual point with exactly ``Σ α = 0``: one class scaled by this much is one."""
    smaller = min(exact_sum(alpha[problem.y > 0.0]), -exact_sum(alpha[problem.y < 0.0]))
    return abs(exact_sum(alpha)) / smaller * (1.0 + 1e-9) if smaller > 0.0 else 1.0


def entropy_below(problem: Problem, p: FloatArray) -> float:
    """The loss's part of the bound at ``p``, from below, the distance to an exactly balanced point included."""
    imbalance = _imbalance(problem, problem.y * (problem.weights * p)) if problem.fit_intercept else 0.0
    return problem.loss.conjugate_below(problem.weights, p, imbalance)
