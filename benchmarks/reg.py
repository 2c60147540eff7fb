"""The 18 REG settings of the paper (price per feature) to a gap of 1e-6, one thread, beside the rivals."""

from __future__ import annotations

import math
import time
from itertools import product
from typing import Any

import harness
import rivals
from harness import Row, Task, Timing, compare, console, geomean

SOLVERS = ("ours", "el0ps", "cached_gram", "tree")
SETTINGS = list(product((5e-4, 1e-3), (200, 500, 1000), (1.0, 1.5, 1.8)))


def root(task: Task, objective: float) -> Row:
    """Integrality gap and screening at the root, and what building the `Problem` costs."""
    import safescreen as ss

    start = time.perf_counter()
    problem = rivals.SafeScreen().problem(task)
    build = time.perf_counter() - start
    return {
        "gap_percent": 100 * (objective - ss.relax(problem).lower_bound) / objective,
        "screened_percent": ss.screen(problem).percent,
        "build_seconds": build,
    }


def against_floor(row: Row, recorded: Row | None) -> Row:
    """Compare objective, integrality gap and screening with the recorded line."""
    recorded = recorded or {}
    return {
        "objective_vs_floor": compare(row["objective"], recorded.get("objective"), 1.1e-6),
        "gap_vs_floor": compare(row["gap_percent"], recorded.get("gap_percent"), 2e-4),
        "screened_vs_floor": compare(
            -row["screened_percent"], -recorded["screened_percent"] if recorded else None, 0.11
        ),
    }


def line(task: Task, timings: dict[str, Timing], recorded: Row | None) -> Row:
    """One row of the table: our result, the floor's verdict, everyone's seconds."""
    row: Row = {}
    if "ours" in timings:
        ours = timings["ours"].outcome
        row |= {"objective": ours.objective, "support": ours.details["support"], "final_gap": ours.gap}
        row |= root(task, ours.objective)
        row |= against_floor(row, recorded)
    for name, timing in timings.items():
        row |= {
            f"{name}_nodes": timing.outcome.nodes,
            f"{name}_seconds": timing.best,
            f"{name}_median": timing.median,
        }
        if name == "ours":
            continue
        row[f"{name}_objective"] = timing.outcome.objective
        row[f"{name}_ratio"] = timing.best / timings["ours"].best if "ours" in timings else math.nan
    return row


def notes(rows: list[Row], names: list[str]) -> list[str]:
    """Geometric means, and the number of lines that fall short of the floor."""
    found = []
    for name in names:
        seconds = geomean(row[f"{name}_seconds"] for row in rows)
        ratio = geomean(row.get(f"{name}_ratio", math.nan) for row in rows)
        found.append(
            f"{name}: {seconds:.4f} s in the geometric mean"
            + (f", ours {ratio:.2f} times faster (best of the repetitions)" if not math.isnan(ratio) else "")
        )
    worse = sum("WORSE" in row.values() for row in rows)
    found.append(f"lines worse than the floor: {worse} of {len(rows)}")
    return found


def main() -> int:
    options = harness.parser(__doc__ or "", SOLVERS)
    options.add_argument("--seeds", type=int, default=1, help="number of seeds per setting, starting at 0")
    options.add_argument("--time-limit", type=float, default=120.0)
    arguments = options.parse_args()

    solvers = rivals.build(arguments.solvers, arguments.experiments)
    console.print("compiling everyone ...")
    rivals.warm_up(solvers, price=True)
    settings = SETTINGS[9:12] if arguments.quick else SETTINGS
    recorded = harness.floor("reg", "mu", "m", "gamma", "seed")

    rows: list[Row] = []
    for (mu, m, gamma), seed in product(settings, range(arguments.seeds)):
        X, y = harness.synthetic(m, 500, seed)
        task = Task(X, y, gamma, mu=mu, rel_gap=1e-6, time_limit=arguments.time_limit)
        runs: dict[str, Any] = {name: solver.prepare(task) for name, solver in solvers.items()}
        timings = harness.interleaved(runs, arguments.budget)
        row = {"mu": mu, "m": m, "gamma": gamma, "seed": seed}
        row |= line(task, timings, recorded.get((mu, float(m), gamma, float(seed))))
        rows.append(row)
        harness.say(row)

    harness.show("REG, relative gap 1e-6", rows, hide=("median", "_objective", "final_gap", "build_seconds"))
    harness.save(arguments.output or "reg", rows, notes(rows, list(solvers)))
    return int(any("WORSE" in row.values() for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
