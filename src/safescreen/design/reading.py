"""A large dense matrix, read once from end to end: in tiles along the memory order, by several threads.

A tile is cast to float64 block by block, each of which stays in a core's caches, so that the matrix is never widened as
a whole. The tiles depend on the shape alone and their sums are added in order: the same bits for any number of threads.
Every sum is a sum of plain float64 products in some order, which is all that the error bounds of a design rely on.
BLAS multiplies, but without threads of its own, which it would start in every piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from safescreen.arrays import AnyArray, BoolArray, FloatArray, IndexArray
from safescreen.design.memory import BLOCK_ENTRIES, LARGE_ENTRIES, TILE_ENTRIES, TILE_WIDTHS, slices, zeros
from safescreen.design.threads import share_out
from safescreen.rounding import NORM_SLACK, UNIT

BlockSums = Callable[[slice, slice, FloatArray], FloatArray]
"""Sums over a block of these rows and columns: one row per kind of sum."""

Cast = Callable[[AnyArray, FloatArray], FloatArray]
"""A block in float64, perhaps in this room."""


class Tile(NamedTuple):
    """Rows and columns that one thread reads at a time."""

    rows: slice
    columns: slice


def is_large(X: AnyArray) -> bool:
    """Whether several threads are worth their start, and blocks a second thought."""
    return X.size > LARGE_ENTRIES


def by_columns(X: AnyArray) -> bool:
    """Whether columns rather than rows lie together in memory."""
    return abs(X.strides[0]) < abs(X.strides[1])


def tiles(X: AnyArray) -> Iterator[Tile]:
    """Tiles that make up the matrix, in memory order as far as that goes."""
    along_columns = by_columns(X)
    long, across = X.shape if along_columns else X.shape[::-1]
    width = min(long, TILE_WIDTHS[along_columns])
    for other in slices(across, TILE_ENTRIES // width):
        for piece in slices(long, width):
            yield Tile(piece, other) if along_columns else Tile(other, piece)


def summed(X: AnyArray, kinds: int, block_sums: BlockSums, cast: Cast, threads: int) -> FloatArray:
    """Sums over all rows of the matrix, of shape (kinds, n_features)."""
    along_columns = by_columns(X)
    totals = np.zeros((kinds, X.shape[1]))

    def make_worker() -> Callable[[Tile], FloatArray]:
        scratch = np.empty(BLOCK_ENTRIES)

        def sum_tile(tile: Tile) -> FloatArray:
            sums = np.zeros((kinds, tile.columns.stop - tile.columns.start))
            with np.errstate(over="ignore", invalid="ignore"):
                for rows, columns in _blocks(tile, along_columns):
                    local = slice(columns.start - tile.columns.start, columns.stop - tile.columns.start)
                    sums[:, local] += block_sums(rows, columns, cast(X[rows, columns], scratch))
            return sums

        return sum_tile

    def take(tile: Tile, sums: FloatArray) -> None:
        totals[:, tile.columns] += sums

    share_out(tiles(X), make_worker, take, threads)
    return totals


def copied(block: AnyArray, scratch: FloatArray) -> FloatArray:
    """A copy in float64, in the same memory order: to be changed."""
    flat = scratch[: block.size]
    copy = flat.reshape(block.shape[::-1]).T if by_columns(block) else flat.reshape(block.shape)
    np.copyto(copy, block)
    return copy


def shown(block: AnyArray, scratch: FloatArray) -> FloatArray:
    """The block itself where it is in float64: not to be changed."""
    return block if block.dtype == np.float64 and block.dtype.isnative else copied(block, scratch)


def _blocks(tile: Tile, along_columns: bool) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of the blocks of a tile, each across the whole of the tile in memory order."""
    rows, columns = tile
    long, across = (rows, columns) if along_columns else (columns, rows)
    step = max(BLOCK_ENTRIES // (long.stop - long.start), 1)
    for start in range(across.start, across.stop, step):
        piece = slice(start, min(start + step, across.stop))
        yield (rows, piece) if along_columns else (piece, columns)


class ColumnSums(NamedTuple):
    """Of every column, about a number ``shift`` near its values: ``Σ (X_ij - shift_j)``, and the same squared."""

    shift: FloatArray
    sums: FloatArray
    squares: FloatArray

    def norms_about(self, centre: FloatArray, samples: int) -> tuple[FloatArray, BoolArray]:
        """Upper bounds on ``‖X^j - centre_j‖₂``, and where they are as sharp as a sum of the squares themselves.

        With ``δ = centre - shift`` the square is ``Q - 2 δ D + m δ²``. Rounding moves ``Q`` by a relative ``(m + 8) u``
        and ``D`` by ``(m + 4) u`` times a sum of absolute values, which is at most ``√(m Q)``; what the formula itself
        rounds is smaller. Four times that is added.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            delta = centre - self.shift
            crossed, far = 2.0 * delta * self.sums, samples * delta * delta
            size = self.squares + 2.0 * np.abs(delta) * np.sqrt(samples * self.squares) + far
            slack = 4.0 * (samples + 16) * UNIT * size
            exact = np.maximum(self.squares - crossed + far, 0.0)
            sharp = slack <= 1e-6 * exact
            return np.sqrt(exact + slack + samples * 1e-307) * NORM_SLACK, np.asarray(sharp | (size == 0.0))


def column_sums(X: AnyArray, threads: int) -> ColumnSums:
    """All of them in one read; squares that are not finite betray entries that are not, or are too large."""
    shift = _near_values(X)

    def block_sums(_: slice, columns: slice, block: FloatArray) -> FloatArray:
        block -= shift[columns]
        return np.stack((np.einsum("ij->j", block), np.einsum("ij,ij->j", block, block)))

    return ColumnSums(shift, *summed(X, 2, block_sums, copied, threads))


def weighted_moments(X: AnyArray, weights: FloatArray, threads: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The shift, ``Σ w_i (X_ij - shift_j)``, and the same squared, in one read."""
    shift = _near_values(X)

    def block_sums(rows: slice, columns: slice, block: FloatArray) -> FloatArray:
        block -= shift[columns]
        first = weights[rows] @ block
        np.square(block, out=block)
        return np.stack((first, weights[rows] @ block))

    return shift, *summed(X, 2, block_sums, copied, threads)


def _near_values(X: AnyArray) -> FloatArray:
    """A number near each column's values: the middle one of three rows, which one outlier does not move."""
    with np.errstate(invalid="ignore"):
        first, middle, last = (X[row].astype(np.float64) for row in (0, len(X) // 2, len(X) - 1))
        low, high = np.minimum(first, middle), np.maximum(first, middle)
        return np.asarray(np.maximum(low, np.minimum(high, last)))


def gathered(
    X: AnyArray, indices: IndexArray, moments: tuple[FloatArray, FloatArray] | None, threads: int
) -> FloatArray:
    """These columns as the rows of a new array; standardised with their means and scales, if there are any."""
    columns = zeros(indices.size, X.shape[0])
    along_columns = by_columns(X)

    def gather(part: tuple[slice, slice]) -> None:
        some, rows = part
        block = columns[some, rows]
        if along_columns:
            for line, j in zip(block, indices[some].tolist(), strict=True):
                line[:] = X[rows, j]
        else:
            block[:] = _taken(X[rows], indices[some]).T
        if moments is not None:
            block -= moments[0][some, None]
            block /= moments[1][some, None]

    share_out(_parts_of_columns(X, indices.size, along_columns), lambda: gather, lambda _, __: None, threads)
    return columns


def _taken(rows: AnyArray, columns: IndexArray) -> AnyArray:
    """These columns of some rows: where rows are contiguous by the fastest way, which would copy any others whole."""
    return np.take(rows, columns, axis=1) if rows.flags.c_contiguous else rows[:, columns]


def _parts_of_columns(X: AnyArray, count: int, along_columns: bool) -> Iterator[tuple[slice, slice]]:
    """Which of the columns, and which rows, at a time: all columns of a few rows where rows lie together."""
    samples = X.shape[0]
    if along_columns:
        for some in slices(count, BLOCK_ENTRIES // samples):
            for rows in slices(samples, BLOCK_ENTRIES):
                yield some, rows
    else:
        for rows in slices(samples, BLOCK_ENTRIES // max(count, 1)):
            yield slice(0, count), rows
