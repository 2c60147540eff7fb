"""Full reads of a matrix on a device, in float64, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from safescreen.design.device_arrays import lies_on_host, namespace
from safescreen.design.memory import pieces

BLOCK_ENTRIES = 1 << 24
"""Entries that are widened to float64 at a time: 128 MiB."""

HOST_ENTRIES = 1 << 18
"""The same for tensors in the machine's own memory: 2 MiB, which stay in its cache."""


class Sums(NamedTuple):
    """Sums over the samples per feature, of entries from which a centre is subtracted; float64, on the device."""

    weighted: Any  # Σ w d
    squares: Any  # Σ d²
    weighted_squares: Any  # Σ w d²


class BlockReader:
    """Reads any matrix by functions of the array API alone, without ever widening it as a whole."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.xp = namespace(X)
        self.m, self.n = (int(length) for length in X.shape)

    def sums(self, weights: Any, centre: Any | None) -> Sums:
        """The sums from which means, deviations and norms are made, in one read."""
        xp = self.xp
        found = self._zeros(3)
        for rows, columns, entries in self._blocks(centre):
            squares = entries * entries
            found[0, columns] += weights[rows] @ entries
            found[1, columns] += xp.sum(squares, axis=0)
            found[2, columns] += weights[rows] @ squares
        return Sums(found[0], found[1], found[2])

    def products(self, points: Any, centre: Any | None) -> Any:
        """``points @ (X - centre)`` for a few points of shape (b, m), in one read."""
        found = self._zeros(int(points.shape[0]))
        for rows, columns, entries in self._blocks(centre):
            found[:, columns] += points[:, rows] @ entries
        return found

    def extremes(self) -> tuple[bool, float]:
        """Whether there is a NaN, and the largest magnitude of all that are none."""
        xp, has_nan, largest = self.xp, False, 0.0
        for _, _, entries in self._blocks(None):
            missing = xp.isnan(entries)
            has_nan = has_nan or bool(xp.any(missing))
            largest = max(largest, float(xp.max(xp.where(missing, 0.0, xp.abs(entries)))))
        return has_nan, largest

    def _zeros(self, count: int) -> Any:
        where = {} if lies_on_host(self.X) else {"device": self.X.device}
        return self.xp.zeros((count, self.n), dtype=self.xp.float64, **where)

    def _blocks(self, centre: Any | None) -> Iterator[tuple[slice, slice, Any]]:
        """Pieces along the memory order, as float64, centred."""
        most = min(BLOCK_ENTRIES, HOST_ENTRIES) if lies_on_host(self.X) else BLOCK_ENTRIES
        if is_by_columns(self.X):
            height = min(self.m, most)
            width = max(most // height, 1)
        else:
            width = min(self.n, most)
            height = max(most // width, 1)
        for columns in pieces(self.n, width):
            for rows in pieces(self.m, height):
                block = self.xp.astype(self.X[rows, columns], self.xp.float64)
                yield rows, columns, block if centre is None else block - centre[columns]


def steps(X: Any) -> tuple[int, int]:
    """Entries from one row to the next, and from one column to the next."""
    if hasattr(X, "stride"):
        row, column = X.stride()
        return int(row), int(column)
    row, column = (int(stride) // int(X.itemsize) for stride in X.strides)
    return row, column


def is_by_columns(X: Any) -> bool:
    """Whether the entries of a column lie closer together than those of a row."""
    row, column = steps(X)
    return abs(row) < abs(column)
