"""Workers of a search: each owns an explorer and open nodes; columns and the best objective are shared."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from safescreen.arrays import BoolArray, FloatArray, IndexArray, RecordArray
from safescreen.kernels import BEST_MODEL, IN, Goal, Orders
from safescreen.kernels.exploration import make_shared
from safescreen.kernels.listing import Listing, empty_listing, make_listing
from safescreen.kernels.node import Node
from safescreen.kernels.open_nodes import (
    OpenNodes,
    add_root,
    count_waiting,
    make_open_nodes,
    smallest_bound,
    split_off,
)
from safescreen.kernels.proof_log import ProofLog, make_proof_log
from safescreen.problem import Problem
from safescreen.relaxation import Fixings, Root, restricted_for_search
from safescreen.screening import flipped
from safescreen.search.explorer import Beginning, Explorer
from safescreen.search.found import FoundModels
from safescreen.search.proof_writer import ProofWriter
from safescreen.search.room import Extent, Room, shared_out
from safescreen.tuning import (
    HOPELESS_COST,
    HOT_FEATURES,
    LEAST_CAPACITY,
    LEAST_WARM_START,
    LISTED_ENTRIES,
    LISTED_MODELS,
    LOGGED_ENTRIES,
    LOGGED_NODES,
    NODE_SLOTS,
    WARMING_SHARE,
)
from safescreen.working_memory import allowed

MOST_COMMON_SIZE = 16
"""Features that the models of a node with one place left have, as a rule; larger ones are listed branch by branch."""


@dataclass
class Worker:
    """One explorer of the tree, with the nodes it is to explore."""

    explorer: Explorer
    open_nodes: OpenNodes
    columns: IndexArray
    proof: ProofWriter | None
    closed_bound: float = np.inf
    best: tuple[float, IndexArray | None] = (np.inf, None)  # objective and support of a model not yet collected
    nodes: int = 0
    found: list[FoundModels] = field(default_factory=list)  # models listed and not yet collected

    @property
    def waiting(self) -> int:
        """Nodes waiting to be explored."""
        return count_waiting(self.open_nodes)

    @property
    def at_hand(self) -> list[Node]:
        """The nodes that are relaxed while this worker explores."""
        return self.explorer.nodes_at_hand

    @property
    def is_long(self) -> bool:
        """Whether even one node may take long."""
        return self.explorer.is_long

    @property
    def lower_bound(self) -> float:
        """The smallest bound of anything this worker has open or closed."""
        return min(smallest_bound(self.open_nodes), self.closed_bound)

    def explore(self, upper: float, orders: Orders) -> bool:
        """Work until the allowance is used, nothing is left or another worker has run dry; whether nothing is left."""
        last = self.nodes + orders.node_limit
        while True:
            report = self.explorer.explore(self.open_nodes, upper, orders._replace(node_limit=last - self.nodes))
            self.open_nodes, self.closed_bound, self.nodes = report.open_nodes, report.closed_bound, report.nodes
            if report.support is not None and report.objective < self.best[0]:
                self.best = report.objective, self.columns[report.support]
            if report.list_is_full:
                self.flush_list()
            if not report.log_is_full:
                return report.exhausted
            self.flush_log()

    def collect_model(self, upper: float) -> IndexArray | None:
        """The support of the best model found since the last time, if it is better than ``upper``."""
        objective, support = self.best
        if not objective < upper:
            return None
        self.best = np.inf, None
        return support

    def flush_list(self) -> None:
        """Make room for more models."""
        listing = self.explorer.listing
        if listing.counts["models"][0]:
            self.found.append(FoundModels.of(listing, self.columns))
            empty_listing(listing)

    def collect_list(self) -> list[FoundModels]:
        """The models listed since the last time."""
        self.flush_list()
        found, self.found = self.found, []
        return found

    def flush_log(self) -> None:
        """Give the nodes logged since the last time to the proof, if one is written."""
        if self.proof is not None:
            self.proof.take(self.explorer.log, self.columns)

    def finish_log(self) -> None:
        """The same for good, with the nodes that are still open."""
        self.flush_log()
        if self.proof is not None:
            self.proof.take_open(self.open_nodes, self.columns)

    def decided_by_root(self) -> IndexArray:
        """What the root's dual point has decided in this worker's nodes, as ±(feature + 1)."""
        decisions = self.explorer.decided_by_root()
        return np.asarray(np.sign(decisions) * (self.columns[np.abs(decisions) - 1] + 1))

    def split_with(self, idle: Worker) -> None:
        """Give every second open node to a worker that has none."""
        idle.open_nodes = split_off(self.open_nodes, idle.open_nodes)


@dataclass
class Workers:
    """All workers of a search, and what they share."""

    each: list[Worker]
    shared: RecordArray  # [a record of `safescreen.kernels.exploration.SHARED`]

    @property
    def n_columns(self) -> int:
        """Columns that the search is about."""
        return self.each[0].columns.size

    def explore(self, worker: Worker, upper: float, orders: Orders) -> None:
        """Let a worker explore; one that runs dry calls the others back, so that nodes can be shared out again."""
        if worker.explore(upper, orders):
            self.shared["stop"] = 1

    def let_go_on(self) -> None:
        """Nobody is called back any more."""
        self.shared["stop"] = 0

    def share_nodes(self) -> None:
        """Give idle workers half of the busiest one's nodes."""
        for worker in self.each:
            richest = max(self.each, key=lambda other: other.waiting)
            if worker.waiting == 0 and richest.waiting >= 8:
                richest.split_with(worker)


