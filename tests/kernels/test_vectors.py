"""Sums, Cholesky and selection, against NumPy, SciPy and sorting."""

from __future__ import annotations

import math

import numpy as np
import pytest
from calling import interpreted
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg

from safescreen.kernels import vectors
from safescreen.rounding import UNIT


def test_an_inner_function_can_be_called_from_python():
    assert vectors.dot(np.ones(3), np.ones(3)) == 3.0


@pytest.mark.parametrize("size", [0, 1, 7, 1000])
def test_sums_in_any_order_are_within_their_error_bound(call, size):
    rng = np.random.default_rng(size)
    a, b = rng.standard_normal((2, size)) * 10.0 ** rng.integers(-8, 8, size)
    for found, terms in (
        (call(vectors.dot, a, b), a * b),
        (call(vectors.total, a), a),
        (call(vectors.absolute_total, a), np.abs(a)),
    ):
        assert abs(found - math.fsum(terms)) <= (size + 1) * UNIT * math.fsum(np.abs(terms))


def test_sums_in_place():
    a, b = np.arange(4.0), np.array([1.0, -2.0, 0.5, 0.0])
    vectors.add_multiple(a, -2.0, b)
    assert a.tolist() == [-2.0, 5.0, 1.0, 3.0]
    vectors.add_four(a, np.array([1.0, 0.0, -1.0, 2.0]), b, a.copy(), b, b)
    assert a.tolist() == [0.0, 1.0, 2.0, 3.0]
    vectors.copy_into(a, b)
    assert a.tolist() == b.tolist()
    vectors.clear(a)
    assert a.tolist() == [0.0] * 4
    assert b.tolist() == [1.0, -2.0, 0.5, 0.0]


# -- selection -------------------------------------------------------------------------------------------


def check_selection(call, gains, k, spare):
    """The two values by sorting, and the `k` largest in front, where sums over them look for them."""
    count = len(gains)
    values = np.array([*gains, *spare], dtype=float)
    kth, following = call(vectors.kth_and_next_largest, values, count, k)
    ordered = sorted(gains, reverse=True)
    assert kth == (ordered[k - 1] if 0 < k <= count else 0.0)
    assert following == (ordered[k] if 0 <= k < count else 0.0)
    assert sorted(values[:count], reverse=True) == ordered
    if 0 < k <= count:
        assert sorted(values[:k], reverse=True) == ordered[:k]
    assert values[count:].tolist() == spare


gains = st.lists(st.integers(0, 5).map(float) | st.floats(0.0, 1e300), max_size=40)


@settings(max_examples=300, deadline=None)
@given(gains, st.integers(0, 45))
def test_selection_against_sorting(gains, k):
    check_selection(interpreted, gains, k, [7.0, 1e308])


@pytest.mark.parametrize("k", [0, 1, 3, 5, 6, 7, 100])
@pytest.mark.parametrize("gains", [[], [2.0], [3.0] * 6, [1.0, 2.0, 2.0, 2.0, 1.0, 0.0], list(np.arange(50.0) % 7)])
def test_selection_with_ties(call, gains, k):
    check_selection(call, gains, k, [9.0])


# -- Cholesky --------------------------------------------------------------------------------------------


def factorise(call, matrix, size):
    for a in range(size):
        call(vectors.factorise_column, matrix, size, a)


def positive_definite(rng, size):
    root = rng.standard_normal((size + 3, size))
    return root.T @ root


@pytest.mark.parametrize("size", [1, 2, 9, 40])
def test_cholesky_against_scipy(call, size):
    rng = np.random.default_rng(size)
    matrix, rhs = positive_definite(rng, size), rng.standard_normal(size + 2)
    factor = np.full((size + 2, size + 2), np.nan)
    factor[:size, :size] = np.tril(matrix)
    solution = rhs.copy()
    factorise(call, factor, size)
    call(vectors.solve_factorised, factor, size, solution)
    lower = np.tril(factor[:size, :size])
    assert lower == pytest.approx(linalg.cholesky(matrix, lower=True), rel=1e-9, abs=1e-9)
    assert solution[:size] == pytest.approx(linalg.solve(matrix, rhs[:size], assume_a="pos"), rel=1e-7, abs=1e-9)
    assert np.array_equal(solution[size:], rhs[size:])  # only so many entries are there


@pytest.mark.parametrize("copies", [[0], [2, 4], [1, 1, 3]])
def test_duplicated_columns_are_left_where_they_are(call, copies):
    """A copy's pivot vanishes: its coordinate does not move, the others solve the system without it."""
    rng = np.random.default_rng(5)
    size = 5
    root = rng.standard_normal((12, size))
    root = np.hstack([root, root[:, copies]])
    matrix, rhs = root.T @ root, root.T @ rng.standard_normal(12)
    solution, factor = rhs.copy(), matrix.copy()
    factorise(call, factor, len(matrix))
    call(vectors.solve_factorised, factor, len(matrix), solution)
    assert solution[size:] == pytest.approx(np.zeros(len(copies)), abs=1e-30)
    assert solution[:size] == pytest.approx(np.linalg.solve(matrix[:size, :size], rhs[:size]), rel=1e-9)
    assert matrix @ solution == pytest.approx(rhs, rel=1e-9)


def test_columns_of_zeros_are_left_where_they_are():
    matrix = np.diag([4.0, 0.0, 9.0])
    solution = np.array([8.0, 5.0, 27.0])
    for a in range(3):
        vectors.factorise_column(matrix, 3, a)
    vectors.solve_factorised(matrix, 3, solution)
    assert solution == pytest.approx([2.0, 0.0, 3.0], abs=1e-90)
