"""Good models fast: refits that are exact, estimates that are what they say, and local searches that never lose."""

from __future__ import annotations

import numpy as np
import pytest

import safescreen as ss
from problems import plain
from safescreen import kernels
from safescreen.incumbents import (
    Refitter,
    first_incumbent,
    improve,
    perturb_and_improve,
    polish,
    restart_and_improve,
    rounded,
)
from safescreen.relaxation import solve_root
from safescreen.testing.hard_problems import hard_problem
from safescreen.testing.reference import admissible_supports, brute_force, fit_support

pytestmark = pytest.mark.interpreted


@pytest.fixture(autouse=True, scope="module")
def _ready():
    kernels.warm_up()


def never() -> bool:
    return False


def wide_gap(seed: int = 0, **terms) -> ss.Problem:
    """Correlated features under a weak ridge: the rounded relaxation is far from the best model."""
    rng = np.random.default_rng([seed, 1])
    X = rng.standard_normal((30, 10)) + rng.standard_normal((30, 1))
    y = np.where(X[:, :3].sum(axis=1) - X[:, 3:6].sum(axis=1) + rng.logistic(size=30) > 0.0, 1, -1)
    return plain(X, y, **{"k": 4, "gamma": 300.0, **terms})


@pytest.mark.parametrize("intercept", [False, True])
def test_refits_are_those_of_the_reference(intercept):
    problem = wide_gap(fit_intercept=intercept)
    columns = np.array([0, 2, 3, 7, 9])
    refitter = Refitter(problem, columns)
    for chosen in (np.array([0, 2]), np.array([1, 3, 4]), np.array([], np.int64), np.arange(5)):
        value = refitter.fit(chosen, np.zeros(chosen.size))
        block = problem.design.columns(columns[chosen])
        fit = fit_support(block, problem.y, problem.weights, problem.gamma, intercept)
        assert value == pytest.approx(fit.value, rel=1e-8)
        np.testing.assert_allclose(refitter.coefficients(chosen), fit.x, rtol=1e-3, atol=1e-4)


def test_a_fit_stops_once_it_is_proved_to_be_worse():
    problem = wide_gap()
    refitter = Refitter(problem, np.arange(10))
    best = refitter.fit(np.array([0, 1, 2]), np.zeros(3))
    for j in range(3, 10):
        chosen = np.array([3, 4, j] if j > 4 else [5, 6, j])
        optimum = refitter.fit(chosen, np.zeros(3))
        cut = refitter.fit(chosen, np.zeros(3), cutoff=best)
        assert cut >= optimum * (1.0 - 1e-9)
        assert cut >= best if optimum > best else cut == pytest.approx(optimum, rel=1e-8)


def test_estimates_of_drops_and_additions():
    """By the quadratic model of a fit: right to first order, and in the right order of size."""
    problem = wide_gap(gamma=1.0)
    refitter = Refitter(problem, np.arange(10))
    chosen = np.array([0, 1, 3, 4])
    value = refitter.fit(chosen, np.zeros(4))
    x = refitter.coefficients(chosen)
    costs, gains = refitter.drop_costs(chosen), refitter.entry_gains()
    for i in range(4):
        without = refitter.fit(np.delete(chosen, i), np.delete(x, i)) - value
        assert costs[i] == pytest.approx(without, rel=0.1)
    for j in (2, 5, 8):
        added = value - refitter.fit(np.append(chosen, j), np.append(x, 0.0))
        assert 0.5 * gains[j] <= added <= 4.0 * gains[j]


@pytest.mark.parametrize("terms", [{}, {"mu": 0.01, "k": None}, {"include": [9], "exclude": [0]}])
def test_the_first_model_is_admissible_and_never_better_than_the_best(terms):
    problem = wide_gap(**terms)
    root = solve_root(problem)
    support = rounded(problem, root)
    first = first_incumbent(problem, root)
    truth = brute_force(problem).value
    for chosen in (support, first.support):
        assert chosen.size <= problem.k
        assert np.isin(problem.include, chosen).all()
        assert not np.isin(problem.exclude, chosen).any()
    assert truth * (1.0 - 1e-12) <= first.objective <= polish(problem, support, root.x, root.b).objective
    assert first.objective == problem.objective(first.coef, first.intercept)


