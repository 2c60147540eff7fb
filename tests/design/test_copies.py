"""Columns that are copies of one another: all are found, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from safescreen.design import make_design


def copies(X, standardize=True, weights=None):
    samples = X.shape[0]
    weights = np.full(samples, 1.0 / samples) if weights is None else weights / weights.sum()
    return [group.tolist() for group in make_design(X, weights, standardize).copies]


def base(samples=40, features=6, seed=0):
    return np.random.default_rng(seed).standard_normal((samples, features))


@pytest.mark.parametrize(
    ("factor", "offset"), [(1.0, 0.0), (-1.0, 0.0), (3.7, 0.0), (1e-6, 0.3), (-0.1, 5.0), (1e5, -1e3), (2.0, 1e6)]
)
def test_affine_copies(factor, offset):
    X = base()
    X[:, 4] = factor * X[:, 1] + offset
    assert copies(X) == [[1, 4]]
    assert copies(np.asfortranarray(X)) == [[1, 4]]
    equal = (factor, offset) == (1.0, 0.0)
    assert copies(X, standardize=False) == ([[1, 4]] if equal else [])


@pytest.mark.parametrize("noise", [1e-6, 1e-9])
def test_near_copies_are_other_columns(noise):
    X = base()
    X[:, 4] = X[:, 1] + noise * base(seed=1)[:, 0]
    X[:, 5] = X[:, 2]
    X[7, 5] += noise
    assert copies(X) == []
    assert copies(X, standardize=False) == []
    assert copies(sparse.csc_array(X)) == []


def test_several_groups_and_constant_columns():
    X = base(features=9)
    X[:, 3] = X[:, 0]
    X[:, 8] = -2.0 * X[:, 0] + 1.0
    X[:, 7] = X[:, 2] / 3.0
    X[:, 4] = X[:, 5] = 1.0
    assert copies(X) == [[0, 3, 8], [2, 7]]
    assert copies(X, standardize=False) == [[0, 3], [4, 5]]
    X[:, 4] = X[:, 5] = 0.0
    assert copies(X, standardize=False) == [[0, 3]]


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.uint8, np.bool_, np.float16])
def test_other_types(dtype):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (60, 8)).astype(dtype)
    X[:, 5] = X[:, 2]
    X[:, 6] = 1 - X[:, 3].astype(np.int64)
    assert copies(X) == [[2, 5], [3, 6]]
    assert copies(X, standardize=False) == [[2, 5]]


def test_single_precision_rounds_its_copies():
    X = base(200).astype(np.float32)
    X[:, 4] = np.float32(0.1) * X[:, 1] + np.float32(3.3)
    assert copies(X) == [[1, 4]]
    assert copies(sparse.csc_array(X)) == [[1, 4]]
    X[:, 4] += np.float32(1e-3) * base(200, seed=1)[:, 0].astype(np.float32)
    assert copies(X) == []


def test_rare_words():
    """Thousands of columns with one or two entries: those in the same rows are copies, whatever their values."""
    rng = np.random.default_rng(0)
    samples, features = 300, 5000
    rows = [rng.choice(samples, size, replace=False) for size in rng.integers(1, 3, features)]
    lengths = [len(one) for one in rows]
    places = (np.concatenate(rows), np.repeat(np.arange(features), lengths))
    values = np.repeat(rng.integers(1, 4, features), lengths).astype(float)
    X = sparse.csc_array((values, places), shape=(samples, features))
    groups: dict[tuple[int, ...], list[int]] = {}
    for j, one in enumerate(rows):
        groups.setdefault(tuple(sorted(one.tolist())), []).append(j)
    expected = sorted(group for group in groups.values() if len(group) > 1)
    assert len(expected) > 300
    assert copies(X) == expected
    assert copies(X.toarray()) == expected
    exact: dict[tuple[tuple[int, ...], float], list[int]] = {}
    for j, one in enumerate(rows):
        exact.setdefault((tuple(sorted(one.tolist())), X[one[0], j]), []).append(j)
    same = sorted(group for group in exact.values() if len(group) > 1)
    assert copies(X, standardize=False) == copies(X.toarray(), standardize=False) == same


def test_sparse_columns_whose_copies_store_other_rows():
    X = np.zeros((30, 5))
    X[:4, 0] = 1.0
    X[4:, 2] = 7.0  # the opposite of the first
    X[:5, 1] = X[:5, 3] = np.arange(5.0)  # a zero may be stored or not
    X[2:9, 4] = 1.0
    stored = sparse.csc_array(X)
    assert copies(stored) == copies(X) == [[0, 2], [1, 3]]
    explicit = sparse.csc_array(np.where(X == 0.0, 9.0, X))
    explicit.data[explicit.data == 9.0] = 0.0
    assert copies(explicit) == [[0, 2], [1, 3]]


def test_rows_of_any_weight_count():
    X = base()
    X[:, 4] = X[:, 1]
    X[0, 4] += 1.0
    weights = np.ones(40)
    weights[0] = 0.0
    assert copies(X, weights=weights) == []


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), dense=st.booleans(), standardize=st.booleans(), weighted=st.booleans())
def test_whatever_is_planted_is_found(seed, dense, standardize, weighted):
    rng = np.random.default_rng(seed)
    samples = int(rng.integers(10, 80))
    originals = rng.standard_normal((samples, 5)) * (rng.random((samples, 5)) < rng.uniform(0.3, 1.0))
    originals[:2] = rng.standard_normal((2, 5))
    origin = rng.integers(0, 5, 12)
    factor = rng.choice([1.0, -1.0, 1e-3, 250.0], 12) if standardize else np.ones(12)
    offset = rng.choice([0.0, 0.0, 1.0, -40.0], 12) if standardize else np.zeros(12)
    X = originals[:, origin] * factor + offset
    weights = rng.uniform(0.5, 2.0, samples) if weighted else None
    expected = sorted(np.flatnonzero(origin == k).tolist() for k in range(5) if (origin == k).sum() > 1)
    assert copies(X if dense else sparse.csr_array(X), standardize, weights) == expected
