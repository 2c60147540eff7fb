"""Columns that double precision cannot cope with: the search ends, its bounds hold, and its model is of some use."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import safescreen as ss
from safescreen.incumbents import polish
from safescreen.testing.reference import brute_force


def nearly_constant(sizes, samples, seed, spread):
    """Columns of these sizes whose entries differ by so little that they are nearly collinear; labels at random."""
    rng = np.random.default_rng(seed)
    X = (1.0 + spread * rng.standard_normal((samples, len(sizes)))) * sizes
    y = np.where(rng.random(samples) < 0.5, 1, -1)
    y[:2] = 1, -1
    return X, y


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


TERMS = [{"k": 1}, {"k": 2}, {"mu": 0.01}, {"mu": 0.01, "gamma": 1e8}, {"k": 1, "mu": 0.01}, {"k": 2, "include": [1]}]


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("sizes", [(1e8, 1e60), (1.0, 1e149), (1e100, 1e149), (1e-149, 1e149)])
def test_a_search_ends_whatever_the_columns(sizes, fit_intercept):
    for seed, terms in enumerate(TERMS):
        for samples in (3, 30):
            for spread in (0.0, 1e-9, 1.0):
                X, y = nearly_constant(sizes, samples, seed, spread)
                options = {"fit_intercept": fit_intercept, "standardize": False, "gamma": 100.0}
                problem = ss.Problem(X, y, **(options | terms))
                solution = ss.solve(problem, node_limit=500)
                assert solution.status in ("optimal", "numerical_limit")
                assert math.isfinite(solution.intercept)
                assert np.isfinite(solution.coef).all()
                assert 0.0 <= solution.lower_bound <= solution.objective
                assert solution.objective <= without_coefficients(problem) * (1.0 + 1e-12)
                assert ss.screen(problem).lower_bound >= 0.0
                assert 0.0 <= ss.relax(problem).lower_bound < np.inf


@pytest.mark.parametrize("include", [[], [0]])
@pytest.mark.parametrize("size", [1e17, 1e60, 1e149])
def test_one_hopeless_column_is_no_reason_to_try_all_others(size, include, tmp_path):
    """Where nothing can be proved about models that have it, the search is about the others."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 20))
    X[:, 0] *= size
    y = np.where(rng.random(60) < 0.5, 1, -1)
    y[:2] = 1, -1
    terms = {"mu": 0.01, "gamma": 100.0, "standardize": False, "fit_intercept": False}
    problem = ss.Problem(X, y, **terms, include=include)
    solution = ss.solve(problem, node_limit=10_000, proof=tmp_path / "proof.npz")
    assert solution.status == "numerical_limit"
    assert ss.verify(tmp_path / "proof.npz", X, y).valid
    assert 0.0 <= solution.lower_bound <= solution.objective
    without = ss.solve(ss.Problem(X[:, 1:], y, **terms))
    assert without.status == "optimal"
    if not include:
        assert solution.objective <= without.objective * (1.0 + 1e-3)


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


def test_no_model_is_worse_than_none_even_within_the_gap():
    """A wide gap is reached at the root, by a model that is not worth the price of its features."""
    X, y, _ = ss.datasets.make_sparse_logistic(60, 12, 3, 1.0, random_state=0)
    problem = ss.Problem(X, y, mu=0.02, gamma=0.5)
    poor = polish(problem, np.arange(12), np.zeros(12), 0.0)
    assert poor.objective > without_coefficients(problem)
    solution = ss.solve(problem, rel_gap=0.9, warm_start=poor.x)
    assert solution.objective <= without_coefficients(problem) * (1.0 + 1e-12)


