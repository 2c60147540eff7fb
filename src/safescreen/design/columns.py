"""The columns of a search, as plain arrays: what the compiled solver sees of a matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from safescreen.arrays import FloatArray, IndexArray


class Compressed(NamedTuple):
    """Columns in compressed sparse form: raw values, their rows, and where each column starts."""

    values: FloatArray
    rows: npt.NDArray[np.int32]
    starts: IndexArray


class Columns(NamedTuple):
    """Columns held dense, or sparse with a dense copy of those that matter.

    Only this room and `safescreen.kernels.columns` know which. A sparse column gets its dense row the first time it
    matters, so ``dense``, ``slot`` and ``in_use`` change during a search: one worker, one set of columns.
    """

    dense: FloatArray  # (slots, m): one row per column held dense
    slot: IndexArray  # (features,): the row of `dense` that holds the column, -1 while it is held sparse only
    in_use: IndexArray  # [slots in use]
    values: FloatArray  # the raw columns in compressed sparse form, empty when all are held dense
    rows: npt.NDArray[np.int32]
    starts: IndexArray
    means: FloatArray
    scales: FloatArray
    error: FloatArray  # (features,): rounding error of a correlation per unit of ‖α‖

    @classmethod
    def all_dense(cls, rows: FloatArray, error: FloatArray) -> Columns:
        """Columns that are the rows of an array."""
        count = len(rows)
        return cls(
            dense=rows,
            slot=np.arange(count),
            in_use=np.array([count]),
            values=_NO_FLOATS,
            rows=_NO_ROWS,
            starts=_NO_STARTS,
            means=_NO_FLOATS,
            scales=_NO_FLOATS,
            error=error,
        )

    @property
    def block(self) -> FloatArray:
        """All columns as the rows of one array; for those made by `all_dense` only."""
        return self.dense

    @property
    def may_be_shared(self) -> bool:
        """Whether several workers may use these arrays: nothing is written to columns that are all dense."""
        return self.values.size == 0


_NO_FLOATS = np.empty(0)
_NO_ROWS = np.empty(0, np.int32)
_NO_STARTS = np.zeros(1, np.int64)
