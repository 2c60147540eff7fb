"""Threads that exchange nodes all the time: the same answers, whole proofs, and nobody hangs."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from scipy import sparse

import safescreen as ss
from problems import plain
from safescreen.incumbents import first_incumbent
from safescreen.kernels.open_nodes import count_waiting, smallest_bound
from safescreen.relaxation import solve_root
from safescreen.search import threads
from safescreen.search import watch as watch_module
from safescreen.search.branch_and_bound import Search
from safescreen.search.enumeration import Enumeration, Wanted, within_of
from safescreen.search.explorer import Explorer
from safescreen.search.settings import Settings
from safescreen.search.watch import Watch
from safescreen.testing.hard_lists import hard_list, list_failures
from safescreen.testing.reference import brute_force
from safescreen.tuning import LATE_OUTWARD_GAP

COUNTS = [2, 3, 4, 8]


def weak_data(m, n, seed=0):
    """Weak, correlated signal: under a weak ridge a tree of some hundred nodes."""
    rng = np.random.default_rng([seed, m, n])
    X = rng.standard_normal((m, n)) + 0.7 * rng.standard_normal((m, 1))
    y = np.where(X[:, :3].sum(axis=1) - X[:, 3:5].sum(axis=1) + 2.0 * rng.logistic(size=m) > 0.0, 1, -1)
    return X, y


@pytest.fixture
def hectic(monkeypatch):
    """Threads from the start, a look at the search after every few nodes, and nodes given away whenever possible."""
    for module in ("tree_search", "improving"):
        monkeypatch.setattr(f"safescreen.search.{module}.ALLOWANCE", 20_000)
    for name, value in {
        "ALONE_SECONDS": 0.0,
        "SECONDS_WORTH_GIVING": 0.0,
        "SECONDS_OF_A_ROUND": 1e-3,
        "LEVEL_SHARE": 0.0,
        "MOST_LEVELLED": 2,
        "MOST_GIVEN": 3,
    }.items():
        monkeypatch.setattr(threads, name, value)
    moves = {"_give": 0, "_send": 0}
    for name in moves:
        original = getattr(threads.Threads, name)

        def counting(crew, member, others, name=name, original=original):
            moves[name] += 1
            original(crew, member, others)

        monkeypatch.setattr(threads.Threads, name, counting)
    yield moves
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("safescreen-")]


TERMS = {"price": {"mu": 0.01}, "budget": {"k": 4}, "both": {"mu": 0.004, "k": 5}}


@pytest.mark.parametrize("n_threads", COUNTS)
@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("seed", range(3))
def test_the_same_answer_and_a_whole_proof(hectic, seed, terms, n_threads, tmp_path):
    X, y = weak_data(26, 12, seed)
    problem = plain(X, y, gamma=500.0, **TERMS[terms])
    path = tmp_path / "proof.npz"
    screening = ("none", "root", "nodes")[seed]
    solution = ss.solve(problem, rel_gap=1e-6, n_threads=n_threads, screening=screening, proof=path)
    truth = brute_force(problem).value
    assert solution.status == "optimal"
    assert solution.objective == pytest.approx(truth, rel=1.1e-6)
    assert solution.lower_bound <= truth * (1.0 + 1e-13)
    assert solution.gap <= 1e-6
    checked = ss.verify(path, X, y)
    assert checked.valid, checked.reason
    wide = 1.0 - solution.trace[0].lower_bound / solution.trace[0].upper_bound > LATE_OUTWARD_GAP
    assert checked.nodes >= solution.nodes or wide  # a search with a wide gap may begin again, and proves its last tree
    assert [point.nodes for point in solution.trace] == sorted(point.nodes for point in solution.trace)
    assert solution.trace[-1].lower_bound == solution.lower_bound


@pytest.mark.parametrize("n_threads", [2, 5])
def test_nodes_do_move(hectic, n_threads):
    ss.solve(hard_problem(), node_limit=3000, n_threads=n_threads, screening="none")
    assert hectic["_give"] > 0
    assert hectic["_send"] > 0


@pytest.mark.parametrize("n_threads", [2, 4])
def test_columns_held_sparse(hectic, monkeypatch, n_threads, tmp_path):
    """Each worker has columns of its own, copied while nobody writes to them."""
    X, y = weak_data(40, 12, 4)
    X[np.random.default_rng(0).random(X.shape) < 0.7] = 0.0
    monkeypatch.setattr("safescreen.design.base.DENSE_BYTES", 1)
    monkeypatch.setattr("safescreen.search.workers.HOT_FEATURES", 2)
    problem = plain(sparse.csc_array(X), y, k=4, gamma=200.0)
    path = tmp_path / "proof.npz"
    solution = ss.solve(problem, rel_gap=1e-6, n_threads=n_threads, screening="none", proof=path)
    assert solution.objective == pytest.approx(brute_force(problem).value, rel=1.1e-6)
    assert ss.verify(path, X, y).valid


@pytest.mark.parametrize("n_threads", COUNTS)
def test_lists_are_complete(hectic, n_threads):
    found = [text for seed in range(10) for text in list_failures(hard_list(seed), n_threads=n_threads)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("n_threads", COUNTS)
@pytest.mark.parametrize("limit", [0, 1, 7, 60])
def test_node_limits_are_kept(hectic, limit, n_threads, tmp_path):
    X, y = weak_data(30, 20)
    path = tmp_path / "proof.npz"
    problem = plain(X, y, k=5, gamma=1e4)
    solution = ss.solve(problem, node_limit=limit, n_threads=n_threads, proof=path)
    assert solution.status == "node_limit"
    assert solution.nodes == limit
    assert ss.verify(path, X, y).valid


def test_node_limits_count_what_is_explored_between_two_looks(hectic, monkeypatch):
    """The others go on while the thread of the search has something else to do."""
    original = threads.Threads.explore

    def explore_late(*args):
        time.sleep(0.01)
        original(*args)

    monkeypatch.setattr(threads.Threads, "explore", explore_late)
    solution = ss.solve(hard_problem(), node_limit=3000, n_threads=2, screening="none")
    assert solution.nodes == 3000


def hard():
    """More nodes than any test has time for."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 60))
    return X, np.where(rng.random(80) < 0.5, 1, -1)


