"""Measurements in processes of their own: one thread each, kernels compiled beforehand, results kept at once."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from safescreen.reproduction.estimate import Estimate
from safescreen.reproduction.experiments import Task
from safescreen.reproduction.results import FAILED, Result, Results

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS")
_INTERRUPTED = "interrupted"


def run(tasks: Sequence[Task], results: Results, jobs: int, display: Any, genomic: str | None = None) -> None:
    """Carry out all tasks that have no result yet, the first ones first, in ``jobs`` processes.

    ``display`` is told the state of affairs: ``display.update(done, total, running, seconds_left, trust)``.
    """
    estimate = Estimate(tasks, jobs)
    for task in tasks:
        known = results.find(task)
        if known is not None:
            estimate.learn(task, float(known["wall"]))
    open_tasks = [task for task in tasks if results.find(task) is None]
    done = len(tasks) - len(open_tasks)
    display.update(done, len(tasks), [], estimate.left(open_tasks, []), estimate.seen)
    if not open_tasks:
        return
    with _pool(min(jobs, len(open_tasks)), genomic) as workers:
        waiting = list(reversed(open_tasks))
        for worker in workers:
            worker.give(waiting.pop())
        while any(worker.task is not None for worker in workers):
            for worker in _answered(workers):
                task, result, worker_lives = worker.take()
                if result["status"] != _INTERRUPTED:
                    results.add(task, result)
                    estimate.learn(task, result["wall"])
                done += 1
                if not worker_lives:
                    worker.restart()
                if waiting:
                    worker.give(waiting.pop())
            running = [(worker.task, worker.elapsed) for worker in workers if worker.task is not None]
            display.update(done, len(tasks), running, estimate.left(waiting, running), estimate.seen)


def _answered(workers: list[_Worker]) -> list[_Worker]:
    """Workers with something to say, after a second at most."""
    by_pipe = {worker.pipe: worker for worker in workers if worker.task is not None}
    ready: list[Any] = wait(list(by_pipe), timeout=1.0)
    return [by_pipe[pipe] for pipe in ready]


@dataclass
class _Worker:
    """A process that carries out one task at a time."""

    genomic: str | None
    process: Any = None
    pipe: Any = None
    task: Task | None = None
    since: float = 0.0

    def restart(self) -> None:
        """A fresh process, in place of one that died."""
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, self.genomic), daemon=True)
        self.process.start()
        theirs.close()

    @property
    def elapsed(self) -> float:
        """Seconds since the task was given."""
        return time.monotonic() - self.since

    def give(self, task: Task) -> None:
        """Hand over a task."""
        self.task, self.since = task, time.monotonic()
        self.pipe.send(task)

    def take(self) -> tuple[Task, Result, bool]:
        """The answer to the task; a process that died (out of memory, say) is an answer, too."""
        task, elapsed = self.task, self.elapsed
        assert task is not None
        self.task = None
        try:
            result, lives = self.pipe.recv(), True
        except (EOFError, ConnectionError):
            self.process.join()
            result, lives = {"status": FAILED, "reason": f"the process ended ({self.process.exitcode})"}, False
        result.setdefault("wall", elapsed)
        return task, result, lives

    def stop(self) -> None:
        """End the process; nothing it was doing counts."""
        self.process.terminate()
        self.process.join()
        self.pipe.close()


@contextmanager
def _pool(jobs: int, genomic: str | None) -> Iterator[list[_Worker]]:
    """Workers whose libraries are told to use one thread each, before they are loaded."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    workers = [_Worker(genomic) for _ in range(jobs)]
    started: list[_Worker] = []
    try:
        for worker in workers:
            worker.restart()
            started.append(worker)
        yield workers
    finally:
        for worker in started:
            worker.stop()
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _work(pipe: Connection, genomic: str | None) -> None:
    """The life of a worker: warm up, then one task after the other."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers itself
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    from safescreen.reproduction.measure import measure, warm_up

    ready = False
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        try:
            if not ready:
                warm_up()
                ready = True
            start = time.monotonic()
            result = measure(task, genomic)
            result["wall"] = time.monotonic() - start
        except Exception as error:  # the run goes on; the table shows the failure
            result = {"status": FAILED, "reason": f"{type(error).__name__}: {error}"}
        pipe.send(result)


def _end_with_the_parent() -> None:
    """Leave nothing running behind a parent that was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
