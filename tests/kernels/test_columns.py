"""Columns held dense, sparse or both give the same answers, and dense slots run out in good order."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import columns_in_place, sparse_columns

from safescreen.design.columns import Columns
from safescreen.kernels import columns as kernel
from safescreen.kernels.node import PROGRESS
from safescreen.kernels.subproblem import FREE, IN, OUT

RUNNING = np.zeros(1, PROGRESS)[0]


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.standard_normal((20, 9)) * (rng.random((20, 9)) < 0.4) + 0.0


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("is_standardised", [True, False])
def test_correlations_from_either_form(call, X, is_standardised):
    A = standardised(X) if is_standardised else X
    alpha = np.random.default_rng(1).standard_normal(20)
    columns = sparse_columns(X, 4, is_standardised)
    for j in (7, 2):
        assert kernel.make_dense(columns, j, 0)
    features = np.array([2, 0, 8, 7, 5])
    found = np.full(9, np.nan)
    call(kernel.correlate, columns, features, 4, alpha, found, RUNNING)  # the fifth is not asked for
    assert found[features[:4]] == pytest.approx(A[:, features[:4]].T @ alpha, rel=1e-12, abs=1e-13)
    assert np.isnan(np.delete(found, features[:4])).all()
    dense = Columns.all_dense(np.ascontiguousarray(A.T), np.zeros(9))
    kernel.correlate(dense, np.arange(9), 9, alpha, found, RUNNING)
    assert found == pytest.approx(A.T @ alpha, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i1", "u1", "?"])
def test_columns_in_place(call, X, dtype, order):
    raw = np.asarray(np.rint(40.0 * np.abs(X)), dtype=dtype, order=order)
    A = standardised(raw.astype(np.float64))
    numbers = np.array([1, 2, 4, 5, 7, 8])
    columns = columns_in_place(raw, 3, numbers)
    alpha = np.random.default_rng(1).standard_normal(20)
    assert call(kernel.make_dense, columns, 2, 0)
    assert columns.dense[0] == pytest.approx(A[:, 4], rel=1e-14, abs=1e-15)
    found, features = np.full(6, np.nan), np.array([5, 2, 0, 3])
    call(kernel.correlate, columns, features, 3, alpha, found, RUNNING)  # the fourth is not asked for
    assert found[features[:3]] == pytest.approx(A[:, [8, 4, 1]].T @ alpha, rel=1e-12, abs=1e-13)
    assert np.isnan(found[[1, 3, 4]]).all()


def test_a_pass_over_the_matrix_can_be_halted(X):
    halted = RUNNING.copy()
    halted.halted = True
    columns = columns_in_place(X, 3, np.arange(9))
    found = np.full(9, np.nan)
    kernel.correlate(columns, np.arange(9), 9, np.ones(20), found, halted)
    assert not np.nan_to_num(found).any()


def test_dense_copy_is_the_standardised_column(call, X):
    columns = sparse_columns(X, 3)
    assert call(kernel.make_dense, columns, 5, 0)
    assert np.array_equal(columns.dense[0], standardised(X)[:, 5])
    assert columns.slot.tolist() == [-1, -1, -1, -1, -1, 0, -1, -1, -1]
    assert columns.in_use[0] == 1
    assert call(kernel.make_dense, columns, 5, 0)  # once is enough
    assert columns.in_use[0] == 1


def test_slots_run_out(X):
    columns = sparse_columns(X, 3)
    assert kernel.make_dense(columns, 0, 1)
    assert kernel.make_dense(columns, 1, 1)
    assert not kernel.make_dense(columns, 2, 1)  # the last one is spared
    assert columns.slot[2] == -1
    assert kernel.make_dense(columns, 0, 1)  # has one already
    assert kernel.make_dense(columns, 2, 0)
    assert not kernel.make_dense(columns, 3, 0)
    assert columns.in_use[0] == 3
    kernel.forget_dense(columns)
    assert columns.in_use[0] == 0
    assert (columns.slot == -1).all()
    assert kernel.make_dense(columns, 8, 0)
    assert np.array_equal(columns.dense[0], standardised(X)[:, 8])


@pytest.mark.parametrize(
    ("slots", "k", "reserved"), [(9, 3, 0), (20, 3, 0), (8, 5, 2), (8, 1, 1), (3, 5, 1), (4, 9, 1)]
)
def test_reserved_slots(X, slots, k, reserved):
    assert kernel.reserved_slots(sparse_columns(X, slots), k) == reserved


def test_only_reserved_slots_left(X):
    columns = sparse_columns(X, 8)
    for j in range(6):
        assert not kernel.only_reserved_slots_left(columns, 2)
        kernel.make_dense(columns, j, 0)
    assert kernel.only_reserved_slots_left(columns, 2)
    enough = sparse_columns(X, 9)
    for j in range(9):
        kernel.make_dense(enough, j, 0)
    assert not kernel.only_reserved_slots_left(enough, 5)  # nothing is reserved where all have room


def test_features_decided_in_get_reserved_slots(X):
    columns = sparse_columns(X, 4)
    status = np.array([FREE, IN, OUT, FREE, IN, FREE, FREE, FREE, OUT], np.int8)
    assert kernel.make_decided_dense(columns, status)
    assert np.flatnonzero(columns.slot >= 0).tolist() == [1, 4]
    status[5:] = IN
    assert not kernel.make_decided_dense(columns, status)
    assert columns.in_use[0] == 4


def test_sums_of_columns(X):
    A = standardised(X)
    columns = sparse_columns(X, 9)
    x = np.array([0.0, 2.0, 0.0, -1.0, 0.0, 0.5, 0.0, 0.0, 0.0])
    for j in np.flatnonzero(x):
        kernel.make_dense(columns, j, 0)
    u = np.full(20, np.nan)
    kernel.add_columns(columns, x, 0.25, u)  # columns whose coefficient is zero need no dense copy
    assert u == pytest.approx(A @ x + 0.25, rel=1e-13)
    kernel.add_column(columns, 3, 1.0, u)
    assert u == pytest.approx(A @ x + A[:, 3] + 0.25, rel=1e-13)
    weights, product = np.linspace(0.0, 1.0, 20), np.empty(20)
    kernel.weigh_column(columns, 5, weights, product)
    assert np.array_equal(product, weights * A[:, 5])
    assert kernel.dot_column(columns, 5, weights) == pytest.approx(weights @ A[:, 5], rel=1e-12)
