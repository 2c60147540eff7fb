"""Exact sums of long arrays, rounded once: what `math.fsum` gives to the last bit, without a Python number per entry.

Adding a large power of two and taking it away again cuts numbers at a common digit. What is above it adds up without
rounding, whatever the order (Rump, Ogita and Oishi, "Accurate floating-point summation", 2008), what is below is cut
again. Two or three cuts leave hardly anything, which `math.fsum` adds to the few sums of pieces.
"""

from __future__ import annotations

import math

from safescreen.arrays import FloatArray

FEW = 1 << 10
"""Numbers that are better added one by one."""

PIECE = 1 << 15
"""Numbers cut together: they stay in a core's cache."""

HEADROOM = 16
"""Binary digits that their sum may have more than each of them: their number is below two to this power."""

CUTS = 3
"""Cuts of a piece; the rest is added one by one."""

LARGEST = 2.0**900
"""Beyond it the power of two might overflow."""


def exact_sum(values: FloatArray) -> float:
    """The sum in real arithmetic, rounded to the nearest float64; raises and overflows like `math.fsum`."""
    if values.size <= FEW:
        return math.fsum(values.tolist())
    parts: list[float] = []
    for start in range(0, values.size, PIECE):
        piece = values[start : start + PIECE]
        for _ in range(CUTS):
            largest = max(float(piece.max()), -float(piece.min()))
            if largest == 0.0:
                break
            if not largest < LARGEST:
                return math.fsum(values.tolist())
            power = math.ldexp(1.0, math.frexp(largest)[1] + HEADROOM)
            above = (piece + power) - power
            parts.append(float(above.sum()))
            piece = piece - above
        parts.extend(piece[piece != 0.0].tolist())
    return math.fsum(parts)
