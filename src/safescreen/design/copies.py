"""Columns that are copies of one another: the same numbers, or once standardised the same up to sign.

One product with a fixed random vector gives every column a number, and only columns whose numbers agree are compared
entry by entry. So the search costs one pass over the matrix and a sort, however many columns there are.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from safescreen.arrays import BoolArray, FloatArray, IndexArray
from safescreen.rounding import UNIT

ROUNDINGS = {np.dtype(np.float32): (16.0 * 2.0**-24, 1e-5)}
"""What may separate copies in single precision: rounding of values of size one, and at most."""

ROUNDING = (256.0 * UNIT, 1e-9)
"""The same for any other matrix: noise of a millionth makes another column."""

LARGEST_ROUNDS = 4
"""Columns that agree in their number but are no copies are compared with one another so often at most."""


class Comparable(Protocol):
    """What the search needs of a design."""

    shape: tuple[int, int]
    standardize: bool

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the raw matrix."""

    @property
    def means(self) -> FloatArray:
        """What is subtracted from columns."""

    @property
    def scales(self) -> FloatArray:
        """What columns are divided by."""

    @property
    def constant(self) -> BoolArray:
        """Which columns are constant."""

    @property
    def error(self) -> FloatArray:
        """Rounding of correlations, per length of the vector."""

    def correlations(self, alpha: FloatArray) -> FloatArray:
        """The product of all columns with a vector."""

    def same_columns(self, first: IndexArray, second: IndexArray) -> BoolArray:
        """Whether columns are copies of their partners."""


def find_copies(design: Comparable) -> tuple[IndexArray, ...]:
    """Groups of two or more columns, each sorted, by their first column; constant columns are in none.

    Where the design is standardised, copies are ``a x + b`` with any ``a`` but zero, as far as rounding lets them be;
    otherwise they are equal.
    """
    numbers, uncertain = _numbers(design)
    candidates = np.flatnonzero(~design.constant)
    leader = np.arange(design.shape[1])
    for _ in range(LARGEST_ROUNDS):
        order = candidates[np.argsort(numbers[candidates])]
        near = np.diff(numbers[order]) <= uncertain[order[1:]] + uncertain[order[:-1]]
        if not near.any():
            break
        cluster = np.concatenate(([0], np.cumsum(~near)))
        first = np.full(int(cluster[-1]) + 1, design.shape[1])
        np.minimum.at(first, cluster, order)
        heads = first[cluster]
        others = order != heads
        same = design.same_columns(heads[others], order[others])
        leader[order[others][same]] = heads[others][same]
        candidates = order[others][~same]
    return _groups(leader)


def _numbers(design: Comparable) -> tuple[FloatArray, FloatArray]:
    """One number per column, which copies share, and by how much rounding can move it."""
    direction = np.random.default_rng(20_240_229).standard_normal(design.shape[0])
    numbers = design.correlations(direction)
    length = float(np.linalg.norm(direction))
    uncertain = design.error * length
    if design.standardize:
        numbers = np.abs(numbers)
        uncertain = uncertain + tolerances(design) * float(np.abs(direction).sum())
    return numbers, np.minimum(uncertain, 1e-6 * length)


def tolerances(design: Comparable) -> FloatArray:
    """What rounding of the data, relative to their distance from zero, leaves of a standardised value of size one."""
    relative, largest = ROUNDINGS.get(design.dtype, ROUNDING)
    return np.minimum(relative * (1.0 + np.abs(design.means) / design.scales), largest)


def agree(one: FloatArray, other: FloatArray, tolerance: FloatArray) -> BoolArray:
    """Whether two values are the same but for rounding."""
    return np.asarray(np.abs(one - other) <= tolerance * np.maximum(1.0, np.abs(one)))


def _groups(leader: IndexArray) -> tuple[IndexArray, ...]:
    """The columns that share a leader, where there are several."""
    members = np.flatnonzero(np.bincount(leader, minlength=leader.size)[leader] > 1)
    ordered = members[np.argsort(leader[members], kind="stable")]
    cuts = np.flatnonzero(np.diff(leader[ordered])) + 1
    return tuple(np.split(ordered, cuts)) if ordered.size else ()
