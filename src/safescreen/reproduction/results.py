"""The file behind a run: one JSON line per measurement, appended as soon as it is made.

A run that was interrupted, even in the middle of a line, continues where it stopped.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from safescreen import __version__
from safescreen.reproduction.experiments import Task

Result = dict[str, Any]

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
        records = self._records.get(task.key, [])
        return found if found is not None or not records else _failure(records[-1]["result"])

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


def _failure(result: Result) -> Result | None:
    return result if result["status"] == FAILED else None


@cache
def machine() -> str:
    """Processor and versions: seconds mean nothing without them."""
    libraries = ", ".join(f"{name} {metadata.version(name.lower())}" for name in ("NumPy", "SciPy", "Numba"))
    return (
        f"{_processor()}, {os.cpu_count()} cores; Python {platform.python_version()}, {libraries}, "
        f"safescreen {__version__}"
    )


def _processor() -> str:
    """The processor's name where the system tells it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
