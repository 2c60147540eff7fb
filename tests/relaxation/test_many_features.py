"""Order statistics and bounds over very many features: the same numbers as by sorting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import safescreen as ss
from safescreen.incumbents import local_search
from safescreen.relaxation import Fixings, bounds
from safescreen.screening.rule import decide, flipped

pytestmark = pytest.mark.interpreted


@settings(max_examples=100)
@given(st.integers(0, 10_000), st.integers(1, 200), st.integers(1, 7))
def test_the_largest_are_those_of_a_sort(seed, size, stretch):
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 6, size).astype(float)
    count = int(rng.integers(1, size + 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds, "STRETCH", stretch)
        found = bounds.largest(values, count)
    np.testing.assert_array_equal(np.sort(found), np.sort(values)[size - count :])
    np.testing.assert_array_equal(
        local_search._largest(values, count), np.sort(np.argsort(-values, kind="stable")[:count])
    )


@settings(max_examples=100)
@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(0, 3), st.integers(0, 3))
def test_kth_gains_and_value_are_those_of_all_gains_sorted(seed, k, included, excluded):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((20, 12)), np.where(np.arange(20) % 2, 1, -1)
    order = rng.permutation(12)
    decisions = {"include": order[:included], "exclude": order[included : included + excluded]}
    problem = ss.Problem(X, y, k=max(k, included), mu=float(rng.choice([0.0, 0.01])), gamma=3.0, **decisions)
    fixings = Fixings.given(problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds, "STRETCH", 2)
        patch.setattr(bounds, "FEATURES_AT_A_TIME", 5)
        bound = bounds.bound_at(problem, fixings, rng.random(20))
    gains = np.sort(np.maximum(bound.gain[fixings.free], 0.0))[::-1]
    kappa = problem.k - included
    padded = np.concatenate((gains, [0.0, 0.0]))
    kth = bounds.NEVER if kappa == 0 and gains.size else padded[min(kappa, gains.size + 1) - 1] if kappa else 0.0
    expected = (kth, padded[min(kappa, gains.size)])
    assert (bound.kth_gain, bound.next_gain) == expected
    value = bounds.entropy_below(problem, bound.dual) - bound.gain[fixings.included].sum() - gains[:kappa].sum()
    assert bound.value == pytest.approx(value, rel=1e-12, abs=1e-14)


def test_rules_do_not_depend_on_how_many_features_are_looked_at_at_a_time(monkeypatch):
    X, y, _ = ss.datasets.make_sparse_logistic(60, 40, 4, 1.0, random_state=0)
    problem = ss.Problem(X, y, k=4, gamma=1.0, include=(3,), exclude=(5, 6))
    fixings = Fixings.given(problem)
    bound = bounds.bound_at(problem, fixings, np.full(60, 0.4))
    chosen, raised = flipped(bound, fixings)
    monkeypatch.setattr("safescreen.screening.rule.FEATURES_AT_A_TIME", 7)
    for one, other in zip((chosen, raised), flipped(bound, fixings), strict=True):
        np.testing.assert_array_equal(one, other)
    upper = float(np.median(raised[fixings.free]))
    decided = decide(bound, fixings, upper)
    np.testing.assert_array_equal(decided.included, fixings.included | (fixings.free & (raised > upper) & chosen))
    np.testing.assert_array_equal(decided.excluded, fixings.excluded | (fixings.free & (raised > upper) & ~chosen))
