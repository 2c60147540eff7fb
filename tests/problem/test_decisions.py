"""`Problem.with_decisions`: the same data, with more features in or out."""

from __future__ import annotations

import numpy as np
import pytest

from safescreen.problem import Problem
from safescreen.testing.reference import brute_force

pytestmark = pytest.mark.interpreted


def a_problem(**terms):
    X = np.random.default_rng(0).standard_normal((20, 6))
    X[:, 5] = 3.0
    return Problem(X, np.arange(20) % 2, feature_names=list("abcdef"), **{"k": 3, **terms})


def test_decisions_are_added():
    problem = a_problem(include=[2], exclude=["d"])
    more = problem.with_decisions(include="a", exclude=[4])
    assert (more.include.tolist(), more.exclude.tolist()) == ([0, 2], [3, 4])
    assert np.flatnonzero(more.included).tolist() == [0, 2]
    assert np.flatnonzero(more.excluded).tolist() == [3, 4, 5]  # a constant column is out anyway
    assert (problem.include.tolist(), problem.exclude.tolist()) == ([2], [3])
    assert np.flatnonzero(problem.included).tolist() == [2]
    assert more.design is problem.design


def test_answers_asked_for_before_are_asked_again():
    problem = a_problem()
    assert (problem.included.any(), problem.excluded.sum(), problem.asked) == (False, 1, problem.terms)
    more = problem.with_decisions([1], [2])
    assert np.flatnonzero(more.included).tolist() == [1]
    assert np.flatnonzero(more.excluded).tolist() == [2, 5]
    assert more.asked == more.terms != problem.terms


def test_nothing_more_is_the_same():
    problem = a_problem(include=[1])
    assert problem.with_decisions().terms == problem.terms
    assert problem.with_decisions(include=[1]).terms == problem.terms


@pytest.mark.parametrize(("include", "exclude"), [([0], [0]), ([9], []), ([], ["z"]), ([3], []), ([0, 1, 2, 4], [])])
def test_contradictions_are_refused(include, exclude):
    with pytest.raises((ValueError, TypeError)):
        a_problem(exclude=[3]).with_decisions(include, exclude)


def test_the_answer_is_that_of_a_problem_made_so():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((30, 5)), np.arange(30) % 2
    variant = Problem(X, y, mu=0.01, exclude=[1]).with_decisions(include=[0], exclude=[2])
    made = Problem(X, y, mu=0.01, include=[0], exclude=[1, 2])
    assert variant.terms == made.terms
    assert brute_force(variant).table == brute_force(made).table
