"""What the benchmark scripts share: one thread, fair timing, tables, the recorded floor.

Import this module before NumPy: it pins the linear-algebra libraries to one thread.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import _one_thread  # noqa: F401  (before NumPy)
import numpy as np
from rich.console import Console
from rich.table import Table


HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
FLOOR = HERE / "floor"

Row = dict[str, Any]
console = Console(width=None if Console().is_terminal else 200)


@dataclass(frozen=True)
class Task:
    """One optimisation problem, in the terms every solver understands."""

    X: Any
    y: np.ndarray
    gamma: float
    mu: float | None = None
    k: int | None = None
    standardize: bool = False
    rel_gap: float = 1e-4
    time_limit: float = math.inf


@dataclass(frozen=True)
class Outcome:
    """What one run of one solver claims."""

    objective: float
    nodes: int
    gap: float = math.nan
    details: Row = field(default_factory=dict)


@dataclass
class Timing:
    """All repetitions of one solver on one task."""

    outcome: Outcome
    seconds: list[float]

    @property
    def best(self) -> float:
        """Seconds of the fastest repetition."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """Seconds of the middle repetition."""
        return median(self.seconds)


def interleaved(runs: dict[str, Callable[[], Outcome]], budget: float = 1.0, most: int = 15) -> dict[str, Timing]:
    """Time every solver, taking turns, so that a slow moment of the machine hits all of them alike.

    Each solver gets as many repetitions as fit into ``budget`` seconds (at least one, at most ``most``):
    short runs need many repetitions for a trustworthy minimum, long ones average the noise out by
    themselves.
    """
    timings = {name: _timed(run) for name, run in runs.items()}
    wanted = {name: min(most, int(budget / max(t.best, 1e-9))) for name, t in timings.items()}
    for turn in range(1, max(wanted.values(), default=0)):
        for name, run in runs.items():
            if turn < wanted[name]:
                timings[name].seconds += _timed(run).seconds
    return timings


def _timed(run: Callable[[], Outcome]) -> Timing:
    start = time.perf_counter()
    outcome = run()
    return Timing(outcome, [time.perf_counter() - start])


def recorded(name: str) -> list[Row]:
    """The lines of the recorded table ``floor/<name>.csv``."""
    with (FLOOR / f"{name}.csv").open(newline="") as lines:
        return list(csv.DictReader(lines))


def floor(name: str, *keys: str) -> dict[tuple[Any, ...], Row]:
    """The recorded table ``floor/<name>.csv``, indexed by ``keys``; cells that are numbers become numbers."""
    with open(FLOOR / f"{name}.csv", newline="") as file:
        rows = [{key: _number(cell) for key, cell in row.items()} for row in csv.DictReader(file)]
    return {tuple(row[key] for key in keys): row for row in rows}


def _number(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return cell


def compare(value: float, expected: float | None, tolerance: float) -> str:
    """``ok``, ``better`` or ``WORSE`` for a minimised value against the recorded one, ``-`` without one."""
    if expected is None or not isinstance(expected, float):
        return "-"
    if abs(value - expected) <= tolerance:
        return "ok"
    return "better" if value < expected else "WORSE"


def geomean(values: Iterable[float]) -> float:
    """Geometric mean of the positive finite values; NaN when there is none."""
    kept = [v for v in values if math.isfinite(v) and v > 0]
    return geometric_mean(kept) if kept else math.nan


def show(title: str, rows: Sequence[Row], hide: Sequence[str] = ()) -> None:
    """Print ``rows`` as one table, leaving out the columns whose names end with one of ``hide``."""
    columns = [c for c in (rows[0] if rows else ()) if not c.endswith(tuple(hide) or ("\0",))]
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column.replace("_", " "), justify="right")
    for row in rows:
        style = "red" if "WORSE" in row.values() else None
        table.add_row(*(cell_text(column, row[column]) for column in columns), style=style)
    console.print(table)


def cell_text(column: str, cell: Any) -> str:
    """A number at the precision a reader needs: objectives to nine digits, the rest to four."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "-"
    if isinstance(cell, float):
        return f"{cell:.9f}" if column.endswith("objective") else f"{cell:.4g}"
    return str(cell)


def say(row: Row) -> None:
    """Print one row on one line, so that a long run shows its progress."""
    cells = (f"{key}={cell_text(key, value)}" for key, value in row.items())
    console.print(" ".join(cells), highlight=False, soft_wrap=True)


def save(
    name: str, rows: Sequence[Row], notes: Sequence[str] = (), more: Mapping[str, Sequence[Row]] | None = None
) -> None:
    """Write ``rows`` to ``results/<name>.csv`` and, with the notes, to ``results/<name>.md``.

    ``more`` are further tables by their titles, for the page only; they come first, because they sum up.
    """
    from safescreen.testing.machine import machine  # here: another version under test may not have it

    RESULTS.mkdir(exist_ok=True)
    with open(RESULTS / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    lines = [f"# {name}", "", f"{machine()}; one thread unless said otherwise.", ""]
    for title, table in (more or {}).items():
        lines += [f"{title}:", "", *_markdown(table), ""]
    lines += [*_markdown(rows), "", *(f"- {note}" for note in notes)]
    (RESULTS / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for note in notes:
        console.print(f"[bold]{note}[/bold]")


def _markdown(rows: Sequence[Row]) -> list[str]:
    columns = list(rows[0]) if rows else []
    head = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return head + ["| " + " | ".join(cell_text(c, row[c]) for c in columns) + " |" for row in rows]


def parser(description: str, solvers: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The options all scripts share; ``solvers`` are those the script can compare, ours first."""
    result = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    result.add_argument("--quick", action="store_true", help="a few small settings only, to see that it runs")
    result.add_argument("--budget", type=float, default=1.0, help="seconds of repetitions per solver and setting")
    result.add_argument("--output", default=None, help="name of the result files (default: the script's name)")
    if solvers:
        result.add_argument("--solvers", default=",".join(solvers), help="comma-separated choice of solvers")
        result.add_argument(
            "--experiments",
            type=Path,
            default=None,
            help="folder with the experiments reg, cached_gram, tree, card",
        )
    return result


def synthetic(m: int, n: int, seed: int, n_informative: int = 50, snr: float = 1000.0) -> tuple[Any, Any]:
    """The paper's synthetic data, Fortran-ordered because every solver here reads columns."""
    from safescreen.datasets import make_sparse_logistic

    X, y, _ = make_sparse_logistic(m, n, n_informative, snr, random_state=seed)
    return np.asfortranarray(X), np.asarray(y, dtype=np.float64)
