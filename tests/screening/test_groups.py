"""Cores: none of their members can be returned, and members that cost little return together."""

from __future__ import annotations

import numpy as np
import pytest

import safescreen as ss
from safescreen.relaxation import Group, GroupSolver, Iterate, solve_root
from safescreen.screening import CoreFinder


def wide(**terms):
    """Many columns that stand for one another."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12)) @ rng.normal(size=(12, 600)) + 0.8 * rng.normal(size=(60, 600))
    y = X[:, :3].sum(axis=1) + rng.normal(size=60) > 0.0
    return ss.Problem(X, y, gamma=300.0, **terms)


@pytest.fixture(scope="module")
def found():
    """A problem, a threshold, and the core of it."""
    problem = wide(k=4)
    root = solve_root(problem)
    cutoff = 1.7 * root.value
    return problem, root, cutoff, *CoreFinder(problem, root, 0).find(cutoff)


def test_no_member_can_be_returned(found):
    problem, root, cutoff, members, bound = found
    assert bound.value > cutoff
    assert np.count_nonzero(members) >= 20
    start = Iterate(root.value, root.bound, root.x, root.b, root.level, np.zeros(600))
    solver = GroupSolver(problem, root)
    at = solver.solve(Group(members, 0), start, np.inf, 0.0)
    for j in np.flatnonzero(members):
        others = members.copy()
        others[j] = False
        assert solver.solve(Group(others, 0), at, cutoff, 1e9).bound.value <= cutoff


def test_few_relaxations_decide_many_members(found, monkeypatch):
    problem, root, cutoff, members, _ = found
    calls, solve = [], GroupSolver.solve
    monkeypatch.setattr(GroupSolver, "solve", lambda *args: calls.append(args) or solve(*args))
    again, _ = CoreFinder(problem, root, 0).find(cutoff)
    assert np.array_equal(again, members)
    assert len(calls) < np.count_nonzero(members) / 2