def hard_problem():
    return plain(*hard(), k=12, gamma=1e4)


@pytest.mark.parametrize("n_threads", [2, 8])
def test_a_time_limit_ends_everybody(hectic, monkeypatch, n_threads, tmp_path):
    path, skipped = tmp_path / "proof.npz", [0.0]
    monkeypatch.setattr(watch_module, "perf_counter", lambda: time.perf_counter() + skipped[0])

    def skip_an_hour(moment):
        skipped[0] = 3600.0 if moment.nodes > 50 else 0.0

    solution = ss.solve(hard_problem(), time_limit=3000.0, callback=skip_an_hour, n_threads=n_threads, proof=path)
    assert solution.status == "time_limit"
    assert solution.nodes > 0
    assert 0.0 < solution.lower_bound < solution.objective
    assert ss.verify(path, *hard()).valid


@pytest.mark.parametrize("stop", [lambda: True, lambda: signal.raise_signal(signal.SIGINT)], ids=["callback", "Ctrl-C"])
def test_users_end_it(hectic, stop):
    solution = ss.solve(hard_problem(), n_threads=3, callback=lambda moment: moment.nodes > 50 and stop())
    assert solution.status == "interrupted"
    assert solution.nodes > 50


def test_what_a_callback_raises_comes_through(hectic):
    def fail(moment):
        if moment.nodes > 50:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        ss.solve(hard_problem(), n_threads=3, callback=fail)


@pytest.mark.parametrize("call", [1, 2, 20])
def test_what_a_worker_raises_comes_through(hectic, monkeypatch, call):
    calls, original = [], Explorer.explore

    def fail(*args):
        calls.append(1)
        if len(calls) >= call:
            raise MemoryError("no room")
        return original(*args)

    monkeypatch.setattr(Explorer, "explore", fail)
    with pytest.raises(MemoryError, match="no room"):
        ss.solve(hard_problem(), n_threads=4)


def test_a_worker_that_cannot_be_made(hectic, monkeypatch):
    original = threads.Workshop.worker

    def fail(workshop, number, *data):
        if number == 2:
            raise MemoryError("no room")
        return original(workshop, number, *data)

    monkeypatch.setattr(threads.Workshop, "worker", fail)
    with pytest.raises(MemoryError, match="no room"):
        ss.solve(hard_problem(), n_threads=4, time_limit=60.0)


