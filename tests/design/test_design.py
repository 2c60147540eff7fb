"""The matrix: every storage gives the same answers, within the rounding error it claims."""

from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import safescreen as ss
from safescreen.design import DenseDesign, Design, SparseDesign, make_design

pytestmark = pytest.mark.interpreted

DTYPES = [np.float64, np.float32, np.float16, np.int64, np.int8, np.uint16, np.bool_]
FORMATS = ["csc", "csr", "coo", "bsr", "dia", "dok", "lil"]
LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
}


def integers(samples: int = 40, features: int = 25, seed: int = 0) -> np.ndarray:
    """Small non-negative integers with many zeros, which every dtype can hold."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 9, (samples, features)) * (rng.random((samples, features)) < 0.4)


def uniform(samples: int) -> np.ndarray:
    return np.full(samples, 1.0 / samples)


def random_weights(samples: int, seed: int = 1, zeros: bool = True) -> np.ndarray:
    weights = np.random.default_rng(seed).random(samples)
    if zeros:
        weights[:: max(samples // 5, 2)] = 0.0
    return weights / weights.sum()


def extended(design: Design, X: np.ndarray) -> np.ndarray:
    """The matrix ``A`` in extended precision."""
    A = (X.astype(np.longdouble) - design.means) / design.scales
    A[:, design.constant] = 0.0
    return A


def check_answers(design: Design, X: np.ndarray, seed: int = 3) -> None:
    alpha = np.random.default_rng(seed).standard_normal(X.shape[0])
    A, norm = extended(design, X), np.linalg.norm(alpha)
    got = design.correlations(alpha)
    assert got.dtype == np.float64
    assert np.all(np.abs(got - A.T @ alpha.astype(np.longdouble)) <= design.error * norm)
    chosen = np.arange(X.shape[1])[::-2]
    block = design.columns(chosen)
    assert block.dtype == np.float64
    assert block.flags.f_contiguous
    np.testing.assert_allclose(block, A[:, chosen].astype(np.float64), rtol=4e-16, atol=0)
    difference = np.abs(block.T @ alpha - A[:, chosen].T @ alpha.astype(np.longdouble))
    assert np.all(difference <= design.block_error[chosen] * norm)


@pytest.fixture
def tiny_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make small matrices go through many pieces."""
    for module in ("base", "dense", "sparse"):
        monkeypatch.setattr(f"safescreen.design.{module}.CHUNK_ENTRIES", 64)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dense_dtypes_and_layouts(dtype, layout, standardize, tiny_chunks):
    X = LAYOUTS[layout](integers().astype(dtype))
    check_answers(DenseDesign(X, random_weights(len(X)), standardize), X)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.bool_])
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("form", FORMATS)
def test_sparse_formats(form, kind, dtype, standardize, tiny_chunks):
    X = integers().astype(dtype)
    stored = getattr(sparse, f"{form}_{kind}")(X)
    design = make_design(stored, random_weights(len(X)), standardize)
    assert isinstance(design, SparseDesign)
    check_answers(design, X)


