"""Cores of five real data sets: of how many features every model within 5 % of the best uses one, how long, checked.

    python benchmarks/cores.py [--sets golub,alon] [--at-least 1]

Five features, standardised, with intercept; one thread. Needs ``SAFESCREEN_DATA``. Every proof must be accepted.
Beside it: what screening decides about single features, and how long the local searches for a good model took.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import harness

SETS = ("golub", "alon", "chowdary", "pomeroy", "arcene")
GAMMAS = (100.0, 1000.0)
K, WITHIN = 5, 0.05


def measure(name: str, gamma: float, at_least: int, folder: Path) -> dict[str, Any]:
    """One row of the table."""
    import safescreen as ss

    X, y = ss.datasets.load_local(name)
    problem = ss.Problem(X, y, k=K, gamma=gamma)
    screened = ss.screen(problem)
    before = time.process_time()
    core = ss.core(problem, within=WITHIN, at_least=at_least, proof=folder / "core.npz")
    cpu = time.process_time() - before
    check = ss.verify(folder / "core.npz", X, y)
    return {
        "set": name,
        "gamma": gamma,
        "features": problem.n_features,
        "screened %": round(screened.percent, 1),
        "objective": round(core.objective, 5),
        "core": len(core),
        "seconds": round(core.seconds, 2),
        "cpu": round(cpu, 2),
        "checked": check.valid,
    }


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sets", default=",".join(SETS), help="data sets, separated by commas")
    options.add_argument("--at-least", type=int, default=1, help="how many of the features every good model uses")
    arguments = options.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for gamma in GAMMAS:
            for name in arguments.sets.split(","):
                rows.append(measure(name, gamma, arguments.at_least, Path(folder)))
                harness.say(rows[-1])
    harness.show(f"cores, k={K}, within {100 * WITHIN:g} %, at least {arguments.at_least}", rows)
    return int(not all(row["checked"] for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
