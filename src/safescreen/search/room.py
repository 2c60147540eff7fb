"""How the working memory of a tree is shared out: columns and quadratic models, open nodes, local searches."""

from __future__ import annotations

import math
from typing import NamedTuple

from safescreen.kernels.open_nodes import bytes_per_node
from safescreen.tuning import COLUMNS_PART, GRAM_ROOM, LEAST_BLOCK, LOCAL_PART

PRODUCTS_BYTES = 8 * (2 + GRAM_ROOM**2)
"""Of the matrices of a quadratic model, for the square of its columns."""

VECTORS = 12
"""Vectors over the samples that a worker has besides columns."""


class Extent(NamedTuple):
    """What a search would like to hold."""

    samples: int
    features: int
    workers: int
    capacity: int  # columns of a working set
    least: int  # columns that must be held however little memory there is: those of a model
    width: int  # coefficients of a warm start


class Room(NamedTuple):
    """What it may hold."""

    workers: int
    slots: int  # dense columns at a time: all of them, for all workers, or some, for each
    capacity: int
    most_open: int  # open nodes of a worker


def shared_out(extent: Extent, allowed: int) -> Room:
    """As much as fits into so many bytes: all columns if possible, else as many at a time for each worker.

    Where that is too little for all workers, there are fewer of them.
    """
    row, workers, slots, capacity = 8 * extent.samples, extent.workers, extent.features, extent.capacity
    available = int(COLUMNS_PART * allowed)
    taken = slots * row + workers * (VECTORS * row + _model_bytes(capacity, row))
    if taken > available:
        fewest = min(extent.least + LEAST_BLOCK, extent.features)
        at_least = (VECTORS + fewest) * row + _model_bytes(fewest, row)
        workers = max(min(workers, available // at_least), 1)
        own = max(available // workers - VECTORS * row, 0)
        capacity = min(capacity, max(_largest_capacity(own // 3, row), fewest))
        slots = min(max((own - _model_bytes(capacity, row)) // row, fewest), extent.features)
        taken = min(available, workers * own)
    left = allowed - int(LOCAL_PART * allowed) - taken
    return Room(workers, slots, capacity, left // workers // bytes_per_node(extent.features, extent.width))


def _model_bytes(capacity: int, row: int) -> int:
    """A quadratic model over so many columns: these, weighted, two matrices of their products, and a larger one."""
    return capacity * (row + PRODUCTS_BYTES * capacity)


def _largest_capacity(available: int, row: int) -> int:
    """The largest model that fits."""
    return int((math.sqrt(row * row + 4.0 * PRODUCTS_BYTES * available) - row) / (2.0 * PRODUCTS_BYTES))