@pytest.mark.parametrize("weights", [uniform(40), random_weights(40), random_weights(40, zeros=False)])
def test_sparse_and_dense_agree_on_moments(weights, tiny_chunks):
    X = integers().astype(float)
    X[:, 3], X[:, 4], X[:, 5] = 0.0, 7.0, np.arange(40.0)
    dense, stored = (make_design(M, weights, True) for M in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(dense.means, stored.means, rtol=1e-14)
    np.testing.assert_allclose(dense.scales, stored.scales, rtol=1e-13)
    np.testing.assert_array_equal(dense.constant, stored.constant)
    assert dense.constant[[3, 4]].all()
    mean = weights @ X
    np.testing.assert_allclose(dense.means, mean, rtol=1e-13)
    deviation = np.sqrt(weights @ (X - mean) ** 2)
    deviation[dense.constant] = 1.0
    np.testing.assert_allclose(dense.scales, deviation, rtol=1e-12)


def test_float32_is_neither_copied_nor_cast():
    X = integers().astype(np.float32)
    assert np.shares_memory(DenseDesign(X, uniform(40))._X, X)
    stored = sparse.csc_array(X)
    transposed = SparseDesign(stored, uniform(40))._transposed
    assert transposed.dtype == np.float32
    assert np.shares_memory(transposed.data, stored.data)


def test_duplicates_are_summed_without_touching_the_input():
    rows, columns, values = (
        np.array([1, 1, 0, 2]),
        np.array([0, 0, 1, 1]),
        np.array([100, 100, 5, 6], np.int8),
    )
    csc = sparse.csc_array((values.astype(float), rows, np.array([0, 2, 4])), shape=(3, 2))
    before = csc.data.copy(), csc.indices.copy()
    X = np.array([[0.0, 5.0], [200.0, 0.0], [0.0, 6.0]])
    for stored in (csc, sparse.coo_array((values, (rows, columns)), shape=(3, 2))):
        np.testing.assert_array_equal(SparseDesign(stored, uniform(3)).columns([0, 1]), X)
    np.testing.assert_array_equal(csc.data, before[0])
    np.testing.assert_array_equal(csc.indices, before[1])


def test_wide_indices_become_narrow():
    stored = sparse.csr_array(integers().astype(float))
    wide = sparse.csr_array((stored.data, stored.indices.astype(np.int64), stored.indptr.astype(np.int64)))
    assert SparseDesign(wide, uniform(40))._transposed.indices.dtype == np.int32


def test_empty_columns_at_chunk_borders(tiny_chunks):
    X = np.zeros((50, 12))
    X[:, [2, 3, 7]] = np.random.default_rng(0).standard_normal((50, 3))
    for standardize in (False, True):
        design = SparseDesign(sparse.csc_array(X.astype(np.float32)), uniform(50), standardize)
        check_answers(design, X.astype(np.float32))
        assert design.constant.sum() == 9


@pytest.mark.parametrize("make", [np.asarray, sparse.csc_array])
def test_constant_columns_act_as_zero(make):
    X = np.random.default_rng(0).standard_normal((30, 4))
    X[:, 1], X[:, 2] = 0.1, 0.0
    alpha = np.ones(30)
    standardized, raw = (make_design(make(X), uniform(30), flag) for flag in (True, False))
    assert standardized.constant.tolist() == [False, True, True, False]
    assert raw.constant.tolist() == [False, False, True, False]
    assert standardized.means[1] == 0.1
    assert standardized.scales[1] == 1.0
    assert np.all(standardized.correlations(alpha)[1:3] == 0.0)
    assert np.all(standardized.columns([1, 2]) == 0.0)
    assert np.all(standardized.error[1:3] == 0.0)


@pytest.mark.parametrize("make", [np.asarray, sparse.csc_array])
def test_constant_on_positive_weight_only(make):
    X = np.array([[1.0, 0.0, 5.0], [2.0, 0.0, 5.0], [3.0, 9.0, 7.0]])
    weights = np.array([0.5, 0.5, 0.0])
    assert make_design(make(X), weights, True).constant.tolist() == [False, True, True]
    assert make_design(make(X), weights, False).constant.tolist() == [False, True, False]
    assert np.all(make_design(make(X), weights, True).columns([2]) == 0.0)


def test_nearly_constant_is_not_constant():
    X = np.full((100, 1), 0.1)
    X[3] = np.nextafter(0.1, 1.0)
    design = DenseDesign(X, uniform(100), True)
    assert not design.constant.any()
    assert design.scales[0] > 0.0


def test_large_means_do_not_spoil_the_deviation():
    rng = np.random.default_rng(0)
    X = 1e8 + rng.standard_normal((2000, 3))
    design = DenseDesign(X, uniform(2000), True)
    exact = X.astype(np.longdouble).std(axis=0)
    np.testing.assert_allclose(design.scales, exact.astype(float), rtol=1e-12)


@pytest.mark.parametrize("size", [1e-200, 1e149])
@pytest.mark.parametrize("make", [np.asarray, sparse.csc_array])
def test_extreme_sizes(size, make):
    X = np.random.default_rng(0).standard_normal((20, 3)) * size
    design = make_design(make(X), uniform(20), True)
    np.testing.assert_allclose(np.sqrt((design.columns(range(3)) ** 2).mean(axis=0)), 1.0, rtol=1e-12)
    assert not make_design(make(X), uniform(20), False).constant.any()


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    samples=st.integers(1, 12),
    offset=st.sampled_from([0.0, 1.0, 1e6]),
    stored=st.booleans(),
    standardize=st.booleans(),
)
def test_error_bounds_against_rationals(seed, samples, offset, stored, standardize):
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((samples, 3)) + offset) * 10.0 ** rng.integers(-3, 4, 3)
    X[rng.random(X.shape) < 0.3] = 0.0
    alpha = rng.standard_normal(samples) * 10.0 ** rng.integers(-3, 4, samples)
    design = make_design(sparse.csc_array(X) if stored else X, uniform(samples), standardize)
    computed, block = design.correlations(alpha), design.columns(range(3))
    norm_squared = sum(Fraction(a) ** 2 for a in alpha)
    for j in range(3):
        if design.constant[j]:
            continue
        mean, scale = Fraction(design.means[j]), Fraction(design.scales[j])
        exact = sum((Fraction(x) - mean) / scale * Fraction(a) for x, a in zip(X[:, j], alpha, strict=True))
        for value, bound in ((computed[j], design.error[j]), (block[:, j] @ alpha, design.block_error[j])):
            assert (Fraction(float(value)) - exact) ** 2 <= Fraction(bound) ** 2 * norm_squared


