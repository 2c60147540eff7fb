"""The search: statuses that mean what they say, honest bounds, the same answer on every road."""

from __future__ import annotations

import gc
import io
import math
import re
import signal
import threading
import weakref

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.special import expit

import safescreen as ss
from problems import plain, synthetic, thin_data
from safescreen import kernels
from safescreen.design import Design
from safescreen.incumbents import polish
from safescreen.relaxation import restricted_for_search, solve_root
from safescreen.testing.hard_problems import hard_problem
from safescreen.testing.reference import brute_force

STATUSES = {"optimal", "time_limit", "node_limit", "interrupted", "numerical_limit"}


MEDIUM = {
    "budget": (60, 40, 1.0, {"k": 6, "gamma": 100.0}),
    "thousands of nodes": (60, 40, 0.5, {"k": 8, "gamma": 300.0}),
    "price": (50, 40, 0.5, {"mu": 0.01, "gamma": 100.0}),
    "both": (80, 60, 0.5, {"mu": 0.005, "k": 6, "gamma": 50.0}),
    "intercept": (60, 50, 0.5, {"k": 5, "gamma": 100.0, "fit_intercept": True, "standardize": True}),
    "wide": (80, 700, 1.0, {"mu": 0.01, "gamma": 10.0}),
}


@pytest.fixture(params=MEDIUM)
def medium(request) -> ss.Problem:
    m, n, snr, options = MEDIUM[request.param]
    return synthetic(m, n, snr, **options)


def check(problem: ss.Problem, solution: ss.Solution, rel_gap: float = 1e-4) -> None:
    """What holds for every solution, whatever ended the search."""
    assert solution.status in STATUSES
    assert solution.objective == problem.objective(solution.coef, solution.intercept)
    assert solution.lower_bound <= solution.objective
    assert solution.gap == (solution.objective - solution.lower_bound) / abs(solution.objective)
    assert (solution.gap <= rel_gap) == (solution.status == "optimal")
    assert np.isin(np.flatnonzero(solution.coef), solution.support).all()
    assert np.isin(problem.include, solution.support).all()
    assert not problem.excluded[solution.support].any()
    assert solution.support.size <= problem.k
    assert np.array_equal(solution.support, np.unique(solution.support))
    assert solution.seconds >= 0.0
    check_trace(solution)


def check_trace(solution: ss.Solution) -> None:
    """Bounds only get better, nodes and seconds only grow, and the end is the solution."""
    assert solution.trace
    seconds, nodes, lower, upper = (np.array(values) for values in zip(*solution.trace, strict=True))
    assert (np.diff(seconds) >= 0.0).all()
    assert (np.diff(nodes) >= 0).all()
    assert (np.diff(lower) >= 0.0).all()
    assert (np.diff(upper) <= 0.0).all()
    assert (lower <= upper).all()
    last = solution.trace[-1]
    assert (last.nodes, last.lower_bound, last.upper_bound) == (
        solution.nodes,
        solution.lower_bound,
        solution.objective,
    )
    assert last.seconds <= solution.seconds


def same(first: ss.Solution, second: ss.Solution, tolerance: float = 1e-12) -> None:
    assert first.objective == pytest.approx(second.objective, rel=tolerance)


# -- optimal ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rel_gap", [1e-2, 1e-4, 1e-7])
def test_optimal(medium, rel_gap):
    solution = ss.solve(medium, rel_gap=rel_gap)
    check(medium, solution, rel_gap)
    assert solution.status == "optimal"


def test_coefficients_are_stationary_on_the_support(medium):
    solution = ss.solve(medium)
    A = medium.design.columns(solution.support)
    x = solution.coef[solution.support] * medium.design.scales[solution.support]
    b = solution.intercept + float(solution.coef @ medium.design.means)
    alpha = medium.weights * medium.y * expit(-medium.y * (A @ x + b))
    assert np.abs(2.0 * x / medium.gamma - A.T @ alpha).max() < 1e-9
    if medium.fit_intercept:
        assert abs(alpha.sum()) < 1e-9


@pytest.mark.parametrize("setting", ["none", "root", "nodes"])
def test_screening_settings_agree(medium, setting):
    solution = ss.solve(medium, rel_gap=1e-7, screening=setting)
    check(medium, solution, 1e-7)
    same(solution, ss.solve(medium, rel_gap=1e-7), 1e-7)
    assert (solution.screening is None) == (setting == "none")


