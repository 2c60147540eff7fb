"""Workers of a search: each owns its work space and open nodes; columns and the best objective are shared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from safescreen import kernels
from safescreen.bounds import IN, Fixings
from safescreen.certificate import Proof
from safescreen.node import Data, State, make_spare, make_state
from safescreen.problem import Problem
from safescreen.relaxation import Root, block_data
from safescreen.tree import EXHAUSTED, LOG_FULL, STORE_FULL, Store, Totals, make_log, make_store, make_totals, put

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.int64]

_DENSE_BYTES = 1 << 26  # a sparse matrix stays compressed in the search when its dense block would be larger
_VIRTUAL_BYTES = 1 << 33  # room for dense rows; only those in use take memory
_SLOTS = 1024
_OPEN_BYTES = 1 << 31  # memory of all open nodes above which no more of them are gathered
_LOGGED = 4096  # nodes a worker logs before it hands them to the proof


@dataclass
class Worker:
    """One explorer of the tree."""

    columns: IndexArray
    data: Data
    state: State
    spare: State
    store: Store
    totals: Totals
    proof: Proof | None

    @property
    def open_nodes(self) -> int:
        """Nodes waiting in this worker's store."""
        return int(self.store.counts[1])

    @property
    def lower_bound(self) -> float:
        """The smallest bound of anything this worker has open or closed."""
        waiting = self.store.bound[self.store.heap[0]] if self.open_nodes else np.inf
        return float(min(waiting, self.totals.closed[0]))

    def explore(self, rel_gap: float, node_screening: bool, nodes: int, allowance: int) -> None:
        """Work until the allowance is used, nothing is left or another worker has run dry."""
        last = int(self.totals.counts[0]) + nodes
        while True:
            left = last - int(self.totals.counts[0])
            outcome = kernels.explore(
                self.data, self.state, self.spare, self.store, self.totals, rel_gap, node_screening, left, allowance
            )
            if outcome == EXHAUSTED:
                self.totals.stop[0] = 1
            if outcome == STORE_FULL:
                self.store = _enlarged(self.store)
            elif outcome == LOG_FULL:
                self.hand_in_log()
            else:
                return

    def hand_in_log(self) -> None:
        """Give the nodes logged since the last time to the proof, if one is written."""
        if self.proof is not None:
            self.proof.take(self.totals.log, self.columns)

    def hand_in_rest(self) -> None:
        """The same for good, with the nodes that are still open."""
        if self.proof is not None:
            self.proof.take(self.totals.log, self.columns)
            self.proof.take_open(self.store, self.totals.log, self.columns)

    def hand_over(self, other: Worker) -> None:
        """Give every second open node, in the order of their bounds, to a worker that has none."""
        slots = self.store.heap[: self.open_nodes].copy()
        slots = slots[np.argsort(self.store.bound[slots], kind="stable")]
        kept, given = slots[0::2], slots[1::2]
        while other.store.counts[0] < given.size + 2:
            other.store = _enlarged(other.store)
        target = np.arange(given.size, dtype=np.int32)
        theirs = other.store
        for mine, their in zip(self.store[:9], theirs[:9], strict=True):
            their[target] = mine[given]
        theirs.heap[: given.size] = target  # sorted by bound, hence a heap
        theirs.counts[:2] = theirs.bound.size - given.size, given.size
        theirs.vacant[: theirs.counts[0]] = np.arange(theirs.bound.size - 1, given.size - 1, -1, dtype=np.int32)
        vacant = self.store.counts[0]
        self.store.vacant[vacant : vacant + given.size] = given
        self.store.counts[:2] = vacant + given.size, kept.size
        self.store.heap[: kept.size] = kept


