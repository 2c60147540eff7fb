"""Coefficients at a ridge of their own."""

from __future__ import annotations

import math

import numpy as np
import pytest

import safescreen as ss
from safescreen.defaults import AUTO_RIDGE
from safescreen.estimation import check_refit_gamma, estimate, models_at, refit
from safescreen.estimation.estimate import N_FOLDS, choose_ridge, chosen_rows, ridges_from
from safescreen.estimation.ridge import Rows, fit_ridge


@pytest.fixture(scope="module")
def data():
    X, y, _ = ss.datasets.make_sparse_logistic(120, 12, 4, 1.0, random_state=2)
    return X * np.geomspace(1e-3, 1e3, 12) + 5.0, y


@pytest.fixture(scope="module", params=[(True, True), (True, False), (False, True), (False, False)])
def solution(request, data) -> ss.Solution:
    standardize, fit_intercept = request.param
    return ss.solve(ss.Problem(*data, k=3, gamma=2.0, standardize=standardize, fit_intercept=fit_intercept))


def test_same_is_the_solution_bit_for_bit(solution):
    for word in ("same", solution.problem.gamma):
        same = estimate(solution, word)
        np.testing.assert_array_equal(same.coef(12), solution.coef)
        assert same.intercept == solution.intercept
        assert same.gamma == solution.problem.gamma


@pytest.mark.parametrize("gamma", [0.5, 50.0])
def test_a_number_is_the_minimum_at_that_ridge(solution, gamma):
    """The problem's own objective, at another ridge, has no lower value nearby."""
    estimated = estimate(solution, gamma)
    problem = solution.problem.with_parameters(gamma=gamma)
    coef = estimated.coef(12)
    value = problem.objective(coef, estimated.intercept)
    assert value <= problem.objective(solution.coef, solution.intercept)
    for j in estimated.support:
        for step in (-1e-3, 1e-3):
            moved = coef.copy()
            moved[j] *= 1.0 + step
            intercept = estimated.intercept - problem.design.means[j] * step * coef[j]  # of centred columns the same
            assert problem.objective(moved, intercept) > value
    np.testing.assert_array_equal(estimated.support, solution.support)


def test_cv_is_never_stronger_and_always_the_same(solution):
    first, again = estimate(solution, "cv"), estimate(solution, "cv")
    assert first.gamma >= solution.problem.gamma
    assert first.gamma == again.gamma
    np.testing.assert_array_equal(first.coefficients, again.coefficients)
    assert first.gamma in ridges_from(solution.problem.gamma, 120)
    np.testing.assert_allclose(first.coefficients, estimate(solution, first.gamma).coefficients, rtol=1e-9)


def test_cv_shrinks_noise_and_lets_signal_be():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    clear = np.where(X[:, 0] + 0.4 * rng.logistic(size=400) > 0.0, 1.0, -1.0)
    rows = Rows(X, clear, np.full(400, 1.0 / 400))
    ridges = ridges_from(0.1, 400)
    assert choose_ridge(rows, True, ridges) > 10.0
    noise = rows._replace(y=np.where(rng.random(400) < 0.5, 1.0, -1.0))
    assert choose_ridge(noise, True, ridges) == 0.1


def test_cv_without_folds_keeps_the_ridge():
    rows = Rows(np.eye(8)[:, :2], np.where(np.arange(8) < 1, 1.0, -1.0), np.full(8, 0.125))
    assert choose_ridge(rows, True, [0.5, 5.0, 50.0]) == 0.5


@pytest.mark.parametrize(("gamma", "m"), [(0.1, 50), (7.0, 50), (1e4, 50), (1e5, 10**6)])
def test_ridges_worth_trying(gamma, m):
    ridges = ridges_from(gamma, m)
    assert ridges == sorted(set(ridges))
    assert ridges[0] == gamma
    assert 2.0 * m in ridges or 2.0 * m <= gamma
    assert N_FOLDS >= 2


