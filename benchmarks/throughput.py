"""Nodes a second where the ridge is weak: the working tree against another commit, both taking turns in one run.

    python benchmarks/throughput.py REF [--quick] [--turns 1] [--least 2.0] [--names musk1,pomeroy --nodes 1000000]

Four trees that no one finishes in seconds, each to the same number of nodes on one thread. Time is that of the
processor, so that others who use it matter less; the gap says whether nodes became more by being worth less. With
``--least`` a smaller geometric mean of the ratios is a failure. Needs ``SAFESCREEN_DATA``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import harness
from against import ROOT, Version, checked_out
from harness import Row, console, geomean

LINES = [
    {"name": "spambase", "k": 10, "gamma": 1000.0, "nodes": 3_000},
    {"name": "musk1", "k": 10, "gamma": 100.0, "nodes": 60_000},
    {"name": "relathe", "k": 10, "gamma": 100.0, "nodes": 2_000},
    {"name": "pomeroy", "k": 5, "gamma": 100.0, "nodes": 60_000},
]


def serve() -> None:
    """Answer lines on standard input with seconds, nodes, objective and gap, until there are no more."""
    import safescreen as ss
    from safescreen import datasets

    known: dict[str, Any] = {}
    for line in sys.stdin:
        setting = json.loads(line)
        key = setting["name"]
        if key not in known:
            X, y = datasets.load_local(key)
            terms = {term: setting[term] for term in ("k", "gamma")}
            known = {key: ss.Problem(X, y, **terms, standardize=True, fit_intercept=True)}
        start = time.process_time()
        solution = ss.solve(known[key], rel_gap=1e-4, node_limit=setting["nodes"])
        answer = {"seconds": time.process_time() - start, "nodes": solution.nodes}
        print(json.dumps(answer | {"objective": solution.objective, "gap": solution.gap}), flush=True)


def line(setting: Row, this: Version, other: Version, turns: int) -> Row:
    """Both versions in turns; the fastest of each counts."""
    for version in (this, other):
        version.solve({**setting, "nodes": 50})  # compiles, and builds the problem's statistics
    ours, theirs = [], []
    for turn in range(turns):
        for version, answers in ((this, ours), (other, theirs)) if turn % 2 else ((other, theirs), (this, ours)):
            answers.append(version.solve(setting))
    best, other_best = (min(answers, key=lambda answer: answer["seconds"]) for answers in (ours, theirs))
    rate, other_rate = (answer["nodes"] / answer["seconds"] for answer in (best, other_best))
    return {
        **{key: setting[key] for key in ("name", "k", "gamma")},
        "nodes": best["nodes"],
        "other_nodes": other_best["nodes"],
        "seconds": best["seconds"],
        "other_seconds": other_best["seconds"],
        "nodes_a_second": rate,
        "other_nodes_a_second": other_rate,
        "ratio": rate / other_rate,
        "gap": best["gap"],
        "other_gap": other_best["gap"],
        "same_model": abs(best["objective"] - other_best["objective"]) <= 1e-9 * best["objective"],
    }


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("ref", nargs="?", help="the other commit: a hash, tag or branch")
    options.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options.add_argument("--quick", action="store_true", help="a tenth of the nodes")
    options.add_argument("--names", default=",".join(setting["name"] for setting in LINES), help="which of the trees")
    options.add_argument("--nodes", type=int, help="so many of each, or fewer where these are all")
    options.add_argument("--turns", type=int, default=1, help="repetitions, of which the fastest counts")
    options.add_argument("--least", type=float, default=0.0, help="fail below this geometric mean")
    arguments = options.parse_args()
    if arguments.serve:
        serve()
        return 0
    if arguments.ref is None:
        options.error("name the commit to compare with")
    part = 10 if arguments.quick else 1
    with checked_out(arguments.ref) as source:
        this, other = Version(ROOT / "src", __file__), Version(source, __file__)
        console.print("compiling both versions ...")
        rows = []
        for setting in LINES:
            if setting["name"] not in arguments.names.split(","):
                continue
            nodes = arguments.nodes or setting["nodes"] // part
            rows.append(line({**setting, "nodes": nodes}, this, other, arguments.turns))
            harness.say(rows[-1])
    mean = geomean(row["ratio"] for row in rows)
    harness.show(f"This version against {arguments.ref}", rows)
    harness.save("throughput", rows, [f"{mean:.2f} times the nodes a second of {arguments.ref}, geometric mean"])
    return int(mean < arguments.least)


if __name__ == "__main__":
    raise SystemExit(main())
