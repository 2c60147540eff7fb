"""The working tree against another commit: REG and CARD settings, both versions taking turns in one run.

    python benchmarks/against.py REF [--quick] [--least 0.97]

Each version solves in a process of its own, which times itself. The ratio of a line is the other version's fastest
repetition over this one's, so more than 1 is faster. With ``--least`` a smaller geometric mean is a failure.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import harness
from harness import Row, console, geomean

ROOT = Path(__file__).resolve().parents[1]
REG = [{"set": "REG", "n": 500, "m": m, "mu": mu, "gamma": gamma, "rel_gap": 1e-6}
       for mu, m, gamma in product((5e-4, 1e-3), (200, 500, 1000), (1.0, 1.5, 1.8))]  # fmt: skip
CARD = [{"set": "CARD", "n": n, "m": m, "k": 50, "gamma": gamma, "rel_gap": 1e-4}
        for n, m, gamma in product((200, 1000, 2941), (200, 500, 1000), (1.0, 1.5, 1.8))]  # fmt: skip


def serve() -> None:
    """Answer settings on standard input with seconds, nodes and objective, until there are no more."""
    import safescreen as ss

    known: dict[str, Any] = {}
    for line in sys.stdin:
        setting = json.loads(line)
        if line not in known:
            X, y = harness.synthetic(setting["m"], setting["n"], 0)
            terms = {key: setting[key] for key in ("mu", "k", "gamma") if key in setting}
            known = {line: ss.Problem(X, y, **terms, fit_intercept=False, standardize=False)}
        start = time.perf_counter()
        solution = ss.solve(known[line], rel_gap=setting["rel_gap"], time_limit=60.0)
        seconds = time.perf_counter() - start
        print(json.dumps({"seconds": seconds, "nodes": solution.nodes, "objective": solution.objective}), flush=True)


class Version:
    """One version of the package, solving in its own process: a script's, which serves."""

    def __init__(self, source: Path, script: str = __file__) -> None:
        environment = {**os.environ, "PYTHONPATH": str(source)}
        command = [sys.executable, script, "--serve"]
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def solve(self, setting: Row) -> Row:
        """Solve once."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(setting) + "\n")
        self._process.stdin.flush()
        answer: Row = json.loads(self._process.stdout.readline())
        return answer


@contextmanager
def checked_out(ref: str) -> Iterator[Path]:
    """The sources of another commit, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "other"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(target), ref], check=True)
        try:
            yield target / "src"
        finally:
            subprocess.run([*git, "remove", "--force", str(target)], check=True)


def line(setting: Row, this: Version, other: Version, budget: float) -> Row:
    """Both versions in turns, as often as the budget of seconds allows."""
    first = (this.solve(setting), other.solve(setting))  # the first solve also builds the problem's statistics
    turns = max(2, min(15, int(budget / max(first[0]["seconds"], first[1]["seconds"], 1e-9))))
    ours, theirs = [], []
    for turn in range(turns):
        for version, seconds in ((this, ours), (other, theirs)) if turn % 2 else ((other, theirs), (this, ours)):
            seconds.append(version.solve(setting)["seconds"])
    return {
        **{key: setting.get(key, "") for key in ("set", "n", "m", "mu", "k", "gamma")},
        "nodes": first[0]["nodes"],
        "other_nodes": first[1]["nodes"],
        "seconds": min(ours),
        "other_seconds": min(theirs),
        "ratio": min(theirs) / min(ours),
        "same_answer": first[0]["objective"] == first[1]["objective"],
    }


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("ref", nargs="?", help="the other commit: a hash, tag or branch")
    options.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options.add_argument("--quick", action="store_true", help="a few settings only")
    options.add_argument("--budget", type=float, default=1.0, help="seconds of repetitions per version and setting")
    options.add_argument("--least", type=float, default=0.0, help="fail below this geometric mean")
    arguments = options.parse_args()
    if arguments.serve:
        serve()
        return 0
    if arguments.ref is None:
        options.error("name the commit to compare with")
    settings = REG[::6] + CARD[:12:4] if arguments.quick else REG + CARD
    with checked_out(arguments.ref) as source:
        this, other = Version(ROOT / "src"), Version(source)
        console.print("compiling both versions ...")
        rows = []
        for setting in settings:
            rows.append(line(setting, this, other, arguments.budget))
            harness.say(rows[-1])
    means = {name: geomean(row["ratio"] for row in rows if row["set"] == name) for name in ("REG", "CARD")}
    harness.show(f"This version against {arguments.ref}", rows)
    notes = [f"{name}: {mean:.3f} times the speed of {arguments.ref}, geometric mean" for name, mean in means.items()]
    notes.append(f"the same nodes on {sum(row['nodes'] == row['other_nodes'] for row in rows)} of {len(rows)} lines")
    harness.save("against", rows, notes)
    return int(any(mean < arguments.least for mean in means.values()))


if __name__ == "__main__":
    raise SystemExit(main())
