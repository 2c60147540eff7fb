"""Screening: what it decides holds in every optimal model, and it says by how much."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import safescreen as ss
from problems import plain
from safescreen.relaxation import Fixings, bound_at
from safescreen.screening import decide
from safescreen.testing.hard_problems import contradictions, hard_problem
from safescreen.testing.reference import brute_force

TERMS = {"price": {"mu": 0.02}, "budget": {"k": 3}, "both": {"mu": 0.01, "k": 4}}


def make_data(m: int = 60, n: int = 8, seed: int = 0, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, m, n])
    X = rng.standard_normal((m, n))
    score = 2.0 * X[:, 0] - 1.5 * X[:, 1] + X[:, 2] + noise * rng.logistic(size=m)
    return X, np.where(score > np.median(score), "ill", "well")


def check_partition(screening: ss.Screening, n: int) -> None:
    """Every feature is in exactly one of the three lists, and the percentage counts two of them."""
    everything = np.concatenate([screening.excluded, screening.included, screening.undecided])
    assert np.array_equal(np.sort(everything), np.arange(n))
    decided = screening.excluded.size + screening.included.size
    assert screening.percent == pytest.approx(100.0 * decided / n)
    assert screening.lower_bound <= screening.upper_bound
    assert (screening.margin[screening.undecided] <= 0.0).all()
    assert (np.delete(screening.margin, screening.undecided) > 0.0).all()


@settings(max_examples=80, deadline=None, derandomize=True)
@given(seed=st.integers(10_000, 10**9), slack=st.sampled_from([0.0, 1e-9, 1e-3, 0.1, 2.0]))
def test_decisions_never_contradict_brute_force(seed, slack):
    problem = hard_problem(seed).problem()
    truth = brute_force(problem)
    upper = problem.objective(*problem.to_data_units(truth.best_x, truth.best_b)) * (1.0 + slack)
    for screening in (ss.screen(problem), ss.screen(problem, upper_bound=upper)):
        check_partition(screening, problem.n_features)
        assert not contradictions(screening, problem, truth)
        assert screening.lower_bound <= truth.value * (1.0 + 1e-13)
        assert screening.upper_bound >= truth.value * (1.0 - 1e-13)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), terms=st.sampled_from(list(TERMS)), intercept=st.booleans())
def test_decisions_from_any_dual_point_hold(seed, terms, intercept):
    """The rule must not rely on a solved relaxation."""
    X, y = make_data(30, 6, seed)
    problem = ss.Problem(X, y, gamma=2.0, fit_intercept=intercept, standardize=False, **TERMS[terms])
    truth = brute_force(problem)
    given_by_user = Fixings(problem.included, problem.excluded)
    relaxation = ss.relax(problem)
    rng = np.random.default_rng(seed)
    p = relaxation.dual * (1.0 + 0.05 * rng.standard_normal(30))
    upper = problem.objective(truth.best_x, truth.best_b)
    fixings = decide(bound_at(problem, given_by_user, p), given_by_user, upper)
    for support in truth.ties(1e-14):
        assert not fixings.excluded[list(support)].any()
        assert np.isin(np.flatnonzero(fixings.included), support).all()


@pytest.mark.interpreted
@pytest.mark.parametrize("terms", TERMS)
def test_margins_are_those_of_the_flipped_problem(terms):
    """A feature is decided where forcing the opposite is proved to cost more than the upper bound."""
    X, y = make_data(80, 8)
    problem = plain(X, y, gamma=5.0, **TERMS[terms])
    screening = ss.screen(problem)
    assert screening.excluded.size
    assert screening.included.size
    for j in np.concatenate([screening.excluded, screening.included]):
        flip = {"include": [j]} if j in screening.excluded else {"exclude": [j]}
        flipped = brute_force(plain(X, y, gamma=5.0, **flip, **TERMS[terms])).value
        assert flipped >= screening.upper_bound + screening.margin[j] - 1e-12


@pytest.mark.interpreted
@pytest.mark.parametrize("terms", TERMS)
def test_tighter_upper_bounds_decide_more(terms):
    X, y = make_data(60, 40)
    problem = plain(X, y, gamma=3.0, **TERMS[terms])
    objective = ss.solve(problem, rel_gap=1e-9).objective
    counts = []
    for factor in (1.0, 1.001, 1.01, 1.1, 2.0, math.inf):
        screening = ss.screen(problem, upper_bound=objective * factor)
        assert screening.upper_bound == objective * factor
        check_partition(screening, 40)
        counts.append(40 - screening.undecided.size)
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 0
    assert counts[-1] == 0


def test_upper_bound_at_the_optimum_keeps_the_optimum():
    X, y = make_data(60, 8)
    problem = plain(X, y, k=3, gamma=3.0)
    solution = ss.solve(problem, rel_gap=1e-9)
    screening = ss.screen(problem, upper_bound=solution.objective)
    assert not np.intersect1d(screening.excluded, solution.support).size
    assert np.isin(screening.included, solution.support).all()


@pytest.mark.interpreted
@pytest.mark.parametrize("upper_bound", [0.0, -1.0, 0.1, math.nan, -math.inf])
def test_impossible_upper_bounds_are_refused(upper_bound):
    X, y = make_data()
    with pytest.raises(ValueError, match=r"upper_bound is .*, but every model has an objective of at least"):
        ss.screen(plain(X, y, k=3), upper_bound=upper_bound)


@pytest.mark.interpreted
@pytest.mark.parametrize("terms", TERMS)
def test_the_users_decisions_are_kept(terms):
    X, y = make_data(60, 8)
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    problem = plain(frame, y, gamma=2.0, include=["h"], exclude=["a", "b"], **TERMS[terms])
    screening = ss.screen(problem)
    check_partition(screening, 8)
    assert 7 in screening.included
    assert {0, 1} <= set(screening.excluded)
    assert (screening.margin[[0, 1, 7]] == np.inf).all()
    assert not contradictions(screening, problem, brute_force(problem))


@pytest.mark.interpreted
def test_a_full_budget_leaves_nothing_open():
    X, y = make_data(60, 8)
    screening = ss.screen(plain(X, y, k=2, gamma=2.0, include=[3, 5]))
    assert screening.included.tolist() == [3, 5]
    assert screening.excluded.tolist() == [0, 1, 2, 4, 6, 7]
    assert screening.percent == 100.0


@pytest.mark.interpreted
def test_all_included_or_all_excluded():
    X, y = make_data(60, 4)
    everything = ss.screen(plain(X, y, mu=0.1, include=range(4)))
    assert everything.included.tolist() == [0, 1, 2, 3]
    nothing = ss.screen(plain(X, y, mu=0.1, exclude=range(4)))
    assert nothing.excluded.tolist() == [0, 1, 2, 3]
    assert nothing.percent == everything.percent == 100.0


@pytest.mark.interpreted
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("terms", TERMS)
def test_constant_columns_are_excluded(terms, standardize):
    X, y = make_data(60, 8)
    X[:, 5] = 4.0 if standardize else 0.0
    screening = ss.screen(ss.Problem(X, y, gamma=2.0, fit_intercept=False, standardize=standardize, **TERMS[terms]))
    assert 5 in screening.excluded
    assert screening.margin[5] == np.inf


@pytest.mark.parametrize("factor", [1.0, -1.0])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("gamma", [1.0, 3.0, 100.0])
@pytest.mark.parametrize("terms", [{"k": 1}, {"k": 2}, {"mu": 0.01, "k": 2}, {"mu": 0.005}])
def test_neither_of_two_twins_is_decided(terms, gamma, intercept, factor):
    """Of two equal columns either may be in an optimal model: no proof can rule one out, or demand one."""
    X, y = make_data(60, 6, noise=0.5)
    X[:, 5] = factor * X[:, 0]
    problem = ss.Problem(X, y, gamma=gamma, fit_intercept=intercept, standardize=False, **terms)
    truth = brute_force(problem)
    optimal = truth.ties(1e-13)
    assert any(0 in support or 5 in support for support in optimal)
    upper = problem.objective(*problem.to_data_units(truth.best_x, truth.best_b))
    for screening in (ss.screen(problem), ss.screen(problem, upper_bound=upper)):
        assert 0 not in screening.excluded
        assert 5 not in screening.excluded
        if not all(0 in support for support in optimal):
            assert 0 not in screening.included
        if not all(5 in support for support in optimal):
            assert 5 not in screening.included


def test_strong_screening_on_easy_data():
    X, y, _ = ss.datasets.make_sparse_logistic(200, 400, 5, 1.0, random_state=0)
    screening = ss.screen(plain(X, y, mu=5e-3, gamma=1.0))
    check_partition(screening, 400)
    assert screening.percent > 90.0
    assert repr(screening) == (
        f"Screening({screening.excluded.size} excluded, {screening.included.size} included, "
        f"{screening.undecided.size} undecided: {screening.percent:.1f} % decided)"
    )


def test_all_is_decided_only_where_nothing_is_left():
    X, y, _ = ss.datasets.make_sparse_logistic(30, 5, 2, 1.0, random_state=0)
    screening = ss.screen(plain(X, y, k=2, gamma=1.0))
    parts = {"excluded": np.arange(19_993), "included": np.arange(0), "undecided": np.arange(7)}
    assert repr(replace(screening, **parts)) == "Screening(19,993 excluded, 0 included, 7 undecided: 99.9 % decided)"
    assert replace(screening, **{**parts, "undecided": np.arange(0)}).share == "100.0 % decided"


def test_screening_agrees_with_the_search():
    X, y, _ = ss.datasets.make_sparse_logistic(100, 60, 5, 1.0, random_state=2)
    problem = plain(X, y, k=4, gamma=20.0)
    screening = ss.screen(problem)
    solution = ss.solve(problem, rel_gap=1e-9, screening="none")
    assert solution.status == "optimal"
    assert not np.intersect1d(screening.excluded, solution.support).size
    assert np.isin(screening.included, solution.support).all()
    assert screening.lower_bound <= solution.objective <= screening.upper_bound * (1.0 + 1e-12)
