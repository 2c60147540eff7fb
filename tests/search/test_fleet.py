"""Nodes explored elsewhere: whatever gets lost, comes late or comes twice, the answer is that of a search at home."""

from __future__ import annotations

import random
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

import safescreen as ss
from problems import plain, synthetic
from safescreen.kernels.open_nodes import arrange
from safescreen.kernels.outward import BEST_BOUND_FIRST
from safescreen.search.cluster_post import DaskPost, Outcome
from safescreen.search.cluster_task import Answer, Batch, explore_batch, forget_search
from safescreen.search.fleet import ClusterFailedWarning, Fleet
from safescreen.search.parcels import put_in, take_all, take_best

LOST, LATE, TWICE, FAILED = "lost", "late", "twice", "failed"


class FakePost:
    """Explores in this process, and loses, delays or repeats answers as `fates` says."""

    fates: Any = None  # how the next batch ends, None for well
    crowd = 3
    made: list[FakePost]

    def __init__(self, client: Any, make_assignment: Any) -> None:
        self.assignment = make_assignment()
        self.asked, self.answers, self.dropped = 0, 0, []
        FakePost.made.append(self)

    def threads(self) -> int:
        return self.crowd

    def is_ready(self) -> bool:
        return True

    def send(self, batch: Batch) -> list[Any]:
        fate = self.fates() if self.fates else None
        if fate in (LOST, FAILED):
            return [fate, None, 0]
        return [fate, explore_batch(self.assignment, batch), 3 if fate == LATE else 0]

    def outcome(self, ticket: list[Any]) -> Outcome | None:
        fate, answer, delay = ticket
        self.asked += 1
        if delay:
            ticket[2] -= 1
            return None
        if fate == LOST:
            return Outcome()
        if fate == FAILED:
            return Outcome(failure=ValueError("no such column"))
        self.answers += 1
        return Outcome(answer=answer)

    def give_up(self, tickets: list[Any]) -> None:
        self.dropped += tickets

    def close(self) -> None:
        forget_search(self.assignment.name)


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> type[FakePost]:
    """Small searches are sent away at once, in small batches."""
    monkeypatch.setattr("safescreen.search.cluster.DaskPost", FakePost)
    monkeypatch.setattr("safescreen.search.cluster.check_client", lambda client: None)
    monkeypatch.setattr("safescreen.search.tree_search.ALLOWANCE", 1_000_000)
    for name, value in {"ALONE_SECONDS": 0.0, "FEW_NODES": 1, "LEAST_BATCH": 1, "TASK_SECONDS": (0.0, 0.0)}.items():
        monkeypatch.setattr(f"safescreen.search.fleet.{name}", value)
    monkeypatch.setattr(FakePost, "made", [], raising=False)
    monkeypatch.setattr(FakePost, "fates", None)
    monkeypatch.setattr(FakePost, "crowd", 3)
    return FakePost


def problems() -> list[ss.Problem]:
    return [
        synthetic(60, 40, k=6, gamma=100.0),
        synthetic(50, 30, k=5, gamma=300.0, seed=1),
        synthetic(80, 60, mu=5e-3, gamma=30.0, seed=2),
        synthetic(40, 100, k=4, gamma=400.0, seed=3, include=[3], exclude=[0, 1]),
        synthetic(60, 40, k=7, mu=1e-3, gamma=80.0, fit_intercept=True, standardize=True),
    ]


def check_same(problem: ss.Problem, one: ss.Solution, other: ss.Solution) -> None:
    assert one.status == other.status == "optimal"
    assert abs(one.objective - other.objective) <= 1e-4 * one.objective
    assert max(one.lower_bound, other.lower_bound) <= min(one.objective, other.objective) * (1.0 + 1e-12)


def random_fates(seed: int) -> Any:
    chance = random.Random(seed)
    return lambda: chance.choice([None, None, LOST, LATE])


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("trouble", [False, True])
def test_the_answer_is_that_of_a_search_at_home(number, trouble, eager, tmp_path, monkeypatch):
    problem, path = problems()[number], tmp_path / "proof.npz"
    if trouble:
        monkeypatch.setattr(eager, "fates", staticmethod(random_fates(number)))
    there = ss.solve(problem, client=object(), proof=path)
    check_same(problem, ss.solve(problem), there)
    assert eager.made[0].answers > 2
    X = problem.design.matrix
    found = ss.verify(path, X, problem.y)
    assert found.valid, found.reason
    assert found.lower_bound >= there.lower_bound * (1.0 - 1e-9)  # sweeps bound with a margin, which the checker lacks
    assert found.lower_bound <= found.objective


