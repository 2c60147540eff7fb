"""What every search of the tree does, whatever it looks for: share open nodes out, explore, and keep the proof."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from safescreen.arrays import IndexArray
from safescreen.kernels import Goal, Orders
from safescreen.kernels.patience import attend
from safescreen.problem import Problem
from safescreen.relaxation import Fixings, Root, trivial_bound
from safescreen.screening import decide
from safescreen.search.proof_writer import ProofWriter
from safescreen.search.solution import TracePoint
from safescreen.search.watch import Watch
from safescreen.search.workers import Worker, Workers, make_workers
from safescreen.tuning import ALLOWANCE, FEW_NODES

_NO_LIMIT = 2**62


class TreeSearch:
    """Workers, what the root has decided, and the lower bound of what is still sought."""

    def __init__(self, problem: Problem, root: Root, watch: Watch, proof: ProofWriter | None, goal: Goal) -> None:
        self.problem = problem
        self.root = root
        self.settings = watch.settings
        self.watch = watch
        self.proof = proof
        self.screened: IndexArray = np.empty(0, np.int64)  # what the root's dual point has decided, as ±(feature + 1)
        self.workers: Workers | None = None
        self.lower_bound = max(trivial_bound(problem), root.bound.value)  # in this order also of what is no number
        self.trace: list[TracePoint] = []
        self._explored = 0
        self._orders = Orders(goal, self.settings.screening == "nodes", _NO_LIMIT, ALLOWANCE)

    @property
    def nodes(self) -> int:
        """Nodes explored."""
        return self._explored + sum(worker.nodes for worker in self._each())

    @property
    def open_nodes(self) -> int:
        """Nodes waiting."""
        return sum(worker.waiting for worker in self._each())

    def _each(self) -> list[Worker]:
        return self.workers.each if self.workers is not None else []

    def _prepare(self, upper: float) -> Workers:
        """Screen at the root against this objective, and set up the workers on what is left."""
        given = fixings = Fixings.given(self.problem)
        if self.settings.screening != "none":
            fixings = decide(self.root.bound, given, upper)
            included = np.flatnonzero(fixings.included & ~given.included)
            excluded = np.flatnonzero(fixings.excluded & ~given.excluded)
            self.screened = np.concatenate([included + 1, -1 - excluded])
        self.workers = make_workers(
            self.problem, self.root, fixings, upper, self.settings.n_threads, self.proof, self._orders.goal
        )
        return self.workers

    def _explore(self, workers: Workers, pool: ThreadPoolExecutor, upper: float) -> None:
        """Let every worker with open nodes explore for a while, sharing the nodes out first."""
        workers.share_nodes()
        busy = [worker for worker in workers.each if worker.waiting > 0]
        workers.let_go_on()
        limit, threads = self.settings.node_limit, self.settings.n_threads
        nodes = _NO_LIMIT if limit is None else max(limit - self.nodes, 0)
        few = len(busy) == 1 and threads > 1 and self.open_nodes < FEW_NODES * threads
        allowance = ALLOWANCE // 1000 if few else ALLOWANCE
        orders = self._orders._replace(node_limit=-(-nodes // len(busy)), allowance=allowance)
        if len(busy) == 1 and not busy[0].is_long:
            workers.explore(busy[0], upper, orders)
            return
        tasks = [pool.submit(workers.explore, worker, upper, orders) for worker in busy]
        attend(tasks, [node for worker in busy for node in worker.at_hand], self.watch.expired)
        for task in tasks:
            task.result()

    def _close_tree(self) -> None:
        """Complete the proof of the tree, keep what the root has decided in it, and dismiss the workers."""
        for worker in self._each():
            worker.finish_log()
            self.screened = np.union1d(self.screened, worker.decided_by_root())
        self._explored, self.workers = self.nodes, None
