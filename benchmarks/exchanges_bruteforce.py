"""What a thousand stopped searches say of models near the best one, against brute force; exits with 1 on failure.

The searches go outward from their first node on and change their order all the time. Roots are solved in stages, with a
look next door to a first model between them.
"""

from __future__ import annotations

import argparse
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed

import harness
from bruteforce import chunks
from rich.progress import Progress


def go_outward_at_once() -> None:
    """Let small trees do what large ones do."""
    from safescreen.relaxation import perspective
    from safescreen.search import outward, tree_search

    outward.OUTWARD_ROUNDS, outward.OUTWARD_GAP, outward.ROUNDS_OF_A_CREW = 1, -1.0, 1
    outward.FIRST_OUTWARD_ROUNDS = 30
    outward.OUTWARD_SHARE = 0.7
    tree_search.ALLOWANCE = 2000
    perspective.FIRST_BLOCK, perspective.FIRST_SHARE, perspective.CHEAP_ROOT = 1, 1.0, 0


def examine(seeds: range) -> list[tuple[int, set[str], list[str]]]:
    """Check a chunk of searches; a crash is a failure like any other."""
    from safescreen.testing.hard_neighbourhoods import neighbourhood_failures, stopped_search

    go_outward_at_once()
    verdicts = []
    for seed in seeds:
        case, covered = stopped_search(seed), "crashed"
        try:
            covered, found = neighbourhood_failures(case)
        except Exception:
            found = [f"{case.description}: {traceback.format_exc()}"]
        traits = {trait.split("=")[0] for trait in case.hard.traits}
        verdicts.append((seed, {"all", case.hard.kind, f"covered: {covered}", *traits}, found))
    return verdicts


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    options.add_argument("--problems", type=int, default=1000)
    options.add_argument("--seed", type=int, default=0, help="first seed")
    options.add_argument("--jobs", type=int, default=1, help="processes")
    options.add_argument("--quick", action="store_true", help="60 problems only")
    arguments = options.parse_args()
    count = 60 if arguments.quick else arguments.problems

    examine(range(arguments.seed, arguments.seed + 1))  # compile once, before the processes start
    start = time.perf_counter()
    verdicts = []
    with ProcessPoolExecutor(arguments.jobs) as pool, Progress(console=harness.console) as progress:
        bar = progress.add_task("stopped searches", total=count)
        pending = [pool.submit(examine, seeds) for seeds in chunks(arguments.seed, count)]
        for done in as_completed(pending):
            verdicts += done.result()
            progress.update(bar, completed=len(verdicts))

    checked, failed = Counter[str](), Counter[str]()
    for _, groups, found in verdicts:
        checked.update(groups)
        failed.update(groups if found else ())
    rows = [{"kind": group, "problems": checked[group], "failed": failed[group]} for group in sorted(checked)]
    for _, _, found in sorted(verdicts, key=lambda verdict: verdict[0]):
        for text in found:
            harness.console.print(text, style="red", highlight=False, markup=False, soft_wrap=True)
    harness.show(f"exchanges against brute force, {time.perf_counter() - start:.0f} s", rows)
    return int(failed["all"] > 0)


if __name__ == "__main__":
    raise SystemExit(main())