def make_workers(
    problem: Problem, root: Root, fixings: Fixings, upper: float, count: int, proof: ProofWriter | None, goal: Goal
) -> Workers:
    """At most ``count`` workers over the columns that are not excluded; the first one holds the root node."""
    columns = np.flatnonzero(~fixings.excluded)
    shared = make_shared(upper)
    bounds = *_root_bounds(problem, root, columns), _hopeless(problem, columns, upper)
    width = min(columns.size, max(LEAST_WARM_START, 3 * int(np.count_nonzero(root.x)) // 2))
    room = _room(problem, root, columns.size, count, width)
    hot = _hot(problem, root, columns)
    subproblem = restricted_for_search(problem, columns, _urgency(problem, root, columns, hot), room.slots)
    hot &= subproblem.columns.are_held
    beginning = Beginning(hot, _curvature(problem, root), room.capacity)
    each = []
    for number in range(room.workers):
        if number > 0:
            subproblem = subproblem._replace(columns=subproblem.columns.for_another_worker())
        log = _log(columns.size, number, room.workers, proof)
        listing = _listing(problem, columns, goal, proof is not None)
        explorer = Explorer(subproblem, beginning, bounds, shared, log, listing)
        open_nodes = make_open_nodes(NODE_SLOTS, columns.size, width, room.most_open)
        each.append(Worker(explorer, open_nodes, columns, proof))
    status = np.where(fixings.included[columns], IN, 0).astype(np.int8)
    add_root(each[0].open_nodes, status, root.x[columns], (root.bound.value, root.level, root.b))
    return Workers(each, shared)


def _root_bounds(problem: Problem, root: Root, columns: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Bounds of the whole problem with each column in, and with it out; minus infinity where nothing is proved."""
    chosen, raised = flipped(root.bound, Fixings.given(problem))
    return np.where(chosen, -np.inf, raised)[columns], np.where(chosen, raised, -np.inf)[columns]


def _hopeless(problem: Problem, columns: IndexArray, upper: float) -> IndexArray:
    """Positions of columns with which nothing can be proved: rounding costs a bound more than it could be worth.

    That is so wherever a dual point is as large as it must be for a bound of some use. What is done about it is safe
    for any columns.
    """
    size = 0.5 * math.sqrt(problem.weights @ problem.weights)
    largest = math.sqrt(4.0 * HOPELESS_COST * upper / problem.gamma) / size
    return np.flatnonzero(~(problem.design.error[columns] <= largest))


def _log(features: int, number: int, count: int, proof: ProofWriter | None) -> ProofLog:
    """A worker's log: empty for good where no proof is written; its numbers are its own."""
    if proof is None:
        return make_proof_log(0, 0, features, number, count)
    return make_proof_log(LOGGED_NODES, max(LOGGED_ENTRIES, 4 * features), features, number, count)


def _listing(problem: Problem, columns: IndexArray, goal: Goal, keep_refuted: bool) -> Listing:
    """Room for a worker's models, at least for those of a node with one place left; none where one model is sought."""
    if goal.kind == BEST_MODEL:
        return make_listing(0, 0, np.zeros(0, np.bool_), BEST_MODEL, False)
    models = max(LISTED_MODELS, columns.size + 1)
    entries = max(LISTED_ENTRIES, models * min(problem.k, MOST_COMMON_SIZE), columns.size)
    return make_listing(models, entries, problem.included[columns], goal.kind, keep_refuted)


def _room(problem: Problem, root: Root, features: int, workers: int, width: int) -> Room:
    """How much of the tree is held."""
    nonzero = int(np.count_nonzero(root.x))
    budget = problem.k if problem.k < features else 0
    capacity = min(features, max(LEAST_CAPACITY, 2 * nonzero, nonzero + budget if budget else 0))
    least = min(features, budget or nonzero)
    extent = Extent(problem.n_samples, features, workers, capacity, least, width)
    return shared_out(extent, allowed(problem.design.nbytes))


def _urgency(problem: Problem, root: Root, columns: IndexArray, hot: BoolArray) -> IndexArray:
    """How much the first nodes need each column: those that the user includes, the root's, and hot ones."""
    return np.asarray(4 * problem.included[columns] + 2 * (root.x[columns] != 0.0) + hot)


def _hot(problem: Problem, root: Root, columns: IndexArray) -> BoolArray:
    """Columns to look at in every round: all of a few, else those near the root's level."""
    if columns.size <= HOT_FEATURES:
        return np.ones(columns.size, np.bool_)
    near = WARMING_SHARE * 2.0 * root.level / problem.gamma
    return np.asarray((np.abs(root.bound.correlation[columns]) > near) | (root.x[columns] != 0.0))


def _curvature(problem: Problem, root: Root) -> FloatArray:
    """Reference weights of the shared Gram matrix: the root's curvature, kept away from zero."""
    return np.asarray(np.maximum(problem.loss.curvature(root.bound.dual), 1e-6) * problem.weights)
