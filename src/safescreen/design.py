"""The matrix behind two questions: all correlations ``Aᵀα``, and "these columns, dense".

A solve touches the whole matrix only for bounds and screening, so nothing outside this module needs to know
how it is stored. Standardisation happens here as well, and never copies: ``A = (X - means) / scales`` exists
only as the pair ``(means, scales)`` that corrects each answer.

Every answer comes with an a-priori bound on its rounding error, because the solver's bounds must hold for
the real matrix ``A`` (with the floating-point ``means`` and ``scales`` taken as exact), not for its rounded
image. The bounds leave out underflow, which is far below anything a double-precision objective can show.
"""

from __future__ import annotations

import hashlib
import math
import mmap
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IndexArray = npt.NDArray[np.int64]

UNIT = 1.2e-16
"""Just above the unit round-off 2⁻⁵³, so that first-order error bounds also cover the higher orders."""

NORM_SLACK = 1.0 + 1e-6
"""Covers the rounding of a computed norm, which is of relative size ``m · UNIT``."""

CHUNK_ENTRIES = 1 << 17
"""Float64 entries cast or centred at a time: 1 MiB, which stays in a core's cache."""

LARGE_BYTES = 1 << 20
"""Blocks of columns from this size on are given back to the system one by one."""

SMALL_ENTRIES = 1 << 18
"""Of a matrix with at most so many entries a dense copy by columns is kept: 2 MiB."""

SAFE_SQUARES = (1e-280, 1e280)
"""Sums of squares outside this range may have lost accuracy to underflow or overflow."""

NOISY_SHARE = 1e-3
"""A difference of sums that is a smaller part of them than this has lost too many digits."""


class Moments(NamedTuple):
    """Column means, scales, and which columns are identically zero once standardised."""

    means: FloatArray
    scales: FloatArray
    constant: BoolArray


class Compressed(NamedTuple):
    """Columns in compressed sparse form: raw values, their rows, and where each column starts."""

    values: FloatArray
    rows: npt.NDArray[np.int32]
    starts: IndexArray