def test_bounds_are_never_below_the_trivial_one():
    X, y = time_stamps(30, 0, spread=1e-9)
    problem = ss.Problem(X, y, mu=0.01, gamma=1e4, include=[0], standardize=False, fit_intercept=True)
    solution = ss.solve(problem, node_limit=0)
    assert solution.root.value < 0.0  # or there is nothing to be seen here
    for lower_bound in (solution.lower_bound, ss.screen(problem).lower_bound, ss.relax(problem).lower_bound):
        assert 0.0099 < lower_bound <= 0.01
    with pytest.raises(ValueError, match=r"at least 0\.01"):
        ss.screen(problem, upper_bound=0.005)


# -- proofs ----------------------------------------------------------------------------------------------


def one_large_column(size, seed, offset=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 5))
    X[:, 0] = size * (X[:, 0] + offset)
    y = np.where(rng.random(30) < 0.5, 1, -1)
    y[:2] = 1, -1
    return X, y


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1.0])
@pytest.mark.parametrize("size", [1e11, 1e12, 1e13, 1.7e18, 1e60, 1e149])
def test_proofs_of_badly_scaled_data_are_accepted(size, offset, fit_intercept, tmp_path):
    for seed in range(4):
        X, y = one_large_column(size, seed, offset)
        problem = ss.Problem(X, y, k=2, gamma=100.0, fit_intercept=fit_intercept, standardize=False)
        solution = ss.solve(problem, proof=tmp_path / "proof.npz")
        check = ss.verify(tmp_path / "proof.npz", X, y)
        assert check.valid, check.reason
        assert 0.0 <= check.lower_bound <= check.objective
        assert check.claims["lower_bound"] <= solution.lower_bound
        if check.claims["status"] == "optimal":
            assert check.gap <= 1e-4 * (1.0 + 1e-6)


def test_claims_are_what_the_checker_finds(tmp_path):
    """A search that shows less than was asked for, but something: no digit of it is given away."""
    X, y = one_large_column(1e12, 1)
    problem = ss.Problem(X, y, k=2, gamma=1e4, include=[0], fit_intercept=False, standardize=False)
    ss.solve(problem, rel_gap=1e-9, proof=tmp_path / "proof.npz")
    check = ss.verify(tmp_path / "proof.npz", X, y)
    assert check.valid, check.reason
    assert check.claims["lower_bound"] == check.lower_bound
    assert 0.1 < check.lower_bound <= brute_force(problem).value
    assert check.claims["status"] == "numerical_limit"


def test_a_proof_may_use_that_no_objective_is_negative(tmp_path):
    X, y = time_stamps(30, 0, spread=1e-9)
    problem = ss.Problem(X, y, mu=0.01, gamma=1e4, include=[0], standardize=False, fit_intercept=True)
    ss.solve(problem, node_limit=0, proof=tmp_path / "proof.npz")
    check = ss.verify(tmp_path / "proof.npz", X, y)
    assert check.valid, check.reason
    assert 0.0099 < check.lower_bound <= 0.01
    assert check.enclosure[0] == check.lower_bound <= check.enclosure[1]


def test_the_trivial_bound_is_no_excuse_for_a_claim(tmp_path):
    X, y = time_stamps(30, 0, spread=1e-9)
    problem = ss.Problem(X, y, mu=0.01, gamma=1e4, include=[0], standardize=False, fit_intercept=True)
    ss.solve(problem, node_limit=0, proof=tmp_path / "proof.npz")
    with np.load(tmp_path / "proof.npz") as proof:
        arrays = dict(proof)
    header = json.loads(bytes(arrays["header"]))
    header["claims"]["lower_bound"] += 1e-4
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(tmp_path / "forged.npz", **arrays)
    assert "lower bound" in ss.verify(tmp_path / "forged.npz", X, y).reason


def test_ordinary_data_need_no_second_look(tmp_path, monkeypatch):
    X, y, _ = ss.datasets.make_sparse_logistic(200, 50, 5, 1.0, random_state=0)
    monkeypatch.setattr("safescreen.search.proof_writer.confirmed", None)
    ss.solve(ss.Problem(X, y, k=4, gamma=1e3), node_limit=50, proof=tmp_path / "proof.npz")
    assert ss.verify(tmp_path / "proof.npz", X, y).valid
