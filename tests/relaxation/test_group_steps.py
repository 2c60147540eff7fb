"""Steps towards features that are out: what they reach is a value of the relaxation, and they reach nearly all."""

from __future__ import annotations

import numpy as np
import pytest

import safescreen as ss
from safescreen.relaxation import Group, GroupSolver, Iterate, solve_root

TERMS = [
    {"k": 4},
    {"k": 4, "fit_intercept": False},
    {"k": 5, "include": [3, 40]},
    {"mu": 0.004},
    {"k": 4, "mu": 0.002, "include": [7]},
]


def settled(problem, members):
    """The relaxation without these features."""
    root = solve_root(problem)
    solver = GroupSolver(problem, root)
    start = Iterate(root.value, root.bound, root.x, root.b, root.level, np.zeros(problem.n_features))
    return solver, solver.solve(Group(members, 0), start, np.inf, 0.0)


def falls(solver, members, at):
    """By how much the relaxation falls if each of the features returns."""
    lower = []
    for j in np.flatnonzero(members):
        others = members.copy()
        others[j] = False
        lower.append(at.value - solver.solve(Group(others, 0), at, np.inf, 0.0).value)
    return np.array(lower)


def case(seed, gamma, terms):
    """A group that is out, and by how much the relaxation falls if one of its features returns."""
    X, y, _ = ss.datasets.make_sparse_logistic(50, 80, 5, 1.0, random_state=seed)
    problem = ss.Problem(X, y, gamma=gamma, **terms)
    members = (np.random.default_rng(seed).random(80) < 0.5) & ~problem.included
    solver, at = settled(problem, members)
    return solver, at, np.flatnonzero(members), falls(solver, members, at)


@pytest.mark.parametrize("gamma", [1.0, 100.0])
@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("seed", range(3))
def test_what_is_blocked_takes_the_relaxation_below(seed, terms, gamma):
    solver, at, members, lower = case(seed, gamma, terms)
    for fall in np.quantile(lower[lower > 1e-6], [0.0, 0.3, 0.6]):
        blocked = solver.blocked(members, at, at.value - fall)
        assert np.all(lower[blocked] >= fall - 1e-6 * at.value)


@pytest.mark.parametrize("terms", TERMS)
def test_features_that_are_clearly_needed_are_found(terms):
    solver, at, members, lower = case(0, 100.0, terms)
    fall = np.quantile(lower[lower > 1e-6], 0.2)
    needed = lower > 5.0 * fall
    assert np.count_nonzero(needed) >= 5
    assert solver.blocked(members, at, at.value - fall)[needed].mean() >= 0.9


def test_nothing_is_said_where_nothing_is_in_use():
    X, y, _ = ss.datasets.make_sparse_logistic(50, 10, 3, 1.0, random_state=0)
    problem = ss.Problem(X, y, k=2, gamma=10.0)
    members = np.ones(10, np.bool_)
    solver, at = settled(problem, members)
    assert not solver.blocked(np.arange(10), at, at.value - 1e-9).any()
