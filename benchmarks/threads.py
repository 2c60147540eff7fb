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
    """REG, CARD and (where the data can be had) real problems, the large trees among them."""
    reg = [(5e-4, 500, 1.8), (5e-4, 200, 1.5), (1e-3, 1000, 1.8)]
    card = [(2941, 200, 1.5), (2941, 500, 1.5), (2941, 200, 1.8), (2941, 500, 1.8), (1000, 200, 1.8)]
    for mu, m, gamma in reg[:1] if quick else reg:
        X, y = harness.synthetic(m, 500, 0)
        yield f"REG mu={mu:g} m={m} gamma={gamma}", Task(X, y, gamma, mu=mu, rel_gap=1e-6)
    for n, m, gamma in card[-1:] if quick else card:
        X, y = harness.synthetic(m, n, 0)
        yield f"CARD n={n} m={m} gamma={gamma}", Task(X, y, gamma, k=50, rel_gap=1e-4)
    if "SAFESCREEN_DATA" in os.environ and not quick:
        yield from real_instances()


def real_instances() -> Iterator[tuple[str, Task]]:
    """Arcene with its large trees."""
    from safescreen.datasets import load_local

    X, y = load_local("arcene")
    for mu in (5e-4, 1e-3):
        task = Task(X, y.astype(float), 1.5, mu=mu, standardize=True, rel_gap=1e-4)
        yield f"arcene mu={mu:g} gamma=1.5", task


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
