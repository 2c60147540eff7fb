"""How the search scales with threads: trees at several thread counts, and small trees that must not suffer.

Where the data sets cannot be had (``SAFESCREEN_DATA``), synthetic ones of the same shape take their place. Every run
ends at a time limit at the latest. The speed-up is the ratio of the times in which the tree was searched, if one
thread and many both finish; else of the times to the gap that both of them reach. Nodes per second are given as well.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import harness
import numpy as np
from harness import Row, Task, console

LARGE_TREE = 20_000
"""Nodes from which on a tree counts as large."""


def correlated(m: int, n: int, factors: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features that share a few factors, as expression levels do, and labels that depend on five of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, factors)) @ rng.standard_normal((factors, n)) / np.sqrt(factors)
    X += rng.standard_normal((m, n))
    score = X[:, :: n // 5][:, :5] @ np.array([2.0, -2.0, 2.0, -2.0, 2.0])
    return X, np.where(score + rng.logistic(size=m) > 0.0, 1.0, -1.0)


def loaded(name: str, rows: int, columns: int) -> tuple[str, np.ndarray, np.ndarray]:
    """A data set, or a synthetic one of its shape."""
    if "SAFESCREEN_DATA" in os.environ:
        from safescreen.datasets import load_local

        X, y = load_local(name)
        return name, np.asarray(X, np.float64), np.asarray(y, np.float64)
    return f"like {name}", *correlated(rows, columns, 12, 0)


def reg() -> tuple[str, Task]:
    """A setting of the paper."""
    X, y = harness.synthetic(200, 500, 0)
    return "REG n=500 m=200 gamma=1.8 mu=5e-4", Task(X, y, 1.8, mu=5e-4, rel_gap=1e-6)


def real(name: str, rows: int, columns: int, k: int, gamma: float) -> tuple[str, Task]:
    """A data set of this shape with a budget."""
    name, X, y = loaded(name, rows, columns)
    return f"{name} k={k} gamma={gamma:g}", Task(X, y, gamma, k=k, standardize=True)


def genes() -> tuple[str, Task]:
    """As many columns as a chip has, most of which stay in the search: nodes pass over ten megabytes."""
    X, y = correlated(102, 12_600, 5, 0)
    return "synthetic genes 102 x 12,600 k=5 gamma=100", Task(X, y, 100.0, k=5, standardize=True)


TREES: dict[str, Callable[[], tuple[str, Task]]] = {
    "reg": reg,
    "musk1": partial(real, "musk1", 476, 166, 10, 50.0),
    "genes": genes,
    "alon": partial(real, "alon", 62, 2000, 10, 200.0),
    "musk1-weak": partial(real, "musk1", 476, 166, 10, 100.0),
    "pomeroy": partial(real, "pomeroy", 60, 7128, 5, 100.0),
}
"""The last two have more than 20,000 nodes on the real data."""


def explored(problem: Any, task: Task, threads: int, seconds: float) -> Row:
    """One run: how long the tree took, and the gap at every moment."""
    import safescreen as ss

    begin, processor = time.perf_counter(), time.process_time()
    solution = ss.solve(problem, rel_gap=task.rel_gap, n_threads=threads, time_limit=seconds)
    total, processor = time.perf_counter() - begin, time.process_time() - processor
    before = solution.trace[0].seconds
    tree = solution.trace[-1].seconds - before
    gaps = [(point.seconds - before, 1.0 - point.lower_bound / point.upper_bound) for point in solution.trace]
    return {
        "threads": threads,
        "status": str(solution.status),
        "objective": solution.objective,
        "gap": solution.gap,
        "nodes": solution.nodes,
        "seconds": total,
        "processor_seconds": processor,
        "tree_seconds": tree,
        "nodes_per_second": solution.nodes / max(tree, 1e-9),
        "gaps": gaps,
    }


def seconds_to(run: Row, gap: float) -> float:
    """When a run had proved a gap."""
    return next((seconds for seconds, reached in run["gaps"] if reached <= gap * (1.0 + 1e-9)), float("inf"))


def scaled(name: str, runs: list[Row]) -> list[Row]:
    """The runs of one tree, compared with the first."""
    one, rows = runs[0], []
    for run in runs:
        finished = one["status"] == run["status"] == "optimal"
        same_gap = max(one["gap"], run["gap"])
        by_gap = seconds_to(one, same_gap) / max(seconds_to(run, same_gap), 1e-9)
        row = {key: cell for key, cell in run.items() if key != "gaps"}
        row["speedup"] = one["tree_seconds"] / run["tree_seconds"] if finished else by_gap
        row["rate_ratio"] = run["nodes_per_second"] / one["nodes_per_second"]
        row["same"] = "ok" if abs(run["objective"] / one["objective"] - 1.0) <= one["gap"] + run["gap"] else "WORSE"
        row["large_tree"] = one["nodes"] > LARGE_TREE
        rows.append({"tree": name, **row})
    return rows


def measure(tree: str, counts: list[int], seconds: float, most: int) -> list[Row]:
    """All thread counts on one tree, taking turns; of several short runs the quickest counts."""
    name, task = TREES[tree]()
    problem = problem_of(task)
    best: dict[int, Row] = {}
    for turn in range(most):
        for threads in counts:
            if turn == 0 or best[threads]["seconds"] < 2.0:
                run = explored(problem, task, threads, seconds)
                best[threads] = min(best.get(threads, run), run, key=lambda known: known["tree_seconds"])
    rows = scaled(name, [best[threads] for threads in counts])
    for row in rows:
        harness.say(row)
    return rows


def problem_of(task: Task) -> Any:
    """The task as a `Problem`: like the paper's without an intercept, or standardised with one."""
    import safescreen as ss

    return ss.Problem(
        task.X,
        task.y,
        mu=task.mu,
        k=task.k,
        gamma=task.gamma,
        standardize=task.standardize,
        fit_intercept=task.standardize,
    )


