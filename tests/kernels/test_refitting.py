"""Fits of single supports against the reference, and bounds that hold wherever a fit stops."""

from __future__ import annotations

import numpy as np
import pytest
from calling import interpreted
from kernel_cases import as_case, random_problem

from safescreen.kernels.refitting import fit_support, shorten
from safescreen.problem import Problem
from safescreen.testing.hard_lists import hard_list
from safescreen.testing.reference import brute_force
from safescreen.testing.reference import fit_support as reference
from safescreen.tuning import REFIT_TOLERANCE

PROBLEMS = {
    "plain": {},
    "weights": {"weighted": True},
    "intercept": {"fit_intercept": True},
    "weak ridge": {"gamma": 1e4, "fit_intercept": True, "standardize": True},
    "all": {"gamma": 300.0, "fit_intercept": True, "weighted": True},
}


def fit(call, problem, support, x=0.0, b=0.0, cutoff=np.inf):
    """Fit these features, by way of `call`; returns what is found, and the case."""
    case = as_case(problem)
    quadratic, size = case.workspace.quadratic, len(support)
    quadratic.feature[:size], quadratic.x[:size] = support, x
    return call(fit_support, case.subproblem, case.node, case.workspace, size, b, cutoff), case


def truth(problem, support):
    columns = problem.design.columns(np.asarray(support, int))
    found = reference(columns, problem.y, problem.weights, problem.gamma, problem.fit_intercept)
    return found._replace(value=found.value + problem.mu * len(support))


def check(call, problem, support, **start):
    fitted, case = fit(call, problem, support, **start)
    exact = truth(problem, support)
    assert fitted.objective == pytest.approx(exact.value, rel=1e-9)
    assert fitted.bound <= exact.value * (1.0 + 1e-13)
    assert fitted.objective - fitted.bound <= 10.0 * REFIT_TOLERANCE * fitted.objective
    x = case.workspace.quadratic.x[: len(support)]
    u = problem.design.columns(np.asarray(support, int)) @ x + fitted.intercept
    assert case.node.u == pytest.approx(u, rel=1e-9, abs=1e-9)
    loss = float(problem.weights @ np.logaddexp(0.0, -problem.y * u))
    assert fitted.objective == pytest.approx(loss + x @ x / problem.gamma + problem.mu * len(support), rel=1e-12)
    return fitted, case


@pytest.mark.parametrize("support", [[], [3], [4, 0], [5, 1, 2, 0, 3, 4]])
@pytest.mark.parametrize("name", PROBLEMS)
def test_fits_are_those_of_the_reference(call, name, support):
    check(call, random_problem(1, mu=0.003, **PROBLEMS[name]), support)


@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")
@pytest.mark.parametrize("start", [0.3, -2.0, 1e3, -1e8, np.inf, np.nan])
def test_the_start_does_not_matter(call, start):
    check(call, random_problem(2, fit_intercept=True), [0, 4, 5], x=start, b=start)


def separable(gamma, intercept=True):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30, 5))
    return Problem(X, np.where(X[:, 1] > 0.0, 1, -1), k=3, gamma=gamma, fit_intercept=intercept)


@pytest.mark.parametrize("gamma", [0.01, 1.0, 1e2, 1e4])
@pytest.mark.parametrize("intercept", [False, True])
def test_separable_data(gamma, intercept):
    check(interpreted, separable(gamma, intercept), [1, 0])


def test_duplicated_columns_share_their_coefficient(call):
    problem = random_problem(4)
    X = problem.design.columns(np.arange(6))
    X[:, 5] = X[:, 0]
    problem = Problem(X, problem.y, mu=0.01, gamma=50.0, standardize=False)
    _, case = check(call, problem, [0, 2, 5])
    x = case.workspace.quadratic.x
    assert x[0] == pytest.approx(x[2], rel=1e-3)


