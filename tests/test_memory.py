"""Searches that would gather more open nodes than memory holds go deep instead, and stay exact."""

from __future__ import annotations

import numpy as np
import pytest

import safescreen as ss
from safescreen import search, workers

FEATURES = 40


@pytest.fixture
def problem():
    """Correlated noise under a weak ridge: best-first search would keep hundreds of nodes open."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, FEATURES)) + rng.standard_normal((60, 1))
    y = np.where(X[:, :4].sum(axis=1) - X[:, 4:8].sum(axis=1) + 4.0 * rng.logistic(size=60) > 0.0, 1, -1)
    return ss.Problem(X, y, k=5, gamma=100.0, fit_intercept=False, standardize=False)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_full_memory_changes_the_order_but_not_the_answer(problem, n_threads, monkeypatch, tmp_path):
    monkeypatch.setattr(search, "_ALLOWANCE", 200_000)  # many looks at the search
    seen = []

    def look(moment):
        seen.append(moment.open_nodes)

    usual = ss.solve(problem, rel_gap=1e-7, n_threads=n_threads, callback=look)
    widest = max(seen)
    seen.clear()
    most = 20
    monkeypatch.setattr(workers, "_most_open", lambda *sizes: most)
    path = tmp_path / "proof.npz"
    narrow = ss.solve(problem, rel_gap=1e-7, n_threads=n_threads, callback=look, proof=path)
    assert narrow.status == usual.status == "optimal"
    assert narrow.objective == pytest.approx(usual.objective, rel=1e-7)
    assert max(seen) <= n_threads * (most + FEATURES) < widest
    assert ss.verify(path, *data(problem)).valid


def test_every_round_makes_progress(problem, monkeypatch):
    """However little may be done between two looks at the clock: less than it takes to load a node."""
    monkeypatch.setattr(search, "_ALLOWANCE", 100)
    solution = ss.solve(problem, rel_gap=1e-4, n_threads=2, node_limit=200, time_limit=60.0)
    assert solution.status == "node_limit"


def data(problem):
    return problem.design.columns(np.arange(problem.n_features)), problem.y


def test_the_limit_counts_all_that_is_stored():
    store = workers.make_store(64, 1000, 50, 7)
    used = sum(array.nbytes for array in store) / 64
    most = workers._most_open(1000, 50, 1)
    assert 0.8 * workers._OPEN_BYTES < most * used <= 1.1 * workers._OPEN_BYTES
    assert workers._most_open(1000, 50, 4) == pytest.approx(most / 4, rel=0.01)
