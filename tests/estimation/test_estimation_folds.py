"""Folds that choose the second ridge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safescreen.estimation.folds import held_out_masks


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 10), st.integers(2, 6))
@settings(max_examples=60, deadline=None)
def test_every_row_is_held_out_once_and_classes_are_dealt_evenly(n_positive, n_negative, n_absent, n_folds):
    y = np.concatenate((np.ones(n_positive), -np.ones(n_negative), np.ones(n_absent)))
    weights = np.concatenate((np.ones(n_positive + n_negative), np.zeros(n_absent)))
    masks = held_out_masks(y, weights, n_folds)
    smallest = min(n_positive, n_negative)
    assert len(masks) == (min(n_folds, smallest) if smallest >= 2 else 0)
    if masks:
        np.testing.assert_array_equal(np.sum(masks, axis=0), weights > 0.0)
        for label in (-1.0, 1.0):
            counts = [int((y[mask] == label).sum()) for mask in masks]
            assert min(counts) >= 1
            assert max(counts) - min(counts) <= 1
        sizes = [int(mask.sum()) for mask in masks]
        assert max(sizes) - min(sizes) <= 1


def test_the_same_every_time_and_not_in_the_order_of_rows():
    y = np.where(np.arange(40) < 20, 1.0, -1.0)
    first, again = (held_out_masks(y, np.ones(40), 5) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert any(np.flatnonzero(mask).tolist() != list(range(i, 40, 5)) for i, mask in enumerate(first))


@pytest.mark.parametrize("n_positive", [0, 1])
def test_no_folds_where_a_class_could_not_be_learned(n_positive):
    assert held_out_masks(np.where(np.arange(10) < n_positive, 1.0, -1.0), np.ones(10), 5) == []
