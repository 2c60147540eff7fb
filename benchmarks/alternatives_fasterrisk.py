"""FasterRisk's pool of models beside all good models: how many of ours it finds, and how far its best is from ours.

    python benchmarks/alternatives_fasterrisk.py [--sets alon,breast_cancer_interactions]

Five features, standardised, with intercept. Its pool holds exchanges of one feature in the model that its beam search
ends with, and proves nothing. It runs as it comes (hardly any ridge) and with our ridge, with which its objective is
ours, each with its defaults and with a larger pool. Its supports are refitted to our objective, and are
good if that is below our threshold. We list minimal models: a good support may not be one, but contains one. FasterRisk
has an environment of its own, as for `prediction.py`; other sets than breast cancer need ``SAFESCREEN_DATA``.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import alternatives
import harness
import numpy as np
import rivals
import weak_ridge
from alternatives import GAMMA, K
from harness import Row, Task
from predictors import FASTERRISK

SETS = ("breast_cancer_interactions", "alon", "golub")
TOLERANCES = (0.01, 0.05)
EFFORTS: dict[str, dict[str, Any]] = {
    "defaults": {"parent_size": 10, "select_top_m": 50, "attempts": 50, "gap_tolerance": 0.05},
    "larger": {"parent_size": 10, "select_top_m": 10_000, "attempts": 500, "gap_tolerance": 0.30},
}
RIDGES = {"its own": 1e-8, "ours": 1.0 / GAMMA}
"""Its columns have norm one, and it sums losses where we take means: its ridge is ours where the numbers agree."""
PATIENCE = 600.0


def pool(X: np.ndarray, y: np.ndarray, lambda2: float, effort: dict[str, Any]) -> tuple[list[frozenset[int]], float]:
    """The different supports of its pool, and the CPU seconds they took."""
    with tempfile.TemporaryDirectory() as folder:
        data, answer, options = (Path(folder) / name for name in ("data.npz", "answer.json", "options.json"))
        np.savez(data, X=X, y=y)
        options.write_text(json.dumps({"lambda2": lambda2, "k": K, **effort}), encoding="utf-8")
        command = [FASTERRISK, harness.HERE / "fasterrisk_pool.py", data, answer, options]
        subprocess.run(list(map(str, command)), check=True, timeout=PATIENCE)
        found = json.loads(answer.read_text(encoding="utf-8"))
    return list(dict.fromkeys(map(frozenset, found["supports"]))), found["seconds"]


def refitted(data: tuple[Any, np.ndarray], support: frozenset[int]) -> float:
    """Our objective on these features alone."""
    import safescreen as ss

    columns = sorted(support)
    problem = ss.Problem(data[0][:, columns], data[1], k=len(columns), gamma=GAMMA, include=range(len(columns)))
    return float(ss.solve(problem, rel_gap=1e-9).objective)


def cells(ours: Any, supports: list[frozenset[int]], objectives: list[float]) -> Row:
    """How much of our list at one tolerance the pool has."""
    listed = {frozenset(support.tolist()) for support in ours.supports}
    good = [support for support, value in zip(supports, objectives, strict=True) if value <= ours.threshold]
    contained = {model for model in listed if any(model <= support for support in good)}
    return {
        "pool_good": len(good),
        "our_models": len(listed),
        "found_exactly": len(listed & set(good)),
        "found_or_contained": len(contained),
        "our_complete": alternatives.completeness(ours),
    }


def compare(name: str, ridges: dict[str, float], efforts: dict[str, dict[str, Any]], time_limit: float) -> list[Row]:
    """All pools on one data set against our lists."""
    import safescreen as ss

    data = weak_ridge.load(name)
    X = np.ascontiguousarray(rivals.dense(Task(*data, GAMMA, standardize=True)))
    problem = ss.Problem(*data, k=K, gamma=GAMMA)
    ss.solve(problem)
    lists, seconds = {}, {}
    for within in TOLERANCES:
        start = time.process_time()
        lists[within] = alternatives.list_models(problem, within, time_limit)
        seconds[within] = time.process_time() - start
    rows: list[Row] = []
    for ridge, lambda2 in ridges.items():
        for effort, options in efforts.items():
            supports, taken = pool(X, data[1], lambda2, options)
            objectives = [refitted(data, support) for support in supports]
            for within, ours in lists.items():
                row: Row = {"data": name, "ridge": ridge, "effort": effort, "within_percent": 100 * within}
                row |= {"pool": len(supports), **cells(ours, supports, objectives)}
                row["pool_best_percent_above"] = round(100 * (min(objectives) / ours.best.objective - 1.0), 6) + 0.0
                row |= {"pool_cpu_seconds": taken, "our_cpu_seconds": seconds[within]}
                rows.append(row)
                harness.say(row)
    return rows


def main() -> int:
    options = harness.parser(__doc__ or "")
    options.add_argument("--sets", default=",".join(SETS), help="comma-separated choice of data sets")
    options.add_argument("--time-limit", type=float, default=60.0, help="seconds for each of our lists")
    arguments = options.parse_args()
    if not FASTERRISK.is_file():
        raise SystemExit(
            f"There is no {FASTERRISK}: `make bench-prediction` makes it, FASTERRISK_PYTHON names another."
        )
    alternatives.warm_up()
    names = SETS[:1] if arguments.quick else arguments.sets.split(",")
    efforts = {"defaults": EFFORTS["defaults"]} if arguments.quick else EFFORTS
    rows: list[Row] = []
    for name in names:
        try:
            rows += compare(name, RIDGES, efforts, arguments.time_limit)
        except FileNotFoundError as error:
            harness.console.print(f"[yellow]without {name}: {error}[/yellow]")
    harness.show("FasterRisk's pool beside all good models", rows)
    better = sum(row["pool_best_percent_above"] < -1e-4 for row in rows)  # the best model is proved to 1e-8
    notes = [f"{effort}: {', '.join(f'{key} {value}' for key, value in EFFORTS[effort].items())}" for effort in efforts]
    harness.save(arguments.output or "alternatives_fasterrisk", rows, notes)
    return int(better > 0)


if __name__ == "__main__":
    raise SystemExit(main())
