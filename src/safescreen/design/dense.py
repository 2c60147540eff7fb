"""A dense matrix, read in place."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from safescreen.arrays import AnyArray, FloatArray, IndexArray
from safescreen.design.base import Design
from safescreen.design.columns import ENTRY_TYPES, Raw
from safescreen.design.memory import (
    CHUNK_ENTRIES,
    PASS_ENTRIES,
    SAFE_SQUARES,
    bytes_of,
    pieces,
    zeros,
)
from safescreen.expiry import look_up
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
        if self._by_columns:
            for columns in pieces(features, CHUNK_ENTRIES // samples):
                yield slice(0, samples), columns, self._X[:, columns].astype(np.float64, copy=False)
        else:
            for rows in pieces(samples, CHUNK_ENTRIES // features):
                yield rows, slice(0, features), self._X[rows].astype(np.float64, copy=False)

    def _gather(self, indices: IndexArray) -> FloatArray:
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

    def _in_place(self, indices: IndexArray) -> Raw | None:
        """These columns where they are, if their entries are of a type that is known and lie in steps forwards."""
        X = self._X
        dtype = np.dtype(np.uint8) if X.dtype == np.bool_ else X.dtype
        steps = [stride // dtype.itemsize for stride in X.strides]
        regular = all(stride > 0 and stride % dtype.itemsize == 0 for stride in X.strides)
        if dtype not in ENTRY_TYPES or not dtype.isnative or not regular or not X.flags.aligned:
            return None
        layout = [ENTRY_TYPES.index(dtype), *steps, self.shape[1]]
        return Raw.in_place(bytes_of(X), layout, indices.astype(np.int64))

    def _sums(self, factors: FloatArray, centre: FloatArray | None) -> FloatArray:
        if centre is not None and self._product_suffices:
            return np.asarray(self._sums(factors, None) - centre * factors.sum())
        if centre is None and self._ready_for_blas:
            return self._product(factors)
        sums = np.zeros(self.shape[1])
        for rows, columns, block in self._blocks():
            centred = block if centre is None else block - centre[columns]
            sums[columns] += _weighted_sums(factors[rows], centred)
        return sums

    def _product(self, factors: FloatArray) -> FloatArray:
        """``Xᵀ factors`` by a library: in one call, unless that would take long."""
        samples, features = self.shape
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
        squares = np.zeros(self.shape[1])
        plain = bool(np.all(factors == 1.0))
        for rows, columns, block in self._blocks():
            centred = block if centre is None else block - centre[columns]
            if plain:
                squares[columns] += np.einsum("ij,ij->j", centred, centred)
            else:
                squares[columns] += _weighted_sums(factors[rows], np.square(centred))
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


def _weighted_sums(factors: FloatArray, block: FloatArray) -> FloatArray:
    """``blockᵀ factors``; not by BLAS for single long columns, for each of which it would wake all threads."""
    if len(block) >= CHUNK_ENTRIES:
        return np.asarray(np.einsum("i,ij->j", factors, block))
    return np.asarray(factors @ block)
