"""Solve small hard problems, write proofs, check them: counts contradictions and exits with 1 if there is one."""

from __future__ import annotations

import _one_thread  # noqa: F401

import argparse
import itertools
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

ALLOWED = 1e-9
"""How far, relative to the objective, solver and checker may differ."""

console = Console(highlight=False, soft_wrap=True)


def settings(seed: int) -> dict[str, Any]:
    """Screening mode, threads, gap and limit, drawn from the seed."""
    rng = np.random.default_rng([7, seed])
    return {
        "screening": str(rng.choice(["nodes", "root", "none"], p=[0.6, 0.2, 0.2])),
        "n_threads": int(rng.choice([1, 2], p=[0.8, 0.2])),
        "rel_gap": float(rng.choice([1e-9, 1e-6, 1e-4, 1e-2])),
        "node_limit": rng.choice([None, 0, 1, 5, 20], p=[0.6, 0.1, 0.1, 0.1, 0.1]),
    }


def has_exact_sums(problem: Any, rel_gap: float) -> bool:
    """Whether the solver summed columns exactly at the root, so that a proof may claim less than it knows."""
    from safescreen.relaxation import solve_root

    return bool(solve_root(problem, max(1e-10, 1e-3 * rel_gap)).bound.sharp)


def contradictions(seed: int, path: Path) -> tuple[str, list[str]]:
    """What is wrong with one problem: its description, and a sentence per contradiction."""
    import safescreen as ss
    from safescreen.testing.hard_problems import hard_problem

    hard, chosen = hard_problem(seed), settings(seed)
    solution = ss.solve(hard.problem(), proof=path, **chosen)
    result = ss.verify(path, hard.kwargs["X"], hard.kwargs["y"])
    allowed = ALLOWED * abs(solution.objective)
    found = []
    if not result.valid:
        found.append(f"refused: {result.reason}")
    else:
        if solution.lower_bound > result.enclosure[1] + allowed:
            found.append(f"lower bound {solution.lower_bound!r} above the enclosure {result.enclosure!r}")
        if abs(result.objective - solution.objective) > allowed:
            found.append(f"objective {solution.objective!r}, but {result.objective!r} certified")
        if result.claims["status"] == "optimal" and result.gap > chosen["rel_gap"] + ALLOWED:
            found.append(f"gap {result.gap!r}, but {chosen['rel_gap']!r} was asked for")
        if result.claims["status"] != solution.status and not has_exact_sums(solution.problem, chosen["rel_gap"]):
            found.append(f"status {solution.status}, but {result.claims['status']} in the proof")
        if result.lower_bound > result.objective:
            found.append(f"lower bound {result.lower_bound!r} above the objective {result.objective!r}")
    return f"{hard.description}, {chosen}, status {solution.status}, {solution.nodes} nodes", found


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    options.add_argument("--seconds", type=float, default=60.0, help="stop after this long")
    options.add_argument("--seed", type=int, default=0, help="first seed")
    options.add_argument("--count", type=int, default=None, help="stop after so many problems")
    arguments = options.parse_args()

    start = shown = time.perf_counter()
    checked = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "proof.npz"
        for seed in itertools.count(arguments.seed):
            now = time.perf_counter()
            if now - start > arguments.seconds or (arguments.count is not None and checked >= arguments.count):
                break
            if now - shown > 5.0:
                shown = now
                console.print(f"{checked} problems, {failed} contradicted, {now - start:.0f} s", style="dim")
            try:
                description, found = contradictions(seed, path)
            except Exception:  # a crash is a failure like any other
                description, found = f"seed {seed}", [traceback.format_exc()]
            checked += 1
            failed += bool(found)
            for sentence in found:
                console.print(f"{description}: {sentence}", style="red", markup=False)
    seconds = time.perf_counter() - start
    console.print(f"{checked} proofs checked in {seconds:.0f} s, seeds from {arguments.seed}: {failed} contradicted")
    return int(failed > 0 or checked == 0)


if __name__ == "__main__":
    raise SystemExit(main())
