"""A dense matrix, read in place."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from safescreen.arrays import AnyArray, FloatArray, IndexArray
from safescreen.design.base import Design
from safescreen.design.columns import Raw
from safescreen.design.memory import (
    CHUNK_ENTRIES,
    PASS_ENTRIES,
    SAFE_SQUARES,
    pieces,
    zeros,
)
from safescreen.design.reading import (
    BlockSums,
    Cast,
    ColumnSums,
    by_columns,
    column_sums,
    copied,
    gathered,
    is_large,
    shown,
    summed,
    weighted_moments,
)
from safescreen.design.threads import threads_at_hand
from safescreen.expiry import look_up
from safescreen.rounding import NORM_SLACK, UNIT

FARTHEST_SHIFT = 100.0
"""A variance about another number than the mean is trusted while their squared distance is at most so many of it."""


class DenseDesign(Design):
    """A dense array of any real dtype and memory layout, read in place; a large one by several threads.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Finite, real, not empty.
    weights, standardize
        As for `Design`.
    sums : ColumnSums, optional
        What a read of a large matrix has already found out.
    """

    readable_in_place = True

    def __init__(
        self, X: AnyArray, weights: FloatArray, standardize: bool = False, sums: ColumnSums | None = None
    ) -> None:
        super().__init__((X.shape[0], X.shape[1]), weights, standardize)
        self._X = X
        self._by_columns = by_columns(X)
        self._ready_for_blas = X.dtype == np.float64 and (X.flags.c_contiguous or X.flags.f_contiguous)
        self._is_large = is_large(X)
        if sums is not None:
            self._column_sums = sums
            self.passes += 1

    @cached_property
    def _threads(self) -> int:
        """How many threads read the matrix, where it is large."""
        return threads_at_hand()

    @cached_property
    def _column_sums(self) -> ColumnSums:
        """What one read of a large matrix gives about every column."""
        self.passes += 1
        return column_sums(self._X, self._threads)

    def _summed(self, kinds: int, block_sums: BlockSums, cast: Cast) -> FloatArray:
        """Sums over all rows of a large matrix: one full read."""
        self.passes += 1
        return summed(self._X, kinds, block_sums, cast, self._threads)

    @property
    def matrix(self) -> Any:
        """The raw matrix, dense, in float64."""
        return self._X.astype(np.float64, copy=False)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type in which the raw matrix is held."""
        return self._X.dtype

    @property
    def nbytes(self) -> int:
        """Memory of the raw matrix."""
        return self._X.nbytes

    def _canonical_parts(self) -> Iterator[AnyArray]:
        """Float64 entries row by row, without negative zeros."""
        for rows in pieces(self.shape[0], CHUNK_ENTRIES // self.shape[1]):
            yield np.ascontiguousarray(self._X[rows], dtype=np.float64) + 0.0

    def _blocks(self) -> Iterator[tuple[slice, slice, FloatArray]]:
        """Pieces along the memory order, as float64; views where the matrix already is float64."""
        samples, features = self.shape
        self.passes += 1
        if self._by_columns:
            for columns in pieces(features, CHUNK_ENTRIES // samples):
                yield slice(0, samples), columns, self._X[:, columns].astype(np.float64, copy=False)
        else:
            for rows in pieces(samples, CHUNK_ENTRIES // features):
                yield rows, slice(0, features), self._X[rows].astype(np.float64, copy=False)

    def _standardized_rows(self, chosen: IndexArray) -> FloatArray:
        if not self._is_large:
            return super()._standardized_rows(chosen)
        moments = (self.means[chosen], self.scales[chosen]) if self.standardize else None
        rows = gathered(self._X, chosen, moments, self._threads)
        rows[self.constant[chosen]] = 0.0
        return rows

    def _gather(self, indices: IndexArray) -> FloatArray:
        if self._is_large:
            return gathered(self._X, indices, None, self._threads)
        rows = zeros(indices.size, self.shape[0])
        if self._by_columns:
            for part in pieces(indices.size, 8 * CHUNK_ENTRIES // self.shape[0]):
                rows[part] = self._X.T[indices[part]]
        elif indices.size > 512:
            for part in pieces(self.shape[0], 8 * CHUNK_ENTRIES // indices.size):
                rows[:, part] = self._X[part].T[indices]
        else:  # several times faster than fancy indexing for a few strided columns
            for row, j in zip(rows, indices.tolist(), strict=True):
                look_up()
                row[:] = self._X[:, j]
        return rows

    def _in_place(self, indices: IndexArray) -> Raw:
        """These columns where they are."""
        return Raw.in_place(self._X, indices.astype(np.int64))

    def _sums(self, factors: FloatArray, centre: FloatArray | None) -> FloatArray:
        if centre is not None and self._product_suffices:
            return np.asarray(self._sums(factors, None) - centre * factors.sum())
        if self._is_large:
            return np.asarray(self._sums_of(factors[None, :], centre)[0])
        if centre is None and self._ready_for_blas:
            return self._product(factors)
        sums = np.zeros(self.shape[1])
        for rows, columns, block in self._blocks():
            centred = block if centre is None else block - centre[columns]
            sums[columns] += _weighted_sums(factors[rows], centred)
        return sums

    def _sums_of(self, factors: FloatArray, centre: FloatArray | None) -> FloatArray:
        """`_sums` of a large matrix for several vectors of factors, its rows, in one read."""

        def block_sums(rows: slice, columns: slice, block: FloatArray) -> FloatArray:
            if centre is not None:
                block -= centre[columns]
            return np.stack([line[rows] @ block for line in factors])

        return self._summed(len(factors), block_sums, shown if centre is None else copied)

    def correlations_of(self, alphas: FloatArray) -> FloatArray:
        """All of ``Aᵀα`` for several dual points, in one read of a large matrix."""
        if not self._is_large:
            return super().correlations_of(alphas)
        late = self.standardize and self._centred_late
        sums = self._sums_of(alphas, self.means if self.standardize and not late else None)
        if late:
            sums -= self.means * np.array([[alpha.sum()] for alpha in alphas])
        if self.standardize:
            sums /= self.scales
        sums[:, self.constant] = 0.0
        return sums

    def _product(self, factors: FloatArray) -> FloatArray:
        """``Xᵀ factors`` by a library: in one call, unless that would take long."""
        samples, features = self.shape
        self.passes += 1
        if samples * features <= PASS_ENTRIES:
            return np.asarray(factors @ self._X)
        products = np.zeros(features)
        if self._by_columns:
            for columns in pieces(features, PASS_ENTRIES // samples):
                products[columns] = factors @ self._X[:, columns]
        else:
            for rows in pieces(samples, PASS_ENTRIES // features):
                products += factors[rows] @ self._X[rows]
        return products

    def _squares(self, factors: FloatArray, centre: FloatArray | None) -> FloatArray:
        if self._is_large:
            return self._large_squares(factors, centre)
        squares = np.zeros(self.shape[1])
        plain = bool(np.all(factors == 1.0))
        for rows, columns, block in self._blocks():
            centred = block if centre is None else block - centre[columns]
            if plain:
                squares[columns] += np.einsum("ij,ij->j", centred, centred)
            else:
                squares[columns] += _weighted_sums(factors[rows], np.square(centred))
        return squares

    def _large_squares(self, factors: FloatArray, centre: FloatArray | None) -> FloatArray:
        """The same by several threads."""
        plain = bool(np.all(factors == 1.0))

        def block_sums(rows: slice, columns: slice, block: FloatArray) -> FloatArray:
            if centre is not None:
                block -= centre[columns]
            if plain:
                return np.asarray(np.einsum("ij,ij->j", block, block)[None, :])
            np.square(block, out=block)
            return np.asarray(factors[rows] @ block)[None, :]

        return np.asarray(self._summed(1, block_sums, copied)[0])

    def _means_and_variances(self) -> tuple[FloatArray, FloatArray]:
        """Of a large matrix both from one read, about a number near each mean; where that is not near, as usual."""
        if not self._is_large:
            return super()._means_and_variances()
        if self._weights.min() == self._weights.max():
            shift, first, second = self._column_sums
            first, second = first / self.shape[0], second / self.shape[0]
        else:
            self.passes += 1
            shift, first, second = weighted_moments(self._X, self._weights, self._threads)
        with np.errstate(over="ignore", invalid="ignore"):
            variances = second - first * first
            near = first * first <= FARTHEST_SHIFT * variances
        return (shift + first, variances) if near.all() else super()._means_and_variances()

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
        if self._is_large:
            norms, sharp = self._column_sums.norms_about(np.zeros(self.shape[1]), self.shape[0])
            if sharp.all():
                return norms * norms
        with np.errstate(over="ignore"):
            return self._squares(np.ones(self.shape[0]), None)

    def _norm_bounds(self, centre: FloatArray | None) -> FloatArray:
        if centre is not None:
            if self._is_large:
                norms, sharp = self._column_sums.norms_about(centre, self.shape[0])
                if sharp[~self.constant].all():
                    return norms
            return super()._norm_bounds(centre)
        return np.sqrt(self._raw_squares + self.shape[0] * 1e-307) * NORM_SLACK

    def _zero_candidates(self) -> IndexArray:
        if isinstance(self._positive, slice):
            squares = self._raw_squares
        else:
            squares = self._squares(self._positive.astype(np.float64), None)
        return np.flatnonzero(squares < SAFE_SQUARES[0])


def _weighted_sums(factors: FloatArray, block: FloatArray) -> FloatArray:
    """``blockᵀ factors``; not by BLAS for single long columns, for each of which it would wake all threads."""
    if len(block) >= CHUNK_ENTRIES:
        return np.asarray(np.einsum("i,ij->j", factors, block))
    return np.asarray(factors @ block)
