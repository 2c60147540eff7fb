"""Workers of a search: each owns an explorer and open nodes; columns and the best objective are shared."""

from __future__ import annotations

import math
import uuid
from dataclasses import dataclass, field

import numpy as np

from safescreen.arrays import BoolArray, FloatArray, IndexArray
from safescreen.kernels import BEST_MODEL, IN, Goal, Orders, Subproblem
from safescreen.kernels.exploration import make_shared
from safescreen.kernels.listing import Listing, empty_listing, make_listing
from safescreen.kernels.node import Node
from safescreen.kernels.open_nodes import (
    OpenNodes,
    add_root,
    count_waiting,
    emptied,
    first_layer,
    make_open_nodes,
    smallest_bound,
    split_off,
)
from safescreen.kernels.proof_log import ProofLog, make_proof_log
from safescreen.problem import Problem
from safescreen.relaxation import Fixings, Root, restricted_for_search
from safescreen.screening import flipped
from safescreen.search.cluster_task import Assignment
from safescreen.search.explorer import Beginning, Explorer, Report
from safescreen.search.found import FoundModels
from safescreen.search.parcels import Parcel, copy_of, put_in
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
    root: Parcel | None = None  # the root node, for whoever began with it

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
        """The smallest bound of anything this worker has open or closed, unless it explores."""
        return min(smallest_bound(self.open_nodes), self.closed_bound)

    def begin_again(self) -> None:
        """Drop all open nodes for the root, which covers them."""
        self.open_nodes = emptied(self.open_nodes)
        if self.root is not None:
            self.open_nodes = put_in(self.open_nodes, self.root)

    def first_layer(self, number: int, cutoff: float) -> float:
        """The first layer of the order with this number that has open nodes, unless it explores; 0 if it is not known.

        That is so, too, where something was closed below the cutoff, in whatever layer that was.
        """
        return first_layer(self.open_nodes, number) if self.closed_bound >= cutoff else 0.0

    def explore(self, upper: float, orders: Orders) -> None:
        """Work until the allowance is used, nothing is left, or somebody should look at the list.

        ``orders.node_limit`` counts all nodes that this worker has ever explored.
        """
        while True:
            left = orders._replace(node_limit=orders.node_limit - self.nodes)
            report = self.explorer.explore(self.open_nodes, upper, left)
            self.take(report)
            if report.list_is_full:
                self.flush_list()
            if not report.log_is_full:
                return
            self.flush_log()

    def take(self, report: Report) -> None:
        """Keep what the explorer has learned."""
        self.open_nodes = report.open_nodes
        self.learn(report)

    def learn(self, report: Report) -> None:
        """The same, of nodes that are not its own."""
        self.closed_bound, self.nodes = report.closed_bound, report.nodes
        if report.support is not None and report.objective < self.best[0]:
            self.best = report.objective, self.columns[report.support]

    def collect_model(self, upper: float) -> IndexArray | None:
        """The support of the best model found since the last time, if it is better than ``upper``."""
        objective, support = self.best
        if not objective < upper:
            return None
        self.best = np.inf, None
        return support

    def listed(self) -> list[FoundModels]:
        """The models on the list, which is empty afterwards."""
        listing = self.explorer.listing
        if not listing.counts["models"][0]:
            return []
        found = FoundModels.of(listing, self.columns)
        empty_listing(listing)
        return [found]

    def flush_list(self) -> None:
        """Make room for more models."""
        self.found += self.listed()

    def collect_list(self) -> list[FoundModels]:
        """The models taken off the list since the last time."""
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

    def remember(self, closed_bound: float) -> None:
        """Count what an earlier run has pruned or screened away: nothing of it has a smaller bound."""
        self.explorer.remember(closed_bound)
        self.closed_bound = min(self.closed_bound, closed_bound)

    def split_with(self, idle: Worker, every: int = 2, most: int | None = None) -> None:
        """Give every second open node, or every third or so, to a worker that has none."""
        idle.open_nodes = split_off(self.open_nodes, idle.open_nodes, every, most)


