"""Two threads against one: the same objective everywhere, and the speed-up on large trees."""

from __future__ import annotations

import os
from collections.abc import Iterator

import harness
import rivals
from harness import Row, Task, console, geomean

LARGE_TREE = 20_000
WANTED = 1.6


def instances(quick: bool) -> Iterator[tuple[str, Task]]:
    """Every REG and CARD setting and (where the data can be had) every real one."""
    for row in harness.recorded("reg")[5:6] if quick else harness.recorded("reg"):
        mu, m, gamma = float(row["mu"]), int(row["m"]), float(row["gamma"])
        X, y = harness.synthetic(m, 500, 0)
        yield f"REG mu={mu:g} m={m} gamma={gamma}", Task(X, y, gamma, mu=mu, rel_gap=1e-6)
    for row in harness.recorded("card")[11:12] if quick else harness.recorded("card"):
        n, m, gamma = int(row["n"]), int(row["m"]), float(row["gamma"])
        X, y = harness.synthetic(m, n, 0)
        yield f"CARD n={n} m={m} gamma={gamma}", Task(X, y, gamma, k=50, rel_gap=1e-4)
    if "SAFESCREEN_DATA" in os.environ and not quick:
        yield from real_instances()


def real_instances() -> Iterator[tuple[str, Task]]:
    """The real data sets of the paper's Table 5 and the stand-in for its third."""
    from safescreen.datasets import load_local

    for row in harness.recorded("real"):
        X, y = load_local(row["dataset"])
        mu, gamma = float(row["mu"]), float(row["gamma"])
        task = Task(X, y.astype(float), gamma, mu=mu, standardize=True, rel_gap=1e-4)
        yield f"{row['dataset']} mu={mu:g} gamma={gamma}", task


def main() -> int:
    options = harness.parser(__doc__ or "")
    options.add_argument("--threads", type=int, default=2)
    arguments = options.parse_args()
    solvers: dict[str, rivals.Solver] = {
        "one": rivals.SafeScreen("one", n_threads=1),
        "many": rivals.SafeScreen("many", n_threads=arguments.threads),
    }
    console.print("compiling ...")
    for price in (True, False):
        rivals.warm_up(solvers, price)

    rows: list[Row] = []
    for name, task in instances(arguments.quick):
        runs = {key: solver.prepare(task) for key, solver in solvers.items()}
        timings = harness.interleaved(runs, arguments.budget)
        one, many = timings["one"], timings["many"]
        difference = abs(one.outcome.objective - many.outcome.objective) / one.outcome.objective
        large = one.outcome.nodes > LARGE_TREE
        speedup = one.best / many.best
        row = {
            "instance": name,
            "objective": one.outcome.objective,
            "difference": difference,
            "same": "ok" if difference <= task.rel_gap else "WORSE",
            "nodes_one": one.outcome.nodes,
            "nodes_many": many.outcome.nodes,
            "seconds_one": one.best,
            "seconds_many": many.best,
            "speedup": speedup,
            "large_tree": ("ok" if speedup >= WANTED else "WORSE") if large else "-",
        }
        rows.append(row)
        harness.say(row)

    harness.show(f"{arguments.threads} threads against one", rows)
    large_trees = geomean(row["speedup"] for row in rows if row["large_tree"] != "-")
    notes = [f"speed-up on trees over {LARGE_TREE:,} nodes: {large_trees:.2f} in the geometric mean"]
    harness.save(arguments.output or "threads", rows, notes)
    return int(any("WORSE" in row.values() for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
