"""How well do small models predict, with nothing set? Ours, scikit-learn's L1, abess and FasterRisk on ten data sets.

    python benchmarks/prediction.py [--processes 2] [--resume]

Repeated stratified splits, a quarter for testing; every method makes its choices on the training part alone. Each fit
is written down as it ends, so that ``--resume`` goes on where a run was interrupted. The tables say of each part of our
claim whether it held. Needs ``SAFESCREEN_DATA``; data sets that cannot be had are announced and left out.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from typing import Any

import harness
import predictors
from harness import Row, console

from safescreen.datasets import load_local

SETS = (
    "arcene", "chowdary", "golub", "alon", "gse10072_sub200", "newsgroups_tfidf", "spambase", "musk1", "relathe",
    "pomeroy",
)  # fmt: skip
QUICK = ("gse10072_sub200", "alon")
PROVED = 1e-4
Task = tuple[str, int, str]


# --- the fits


def arguments_of(command_line: Sequence[str] | None = None) -> argparse.Namespace:
    options = harness.parser(__doc__ or "")
    options.add_argument("--sets", default=",".join(SETS), help="comma-separated choice of data sets")
    options.add_argument("--methods", default=",".join(predictors.METHODS), help="comma-separated choice of methods")
    options.add_argument("--splits", type=int, default=5, help="splits of each data set")
    options.add_argument("--processes", type=int, default=1, help="fits at the same time, each with one thread")
    options.add_argument(
        "--resume", action="store_true", help="keep the fits an earlier run has written down, failed ones too"
    )
    arguments = options.parse_args(command_line)
    for name, known in (("sets", SETS), ("methods", predictors.METHODS)):
        asked = [part for part in getattr(arguments, name).split(",") if part]
        if unknown := [part for part in asked if part not in known]:
            options.error(f"--{name} {','.join(unknown)}: choose from {', '.join(known)}")
        setattr(arguments, name, asked)
    if arguments.quick:
        arguments.sets, arguments.splits = list(QUICK), 1
    return arguments


def at_hand(names: Sequence[str]) -> list[str]:
    """The data sets that can be read; others are announced."""
    found = []
    for name in names:
        try:
            load_local(name)
        except FileNotFoundError as error:
            console.print(f"[yellow]without {name}: {error}[/yellow]")
        else:
            found.append(name)
    return found


def fits(tasks: Sequence[Task], processes: int) -> Iterator[Row]:
    """The fits in the order in which they end."""
    methods = list(dict.fromkeys(method for _, _, method in tasks))
    pool = ProcessPoolExecutor(processes, get_context("spawn"), predictors.warm_up, (methods,))
    try:
        for done in as_completed([pool.submit(predictors.measure, *task) for task in tasks]):
            yield done.result()
    finally:
        pool.shutdown(cancel_futures=True)  # an interrupted run does not begin what is left


def collect(tasks: Sequence[Task], record: Path, processes: int, resume: bool) -> list[Row]:
    """All fits, those that ``record`` has already and those it gets now, in the order of the tasks."""
    record.parent.mkdir(exist_ok=True)
    known: dict[Task, Row] = {}
    if resume and record.exists():
        # The last line of a run that was killed may be half a line.
        lines = [line for line in record.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]
        known = {_task(row): row for row in map(json.loads, lines)}
    with record.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in known.values())
        file.flush()
        for row in fits([task for task in tasks if task not in known], processes):
            file.write(json.dumps(row) + "\n")
            file.flush()
            harness.say({key: value for key, value in row.items() if value not in (None, {})})
            known[_task(row)] = row
    return [known[task] for task in tasks]


def _task(row: Row) -> Task:
    return row["data"], row["split"], row["method"]


# --- the tables


def summary(rows: Sequence[Row]) -> Row:
    """The splits of one data set by one method; failures leave gaps that the notes explain."""
    scored = [row for row in rows if "failure" not in row]
    gaps = [row["gap"] for row in scored if row["gap"] is not None]
    return {
        "data": rows[0]["data"],
        "method": rows[0]["method"],
        "splits": len(scored),
        **{key: mean(row[key] for row in scored) for key in ("accuracy", "log_loss", "features", "seconds")},
        "most_features": max((row["features"] for row in scored), default=None),
        "largest_gap": max(gaps, default=None),
        "proved": sum(gap <= PROVED for gap in gaps) / len(rows) if gaps else math.nan,
    }


def mean(values: Any) -> float:
    """The mean, NaN of nothing."""
    values = list(values)
    return fmean(values) if values else math.nan


def over_sets(lines: Sequence[Row], reference: str = "sklearn_l1") -> list[Row]:
    """Means over the data sets, beside those of the reference on the same data sets."""
    per_set: dict[str, dict[str, Row]] = {}
    for line in lines:
        if line["splits"]:
            per_set.setdefault(line["method"], {})[line["data"]] = line
    result = []
    for method, found in per_set.items():
        means = {
            key: mean(line[key] for line in found.values()) for key in ("accuracy", "log_loss", "features", "seconds")
        }
        common = [name for name in found if name in per_set.get(reference, {})]
        theirs = [per_set[reference][name] for name in common]
        ours = [found[name] for name in common]
        result.append(
            {
                "method": method,
                "sets": len(found),
                **means,
                "most_features": max(line["most_features"] for line in found.values()),
                "sets_proved": sum(line["proved"] == 1.0 for line in found.values()) if _proves(found) else None,
                "loss_ratio": mean(line["log_loss"] for line in ours) / mean(line["log_loss"] for line in theirs),
                "accuracy_points": 100 * mean(a["accuracy"] - b["accuracy"] for a, b in zip(ours, theirs, strict=True)),
            }
        )
    return result


def _proves(found: dict[str, Row]) -> bool:
    return any(line["largest_gap"] is not None for line in found.values())


def claims(means: Sequence[Row], n_sets: int) -> list[Row]:
    """Each part of what we say about ourselves, with its figure."""
    by_method = {row["method"]: row for row in means}
    result: list[Row] = []

    def part(claim: str, found: float | str, held: bool) -> None:
        result.append({"claim": claim, "found": found, "verdict": "held" if held else "not held"})

    if "cv" in by_method:
        cv = by_method["cv"]
        if "sklearn_l1" in by_method:
            ratio, points = cv["loss_ratio"], cv["accuracy_points"]
            part("cv: log-loss at most 1.05 times that of sklearn_l1", ratio, ratio <= 1.05)
            part("cv: accuracy at most one point below sklearn_l1 (points above)", points, points >= -1.0)
        part("cv: at most 20 features in every model", cv["most_features"], cv["most_features"] <= predictors.SMALL)
        part("cv: at most 60 s in the mean", cv["seconds"], cv["seconds"] <= 60.0)
        proved = cv["sets_proved"] or 0
        found = f"{proved} of {n_sets}"
        part(f"cv: proved to {PROVED:g} in all splits on 8 of 10 sets", found, proved >= 0.8 * n_sets)
    if {"default", "one_ridge"} <= by_method.keys():
        now, before = by_method["default"], by_method["one_ridge"]
        gain, points = before["log_loss"] - now["log_loss"], 100 * (now["accuracy"] - before["accuracy"])
        part("default: log-loss at least 0.08 below one_ridge", gain, gain >= 0.08)
        part("default: accuracy at least 4 points above one_ridge", points, points >= 4.0)
    return result


def choices(rows: Sequence[Row]) -> list[Row]:
    """What ``cv`` chose on each split, and how its final searches ended."""
    result = []
    mine = [row for row in rows if row["method"] == "cv" and "failure" not in row]
    keys = list(dict.fromkeys(key for row in mine for key in row["chosen"]))
    for name in dict.fromkeys(row["data"] for row in mine):
        here = [row for row in mine if row["data"] == name]
        chosen = {key: ", ".join(harness.cell_text(key, row["chosen"].get(key)) for row in here) for key in keys}
        endings = Counter(row["status"] for row in here)
        result.append({"data": name, **chosen, "status": ", ".join(f"{n} {status}" for status, n in endings.items())})
    return result


def notes(rows: Sequence[Row], arguments: argparse.Namespace) -> list[str]:
    """How the figures were made, and which are missing."""
    missing: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if "failure" in row and row["data"] not in missing.setdefault((row["method"], row["failure"]), []):
            missing[row["method"], row["failure"]].append(row["data"])
    clip = predictors.CLIP
    return [
        f"means over {arguments.splits} stratified split(s), {predictors.TEST_SHARE:.0%} for testing; log-loss of "
        f"probabilities clipped to [{clip:g}, 1 - {clip:g}] for every method; seconds of whole fits, every choice "
        f"included, {arguments.processes} at a time; loss_ratio and accuracy_points compare with sklearn_l1 on the "
        "same data sets; sets_proved counts those whose gap is small enough in all splits",
        "cv: L0LogisticRegressionCV(), nothing set; default: L0LogisticRegression(), nothing set; one_ridge: k=10, "
        "gamma=1, estimated at the same ridge",
        "sklearn_l1: LogisticRegressionCV, 20 penalties, 5 folds, log-loss; sklearn_l1_small: the best of these "
        f"penalties with at most {predictors.SMALL} features",
        "abess: no ridge, support sizes by its own 5 folds; abess_ridge: 2, 5, 10 or 20 features and three ridges, "
        "the best by log-loss on 5 folds",
        "fasterrisk: 10 features and its defaults on standardised columns; fasterrisk_binary: on conditions with up to "
        "100 thresholds for each column, as its documentation recommends for continuous data (features are conditions)",
        *(f"without {method} on {', '.join(sets)}: {why}" for (method, why), sets in missing.items()),
    ]


def main() -> int:
    arguments = arguments_of()
    name = arguments.output or "prediction"
    methods = predictors.available(arguments.methods)
    tasks = [(d, s, m) for d in at_hand(arguments.sets) for s in range(arguments.splits) for m in methods]
    if not tasks:
        console.print("[red]no data set is at hand: SAFESCREEN_DATA must name their folder[/red]")
        return 2
    rows = collect(tasks, harness.RESULTS / f"{name}.jsonl", arguments.processes, arguments.resume)
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["data"], row["method"]), []).append(row)
    lines = [summary(group) for group in groups.values()]
    means = over_sets(lines)
    n_sets = len({row["data"] for row in rows})
    tables = {
        "What is claimed": claims(means, n_sets),
        "Means over the data sets": means,
        "What cv chose on each split": choices(rows),
    }
    more = {title: table for title, table in tables.items() if table}
    for title, table in {**more, "Each data set": lines}.items():
        harness.show(title, table)
    harness.save(name, lines, notes(rows, arguments), more)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
