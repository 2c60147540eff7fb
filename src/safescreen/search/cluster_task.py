"""What a worker of a cluster does: explore a batch of open nodes for a while, and send back what became of them.

An explorer is kept from task to task, since its Gram matrix took time; all that counts for the search, bounds, models,
logs, is that of one task alone. So a task may be lost, or done twice, and nobody else notices.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from safescreen import kernels
from safescreen.arrays import FloatArray, IndexArray
from safescreen.kernels import Orders, Subproblem
from safescreen.kernels.exploration import make_shared
from safescreen.kernels.listing import Listing, make_listing
from safescreen.kernels.open_nodes import arrange, make_open_nodes
from safescreen.kernels.outward import Order
from safescreen.kernels.proof_log import ProofLog, empty_log, make_proof_log
from safescreen.search.explorer import Beginning, Explorer
from safescreen.search.parcels import ELSEWHERE, LogPart, Parcel, put_in, take_all, take_log
from safescreen.tuning import LOGGED_ENTRIES, LOGGED_NODES, NODE_SLOTS

FORGOTTEN_AFTER = 60.0
"""Seconds after which the explorers of another search make room."""


class Assignment(NamedTuple):
    """What all tasks of a search have in common; every worker gets it once."""

    name: str  # of the search
    subproblem: Subproblem
    beginning: Beginning
    bounds: tuple[FloatArray, FloatArray, IndexArray]
    width: int  # coefficients of a warm start
    most_open: int  # nodes beyond which depth comes first
    is_logged: bool


class Batch(NamedTuple):
    """Open nodes to explore, and how far."""

    nodes: Parcel
    upper: float  # the objective of the best model
    orders: Orders
    order: Order  # in which its nodes are to be taken
    seconds: float


class Answer(NamedTuple):
    """What became of a batch."""

    nodes: Parcel  # still open
    closed_bound: float  # nothing pruned or screened away in this task has a smaller bound
    explored: int
    objective: float
    support: IndexArray | None  # of the best model found in this task, by positions in the columns
    decided_by_root: IndexArray
    log: list[LogPart]


class TaskExplorer(Explorer):
    """An explorer whose reports are about one task after the other."""

    def start_over(self, upper: float) -> None:
        """Forget all but what makes it fast; even a better model that it has found: its report may have been lost."""
        arrays = self._arrays
        arrays.shared["upper"] = upper
        arrays.tally["closed_bound"] = np.inf
        arrays.root.used[:] = False
        arrays.models.objective[0] = np.inf
        empty_log(self.log)
        self.log.counts["next_number"] = ELSEWHERE


@dataclass
class _Kept:
    """An explorer and when it was last used."""

    explorer: TaskExplorer
    used: float


_kept: dict[tuple[str, int], _Kept] = {}
_lock = threading.Lock()


def explore_batch(assignment: Assignment, batch: Batch) -> Answer:
    """Explore until time is up or nothing is left; the clock starts when the kernels are ready."""
    kernels.warm_up()
    place = assignment.name, threading.get_ident()
    explorer = _explorer(place, assignment)
    try:
        answer = _explored(assignment, explorer, batch)
    except BaseException:
        _forget(place)  # whatever state it is in
        raise
    return answer


def make_ready() -> None:
    """Have the kernels at hand before the first task comes."""
    kernels.warm_up()


def forget_search(name: str) -> None:
    """Free what is kept for a search that is over."""
    for place in [place for place in list(_kept) if place[0] == name]:
        _forget(place)


def _forget(place: tuple[str, int]) -> None:
    with _lock:
        _kept.pop(place, None)


def _explorer(place: tuple[str, int], assignment: Assignment) -> TaskExplorer:
    """The explorer of this thread for this search; those of searches that seem to be over make room."""
    now = monotonic()
    with _lock:
        for other in [other for other, kept in _kept.items() if now - kept.used > FORGOTTEN_AFTER and other != place]:
            del _kept[other]
        kept = _kept.get(place)
    if kept is None:
        kept = _Kept(_make_explorer(assignment), now)
    kept.used = now
    with _lock:
        _kept[place] = kept
    return kept.explorer


def _make_explorer(assignment: Assignment) -> TaskExplorer:
    subproblem, beginning, bounds = _writable((assignment.subproblem, assignment.beginning, assignment.bounds))
    subproblem = subproblem._replace(columns=subproblem.columns.for_another_worker())
    features = beginning.hot.size
    log, shared = _log(features, assignment.is_logged), make_shared(np.inf)
    return TaskExplorer(subproblem, beginning, bounds, shared, log, _no_listing())


def _writable(value: Any) -> Any:
    """The same tuples with arrays that may be written to: for others, as messages leave them, all would be compiled."""
    if isinstance(value, np.ndarray):
        return value if value.flags.writeable else value.copy()
    if not isinstance(value, tuple):
        return value
    parts = [_writable(part) for part in value]
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


def _log(features: int, is_logged: bool) -> ProofLog:
    if not is_logged:
        return make_proof_log(0, 0, features, ELSEWHERE, 1)
    return make_proof_log(LOGGED_NODES, max(LOGGED_ENTRIES, 4 * features), features, ELSEWHERE, 1)


def _no_listing() -> Listing:
    return make_listing(0, 0, np.zeros(0, np.bool_), kernels.BEST_MODEL, False)


def _explored(assignment: Assignment, explorer: TaskExplorer, batch: Batch) -> Answer:
    features = assignment.beginning.hot.size
    slots = max(NODE_SLOTS, 2 * batch.nodes.size)
    nodes = put_in(make_open_nodes(slots, features, assignment.width, assignment.most_open), batch.nodes)
    arrange(nodes, batch.order)
    explorer.start_over(batch.upper)
    before, end = explorer.nodes, monotonic() + batch.seconds
    objective, support, log = np.inf, None, []
    while True:
        left = batch.orders.node_limit - (explorer.nodes - before)
        report = explorer.explore(nodes, batch.upper, batch.orders._replace(node_limit=left))
        nodes = report.open_nodes
        if report.support is not None and report.objective < objective:
            objective, support = report.objective, report.support
        if report.log_is_full:
            log.append(take_log(explorer.log))
        elif report.exhausted or explorer.nodes - before >= batch.orders.node_limit or monotonic() >= end:
            break
    log.append(take_log(explorer.log))
    return Answer(
        nodes=take_all(nodes),
        closed_bound=report.closed_bound,
        explored=explorer.nodes - before,
        objective=objective,
        support=support,
        decided_by_root=explorer.decided_by_root(),
        log=log,
    )
