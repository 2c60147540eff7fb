"""How soon one, two and three exchanges are proved where the ridge is weak: the lines of the map of proofs.

    python benchmarks/exchanges.py [--sets alon,arcene] [--k 5] [--gamma 100,1000] [--time-limit 20]

Ten sets, budgets of 2, 5 and 10, ridges from 1 to 1,000, standardised, with intercept; one thread. A line that is
proved as a whole has all its exchanges proved. Seconds are those of the processor, so that a busy machine counts for
little; they include root and first model. The first sentence is about whichever model was the best one by then. Needs
``SAFESCREEN_DATA``.
"""

from __future__ import annotations

import argparse
import time
from itertools import product
from typing import Any

import harness

SETS = "arcene,chowdary,golub,alon,gse10072_sub200,newsgroups_tfidf,spambase,musk1,relathe,pomeroy"
SHOWN = (1, 2, 3)
GAP = 1e-4


def measure(name: str, k: int, gamma: float, seconds: float) -> dict[str, Any]:
    """One line of the map."""
    import safescreen as ss

    X, y = ss.datasets.load_local(name)
    problem = ss.Problem(X, y, k=k, gamma=gamma)
    reached: dict[int, float] = {}
    first: list[float] = []
    latest = [0.0]
    start = time.process_time()

    def look(moment: Any) -> bool:
        """Note what is new; a better model begins again."""
        spent = time.process_time() - start
        if moment.upper_bound != latest[0]:
            reached.clear()
        latest[0] = moment.upper_bound
        for exchanges in range(1, moment.proved_exchanges + 1):
            reached.setdefault(exchanges, spent)
        if moment.proved_exchanges and not first:
            first.append(spent)
        return spent >= seconds

    solution = ss.solve(problem, rel_gap=GAP, callback=look)
    spent = time.process_time() - start
    for exchanges in range(1, solution.proved_exchanges + 1):
        reached.setdefault(exchanges, spent)
    return {
        "set": name,
        "k": k,
        "gamma": gamma,
        "gap_percent": 100.0 * solution.gap,
        "nodes": solution.nodes,
        "seconds": spent,
        "exchanges": solution.proved_exchanges,
        "first": first[0] if first else spent,
        **{f"s_{exchanges}": reached.get(exchanges, float("nan")) for exchanges in SHOWN},
    }


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """How many lines have how many exchanges proved."""
    unproved = [row for row in rows if row["gap_percent"] > 100.0 * GAP]
    lines = [f"{len(rows) - len(unproved)} of {len(rows)} proved"]
    for exchanges in SHOWN:
        count = sum(row["exchanges"] >= exchanges for row in unproved)
        lines.append(f"{exchanges} exchanged: {count} of the {len(unproved)} unproved")
    for name, model in (("first", "the best one by then"), ("s_1", "the best one at the end")):
        soon = sum(row[name] < 1.0 for row in rows)
        lines.append(f"1 exchanged within a second, of {model}: {soon} of {len(rows)}")
    return lines


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sets", default=SETS, help="data sets, separated by commas")
    options.add_argument("--k", default="2,5,10", help="budgets")
    options.add_argument("--gamma", default="1,10,100,1000", help="ridges")
    options.add_argument("--time-limit", type=float, default=20.0, help="seconds of the processor per line")
    options.add_argument("--output", default="exchanges", help="name of the results")
    arguments = options.parse_args()

    import safescreen.kernels

    safescreen.kernels.warm_up()
    rows = []
    budgets, ridges = map(int, arguments.k.split(",")), map(float, arguments.gamma.split(","))
    for name, k, gamma in product(arguments.sets.split(","), budgets, ridges):
        rows.append(measure(name, k, gamma, arguments.time_limit))
        harness.say(rows[-1])
    notes = summary(rows)
    harness.show("seconds until so many exchanges are proved", rows)
    harness.save(arguments.output, rows, notes)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
