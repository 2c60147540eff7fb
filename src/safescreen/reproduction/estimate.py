"""How long the rest of a run will take, from what has been measured so far."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import fmean, median

from safescreen.reproduction.experiments import Instance, Task, first_guess

_Group = tuple[Instance, str]


class Estimate:
    """Means of the same setting where it has been measured, else the first guess, corrected by its error so far."""

    def __init__(self, tasks: Iterable[Task], jobs: int) -> None:
        self._jobs = jobs
        self._measured: dict[_Group, list[float]] = defaultdict(list)
        self._wrong: dict[str, list[float]] = defaultdict(list)
        self._groups = {_group(task) for task in tasks}

    def learn(self, task: Task, seconds: float) -> None:
        """Take in a measurement."""
        self._measured[_group(task)].append(seconds)
        self._wrong[task.kind].append(max(seconds, 1e-3) / first_guess(task))

    @property
    def seen(self) -> float:
        """Share of the settings measured at least once: how far the estimate can be trusted."""
        return len(self._measured.keys() & self._groups) / max(len(self._groups), 1)

    def expected(self, task: Task) -> float:
        """Seconds a task will probably take."""
        known = self._measured.get(_group(task))
        if known:
            return fmean(known)
        factors = self._wrong.get(task.kind)
        return min(first_guess(task) * (median(factors) if factors else 1.0), 1.5 * task.time_limit)

    def left(self, waiting: Sequence[Task], running: Sequence[tuple[Task, float]]) -> float:
        """Seconds until everything is done: the work shared out, but no less than the longest single task."""
        rest = [max(self.expected(task) - elapsed, 0.1 * elapsed) for task, elapsed in running]
        ahead = [self.expected(task) for task in waiting]
        return max([sum(rest + ahead) / self._jobs, *rest, *ahead], default=0.0)


def _group(task: Task) -> _Group:
    return replace(task.instance, seed=0), task.kind
