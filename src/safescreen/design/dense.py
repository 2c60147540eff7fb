"""A dense matrix, read in place."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from safescreen.arrays import AnyArray, FloatArray, IndexArray
from safescreen.design.base import Design
from safescreen.design.memory import CHUNK_ENTRIES, SAFE_SQUARES, slices, zeros
from safescreen.rounding import NORM_SLACK, UNIT


class DenseDesign(Design):
    """A dense array of any real dtype and memory layout, read in place."""

    def __init__(self, X: AnyArray, weights: FloatArray, standardize: bool = False) -> None:
        super().__init__((X.shape[0], X.shape[1]), weights, standardize)
        self._X = X
        self._by_columns = abs(X.strides[0]) < abs(X.strides[1])
        self._ready_for_blas = X.dtype == np.float64 and (X.flags.c_contiguous or X.flags.f_contiguous)

    @property
    def matrix(self) -> Any:
        """The raw matrix, dense, in float64."""
        return self._X.astype(np.float64, copy=False)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type in which the raw matrix is held."""
        return self._X.dtype

    def _canonical_parts(self) -> Iterator[AnyArray]:
        """Float64 entries row by row, without negative zeros."""
        for rows in slices(self.shape[0], CHUNK_ENTRIES // self.shape[1]):
            yield np.ascontiguousarray(self._X[rows], dtype=np.float64) + 0.0

    def _blocks(self) -> Iterator[tuple[slice, slice, FloatArray]]:
        """Pieces along the memory order, as float64; views where the matrix already is float64."""
        samples, features = self.shape
        if self._by_columns:
            for columns in slices(features, CHUNK_ENTRIES // samples):
                yield slice(0, samples), columns, self._X[:, columns].astype(np.float64, copy=False)
        else:
            for rows in slices(samples, CHUNK_ENTRIES // features):
                yield rows, slice(0, features), self._X[rows].astype(np.float64, copy=False)

    def _gather(self, indices: IndexArray) -> FloatArray:
        rows = zeros(indices.size, self.shape[0])
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
