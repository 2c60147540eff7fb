"""Numbers for readers: few digits, rounded to the honest side.

A bound shown with four digits must still be a bound. So lower bounds are rounded down, objectives and gaps up, and
the decimal arithmetic behind that is exact.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, localcontext

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_EXACT = 2000  # digits that hold any sum of two doubles
_SMALLEST, _LARGEST = -5, 6  # exponents of ten written out


def nearest(value: float, digits: int = 4) -> str:
    """A number, rounded."""
    return _rounded(Decimal(value), digits, ROUND_HALF_EVEN)


def above(value: float, digits: int = 4, padded: bool = False) -> str:
    """A number, rounded up."""
    return _rounded(Decimal(value), digits, ROUND_CEILING, padded)


def below(value: float, digits: int = 4, padded: bool = False) -> str:
    """A number, rounded down."""
    return _rounded(Decimal(value), digits, ROUND_FLOOR, padded)


def difference_above(upper: float, lower: float, digits: int = 2) -> str:
    """``upper - lower``, rounded up once instead of twice; never below zero."""
    with localcontext() as context:
        context.prec = _EXACT
        difference = max(Decimal(upper) - Decimal(lower), Decimal(0))
    return _rounded(difference, digits, ROUND_CEILING)


def percent_above(share: float, digits: int = 2) -> str:
    """A share in percent, rounded up: a gap is never shown smaller than it is."""
    with localcontext() as context:
        context.prec = _EXACT
        hundredfold = 100 * Decimal(share)
    return f"{_rounded(hundredfold, digits, ROUND_CEILING)}\u00a0%"


def percent_below(share: float, digits: int = 2) -> str:
    """A share in percent, rounded down: what is proved is never shown larger than it is."""
    with localcontext() as context:
        context.prec = _EXACT
        hundredfold = 100 * Decimal(share)
    return f"{_rounded(hundredfold, digits, ROUND_FLOOR)}\u00a0%"


def percent_of(part: int, whole: int) -> str:
    """A share of a count in percent, with one decimal; 100 and 0 only where they are exact."""
    if part in (0, whole):
        return "100\u00a0%" if part else "0\u00a0%"
    tenths = min(max(round(1000 * part / whole), 1), 999)
    return f"{tenths / 10:.1f}\u00a0%"


def padded(value: float, digits: int = 3) -> str:
    """A number for a column: rounded, zeros at the end kept."""
    return _rounded(Decimal(value), digits, ROUND_HALF_EVEN, padded=True)


def signed(value: float, digits: int = 3) -> str:
    """A number with its sign, for a column."""
    return f"+{padded(value, digits)}" if value > 0.0 else padded(value, digits)


def counted(number: int, noun: str) -> str:
    """A count and its noun."""
    return f"{number:,} {noun if number == 1 else noun + 's'}"


def duration(seconds: float) -> str:
    """A time span in words a person would use."""
    if seconds < 0.001:
        return "under a millisecond"
    if seconds < 1.0:
        return f"{1000 * seconds:.3g}\u00a0ms"
    if seconds < 120.0:
        return f"{seconds:.3g}\u00a0s"
    if seconds < 7200.0:
        return f"{seconds / 60:.3g}\u00a0min"
    return f"{seconds / 3600:.3g}\u00a0h"


def compact_below(values: FloatArray, digits: int = 4) -> list[float | None]:
    """Numbers for embedding, rounded down to a few digits; None where they are not finite."""
    finite = np.isfinite(values)
    size = np.abs(np.where(finite, values, 0.0))
    exponent = np.floor(np.log10(np.where(size > 0.0, size, 1.0))) - (digits - 1)
    exponent = np.maximum(exponent, -290.0)  # powers of ten beyond the doubles would overflow below
    scaled = np.floor(np.where(finite, values, 0.0) * 10.0**-exponent)
    rounded = [float(f"{int(c)}e{int(e)}") for c, e in zip(scaled.tolist(), exponent.tolist(), strict=True)]
    return [number if keep else None for number, keep in zip(rounded, finite.tolist(), strict=True)]


def _rounded(value: Decimal, digits: int, rounding: str, padded: bool = False) -> str:
    if not value.is_finite():
        return "–" if value.is_nan() else "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    with localcontext() as context:
        context.prec = digits
        context.rounding = rounding
        short = +value
    exponent = short.adjusted()
    if _SMALLEST < exponent < _LARGEST:
        places = max(digits - 1 - exponent, 0)
        return _tidy(f"{short:,.{places}f}", padded)
    mantissa = _tidy(f"{short.scaleb(-exponent):.{digits - 1}f}", padded)
    return f"{mantissa}×10{str(exponent).translate(_SUPERSCRIPT)}"


def _tidy(text: str, padded: bool) -> str:
    """A proper minus sign, and no zeros at the end unless they are wanted."""
    text = text.rstrip("0").rstrip(".") if "." in text and not padded else text
    return text.replace("-", "−")
