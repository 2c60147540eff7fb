"""Logarithms and what is made of them, with an error bound each: the checker trusts no library for these.

Given are IEEE-754 double precision for ``+ - * /`` and the square root, gradual underflow, and sums of
products in any order, fused or not. Every function says by how many *units of round-off* its result may be
wrong, relative to its size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

ROUNDOFF = 2.0**-53 * (1.0 + 2.0**-20)
"""A hair above the unit of round-off, so that error bounds of first order cover the higher orders as well."""

LN2 = 0.6931471805599453
"""The double nearest to log 2."""

SQRT_HALF_LESS_ONE = -0.29289321881345254
"""√½ - 1."""

BATCH_ENTRIES = 1 << 17
"""How many entries a temporary array may have, so that it stays in the cache."""


PASS_ENTRIES = 1 << 24
"""How many entries are passed over in one call, so that Ctrl-C is answered between two calls."""

BETWEEN_PIECES: ContextVar[Callable[[], None]] = ContextVar("between pieces", default=lambda: None)
"""What is called between two pieces of long work: whoever has no time for all of it may raise."""


def batches(count: int, width: int) -> Iterator[slice]:
    """``0 ... count - 1`` in pieces, so that arrays with rows of this width have a bounded size."""
    return pieces(count, BATCH_ENTRIES // width)


def passes(count: int, width: int) -> Iterator[slice]:
    """The same in large pieces, for long work on arrays that are there anyway."""
    return pieces(count, PASS_ENTRIES // width)


def pieces(count: int, step: int) -> Iterator[slice]:
    """``0 ... count - 1`` in pieces of about this length."""
    step = max(step, 1)
    for first in range(0, count, step):
        BETWEEN_PIECES.get()()
        yield slice(first, min(first + step, count))


def log1p(x: Array) -> Array:
    """``log(1 + x)`` for x in [-1/2, 0], within 10 units of round-off (relative, but for underflow).

    Where ``1 + x`` is below √½ it is doubled, and ln 2 is subtracted at the end. Then ``log(1 + t) = 2
    atanh(z)`` with ``z = t / (t + 2)``, where ``t`` is exact and ``|z| < 0.1716``.

    - ``z`` is off by 2 units.
    - The series of ``2 atanh(z) / z`` is cut after z²⁰: a relative remainder below z²²/23/(1 - z²) < 1e-18.
    - Its first term dominates, so that Horner's scheme rounds by 1.1 units.
    - With the last product that makes 4.2 units, of at most 0.347.
    - Subtracting ln 2 leaves at least 0.346: 4.2 units, 2 for ln 2 and 1 for the subtraction.
    """
    doubled = (x < SQRT_HALF_LESS_ONE).astype(np.float64)
    t = x * (1.0 + doubled) + doubled
    z = t / (t + 2.0)
    square = z * z
    series = square * (2.0 / 21.0)
    for power in range(19, 1, -2):
        series += 2.0 / power
        series *= square
    return np.asarray((series + 2.0) * z - doubled * LN2)


def log(x: Array) -> Array:
    """``log x`` for x in (0, 1), within 12 units: ``x = 2ᵉ f``, and ``e ln 2`` and ``log f`` have the same sign."""
    fraction, exponent = np.frexp(x)
    return log1p(fraction - 1.0) + exponent * LN2


def weighted_entropy(P: Array, weights: Array) -> Array:
    """``Σ w_i H(p_i)`` for every row p of ``P``, within ``m + 24`` units (relative, but for underflow).

    ``s = min(p, 1 - p)`` is exact, and both terms of ``H(p) = -s log s - (1 - s) log(1 - s)`` are positive,
    so that nothing cancels: 16 units a sample, and the sum adds its own.
    """
    totals = np.empty(len(P))
    for rows in batches(len(P), 8 * weights.size):
        s = np.minimum(P[rows], 1.0 - P[rows])
        totals[rows] = -(s * log(s) + (1.0 - s) * log1p(-s)) @ weights
    return totals


def logistic_loss(margin: Array) -> Array:
    """``log(1 + exp(-margin))``, too small by less than 20 units.

    With ``t = exp(-|margin|)`` this is ``max(-margin, 0) + log(1 + t)``. The library's ``exp`` need not be
    right: any t is the right one for the margin ``-log t``, and between that margin and the one at hand the
    loss changes by less than 2 t times their distance (or just by their distance, if t is far off). So that
    much is added.
    """
    size = np.minimum(np.abs(margin), 700.0)
    tail = np.exp(-size)
    distance = np.abs(log(tail) + size) + 16.0 * ROUNDOFF * size
    log_one_plus_tail = -log1p(-tail / (1.0 + tail))
    loss = np.maximum(-margin, 0.0) + log_one_plus_tail
    return np.asarray(loss + distance * np.where(distance < 0.5, 2.0 * tail, 1.0))