def test_columns_far_from_centred():
    """The balanced dual point is no gradient then, and Newton's method needs one."""
    rng = np.random.default_rng(47)
    for _ in range(20):
        X = rng.integers(-1, 2, (25, 5)) + rng.uniform(-10.0, 10.0, 5)
        y = np.where(rng.random(25) < 0.5, 1, -1)
        y[:2] = 1, -1
        problem = Problem(X, y, mu=1e-4, gamma=900.0, standardize=False)
        check(interpreted, problem, [0, 2, 3, 4])


def test_a_start_that_no_step_leads_away_from():
    """Better than no model, but all its samples are far beyond what Newton's method sees."""
    problem = separable(100.0)
    check(interpreted, problem, [1, 0], x=[-400.0, 0.0], b=0.0)
    check(interpreted, hard_list(1604).hard.problem(), [5, 0, 7, 9], x=[0.763, -0.09, -0.0092, 0.0], b=-188.0)


@pytest.mark.parametrize("seed", [0, 47])
def test_all_supports_of_hard_problems(seed):
    problem = hard_list(seed).hard.problem()
    for number, (support, value) in enumerate(brute_force(problem).table.items()):
        if number % 10 == 0:
            fitted, _ = fit(interpreted, problem, support, x=1e-3)
            assert fitted.objective == pytest.approx(value, rel=1e-9)
            assert value * (1.0 - 1e-9) <= fitted.bound <= value * (1.0 + 1e-13)


@pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning")
def test_numbers_that_overflow_prove_nothing_wrong(call):
    X = random_problem(5).design.columns(np.arange(6)) * 1e140
    problem = Problem(X, random_problem(5).y, mu=0.01, gamma=1e10, standardize=False)
    fitted, case = fit(call, problem, [0, 1])
    assert not fitted.bound > np.log(2.0) + 0.02  # nothing that no model would reach
    assert np.all(np.isfinite(case.workspace.quadratic.x[:2]))


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_fit_stops_as_soon_as_it_is_above_the_cutoff(call, name):
    problem = random_problem(6, **PROBLEMS[name])
    whole, case = fit(call, problem, [0, 3])
    work = case.progress.work
    exact = truth(problem, [0, 3]).value
    early, case = fit(call, problem, [0, 3], cutoff=0.7 * exact)
    assert 0.7 * exact < early.bound <= exact <= early.objective * (1.0 + 1e-13)
    assert case.progress.work <= work
    assert early.objective >= whole.objective * (1.0 - 1e-12)


def test_the_bound_holds_in_every_round(monkeypatch):
    """However few rounds there are."""
    for seed in range(20):
        problem = random_problem(seed, fit_intercept=seed % 2 == 0, gamma=10.0 ** (seed % 5))
        exact = truth(problem, [0, 1, 5]).value
        bounds = []
        for rounds in range(1, 9):
            monkeypatch.setattr("safescreen.kernels.refitting.REFIT_ROUNDS", rounds)
            fitted, _ = fit(interpreted, problem, [0, 1, 5], x=0.2, b=0.5 * problem.fit_intercept)
            assert fitted.bound <= exact * (1.0 + 1e-13)
            assert fitted.objective >= exact * (1.0 - 1e-13)
            bounds.append(fitted.bound)
        assert bounds[-1] > bounds[0]


def test_a_halted_fit_returns_with_what_it_has():
    problem = random_problem(7)
    case = as_case(problem)
    case.progress.halted = True
    case.workspace.quadratic.feature[:2], case.workspace.quadratic.x[:2] = [0, 1], 0.0
    fitted = fit_support(case.subproblem, case.node, case.workspace, 2, 0.0, np.inf)
    exact = truth(problem, [0, 1]).value
    assert fitted.bound < exact < fitted.objective


def test_steps_are_halved_and_then_given_up():
    quadratic = as_case(random_problem(8)).workspace.quadratic
    quadratic.start[:2], quadratic.move[:2] = [1.0, 2.0], [4.0, -8.0]
    assert shorten(quadratic, 1.0, 2) == 0.5
    assert quadratic.x[:2].tolist() == [3.0, -2.0]
    quadratic.move[1] = np.nan
    assert shorten(quadratic, 1e-7, 2) == 0.0
    assert quadratic.x[:2].tolist() == [1.0, 2.0]