def test_nodes_add_up(eager, bushy):
    there = ss.solve(bushy, client=object(), proof=None)
    assert there.nodes == there.trace[-1].nodes > 20
    bounds = [point.lower_bound for point in there.trace]
    assert bounds == sorted(bounds)


def test_a_search_without_screening(eager, bushy):
    for screening in ("none", "root"):
        check_same(bushy, ss.solve(bushy), ss.solve(bushy, client=object(), screening=screening))


@pytest.mark.parametrize("limit", [0, 1, 7, 40, 101])
@pytest.mark.parametrize("late", [False, True])
def test_node_limits_hold(limit, late, eager, endless, tmp_path, monkeypatch):
    path = tmp_path / "proof.npz"
    if late:  # answers arrive between two calls
        monkeypatch.setattr("safescreen.search.fleet.STEP_SECONDS", 0.0)
        monkeypatch.setattr(eager, "fates", staticmethod(lambda: LATE))
    solution = ss.solve(endless, client=object(), node_limit=limit, proof=path)
    assert solution.status == "node_limit"
    assert limit / 2 <= solution.nodes <= limit
    assert ss.verify(path, endless.design.matrix, endless.y).valid


def test_a_callback_ends_the_search(eager, endless, tmp_path):
    path = tmp_path / "proof.npz"
    solution = ss.solve(endless, client=object(), callback=lambda moment: moment.nodes > 30, proof=path)
    assert solution.status == "interrupted"
    found = ss.verify(path, endless.design.matrix, endless.y)
    assert found.valid
    assert found.lower_bound == pytest.approx(solution.lower_bound, rel=1e-9)


def test_what_is_under_way_counts_as_open(eager, endless, monkeypatch):
    """Answers that never come: the bound is that of the nodes as they were sent."""
    monkeypatch.setattr(eager, "outcome", lambda self, ticket: None)
    solution = ss.solve(endless, client=object(), time_limit=1.0)
    assert solution.status == "time_limit"
    assert solution.lower_bound >= ss.relax(endless).lower_bound * (1.0 - 1e-6)
    assert eager.made[0].dropped


def test_tasks_that_fail_are_done_at_home(eager, bushy, monkeypatch):
    monkeypatch.setattr(eager, "fates", staticmethod(lambda: FAILED))
    with pytest.warns(ClusterFailedWarning, match="no such column"):
        there = ss.solve(bushy, client=object())
    check_same(bushy, ss.solve(bushy), there)


def test_a_batch_that_cannot_be_sent_is_a_failure_and_no_error(eager, bushy, monkeypatch):
    class Closed:
        def submit(self, *args, **options):
            raise RuntimeError("the client is closed")

    def send(self, batch):
        post = DaskPost(Closed(), self.assignment)
        post._data = Future()
        post._data.set_result(None)
        return post.send(batch)

    monkeypatch.setattr(eager, "send", send)
    monkeypatch.setattr(eager, "outcome", lambda self, ticket: DaskPost.outcome(self, ticket))
    with pytest.warns(ClusterFailedWarning, match="the client is closed"):
        there = ss.solve(bushy, client=object())  # no node that was to be sent is missing
    check_same(bushy, ss.solve(bushy), there)


def test_a_cluster_without_workers(eager, bushy, monkeypatch):
    monkeypatch.setattr(eager, "crowd", 0)
    check_same(bushy, ss.solve(bushy), ss.solve(bushy, client=object()))
    assert eager.made[0].answers == 0


def test_tasks_that_kill_their_workers_are_done_at_home(eager, bushy, monkeypatch):
    monkeypatch.setattr(eager, "fates", staticmethod(lambda: LOST))
    with pytest.warns(ClusterFailedWarning, match="20 batches in a row were lost with their workers"):
        there = ss.solve(bushy, client=object())
    check_same(bushy, ss.solve(bushy), there)


def test_workers_that_are_all_gone(eager, bushy, monkeypatch):
    monkeypatch.setattr("safescreen.search.fleet.LONELY_SECONDS", 0.05)
    monkeypatch.setattr(eager, "outcome", lambda self, ticket: setattr(self, "crowd", 0))
    check_same(bushy, ss.solve(bushy), ss.solve(bushy, client=object()))
    assert eager.made[0].dropped