class Workshop:
    """What the workers of one search have in common, and how to make them: each takes time and memory.

    Parameters
    ----------
    problem, root, fixings
        The problem, its root, and what is decided about the whole tree; columns that are excluded are not held.
    upper : float
        The best objective, or the threshold, when the search begins.
    count : int
        Workers that are wanted; `most` says for how many there is room.
    proof : ProofWriter or None
        For what the workers log.
    goal : Goal
        What they look for.
    """

    def __init__(
        self,
        problem: Problem,
        root: Root,
        fixings: Fixings,
        upper: float,
        count: int,
        proof: ProofWriter | None,
        goal: Goal,
    ) -> None:
        self.columns = columns = np.flatnonzero(~fixings.excluded)
        self.shared = make_shared(upper)
        self._problem, self._root, self._proof, self._goal = problem, root, proof, goal
        self._included = fixings.included[columns]
        self._bounds = *_root_bounds(problem, root, columns), hopeless(problem, columns, upper)
        self._width = min(columns.size, max(LEAST_WARM_START, 3 * int(np.count_nonzero(root.x)) // 2))
        self._room = room = room_for(problem, root, columns.size, count, self._width)
        if not (problem.design.readable_in_place or problem.design.has_room_for(columns.size, room.slots)):
            raise MemoryError(
                f"{columns.size:,} columns survive screening, but working memory holds {room.slots:,} of them, and X "
                "is not held where others can be read: raise memory_limit, or screen more with a smaller gamma."
            )
        hot = _hot(problem, root, columns)
        self._subproblem = restricted_for_search(problem, columns, _urgency(problem, root, columns, hot), room.slots)
        self._beginning = Beginning(hot & self._subproblem.columns.are_held, _curvature(problem, root), room.capacity)

    @property
    def most(self) -> int:
        """Workers that memory has room for."""
        return self._room.workers

    def subproblems(self, count: int) -> list[Subproblem]:
        """The data for so many workers besides the first: columns that are written to are copied.

        They are copied from those of the first worker, which must not explore meanwhile.
        """
        first = self._subproblem
        return [first._replace(columns=first.columns.for_another_worker()) for _ in range(count)]

    def worker(self, number: int, subproblem: Subproblem | None = None) -> Worker:
        """A worker without open nodes; its number is its own. The first one needs no data besides."""
        features = self.columns.size
        log = _log(features, number, self.most, self._proof)
        listing = _listing(self._problem, self.columns, self._goal, self._proof is not None)
        subproblem = self._subproblem if subproblem is None else subproblem
        explorer = Explorer(subproblem, self._beginning, self._bounds, self.shared, log, listing)
        open_nodes = make_open_nodes(NODE_SLOTS, features, self._width, self._room.most_open)
        return Worker(explorer, open_nodes, self.columns, self._proof)

    def assignment(self) -> Assignment:
        """What workers on other computers need; the first worker must not explore meanwhile."""
        return Assignment(
            name=uuid.uuid4().hex,
            subproblem=self.subproblems(1)[0],
            beginning=self._beginning,
            bounds=self._bounds,
            width=self._width,
            most_open=self._room.most_open,
            is_logged=self._proof is not None,
        )

    def first_worker(self) -> Worker:
        """A worker that holds the root node."""
        worker, root = self.worker(0), self._root
        status = np.where(self._included, IN, 0).astype(np.int8)
        add_root(worker.open_nodes, status, root.x[self.columns], (root.bound.value, root.level, root.b))
        worker.root = copy_of(worker.open_nodes)
        return worker


def _root_bounds(problem: Problem, root: Root, columns: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Bounds of the whole problem with each column in, and with it out; minus infinity where nothing is proved."""
    chosen, raised = flipped(root.bound, Fixings.given(problem))
    return np.where(chosen, -np.inf, raised)[columns], np.where(chosen, raised, -np.inf)[columns]


def hopeless(problem: Problem, columns: IndexArray, upper: float) -> IndexArray:
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
    entries = max(LOGGED_ENTRIES, 4 * features)
    return make_proof_log(LOGGED_NODES, entries, features, proof.first_number + number, count)


def _listing(problem: Problem, columns: IndexArray, goal: Goal, keep_refuted: bool) -> Listing:
    """Room for a worker's models, at least for those of a node with one place left; none where one model is sought."""
    if goal.kind == BEST_MODEL:
        return make_listing(0, 0, np.zeros(0, np.bool_), BEST_MODEL, False)
    models = max(LISTED_MODELS, columns.size + 1)
    entries = max(LISTED_ENTRIES, models * min(problem.k, MOST_COMMON_SIZE), columns.size)
    return make_listing(models, entries, problem.included[columns], goal.kind, keep_refuted)


def room_for(problem: Problem, root: Root, features: int, workers: int, width: int) -> Room:
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
