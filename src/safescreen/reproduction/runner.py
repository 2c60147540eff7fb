"""Measurements in processes of their own: one thread each, kernels compiled beforehand, results kept at once."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from safescreen.reproduction.experiments import Task, guessed_seconds
from safescreen.reproduction.results import FAILED, Result, Results

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS")
_PAUSE = 20.0  # seconds between two lines where there is no terminal
_LONG = 2.0  # seconds from which on a measurement is named while it runs


def run(tasks: Sequence[Task], results: Results, jobs: int, display: Any, genomic: str | None = None) -> None:
    """Carry out all tasks that have no result yet, the first ones first, in ``jobs`` processes.

    ``display`` is told the state of affairs: ``display.update(waiting, running)``.
    """
    waiting = deque(task for task in tasks if results.find(task) is None)
    running: dict[Future[Result], _Worker] = {}
    display.update(waiting, [])
    with _workers(min(jobs, len(waiting)), genomic) as idle:
        while waiting or running:
            while waiting and idle:
                worker = idle.pop()
                running[worker.submit(waiting.popleft())] = worker
            display.update(waiting, running.values())
            for future in wait(running, timeout=1.0, return_when=FIRST_COMPLETED).done:
                worker = running.pop(future)
                results.add(worker.task, _answer(future, worker.elapsed))
                idle.append(worker)
        display.update(waiting, [])


class _Worker:
    """A pool of one process: if that dies (out of memory, say), one task fails and the other workers go on."""

    task: Task
    since: float

    def __init__(self, genomic: str | None) -> None:
        self._genomic = genomic
        self._pool = _new_pool()

    def submit(self, task: Task) -> Future[Result]:
        """Begin a task, in a fresh process if the last one died."""
        self.task, self.since = task, time.monotonic()
        try:
            return self._pool.submit(_carry_out, task, self._genomic)
        except BrokenProcessPool:
            self.close()
            self._pool = _new_pool()
            return self._pool.submit(_carry_out, task, self._genomic)

    @property
    def elapsed(self) -> float:
        """Seconds since the task was handed over."""
        return time.monotonic() - self.since

    def close(self) -> None:
        """Give back what the pool holds."""
        self._pool.shutdown(cancel_futures=True)


def _answer(future: Future[Result], elapsed: float) -> Result:
    """The result of a task; that its process died is one, too."""
    try:
        result = future.result()
    except BrokenProcessPool:
        result = {"status": FAILED, "reason": "the process ended before it had an answer"}
    result.setdefault("wall", elapsed)
    return result


@contextmanager
def _workers(count: int, genomic: str | None) -> Iterator[list[_Worker]]:
    """So many workers; in the end their processes are ended, whatever they are doing."""
    others = set(multiprocessing.active_children())
    workers = [_Worker(genomic) for _ in range(count)]
    try:
        yield list(workers)
    finally:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        for worker in workers:
            worker.close()


def _new_pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _prepare)


def _prepare() -> None:
    """One thread, told before the numerical libraries are loaded; Ctrl-C is for the parent, which ends its workers."""
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    """Leave nothing running behind a parent that was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _carry_out(task: Task, genomic: str | None) -> Result:
    """Measure; a failure is a result, too, so that the run goes on and the table shows it."""
    from safescreen.reproduction.measure import measure, warm_up

    try:
        warm_up()
        start = time.monotonic()
        result = measure(task, genomic)
        return result | {"wall": time.monotonic() - start}
    except Exception as error:
        return {"status": FAILED, "reason": f"{type(error).__name__}: {error}"}


class Display:
    """A bar on a terminal, a line now and then elsewhere.

    The bar's length is the time all tasks were guessed to take, so that the dear ones count for more; the time left
    is estimated from how fast that was worked off.
    """

    def __init__(self, tasks: Sequence[Task], console: Console) -> None:
        self._console = console
        self._total = len(tasks)
        self._last = console.get_time()
        self._bar = Progress(
            TextColumn("measuring"),
            BarColumn(),
            TextColumn("{task.fields[counted]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
            speed_estimate_period=math.inf,
        )
        self._work = sum(map(guessed_seconds, tasks))
        self._item = self._bar.add_task("", total=self._work, counted="")

    def __enter__(self) -> Display:
        self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()

    def update(self, waiting: Sequence[Task], running: Collection[_Worker]) -> None:
        """Show where the run stands."""
        from safescreen.formatting.digits import duration  # not above: workers load this module before NumPy

        open_tasks = [*waiting, *(one.task for one in running)]
        counted = f"{self._total - len(open_tasks)} of {self._total}"
        done = self._work - sum(map(guessed_seconds, open_tasks))
        longest = max(running, key=lambda one: one.elapsed, default=None)
        text = ""
        if longest is not None and longest.elapsed > _LONG:
            text = f"({longest.task.instance.label}, {longest.task.kind}: {duration(longest.elapsed)})"
        self._bar.update(self._item, completed=done, description=text, counted=counted)
        if self._bar.disable and self._console.get_time() - self._last > _PAUSE:
            self._last = self._console.get_time()
            (bar,) = self._bar.tasks
            left = "" if bar.time_remaining is None else f", about {duration(bar.time_remaining)} left"
            self._console.print(f"{counted} measured in {duration(bar.elapsed or 0.0)}{left}", highlight=False)