@pytest.mark.parametrize("seed", range(3))
def test_local_search_never_makes_a_model_worse(seed):
    problem = wide_gap(seed)
    root = solve_root(problem)
    poor = polish(problem, np.array([6, 7, 8]), np.zeros(10), 0.0)
    best = brute_force(problem).value
    for options in ({}, {"greedy": True}, {"hard": True}, {"refits": 3}):
        better = improve(problem, poor, root, never, **options)
        assert best * (1.0 - 1e-12) <= better.objective <= poor.objective
    assert improve(problem, poor, root, never, greedy=True, hard=True).objective < poor.objective
    found, work = perturb_and_improve(problem, better, root, never, np.random.default_rng(0))
    assert found.objective <= better.objective
    assert work > 0


@pytest.mark.parametrize("terms", [{}, {"k": 1}, {"k": None, "mu": 0.02}, {"include": [8]}, {"k": 1, "include": [8]}])
def test_local_searches_that_begin_anew(terms):
    problem = wide_gap(**terms)
    root, rng = solve_root(problem), np.random.default_rng(0)
    start = polish(problem, problem.include if problem.include.size else np.array([9]), np.zeros(10), 0.0)
    best = restart_and_improve(problem, start, root, 5, 0.0, rng)
    assert set(problem.include) <= set(best.support)
    assert best.support.size <= problem.k
    assert brute_force(problem).value * (1.0 - 1e-12) <= best.objective <= start.objective
    assert restart_and_improve(problem, best, root, 5, 0.0, rng).objective == best.objective
    assert restart_and_improve(problem, start, root, 5, 1.0, rng) is start


def test_nothing_to_begin_anew_with():
    problem = ss.Problem(np.zeros((20, 3)), np.arange(20) < 8, k=2, gamma=1.0)
    start = polish(problem, np.empty(0, np.int64), np.zeros(3), 0.0)
    assert restart_and_improve(problem, start, solve_root(problem), 1, -1.0, np.random.default_rng(0)) is start


def test_local_search_keeps_what_is_included():
    problem = wide_gap(include=[8])
    root = solve_root(problem)
    poor = polish(problem, np.array([6, 7, 8]), np.zeros(10), 0.0)
    assert 8 in improve(problem, poor, root, never, greedy=True).support
    found, _ = perturb_and_improve(problem, poor, root, never, np.random.default_rng(1))
    assert 8 in found.support


def test_local_search_drops_what_is_not_worth_its_price():
    problem = wide_gap(k=None, mu=0.05)
    root = solve_root(problem)
    crowded = polish(problem, np.arange(10), np.zeros(10), 0.0)
    lean = improve(problem, crowded, root, never)
    assert lean.support.size < 10
    assert lean.objective < crowded.objective


def test_local_search_ends_when_it_is_told_to():
    problem = wide_gap()
    root = solve_root(problem)
    poor = polish(problem, np.array([6, 7, 8]), np.zeros(10), 0.0)
    asked = []

    def expired() -> bool:
        asked.append(True)
        return True

    assert improve(problem, poor, root, expired, greedy=True).objective <= poor.objective
    assert asked


@pytest.mark.parametrize("seed", [236, 297, 3, 4, 5, 6])
@pytest.mark.parametrize("start", ["root", "zero", "far"])
def test_polishing_does_not_depend_on_its_start(seed, start):
    problem = hard_problem(seed).problem()
    rng = np.random.default_rng(seed)
    supports = admissible_supports(problem)
    support = np.array(supports[rng.integers(len(supports))], dtype=np.int64)
    A = problem.design.columns(support)
    fit = fit_support(A, problem.y, problem.weights, problem.gamma, problem.fit_intercept)
    kernels.warm_up()
    root = solve_root(problem)
    x, b = np.zeros(problem.n_features), 0.0
    if start == "root":
        x, b = root.x, root.b
    elif start == "far":
        x[support] = 30.0 * rng.standard_normal(support.size) / (1e-300 + np.abs(A).max(axis=0, initial=0.0))
    found = polish(problem, support, x, b).objective
    assert found == pytest.approx(fit.value + problem.mu * support.size, rel=1e-9, abs=1e-14)
