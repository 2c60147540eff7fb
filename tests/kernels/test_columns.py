"""Columns held dense, sparse or both give the same answers, and dense slots run out in good order."""

from __future__ import annotations

import numpy as np
import pytest
from calling import compiled
from kernel_cases import columns_in_place, sparse_columns
from scipy import sparse

from safescreen.design.columns import COLUMN_STEP, ROW_STEP, Columns, Raw
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


DTYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"]
SWAPPED = [np.dtype(code).newbyteorder().str for code in DTYPES if np.dtype(code).itemsize > 1]


def unaligned(X):
    """The same matrix one byte further on in memory."""
    room = np.empty(X.nbytes + 1, np.uint8)
    copy = room[1:].view(X.dtype).reshape(X.shape)
    copy[...] = X
    return copy


def in_records(X):
    """The same matrix with one more byte after every row."""
    records = np.zeros(len(X), [("entries", X.dtype, (X.shape[1],)), ("byte", "u1")])
    records["entries"] = X
    return records["entries"]


LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "rows backwards": lambda X: X[::-1].copy()[::-1],
    "columns backwards": lambda X: np.asfortranarray(X[:, ::-1])[:, ::-1],
    "both backwards": lambda X: np.asfortranarray(X[::-1, ::-1])[::-1, ::-1],
    "steps": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, 1::3],
    "unaligned": unaligned,
    "odd steps": in_records,
}


def extremes(dtype):
    """Entries of a type, its largest and smallest ones among them."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(5)
    if dtype.kind == "b":
        return rng.random((20, 9)) < 0.5
    if dtype.kind == "f":
        limits = np.finfo(dtype)
        X = (40.0 * rng.standard_normal((20, 9))).astype(dtype)
        X[0, :5] = limits.max if dtype.itemsize < 8 else 1e100, limits.smallest_subnormal, -limits.tiny, -0.0, 1.0
        X[1, :3] = -X[0, 0], -limits.smallest_subnormal, 3 * limits.smallest_subnormal
        return X
    limits = np.iinfo(dtype)
    X = rng.integers(limits.min, limits.max, (20, 9), dtype.newbyteorder("="), endpoint=True).astype(dtype)
    X[0, :4] = limits.max, limits.min, limits.max - 1, limits.min + 1
    return X


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES + SWAPPED)
def test_entries_in_place_are_those_of_a_dense_copy(dtype, layout):
    X = LAYOUTS[layout](extremes(dtype))
    assert X.dtype == np.dtype(dtype)
    dense, raw = X.astype(np.float64), Raw.in_place(X, np.arange(9))
    assert np.shares_memory(raw.memory, X)
    row, column = np.empty(9), np.empty(20)
    for j in range(9):
        kernel.copy_entries(raw.memory, raw.layout, j * raw.layout[COLUMN_STEP], raw.layout[ROW_STEP], column)
        assert np.array_equal(column, dense[:, j])
    for i in range(20):
        kernel.copy_entries(raw.memory, raw.layout, i * raw.layout[ROW_STEP], raw.layout[COLUMN_STEP], row)
        assert np.array_equal(row, dense[i])


@pytest.mark.parametrize("dtype", [*DTYPES, ">f8", ">f4", ">f2", ">i8", ">u8", ">i2", ">u2"])
def test_compiled_code_reads_them_as_well(dtype):
    for layout in ("rows", "columns", "both backwards", "unaligned"):
        X = LAYOUTS[layout](extremes(dtype))
        raw, column = Raw.in_place(X, np.arange(9)), np.empty(20)
        step, aside = (int(raw.layout[place]) for place in (ROW_STEP, COLUMN_STEP))
        for j in (0, 1, 2, 8):
            compiled(kernel.copy_entries, raw.memory, raw.layout, j * aside, step, column)
            assert np.array_equal(column, X[:, j].astype(np.float64))


@pytest.mark.parametrize("layout", ["rows", "columns", "rows backwards", "both backwards", "odd steps"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i2", "u4", "i1", "u1", "?", ">f8", ">f4", ">i2"])
def test_columns_in_place(call, X, dtype, layout):
    raw = LAYOUTS[layout](np.rint(40.0 * np.abs(X)).astype(dtype))
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


def test_compressed_values_in_single_precision_stay_where_they_are(call, X):
    single = sparse.csc_array(X.astype(np.float32))
    starts = single.indptr.astype(np.int64)
    parts = single.indices.astype(np.int32), starts[:-1].copy(), starts[1:].copy()
    moments, error = (X.mean(axis=0), X.std(axis=0)), np.full(9, 1e-14)
    results = []
    for raw in (Raw.compressed_singles(single.data, *parts), Raw.compressed(single.data.astype(np.float64), *parts)):
        columns = Columns.partly_dense(raw, moments, error, np.full((4, 20), np.nan))
        assert not columns.are_in_place
        assert not columns.are_all_dense
        for j in (7, 2):
            assert call(kernel.make_dense, columns, j, 0)
        found = np.full(9, np.nan)
        call(kernel.correlate, columns, np.arange(9), 9, np.linspace(-1.0, 1.0, 20), found, RUNNING)
        results.append((columns.dense[:2].copy(), found))
    (dense, found), (expected_dense, expected) = results
    assert np.array_equal(dense, expected_dense)
    assert found == pytest.approx(expected, rel=1e-13, abs=1e-15)


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
    assert kernel.make_decided_dense(columns, status, np.arange(9))
    assert np.flatnonzero(columns.slot >= 0).tolist() == [1, 4]
    status[5:] = IN
    assert not kernel.make_decided_dense(columns, status, np.arange(9))
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
    assert kernel.dot_column(columns, 5, weights, weights.sum()) == pytest.approx(weights @ A[:, 5], rel=1e-12)
