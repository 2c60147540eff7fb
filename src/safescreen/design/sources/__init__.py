"""Matrices on disk, one module per storage: all of them read a block of rows and columns, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from safescreen.design.elsewhere import is_arrow
from safescreen.design.sources.base import Source

__all__ = ["Source", "open_source"]


def open_source(X: Any) -> Source:
    """A matrix on disk as something to read blocks from; the libraries it may come from are never imported here."""
    if isinstance(X, Source):
        return X
    if isinstance(X, np.memmap):
        from safescreen.design.sources.mapped import MappedSource

        return MappedSource(X)
    if is_arrow(X):
        from safescreen.design.sources.arrow import open_arrow

        return open_arrow(X)
    from safescreen.design.sources.chunked import ChunkedSource

    return ChunkedSource(X)
