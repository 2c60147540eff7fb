"""What a new user waits for: importing, compiling once, and starting again in a second process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

import harness
from harness import Row

SOLVE = """
import time
start = time.perf_counter()
import safescreen as ss
X, y, _ = ss.datasets.make_sparse_logistic(100, 60, 5, 1.0, random_state=0)
problems = [ss.Problem(X, y, mu=1e-3, fit_intercept=False, standardize=False), ss.Problem(X, y, k=5)]
ready = time.perf_counter()
for problem in problems[: COUNT]:
    ss.solve(problem)
print(ready - start, time.perf_counter() - ready)
"""

HELP = "import sys; from safescreen.cli import main; sys.argv = ['safescreen', '--help']; main()"


def run(code: str, environment: dict[str, str]) -> tuple[float, str, str]:
    """Seconds from start to end of a fresh interpreter, and what it printed."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(done.stderr)
    return seconds, done.stdout, done.stderr


def main() -> int:
    options = harness.parser(__doc__ or "")
    arguments = options.parse_args()
    code = SOLVE.replace("COUNT", "1" if arguments.quick else "2")
    limits = {
        "import safescreen": 0.5,
        "safescreen --help": 0.5,
        "first solve, no cache": 20.0,
        "second process, to the end": 1.5,
    }
    measured: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_CACHE_DIR": cache}
        empty = min(run("pass", environment)[0] for _ in range(3))
        run("import safescreen", environment)
        measured["import safescreen"] = min(run("import safescreen", environment)[0] for _ in range(3)) - empty
        run(HELP, environment)
        measured["safescreen --help"] = min(run(HELP, environment)[0] for _ in range(3))
        _, printed, announced = run(code, environment)
        measured["first solve, no cache"] = float(printed.split()[1])
        seconds, printed, _ = min(run(code, environment) for _ in range(3))
        measured["second process, to the end"] = seconds
        measured["second process, of it in solve"] = float(printed.split()[1])

    rows: list[Row] = []
    for what, value in measured.items():
        limit = limits.get(what)
        verdict = "-" if limit is None else "ok" if value <= limit else "WORSE"
        rows.append({"what": what, "seconds": value, "limit": limit, "verdict": verdict})
    harness.show("first use", rows)
    lines = announced.strip().splitlines()
    harness.save(arguments.output or "first_use", rows, [f"announced in {len(lines)} line(s): {' / '.join(lines)}"])
    return int(any("WORSE" in row.values() for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
