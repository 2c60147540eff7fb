"""Thousands of small hard problems against brute force, in every screening mode; exits with 1 on failure."""

from __future__ import annotations

import argparse
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed

import harness
from rich.progress import Progress

CHUNK = 20


def examine(seeds: range) -> list[tuple[int, str, tuple[str, ...], list[str]]]:
    """Check a chunk of problems; a crash is a failure like any other."""
    from safescreen.testing.hard_problems import failures, hard_problem

    verdicts = []
    for seed in seeds:
        hard = hard_problem(seed)
        try:
            found = failures(hard)
        except Exception:
            found = [f"{hard.description}: {traceback.format_exc()}"]
        verdicts.append((seed, hard.kind, hard.traits, found))
    return verdicts


def chunks(first: int, count: int) -> Iterator[range]:
    """Seeds in portions small enough to keep all processes busy until the end."""
    for start in range(first, first + count, CHUNK):
        yield range(start, min(start + CHUNK, first + count))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    options.add_argument("--problems", type=int, default=3000)
    options.add_argument("--seed", type=int, default=0, help="first seed")
    options.add_argument("--jobs", type=int, default=1, help="processes")
    options.add_argument("--quick", action="store_true", help="60 problems only")
    arguments = options.parse_args()
    count = 60 if arguments.quick else arguments.problems

    examine(range(arguments.seed, arguments.seed + 1))  # compile once, before the processes start
    start = time.perf_counter()
    verdicts = []
    with ProcessPoolExecutor(arguments.jobs) as pool, Progress(console=harness.console) as progress:
        bar = progress.add_task("problems", total=count)
        pending = [pool.submit(examine, seeds) for seeds in chunks(arguments.seed, count)]
        for done in as_completed(pending):
            verdicts += done.result()
            progress.update(bar, completed=len(verdicts))

    checked, failed = Counter[str](), Counter[str]()
    for _, kind, traits, found in verdicts:
        groups = {kind, "all", *(trait.split("=")[0] for trait in traits)}
        checked.update(groups)
        failed.update(groups if found else ())
    rows = [{"kind": group, "problems": checked[group], "failed": failed[group]} for group in sorted(checked)]
    for _, _, _, found in sorted(verdicts):
        for text in found:
            harness.console.print(text, style="red", highlight=False, markup=False, soft_wrap=True)
    harness.show(f"brute force, {time.perf_counter() - start:.0f} s", rows)
    return int(failed["all"] > 0)


if __name__ == "__main__":
    raise SystemExit(main())
