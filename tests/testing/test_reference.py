"""The reference against itself, scikit-learn and SciPy: what judges the solver must be beyond doubt."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from safescreen.problem import Problem
from safescreen.testing.hard_problems import hard_problem
from safescreen.testing.reference import admissible_supports, brute_force, fit_support, support_bound


def data(seed: int, m: int = 40, n: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n))
    y = np.where(A[:, 0] + rng.logistic(size=m) > 0.0, 1.0, -1.0)
    w = rng.random(m)
    return A, y, w / w.sum()


def objective(A, y, w, gamma, x, b):
    return float(w @ np.logaddexp(0.0, -y * (A @ x + b)) + x @ x / gamma)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("gamma", [1e-2, 1.0, 1e3])
def test_fit_agrees_with_scikit_learn(gamma, intercept):
    A, y, w = data(1)
    fit = fit_support(A, y, w, gamma, intercept)
    # scikit-learn minimises ½‖x‖² + C Σ w loss, so C = γ/2 gives the same model
    model = LogisticRegression(C=gamma / 2.0, fit_intercept=intercept, tol=1e-12, max_iter=10_000)
    model.fit(A, y, sample_weight=w)
    np.testing.assert_allclose(fit.x, model.coef_[0], atol=1e-6)
    b = float(model.intercept_[0]) if intercept else 0.0
    assert fit.value <= objective(A, y, w, gamma, model.coef_[0], b) + 1e-15


@pytest.mark.parametrize("seed", range(5))
def test_fit_agrees_with_scipy(seed):
    A, y, w = data(seed)
    fit = fit_support(A, y, w, 10.0, True)

    def penalised(u):
        return objective(A, y, w, 10.0, u[:-1], u[-1])

    assert fit.value == pytest.approx(minimize(penalised, np.zeros(6), tol=1e-14).fun, rel=1e-9)
    assert fit.value == pytest.approx(objective(A, y, w, 10.0, fit.x, fit.b), rel=1e-14)


def awkward(seed: int):
    """Separable, duplicated and badly scaled columns under a weak ridge, weights with zeros."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(4, 60)), int(rng.integers(1, 8))
    A = rng.standard_normal((m, n)) * 10.0 ** rng.uniform(-6.0, 6.0, n)
    A[:, -1] = A[:, 0]
    y = np.where(A[:, 0] > np.median(A[:, 0]), 1.0, -1.0)
    if seed % 2:
        y = np.where(rng.random(m) < 0.5, 1.0, -1.0)
        y[:2] = (1.0, -1.0)
    w = rng.random(m)
    w[2:] *= rng.random(m - 2) < 0.8
    w[[int(np.argmax(y)), int(np.argmin(y))]] += 0.1
    return A, y, w / w.sum(), float(10.0 ** rng.uniform(-2.0, 6.0)), bool(rng.random() < 0.5)


@pytest.mark.parametrize("seed", range(60))
def test_fit_is_certified_by_its_own_dual_bound(seed):
    A, y, w, gamma, intercept = awkward(seed)
    fit = fit_support(A, y, w, gamma, intercept)
    bound = support_bound(A, y, w, gamma, intercept, fit.x, fit.b)
    assert abs(fit.value - bound) <= 1e-13 * fit.value


@pytest.mark.parametrize("seed", range(20))
def test_dual_bound_holds_at_any_point(seed):
    A, y, w, gamma, intercept = awkward(seed)
    value = fit_support(A, y, w, gamma, intercept).value
    rng = np.random.default_rng(seed)
    for _ in range(20):
        x = rng.standard_normal(A.shape[1]) / np.maximum(np.abs(A).max(axis=0), 1e-9)
        b = float(rng.standard_normal()) if intercept else 0.0
        assert support_bound(A, y, w, gamma, intercept, x, b) <= value * (1.0 + 1e-13)


def test_empty_support():
    _, y, w = data(3)
    nothing = np.empty((len(y), 0))
    assert fit_support(nothing, y, w, 1.0, False).value == pytest.approx(math.log(2.0), rel=1e-15)
    fit = fit_support(nothing, y, w, 1.0, True)
    share = w[y > 0].sum()
    assert fit.b == pytest.approx(math.log(share / (1.0 - share)), rel=1e-12)


def test_supports_respect_budget_decisions_and_constant_columns():
    A, y, _ = data(4, n=6)
    A[:, 5] = 0.0
    supports = admissible_supports(Problem(A, y, k=3, include=[1], exclude=[2], fit_intercept=False, standardize=False))
    assert all(1 in s and 2 not in s and 5 not in s and len(s) <= 3 for s in supports)
    assert len(supports) == len(set(supports)) == 1 + 3 + 3


def test_duplicated_columns_tie():
    A, y, _ = data(5)
    A[:, 1] = A[:, 0]
    result = brute_force(Problem(A, y, k=1, fit_intercept=False, standardize=False))
    assert set(result.supports) == {(0,), (1,)}
    assert set(result.ties(1e-14)) == {(0,), (1,)}


def test_included_features_pay_even_with_a_zero_coefficient():
    A, y, _ = data(6, n=3)
    A[:, 2] = 0.0
    free = brute_force(Problem(A, y, mu=0.01, fit_intercept=False, standardize=False))
    bound = brute_force(Problem(A, y, mu=0.01, include=[2], fit_intercept=False, standardize=False))
    assert bound.value == pytest.approx(free.value + 0.01, rel=1e-14)


def test_best_model_has_the_best_value():
    problem = hard_problem(17).problem()
    result = brute_force(problem)
    coef, intercept = problem.to_data_units(result.best_x, result.best_b)
    assert problem.objective(coef, intercept) == pytest.approx(result.value, rel=1e-12)
    assert result.value == min(result.table.values())


def test_too_many_features_are_refused():
    A, y, _ = data(7, n=13)
    with pytest.raises(ValueError, match="at most 12 features, got 13"):
        brute_force(Problem(A, y, k=2, fit_intercept=False, standardize=False))


def test_hard_problems_are_reproducible_and_varied():
    first, again = hard_problem(42), hard_problem(42)
    assert first.description == again.description
    seen = {trait.split("=")[0] for seed in range(200) for trait in hard_problem(seed).traits}
    assert {
        "separable", "duplicated", "constant", "scaled", "float32", "csr", "csc", "sample_weight",
        "fit_intercept", "standardize", "include", "exclude", "integer",
    } <= seen  # fmt: skip
    assert {hard_problem(seed).kind for seed in range(30)} == {"price", "budget", "both"}
