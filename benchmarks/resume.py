"""Nothing is lost and nothing is wrong: searches killed at random moments go on until they are done.

    python benchmarks/resume.py [--rounds 50] [--every 0.1] [--seed 0]

Each round solves a problem in processes that are killed (SIGKILL) at a random moment and started again with
``resume=True``, until one comes to the end; every second round lets them die while they write a checkpoint as well. The
number of threads changes from one to the next. The result must be that of one uninterrupted run: the same objective,
within the gap; a lower bound that belongs to it; a proof of the whole tree that the independent checker accepts.
Processes are forked from one in which everything is loaded, so that most of them die in the middle of a search.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import safescreen as ss
from safescreen.search import checkpoint, compile_now

REL_GAP = 1e-4
MOST_KILLS = 12
KINDS = {
    "budget": {"k": 6},
    "price": {"mu": 0.014},
    "both": {"k": 6, "mu": 0.002},
    "sparse": {"k": 6},
}


def make_problem(kind: str, seed: int) -> ss.Problem:
    """A problem whose tree has some thousand nodes."""
    X, y, _ = ss.datasets.make_sparse_logistic(150, 80, 8, 0.3, random_state=seed)
    stored = sparse.csr_array(np.where(np.abs(X) > 0.8, X, 0.0)) if kind == "sparse" else X
    return ss.Problem(stored, y, gamma=120.0, **KINDS[kind])


def solve(result: Path, kind: str, seed: int, dies: int, options: dict[str, Any]) -> None:
    """What a process does; if asked to, it dies when it writes this array of its checkpoints."""
    write, written = checkpoint._write, 0

    def fatal(*arguments: Any) -> str:
        nonlocal written
        written += 1
        if written == dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return write(*arguments)

    checkpoint._write = fatal
    start = time.perf_counter()
    solution = ss.solve(make_problem(kind, seed), rel_gap=REL_GAP, **options)
    found = {name: getattr(solution, name) for name in ("objective", "lower_bound", "nodes", "status")}
    result.write_text(json.dumps({**found, "seconds": time.perf_counter() - start}))


def run(result: Path, *arguments: Any, seconds: float | None = None) -> dict[str, Any] | None:
    """One process; what it found, or None if it was killed."""
    result.unlink(missing_ok=True)
    process = multiprocessing.get_context("fork").Process(target=solve, args=(result, *arguments))
    process.start()
    process.join(seconds)
    if process.exitcode is None:
        process.kill()
        process.join()
    if process.exitcode not in (0, -signal.SIGKILL):
        raise AssertionError(f"exit status {process.exitcode}")
    return json.loads(result.read_text()) if process.exitcode == 0 else None


def one_round(number: int, every: float, chance: random.Random) -> dict[str, int]:
    """Kill and resume until the end, and hold the result against that of an uninterrupted run."""
    kind = list(KINDS)[number % len(KINDS)]
    kills = resumed = 0
    with tempfile.TemporaryDirectory() as folder:
        result, path, proof = (Path(folder) / name for name in ("result.json", "run.npz", "proof.npz"))
        whole = run(result, kind, number, 0, {})
        assert whole is not None
        options = {"checkpoint": path, "checkpoint_every": every, "resume": True, "proof": proof}
        found = None
        while found is None:
            resumed += path.exists()
            dies = chance.randrange(1, 90) if number % 2 and kills < MOST_KILLS else 0
            seconds = chance.uniform(0.0, 0.9 * whole["seconds"]) if kills < MOST_KILLS else None
            found = run(result, kind, number, dies, {**options, "n_threads": chance.choice((1, 1, 2))}, seconds=seconds)
            kills += found is None
        problem = make_problem(kind, number)
        check = ss.verify(proof, problem.design.matrix, problem.y)
        left = len(list(Path(folder).iterdir())) - 3
    assert found["status"] == "optimal", found
    assert abs(found["objective"] - whole["objective"]) <= REL_GAP * whole["objective"], (found, whole)
    assert found["objective"] * (1.0 - REL_GAP) - 1e-12 <= found["lower_bound"] <= whole["objective"], (found, whole)
    assert check.valid, check.reason
    assert check.gap <= REL_GAP * (1.0 + 1e-6), check
    assert check.nodes >= found["nodes"], (check.nodes, found)
    return {"kills": kills, "resumed": resumed, "nodes": found["nodes"], "alone": whole["nodes"], "left": left}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=50)
    options.add_argument("--every", type=float, default=0.1)
    options.add_argument("--seed", type=int, default=0)
    arguments = options.parse_args()
    chance, start = random.Random(arguments.seed), time.perf_counter()
    compile_now()
    print(
        "round     kind"
        + "".join(f"{name:>15}" for name in ("kills", "resumed", "nodes", "uninterrupted", "files left"))
    )
    kills = resumed = 0
    for number in range(arguments.rounds):
        found = one_round(number, arguments.every, chance)
        kills, resumed = kills + found["kills"], resumed + found["resumed"]
        kind = list(KINDS)[number % len(KINDS)]
        print(f"{number:5d} {kind:>8}" + "".join(f"{value:15d}" for value in found.values()), flush=True)
    print(
        f"{arguments.rounds} rounds in {time.perf_counter() - start:.0f} s: {kills} kills, {resumed} runs went on from "
        "a checkpoint; every result as without kills, every proof valid"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
