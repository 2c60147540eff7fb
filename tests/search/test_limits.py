"""Limits hold in every phase: what is reached by then is returned, with an honest gap."""

from __future__ import annotations

import threading
import time
import warnings

import numpy as np
import pytest
from scipy import sparse

import safescreen as ss
from safescreen import expiry
from safescreen.design import base, dense
from safescreen.design import sparse as sparse_design
from safescreen.incumbents import Refitter, first_incumbent, improve, polish_in_time, without_features
from safescreen.relaxation import solve_root, trivial_bound


@pytest.fixture(params=["dense", "sparse"])
def problem(request):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 40)) * (rng.random((300, 40)) < 0.3)
    y = np.where(X[:, :3].sum(axis=1) + rng.logistic(size=300) > 0.0, "yes", "no")
    X = sparse.csc_array(X) if request.param == "sparse" else X
    return ss.Problem(X, y, mu=1e-3, k=5, gamma=10.0, include=[7])


def looks(number):
    """Time that is up after so many looks."""
    left = iter(range(number))
    return lambda: next(left, None) is None


@pytest.mark.parametrize("gone", [-1.0, 1.0])
def test_no_time_at_all(problem, gone, monkeypatch, tmp_path):
    monkeypatch.setattr(expiry, "GRACE_SECONDS", gone)
    path = tmp_path / "early.proof"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solution = ss.solve(problem, time_limit=1e-9, proof=path)
    assert solution.status == "time_limit"
    assert solution.nodes == 0
    assert 0.0 < solution.lower_bound < solution.objective
    assert solution.objective == problem.objective(solution.coef, solution.intercept)
    assert solution.objective <= without_features(problem).objective
    if gone < 0.0:
        assert solution.support.tolist() == [7]
        assert solution.lower_bound == pytest.approx(problem.mu)
        assert [one.category for one in caught] == [ss.ProofNotWrittenWarning]
        assert "time was up before every column had been looked at" in str(caught[0].message)
        assert not path.exists()
    else:
        X = problem.design._X if problem.design.form == "dense" else problem.design._transposed.T
        assert not caught
        assert ss.verify(path, X, np.where(problem.y > 0, "yes", "no")).valid
    best = ss.solve(problem)
    assert solution.lower_bound <= best.objective <= solution.objective


def test_time_may_be_up_at_any_look(problem, monkeypatch):
    monkeypatch.setattr(expiry, "GRACE_SECONDS", -1.0)
    best = ss.solve(problem)
    simple, trivial = without_features(problem).objective, trivial_bound(problem)
    bounds = []
    for number in range(200):
        fresh = ss.Problem.__new__(ss.Problem)
        vars(fresh).update(vars(problem) | {"design": copy_of(problem)})
        expired = looks(number)
        with expiry.expiring(expired):
            root = solve_root(fresh)
            model = first_incumbent(fresh, root, expiry.is_over)
            done = not expiry.is_over()
            model = improve(fresh, model, root, expiry.is_over)
        assert trivial <= root.bound.value <= best.objective
        assert best.lower_bound * (1.0 - 1e-12) <= model.objective <= simple
        bounds.append(root.bound.value)
        if done:
            break
    assert done
    assert number > 5
    assert bounds[0] == trivial < bounds[-1]


def test_a_fit_that_is_halted_leaves_time_to_evaluate_it(problem, monkeypatch):
    """Else a search that is ended in a large fit would return no feature at all."""
    now, fit = [0.0], Refitter.fit

    def fit_until_halted(*args):
        while not expiry.is_over():
            now[0] += 0.01
        return fit(*args)

    monkeypatch.setattr(base, "SMALL_ENTRIES", 0)
    monkeypatch.setattr(expiry, "perf_counter", lambda: now[0])
    monkeypatch.setattr(Refitter, "fit", fit_until_halted)
    with expiry.expiring(lambda: True):
        model = polish_in_time(problem, np.array([0, 1, 7]), np.zeros(40), 0.0)
    assert now[0] < expiry.GRACE_SECONDS
    assert model is not None
    assert model.support.tolist() == [0, 1, 7]


def test_what_has_no_pieces_is_left_to_itself():
    go_on = threading.Event()
    with expiry.expiring(lambda: True), pytest.raises(expiry.ExpiredError):
        expiry.aside(go_on.wait)
    go_on.set()
    with expiry.expiring(lambda: False):
        assert expiry.aside(lambda: 7) == 7
        with pytest.raises(ZeroDivisionError):
            expiry.aside(lambda: 1 / 0)


def test_a_large_sparse_matrix_is_converted_aside(monkeypatch):
    X = sparse.random_array((50, 30), density=0.3, random_state=np.random.default_rng(0), format="csr")
    y = np.arange(50) % 2
    expected = ss.Problem(X, y, k=2).design.matrix
    converted = []
    monkeypatch.setattr(sparse_design, "CONVERTED_ENTRIES", 10)
    monkeypatch.setattr(sparse_design, "aside", lambda function: converted.append(1) or expiry.aside(function))
    found = ss.Problem(X, y, k=2).design.matrix
    assert converted == [1]
    assert (found != expected).nnz == 0


def copy_of(problem):
    """The matrix with nothing computed yet."""
    design = problem.design
    if design.form == "sparse":
        return type(design)(design._transposed.T, problem.weights, problem.standardize)
    return type(design)(design._X, problem.weights, problem.standardize)


@pytest.mark.parametrize("order", ["C", "F"])
def test_long_products_go_in_pieces(order, monkeypatch):
    rng = np.random.default_rng(0)
    X = np.asarray(rng.standard_normal((50, 8)), order=order)
    factors = rng.standard_normal(50)
    design = dense.DenseDesign(X, np.full(50, 0.02))
    whole = design.correlations(factors)
    monkeypatch.setattr(dense, "PASS_ENTRIES", 100)
    assert design.correlations(factors) == pytest.approx(whole, rel=1e-13)
    with expiry.expiring(looks(2)), pytest.raises(expiry.ExpiredError):
        design.correlations(factors)


def test_a_large_root_ends_in_time():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 300))
    y = np.where(X[:, :40] @ rng.standard_normal(40) + rng.logistic(size=60_000) > 0.0, 1, -1)
    problem, begin = ss.Problem(X, y, k=100, gamma=1e4), time.process_time()
    solution = ss.solve(problem, time_limit=0.1)
    at_work = time.process_time() - begin  # where others keep the machine busy, that is less
    assert solution.status == "time_limit"
    assert min(solution.seconds, at_work) < 4.0
    assert solution.gap > 0.0
