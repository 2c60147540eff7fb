"""Passes over a matrix on disk: block by block, the next one being read while one is worked on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from safescreen.arrays import AnyArray, FloatArray
from safescreen.design.memory import CHUNK_ENTRIES, slices
from safescreen.design.sources.base import Source
from safescreen.expiry import SECONDS_BETWEEN_LOOKS, begun, look_up
from safescreen.working_memory import allowed

BLOCK_BYTES = 1 << 25
"""A block at most, unless a matrix is compressed in larger ones: calls of a library against memory."""

BLOCKS_PART = 16
"""And this part of the working memory: one block is worked on, one is read, and a library may need room for a third."""

ROWS_AT_A_TIME = 64
"""Rows that are cast at a time where rows are stored: sums are added to seldom, and rows are not short."""

SMALL_PRODUCT = 1 << 18
"""Multiplications that no library shares out among threads, for which it would wait where others are at work."""

Result = TypeVar("Result")


class Block(NamedTuple):
    """Some rows of some columns, in the type in which they are stored."""

    rows: slice
    columns: slice
    values: AnyArray


class Plan(NamedTuple):
    """How a matrix is cut into blocks."""

    rows: tuple[slice, ...]
    columns: tuple[slice, ...]
    by_columns: bool

    @property
    def has_whole_columns(self) -> bool:
        """Whether every block has all rows of its columns."""
        return len(self.rows) == 1

    def pairs(self) -> Iterator[tuple[slice, slice]]:
        """Rows and columns of all blocks, in the order in which they are stored."""
        if self.by_columns:
            return ((rows, columns) for columns in self.columns for rows in self.rows)
        return ((rows, columns) for rows in self.rows for columns in self.columns)


def block_entries(source: Source) -> int:
    """How many entries a block may have."""
    return max(min(BLOCK_BYTES, allowed(source.held_bytes) // BLOCKS_PART) // source.dtype.itemsize, 1)


def plan_of(source: Source) -> Plan:
    """Blocks along the order of storage: whole columns or whole rows, where so much fits into a block."""
    axis = 1 if source.by_columns else 0
    entries, across, length = block_entries(source), 1 - axis, source.shape[1 - axis]
    fits = length * source.grain[axis] <= entries
    lines = tuple(source.spans(axis, entries // length if fits else 1))
    along = (slice(0, length),) if fits else tuple(source.spans(across, entries // source.grain[axis]))
    return Plan(along, lines, True) if source.by_columns else Plan(lines, along, False)


def blocks(source: Source, plan: Plan) -> Iterator[Block]:
    """All of a matrix, once."""
    reads = (partial(_read, source, rows, columns) for rows, columns in plan.pairs())
    return ahead(reads)


def _read(source: Source, rows: slice, columns: slice) -> Block:
    return Block(rows, columns, source.read(rows, columns))


def ahead(reads: Iterable[Callable[[], Result]]) -> Iterator[Result]:
    """What these calls return, in order; each is made in a thread of its own while the result before is used.

    Whoever waits looks up meanwhile. If the pass is left, the call under way ends for itself.
    """
    remaining = iter(reads)
    first = next(remaining, None)
    task = None if first is None else begun(first)
    while task is not None:
        result = awaited(task)
        following = next(remaining, None)
        task = None if following is None else begun(following)
        yield result
        del result  # room for the block after the next


def awaited(task: Future[Result]) -> Result:
    """The result of a call, unless time is up before it is there."""
    look_up()
    while wait([task], SECONDS_BETWEEN_LOOKS).not_done:
        look_up()
    return task.result()


def in_pieces(block: Block) -> Iterator[tuple[slice, slice, FloatArray]]:
    """A block as float64, as much of it at a time as stays in a core's cache; views where it is float64 already."""
    height, width = block.values.shape
    along_columns = abs(block.values.strides[0]) < abs(block.values.strides[1])
    tall = min(height, CHUNK_ENTRIES if along_columns else ROWS_AT_A_TIME)
    wide = CHUNK_ENTRIES // tall
    first_row, first_column = block.rows.start, block.columns.start
    for columns in slices(width, wide):
        for rows in slices(height, tall):
            piece = block.values[rows, columns].astype(np.float64, copy=False)
            yield _moved(rows, first_row), _moved(columns, first_column), piece


def _moved(piece: slice, by: int) -> slice:
    return slice(piece.start + by, piece.stop + by)


def products(factors: FloatArray, values: FloatArray) -> FloatArray:
    """Sums of all columns, with each row of factors, in pieces that are computed by this thread alone."""
    count, height = factors.shape
    if count == 1 or count * height > SMALL_PRODUCT:
        return np.stack([np.einsum("i,ij->j", row, values) for row in factors])
    sums = np.empty((count, values.shape[1]))
    for columns in slices(values.shape[1], SMALL_PRODUCT // (count * height)):
        sums[:, columns] = factors @ values[:, columns]
    return sums
