"""Columns that double precision cannot cope with: the search ends, its bounds hold, and its model is of some use."""

from __future__ import annotations

import math

import numpy as np
import pytest

import safescreen as ss
from safescreen.incumbents import polish


def time_stamps(samples, seed, size=1.7e18, spread=1e-15):
    """Nanoseconds since 1970, within a second, beside two ordinary columns."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([size * (1.0 + spread * rng.standard_normal(samples)), rng.standard_normal((samples, 2))])
    y = np.where(X[:, 0] / size - 1.0 + spread * rng.standard_normal(samples) > 0.0, 1, -1)
    y[:2] = 1, -1
    return X, y


def without_coefficients(problem):
    """The objective of the model with the user's features only, all coefficients zero."""
    share = float(problem.weights[problem.y > 0.0].sum())
    intercept = math.log(share / (1.0 - share)) if problem.fit_intercept else 0.0
    return problem.objective(np.zeros(problem.n_features), intercept)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("include", [[], [0]])
def test_no_model_is_worse_than_one_without_coefficients(include, standardize):
    for seed in range(3):
        X, y = time_stamps(8, seed)
        problem = ss.Problem(X, y, k=2, gamma=100.0, include=include, standardize=standardize, fit_intercept=False)
        solution = ss.solve(problem)
        assert solution.objective <= without_coefficients(problem)
        assert set(include) <= set(solution.support.tolist())
        assert solution.objective == problem.objective(solution.coef, solution.intercept)


def test_a_fit_that_is_worse_than_none_is_dropped():
    X, y = time_stamps(8, 0)
    problem = ss.Problem(X, y, k=1, gamma=100.0, standardize=True, fit_intercept=False)
    model = polish(problem, np.array([0]), np.array([1.0, 0.0, 0.0]), 0.0)
    assert model.support.size == 0
    assert model.objective == pytest.approx(math.log(2.0))


def test_the_users_features_alone_are_tried(monkeypatch):
    """A price makes the rounded relaxation worse than the features the user wants anyway."""
    X, y, _ = ss.datasets.make_sparse_logistic(60, 12, 3, 1.0, random_state=0)
    problem = ss.Problem(X, y, mu=0.02, gamma=30.0, include=[0], standardize=True, fit_intercept=True)
    alone = polish(problem, np.array([0]), np.zeros(12), 0.0)
    poor = polish(problem, np.arange(12), np.zeros(12), 0.0)
    assert poor.objective > alone.objective
    monkeypatch.setattr("safescreen.search.solving.first_incumbent", lambda *arguments: poor)
    assert ss.solve(problem, node_limit=0).objective <= alone.objective * (1.0 + 1e-12)
