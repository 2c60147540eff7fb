"""Zarr arrays, read along the borders of their chunks: each is decompressed once in a pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from safescreen.arrays import AnyArray, IndexArray
from safescreen.design.elsewhere import entry_type
from safescreen.design.sources.base import Source


class ChunkedSource(Source):
    """A two-dimensional Zarr array of any chunks, shards and compression."""

    def __init__(self, X: Any) -> None:
        self._X = X
        self.shape = (int(X.shape[0]), int(X.shape[1]))
        self.dtype = entry_type(X)
        self.grain = (int(X.chunks[0]), int(X.chunks[1]))
        self.by_columns = self.shape[0] * self.grain[1] <= self.shape[1] * self.grain[0]

    def read(self, rows: slice, columns: slice | IndexArray) -> AnyArray:
        """These rows of these columns; a chunk that has several of them is decompressed once."""
        if isinstance(columns, slice):
            return np.asarray(self._X[rows, columns])
        return np.asarray(self._X.oindex[rows, columns])
