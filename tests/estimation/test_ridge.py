"""The second ridge's fits: against scikit-learn, and where Newton's method has a hard time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from safescreen.estimation.ridge import Fit, Rows, fit_ridge


def made(m=60, n=4, seed=0, weights=None):
    rng = np.random.default_rng(seed)
    block = rng.standard_normal((m, n)) + 0.5
    y = np.where(block @ np.linspace(1.0, -1.0, n) + rng.logistic(size=m) > 0.0, 1.0, -1.0)
    weights = np.ones(m) if weights is None else weights(rng, m)
    return Rows(block, y, weights / weights.sum())


def gradient(rows, gamma, fit, fit_intercept=True):
    """Of the objective in each coefficient and the intercept: nothing at its minimum."""
    wrong = 1.0 / (1.0 + np.exp(np.clip(rows.y * (rows.block @ fit.x + fit.b), -700.0, 700.0)))
    residual = rows.weights * rows.y * wrong
    slopes = 2.0 * fit.x / gamma - residual @ rows.block
    return np.append(slopes, residual.sum()) if fit_intercept else slopes


WEIGHTS = {
    "none": None,
    "uneven": lambda rng, m: rng.uniform(0.1, 3.0, m),
    "zeros": lambda rng, m: np.where(np.arange(m) % 3, 1.0, 0.0),
}


@pytest.mark.parametrize("gamma", [1e-6, 0.1, 10.0, 1e6])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_same_as_scikit_learn(weights, fit_intercept, gamma):
    rows = made(weights=WEIGHTS[weights])
    fit = fit_ridge(rows, gamma, fit_intercept)
    reference = LogisticRegression(C=gamma / 2.0, fit_intercept=fit_intercept, solver="newton-cholesky", tol=1e-12)
    reference.fit(rows.block, rows.y, sample_weight=rows.weights)
    assert fit.converged
    np.testing.assert_allclose(fit.x, reference.coef_[0], rtol=1e-6, atol=1e-8)
    assert fit.b == pytest.approx(float(np.ravel(reference.intercept_)[0]), abs=1e-6)
    assert fit.b != 0.0 or not fit_intercept


def test_without_a_ridge():
    rows = made()
    fit = fit_ridge(rows, math.inf, True)
    assert fit.converged
    np.testing.assert_allclose(fit.x, fit_ridge(rows, 1e10, True).x, rtol=1e-6)


def test_the_start_does_not_matter():
    rows = made()
    cold = fit_ridge(rows, 20.0, True)
    for start in (Fit(np.full(4, 30.0), -50.0, True), Fit(np.full(4, -1e3), 1e3, True), cold):
        warm = fit_ridge(rows, 20.0, True, start)
        assert warm.converged
        np.testing.assert_allclose(warm.x, cold.x, rtol=1e-9)
        assert warm.b == pytest.approx(cold.b, rel=1e-9)


@pytest.mark.parametrize("gamma", [0.1, 10.0, 1e4])
def test_derivatives_vanish(gamma):
    rows = made(weights=WEIGHTS["uneven"])
    assert np.abs(gradient(rows, gamma, fit_ridge(rows, gamma, True))).max() < 1e-11


def test_columns_of_zeros():
    rows = made()
    block = np.insert(rows.block, 2, 0.0, axis=1)
    fit = fit_ridge(rows._replace(block=block), 5.0, True)
    assert fit.x[2] == 0.0
    np.testing.assert_allclose(np.delete(fit.x, 2), fit_ridge(rows, 5.0, True).x, rtol=1e-9)
    bare = fit_ridge(rows._replace(block=np.zeros((60, 2))), math.inf, True)
    assert bare.x.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_no_columns(fit_intercept):
    rows = made()._replace(block=np.empty((60, 0)))
    fit = fit_ridge(rows, 1.0, fit_intercept)
    share = rows.weights[rows.y > 0.0].sum()
    assert fit.converged
    assert fit.x.size == 0
    assert fit.b == pytest.approx(math.log(share / (1.0 - share)) if fit_intercept else 0.0)


@pytest.mark.parametrize("scales", [[1e-8, 1e8, 1.0, 1e-3], [1e8, 1e8, 1e8, 1e8], [1e-8, 1e-8, 1e-8, 1e-8]])
@pytest.mark.parametrize("gamma", [1.0, 1e4])
def test_badly_scaled_columns(scales, gamma):
    """Derivatives vanish, as measured in the columns' own units, and nobody has a better objective."""
    rows = made()
    rows = rows._replace(block=rows.block * scales)
    fit = fit_ridge(rows, gamma, True)
    assert fit.converged
    units = np.append(np.maximum(np.abs(rows.block).max(axis=0), 1e-8), 1.0)
    assert np.abs(gradient(rows, gamma, fit) / units).max() < 1e-6


@pytest.mark.parametrize("gamma", [1.0, 1e3, 1e8])
def test_separable_classes(gamma):
    block = np.linspace(-1.0, 1.0, 20)[:, None]
    rows = Rows(block, np.where(block[:, 0] > 0.0, 1.0, -1.0), np.full(20, 0.05))
    fit = fit_ridge(rows, gamma, True)
    assert fit.converged
    assert np.abs(gradient(rows, gamma, fit)).max() < 1e-7
    assert fit.x[0] > 0.0
    assert np.isfinite(fit_ridge(rows, math.inf, True).x).all()


def test_repeated_columns_share():
    rows = made(n=2)
    twice = rows._replace(block=np.column_stack((rows.block, rows.block[:, 0])))
    fit = fit_ridge(twice, 10.0, True)
    assert fit.x[0] == pytest.approx(fit.x[2], rel=1e-6)
    unpenalised = fit_ridge(twice, math.inf, True)  # no unique answer, but one
    assert unpenalised.x[0] + unpenalised.x[2] == pytest.approx(fit_ridge(rows, math.inf, True).x[0], rel=1e-4)


def test_part_of_the_rows_and_their_loss():
    rows = made(weights=WEIGHTS["uneven"])
    part = rows.part(np.arange(60) < 20)
    assert part.weights.sum() == pytest.approx(1.0)
    assert part.block.shape == (20, 4)
    fit = Fit(np.zeros(4), 0.0, True)
    assert fit.loss(part) == pytest.approx(math.log(2.0))
