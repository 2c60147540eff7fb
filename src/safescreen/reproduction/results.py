"""The file behind a run, and what its measurements say about a setting.

One JSON line per measurement, appended as soon as it is made: a run that was interrupted, even in the middle of a
line, continues where it stopped.
"""

from __future__ import annotations

import json
import math
import os
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from safescreen import __version__
from safescreen.reproduction.experiments import Choice, Instance, Task
from safescreen.testing.machine import machine

Result = dict[str, Any]
Row = dict[str, Any]

OPTIMAL = "optimal"
LIMIT = "time_limit"
FAILED = "failed"


class Results:
    """Measurements on disk, by task."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._records: dict[str, list[Result]] = {}
        self._torn = False
        if path.exists():
            self._read()

    def _read(self) -> None:
        content = self.path.read_bytes()
        self._torn = not content.endswith(b"\n") and content != b""
        for line in content.splitlines():
            try:
                record = json.loads(line)
                key = record["key"]
            except (ValueError, KeyError, TypeError):
                continue  # torn by an interruption: the measurement is made again
            if record.get("version") == __version__:
                self._records.setdefault(key, []).append(record)

    def find(self, task: Task) -> Result | None:
        """The stored result of a task, if it holds for the task's time limit.

        A finished solve holds for every limit it stayed within; one that hit a limit only for that limit.
        """
        for record in reversed(self._records.get(task.key, [])):
            result: Result = record["result"]
            if result["status"] == FAILED:
                continue
            if result["status"] == LIMIT:
                if record["time_limit"] == task.time_limit:
                    return result
            elif result.get("seconds", 0.0) <= task.time_limit:
                return result
        return None

    def shown(self, task: Task) -> Result | None:
        """What to show for a task: its result, or else that it failed."""
        found = self.find(task)
        records = self._records.get(task.key)
        if found is None and records and records[-1]["result"]["status"] == FAILED:
            found = records[-1]["result"]
        return found

    def add(self, task: Task, result: Result) -> None:
        """Append a result; it is on disk when this returns."""
        record = {
            "key": task.key,
            "time_limit": task.time_limit,
            "version": __version__,
            "machine": machine(),
            "result": result,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            start = b"\n" if self._torn else b""
            file.write(start + json.dumps(record, separators=(",", ":")).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._torn = False
        self._records.setdefault(task.key, []).append(record)

    def machines(self, tasks: Iterable[Task]) -> list[str]:
        """Where the results of these tasks were measured."""
        return sorted({record["machine"] for task in tasks for record in self._records.get(task.key, [])})

    def seconds(self, tasks: Iterable[Task]) -> float:
        """What measuring these tasks took, all in all."""
        found = (self.shown(task) for task in tasks)
        return sum(float(result["wall"]) for result in found if result is not None)


class Measured:
    """The results of one setting, seed by seed; every instance is accounted for."""

    def __init__(self, results: Results, choice: Choice, target: str, setting: Instance) -> None:
        self.setting = setting
        self.instances = choice.instances(target, setting)
        self._results = results
        self._choice = choice

    def of(self, kind: str) -> list[Result | None]:
        """One result per seed, None where there is none."""
        choice = self._choice
        return [self._results.shown(Task(i, kind, choice.gap, choice.time_limit)) for i in self.instances]

    def usable(self, kind: str) -> list[Result | None]:
        """The same without failures."""
        return [None if result is None or result["status"] == FAILED else result for result in self.of(kind)]

    def gaps(self, bound: str) -> list[float]:
        """Integrality gaps in per cent: between the best model found and a relaxation's bound."""
        pairs = zip(self.usable("nodes"), self.usable("roots"), strict=True)
        return [100.0 * (1.0 - root[bound] / best["objective"]) for best, root in pairs if best and root]

    def values(self, kind: str, name: str) -> list[float]:
        """One number per instance that has it."""
        return [float(result[name]) for result in self.usable(kind) if result is not None and name in result]

    def timing(self, kind: str) -> Row:
        """Mean seconds and nodes of a solver, and how many instances it did not finish."""
        usable = [result for result in self.usable(kind) if result is not None]
        gaps = [max(result["objective"] - result["lower_bound"], 0.0) / abs(result["objective"]) for result in usable]
        return {
            f"{kind}_seconds": mean([result["seconds"] for result in usable]),
            f"{kind}_nodes": mean([result["nodes"] for result in usable]),
            f"{kind}_instances": len(usable),
            f"{kind}_at_limit": sum(result["status"] == LIMIT for result in usable),
            f"{kind}_failed": sum(result is not None and result["status"] == FAILED for result in self.of(kind)),
            f"{kind}_worst_gap": max(gaps, default=math.nan),
        }

    def speedup(self, slow: str, fast: str) -> Row:
        """Mean over the instances of the ratio of seconds, as in the paper; ``at_least`` if ``slow`` hit its limit."""
        pairs = [(a, b) for a, b in zip(self.usable(slow), self.usable(fast), strict=True) if a and b]
        name = f"speedup_{slow}_{fast}"
        return {
            name: mean([a["seconds"] / max(b["seconds"], 1e-9) for a, b in pairs]),
            f"{name}_at_least": any(a["status"] == LIMIT for a, _ in pairs),
            f"{name}_at_most": any(b["status"] == LIMIT for _, b in pairs),
        }


def mean(values: list[float]) -> float:
    """Arithmetic mean, NaN of nothing."""
    return statistics.fmean(values) if values else math.nan


def mean_and_spread(name: str, values: list[float]) -> Row:
    """Mean and standard deviation over seeds; a single seed has none to speak of."""
    deviation = 0.0 if len(values) == 1 else statistics.stdev(values) if values else math.nan
    return {name: mean(values), f"{name}_std": deviation}
