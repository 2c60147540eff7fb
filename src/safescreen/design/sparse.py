"""A sparse matrix, held by columns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from safescreen.arrays import AnyArray, BoolArray, FloatArray, IndexArray
from safescreen.design.base import Design
from safescreen.design.columns import Raw
from safescreen.design.copies import agree, tolerances
from safescreen.design.memory import (
    CHUNK_ENTRIES,
    CONVERTED_ENTRIES,
    NOISY_SHARE,
    PASS_ENTRIES,
    SAFE_SQUARES,
    bytes_of,
    pieces,
    slices,
    zeros,
)
from safescreen.expiry import aside, look_up
from safescreen.rounding import NORM_SLACK, UNIT
from safescreen.working_memory import allowed

NEARLY_NOTHING = 0.02
"""Weight of absent rows below which a mean can be far above the deviation, eight times and more."""


class _Pairs(NamedTuple):
    """Pairs of columns that store the same rows, and what they store there."""

    first: IndexArray
    second: IndexArray
    owner: IndexArray  # the pair to which each entry belongs
    values: AnyArray
    others: AnyArray


class SparseDesign(Design):
    """A SciPy sparse matrix, held by columns and never densified."""

    form = "sparse"

    readable_in_place = True

    def __init__(self, X: Any, weights: FloatArray, standardize: bool = False) -> None:
        super().__init__((X.shape[0], X.shape[1]), weights, standardize)
        self._transposed = _by_columns(X).T  # CSR: one row per feature

    @property
    def matrix(self) -> Any:
        """The raw matrix in compressed columns, in float64."""
        return self._transposed.T.astype(np.float64)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type in which the raw matrix is held."""
        dtype: np.dtype[Any] = self._transposed.dtype
        return dtype

    @property
    def nbytes(self) -> int:
        """Memory of the raw matrix."""
        matrix = self._transposed
        return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)

    def same_columns(self, first: IndexArray, second: IndexArray) -> BoolArray:
        """Whether each of these columns is a copy of its partner; those with entries in other rows are made dense."""
        stored = np.diff(self._transposed.indptr)
        same = np.zeros(first.size, dtype=np.bool_)
        odd = stored[first] != stored[second]
        alike = np.flatnonzero(~odd)
        chunk = np.cumsum(stored[first[alike]]) // (8 * CHUNK_ENTRIES)
        for pairs in np.split(alike, np.flatnonzero(np.diff(chunk)) + 1):
            one, other = self._transposed[first[pairs]], self._transposed[second[pairs]]
            owner = np.repeat(np.arange(pairs.size), np.diff(one.indptr))
            odd[pairs] = np.bincount(owner[one.indices != other.indices], minlength=pairs.size) > 0
            same[pairs] = self._same_entries(_Pairs(first[pairs], second[pairs], owner, one.data, other.data))
        same[odd] = super().same_columns(first[odd], second[odd])
        return same

    def _same_entries(self, pairs: _Pairs) -> BoolArray:
        """Whether columns that store the same rows are copies: by what they store, and by zero."""
        first, second, owner, values, others = pairs
        size = first.size
        if not self.standardize:
            return np.asarray(np.bincount(owner[values != others], minlength=size) == 0)
        (zero, one), (other_zero, other) = (
            (-self.means[j] / self.scales[j], (raw - self.means[j][owner]) / self.scales[j][owner])
            for j, raw in ((first, values), (second, others))
        )
        absent = self.shape[0] - np.bincount(owner, minlength=size)
        product = np.bincount(owner, one * other, minlength=size) + absent * zero * other_zero
        sign = np.where(product < 0.0, -1.0, 1.0)
        tolerance = np.maximum(tolerances(self)[first], tolerances(self)[second])
        wrong = ~agree(one, sign[owner] * other, tolerance[owner])
        fits = (absent == 0) | agree(zero, sign * other_zero, tolerance)
        return np.asarray(fits & (np.bincount(owner[wrong], minlength=size) == 0))

    def _canonical_parts(self) -> Iterator[AnyArray]:
        """Column starts, row indices and float64 values by columns, without explicit zeros."""
        matrix = self._transposed
        starts = matrix.indptr.astype(np.int64)
        for piece in pieces(matrix.nnz, CHUNK_ENTRIES):
            zero = np.flatnonzero(matrix.data[piece] == 0.0)
            if zero.size:
                starts -= np.searchsorted(piece.start + zero, matrix.indptr)
        yield starts
        for array, dtype in ((matrix.indices, np.int64), (matrix.data, np.float64)):
            for piece in pieces(matrix.nnz, CHUNK_ENTRIES):
                yield array[piece][matrix.data[piece] != 0.0].astype(dtype)

    def _pieces(self) -> Iterator[tuple[slice, sparse.csr_array]]:
        """Consecutive features with about a chunk of non-zeros in all, as float64."""
        self.passes += 1
        matrix = self._transposed
        starts = np.arange(0, matrix.nnz, CHUNK_ENTRIES)
        cuts = np.searchsorted(matrix.indptr, starts, side="right") - 1
        bounds = np.unique(np.concatenate(([0], cuts, [self.shape[1]])))
        for first, last in pairwise(bounds.tolist()):
            look_up()
            start, stop = matrix.indptr[first], matrix.indptr[last]
            parts = (
                matrix.data[start:stop].astype(np.float64, copy=False),
                matrix.indices[start:stop],
                matrix.indptr[first : last + 1] - start,
            )
            yield slice(first, last), sparse.csr_array(parts, shape=(last - first, self.shape[0]))

    def _gather(self, indices: IndexArray) -> FloatArray:
        rows = zeros(indices.size, self.shape[0])
        matrix = self._transposed
        for row, j in zip(rows, indices, strict=True):
            look_up()
            entries = slice(matrix.indptr[j], matrix.indptr[j + 1])
            row[matrix.indices[entries]] = matrix.data[entries]
        return rows

    def _compressed(self, indices: IndexArray) -> Raw | None:
        """These raw columns in compressed form, values in float64; where they are if a copy would be large."""
        matrix = self._transposed
        entries = int((matrix.indptr[indices + 1] - matrix.indptr[indices]).sum(dtype=np.int64))
        if matrix.indices.dtype == np.int32 and 12 * entries > allowed(self.nbytes) // 8:
            rows = bytes_of(matrix.indices).view(np.int32)
            starts, ends = (matrix.indptr[first].astype(np.int64) for first in (indices, indices + 1))
            if matrix.dtype != np.float64:
                return Raw.compressed_singles(matrix.data, rows, starts, ends)
            return Raw.compressed(bytes_of(matrix.data).view(np.float64), rows, starts, ends)
        chosen = matrix[indices]
        values, rows = chosen.data.astype(np.float64, copy=False), chosen.indices.astype(np.int32, copy=False)
        bounds = chosen.indptr.astype(np.int64)
        return Raw.compressed(values, rows, bounds[:-1].copy(), bounds[1:].copy())

    def _products(self, factors: FloatArray) -> FloatArray:
        """``Xᵀ factors``; in pieces if it is large, or in single precision: SciPy would cast all of it at once."""
        if self._transposed.dtype == np.float64 and self._transposed.nnz <= PASS_ENTRIES:
            self.passes += 1
            return np.asarray(self._transposed @ factors)
        products = np.empty(self.shape[1])
        for features, piece in self._pieces():
            products[features] = piece @ factors
        return products

    def _sums(self, factors: FloatArray, centre: FloatArray | None) -> FloatArray:
        sums = self._products(factors)
        return sums if centre is None else sums - centre * factors.sum()

    def _means(self) -> FloatArray:
        """Weighted means; where nearly all rows are stored, a mean may be far above the deviation.

        Those are corrected once by the mean of what is left after subtracting them, as dense columns are.
        """
        means = self._products(self._weights)
        full = np.flatnonzero(self._absent(self._weights) < NEARLY_NOTHING)
        for piece in slices(full.size, CHUNK_ENTRIES // self.shape[0]):
            batch = full[piece]
            means[batch] += (self._gather(batch) - means[batch, None]) @ self._weights
        return means

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
            look_up()
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


def _by_columns(X: Any) -> sparse.csc_array:
    """The matrix in canonical form; a large one takes SciPy seconds in one call."""
    return aside(lambda: canonical_csc(X)) if X.nnz > CONVERTED_ENTRIES else canonical_csc(X)


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
