"""Root and local search with room for a few columns at a time find what they find with room for all."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import safescreen as ss
from problems import plain
from safescreen.design import base
from safescreen.incumbents import first_incumbent
from safescreen.incumbents import local_search as local
from safescreen.relaxation import Fixings, bounds, perspective, sharp_bound_at, solve_root
from safescreen.tuning import COUNTED_PART
from safescreen.working_memory import allowed, sharing, within


def data(samples=120, features=60):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((samples, features))
    y = np.where(X[:, :6].sum(axis=1) + 2.0 * rng.logistic(size=samples) > 0.0, 1, -1)
    return X, y


@pytest.mark.parametrize("terms", [{"k": 8, "gamma": 20.0}, {"mu": 2e-3, "gamma": 20.0}, {"k": 5, "include": [50, 51]}])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csc_array])
def test_a_small_block_reaches_the_same_bound(kind, terms, monkeypatch):
    X, y = data()
    problem = plain(kind(X), y, **terms)
    whole = solve_root(problem)
    sizes = []
    block = perspective._Block
    monkeypatch.setattr(perspective, "_Block", lambda *args: sizes.append(args[2].size) or block(*args))
    monkeypatch.setattr(perspective, "LEAST_BLOCK", 2)
    with within(24.5 * 16 * 120 / COUNTED_PART / 1e9):
        assert problem.design.columns_at_a_time == 24
        small = solve_root(problem)
    assert small.bound.value == pytest.approx(whole.bound.value, rel=1e-8)
    assert small.value == pytest.approx(whole.value, rel=1e-8)
    assert max(sizes) <= max(24, np.count_nonzero(whole.x) + 24)


def test_a_tiny_limit_leaves_the_root_a_few_megabytes():
    problem = plain(*data(), k=10, gamma=50.0)
    whole = solve_root(problem)
    with within(1e-9):
        assert problem.design.columns_at_a_time == 0
        assert solve_root(problem).bound.value == pytest.approx(whole.bound.value, rel=1e-8)


def test_a_root_never_holds_more_columns_than_fit(monkeypatch):
    """Its solution has more of them: the bound is weaker then, and as safe."""
    monkeypatch.setattr(perspective, "LEAST_ROOT_BYTES", 0)
    problem = plain(*data(), k=40, gamma=1e3)
    whole = solve_root(problem)
    held = []
    block = perspective._Block
    monkeypatch.setattr(perspective, "_Block", lambda *args: held.append(args[2].size) or block(*args))
    with within(20.5 * 16 * problem.n_samples / COUNTED_PART / 1e9):
        tight = solve_root(problem)
    assert np.count_nonzero(whole.x) > 20
    assert max(held) <= 20
    assert 0.0 < tight.bound.value < whole.bound.value


def test_local_search_gathers_what_fits(monkeypatch):
    problem = plain(*data(), k=6, gamma=100.0)
    root = solve_root(problem)
    best = first_incumbent(problem, root)
    gathered = []
    refitter = local.Refitter
    monkeypatch.setattr(local, "Refitter", lambda *args: gathered.append(args[1].size) or refitter(*args))
    with within(10.5 * 16 * 120 / COUNTED_PART / 1e9):
        found = first_incumbent(problem, root)
    assert gathered
    assert max(gathered) <= 10
    assert best.objective * (1.0 - 1e-9) <= found.objective <= 1.05 * best.objective


def test_exact_sums_take_little_memory_and_few_columns(monkeypatch):
    X, y = data(3_000, 60)
    problem = ss.Problem(X, y, k=30, gamma=100.0)
    root = solve_root(problem, 1e-4)
    fixings = Fixings.given(problem)
    monkeypatch.setattr(base, "EXACT_CHUNK", 3_000)
    tracemalloc.start()
    sharp = sharp_bound_at(problem, fixings, root.bound.dual)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6e6  # all columns at once took more than ten times as much as the matrix of 1.4 MB
    counts = []
    exact = type(problem.design).exact_correlations
    monkeypatch.setattr(
        type(problem.design), "exact_correlations", lambda *args: counts.append(args[1].size) or exact(*args)
    )
    monkeypatch.setattr(bounds, "EXACT_ENTRIES", 15_000)
    fewer = sharp_bound_at(problem, fixings, root.bound.dual)
    assert counts == [5]
    assert root.bound.value * (1.0 - 1e-9) <= fewer.value <= sharp.value * (1.0 + 1e-12)


def test_exact_sums_do_not_depend_on_pieces(monkeypatch):
    X, y = data()
    design = ss.Problem(X, y, k=1).design
    alpha = np.random.default_rng(0).standard_normal(120)
    whole = design.exact_correlations(np.arange(60), alpha)
    monkeypatch.setattr(base, "EXACT_CHUNK", 1)
    for one, other in zip(whole, design.exact_correlations(np.arange(60), alpha), strict=True):
        assert np.array_equal(one, other)


def test_a_limit_holds_while_work_lasts():
    assert allowed(4_000_000) == int(COUNTED_PART * (10**9 + 10**6))
    with within(0.5):
        assert allowed(4_000_000) == int(COUNTED_PART * 5 * 10**8)
        with sharing(0.25):
            assert allowed(4_000_000) == int(COUNTED_PART * 125 * 10**6)
    assert allowed(0) == int(COUNTED_PART * 10**9)


@pytest.mark.parametrize("ask", [ss.solve, ss.screen, ss.relax])
def test_users_may_set_it(ask, monkeypatch):
    problem = plain(*data(), k=5, gamma=20.0)
    seen = []
    design = type(problem.design)
    monkeypatch.setattr(design, "columns_at_a_time", property(lambda self: seen.append(allowed(self.nbytes)) or 30))
    ask(problem, memory_limit=0.002)
    assert set(seen) <= {18 * 10**5, 45 * 10**4}
    assert seen
    for wrong in (0.0, -1.0, np.inf, np.nan, "1 GB", True):
        with pytest.raises((ValueError, TypeError), match=r"memory_limit is .*, but must be None or a finite number"):
            ask(problem, memory_limit=wrong)
