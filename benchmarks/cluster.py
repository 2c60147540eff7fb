"""A cluster of two processes against one process: the same objectives and bounds on the paper's REG and CARD settings.

The matrix is a `dask.array` in three chunkings, held by the workers; every tree with a few open nodes goes to them.
`--kill-every 3` kills one of them every three seconds all the while.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import harness
from harness import Row, console, geomean

CHUNKS = {"rows": (97, -1), "columns": (-1, 61), "both": (130, 170)}
REG = [
    ("REG", 500, m, gamma, {"mu": mu}, 1e-6)
    for mu, m, gamma in product((5e-4, 1e-3), (200, 500, 1000), (1.0, 1.5, 1.8))
]
CARD = [
    ("CARD", n, m, gamma, {"k": 50}, 1e-4) for n, m, gamma in product((200, 1000), (200, 500, 1000), (1.0, 1.5, 1.8))
]
WORKERS = 2
LONG = [("long", 100, 100, gamma, {"k": 8}, 1e-4) for gamma in (120.0, 200.0)]
"""Trees that last some seconds, so that workers are killed in the middle of them."""


@dataclass
class Tally:
    """What the trees of a run did elsewhere."""

    nodes: int = 0
    lost: int = 0
    killed: list[int] = field(default_factory=list)


@contextmanager
def watched(tally: Tally) -> Iterator[None]:
    """Send every tree away as soon as it has a few nodes, and count what comes back."""
    from safescreen.search import fleet

    accept, leave, alone = fleet.Fleet.accept, fleet.Fleet.__exit__, fleet.ALONE_SECONDS

    def counted(self: Any, number: int, answer: Any) -> bool:
        taken = accept(self, number, answer)
        tally.nodes += answer.explored if taken else 0
        return taken

    def left(self: Any, *failure: Any) -> None:
        tally.lost += self.lost
        leave(self, *failure)

    fleet.Fleet.accept, fleet.Fleet.__exit__, fleet.ALONE_SECONDS = counted, left, 0.0
    try:
        yield
    finally:
        fleet.Fleet.accept, fleet.Fleet.__exit__, fleet.ALONE_SECONDS = accept, leave, alone


@contextmanager
def killing(client: Any, every: float, tally: Tally) -> Iterator[None]:
    """Kill a random worker every so many seconds, if all are up: its nanny starts another one."""
    over, chance = threading.Event(), random.Random(0)

    def kill() -> None:
        while not over.wait(every):
            with suppress(Exception):
                pids = list(client.run(os.getpid, on_error="ignore").values())
                if len(pids) < WORKERS:  # a nanny gives up if its worker does not start in time
                    client.cluster.scale(WORKERS)
                    continue
                pid = chance.choice(pids)
                os.kill(pid, signal.SIGKILL)
                tally.killed.append(pid)

    killer = threading.Thread(target=kill, daemon=True)
    if every > 0.0:
        killer.start()
    try:
        yield
    finally:
        over.set()
        if every > 0.0:
            killer.join()


def compared(setting: tuple[Any, ...], chunks: str, here: Any, client: Any, tally: Tally) -> Row:
    """One setting on the cluster, held against the solution at home."""
    import dask.array as da

    import safescreen as ss

    name, n, m, gamma, terms, rel_gap = setting
    X, y = harness.synthetic(m, n, 0)
    killed, nodes, lost = len(tally.killed), tally.nodes, tally.lost
    start = time.perf_counter()
    stored = da.from_array(X, chunks=CHUNKS[chunks]).persist()
    problem = ss.Problem(stored, y, gamma=gamma, fit_intercept=False, standardize=False, **terms)
    there = ss.solve(problem, rel_gap=rel_gap, client=client)
    seconds = time.perf_counter() - start
    difference = abs(here.objective - there.objective) / here.objective
    bounds_fit = max(here.lower_bound, there.lower_bound) <= min(here.objective, there.objective) * (1.0 + 1e-12)
    same = there.status == here.status == "optimal" and difference <= rel_gap and bounds_fit
    [term] = terms
    return {
        "setting": f"{name} n={n} m={m} gamma={gamma} {term}={terms[term]}",
        "chunks": chunks,
        "objective": there.objective,
        "lower_bound": there.lower_bound,
        "difference": difference,
        "bound_difference": abs(here.lower_bound - there.lower_bound) / here.objective,
        "nodes_here": here.nodes,
        "nodes": there.nodes,
        "nodes_on_workers": tally.nodes - nodes,
        "batches_lost": tally.lost - lost,
        "kills": len(tally.killed) - killed,
        "seconds_here": here.seconds,
        "seconds": seconds,
        "same": "yes" if same else "WORSE",
    }


def at_home(setting: tuple[Any, ...]) -> Any:
    """The solution in one process, from a matrix in memory."""
    import safescreen as ss

    _, n, m, gamma, terms, rel_gap = setting
    X, y = harness.synthetic(m, n, 0)
    return ss.solve(ss.Problem(X, y, gamma=gamma, fit_intercept=False, standardize=False, **terms), rel_gap=rel_gap)


def main() -> int:
    options = harness.parser(__doc__ or "")
    options.add_argument("--kill-every", type=float, default=0.0, help="seconds between two kills, 0 for none")
    options.add_argument(
        "--seconds", type=float, default=60.0, help="repeat the larger trees until so much time is used"
    )
    arguments = options.parse_args()
    import dask
    from distributed import Client, LocalCluster

    dask.config.set({"distributed.scheduler.allowed-failures": 0})  # Dask itself tries nothing twice
    settings = [REG[0], REG[2], CARD[0]] if arguments.quick else REG + CARD
    settings += LONG if arguments.kill_every else []
    console.print("one process ...")
    home = [at_home(setting) for setting in settings]
    tally, rows = Tally(), []
    begin = time.perf_counter()
    cluster = LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    )
    with cluster, Client(cluster) as client, watched(tally), killing(client, arguments.kill_every, tally):
        tasks = list(product(range(len(settings)), CHUNKS))
        if arguments.kill_every:  # each chunking in turn
            tasks = [tasks[len(CHUNKS) * number + number % len(CHUNKS)] for number in range(len(settings))]
        hardest = sorted(range(len(settings)), key=lambda number: -home[number].nodes)[:2]
        while tasks or (arguments.kill_every and time.perf_counter() - begin < arguments.seconds):
            number, chunks = tasks.pop(0) if tasks else (random.choice(hardest), random.choice(list(CHUNKS)))
            rows.append(compared(settings[number], chunks, home[number], client, tally))
            harness.say(rows[-1])
    wrong = sum("WORSE" in row.values() for row in rows)
    notes = [
        f"{len(rows)} solves in {time.perf_counter() - begin:.0f} s; other objectives or bounds than at home: {wrong}",
        f"largest difference of objectives {max(row['difference'] for row in rows):.1e}, of bounds "
        f"{max(row['bound_difference'] for row in rows):.1e}, relative",
        f"{tally.nodes:,} nodes explored by workers, {len(tally.killed)} of which were killed",
        f"batches lost and sent again: {tally.lost}",
        f"geometric mean {geomean(row['seconds'] for row in rows):.2f} s, "
        f"at home {geomean(row['seconds_here'] for row in rows):.3f} s",
    ]
    harness.show("A cluster of two processes", rows, hide=("lower_bound",))
    harness.save(arguments.output or ("cluster_kills" if arguments.kill_every else "cluster"), rows, notes)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
