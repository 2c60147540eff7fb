"""What a solve of a large matrix costs beside one pass over it: reads, seconds and memory.

    python benchmarks/scale.py tall wide [--orders CF] [--against REF]

Every line is a process of its own, which makes the data piece by piece in single precision, builds the problem and
solves it. ``reads`` are full reads of the matrix, ``passes`` the seconds of problem and solve in units of one pass
(all correlations with one dual point), ``beside`` the peak of memory beside the data. A case is one line in `CASES`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

CASES: dict[str, dict[str, Any]] = {
    "tall": {"m": 1_000_000, "n": 500, "k": 10, "gamma": 10.0},
    "wide": {"m": 2_000, "n": 200_000, "k": 10, "gamma": 10.0},
    "tall-small": {"m": 100_000, "n": 500, "k": 10, "gamma": 10.0},
    "wide-small": {"m": 2_000, "n": 20_000, "k": 10, "gamma": 10.0},
}
"""Samples, features, and the terms of the problem."""

PIECE = 1 << 22


def sparse_logistic(m: int, n: int, informative: int, order: str, snr: float = 1.0) -> tuple[Any, Any]:
    """The recipe of `safescreen.datasets.make_sparse_logistic` in single precision, never larger than the result."""
    X = np.empty((m, n), dtype=np.float32, order="F" if order == "F" else "C")
    lines = X.T if order == "F" else X
    rng = np.random.default_rng(0)
    step = max(PIECE // lines.shape[1], 1)
    for start in range(0, len(lines), step):
        rng.standard_normal(out=lines[start : start + step], dtype=np.float32)
    chosen = np.linspace(0, n - 1, informative).astype(int)
    predictor = sum(X[:, j].astype(np.float64) for j in chosen)
    y = np.where(rng.random(m) < 1.0 / (1.0 + np.exp(-snr * np.asarray(predictor))), 1.0, -1.0)
    return X, y


def peak_bytes() -> int:
    """The largest resident size since `forget_peak`."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def forget_peak() -> int:
    """Begin to look for the peak anew; the resident size now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return peak_bytes()


def measure(case: str, order: str) -> dict[str, Any]:
    """Solve one case."""
    import safescreen as ss

    setting = CASES[case]
    terms = {"k": setting["k"], "gamma": setting["gamma"]}
    X, y = sparse_logistic(setting["m"], setting["n"], setting["k"], order)
    ss.solve(ss.Problem(X[:200, :50], y[:200], **terms))  # compiles
    before = forget_peak()
    start = time.perf_counter()
    problem = ss.Problem(X, y, **terms)
    built = time.perf_counter()
    solution = ss.solve(problem, time_limit=600.0)
    end = time.perf_counter()
    peak, reads = peak_bytes(), getattr(problem.design, "passes", None)
    alpha = problem.y * problem.weights
    passes = []
    for _ in range(3):
        begin = time.perf_counter()
        problem.design.correlations(alpha)
        passes.append(time.perf_counter() - begin)
    return {
        "case": f"{case} {order}",
        "gigabytes": X.nbytes / 1e9,
        "status": str(solution.status),
        "objective": solution.objective,
        "gap": solution.gap,
        "reads": reads,
        "problem": built - start,
        "solve": end - built,
        "pass": min(passes),
        "passes": (end - start) / min(passes),
        "beside": (peak - before) / 1e9,
    }


def measured_apart(case: str, order: str, source: Path | None) -> dict[str, Any]:
    """The same in a process of its own, perhaps with other sources."""
    environment = {**os.environ, **({} if source is None else {"PYTHONPATH": str(source)})}
    command = [sys.executable, __file__, case, "--orders", order, "--apart"]
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer


FORMATS = {"gigabytes": ".2f", "objective": ".7f", "gap": ".1e", "problem": ".2f", "solve": ".2f", "pass": ".3f",
           "passes": ".1f", "beside": ".2f"}  # fmt: skip


def shown(row: dict[str, Any]) -> str:
    cells = ("-" if value is None else format(value, FORMATS.get(name, "")) for name, value in row.items())
    return "| " + " | ".join(cells) + " |"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("cases", nargs="+", choices=list(CASES))
    options.add_argument("--orders", default="CF", help="memory orders, each a letter")
    options.add_argument("--against", metavar="REF", help="another commit beside the working tree")
    options.add_argument("--apart", action="store_true", help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.apart:
        print(json.dumps(measure(arguments.cases[0], arguments.orders)))
        return 0
    from against import checked_out

    header = False
    with checked_out(arguments.against) if arguments.against else nullcontext() as other:
        versions = {"this": None, **({arguments.against: other} if arguments.against else {})}
        for case in arguments.cases:
            for order in arguments.orders:
                for name, source in versions.items():
                    row = {"version": name, **measured_apart(case, order, source)}
                    if not header:
                        print("| " + " | ".join(row) + " |\n" + "|---" * len(row) + "|", flush=True)
                        header = True
                    print(shown(row), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