def small_trees(threads: int) -> list[Row]:
    """The recorded settings of the paper, one thread against many: none should be slower."""
    rows = []
    for row in harness.recorded("reg"):
        mu, m, gamma = float(row["mu"]), int(row["m"]), float(row["gamma"])
        X, y = harness.synthetic(m, 500, 0)
        rows.append(_compared(f"REG mu={mu:g} m={m} gamma={gamma}", Task(X, y, gamma, mu=mu, rel_gap=1e-6), threads))
    for row in harness.recorded("card"):
        n, m, gamma = int(row["n"]), int(row["m"]), float(row["gamma"])
        if n <= 1000:
            X, y = harness.synthetic(m, n, 0)
            rows.append(_compared(f"CARD n={n} m={m} gamma={gamma}", Task(X, y, gamma, k=50), threads))
    return rows


def _compared(name: str, task: Task, threads: int) -> Row:
    """Best times of short, interleaved runs."""
    problem = problem_of(task)
    runs: dict[int, list[Row]] = {1: [], threads: []}
    begin = time.perf_counter()
    while len(runs[1]) < 2 or (len(runs[1]) < 15 and time.perf_counter() - begin < 1.0):
        for count, done in runs.items():
            done.append(explored(problem, task, count, 30.0))
    one, many = (min(done, key=lambda run: run["seconds"]) for done in runs.values())
    return {
        "instance": name,
        "nodes": one["nodes"],
        "milliseconds_one": 1e3 * one["seconds"],
        f"milliseconds_{threads}": 1e3 * many["seconds"],
        "speedup": one["seconds"] / many["seconds"],
        "same": "ok" if abs(many["objective"] / one["objective"] - 1.0) <= task.rel_gap else "WORSE",
    }


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--threads", default="1,2", help="thread counts, one first (default: 1,2)")
    options.add_argument("--trees", default=",".join(TREES), help="which of the trees")
    options.add_argument("--seconds", type=float, default=15.0, help="time limit of a run (default: 15)")
    options.add_argument("--repeat", type=int, default=3, help="runs of a short search (default: 3)")
    options.add_argument("--small", action="store_true", help="also the paper's settings, one thread against most")
    options.add_argument("--json", type=Path, default=harness.RESULTS / "threads.json", help="where the figures go")
    arguments = options.parse_args()
    counts = [int(count) for count in arguments.threads.split(",")]

    import safescreen as ss
    from safescreen.testing.machine import machine

    console.print("compiling ...")
    ss.solve(ss.Problem(*harness.synthetic(40, 60, 0), k=3), n_threads=2)
    rows = [
        row for tree in arguments.trees.split(",") for row in measure(tree, counts, arguments.seconds, arguments.repeat)
    ]
    harness.show("trees and threads", rows)
    small = small_trees(max(counts)) if arguments.small else []
    if small:
        harness.show(f"small trees, {max(counts)} threads against one", small)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    figures = {"machine": machine(), "cores": os.cpu_count(), "trees": rows, "small": small}
    arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    console.print(f"written: {arguments.json}")
    return int(any("WORSE" in row.values() for row in [*rows, *small]))


if __name__ == "__main__":
    raise SystemExit(main())