def test_models_at_several_ridges_are_the_estimates(solution):
    wanted = [100.0, "same", 0.1, "cv", 100.0, 3.0]
    for model, word in zip(models_at(solution, wanted), wanted, strict=True):
        one = estimate(solution, word)
        np.testing.assert_allclose(model.coefficients, one.coefficients, rtol=1e-6)
        assert model.intercept == pytest.approx(one.intercept, rel=1e-6, abs=1e-9)
        if word != "same":
            np.testing.assert_allclose(refit(solution.problem, solution.support, word), one.coefficients, rtol=1e-6)


def test_what_is_needed_to_read_them(data):
    X, y = data
    X = X.copy()
    X[:, 0] = y > 0.0
    X[::7, 0] = 1.0 - X[::7, 0]
    weights = np.random.default_rng(0).uniform(0.0, 2.0, y.size)
    solution = ss.solve(ss.Problem(X, y, k=3, gamma=2.0, include=[0], sample_weight=weights))
    read = estimate(solution, 20.0)
    chosen = X[:, read.support]
    mean = np.average(chosen, axis=0, weights=weights)
    np.testing.assert_allclose(read.means, mean)
    np.testing.assert_allclose(read.deviations, np.sqrt(np.average((chosen - mean) ** 2, axis=0, weights=weights)))
    assert read.binary.tolist() == [True, False, False]
    unpenalised = fit_ridge(chosen_rows(solution.problem, read.support), math.inf, True)
    scales = solution.problem.design.scales[read.support]
    np.testing.assert_allclose(read.unpenalised, unpenalised.x / scales, rtol=1e-6)
    assert ((read.shrinkage > 0.0) & (read.shrinkage < 1.0)).all()
    stronger = estimate(solution, 2.0)
    assert (stronger.shrinkage > read.shrinkage).any()


@pytest.mark.parametrize("kind", ["separated", "repeated"])
def test_no_unpenalised_coefficients_where_there_are_none(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = X[:, 0] > 0.0 if kind == "separated" else X[:, 0] + rng.logistic(size=40) > 0.0
    X[:, 1] = X[:, 1] if kind == "separated" else 2.0 * X[:, 0]
    read = estimate(ss.solve(ss.Problem(X, y, k=2, gamma=1.0, include=[0, 1])), 10.0)
    assert np.isnan(read.unpenalised).all()
    assert np.isnan(read.shrinkage).all()
    assert np.isfinite(read.coefficients).all()


def test_a_model_without_features():
    X, y, _ = ss.datasets.make_sparse_logistic(50, 5, 2, 1.0, random_state=0)
    solution = ss.solve(ss.Problem(X, y, mu=10.0))
    for word in ("same", "cv", 100.0):
        empty = estimate(solution, word)
        assert empty.coefficients.size == empty.unpenalised.size == 0
        assert empty.intercept == pytest.approx(solution.intercept, abs=1e-6)


@pytest.mark.parametrize("value", ["best", "", 0.0, -1.0, math.inf, math.nan, None, [1.0], True])
def test_bad_ridges(value):
    with pytest.raises((TypeError, ValueError), match=r"^refit_gamma .*'same' or 'cv'\.$"):
        check_refit_gamma(value)


@pytest.mark.parametrize("value", ["same", "cv", 3, 2.5, np.float32(4.0)])
def test_good_ridges(value):
    assert check_refit_gamma(value) == value


@pytest.mark.parametrize("gamma", [1.0, AUTO_RIDGE, 10.0 * AUTO_RIDGE])
def test_auto_is_never_stronger_than_the_choice(gamma):
    X, y, _ = ss.datasets.make_sparse_logistic(60, 10, 2, 1.0, random_state=0)
    solution = ss.solve(ss.Problem(X, y, k=2, gamma=gamma))
    assert estimate(solution, "auto").gamma == max(gamma, AUTO_RIDGE)
