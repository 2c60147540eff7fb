"""Proofs: what writing one costs, how large it is, and how long an independent check takes.

The 18 REG settings (gap 1e-6), the CARD settings with n <= 1,000 and m >= 500, and the real sets (gap 1e-4; need
``SAFESCREEN_DATA``). Every proof must be accepted with a certified gap no larger than the one requested.

Writing is compared on a problem whose statistics and fingerprint are known. Proofs go to a folder in memory where there
is one, each to a new file: a disk may take longer for a new file than the solver for a small problem, and what it takes
is noted. A check starts from the arrays, so it is compared with the whole way from the arrays to the proof.
"""

from __future__ import annotations

import os
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any

import harness
import rivals
from harness import Outcome, Row, Task, geomean

REG = [("reg", 500, m, mu, None, gamma) for mu, m, gamma in product((5e-4, 1e-3), (200, 500, 1000), (1.0, 1.5, 1.8))]
CARD = [("card", n, m, None, 50, gamma) for n, m, gamma in product((200, 1000), (500, 1000), (1.0, 1.5, 1.8))]
RIDGES = {"arcene": (0.5, 1.0, 1.5), "newsgroups_tfidf": (0.5, 0.7, 1.0)}  # as in the paper's Table 5
REAL = [
    (name, None, None, mu, None, gamma)
    for name, ridges in RIDGES.items()
    for mu, gamma in product((5e-4, 1e-3), ridges)
]


def load(name: str, n: int | None, m: int | None, mu: float | None, k: int | None, gamma: float) -> Task:
    """The data and parameters of one line."""
    if n is None or m is None:
        from safescreen.datasets import load_local

        X, y = load_local(name)
        return Task(X, y.astype(float), gamma, mu=mu, standardize=True, rel_gap=1e-4)
    X, y = harness.synthetic(m, n, 0)
    return Task(X, y, gamma, mu=mu, k=k, rel_gap=1e-6 if name == "reg" else 1e-4)


def line(task: Task, folder: Path, budget: float) -> Row:
    """Solve without and with a proof, and check it, taking turns."""
    import safescreen as ss

    problem = rivals.SafeScreen().problem(task)
    proofs: list[Path] = []
    checks: list[Any] = []

    def solve(given: Any, prove: bool = True) -> Outcome:
        if prove:
            proofs.append(folder / f"{len(proofs)}.npz")
        solution = ss.solve(given, rel_gap=task.rel_gap, proof=proofs[-1] if prove else None)
        return Outcome(solution.objective, solution.nodes, solution.gap)

    def check() -> Outcome:
        checks.append(ss.verify(proofs[-1], task.X, task.y))
        return Outcome(checks[-1].objective, checks[-1].nodes, checks[-1].gap)

    runs = {
        "plain": lambda: solve(problem, prove=False),
        "proof": lambda: solve(problem),
        "fresh": lambda: solve(rivals.SafeScreen().problem(task)),
        "check": check,
    }
    timings = harness.interleaved(runs, budget, most=200)
    plain, proof, fresh, checking = (timings[name].best for name in runs)
    result = checks[-1]
    good = result.valid and result.gap <= task.rel_gap and result.lower_bound <= result.objective
    return {
        "nodes": timings["plain"].outcome.nodes,
        "seconds": plain,
        "with_proof": proof,
        "slower_percent": 100.0 * (proof / plain - 1.0),
        "extra_ms": 1e3 * (proof - plain),
        "from_data": fresh,
        "check_seconds": checking,
        "check_ratio": checking / fresh,
        "megabytes": proofs[-1].stat().st_size / 1e6,
        "certified_gap": result.gap,
        "accepted": "yes" if good else f"WORSE {result.reason}",
    }


def new_file(folder: str) -> float:
    """Median milliseconds for a small file under a temporary name that gets its own."""
    seconds = []
    with tempfile.TemporaryDirectory(dir=folder) as inside:
        for number in range(200):
            start = time.perf_counter()
            part = Path(inside) / f"{number}.part"
            part.write_bytes(bytes(10_000))
            part.replace(part.with_suffix(".npz"))
            seconds.append(time.perf_counter() - start)
    return 1e3 * sorted(seconds)[100]


def main() -> int:
    options = harness.parser(__doc__ or "", ())
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()
    options.add_argument("--folder", default=memory, help="where proofs are written")
    arguments = options.parse_args()
    import safescreen as ss

    X, y, _ = ss.datasets.make_sparse_logistic(60, 20, 3, 1.0, random_state=0)
    ss.solve(ss.Problem(X, y, k=3, fit_intercept=False, standardize=False))
    rows: list[Row] = []
    settings = REG + CARD + REAL
    for setting in settings[::6] if arguments.quick else settings:
        name, n, m, mu, k, gamma = setting
        row: Row = {"set": name, "n": n or "", "m": m or "", "mu": mu or "", "k": k or "", "gamma": gamma}
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            row |= line(load(*setting), Path(folder), arguments.budget)
        rows.append(row)
        harness.say(row)
    harness.show("proofs", rows)
    names = ("seconds", "with_proof", "check_seconds")
    total, proof, check = (sum(row[name] for row in rows) for name in names)
    worse = sum(row["accepted"] != "yes" for row in rows)
    late = [row for row in rows if row["check_ratio"] > 1.0]
    slow = [row for row in rows if row["slower_percent"] > 30.0]
    notes = [
        f"all together: solving {total:.2f} s, with proofs {proof:.2f} s ({100 * (proof / total - 1):.0f} % more), "
        f"checking {check:.2f} s",
        f"checking takes {geomean(row['check_ratio'] for row in rows):.2f} of the way from data to proof, geometric "
        f"mean; longer on {len(late)} lines",
        f"writing slows by {max(row['slower_percent'] for row in rows):.0f} % at most, by more than 30 % on "
        f"{len(slow)} lines",
        f"a new file of 10 kB takes {new_file(arguments.folder):.2f} ms in {arguments.folder}, where the proofs are, "
        f"and {new_file(tempfile.gettempdir()):.2f} ms in the folder for temporary files",
        f"refused: {worse} of {len(rows)}",
    ]
    harness.save(arguments.output or "proofs", rows, notes)
    return int(worse > 0)


if __name__ == "__main__":
    raise SystemExit(main())
