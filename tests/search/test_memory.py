"""Searches that would gather more open nodes than memory holds go deep instead, and stay exact."""

from __future__ import annotations

import numpy as np
import pytest

import safescreen as ss
from problems import data_of, plain
from safescreen.kernels.open_nodes import make_open_nodes
from safescreen.search.workers import most_open
from safescreen.tuning import OPEN_BYTES

FEATURES = 40


@pytest.fixture
def problem():
    """Correlated noise under a weak ridge: best-first search would keep hundreds of nodes open."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, FEATURES)) + rng.standard_normal((60, 1))
    y = np.where(X[:, :4].sum(axis=1) - X[:, 4:8].sum(axis=1) + 4.0 * rng.logistic(size=60) > 0.0, 1, -1)
    return plain(X, y, k=5, gamma=100.0)


def set_allowance(monkeypatch, allowance):
    for module in ("branch_and_bound", "improving"):
        monkeypatch.setattr(f"safescreen.search.{module}.ALLOWANCE", allowance)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_full_memory_changes_the_order_but_not_the_answer(problem, n_threads, monkeypatch, tmp_path):
    set_allowance(monkeypatch, 200_000)  # many looks at the search
    seen = []

    def look(moment):
        seen.append(moment.open_nodes)

    usual = ss.solve(problem, rel_gap=1e-7, n_threads=n_threads, callback=look)
    widest = max(seen)
    seen.clear()
    most = 20
    monkeypatch.setattr("safescreen.search.workers.most_open", lambda *sizes: most)
    path = tmp_path / "proof.npz"
    narrow = ss.solve(problem, rel_gap=1e-7, n_threads=n_threads, callback=look, proof=path)
    assert narrow.status == usual.status == "optimal"
    assert narrow.objective == pytest.approx(usual.objective, rel=1e-7)
    assert max(seen) <= n_threads * (most + FEATURES) < widest
    assert ss.verify(path, *data_of(problem)).valid


def test_every_round_makes_progress(problem, monkeypatch):
    """However little may be done between two looks at the clock: less than it takes to load a node."""
    set_allowance(monkeypatch, 100)
    solution = ss.solve(problem, rel_gap=1e-4, n_threads=2, node_limit=200, time_limit=60.0)
    assert solution.status == "node_limit"


def test_the_limit_counts_all_that_is_stored():
    store = make_open_nodes(64, 1000, 50, 7)
    used = sum(array.nbytes for array in store) / 64
    most = most_open(1000, 50, 1)
    assert 0.8 * OPEN_BYTES < most * used <= 1.1 * OPEN_BYTES
    assert most_open(1000, 50, 4) == pytest.approx(most / 4, rel=0.01)
