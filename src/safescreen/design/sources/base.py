"""What a matrix on disk can be asked: its shape and type, and a block of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from safescreen.arrays import AnyArray, IndexArray
from safescreen.design.memory import slices


class Source(ABC):
    """A matrix on disk, which is read a block at a time, from any thread.

    Attributes
    ----------
    shape : tuple of int
        Samples and features.
    dtype : dtype
        The type of what `read` returns.
    grain : tuple of int
        Rows and columns that are best read together, since they are stored or compressed so.
    by_columns : bool
        Whether a few whole columns are read for less than the whole matrix.
    feature_names : ndarray of str, or None
        Column names, where the storage has them.
    held_bytes : int
        How much of it lies in memory anyway.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    grain: tuple[int, int] = (1, 1)
    by_columns: bool = True
    feature_names: npt.NDArray[np.object_] | None = None
    held_bytes: int = 0

    @abstractmethod
    def read(self, rows: slice, columns: slice | IndexArray) -> AnyArray:
        """These rows of these columns, as a new array in the order in which they are stored."""

    def spans(self, axis: int, most: int) -> Iterator[slice]:
        """All rows (axis 0) or columns, in pieces of about ``most`` that end where the storage has a border."""
        grain = self.grain[axis]
        return slices(self.shape[axis], max(most // grain, 1) * grain)

    @property
    def nbytes(self) -> int:
        """Size of the whole matrix in memory."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def whole(self) -> AnyArray:
        """All of it."""
        return self.read(slice(0, self.shape[0]), slice(0, self.shape[1]))
