"""Bounds of nodes from the strongest features alone: what all features give, or less; never more."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from problems import synthetic
from safescreen.relaxation import ColumnStore, Decided, Fixings, bound_at, bound_of_leaf, bounds_of_nodes
from safescreen.screening import flipped, flipped_free
from safescreen.testing.hard_problems import hard_problem

pytestmark = pytest.mark.interpreted

TIGHT = 1e-11


def node_of(problem, rng):
    """Random decisions beside those that the user has made, as masks and as a node has them."""
    start = Fixings.given(problem)
    side = rng.choice([-1, 0, 1], problem.n_features, p=[0.2, 0.6, 0.2]) * start.free
    places = problem.k - int(start.included.sum())
    included = np.flatnonzero(side > 0)[:places]
    fixings = Fixings(start.included.copy(), start.excluded | (side < 0))
    fixings.included[included] = True
    everything = np.flatnonzero(fixings.included)
    rows = np.ascontiguousarray(problem.design.columns(everything).T)
    n_free = int(fixings.free.sum()) if everything.size < problem.k else 0
    return fixings, Decided(everything, rows, np.flatnonzero(side < 0), start.free, n_free)


@given(seed=st.integers(0, 10_000), count=st.integers(1, 12), points=st.integers(1, 3))
@settings(max_examples=150, deadline=None)
def test_against_the_bound_from_all_features(seed, count, points):
    problem, rng = hard_problem(seed).problem(), np.random.default_rng(seed)
    nodes = [node_of(problem, rng) for _ in range(points)]
    duals = [rng.random(problem.n_samples) * rng.choice([0.01, 0.3, 1.0]) for _ in nodes]
    bounds = bounds_of_nodes(problem, [decided for _, decided in nodes], duals, count)
    for (fixings, decided), dual, bound in zip(nodes, duals, bounds, strict=True):
        full = bound_at(problem, fixings, dual)
        size = abs(full.value) + np.abs(full.gain).sum() + 1.0
        if decided.n_free == 0:
            leaf = bound_of_leaf(problem, decided, dual)
            out = Fixings(fixings.included, ~fixings.included)
            assert leaf.value == pytest.approx(bound_at(problem, out, dual).value, abs=TIGHT * size)
            continue
        assert bound.value <= full.value + TIGHT * size
        assert fixings.free[bound.features].all()
        if bound.complete:
            assert bound.value == pytest.approx(full.value, abs=TIGHT * size)
        assert bound.complete or count < problem.n_features
        _, raised = flipped_free(bound)
        _, all_raised = flipped(full, fixings)
        assert (raised <= all_raised[bound.features] + TIGHT * size).all()
        if count >= problem.n_features:
            assert raised == pytest.approx(all_raised[bound.features], abs=TIGHT * size)


def test_columns_that_nobody_asked_for_longest_make_room():
    problem = synthetic(20, 12, k=3)
    everything = problem.design.columns(np.arange(12)).T
    store = ColumnStore(problem, 4)
    store.take_in(np.array([0, 1, 2, 3]))
    store.take_in(np.array([1, 0, 2]))
    store.take_in(np.array([1, 5, 5]))
    assert sorted(store.features) == [0, 1, 2, 5]
    assert store.replacements == 1
    store.take_in(np.array([7, 8]))
    assert sorted(store.features) == [1, 5, 7, 8]
    for j in store.features:
        assert np.array_equal(store.rows(np.array([j]))[0], everything[j])
    assert store.places(np.array([11])).tolist() == [-1]


def test_a_store_takes_in_the_first_ones_where_not_all_fit():
    store = ColumnStore(synthetic(20, 12, k=3), 3)
    store.take_in(np.array([9, 4, 2, 7, 1]))
    assert sorted(store.features) == [2, 4, 9]


def test_correlations_that_are_no_numbers_are_the_strongest():
    design = synthetic(20, 6, k=3).design
    alpha = np.full(20, 0.01)
    strange = design.correlations(alpha)
    strange[4] = np.nan
    design.correlations = lambda _: strange
    features, widened = design.strongest(alpha[None], np.zeros(1), 2)  # else they would be missing in a bound
    assert features[0, 0] == 4
    assert widened[0, 0] == np.inf