def test_error_bounds_are_not_wasteful():
    X = np.random.default_rng(0).standard_normal((1000, 5))
    for stored in (X, sparse.csc_array(X)):
        design = make_design(stored, uniform(1000), True)
        assert np.all(design.error < 1e-11)
        assert np.all(design.block_error < 1e-11)


@pytest.mark.parametrize("weight", [1e-3, 1e-9, 3e-16, 1e-30])
def test_zeros_of_little_weight_count_in_sparse_columns(weight):
    """Their weight is a tiny difference of sums, but most of the deviation may come from it."""
    rng = np.random.default_rng(0)
    X = np.column_stack((np.full(30, 5.0) + 1e-9 * rng.standard_normal(30), rng.standard_normal(30)))
    X[3, 0] = 0.0
    weights = rng.uniform(0.5, 1.5, 30)
    weights[3] = weight
    dense, stored = (
        ss.Problem(form(X), np.arange(30) % 2, k=1, sample_weight=weights, standardize=True, fit_intercept=False)
        for form in (np.asarray, sparse.csc_array)
    )
    np.testing.assert_allclose(stored.design.scales, dense.design.scales, rtol=1e-9)
    np.testing.assert_allclose(stored.design.means, dense.design.means, rtol=1e-12)


def test_explicit_zeros_do_not_show():
    """A sparse matrix is the same with and without stored zeros: in its fingerprint, hence in a proof."""
    X = sparse.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
    stored = X.copy()
    stored.data[1] = 0.0
    plain = stored.copy()
    plain.eliminate_zeros()
    weights = np.full(2, 0.5)
    assert stored.nnz > plain.nnz
    assert make_design(stored, weights).fingerprint == make_design(plain, weights).fingerprint


def test_explicit_zeros_are_left_out_piece_by_piece(monkeypatch):
    rng = np.random.default_rng(0)
    stored = sparse.random_array((20, 15), density=0.4, rng=rng, format="csc")
    stored.data[rng.random(stored.nnz) < 0.3] = 0.0
    stored.data[stored.indptr[4] : stored.indptr[5]] = -0.0  # a column of nothing else
    plain = stored.copy()
    plain.eliminate_zeros()
    parts = plain.indptr.astype("<i8"), plain.indices.astype("<i8"), plain.data
    expected = hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
    monkeypatch.setattr("safescreen.design.sparse.CHUNK_ENTRIES", 7)
    assert make_design(stored, np.full(20, 0.05)).fingerprint == expected
