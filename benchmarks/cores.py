"""Cores of five real data sets: of how many features every model within 5 % of the best uses one, how long, checked.

    python benchmarks/cores.py [--sets golub,alon] [--at-least 1] [--hardness 8]

Five features, standardised, with intercept; one thread. Needs ``SAFESCREEN_DATA``. Every proof must be accepted, and no
core may be a fifth larger than the one recorded. Beside it: what screening decides about single features.

``--hardness`` also solves ten sets with 2, 5 and 10 features at three ridges, with so many seconds of processor time
each, and says what the size of a core at no tolerance had to do with what is left of the gap.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median

import harness
from harness import Row

SETS = ("golub", "alon", "chowdary", "pomeroy", "arcene")
GAMMAS = (100.0, 1000.0)
K, WITHIN = 5, 0.05
ALLOWED = 1.2
"""How much larger than recorded a core may be."""

MAP_SETS = (*SETS, "gse10072_sub200", "musk1", "spambase", "relathe", "newsgroups_tfidf")
MAP_BUDGETS = (2, 5, 10)
MAP_GAMMAS = (10.0, 100.0, 1000.0)
BRANCHES = (50, 50**2, 200**2)
"""Where the table of hardness is divided; the last two are those of the forecast in a search."""

WIDE = 0.1


def measure(name: str, gamma: float, at_least: int, folder: Path) -> Row:
    """One row of the table."""
    import safescreen as ss

    X, y = ss.datasets.load_local(name)
    problem = ss.Problem(X, y, k=K, gamma=gamma)
    screened = ss.screen(problem)
    before = time.process_time()
    core = ss.core(problem, within=WITHIN, at_least=at_least, proof=folder / "core.npz")
    cpu = time.process_time() - before
    check = ss.verify(folder / "core.npz", X, y)
    recorded = harness.floor("cores", "set", "gamma").get((name, gamma)) if at_least == 1 else None
    expected = None if recorded is None else recorded["core"]
    return {
        "set": name,
        "gamma": gamma,
        "features": problem.n_features,
        "screened_percent": round(screened.percent, 1),
        "objective": core.objective,
        "core": len(core),
        "recorded": expected,
        "against_recorded": harness.compare(len(core), expected, (ALLOWED - 1.0) * (expected or 0.0)),
        "seconds": core.seconds,
        "cpu_seconds": cpu,
        "checked": "yes" if check.valid else "WORSE",
    }


def hardness(name: str, k: int, gamma: float, seconds: float) -> Row:
    """A search with a limit, and the core at no tolerance of its best model."""
    import safescreen as ss

    X, y = ss.datasets.load_local(name)
    problem = ss.Problem(X, y, k=k, gamma=gamma)
    start = time.process_time()
    best = ss.solve(problem, callback=lambda _: time.process_time() - start > seconds)
    begun = time.process_time()
    core = len(ss.core(problem, within=0.0, upper_bound=best))
    return {
        "set": name,
        "k": k,
        "gamma": gamma,
        "root_gap": 1.0 - best.trace[0].lower_bound / best.objective,
        "core": core,
        "core_seconds": time.process_time() - begun,
        "status": str(best.status),
        "final_gap": best.gap,
        "nodes": best.nodes,
        "cpu_seconds": begun - start,
    }


def branches(row: Row) -> float:
    """What a search has to tell apart: columns, and where there is room for more than two features, pairs of them."""
    return float(row["core"]) ** (min(row["k"], 3) - 1)


def by_branches(rows: list[Row]) -> list[Row]:
    """What is left of the gap, by how much there was to tell apart, where the root left a wide gap."""
    table = []
    for low, high in zip((0, *BRANCHES), (*BRANCHES, float("inf")), strict=True):
        some = [row for row in rows if low <= branches(row) < high and row["root_gap"] >= WIDE]
        left = sorted(row["final_gap"] for row in some if row["status"] != "optimal")
        table.append(
            {
                "branches": f"{low:,} to {high:,}" if high < float("inf") else f"{low:,} and more",
                "settings": len(some),
                "proved": len(some) - len(left),
                "gap left, percent": f"{100 * left[0]:.2g} to {100 * left[-1]:.2g}" if left else "-",
                "median": f"{100 * median(left):.2g}" if left else "-",
            }
        )
    return table


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sets", default=",".join(SETS), help="data sets, separated by commas")
    options.add_argument("--at-least", type=int, default=1, help="how many of the features every good model uses")
    options.add_argument("--hardness", type=float, metavar="SECONDS", help="also of ten sets, with so much time each")
    options.add_argument("--quick", action="store_true", help="two sets only, to see that it runs")
    arguments = options.parse_args()
    sets = ("golub", "alon") if arguments.quick else arguments.sets.split(",")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for gamma in GAMMAS:
            for name in sets:
                rows.append(measure(name, gamma, arguments.at_least, Path(folder)))
                harness.say(rows[-1])
    harness.show(f"cores, k={K}, within {100 * WITHIN:g} %, at least {arguments.at_least}", rows)
    more: dict[str, list[Row]] = {}
    if arguments.hardness is not None:
        title = f"What {arguments.hardness:g} s leave of gaps over {100 * WIDE:g} % at the root"
        more[title] = by_branches(mapped(arguments.hardness, arguments.quick))
        harness.show(title, more[title])
    worse = sum("WORSE" in row.values() for row in rows)
    harness.save("cores", rows, [f"lines worse: {worse}"], more)
    return int(worse > 0)


def mapped(seconds: float, quick: bool) -> list[Row]:
    """All sets, budgets and ridges."""
    places = [(name, k, gamma) for name in MAP_SETS for k in MAP_BUDGETS for gamma in MAP_GAMMAS]
    rows = []
    for place in places[:3] if quick else places:
        rows.append(hardness(*place, seconds))
        harness.say(rows[-1])
    return rows


if __name__ == "__main__":
    raise SystemExit(main())
