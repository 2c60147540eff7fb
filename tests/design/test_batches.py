"""Several dual points at once, and the features that matter most to each of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from safescreen.design import Design, make_design

pytestmark = pytest.mark.interpreted


def design_of(seed: int, stored: bool, standardize: bool) -> Design:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 17)) * (rng.random((30, 17)) < 0.5)
    X[:, 5] = 0.0
    return make_design(sparse.csc_array(X) if stored else X, np.full(30, 1.0 / 30.0), standardize)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("stored", [False, True])
def test_a_batch_answers_like_one_point_after_the_other(stored, standardize):
    design = design_of(0, stored, standardize)
    alphas = np.random.default_rng(1).standard_normal((3, 30))
    together = design.correlations_of(alphas)
    assert together.shape == (3, 17)
    for alpha, row in zip(alphas, together, strict=True):
        allowed = 2.0 * design.error * np.linalg.norm(alpha)
        assert np.all(np.abs(row - design.correlations(alpha)) <= allowed)


@settings(max_examples=30)
@given(st.integers(0, 1000), st.integers(1, 17), st.booleans(), st.booleans())
def test_the_strongest_are_the_largest_widened_correlations(seed, count, stored, standardize):
    design = design_of(seed, stored, standardize)
    alphas = np.random.default_rng(seed).standard_normal((2, 30))
    drifts = np.array([0.0, 0.3])
    indices, widened = design.strongest(alphas, drifts, count)
    assert indices.shape == widened.shape == (2, count)
    assert indices.dtype == np.int64
    for alpha, drift, chosen, sizes in zip(alphas, drifts, indices, widened, strict=True):
        length = np.linalg.norm(alpha) * (1.0 + 1e-9)
        expected = np.abs(design.correlations(alpha)) + length * (design.error + drift * design.norms)
        np.testing.assert_allclose(sizes, np.sort(expected)[::-1][:count], rtol=1e-12)
        np.testing.assert_allclose(sizes, expected[chosen], rtol=1e-12)
        assert np.unique(chosen).size == count


@pytest.mark.parametrize("stored", [False, True])
def test_every_full_read_is_counted(stored):
    design = design_of(0, stored, True)
    assert design.passes == 0
    _ = design.error
    before = design.passes
    assert before > 0
    design.correlations(np.ones(30))
    assert design.passes == before + 1
    design.columns([1, 2])
    assert design.passes == before + 1
