"""Lists of models as flat arrays."""

from __future__ import annotations

import numpy as np
import pytest

from safescreen.kernels.goals import ALL_MODELS
from safescreen.kernels.listing import make_listing
from safescreen.search.found import FoundModels

pytestmark = pytest.mark.interpreted


def models(*supports, objective=None):
    """Models with these features; the coefficient of a feature is its number and a half."""
    count = len(supports)
    size = np.array([len(s) for s in supports], np.int64)
    feature = np.array([j for s in supports for j in s], np.int64)
    objective = np.arange(count, dtype=float) if objective is None else np.asarray(objective, float)
    spare = np.arange(count) % 2 == 1
    return FoundModels(objective, objective - 0.25, objective + 10.0, spare, size, feature, feature + 0.5)


def supports(found):
    return [tuple(s.tolist()) for s in found.supports()]


def check_consistent(found):
    """Coefficients and intercepts still belong to their models."""
    assert np.array_equal(found.value, found.feature + 0.5)
    assert np.array_equal(found.bound, found.objective - 0.25)
    assert np.array_equal(found.intercept, found.objective + 10.0)


def test_models_of_a_listing_have_sorted_features_of_the_problem():
    listing = make_listing(5, 10, np.zeros(4, np.bool_), ALL_MODELS, False)
    listing.counts["models"], listing.counts["entries"] = 3, 5
    listing.size[:3] = [2, 0, 3]
    listing.feature[:5], listing.value[:5] = [3, 1, 2, 0, 1], [0.3, 0.1, 0.2, 0.0, 0.1]
    listing.objective[:3], listing.bound[:3], listing.intercept[:3] = [1.0, 2.0, 3.0], [0.5, 1.5, 2.5], [7.0, 8.0, 9.0]
    listing.spare[1] = True
    found = FoundModels.of(listing, np.array([10, 11, 22, 33]))
    listing.objective[:], listing.value[:], listing.feature[:] = -1.0, -1.0, 0  # the list is used again
    assert supports(found) == [(11, 33), (), (10, 11, 22)]
    assert found.value.tolist() == [0.1, 0.3, 0.0, 0.1, 0.2]
    assert (found.objective.tolist(), found.bound.tolist()) == ([1.0, 2.0, 3.0], [0.5, 1.5, 2.5])
    assert (found.intercept.tolist(), found.spare.tolist()) == ([7.0, 8.0, 9.0], [False, True, False])
    assert found.ends.tolist() == [2, 2, 5]


def test_no_models():
    nothing = FoundModels.none()
    assert (len(nothing), supports(nothing), list(nothing)) == (0, [], [])
    assert len(nothing.best_first()) == len(nothing.chosen([])) == len(FoundModels.joined([])) == 0
    assert nothing.contain(models((1,))).tolist() == nothing.among(models((1,))).tolist() == []
    assert models((1,), ()).contain(nothing).tolist() == models((1,), ()).among(nothing).tolist() == [False, False]


def test_lists_are_joined_in_order():
    found = FoundModels.joined([models((1, 2), ()), FoundModels.none(), models((3,))])
    assert supports(found) == [(1, 2), (), (3,)]
    check_consistent(found)


@pytest.mark.parametrize("which", [[2, 0], np.array([True, False, True, False]), [], [1, 1, 3], np.zeros(4, bool)])
def test_some_models_are_chosen(which):
    every = [(1, 5), (), (0, 2, 9), (4,)]
    positions = np.flatnonzero(which) if np.asarray(which).dtype == bool else which
    found = models(*every).chosen(which)
    assert supports(found) == [every[i] for i in positions]
    assert found.objective.tolist() == [float(i) for i in positions]
    assert found.spare.tolist() == [i % 2 == 1 for i in positions]
    check_consistent(found)


def test_iteration_yields_features_coefficients_and_intercept():
    seen = [(f.tolist(), v.tolist(), b) for f, v, b in models((1, 5), (), (3,))]
    assert seen == [([1, 5], [1.5, 5.5], 10.0), ([], [], 11.0), ([3], [3.5], 12.0)]


def test_models_among_others():
    assert models((1, 2), (2,), ()).among(models((2,), (1, 2, 3), ())).tolist() == [False, True, True]


def test_models_that_contain_others_by_the_definition():
    rng = np.random.default_rng(0)
    for _ in range(200):
        n, most = int(rng.integers(1, 9)), int(rng.integers(0, 6))

        def drawn(count, n=n, most=most):
            sizes = rng.integers(0, min(most, n) + 1, count)
            return [tuple(sorted(rng.choice(n, size, replace=False).tolist())) for size in sizes]

        wholes, parts = drawn(int(rng.integers(0, 6))), drawn(int(rng.integers(0, 40)))
        expected = [any(set(part) <= set(whole) for part in parts) for whole in wholes]
        assert models(*wholes).contain(models(*parts)).tolist() == expected


def test_best_first_with_ties_in_an_order_of_their_own():
    every = [(1, 2), (3,), (), (4, 7), (0,)]
    objective = [2.0, 1.0, 1.0, 0.5, 1.0]
    order = np.random.default_rng(1).permutation(5)
    one = models(*every, objective=objective).best_first()
    other = models(*every, objective=objective).chosen(order).best_first()
    assert supports(one) == supports(other)  # whatever the search did first
    assert one.objective.tolist() == sorted(objective)
    check_consistent(one)