def make_workers(
    problem: Problem,
    root: Root,
    fixings: Fixings,
    upper: float,
    columns: IndexArray,
    count: int,
    proof: Proof | None,
) -> list[Worker]:
    """Workers over the surviving ``columns``; the first one holds the root node."""
    shared = np.array([upper]), np.zeros(1, np.int64)
    chosen, raised = root.bound.raised(Fixings(problem.included, problem.excluded))
    raise_in = np.where(chosen, -np.inf, raised)[columns]
    raise_out = np.where(chosen, raised, -np.inf)[columns]
    weights = _curvature(problem, root)
    nonzero = int(np.count_nonzero(root.x))
    capacity = min(columns.size, max(256, 2 * nonzero, nonzero + problem.k if problem.k < columns.size else 0))
    width = min(columns.size, max(32, nonzero + nonzero // 2))
    workers = []
    base = search_data(problem, columns, root)
    hot = _hot(problem, root, columns)
    for number in range(count):
        data = base if number == 0 or base.values.size == 0 else search_data(problem, columns, root)
        log = make_log(*((0, 0) if proof is None else (_LOGGED, max(1 << 17, 4 * columns.size))), number, count)
        totals = make_totals(*shared, raise_in, raise_out, log)
        state = make_state(data, hot, weights, capacity)
        spare = make_spare(state)
        store = make_store(_SLOTS, columns.size, width, _most_open(columns.size, width, count))
        workers.append(Worker(columns, data, state, spare, store, totals, proof))
    first = workers[0]
    first.state.status[fixings.included[columns]] = IN
    first.state.x[:] = root.x[columns]
    put(first.store, first.state, root.bound.value, root.level, root.b)
    return workers


def _most_open(features: int, width: int, workers: int) -> int:
    """Open nodes a worker may gather before it goes on with the latest instead of the best."""
    return _OPEN_BYTES // workers // (features // 4 + 8 * width + 64)


def _hot(problem: Problem, root: Root, columns: IndexArray) -> npt.NDArray[np.bool_]:
    """Columns to look at in every round: all of a few, else those near the root's level."""
    if columns.size <= 512:
        return np.ones(columns.size, np.bool_)
    near = 0.8 * 2.0 * root.level / problem.gamma
    return np.asarray((np.abs(root.bound.correlation[columns]) > near) | (root.x[columns] != 0.0))


def _curvature(problem: Problem, root: Root) -> FloatArray:
    """Reference weights of the shared Gram matrix: the root's curvature, kept away from zero."""
    p = root.bound.dual
    return np.asarray(np.maximum(p * (1.0 - p), 1e-6) * problem.weights)


def search_data(problem: Problem, columns: IndexArray, root: Root) -> Data:
    """The columns for a search: dense, unless they are many and the matrix is sparse."""
    m = problem.n_samples
    compressed = problem.design.compressed(columns) if columns.size * m * 8 > _DENSE_BYTES else None
    if compressed is None or compressed.values.size * 16 > columns.size * m * 8:
        return block_data(problem, columns)
    design = problem.design
    first = np.flatnonzero((root.x[columns] != 0.0) | problem.included[columns] | _hot(problem, root, columns))
    rows = min(columns.size, max(4 * (first.size + 256), _VIRTUAL_BYTES // (8 * m)))
    block = np.empty((rows, m))
    block[: first.size] = design.columns(columns[first]).T
    row = np.full(columns.size, -1)
    row[first] = np.arange(first.size)
    return Data(
        block, row, np.array([first.size]), *compressed, design.means[columns], design.scales[columns],
        np.maximum(design.error[columns], design.block_error[columns]), problem.y, problem.weights, problem.gamma,
        problem.mu, problem.k, problem.fit_intercept,
    )  # fmt: skip


def _enlarged(store: Store) -> Store:
    """The same open nodes in twice the slots."""
    old = store.bound.size
    new = make_store(2 * old, 4 * store.bits.shape[1], store.feature.shape[1], int(store.counts[2]))
    for mine, theirs in zip(store[:9], new[:9], strict=True):
        theirs[:old] = mine
    new.heap[:old] = store.heap
    vacant = int(store.counts[0])
    new.vacant[:old] = np.arange(2 * old - 1, old - 1, -1, dtype=np.int32)
    new.vacant[old : old + vacant] = store.vacant[:vacant]
    new.counts[:2] = vacant + old, store.counts[1]
    return new
