"""Numbers as people read them: rounded to the honest side."""

from __future__ import annotations

import math
import re
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from safescreen.formatting import digits


@given(st.floats(1e-300, 1e300), st.integers(1, 8))
def test_rounding_is_honest(value, size):
    assert _number(digits.below(value, size)) <= Decimal(value) <= _number(digits.above(value, size))
    assert _number(digits.below(-value, size)) <= Decimal(-value) <= _number(digits.above(-value, size))
    assert float(_number(digits.nearest(value, 8))) == pytest.approx(value, rel=1e-7)
    assert _number(digits.padded(value, 8)) == _number(digits.nearest(value, 8))


@given(st.floats(1e-3, 1.0), st.floats(0.0, 1.0))
def test_differences_and_gaps_are_never_understated(upper, share):
    lower = upper * share
    assert _number(digits.difference_above(upper, lower)) >= Decimal(upper) - Decimal(lower)
    gap = (upper - lower) / upper
    assert _number(digits.percent_above(gap).removesuffix("\u00a0%")) >= 100 * Decimal(gap)


@given(st.lists(st.floats(-1e6, 1e6).filter(lambda x: x == 0.0 or abs(x) > 1e-250), min_size=1))
def test_embedded_numbers_are_rounded_down(values):
    compact = digits.compact_below(np.array(values))
    for shown, true in zip(compact, values, strict=True):
        assert shown <= true * (1.0 + math.copysign(1e-15, true))
        assert shown == pytest.approx(true, rel=1.1e-3)
        assert len(f"{shown:.4g}") >= len(f"{shown:.17g}") or float(f"{shown:.4g}") == shown


def _number(text: str) -> Decimal:
    """What a reader reads."""
    plain = text.replace(",", "").replace("−", "-").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    return Decimal(re.sub("×10(.+)", r"e\1", plain))


def test_shares_of_counts():
    assert digits.percent_of(29_999, 30_000) == "99.9\u00a0%"
    assert digits.percent_of(1, 30_000) == "0.1\u00a0%"
    assert (digits.percent_of(0, 5), digits.percent_of(5, 5)) == ("0\u00a0%", "100\u00a0%")