class Resting(Search):
    """A search that rests at every look."""

    rests = 0

    def _look_up(self):
        if self.crew is not None and self.open_nodes:
            with self._at_rest(self.crew) as rest:
                self.rests += 1
                seen = self._standing(rest)
                time.sleep(1e-3)
                assert self._standing(rest) == seen
                bounds = [smallest_bound(nodes) for nodes in rest.open_sets]
                assert self.crew.lower_bound == min(*bounds, rest.closed_bound)
                assert self.crew.open_nodes == sum(map(count_waiting, rest.open_sets))
                assert self.lower_bound >= min(self.crew.lower_bound, self.incumbent.objective)
                assert self.crew.collect_model(self.incumbent.objective) is None
                assert not self.errands.busy
        return super()._look_up()

    def _standing(self, rest):
        return self.nodes, [count_waiting(nodes) for nodes in rest.open_sets], self.crew.lower_bound


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_at_rest_everything_is_known(hectic, n_threads):
    problem = plain(*weak_data(26, 12), k=5, gamma=1e4)
    watch = Watch(Settings(rel_gap=1e-6, n_threads=n_threads).checked())
    root = solve_root(problem)
    search = Resting(problem, root, first_incumbent(problem, root), watch)
    assert search.run() == "optimal"
    assert search.rests > 0
    assert search.incumbent.objective == pytest.approx(brute_force(problem).value, rel=1.1e-6)


class EndingSlowly(Search):
    """A search that takes its time between the last rest and the end."""

    @contextmanager
    def _at_rest(self, crew):
        with super()._at_rest(crew) as rest:
            yield rest
        before = crew.nodes, crew.lower_bound
        time.sleep(0.1)
        assert (crew.nodes, crew.lower_bound) == before


def test_nobody_explores_after_the_last_rest(hectic):
    problem = hard_problem()
    watch, root = Watch(Settings(n_threads=2, node_limit=10**6).checked()), solve_root(problem)
    watch.callback = lambda moment: moment.nodes > 20
    search = EndingSlowly(problem, root, first_incumbent(problem, root), watch)
    assert search.run() == "interrupted"  # with the bound, the model and the nodes that were known at rest
    assert search.trace[-1].nodes == search.nodes


def objectives(enumeration):
    """The models that are listed, with their objectives."""
    found = enumeration.found
    return {tuple(support.tolist()): value for support, value in zip(found.supports(), found.objective, strict=True)}


class RestingList(Enumeration):
    """The same for lists: what is not listed at rest is not below the bound."""

    truth: dict[tuple[int, ...], float]
    rests = 0

    def _look_up(self):
        with self._at_rest(self.crew):
            self.rests += 1
            listed = objectives(self)
            missing = [value for support, value in self.truth.items() if support not in listed]
            assert min(missing, default=np.inf) >= self.lower_bound * (1.0 - 1e-9)
        return super()._look_up()


@pytest.mark.parametrize("n_threads", [2, 4])
def test_lists_at_rest(hectic, n_threads):
    problem = plain(*weak_data(24, 8), mu=0.003, gamma=50.0)
    threshold, root = within_of(brute_force(problem).value, 0.1), solve_root(problem)
    alone = Enumeration(problem, root, Watch(Settings().checked()), Wanted(threshold))
    assert alone.run() == "optimal"
    search = RestingList(problem, root, Watch(Settings(n_threads=n_threads).checked()), Wanted(threshold))
    search.truth = objectives(alone)
    assert len(search.truth) > 10
    assert search.run() == "optimal"
    assert search.rests > 0
    assert objectives(search).keys() == search.truth.keys()


def test_a_small_tree_needs_no_thread(monkeypatch):
    monkeypatch.setattr(threads, "ALONE_SECONDS", 10.0)
    monkeypatch.setattr(threads.Threads, "_start", lambda *args: pytest.fail("a thread was started"))
    X, y = weak_data(26, 10)
    solution = ss.solve(plain(X, y, k=3, gamma=50.0), n_threads=8)
    assert solution.status == "optimal"
    assert solution.nodes > 1


def test_one_thread_starts_no_other(monkeypatch):
    monkeypatch.setattr(threading.Thread, "start", lambda self: pytest.fail(f"{self.name} was started"))
    assert ss.solve(plain(*weak_data(26, 10), k=4, gamma=200.0)).status == "optimal"
