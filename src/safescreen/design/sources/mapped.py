"""Memory maps: blocks are copied out of the map, and the pages that were touched for it are given back.

A page of a map that has been read counts as memory of the process until somebody needs it more. The system would find
out in the end, but whoever limits a process (a batch system, a container) may not wait so long.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from safescreen.arrays import AnyArray, IndexArray
from safescreen.design.memory import slices
from safescreen.design.sources.base import Source

TOUCHED_BYTES = 1 << 25
"""Bytes of a map that are touched before pages are given back."""


class MappedSource(Source):
    """A `numpy.memmap` of any type and order, slices and transposes of one included."""

    def __init__(self, X: np.memmap[Any, Any]) -> None:
        self._X = np.asarray(X)
        self._pages = _Pages(X)
        self.shape = (X.shape[0], X.shape[1])
        self.dtype = X.dtype
        self.by_columns = abs(X.strides[0]) < abs(X.strides[1])

    @property
    def array(self) -> AnyArray:
        """The map itself, for those who can work with one."""
        return self._X

    def read(self, rows: slice, columns: slice | IndexArray) -> AnyArray:
        """These rows of these columns, line after line as they lie in the file."""
        lines, along = (self._X.T, rows) if self.by_columns else (self._X, columns)
        which = columns if self.by_columns else rows
        lines = lines[which] if isinstance(which, slice) else lines
        numbers = None if isinstance(which, slice) else which
        block = self._copied(lines, numbers, along)
        return block.T if self.by_columns else block

    def _copied(self, lines: AnyArray, numbers: IndexArray | None, along: slice | IndexArray) -> AnyArray:
        """The entries ``along`` all lines, or those with these numbers, a few lines at a time."""
        count = len(lines) if numbers is None else numbers.size
        width = len(range(lines.shape[1])[along]) if isinstance(along, slice) else along.size
        block = np.empty((count, width), self.dtype)
        step = TOUCHED_BYTES // (lines.shape[1] * self.dtype.itemsize)
        for piece in slices(count, step):
            touched = lines[piece] if numbers is None else lines
            if numbers is None:
                self._pages.expect(touched)
            if isinstance(along, slice):
                block[piece] = touched[:, along] if numbers is None else touched[numbers[piece], along]
            else:
                np.take(touched, along, axis=1, out=block[piece], mode="clip")
            self._pages.give_back(touched)
        return block


class _Pages:
    """The pages of a map, for which the system takes advice; where it does not, pages stay as long as it likes.

    Pages of a map whose changes are private (mode "c") would be lost with the changes, and are kept.
    """

    def __init__(self, X: np.memmap[Any, Any]) -> None:
        file: Any = X._mmap  # type: ignore[attr-defined]  # what a map is for NumPy, documented by its name only
        private = X.mode == "c"
        advisable = hasattr(file, "madvise") and hasattr(mmap, "MADV_DONTNEED") and not private
        self._file = file if advisable else None
        self._start = np.frombuffer(file, np.uint8).__array_interface__["data"][0] if advisable else 0

    def expect(self, part: AnyArray) -> None:
        """Say that this part is about to be read."""
        self._advise("MADV_WILLNEED", part)

    def give_back(self, part: AnyArray) -> None:
        """Say that this part is not needed for now."""
        self._advise("MADV_DONTNEED", part)

    def _advise(self, advice: str, part: AnyArray) -> None:
        if self._file is None or part.size == 0:
            return
        first = part.__array_interface__["data"][0] - self._start
        reach = [(length - 1) * stride for length, stride in zip(part.shape, part.strides, strict=True)]
        start = first + sum(step for step in reach if step < 0)
        end = first + sum(step for step in reach if step > 0) + part.itemsize
        start -= start % mmap.PAGESIZE
        self._file.madvise(getattr(mmap, advice), start, end - start)
