"""Nothing is lost: commands killed at random moments, and on disks that are full at random places, leave whole files.

    python benchmarks/kills.py [--kills 50] [--full 50]

Each round lets ``safescreen fit`` replace a model, a proof and a report by those of another model, and kills the
process at a random moment, or lets files grow to a random size only, as a full disk does. Afterwards each file must be
the one before, byte by byte, or a new one that is whole: it loads, its proof holds, its page has an end.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np

import safescreen as ss

FILES = ("model.json", "proof.npz", "report.html")


def make_data(folder: Path) -> None:
    """A table that takes a moment to read and to solve."""
    X, y, _ = ss.datasets.make_sparse_logistic(200, 60, 5, 1.0, rho=0.7, random_state=0)
    head = ",".join([*(f"x{j}" for j in range(X.shape[1])), "label"])
    np.savetxt(folder / "data.csv", np.column_stack((X, y)), delimiter=",", header=head, comments="", fmt="%.6g")


def command(k: int) -> list[str]:
    """The command that writes all files, of a model of this size."""
    options = [
        "--k",
        str(k),
        "--gamma",
        "10",
        "--quiet",
        "--model",
        FILES[0],
        "--proof",
        FILES[1],
        "--report",
        FILES[2],
    ]
    return [sys.executable, "-m", "safescreen.cli", "fit", "data.csv", "--target", "label", *options]


def limited(size: int) -> None:
    """No file may become larger, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def run(folder: Path, k: int, *, seconds: float | None = None, size: int | None = None) -> str:
    """One round: how the command ended."""
    prepare = None if size is None else partial(limited, size)
    process = subprocess.Popen(
        command(k), cwd=folder, preexec_fn=prepare, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        _, said = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return "killed"
    if "Traceback" in said:
        raise AssertionError(said)
    return "failed" if process.returncode else "finished"


def check(folder: Path, before: dict[str, bytes]) -> Counter[str]:
    """What became of each file; raises where one is neither the old nor a whole new one."""
    found: Counter[str] = Counter()
    for name in FILES:
        content = (folder / name).read_bytes()
        if content == before[name]:
            found["old"] += 1
            continue
        found["new"] += 1
        if name == "model.json":
            ss.load_model(folder / name)
        elif name == "proof.npz":
            data = np.loadtxt(folder / "data.csv", delimiter=",", skiprows=1)
            verdict = ss.verify(folder / name, data[:, :-1], data[:, -1])
            assert verdict.valid, verdict.reason
        else:
            assert content.rstrip().endswith(b"</html>"), content[-200:]
    return found


def rounds(folder: Path, kills: int, full: int, seed: int = 0) -> Counter[str]:
    """All rounds in one folder; what became of commands and files."""
    make_data(folder)
    chance = random.Random(seed)
    start = time.perf_counter()
    assert run(folder, 3) == "finished"
    longest = 1.2 * (time.perf_counter() - start)
    largest = max((folder / name).stat().st_size for name in FILES)
    outcome: Counter[str] = Counter()
    for number in range(kills + full):
        before = {name: (folder / name).read_bytes() for name in FILES}
        k = 4 + number % 3
        if number < kills:
            outcome[run(folder, k, seconds=chance.uniform(0.2, 1.0) * longest)] += 1
        else:
            outcome["disk: " + run(folder, k, size=int(largest ** chance.uniform(0.3, 1.0)))] += 1
        outcome += check(folder, before)
    return outcome


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kills", type=int, default=50)
    options.add_argument("--full", type=int, default=50)
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outcome = rounds(Path(folder), arguments.kills, arguments.full)
        left = sorted(set(os.listdir(folder)) - {*FILES, "data.csv"})
    for name, count in sorted(outcome.items()):
        print(f"{name}: {count}")
    print(f"files beside them that killed processes left: {len(left)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
