"""A list of models: what is on it is true, and nothing below its threshold is missing.

Beside the tree, such a proof has *supports*, each with a point: first the models that are listed, then others
whose own dual points show that they are not below the threshold. A leaf of the tree that is below the threshold
is gone through: its point leaves only so many supports, and each of these must be listed (or, if the list is one
of minimal models, contain a listed one) or have a bound of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from safescreen.verification.arithmetic import ROUNDOFF, Array, logistic_loss
from safescreen.verification.dual_bounds import weigh_points, widened_gains
from safescreen.verification.reading import Arrays, Header, require
from safescreen.verification.recognition import StatedProblem, Terms, require_in_range, to_dense

BLOCK_ENTRIES = 1 << 20
"""How many entries the columns of supports may have that are looked at together."""

MOST_PARTS = 100_000
"""How many parts of a support are looked up before the listed models are gone through instead."""

MOST_SUPPORTS = 10_000_000
"""How many supports a leaf may leave before the proof is refused: an honest one has branched long before."""


@dataclass(frozen=True)
class Supports:
    """Supports with their points, grouped by size: features (sorted), coefficients for ``A``, and intercepts."""

    place: Array
    """Of each in the file."""
    features: Array
    values: Array
    intercept: Array


class Evaluated(NamedTuple):
    """What is known of supports, in the order of the file."""

    objective: Array
    """At their points, rounded up."""
    bound: Array
    """No coefficients make the support better; rounded down."""
    uncertainty: float


def read_supports(arrays: Arrays, terms: Terms) -> list[Supports]:
    """The supports of a proof, one group per size; each must be admissible and have all included features."""
    size, feature = arrays["models_size"].astype(np.int64), arrays["models_feature"].astype(np.int64)
    value, intercept = arrays["models_value"], arrays["models_intercept"]
    require_in_range(feature, terms.n_features)
    counts_fit = size.size == intercept.size and (size >= 0).all() and size.sum() == feature.size == value.size
    require(counts_fit, "The counts of the listed models do not add up.")
    require((size <= terms.budget).all(), "A listed model exceeds the budget.")
    require(not terms.excluded[feature].any(), "A listed model uses a feature that is excluded or constant.")
    require(not value[terms.constant[feature]].any(), "A listed model has a coefficient on a constant column.")
    starts = np.cumsum(size) - size
    groups = []
    for one_size in np.unique(size).tolist():
        place = np.flatnonzero(size == one_size)
        entry = starts[place, None] + np.arange(one_size)
        features = feature[entry]
        sorted_once = (np.diff(features, axis=1) > 0).all()
        require(sorted_once, "The features of a listed model are not in order.")
        has_included = terms.included[features].sum(axis=1) == terms.included.sum()
        require(has_included.all(), "A listed model lacks a feature that is included.")
        groups.append(Supports(place, features, value[entry], intercept[place]))
    return groups


def evaluate_supports(problem: StatedProblem, groups: list[Supports]) -> Evaluated:
    """Objectives at the points of all supports, rounded up, and bounds of the supports, rounded down."""
    count = sum(group.place.size for group in groups)
    objective, bound, uncertainty = np.full(count, np.nan), np.full(count, np.nan), 0.0
    for group in groups:
        for part in parts_of(group, problem.samples.size):
            used, local = np.unique(part.features, return_inverse=True)
            columns = problem.columns.of(used)
            A = (to_dense(columns.X) - columns.means) / columns.scales
            own = A.T[local.reshape(part.features.shape)]  # (supports, features, samples)
            norms = columns.norms[local.reshape(part.features.shape)]
            objective[part.place] = objectives(problem, part, own)
            bound[part.place], unsure = support_bounds(problem, part, own, norms)
            uncertainty = max(uncertainty, unsure)
    require(np.isfinite(objective).all(), "The objective of a listed model is not finite.")
    return Evaluated(objective, bound, uncertainty)


def parts_of(group: Supports, samples: int) -> Iterator[Supports]:
    """The supports of a group a few at a time."""
    step = max(BLOCK_ENTRIES // (samples * max(group.features.shape[1], 1)), 1)
    for first in range(0, group.place.size, step):
        part = slice(first, first + step)
        yield Supports(group.place[part], group.features[part], group.values[part], group.intercept[part])


def objectives(problem: StatedProblem, part: Supports, own: Array) -> Array:
    """``Σ w_i log(1 + exp(-y_i (A_i x + b))) + ‖x‖²/γ + μ · #features``, rounded up.

    As for a single model: a margin lowered by its error covers all rounding of the predictor, and of what follows
    nothing cancels; sums in any order add m units.
    """
    terms, samples = problem.terms, problem.samples
    x, b = part.values, part.intercept if terms.fit_intercept else np.zeros(part.intercept.size)
    require((part.intercept == b).all(), "A listed model has an intercept, but the problem has none.")
    predictor = np.einsum("nsm,ns->nm", own, x) + b[:, None]
    size = np.einsum("nsm,ns->nm", np.abs(own), np.abs(x)) + np.abs(b)[:, None]
    margin = samples.labels * predictor - (x.shape[1] + 10) * ROUNDOFF * size
    loss = logistic_loss(margin) @ samples.weights
    ridge = (x / terms.gamma * x).sum(axis=1)
    total = loss + ridge + terms.mu * x.shape[1]
    return np.asarray(total * (1.0 + (samples.size + x.shape[1] + 40.0) * ROUNDOFF) + 1e-300)


def support_bounds(problem: StatedProblem, part: Supports, own: Array, norms: Array) -> tuple[Array, float]:
    """``D`` of the supports alone, everything else out: ``Σ w H(p) - Σ (q_j - μ)``, rounded down."""
    terms, labels = problem.terms, problem.samples.labels
    b = part.intercept if terms.fit_intercept else np.zeros(part.intercept.size)
    predictor = np.einsum("nsm,ns->nm", own, part.values) + b[:, None]
    points = weigh_points(problem, 1.0 / (1.0 + np.exp(predictor * labels)))
    c = np.abs(np.einsum("nsm,nm->ns", own, points.alpha))
    q, from_columns = widened_gains(terms, c, points.c_error, norms)
    n_features = part.features.shape[1]
    lost = (q - terms.mu).sum(axis=1)
    slack = (n_features + 16.0) * ROUNDOFF * (points.entropy + lost + 2.0 * terms.mu * n_features) + 1e-295
    lower = np.where(points.useless, -np.inf, points.entropy - lost - slack)
    unsure = np.where(points.useless, 0.0, points.uncertainty + from_columns + 4.0 * slack)
    return lower, float(unsure.max(initial=0.0))


# -- finding a support on the list -------------------------------------------------------------------------


class ListedModels:
    """All supports of a proof, where they can be found: the listed ones and those with a bound of their own."""

    def __init__(self, groups: list[Supports], evaluated: Evaluated, n_listed: int, minimal: bool, n_features: int):
        self.minimal = minimal
        self.bound = evaluated.bound
        self.n_listed = n_listed
        self._codes = codes_of(n_features)
        self._by_size = {group.features.shape[1]: self._sorted(group) for group in groups}

    def _sorted(self, group: Supports) -> tuple[Array, Array, Array]:
        """Keys in order, with the supports they belong to and their places.

        Should two supports have the same key by chance, the proof is lost, never the truth.
        """
        keys = self._codes[group.features].sum(axis=1, dtype=np.uint64)
        order = np.argsort(keys, kind="stable")
        told_apart = (keys[order[1:]] != keys[order[:-1]]).all()
        require(told_apart, "A model is listed twice.")
        return keys[order], group.features[order], group.place[order]

    def place_of(self, features: Array) -> Array:
        """Where these supports (rows, sorted) are in the file, -1 if nowhere: looked up by keys, then compared."""
        place = np.full(len(features), -1)
        if features.shape[1] in self._by_size and len(features):
            keys, known, places = self._by_size[features.shape[1]]
            at = np.searchsorted(keys, self._codes[features].sum(axis=1, dtype=np.uint64))
            at = np.minimum(at, keys.size - 1)
            same = (known[at] == features).all(axis=1)
            place[same] = places[at[same]]
        return place

    def part_of(self, features: Array, proper: bool = False) -> Array:
        """Which of these supports (rows) have a listed model as a part; they may be one, unless it must be proper."""
        size = features.shape[1]
        found = np.zeros(len(features), np.bool_)
        sizes = [part for part in self._by_size if part < size + (not proper)]
        if sum(math.comb(size, part) for part in sizes) > MOST_PARTS:
            return self._one_by_one(features, sizes)
        for part in sizes:
            for places in combinations(range(size), part):
                place = self.place_of(features[:, places])
                found |= (place >= 0) & (place < self.n_listed)
        return found

    def _one_by_one(self, features: Array, sizes: list[int]) -> Array:
        """The same for supports with too many parts: every listed model is held against every support."""
        found = np.zeros(len(features), np.bool_)
        for size in sizes:
            _, models, places = self._by_size[size]
            for model in models[places < self.n_listed]:
                found |= np.isin(features, model).sum(axis=1) == size
        return found

    def is_antichain(self) -> bool:
        """Whether no listed model is part of another one."""
        for _, models, places in self._by_size.values():
            if self.part_of(models[places < self.n_listed], proper=True).any():
                return False
        return True


def codes_of(n_features: int) -> Array:
    """A fixed 64-bit number for each feature, as good as random: sums of them tell supports apart."""
    z = np.arange(1, n_features + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


# -- going through a leaf ----------------------------------------------------------------------------------


class Leaf(NamedTuple):
    """A leaf and its point."""

    inside: Array
    """The features in."""
    free: Array
    surplus: Array
    """Their ``q_j - μ``."""
    places: int
    """What is left of the budget."""
    bound: float
    """``D`` of the features in alone."""


def supports_left(leaf: Leaf, threshold: float) -> Iterator[tuple[Array, Array]]:
    """The supports of a leaf that its point does not put at the threshold or above, size by size, with their bounds.

    For a set T of free features ``D = D_in - Σ_T (q_j - μ)``. With features in the order of their surplus, a set is
    extended by later features only, as long as even the best completion could get below the threshold; along the
    order that gets worse and worse, so that the extensions of a set are a range.
    """
    order = np.argsort(-leaf.surplus, kind="stable")
    surplus, features = leaf.surplus[order], leaf.free[order]
    gains = np.concatenate([[0.0], np.cumsum(np.maximum(surplus, 0.0))])
    scale = abs(leaf.bound) + np.abs(surplus).sum() + abs(threshold)
    slack = (surplus.size + 16.0) * ROUNDOFF * scale
    need = leaf.bound - threshold - slack  # what T must gain at least
    sets, total = np.empty((1, 0), np.int64), np.zeros(1)
    for size in range(leaf.places + 1):
        left = total >= need
        if left.any():
            inside = np.broadcast_to(leaf.inside, (int(left.sum()), leaf.inside.size))
            yield np.sort(np.concatenate([inside, features[sets[left]]], axis=1)), leaf.bound - total[left] - slack
        if size == leaf.places or not surplus.size:
            return
        last = sets[:, -1] if size else np.full(1, -1)
        place = np.arange(surplus.size)
        rest = gains[np.minimum(place + leaf.places - size, surplus.size)] - gains[place + 1]
        best = np.maximum.accumulate((surplus + rest)[::-1])[::-1]  # which falls, whatever the rounding
        end = np.searchsorted(-best, total - need, side="right")
        count = np.maximum(end - last - 1, 0)
        require(count.sum() <= MOST_SUPPORTS, "A leaf leaves too many supports.")
        if not count.any():
            return
        owner = np.repeat(np.arange(count.size), count)
        added = np.arange(owner.size) - np.repeat(np.cumsum(count) - count, count) + last[owner] + 1
        sets = np.concatenate([sets[owner], added[:, None]], axis=1)
        total = total[owner] + surplus[added]


def settle_leaf(leaf: Leaf, models: ListedModels, threshold: float) -> tuple[float, float]:
    """The least bound of a support in the leaf that is missing on the list, and of any support.

    Supports that the point puts at the threshold or above contribute the threshold. A point with numbers that are
    not finite proves nothing.
    """
    if not (math.isfinite(leaf.bound) and np.isfinite(leaf.surplus).all()):
        return -math.inf, -math.inf
    missing = anything = threshold
    for features, bound in supports_left(leaf, threshold):
        place = models.place_of(features)
        own, known = bound.copy(), place >= 0
        own[known] = np.fmax(models.bound[place[known]], bound[known])
        settled = known & (place < models.n_listed)
        if models.minimal:
            unclear = np.flatnonzero(~settled & (own < threshold))
            settled[unclear] = models.part_of(features[unclear])
        anything = min(anything, float(own.min()))
        missing = min(missing, float(own[~settled].min(initial=threshold)))
    return missing, anything


# -- the list itself ---------------------------------------------------------------------------------------


def check_list(header: Header, arrays: Arrays, evaluated: Evaluated, tolerance: float) -> None:
    """Every listed objective is true, and none is above the threshold: such a model has no place on the list."""
    n_listed, claimed = header["listed"], arrays["models_objective"]
    require(claimed.size == n_listed <= evaluated.objective.size, "There is not one objective per listed model.")
    found = evaluated.objective[:n_listed]
    true = np.abs(claimed - found) <= tolerance * found
    require(true.all(), "The objective of a listed model is not what it is said to be.")
    within = claimed <= header["threshold"] + tolerance * claimed
    require(within.all(), "A listed model is above the threshold.")


def read_models(problem: StatedProblem, header: Header, arrays: Arrays, tolerance: float) -> tuple[ListedModels, float]:
    """The list of a proof, if it is true; and how much larger bounds of its supports could be in exact arithmetic."""
    groups = read_supports(arrays, problem.terms)
    evaluated = evaluate_supports(problem, groups)
    check_list(header, arrays, evaluated, tolerance)
    minimal = header["goal"] == "minimal"
    models = ListedModels(groups, evaluated, header["listed"], minimal, problem.terms.n_features)
    return models, evaluated.uncertainty
