"""Long sums are those of `math.fsum`, bit by bit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safescreen import exact_sums
from safescreen.exact_sums import exact_sum

pytestmark = pytest.mark.interpreted


@settings(max_examples=150)
@given(st.integers(0, 10**6), st.integers(0, 5000), st.integers(0, 300), st.booleans())
def test_the_sum_is_the_one_of_fsum(seed, size, spread, cancel):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(size) * 10.0 ** rng.integers(-spread, min(spread, 200) + 1, size)
    if cancel:
        values = rng.permutation(np.concatenate((values, -values, rng.random(3))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact_sums, "FEW", 0)
        patch.setattr(exact_sums, "PIECE", 512)
        assert exact_sum(values) == math.fsum(values.tolist())


@pytest.mark.parametrize("values", [np.ones(3), np.zeros(5000), np.full(70_000, 0.1), np.full(5000, 5e-324)])
def test_ordinary_and_tiny_numbers(values):
    assert exact_sum(values) == math.fsum(values.tolist())


def test_a_full_piece_of_equal_numbers_has_no_rounding():
    values = np.full(3 * exact_sums.PIECE, np.nextafter(1.0, 0.0))
    values[::2] *= -1.0 + 2.0**-50
    assert exact_sum(values) == math.fsum(values.tolist())


def test_what_is_not_finite_or_overflows_is_as_with_fsum():
    values = np.ones(5000)
    values[7] = np.inf
    assert exact_sum(values) == math.inf
    values[9] = np.nan
    assert math.isnan(exact_sum(values))
    with pytest.raises(OverflowError):
        exact_sum(np.full(5000, 1e308))
