"""Axes: round labels, and room for every value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safescreen.reporting.charts import linear, logarithmic


@pytest.mark.parametrize(
    ("axis", "labels"),
    [
        (linear("", -0.09, 0.0), ["−0.08", "−0.06", "−0.04", "−0.02", "0.00"]),
        (linear("", 0.0, 0.14), ["0.000", "0.025", "0.050", "0.075", "0.100", "0.125"]),
        (linear("", 1, 10, 12, whole=True), [str(i) for i in range(1, 11)]),
        (linear("", 1, 2, 12, whole=True), ["1", "2"]),
        (logarithmic("", 1e-3, 1e-1), ["0.001", "0.003", "0.01", "0.03", "0.1"]),
        (logarithmic("", 1e-6, 10.0), ["1×10⁻⁶", "0.0001", "0.01", "1"]),
    ],
)
def test_axes_have_round_labels(axis, labels):
    assert list(axis.labels) == labels
    places = [axis.place(tick) for tick in axis.ticks]
    assert places == sorted(places)
    assert places[0] >= -1e-9
    assert places[-1] <= 1.0 + 1e-9


@given(st.floats(-1e9, 1e9), st.floats(0.0, 1e9))
def test_axes_of_any_range(low, width):
    axis = linear("", low, low + width)
    assert 2 <= len(axis.ticks) <= 8
    assert axis.low <= low <= axis.high
