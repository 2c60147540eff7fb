"""Blocks of memory and pieces of work: how much of a matrix is touched at a time."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from safescreen.arrays import AnyArray, FloatArray
from safescreen.expiry import look_up

CHUNK_ENTRIES = 1 << 17
"""Float64 entries cast or centred at a time: 1 MiB, which stays in a core's cache."""

LARGE_BYTES = 1 << 20
"""Blocks of columns from this size on are given back to the system one by one."""

EXACT_CHUNK = 1 << 18
"""Entries summed exactly at a time, as Python's own numbers: some tens of megabytes."""

PASS_ENTRIES = 1 << 26
"""Entries of a product that is left to one call of a library: from there on it goes in pieces, to look up between."""

CONVERTED_ENTRIES = 1 << 22
"""Entries of a sparse matrix from which its conversion has a thread of its own, so that Ctrl-C is answered."""

LARGE_ENTRIES = 1 << 22
"""Entries of a dense matrix from which on several threads read it."""

TILE_ENTRIES = 1 << 22
"""Entries that one of them reads at a time: a few milliseconds."""

BLOCK_ENTRIES = 1 << 18
"""Of these, the ones that are cast at a time: 2 MiB as float64, in a core's caches. Smaller ones are all calls."""

TILE_WIDTHS = (1 << 12, 1 << 14)
"""Entries of a row, or of a column, that are read in one go: their sums, or factors, stay in the nearest cache."""

SMALL_ENTRIES = 1 << 18
"""Of a matrix with at most so many entries a dense copy by columns is kept: 2 MiB."""

SAFE_SQUARES = (1e-280, 1e280)
"""Sums of squares outside this range may have lost accuracy to underflow or overflow."""

NOISY_SHARE = 1e-3
"""A difference of sums that is a smaller part of them than this has lost too many digits."""


def zeros(rows: int, columns: int) -> FloatArray:
    """Zeros; a large block comes straight from the system, which has it back as soon as it is dropped.

    The memory allocator would keep the room of a block that another one has outlived.
    """
    if rows * columns * 8 < LARGE_BYTES:
        return np.zeros((rows, columns))
    return np.frombuffer(mmap.mmap(-1, rows * columns * 8)).reshape(rows, columns)


def pieces(length: int, step: int) -> Iterator[slice]:
    """Such slices for long work, which ends between two of them when time is up."""
    for piece in slices(length, step):
        look_up()
        yield piece


def slices(length: int, step: int) -> Iterator[slice]:
    """Consecutive slices of at least one and about ``step`` entries."""
    step = max(step, 1)
    for start in range(0, length, step):
        yield slice(start, min(start + step, length))


class _Span:
    """The memory from the first to the last byte of an array, which it keeps alive."""

    def __init__(self, array: AnyArray) -> None:
        self._array = array
        spans = [(length - 1) * stride for length, stride in zip(array.shape, array.strides, strict=True)]
        first = array.__array_interface__["data"][0] + sum(span for span in spans if span < 0)
        self.__array_interface__: dict[str, Any] = {
            "shape": (array.itemsize + sum(map(abs, spans)),),
            "typestr": "|u1",
            "data": (first, False),
            "version": 3,
        }


def bytes_of(array: AnyArray) -> npt.NDArray[np.uint8]:
    """The memory of an array from its lowest to its highest byte, whether or not it may be written to: it must not be.

    Compiled code would be compiled once more for arrays that are read-only.
    """
    return np.asarray(_Span(array))
