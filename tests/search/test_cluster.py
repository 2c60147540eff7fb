"""A search on a cluster of processes: the answer of a search at home, also where workers are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import safescreen as ss
from problems import synthetic

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(scope="module")
def client() -> Iterator[distributed.Client]:
    """Two processes with one thread each; Dask itself tries nothing twice."""
    import dask

    settings = {
        "distributed.scheduler.allowed-failures": 0,
        "distributed.admin.large-graph-warning-threshold": "1GB",
        "logging.distributed": "critical",
    }
    with dask.config.set(settings):
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        )
        with cluster, distributed.Client(cluster) as client:
            yield client


@pytest.fixture
def ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches wait until the workers are ready, but no more than a minute in all, and send nodes away at once."""
    from safescreen.search.cluster_post import DaskPost

    waited = [0.0]

    def patiently(ask: Any) -> Any:
        def answer(self: DaskPost) -> Any:
            while not (found := ask(self)) and waited[0] < 60.0:
                time.sleep(0.01)
                waited[0] += 0.01
            return found

        return answer

    monkeypatch.setattr(DaskPost, "threads", patiently(DaskPost.threads))
    monkeypatch.setattr(DaskPost, "is_ready", patiently(DaskPost.is_ready))
    monkeypatch.setattr("safescreen.search.fleet.ALONE_SECONDS", 0.0)
    monkeypatch.setattr("safescreen.search.fleet.FEW_NODES", 1)


@pytest.fixture
def eager(ready: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small searches as well, in small batches."""
    monkeypatch.setattr("safescreen.search.tree_search.ALLOWANCE", 3_000_000)
    monkeypatch.setattr("safescreen.search.fleet.TASK_SECONDS", (0.0, 0.0))


@pytest.fixture
def accepted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many nodes each answer from elsewhere was about."""
    from safescreen.search.fleet import Fleet

    counts: list[int] = []
    accept = Fleet.accept
    monkeypatch.setattr(
        Fleet, "accept", lambda self, number, answer: counts.append(answer.explored) or accept(self, number, answer)
    )
    return counts


def check_same(one: ss.Solution, other: ss.Solution) -> None:
    assert one.status == other.status == "optimal"
    assert abs(one.objective - other.objective) <= 1e-4 * one.objective
    assert max(one.lower_bound, other.lower_bound) <= min(one.objective, other.objective) * (1.0 + 1e-12)


PROBLEMS = {
    "budget": {"k": 6, "gamma": 100.0},
    "price": {"mu": 4e-3, "gamma": 60.0},
    "both": {"k": 7, "mu": 1e-3, "gamma": 80.0},
    "standardised": {"k": 5, "gamma": 100.0, "fit_intercept": True, "standardize": True},
    "decided": {"k": 6, "gamma": 100.0, "include": [3], "exclude": [0, 1]},
}


@pytest.mark.parametrize("chunks", [None, (25, 17)])
@pytest.mark.parametrize("terms", PROBLEMS)
def test_the_answer_is_that_of_a_search_at_home(terms, chunks, client, eager, accepted, tmp_path):
    problem, path = synthetic(60, 40, **PROBLEMS[terms]), tmp_path / "proof.npz"
    X, y = problem.design.matrix, problem.y
    if chunks is not None:
        terms_of = {"fit_intercept": False, "standardize": False, **PROBLEMS[terms]}
        problem = ss.Problem(da.from_array(X, chunks=chunks).persist(), y, **terms_of)
    there = ss.solve(problem, client=client, proof=path)
    check_same(ss.solve(problem), there)
    assert sum(accepted) > 0
    found = ss.verify(path, X, y)
    assert found.valid, found.reason


def test_limits(client, eager, endless, accepted, tmp_path):
    path = tmp_path / "proof.npz"
    solution = ss.solve(endless, client=client, node_limit=300, proof=path)
    assert solution.status == "node_limit"
    assert 100 <= solution.nodes <= 300
    assert sum(accepted) > 0
    assert ss.verify(path, endless.design.matrix, endless.y).valid
    begin = time.monotonic()
    solution = ss.solve(endless, client=client, time_limit=1.0)
    assert solution.status == "time_limit"
    assert time.monotonic() - begin < 60.0
    assert solution.lower_bound < solution.objective


def test_killed_workers_cost_time_only(client, ready, accepted, tmp_path):
    X, y, _ = ss.datasets.make_sparse_logistic(100, 100, 8, 0.5, random_state=0)
    problem, path = ss.Problem(X, y, k=8, gamma=300.0), tmp_path / "proof.npz"
    over, killed = threading.Event(), []

    def kill() -> None:
        while len(killed) < 3 and not over.wait(1.0):  # workers start slowly where others use the machine
            with suppress(Exception):
                workers = client.run(os.getpid, on_error="ignore")
                if accepted and len(workers) == 2:  # a nanny may give up on a worker that dies while it starts
                    pid = list(workers.values())[len(killed) % len(workers)]
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    try:
        there = ss.solve(problem, client=client, proof=path, rel_gap=1e-5)
    finally:
        over.set()
        killer.join(60.0)
    here = ss.solve(problem, rel_gap=1e-5)
    assert killed
    assert here.status == there.status == "optimal"
    assert abs(here.objective - there.objective) <= 1e-5 * here.objective
    assert there.lower_bound <= here.objective
    found = ss.verify(path, X, y)
    assert found.valid, found.reason
    client.cluster.scale(2)
    client.wait_for_workers(2, timeout=60)


def test_wrong_clients(client, bushy, monkeypatch):
    with pytest.raises(
        TypeError, match=r"client is 'here' of type str, but must be None or a dask\.distributed\.Client"
    ):
        ss.solve(bushy, client="here")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install safescreen\[dask\]"):
        ss.solve(bushy, client=client)


def test_the_package_does_without():
    """Nothing of Dask is imported by those who do not use it."""
    code = (
        "import sys, safescreen as ss; X, y, _ = ss.datasets.make_sparse_logistic(40, 9, 2, 1.0, random_state=0); "
        "ss.solve(ss.Problem(X, y, k=2)); roots = {name.partition('.')[0] for name in sys.modules}; "
        "sys.exit(not roots.isdisjoint({'dask', 'distributed'}))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0


def test_cross_validation_and_stability_on_a_cluster(client):
    joblib = pytest.importorskip("joblib")
    X, y, _ = ss.datasets.make_sparse_logistic(60, 12, 3, 1.5, random_state=0)

    def results(n_jobs: int) -> tuple[np.ndarray, np.ndarray, list[float]]:
        chosen = ss.L0LogisticRegressionCV(k=[1, 2], gamma=[1.0], cv=3, n_jobs=n_jobs, time_limit=None).fit(X, y)
        stability = ss.L0LogisticRegression(k=2).fit(X, y).stability(X, y, n_resamples=6, n_jobs=n_jobs)
        path = joblib.delayed(ss.l0_path)
        paths = joblib.Parallel(n_jobs=n_jobs)(path(X, y, k=[1, 2], gamma=gamma) for gamma in (1.0, 10.0))
        return chosen.coef_, stability.frequency, [solution.objective for path in paths for solution in path]

    alone = results(1)
    with joblib.parallel_config(backend="dask"):
        together = results(2)
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)
