"""One of several copies stands for all: which one, and how it is said."""

from __future__ import annotations

import numpy as np
import pytest

import safescreen as ss


@pytest.fixture(scope="module")
def data():
    """Three features; x3 and x5 are copies of x0, and x4 is one of x1."""
    X, y, _ = ss.datasets.make_sparse_logistic(80, 6, 3, 2.0, random_state=0)
    X = np.array(X)
    X[:, 3], X[:, 5], X[:, 4] = 2.0 * X[:, 0] + 1.0, -X[:, 0], 0.5 * X[:, 1]
    return X, y


@pytest.mark.parametrize(
    ("decided", "groups", "left_out"),
    [
        ({}, [[0, 3, 5], [1, 4]], [3, 4, 5]),
        ({"exclude": [0]}, [[3, 0, 5], [1, 4]], [4, 5]),
        ({"include": [5]}, [[5, 0, 3], [1, 4]], [0, 3, 4]),
        ({"include": [3, 5]}, [[3, 0, 5], [1, 4]], [0, 4]),
        ({"include": [5], "exclude": [0, 4]}, [[5, 0, 3], [1, 4]], [3]),
        ({"exclude": [1, 4]}, [[0, 3, 5], [1, 4]], [3, 5]),
    ],
)
def test_who_stands_for_a_group(decided, groups, left_out, data):
    problem = ss.Problem(*data, k=3, **decided)
    assert [group.tolist() for group in problem.copies] == groups
    only = problem.without_copies()
    assert only.left_out.tolist() == left_out
    assert only.exclude.tolist() == sorted([*decided.get("exclude", []), *left_out])
    assert only.include.tolist() == decided.get("include", [])
    assert only.excluded.sum() == len(only.exclude)
    assert [group.tolist() for group in only.copies] == groups
    assert only.design is problem.design
    assert only.asked == problem.terms
    assert only.with_parameters(k=2).left_out.tolist() == left_out
    assert only.with_parameters(k=2).asked.k == 2
    assert problem.exclude.tolist() == decided.get("exclude", [])


def test_the_problem_itself_is_as_before(data):
    assert ss.Problem(*data, k=3).left_out.size == 0
    assert not ss.Problem(*data, k=3).one_of_copies


def test_leaving_out_copies_says_so(data):
    problem = ss.Problem(*data, k=3, exclude=[2]).without_copies()
    assert repr(problem).endswith("1 feature excluded, 3 copies left out)")
    assert "3 left out" in problem._repr_html_()
    solution = ss.solve(problem)
    page = ss.report(solution)
    assert "3 were left out in favour of a copy" in page
    assert "with none of the 1 excluded feature and one of several copies" in page


def test_sentences(data):
    problem = ss.Problem(*data, k=3)
    upto = "up to scale and offset"
    assert problem.about_copies([0]) == f"x0 has 2 copies (x3, x5) {upto}: only x0 may be chosen"
    both = f"x0 has 2 copies (x3, x5); x1 has 1 copy (x4) {upto}: only the first of each may be chosen"
    assert problem.about_copies([0, 1, 2]) == both
    assert problem.about_copies([2]) == ""
    X, y = data
    many = ss.Problem(np.repeat(X[:, :1], 9, axis=1), y, k=1, standardize=False)
    assert many.about_copies([0]) == "x0 has 8 copies (x1, x2, x3, x4, x5 and 3 more): only x0 may be chosen"


def test_the_optimum_is_no_worse_than_chance_among_copies(data):
    """A single feature has the same best objective, whichever copy stands for it."""
    problem = ss.Problem(*data, k=1)
    assert ss.solve(problem.without_copies()).objective == pytest.approx(ss.solve(problem).objective, rel=1e-4)
