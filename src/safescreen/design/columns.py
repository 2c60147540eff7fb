"""The columns of a search, as plain arrays: what the compiled solver sees of a matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from safescreen.arrays import AnyArray, FloatArray, IndexArray
from safescreen.design.memory import bytes_of

_NO_FLOATS = np.empty(0)
_NO_ROWS = np.empty(0, np.int32)
_NO_INDICES = np.zeros(0, np.int64)
_NO_BYTES = np.empty(0, np.uint8)


DOUBLES, SINGLES, UNSIGNED, SIGNED, FLOATS = 0, 1, 2, 3, 4
"""Kinds of entries in memory: two that are read as they are, and three that are put together from their bytes."""

KIND, ITEM_BYTES, BIG_ENDIAN, ORIGIN, ROW_STEP, COLUMN_STEP, N_COLUMNS = 0, 1, 2, 3, 4, 5, 6
"""Positions in a layout. The place of the first entry, and the steps to the next row and column, are in bytes."""

LINE = 1024
"""Entries read at a time, at least."""


class Raw(NamedTuple):
    """Columns as the matrix has them, not standardised: compressed, or dense and read where they are."""

    values: FloatArray  # in compressed sparse form, or nothing
    rows: npt.NDArray[np.int32]
    starts: IndexArray  # of each column among the entries; or its number in the dense matrix
    ends: IndexArray  # or nothing, if the matrix is dense
    memory: npt.NDArray[np.uint8]  # bytes of the dense matrix, or of values in single precision
    layout: IndexArray  # of the dense matrix in there, or nothing

    @classmethod
    def compressed(cls, values: FloatArray, rows: npt.NDArray[np.int32], starts: IndexArray, ends: IndexArray) -> Raw:
        """Columns in compressed sparse form: values, their rows, and where each column starts and ends."""
        return cls(values, rows, starts, ends, _NO_BYTES, _NO_INDICES)

    @classmethod
    def compressed_singles(
        cls, values: npt.NDArray[np.float32], rows: npt.NDArray[np.int32], starts: IndexArray, ends: IndexArray
    ) -> Raw:
        """The same with values in single precision, which stay where they are."""
        return cls(_NO_FLOATS, rows, starts, ends, bytes_of(values), _NO_INDICES)

    @classmethod
    def in_place(cls, matrix: AnyArray, numbers: IndexArray) -> Raw:
        """Columns of a dense matrix with these numbers, which stay where they are."""
        return cls(_NO_FLOATS, _NO_ROWS, numbers, _NO_INDICES, bytes_of(matrix), _layout(matrix))


_NO_RAW = Raw(_NO_FLOATS, _NO_ROWS, _NO_INDICES, _NO_INDICES, _NO_BYTES, _NO_INDICES)


def _layout(matrix: AnyArray) -> IndexArray:
    """Where the entries of a matrix lie in its memory, and as what."""
    dtype, strides = matrix.dtype, matrix.strides
    as_they_are = dtype.isnative and matrix.flags.aligned and all(step % dtype.itemsize == 0 for step in strides)
    kind = {"f": FLOATS, "i": SIGNED}.get(dtype.kind, UNSIGNED)
    if as_they_are and dtype.kind == "f":
        kind = {8: DOUBLES, 4: SINGLES}.get(dtype.itemsize, FLOATS)
    big_endian = dtype.newbyteorder(">") == dtype
    origin = sum((1 - length) * step for length, step in zip(matrix.shape, strides, strict=True) if step < 0)
    return np.array([kind, dtype.itemsize, big_endian, origin, *strides, matrix.shape[1]], np.int64)


class Columns(NamedTuple):
    """Columns held dense, or in the matrix's own form with a dense copy of those that matter.

    Only this room and `safescreen.kernels.columns` know which. Such a column gets its dense row the first time it
    matters, so ``dense``, ``slot`` and ``in_use`` change during a search: one worker, one set of columns.
    """

    dense: FloatArray  # (slots, m): one row per column held dense
    slot: IndexArray  # (features,): the row of `dense` that holds the column, -1 while there is none
    in_use: IndexArray  # [slots in use]
    values: FloatArray  # these six as in `Raw`
    rows: npt.NDArray[np.int32]
    starts: IndexArray
    ends: IndexArray
    memory: npt.NDArray[np.uint8]
    layout: IndexArray
    line: FloatArray  # some of its entries at a time, a row at least
    means: FloatArray
    scales: FloatArray
    error: FloatArray  # (features,): rounding error of a correlation per unit of ‖α‖

    @classmethod
    def all_dense(cls, rows: FloatArray, error: FloatArray) -> Columns:
        """Columns that are the rows of an array."""
        count = len(rows)
        return cls(rows, np.arange(count), np.array([count]), *_NO_RAW, _NO_FLOATS, _NO_FLOATS, _NO_FLOATS, error)

    @classmethod
    def partly_dense(
        cls, raw: Raw, moments: tuple[FloatArray, FloatArray], error: FloatArray, dense: FloatArray
    ) -> Columns:
        """Raw columns with these means and scales, and rows for dense copies of some, none of which is in use."""
        line = np.empty(max(int(raw.layout[N_COLUMNS]), LINE)) if raw.layout.size else _NO_FLOATS
        means, scales = moments
        return cls(dense, np.full(error.size, -1), np.array([0]), *raw, line, means, scales, error)

    @property
    def block(self) -> FloatArray:
        """All columns as the rows of one array; for those made by `all_dense` only."""
        return self.dense

    @property
    def are_all_dense(self) -> bool:
        """Whether nothing is ever written to these arrays, so that several workers may use them."""
        return self.starts.size == 0

    @property
    def are_held(self) -> npt.NDArray[np.bool_]:
        """Which of them are held dense now."""
        return np.asarray(self.slot >= 0)

    @property
    def are_in_place(self) -> bool:
        """Whether a look at all of them is a pass over a dense matrix."""
        return self.layout.size > 0

    def for_another_worker(self) -> Columns:
        """The same columns, with dense rows of its own."""
        if self.are_all_dense:
            return self
        held = int(self.in_use[0])
        dense = np.empty_like(self.dense)
        dense[:held] = self.dense[:held]
        return self._replace(
            dense=dense, slot=self.slot.copy(), in_use=self.in_use.copy(), line=np.empty_like(self.line)
        )