class Design(ABC):
    """A matrix ``A = (X - means) / scales``, seen through correlations and dense column blocks.

    Parameters
    ----------
    shape : tuple of int
        Samples and features.
    weights : ndarray of shape (n_samples,)
        Non-negative, summing to one. They define means and variances, and rows of weight zero are ignored
        when looking for constant columns.
    standardize : bool
        Whether columns are centred and scaled to unit (population) variance.
    """

    def __init__(self, shape: tuple[int, int], weights: FloatArray, standardize: bool) -> None:
        self.shape = shape
        self.standardize = standardize
        self._weights = weights

    @property
    def means(self) -> FloatArray:
        """What is subtracted from each column; zero without standardisation."""
        return self._moments.means

    @property
    def scales(self) -> FloatArray:
        """What each column is divided by; one without standardisation."""
        return self._moments.scales

    @property
    def constant(self) -> BoolArray:
        """Columns that are identically zero on all rows of positive weight, once centred.

        They act as exactly zero in every answer.
        """
        return self._moments.constant

    @cached_property
    def error(self) -> FloatArray:
        """Coefficients with ``|correlations(α)_j - (A^j)ᵀα| ≤ error_j ‖α‖₂`` in real arithmetic."""
        return self._zero_constant(self._correlation_error())

    @cached_property
    def block_error(self) -> FloatArray:
        """Coefficients with ``|fl(B_jᵀα) - (A^j)ᵀα| ≤ block_error_j ‖α‖₂`` for columns ``B`` of `columns`."""
        return self._zero_constant((self.shape[0] + 6) * UNIT * self._norms)

    def correlations(self, alpha: FloatArray) -> FloatArray:
        """All of ``Aᵀα`` in one full pass over the matrix, accumulated in float64."""
        sums = self._sums(alpha, self.means if self.standardize else None)
        if self.standardize:
            sums /= self.scales
        return self._zero_constant(sums)

    def columns(self, indices: npt.ArrayLike) -> FloatArray:
        """These columns of ``A`` as a dense, Fortran-ordered float64 block."""
        chosen = np.asarray(indices, dtype=np.int64).reshape(-1)
        if self.shape[0] * self.shape[1] <= SMALL_ENTRIES:
            return np.take(self._all_columns, chosen, axis=0).T
        return self._standardized_rows(chosen).T

    @cached_property
    def _all_columns(self) -> FloatArray:
        """Every column as a row: kept for small matrices, whose solves would else spend their time gathering."""
        return self._standardized_rows(np.arange(self.shape[1]))

    def _standardized_rows(self, chosen: IndexArray) -> FloatArray:
        """These columns of ``A`` as the C-ordered rows of a new array."""
        rows = self._gather(chosen)
        if self.standardize:
            rows -= self.means[chosen, None]
            rows /= self.scales[chosen, None]
        rows[self.constant[chosen]] = 0.0
        return rows

    def exact_correlations(self, indices: IndexArray, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``Aᵀα`` for a few columns without rounding in the sum, and the error that is left per column.

        Products are split into a rounded part and its error, and all parts are summed exactly: worthwhile where badly
        scaled columns would make the ordinary error bound the weakest link. What is left is the rounding of the
        standardised entries themselves and of the result.
        """
        rows = self.columns(indices).T
        products = rows * alpha
        errors = _product_errors(rows, alpha, products)
        sums = np.array([math.fsum((*p, *e)) for p, e in zip(products.tolist(), errors.tolist(), strict=True)])
        entries = 3.0 * UNIT * self._norms[indices] if self.standardize else np.zeros(indices.size)
        left = entries * float(np.linalg.norm(alpha)) * NORM_SLACK + 2.0 * UNIT * np.abs(sums)
        return sums, np.asarray(left + self.shape[0] * 1e-300)

    @property
    def norms(self) -> FloatArray:
        """Upper bounds on ``‖A^j‖₂``."""
        return self._norms

    def compressed(self, indices: IndexArray) -> Compressed | None:
        """These raw columns in compressed form, or None where they are stored dense anyway."""
        return None

    form = "dense"
    """How the matrix is stored."""

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the raw matrix: the same for equal values in the same `form`, whatever their dtype or order."""
        digest = hashlib.sha256()
        for part in self._canonical_parts():
            digest.update(part.data)
        return digest.hexdigest()

    @abstractmethod
    def _canonical_parts(self) -> Iterator[npt.NDArray[Any]]:
        """The raw matrix as a sequence of arrays that depends on its values and its `form` alone."""

    @abstractmethod
    def _gather(self, indices: IndexArray) -> FloatArray:
        """The raw columns as the rows of a new C-ordered float64 array."""

    @abstractmethod
    def _sums(self, factors: FloatArray, centre: FloatArray | None) -> FloatArray:
        """``Σ_i factors_i (X_ij - centre_j)`` for every column, in one pass."""

    @abstractmethod
    def _squares(self, factors: FloatArray, centre: FloatArray | None) -> FloatArray:
        """``Σ_i factors_i (X_ij - centre_j)²`` for every column, in one pass, as a sum of positive terms."""

    @abstractmethod
    def _correlation_error(self) -> FloatArray:
        """`error`, before constant columns are set to zero."""

    @abstractmethod
    def _zero_candidates(self) -> IndexArray:
        """Columns that may be all zero on rows of positive weight: a superset of those that are."""

    @cached_property
    def _moments(self) -> Moments:
        return self._standardized_moments() if self.standardize else self._trivial_moments()

    @cached_property
    def _positive(self) -> BoolArray | slice:
        """Selects the rows of positive weight."""
        positive = self._weights > 0.0
        return slice(None) if positive.all() else positive

    @cached_property
    def _norms(self) -> FloatArray:
        """Upper bounds on ``‖A^j‖₂``."""
        return self._norm_bounds(self.means if self.standardize else None) / self.scales

    def _norm_bounds(self, centre: FloatArray | None) -> FloatArray:
        """Upper bounds on ``‖X^j - centre_j‖₂``; the small term stands for squares lost to underflow."""
        samples = self.shape[0]
        with np.errstate(over="ignore"):
            squares = self._squares(np.ones(samples), centre)
        return np.sqrt(squares + samples * 1e-307) * NORM_SLACK

    def _zero_constant(self, values: FloatArray) -> FloatArray:
        values[self.constant] = 0.0
        return values

    def _trivial_moments(self) -> Moments:
        """Without standardisation a column can only be useless by being all zero."""
        features = self.shape[1]
        constant = np.zeros(features, dtype=np.bool_)
        for batch, values in self._candidate_values(self._zero_candidates()):
            constant[batch] = ~values.any(axis=1)
        return Moments(np.zeros(features), np.ones(features), constant)

    def _standardized_moments(self) -> Moments:
        """Weighted means and population deviations, in passes that stay accurate for large means.

        Whether a column is constant is decided on its exact values. Only columns whose deviation is within
        the rounding of their mean need that look.
        """
        means = self._means()
        with np.errstate(over="ignore"):
            variances = self._squares(self._weights, means)
        scales = np.sqrt(variances)
        constant = np.zeros(self.shape[1], dtype=np.bool_)
        noise = 4.0 * (self.shape[0] + 8) * UNIT * np.abs(means)
        in_range = (variances > SAFE_SQUARES[0]) & (variances < SAFE_SQUARES[1])
        for batch, values in self._candidate_values(np.flatnonzero(~in_range | (scales <= noise))):
            same = values.min(axis=1) == values.max(axis=1)
            constant[batch[same]] = True
            means[batch[same]], scales[batch[same]] = values[same, 0], 1.0
            for row in np.flatnonzero(~same & ~in_range[batch]):
                j = batch[row]
                scales[j] = _scaled_deviation(values[row], means[j], self._weights[self._positive])
        unusable = ~(np.isfinite(scales) & (scales > 0.0))  # differs only on rows of negligible weight
        scales[unusable] = 1.0
        return Moments(means, scales, constant | unusable)

    def _candidate_values(self, indices: IndexArray) -> Iterator[tuple[IndexArray, FloatArray]]:
        """A few columns at a time, as rows, on the samples of positive weight only."""
        for piece in _slices(indices.size, CHUNK_ENTRIES // self.shape[0]):
            yield indices[piece], self._gather(indices[piece])[:, self._positive]

    def _means(self) -> FloatArray:
        """Weighted means, corrected once by the mean of what is left after subtracting them."""
        means = self._sums(self._weights, None)
        means += self._sums(self._weights, means)
        return means


def _scaled_deviation(values: FloatArray, mean: float, weights: FloatArray) -> float:
    """A standard deviation whose squares would leave the range of float64."""
    deviations = values - mean
    largest = float(np.abs(deviations).max())
    if largest == 0.0:
        return 0.0
    return largest * float(np.sqrt(weights @ (deviations / largest) ** 2))


def _product_errors(a: FloatArray, b: FloatArray, products: FloatArray) -> FloatArray:
    """The exact errors of rounded products (Dekker's splitting into halves of the significand)."""
    a_high, b_high = _high_half(a), _high_half(b)
    a_low, b_low = a - a_high, b - b_high
    return ((a_high * b_high - products) + a_high * b_low + a_low * b_high) + a_low * b_low


def _high_half(a: FloatArray) -> FloatArray:
    scaled = 134217729.0 * a  # 2**27 + 1
    return np.asarray(scaled - (scaled - a))


class DenseDesign(Design):
    """A dense array of any real dtype and memory layout, read in place."""

    def __init__(self, X: npt.NDArray[Any], weights: FloatArray, standardize: bool = False) -> None:
        super().__init__((X.shape[0], X.shape[1]), weights, standardize)
        self._X = X
        self._by_columns = abs(X.strides[0]) < abs(X.strides[1])
        self._ready_for_blas = X.dtype == np.float64 and (X.flags.c_contiguous or X.flags.f_contiguous)

    def _canonical_parts(self) -> Iterator[npt.NDArray[Any]]:
        """Float64 entries row by row, without negative zeros."""
        for rows in _slices(self.shape[0], CHUNK_ENTRIES // self.shape[1]):
            yield np.ascontiguousarray(self._X[rows], dtype=np.float64) + 0.0

    def _blocks(self) -> Iterator[tuple[slice, slice, FloatArray]]:
        """Pieces along the memory order, as float64; views where the matrix already is float64."""
        samples, features = self.shape
        if self._by_columns:
            for columns in _slices(features, CHUNK_ENTRIES // samples):
                yield slice(0, samples), columns, self._X[:, columns].astype(np.float64, copy=False)
        else:
            for rows in _slices(samples, CHUNK_ENTRIES // features):
                yield rows, slice(0, features), self._X[rows].astype(np.float64, copy=False)

    def _gather(self, indices: IndexArray) -> FloatArray:
        rows = _zeros(indices.size, self.shape[0])
        if self._by_columns or indices.size > 512:
            rows[...] = self._X.T[indices]
        else:  # several times faster than fancy indexing for a few strided columns
            for row, j in zip(rows, indices.tolist(), strict=True):
                row[:] = self._X[:, j]
        return rows

    def _sums(self, factors: FloatArray, centre: FloatArray | None) -> FloatArray:
        if centre is not None and self._product_suffices:
            return np.asarray(self._sums(factors, None) - centre * factors.sum())
        if centre is None and self._ready_for_blas:
            return np.asarray(factors @ self._X)
        sums = np.zeros(self.shape[1])
        for rows, columns, block in self._blocks():
            centred = block if centre is None else block - centre[columns]
            sums[columns] += factors[rows] @ centred
        return sums

    def _squares(self, factors: FloatArray, centre: FloatArray | None) -> FloatArray:
        squares = np.zeros(self.shape[1])
        plain = bool(np.all(factors == 1.0))
        for rows, columns, block in self._blocks():
            centred = block if centre is None else block - centre[columns]
            if plain:
                squares[columns] += np.einsum("ij,ij->j", centred, centred)
            else:
                squares[columns] += factors[rows] @ np.square(centred)
        return squares

    @property
    def _product_suffices(self) -> bool:
        """Whether to centre after the product: fewer copies, and accurate while no mean dwarfs its scale."""
        return "_moments" in vars(self) and self._centred_late

    @cached_property
    def _centred_late(self) -> bool:
        return bool(np.all((np.abs(self.means) <= 8.0 * self.scales) | self.constant))

    def _correlation_error(self) -> FloatArray:
        samples = self.shape[0]
        error = (samples + 6) * UNIT * self._norms
        if self.standardize and self._centred_late:  # ‖X^j‖ ≤ scale ‖A^j‖ + √m |mean|, and the correction's own error
            error += 2.0 * (samples + 8) * UNIT * np.sqrt(samples) * np.abs(self.means) / self.scales * NORM_SLACK
        return error

    @cached_property
    def _raw_squares(self) -> FloatArray:
        """Squared norms of the raw columns, wanted both for their norms and for finding zero columns."""
        with np.errstate(over="ignore"):
            return self._squares(np.ones(self.shape[0]), None)

    def _norm_bounds(self, centre: FloatArray | None) -> FloatArray:
        if centre is not None:
            return super()._norm_bounds(centre)
        return np.sqrt(self._raw_squares + self.shape[0] * 1e-307) * NORM_SLACK

    def _zero_candidates(self) -> IndexArray:
        if isinstance(self._positive, slice):
            squares = self._raw_squares
        else:
            squares = self._squares(self._positive.astype(np.float64), None)
        return np.flatnonzero(squares < SAFE_SQUARES[0])


def _zeros(rows: int, columns: int) -> FloatArray:
    """Zeros; a large block comes straight from the system, which has it back as soon as it is dropped.

    The memory allocator would keep the room of a block that another one has outlived.
    """
    if rows * columns * 8 < LARGE_BYTES:
        return np.zeros((rows, columns))
    return np.frombuffer(mmap.mmap(-1, rows * columns * 8)).reshape(rows, columns)


def _slices(length: int, step: int) -> Iterator[slice]:
    """Consecutive slices of at least one and about ``step`` entries."""
    step = max(step, 1)
    for start in range(0, length, step):
        yield slice(start, min(start + step, length))


class SparseDesign(Design):
    """A SciPy sparse matrix, held by columns and never densified."""

    form = "sparse"

    def __init__(self, X: Any, weights: FloatArray, standardize: bool = False) -> None:
        super().__init__((X.shape[0], X.shape[1]), weights, standardize)
        self._transposed = canonical_csc(X).T  # CSR: one row per feature

    def _canonical_parts(self) -> Iterator[npt.NDArray[Any]]:
        """Column starts, row indices and float64 values by columns, without explicit zeros."""
        matrix = self._transposed
        if not matrix.data.all():
            matrix = matrix.copy()
            matrix.eliminate_zeros()
        for array, dtype in ((matrix.indptr, np.int64), (matrix.indices, np.int64), (matrix.data, np.float64)):
            for piece in _slices(array.size, CHUNK_ENTRIES):
                yield array[piece].astype(dtype)

    def _pieces(self) -> Iterator[tuple[slice, sparse.csr_array]]:
        """Consecutive features with about a chunk of non-zeros in all, as float64."""
        matrix = self._transposed
        starts = np.arange(0, matrix.nnz, CHUNK_ENTRIES)
        cuts = np.searchsorted(matrix.indptr, starts, side="right") - 1
        bounds = np.unique(np.concatenate(([0], cuts, [self.shape[1]])))
        for first, last in pairwise(bounds.tolist()):
            start, stop = matrix.indptr[first], matrix.indptr[last]
            parts = (
                matrix.data[start:stop].astype(np.float64, copy=False),
                matrix.indices[start:stop],
                matrix.indptr[first : last + 1] - start,
            )
            yield slice(first, last), sparse.csr_array(parts, shape=(last - first, self.shape[0]))

    def _gather(self, indices: IndexArray) -> FloatArray:
        rows = _zeros(indices.size, self.shape[0])
        matrix = self._transposed
        for row, j in zip(rows, indices, strict=True):
            entries = slice(matrix.indptr[j], matrix.indptr[j + 1])
            row[matrix.indices[entries]] = matrix.data[entries]
        return rows

    def compressed(self, indices: IndexArray) -> Compressed | None:
        """These raw columns in compressed form, values in float64."""
        chosen = self._transposed[indices]
        values = chosen.data.astype(np.float64, copy=False)
        return Compressed(values, chosen.indices.astype(np.int32, copy=False), chosen.indptr.astype(np.int64))

    def _products(self, factors: FloatArray) -> FloatArray:
        """``Xᵀ factors``; SciPy would cast all of a float32 matrix at once, so that goes in pieces."""
        if self._transposed.dtype == np.float64:
            return np.asarray(self._transposed @ factors)
        products = np.empty(self.shape[1])
        for features, piece in self._pieces():
            products[features] = piece @ factors
        return products

    def _sums(self, factors: FloatArray, centre: FloatArray | None) -> FloatArray:
        sums = self._products(factors)
        return sums if centre is None else sums - centre * factors.sum()

    def _means(self) -> FloatArray:
        return self._products(self._weights)

    def _squares(self, factors: FloatArray, centre: FloatArray | None) -> FloatArray:
        squares = np.empty(self.shape[1])
        for features, piece in self._pieces():
            values = piece.data
            if centre is not None:
                values = values - np.repeat(centre[features], np.diff(piece.indptr))
            parts = (values * values, piece.indices, piece.indptr)
            squares[features] = sparse.csr_array(parts, shape=piece.shape) @ factors
        if centre is not None:
            squares += self._absent(factors) * centre**2
        return squares

    def _absent(self, factors: FloatArray) -> FloatArray:
        """Sum of the non-negative ``factors`` over the rows each column does not store.

        Where little is absent, a difference of sums would leave only noise, so that the few are summed themselves.
        """
        samples = self.shape[0]
        if factors.min() == factors.max():
            return np.asarray((samples - np.diff(self._transposed.indptr)) * factors[0])
        present = np.stack((factors, factors > 0.0), axis=1)
        stored = np.empty((self.shape[1], 2))
        for features, piece in self._pieces():
            pattern = sparse.csr_array((np.ones(piece.nnz), piece.indices, piece.indptr), shape=piece.shape)
            stored[features] = pattern @ present
        total, count = present.sum(axis=0)
        missing: FloatArray = np.maximum(total - stored[:, 0], 0.0)
        missing[stored[:, 1] == count] = 0.0
        starts, rows = self._transposed.indptr, self._transposed.indices
        for j in np.flatnonzero((missing < NOISY_SHARE * total) & (stored[:, 1] < count)):
            absent = factors.copy()
            absent[rows[starts[j] : starts[j + 1]]] = 0.0
            missing[j] = absent.sum()
        return missing

    def _correlation_error(self) -> FloatArray:
        """The product's own error, plus that of correcting it by ``means_j Σ α``."""
        samples = self.shape[0]
        stored = np.diff(self._transposed.indptr)
        product = (stored + 4) * UNIT * self._norm_bounds(None)
        correction = (samples + 4) * UNIT * np.sqrt(samples) * np.abs(self.means)
        return np.asarray((product + correction) * NORM_SLACK / self.scales)

    def _zero_candidates(self) -> IndexArray:
        return np.flatnonzero(self._squares(_indicator(self._positive, self.shape[0]), None) < SAFE_SQUARES[0])


def _indicator(positive: BoolArray | slice, length: int) -> FloatArray:
    """Ones on the selected rows."""
    factors = np.zeros(length)
    factors[positive] = 1.0
    return factors


def canonical_csc(X: Any) -> sparse.csc_array:
    """Any SciPy sparse matrix by columns, without duplicates, float32 or float64, never changing ``X``.

    A matrix that already has this form is shared, not copied. Other dtypes are cast before duplicates are
    summed, since small integers would overflow.
    """
    keeps_dtype = X.dtype in (np.float32, np.float64)
    matrix = sparse.csc_array(X if keeps_dtype else X.astype(np.float64))
    if not matrix.has_canonical_format:
        if np.may_share_memory(matrix.data, getattr(X, "data", matrix.data)):
            matrix = matrix.copy()
        matrix.sum_duplicates()
    if matrix.indices.dtype != np.int32 and max(matrix.nnz, *matrix.shape) <= np.iinfo(np.int32).max:
        parts = (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32))
        matrix = sparse.csc_array(parts, shape=matrix.shape)
    return matrix


def make_design(X: Any, weights: FloatArray, standardize: bool = False) -> Design:
    """Wrap a validated dense array or SciPy sparse matrix.

    Parameters
    ----------
    X : ndarray or SciPy sparse matrix of shape (n_samples, n_features)
        Finite, real, two-dimensional, not empty. Dense arrays and canonical CSC matrices are referenced, not
        copied.
    weights : ndarray of shape (n_samples,)
        Sample weights summing to one.
    standardize : bool
        Whether to centre and scale the columns.

    Returns
    -------
    Design
        A `SparseDesign` or a `DenseDesign`.
    """
    if sparse.issparse(X):
        return SparseDesign(X, weights, standardize)
    return DenseDesign(X, weights, standardize)
