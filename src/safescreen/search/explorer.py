"""An explorer: open nodes in, open nodes and what was learned out.

Threads, processes and computers are only ways of calling :meth:`Explorer.explore`. What it keeps between calls (Gram
matrices, dense copies of sparse columns, supports tried lately) changes the path of a search, never its truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from safescreen import kernels
from safescreen.arrays import AnyArray, BoolArray, FloatArray, IndexArray, RecordArray
from safescreen.kernels import Orders, Subproblem
from safescreen.kernels.exploration import EXHAUSTED, LIST_FULL, LOG_FULL, NODES_FULL, make_exploration
from safescreen.kernels.listing import Listing
from safescreen.kernels.node import Node
from safescreen.kernels.node_relaxation import make_workspace
from safescreen.kernels.open_nodes import OpenNodes, count_waiting, enlarged, make_open_nodes
from safescreen.kernels.patience import is_long
from safescreen.kernels.proof_log import ProofLog
from safescreen.tuning import SWEEP_TRIALS

_NO_NODES = make_open_nodes(1, 1, 1, 1)


class Beginning(NamedTuple):
    """What the nodes of a search have in common: how to begin, and how much room they need."""

    hot: BoolArray  # columns looked at in every round, at first
    weights: FloatArray  # reference weights of the shared Gram matrix
    capacity: int  # columns a working set may have


class Report(NamedTuple):
    """What became of a batch of open nodes."""

    open_nodes: OpenNodes
    closed_bound: float  # nothing that was pruned or screened away so far has a smaller bound
    nodes: int  # explored so far
    support: IndexArray | None  # the best model found since the last report, by positions in the columns
    objective: float
    log: ProofLog  # of the nodes explored since it was last emptied
    exhausted: bool
    log_is_full: bool  # hand the log over, then go on
    list_is_full: bool  # hand the list over, which may be the time for a look at limits


class Explorer:
    """One worker: its work space, its log, and the state it shares with others on the same computer."""

    def __init__(
        self,
        subproblem: Subproblem,
        beginning: Beginning,
        bounds: tuple[FloatArray, FloatArray, IndexArray],
        shared: RecordArray,
        log: ProofLog,
        listing: Listing,
    ) -> None:
        features = beginning.hot.size
        self._arrays = make_exploration(subproblem, beginning.hot, _NO_NODES, bounds, shared, log, listing)
        self._workspace = make_workspace(features, beginning.weights, beginning.capacity)
        self._passes_over_matrix = subproblem.columns.are_in_place
        self.log, self.listing = log, listing
        self.open_nodes = _NO_NODES  # of the latest call
        self._nodes_aside = 0

    def explore(self, open_nodes: OpenNodes, upper: float, orders: Orders) -> Report:
        """Work until the allowance is used, nothing is left, log or list are full, or it is called back.

        ``upper`` is the objective of the best model the caller knows; a better one that is found counts at once.
        """
        shared = self._arrays.shared[0]
        shared["upper"] = min(float(shared["upper"]), upper)
        tally, models = self._arrays.tally, self._arrays.models
        last = self.nodes + orders.node_limit
        while True:
            self.open_nodes = open_nodes
            left = orders._replace(node_limit=last - self.nodes)
            outcome = kernels.explore(self._arrays._replace(open_nodes=open_nodes), self._workspace, left)
            if outcome != NODES_FULL:
                break
            open_nodes = enlarged(open_nodes)
        objective = float(models.objective[0])
        support = np.flatnonzero(models.support) if objective < np.inf else None
        models.objective[0] = np.inf
        return Report(
            open_nodes=open_nodes,
            closed_bound=float(tally["closed_bound"][0]),
            nodes=self.nodes,
            support=support,
            objective=objective,
            log=self.log,
            exhausted=outcome == EXHAUSTED,
            log_is_full=outcome == LOG_FULL,
            list_is_full=outcome == LIST_FULL,
        )

    def remember(self, closed_bound: float) -> None:
        """Count what others have pruned or screened away before: nothing of it has a smaller bound."""
        self._arrays.tally["closed_bound"] = np.minimum(self._arrays.tally["closed_bound"], closed_bound)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """For another tree that should leave no trace in the path of this one; what is closed there counts.

        Its nodes with one place left are swept without a relaxation, as if that had closed none of a few.
        """
        arrays, tally = self._arrays, self._arrays.tally
        path: tuple[AnyArray, ...] = (tally, arrays.models.tried, *arrays.node, *arrays.refit_node)
        kept, nodes = [array.copy() for array in path], int(tally["nodes"][0])
        tally["last_relaxed"] = tally["last_survived"] = SWEEP_TRIALS
        tally["last_relaxing"], tally["last_swept"], tally["last_sweeping"] = 1, 1, 0
        try:
            yield
        finally:
            self._nodes_aside += int(tally["nodes"][0]) - nodes
            closed_bound = float(tally["closed_bound"][0])
            for array, before in zip(path, kept, strict=True):
                array[:] = before
            tally["closed_bound"] = closed_bound

    def call_back(self) -> None:
        """Let the call of `explore` that is under way, or the next one, return after the node at hand."""
        self._arrays.cursor["stop"] = 1

    def let_go_on(self) -> None:
        """Not any more."""
        self._arrays.cursor["stop"] = 0

    @property
    def waiting(self) -> int:
        """Open nodes besides the one at hand, at this moment; for others to guess by while it explores."""
        return count_waiting(self.open_nodes)

    @property
    def nodes(self) -> int:
        """Nodes explored so far."""
        return int(self._arrays.tally["nodes"][0]) + self._nodes_aside

    @property
    def nodes_at_hand(self) -> list[Node]:
        """The nodes that are relaxed while it explores; they can be halted."""
        return [self._arrays.node, self._arrays.refit_node]

    @property
    def is_long(self) -> bool:
        """Whether even one node may take long."""
        return self._passes_over_matrix or is_long(self._workspace.quadratic.x.size, self._arrays.node.u.size)

    def decided_by_root(self) -> IndexArray:
        """What the root's dual point has decided in some node, as ±(position + 1)."""
        used = np.flatnonzero(self._arrays.root.used)
        return np.asarray(np.where(self._arrays.root.if_in[used] > -np.inf, -1, 1) * (used + 1))