def test_screening_in_the_solution_belongs_to_the_final_model(bushy):
    solution = ss.solve(bushy, rel_gap=1e-7)
    assert solution.screening.upper_bound == solution.objective
    assert not np.intersect1d(solution.screening.excluded, solution.support).size
    assert np.isin(solution.screening.included, solution.support).all()


def test_no_gap_at_all_is_either_reached_or_said_not_to_be(bushy):
    solution = ss.solve(bushy, rel_gap=0.0)
    check(bushy, solution, 0.0)
    assert solution.status in ("optimal", "numerical_limit")
    assert solution.gap < 1e-9


@pytest.mark.parametrize("seed", [390, *range(60)])
def test_lower_bound_is_safe_whatever_the_first_model(monkeypatch, seed):
    """A poor first model and a gap just below its own make a small tree; the bound must hold all the same."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 6))
    y = np.where(X[:, :4].sum(axis=1) + rng.logistic(size=30) > 0.0, 1, -1)
    terms = [{"k": 2}, {"mu": 0.03}, {"k": 3, "mu": 0.01}][seed % 3]
    problem = plain(X, y, gamma=float(10.0 ** rng.uniform(0.0, 2.0)), **terms)
    truth = brute_force(problem)
    ranking = sorted(truth.table, key=truth.table.__getitem__)
    kernels.warm_up()
    root = solve_root(problem)
    poor = polish(problem, np.array(ranking[rng.integers(1, 6)], dtype=np.int64), np.zeros(6), 0.0)
    monkeypatch.setattr("safescreen.search.solving.first_incumbent", lambda *args, **options: poor)
    monkeypatch.setattr("safescreen.search.improving.improve", lambda problem, model, *args, **options: model)
    gap = (poor.objective - root.bound.value) / poor.objective
    for fraction in (0.1, 0.5, 0.9, 0.99, 0.999):
        solution = ss.solve(problem, rel_gap=gap * fraction)
        assert solution.lower_bound <= truth.value * (1.0 + 1e-12)
        assert solution.objective <= truth.value / (1.0 - gap * fraction) * (1.0 + 1e-9)
        assert solution.status == "optimal"


@pytest.mark.parametrize("rel_gap", [0.3, 0.03, 1e-3])
def test_lower_bound_is_safe_at_every_requested_gap(rel_gap):
    for seed in range(500, 530):
        problem = hard_problem(seed).problem()
        solution = ss.solve(problem, rel_gap=rel_gap)
        optimum = brute_force(problem).value
        assert solution.lower_bound <= optimum * (1.0 + 1e-13)
        assert optimum * (1.0 - 1e-13) <= solution.objective


# -- limits ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0, 1, 5, 50])
def test_node_limit(bushy, limit):
    solution = ss.solve(bushy, node_limit=limit)
    check(bushy, solution)
    assert solution.status == "node_limit"
    assert solution.nodes == limit
    assert solution.lower_bound <= ss.solve(bushy).objective


def test_node_limit_with_two_threads(endless):
    solution = ss.solve(endless, node_limit=500, n_threads=2)
    check(endless, solution)
    assert solution.status == "node_limit"
    assert 500 <= solution.nodes <= 501


def test_node_limit_holds_while_the_store_grows(monkeypatch):
    m, n, snr, options = MEDIUM["thousands of nodes"]
    problem = synthetic(m, n, snr, **options)
    monkeypatch.setattr("safescreen.search.workers.NODE_SLOTS", 4)
    solution = ss.solve(problem, node_limit=300)
    check(problem, solution)
    assert solution.nodes == 300


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_growing_store_changes_nothing(monkeypatch, n_threads):
    m, n, snr, options = MEDIUM["thousands of nodes"]
    problem = synthetic(m, n, snr, **options)
    roomy = ss.solve(problem)
    monkeypatch.setattr("safescreen.search.workers.NODE_SLOTS", 4)
    tight = ss.solve(problem, n_threads=n_threads)
    check(problem, tight)
    assert tight.status == "optimal"
    same(tight, roomy, 1e-4)
    if n_threads == 1:
        assert np.array_equal(tight.coef, roomy.coef)


def test_more_nodes_never_weaken_the_bounds(bushy):
    lower, upper = [], []
    for limit in (0, 1, 2, 4, 8, 16, 32, 64, 128):
        solution = ss.solve(bushy, node_limit=limit)
        check(bushy, solution)
        lower.append(solution.lower_bound)
        upper.append(solution.objective)
    assert lower == sorted(lower)
    assert upper == sorted(upper, reverse=True)
    assert lower[-1] > lower[0]


@pytest.mark.parametrize("limit", [0, 0.0, 1e-9, 0.05, np.float32(0.01)])
def test_time_limit(endless, limit):
    solution = ss.solve(endless, time_limit=limit)
    check(endless, solution)
    assert solution.status == "time_limit"
    if limit == 0:
        assert solution.nodes == 0


def test_limits_that_are_not_hit(bushy):
    solution = ss.solve(bushy, time_limit=math.inf, node_limit=10**9)
    assert solution.status == "optimal"


# -- callback, threads, progress -------------------------------------------------------------------------


def test_callback_sees_the_trace(bushy):
    seen = []
    solution = ss.solve(bushy, callback=seen.append)
    assert solution.status == "optimal"
    assert [(moment.nodes, moment.lower_bound, moment.upper_bound) for moment in seen] == [
        point[1:] for point in solution.trace
    ]
    for moment in seen:
        assert moment.gap == (moment.upper_bound - moment.lower_bound) / moment.upper_bound
        assert 0 <= moment.features <= bushy.k
        assert moment.open_nodes >= 0


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("calls", [1, 2, 4])
def test_callback_ends_the_search(endless, calls, n_threads):
    seen = []

    def callback(moment):
        seen.append(moment)
        return len(seen) >= calls

    solution = ss.solve(endless, callback=callback, n_threads=n_threads, time_limit=60.0)
    check(endless, solution)
    assert solution.status == "interrupted"
    assert len(seen) == calls


def test_callback_may_return_anything_false(bushy):
    assert ss.solve(bushy, callback=lambda moment: 0).status == "optimal"


def test_errors_of_a_callback_come_through(endless):
    def callback(moment):
        raise RuntimeError("stop here")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(RuntimeError, match="stop here"):
        ss.solve(endless, callback=callback, time_limit=60.0)
    assert signal.getsignal(signal.SIGINT) is before


def test_solving_outside_the_main_thread(bushy):
    found = []
    thread = threading.Thread(target=lambda: found.append(ss.solve(bushy)))
    thread.start()
    thread.join()
    check(bushy, found[0])
    same(found[0], ss.solve(bushy))


def test_several_searches_at_once(bushy):
    found = []
    threads = [threading.Thread(target=lambda: found.append(ss.solve(bushy))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    assert all(np.array_equal(solution.coef, found[0].coef) for solution in found)


def test_progress_on_a_terminal(bushy, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", terminal)
    assert ss.solve(bushy, progress=True).status == "optimal"
    assert terminal.getvalue()


def test_searches_and_fits_speak(endless, monkeypatch):
    kernels.warm_up()
    monkeypatch.setattr("safescreen.search.progress.FIRST_AFTER", 0.05)
    monkeypatch.setattr("safescreen.search.progress.THEN_EVERY", 0.05)
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)

    def heard(moment=None):
        return (
            re.search(r"safescreen, \d+ s: \d+ features, (\d+ exchanges? proved, )?gap [\d.]+ %", stream.getvalue())
            is not None
        )

    ss.solve(endless, time_limit=60.0, progress=True, callback=heard)
    assert heard()
    stream.truncate(0)
    X, y, _ = ss.datasets.make_sparse_logistic(100, 400, 10, 0.5, random_state=0)
    with pytest.warns(ss.EndedEarlyWarning):
        ss.L0LogisticRegression(k=20, gamma=1e4, time_limit=60.0, verbose=1, callback=heard).fit(X, y)
    assert heard()
    stream.truncate(0)
    ss.l0_path(endless, k=[19, 20], time_limit=1.0, progress=True)
    assert "k = 20 (2 of 2): " in stream.getvalue()


# -- the same answer on every road -----------------------------------------------------------------------


def test_one_thread_is_deterministic(medium):
    first, second = ss.solve(medium), ss.solve(medium)
    assert np.array_equal(first.coef, second.coef)
    assert first.intercept == second.intercept
    assert first.nodes == second.nodes
    assert [point[1:] for point in first.trace] == [point[1:] for point in second.trace]


@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads_give_the_same_objective(medium, n_threads):
    alone = ss.solve(medium)
    together = ss.solve(medium, n_threads=n_threads)
    check(medium, together)
    assert together.status == "optimal"
    same(alone, together, 1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_threads_on_trees_of_thousands_of_nodes(seed):
    problem = synthetic(60, 48, 0.5, seed, k=8, gamma=1000.0)
    alone = ss.solve(problem, rel_gap=1e-6)
    together = ss.solve(problem, rel_gap=1e-6, n_threads=2)
    check(problem, alone, 1e-6)
    check(problem, together, 1e-6)
    assert alone.status == together.status == "optimal"
    assert alone.nodes > 1000
    same(alone, together, 1e-6)


@pytest.mark.parametrize("standardize", [False, True])
def test_storage_does_not_matter(standardize):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 40)) * (rng.random((60, 40)) < 0.4)
    y = np.where(X[:, :5].sum(axis=1) + 0.5 * rng.logistic(size=60) > 0.0, 1, -1)
    forms = [X, np.asfortranarray(X), X.tolist(), np.repeat(X, 2, axis=1)[:, ::2]]
    forms += [sparse.coo_array(X).asformat(name) for name in ("csr", "csc", "coo", "lil", "dok")]
    forms += [sparse.csr_matrix(X)]
    options = {"k": 5, "gamma": 30.0, "standardize": standardize, "fit_intercept": True}
    solutions = [ss.solve(ss.Problem(form, y, **options), rel_gap=1e-7) for form in forms]
    for form, solution in zip(forms, solutions, strict=True):
        check(ss.Problem(form, y, **options), solution, 1e-7)
        same(solution, solutions[0])
        assert np.array_equal(solution.support, solutions[0].support)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.bool_])
def test_dtype_does_not_matter(dtype):
    rng = np.random.default_rng(1)
    X = (3.0 * rng.standard_normal((60, 30))).astype(dtype)
    score = rng.logistic(size=60) + 2.0 * X[:, :4].astype(float).sum(axis=1)
    y = np.where(score > np.median(score), 1, -1)
    narrow = ss.solve(plain(X, y, k=4, gamma=10.0), rel_gap=1e-7)
    wide = ss.solve(plain(X.astype(np.float64), y, k=4, gamma=10.0), rel_gap=1e-7)
    same(narrow, wide)
    assert np.array_equal(narrow.support, wide.support)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_names_of_the_chosen_features(frame):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((80, 5))
    y = X[:, 1] + X[:, 3] > 0.0
    data = frame({name: X[:, j] for j, name in enumerate(["age", "dose", "height", "pulse", "weight"])})
    solution = ss.solve(plain(data, y, k=2))
    assert solution.feature_names == ["dose", "pulse"]
    assert ss.solve(plain(X, y, k=2)).feature_names == ["x1", "x3"]


@pytest.mark.parametrize("options", [{"k": 4}, {"k": 4, "standardize": True}, {"mu": 0.01, "fit_intercept": True}])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_compressed_columns_give_the_same_search(monkeypatch, options, n_threads):
    """Held sparse or dense in the search, the columns are the same."""
    X, y = thin_data(100, 3000, 0.02)
    problem = plain(X, y, gamma=100.0, **options)
    found = {}
    for limit in (1, 1 << 40):
        monkeypatch.setattr("safescreen.design.base.DENSE_BYTES", limit)
        found[limit] = ss.solve(problem, node_limit=60, screening="none", n_threads=n_threads)
        check(problem, found[limit])
    same(found[1], found[1 << 40], 1e-3)
    assert found[1].lower_bound <= found[1 << 40].objective
    assert found[1 << 40].lower_bound <= found[1].objective
    close = 1e-3 if n_threads == 1 else 2e-2  # threads divide the few nodes up as it comes
    assert found[1].lower_bound == pytest.approx(found[1 << 40].lower_bound, rel=close)


def test_compressed_columns_reach_the_optimum(monkeypatch):
    X, y = thin_data(100, 3000, 0.02)
    problem = plain(X, y, gamma=20.0, k=3)
    dense = ss.solve(problem, rel_gap=1e-6)
    monkeypatch.setattr("safescreen.design.base.DENSE_BYTES", 1)
    compressed = ss.solve(problem, rel_gap=1e-6, screening="none")
    check(problem, compressed, 1e-6)
    assert compressed.status == "optimal"
    same(dense, compressed, 1e-6)


def test_a_wide_sparse_matrix_stays_compressed(monkeypatch):
    X, y = thin_data(500, 30_000, 0.003)
    problem = plain(X, y, gamma=100.0, k=5)
    root = solve_root(problem)
    columns = restricted_for_search(problem, np.arange(30_000), 1 * (root.x != 0.0), 30_000).columns
    assert columns.values.size == X.nnz
    assert columns.in_use[0] < 3_000
    compressed = ss.solve(problem, node_limit=15, screening="none")
    check(problem, compressed)
    monkeypatch.setattr("safescreen.design.base.DENSE_BYTES", 1 << 40)
    dense = ss.solve(problem, node_limit=15, screening="none")
    same(compressed, dense, 1e-9)
    assert compressed.lower_bound == pytest.approx(dense.lower_bound, rel=1e-3)


@pytest.mark.parametrize("seed", range(6, 9))
def test_running_out_of_dense_rows_does_no_harm(monkeypatch, seed):
    """Compressed columns get a dense row when they matter; with few rows left the answer must not change."""
    plenty = Design.search_columns

    def starved(*args):
        columns = plenty(*args)
        return columns._replace(dense=columns.dense[: int(columns.in_use[0]) + 1].copy())

    X, y = thin_data(60, 1500, 0.03, seed)
    problem = plain(X, y, gamma=100.0, k=4)
    dense = ss.solve(problem, rel_gap=1e-5)
    monkeypatch.setattr("safescreen.design.base.DENSE_BYTES", 1)
    monkeypatch.setattr(Design, "search_columns", starved)
    solution = ss.solve(problem, rel_gap=1e-5, node_limit=1500)
    check(problem, solution, 1e-5)
    assert solution.lower_bound <= dense.objective
    assert dense.lower_bound <= solution.objective
    assert solution.status in ("optimal", "node_limit")


# -- warm starts -----------------------------------------------------------------------------------------


def test_warm_start_from_a_solution(medium):
    cold = ss.solve(medium, rel_gap=1e-6)
    warm = ss.solve(medium, rel_gap=1e-6, warm_start=cold)
    check(medium, warm, 1e-6)
    same(warm, cold, 1e-6)
    stopped = ss.solve(medium, node_limit=0, warm_start=cold)
    assert stopped.objective <= cold.objective * (1.0 + 1e-12)


def test_warm_start_from_an_array(endless):
    rng = np.random.default_rng(3)
    for start in (
        np.zeros(400),
        rng.standard_normal(400),
        1e8 * rng.standard_normal(400),
        [0.0] * 399 + [1.0],
    ):
        solution = ss.solve(endless, node_limit=0, warm_start=start)
        check(endless, solution)
        assert solution.objective <= ss.solve(endless, node_limit=0).objective


def test_warm_start_is_used():
    """Where rounding the relaxation misses the optimum, a warm start brings it in without any node."""
    used = 0
    for seed in range(10):
        problem = synthetic(40, 60, 0.5, seed, k=6, gamma=1e3)
        best = ss.solve(problem, rel_gap=1e-3, node_limit=3000)
        cold = ss.solve(problem, node_limit=0)
        warm = ss.solve(problem, node_limit=0, warm_start=best)
        assert warm.objective <= best.objective * (1.0 + 1e-12)
        used += cold.objective > warm.objective * (1.0 + 1e-9)
    assert used


def test_warm_start_respects_the_users_decisions():
    problem = synthetic(60, 20, k=3, gamma=10.0, include=[4], exclude=[0])
    solution = ss.solve(problem, warm_start=np.arange(20.0)[::-1] + 1.0)
    check(problem, solution)
    assert 4 in solution.support
    assert 0 not in solution.support


@pytest.mark.interpreted
@pytest.mark.parametrize("bad", [np.zeros(3), np.zeros((40, 1)), 1.0, np.full(40, np.nan), np.full(40, np.inf)])
def test_bad_warm_starts(bushy, bad):
    words = "contains NaN or infinity, but finite" if np.shape(bad) == (40,) else r"has shape \(.*\), but \(40,\) is"
    with pytest.raises(ValueError, match=f"warm_start {words}"):
        ss.solve(bushy, warm_start=bad)


# -- corners ---------------------------------------------------------------------------------------------


@pytest.mark.interpreted
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"k": 6},
        {"k": 600},
        {"mu": 0.0},
        {"mu": 100.0},
        {"k": 2, "include": [1, 3]},
        {"mu": 0.1, "include": range(6)},
        {"mu": 0.1, "exclude": range(6)},
        {"k": 1, "exclude": range(6)},
        {"k": 1, "exclude": range(1, 6)},
        {"k": 1, "include": [0], "exclude": range(1, 6)},
    ],
    ids=str,
)
def test_corners(options, intercept):
    problem = synthetic(30, 6, 1.0, gamma=3.0, fit_intercept=intercept, **options)
    for setting in ("none", "root", "nodes"):
        solution = ss.solve(problem, rel_gap=1e-9, screening=setting)
        check(problem, solution, 1e-9)
        assert solution.status == "optimal"
        assert solution.objective == pytest.approx(brute_force(problem).value, rel=1e-9)


@pytest.mark.interpreted
@pytest.mark.parametrize("options", [{"k": 1}, {"mu": 0.01}, {"mu": 0.3}, {"mu": 0.01, "k": 1}])
def test_one_feature(options):
    problem = synthetic(30, 1, gamma=3.0, **options)
    solution = ss.solve(problem, rel_gap=1e-9)
    check(problem, solution, 1e-9)
    assert solution.objective == pytest.approx(brute_force(problem).value, rel=1e-9)


@pytest.mark.interpreted
def test_two_samples():
    problem = plain([[1.0, 2.0], [3.0, -1.0]], [0, 1], k=1)
    solution = ss.solve(problem, rel_gap=1e-9)
    check(problem, solution, 1e-9)
    assert solution.objective == pytest.approx(brute_force(problem).value, rel=1e-9)


@pytest.mark.interpreted
def test_only_constant_columns():
    problem = ss.Problem(np.ones((10, 3)), np.arange(10) % 2, k=2, standardize=True, fit_intercept=False)
    solution = ss.solve(problem)
    check(problem, solution)
    assert solution.support.size == 0
    assert solution.objective == pytest.approx(math.log(2.0), rel=1e-12)


def test_solution_in_one_line(bushy):
    text = repr(ss.solve(bushy))
    assert text.startswith("Solution(optimal, 6 features, objective 0.")
    assert "\n" not in text


BAD = {
    "rel_gap": [-1e-9, 1.0, math.nan, math.inf, "small", None],
    "time_limit": [-1.0, math.nan, "long"],
    "node_limit": [-1, 1.5, True, "many"],
    "screening": ["all", None, True, ""],
    "n_threads": [0, -1, 1.5, True, None],
    "proof": ["no/such/folder/proof.npz", ".", 3],
}


@pytest.mark.interpreted
@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_bad_settings_are_named(bushy, name, value):
    with pytest.raises((ValueError, TypeError), match=f"^{name} is .*, but .*[.]$") as raised:
        ss.solve(bushy, **{name: value})
    assert raised.value.argument == name


@pytest.mark.interpreted
@pytest.mark.parametrize("function", [ss.solve, ss.screen, ss.relax])
def test_something_else_than_a_problem(function):
    with pytest.raises(TypeError, match="problem is a ndarray, but must be a Problem"):
        function(np.zeros((3, 2)))


def test_hard_nodes_do_not_keep_the_search_from_looking_at_the_clock():
    """Raw products of measurements span ten orders of magnitude: a node takes hundreds of rounds."""
    X, y, _ = ss.datasets.load_breast_cancer_interactions()
    seen = []

    def stop(moment):
        seen.append(moment.nodes)
        return moment.nodes > 0

    solution = ss.solve(ss.Problem(X, y, k=5, gamma=10.0, fit_intercept=True, standardize=False), callback=stop)
    assert solution.status == "interrupted"
    assert 0 < seen[-1] < 30


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", [404490, 453661, 528185])
@pytest.mark.parametrize("screening", ["nodes", "root", "none"])
def test_no_column_may_be_left(seed, screening, tmp_path):
    """The empty model is nearly optimal, and the root rules out every feature of a better one."""
    hard, path = hard_problem(seed), tmp_path / "proof.npz"
    for rel_gap in (1e-2, 1e-9):
        solution = ss.solve(hard.problem(), rel_gap=rel_gap, screening=screening, proof=path)
        assert solution.support.size == 0
        assert solution.status == "optimal"
        assert ss.verify(path, hard.kwargs["X"], hard.kwargs["y"]).valid


@pytest.mark.parametrize("seed", [2020, 10490])
def test_supports_whose_fit_needs_a_model_that_never_overshoots(seed):
    """Scales from 1e-6 to 1e6, and labels that are nearly separated."""
    problem = hard_problem(seed).problem()
    solution = ss.solve(problem, rel_gap=1e-9)
    assert solution.status == "optimal"
    assert solution.objective == pytest.approx(brute_force(problem).value, rel=1e-9)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_problem_is_gone_with_its_last_reference(n_threads):
    """Large data must not wait for the garbage collector."""
    gc.disable()
    try:
        problem = synthetic(60, 40, k=6, gamma=100.0)
        design = weakref.ref(problem.design)
        solution = ss.solve(problem, n_threads=n_threads)
        assert solution.nodes > 10
        del problem, solution
        assert design() is None
    finally:
        gc.enable()
