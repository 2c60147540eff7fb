"""Where users live: weak ridge and small budgets on real data, standardised, to a gap of 1e-4 within 12 s.

Needs ``SAFESCREEN_DATA`` for all data sets but breast cancer; those that cannot be had are announced and
left out.
"""

from __future__ import annotations

import math
from typing import Any

import harness
import numpy as np
import rivals
from harness import Row, Task, console

SOLVERS = ("ours", "card")
REL_GAP = 1e-4


def load(name: str) -> tuple[Any, np.ndarray]:
    """A data set by its name, labels as -1 and 1."""
    from safescreen import datasets

    if name == "breast_cancer_interactions":
        return breast_cancer()
    X, y = datasets.load_local(name)
    return X, y.astype(np.float64)


def breast_cancer() -> tuple[np.ndarray, np.ndarray]:
    """The 30 measurements and their products, standardised *before* multiplying, as the recorded lines were.

    The package's loader multiplies raw measurements; that is another problem, with other gaps and trees.
    """
    from safescreen.datasets import load_breast_cancer_interactions

    X, labels, _ = load_breast_cancer_interactions()
    base = X[:, :30]
    base = (base - base.mean(axis=0)) / base.std(axis=0)
    first, second = np.triu_indices(30)
    return np.hstack([base, base[:, first] * base[:, second]]), np.where(labels > 0, 1.0, -1.0)


def ours_cells(task: Task, timing: harness.Timing, recorded: Row) -> Row:
    """Our result, with the root's gap and how far its first incumbent was from the best known."""
    import safescreen as ss

    problem = rivals.SafeScreen().problem(task)
    screening = ss.screen(problem)
    outcome = timing.outcome
    finished = outcome.gap <= REL_GAP
    return {
        "objective": outcome.objective,
        "gap_percent": 100 * (outcome.objective - ss.relax(problem).lower_bound) / outcome.objective,
        "first_incumbent_percent": 100 * (screening.upper_bound / outcome.objective - 1.0),
        "screened_percent": screening.percent,
        "nodes": outcome.nodes,
        "seconds": timing.best,
        "final_gap": outcome.gap,
        "finished": "yes" if finished else ("WORSE" if recorded["finished"] == "yes" else "no"),
    }


def card_cells(timing: harness.Timing, ours: harness.Timing | None) -> Row:
    """The experiment's result, and whether ours is as good: as fast, or with a smaller gap at the limit."""
    outcome = timing.outcome
    cells = {
        "card_objective": outcome.objective,
        "card_nodes": outcome.nodes,
        "card_seconds": timing.best,
        "card_gap": outcome.gap,
    }
    if ours is None:
        return cells
    both = outcome.gap <= REL_GAP and ours.outcome.gap <= REL_GAP
    good = ours.best <= timing.best if both else ours.outcome.gap <= max(outcome.gap, REL_GAP)
    ratio = timing.best / ours.best if both else math.nan
    return cells | {"ratio": ratio, "against_card": "ok" if good else "WORSE"}


def main() -> int:
    options = harness.parser(__doc__ or "", SOLVERS)
    options.add_argument("--time-limit", type=float, default=12.0)
    arguments = options.parse_args()
    solvers = rivals.build(arguments.solvers, arguments.experiments)
    console.print("compiling everyone ...")
    rivals.warm_up(solvers, price=False)

    rows: list[Row] = []
    for (name, k, gamma), recorded in harness.floor("weak_ridge", "dataset", "k", "gamma").items():
        if arguments.quick and not name.startswith("breast"):
            continue
        try:
            X, y = load(name)
        except FileNotFoundError as error:
            console.print(f"[yellow]without {name}: {error}[/yellow]")
            continue
        task = Task(X, y, gamma, k=int(k), standardize=True, rel_gap=REL_GAP, time_limit=arguments.time_limit)
        runs = {solver_name: solver.prepare(task) for solver_name, solver in solvers.items()}
        timings = harness.interleaved(runs, arguments.budget)
        row: Row = {"dataset": name, "k": int(k), "gamma": gamma}
        if "ours" in timings:
            row |= ours_cells(task, timings["ours"], recorded)
        if "card" in timings:
            row |= card_cells(timings["card"], timings.get("ours"))
        row["floor_seconds"] = recorded["seconds"]
        rows.append(row)
        harness.say(row)

    harness.show("weak ridge, relative gap 1e-4", rows, hide=("_objective",))
    worse = sum("WORSE" in row.values() for row in rows)
    ratio = harness.geomean(row.get("ratio", math.nan) for row in rows)
    notes = [
        f"against the experiment: {ratio:.2f} times faster in the geometric mean of what both finished",
        f"lines worse: {worse}",
    ]
    harness.save(arguments.output or "weak_ridge", rows, notes)
    return int(worse > 0)


if __name__ == "__main__":
    raise SystemExit(main())