def test_a_worker_that_hangs(eager, bushy, monkeypatch):
    monkeypatch.setattr("safescreen.search.fleet.PATIENCE_SECONDS", 0.02)
    answers = eager.outcome
    hangs = iter([True, True])
    hanging = []

    def outcome(self, ticket):
        if next(hangs, False):
            hanging.append(id(ticket))
        return None if id(ticket) in hanging else answers(self, ticket)

    monkeypatch.setattr(eager, "outcome", outcome)
    check_same(bushy, ss.solve(bushy), ss.solve(bushy, client=object()))
    assert eager.made[0].dropped


def test_an_answer_counts_once(eager, bushy, monkeypatch):
    """Late and repeated answers are dropped, whatever they say."""
    fleets, taken = [], []
    accept = Fleet.accept

    def accept_twice(self: Fleet, number: int, answer: Answer) -> bool:
        fleets.append(self)
        taken.append((accept(self, number, answer), self.nodes, self.open_nodes, self.lower_bound))
        again = accept(self, number, answer), self.nodes, self.open_nodes, self.lower_bound
        assert again == (False, *taken[-1][1:])
        assert accept(self, number + 1000, answer) is False
        return True

    monkeypatch.setattr(Fleet, "accept", accept_twice)
    check_same(bushy, ss.solve(bushy), ss.solve(bushy, client=object()))
    assert all(first for first, *_ in taken)


def test_parcels_keep_every_node():
    problem = synthetic(60, 40, k=6, gamma=100.0)
    nodes = open_nodes_of(problem)
    before = {tuple(row) for row in table(nodes)}
    assert len(before) > 12
    parcels = take_best(nodes, 9, 4)
    assert [parcel.size for parcel in parcels] == [3, 2, 2, 2]
    rest = table(nodes)
    assert max(parcel.arrays[0].max() for parcel in parcels) <= rest[:, 0].min()
    for parcel in parcels:
        nodes = put_in(nodes, parcel)
    assert {tuple(row) for row in table(nodes)} == before
    bounds = nodes.bound[nodes.heap[: len(before)]]
    assert all(bounds[(i - 1) // 2] <= bounds[i] for i in range(1, len(before)))
    everything = take_all(nodes)
    assert everything.size == len(before)
    assert take_all(nodes).size == 0
    assert take_all(nodes).smallest_bound == np.inf


def open_nodes_of(problem: ss.Problem):
    """Some nodes as a search leaves them, in the order of their bounds."""
    found: list[Any] = []
    finish = Fleet.finish
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Fleet, "finish", lambda self: found.append(self.home.open_nodes) or finish(self))
        ss.solve(problem, client=object(), node_limit=60)
    arrange(found[0], BEST_BOUND_FIRST)
    return found[0]


def table(nodes) -> np.ndarray:
    slots = nodes.heap[: nodes.counts["waiting"][0]]
    return np.column_stack([nodes.bound[slots], nodes.decision[slots], nodes.bits[slots].astype(float)])


def test_sparse_columns_are_copied(eager, monkeypatch):
    """Columns that are written to belong to one explorer each."""
    from problems import thin_data

    monkeypatch.setattr("safescreen.design.base.DENSE_BYTES", 0)
    problem = plain(*thin_data(120, 60, 0.15), k=5, gamma=300.0, standardize=True)
    there = ss.solve(problem, client=object())
    check_same(problem, ss.solve(problem), there)
    assert eager.made[0].answers > 2


@pytest.mark.parametrize("on_cluster", [False, True])
def test_a_search_goes_on_from_a_checkpoint(on_cluster, eager, bushy, tmp_path, monkeypatch):
    """Taken while nodes are away; gone on from by a cluster, or at home."""
    monkeypatch.setattr("safescreen.search.fleet.STEP_SECONDS", 0.0)
    monkeypatch.setattr(eager, "fates", staticmethod(lambda: LATE))
    files = {"checkpoint": tmp_path / "run.npz", "proof": tmp_path / "proof.npz"}
    first = ss.solve(bushy, client=object(), node_limit=150, checkpoint_every=0.001, **files)
    assert first.status == "node_limit"
    client = object() if on_cluster else None
    second = ss.solve(bushy, client=client, resume=True, **files)
    check_same(bushy, ss.solve(bushy), second)
    assert second.nodes > first.nodes
    found = ss.verify(files["proof"], bushy.design.matrix, bushy.y)
    assert found.valid, found.reason
