"""Branch and bound: rounds of exploration, better models and the lower bound between them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from safescreen.arrays import IndexArray
from safescreen.expiry import ExpiredError
from safescreen.incumbents import Incumbent, polish_in_time
from safescreen.kernels import BEST_MODEL, Goal, Orders
from safescreen.kernels.patience import attend
from safescreen.problem import Problem
from safescreen.relaxation import Fixings, Root, trivial_bound
from safescreen.screening import decide
from safescreen.search.improving import Improver
from safescreen.search.proof_writer import ProofWriter
from safescreen.search.solution import Moment, Solution, TracePoint, relative_gap
from safescreen.search.watch import Watch
from safescreen.search.workers import Worker, Workers, make_workers
from safescreen.status import Status
from safescreen.tuning import ALLOWANCE, FEW_NODES, LOCAL_PART, SMALL_BLOCK
from safescreen.working_memory import sharing

_NO_LIMIT = 2**62


class Search:
    """One search: workers, the best model so far, and the proof's progress."""

    def __init__(
        self, problem: Problem, root: Root, incumbent: Incumbent, watch: Watch, proof: ProofWriter | None = None
    ) -> None:
        self.problem = problem
        self.root = root
        self.incumbent = incumbent
        self.settings = watch.settings
        self.watch = watch
        self.proof = proof
        self.improver = Improver(problem, root, watch)
        self.screened: IndexArray = np.empty(0, np.int64)  # what the root's dual point has decided, as ±(feature + 1)
        self.workers: Workers | None = None
        self.lower_bound = max(trivial_bound(problem), root.bound.value)  # in this order also of what is no number
        self.trace: list[TracePoint] = []
        self._explored = 0
        # a hair stricter than asked, so that rounding in the objective and the gap itself cannot miss the request
        rel_gap = max(self.settings.rel_gap * (1.0 - 1e-6) - 1e-13 - 4.0 * incumbent.rounding, 0.0)
        self._orders = Orders(Goal(BEST_MODEL, rel_gap), self.settings.screening == "nodes", _NO_LIMIT, ALLOWANCE)

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

    def run(self) -> Status:
        """Search until the gap is closed or a limit is hit."""
        status = self._run()
        self._close_tree()
        return status

    def _run(self) -> Status:
        status = self._look_up() or self._search_tree()
        if status is not None:
            return status
        self._close_tree()  # the memory of the workers is not needed any more
        if self.improver.is_worthwhile_at_last(self.incumbent, self._gap(), self.nodes):
            self.incumbent = self.improver.next_door(self.incumbent, self.nodes)
            self.lower_bound = min(self.lower_bound, self.incumbent.objective)
            self._record()
        return Status.OPTIMAL if self._gap() <= self.settings.rel_gap else Status.NUMERICAL_LIMIT

    def _search_tree(self) -> Status | None:
        """Rounds of exploration until a limit is hit, which is returned, or nothing is left to explore."""
        try:
            workers = self._prepare()
        except ExpiredError:  # while columns were gathered
            self.screened = np.empty(0, np.int64)
            return self.watch.limit(self.nodes) or Status.INTERRUPTED
        with ThreadPoolExecutor(self.settings.n_threads) as pool, sharing(LOCAL_PART):
            while self.open_nodes > 0:
                self._explore(workers, pool)
                self._update(workers)
                status = self._look_up()
                if status is not None:
                    return None if status is Status.OPTIMAL else status
        return None

    def _look_up(self) -> Status | None:
        """Note where the search stands; the status if it is over."""
        stopped = self._record()
        if self._gap() <= self.settings.rel_gap:
            return Status.OPTIMAL
        return Status.INTERRUPTED if stopped else self.watch.limit(self.nodes)

    def _prepare(self) -> Workers:
        """Screen at the root and set up the workers on what is left."""
        given = fixings = Fixings.given(self.problem)
        if self.settings.screening != "none":
            fixings = decide(self.root.bound, given, self.incumbent.objective)
            included = np.flatnonzero(fixings.included & ~given.included)
            excluded = np.flatnonzero(fixings.excluded & ~given.excluded)
            self.screened = np.concatenate([included + 1, -1 - excluded])
        upper, count = self.incumbent.objective, self.settings.n_threads
        self.workers = make_workers(self.problem, self.root, fixings, upper, count, self.proof)
        return self.workers

    def _explore(self, workers: Workers, pool: ThreadPoolExecutor) -> None:
        """Let every worker with open nodes explore for a while, sharing the nodes out first."""
        workers.share_nodes()
        busy = [worker for worker in workers.each if worker.waiting > 0]
        workers.let_go_on()
        limit, threads, upper = self.settings.node_limit, self.settings.n_threads, self.incumbent.objective
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

    def _update(self, workers: Workers) -> None:
        """Take over better models and the new lower bound."""
        for worker in workers.each:
            worker.flush_log()
            support = worker.collect_model(self.incumbent.objective)
            if support is not None:
                found = polish_in_time(self.problem, support, self.incumbent.x, self.incumbent.b)
                self._adopt(found or self.incumbent)
        small = workers.n_columns * self.problem.n_samples <= SMALL_BLOCK
        if small and self.improver.is_due(self.incumbent, self._gap(), self.nodes):
            self._adopt(self.improver.next_door(self.incumbent, self.nodes))
        if self.improver.may_perturb(self._gap(), self.nodes):
            self._adopt(self.improver.perturbed(self.incumbent, self.nodes))
        bound = min(worker.lower_bound for worker in workers.each)
        self.lower_bound = min(max(self.lower_bound, bound), self.incumbent.objective)

    def _adopt(self, model: Incumbent) -> None:
        """Make a model the incumbent, if it is better."""
        if model.objective < self.incumbent.objective:
            self.incumbent = self.improver.from_new(model, self.lower_bound, self.nodes)

    def _close_tree(self) -> None:
        """Complete the proof of the tree, keep what the root has decided in it, and dismiss the workers."""
        for worker in self._each():
            worker.finish_log()
            self.screened = np.union1d(self.screened, worker.decided_by_root())
        self._explored, self.workers = self.nodes, None

    def _gap(self) -> float:
        return relative_gap(self.incumbent.objective, self.lower_bound)

    def _record(self) -> bool:
        """Note where the search stands, show it, and ask the callback whether to stop."""
        seconds, nodes, upper = self.watch.seconds, self.nodes, self.incumbent.objective
        self.trace.append(TracePoint(seconds, nodes, self.lower_bound, upper))
        size = self.incumbent.support.size
        return self.watch.show(Moment(seconds, nodes, self.open_nodes, self.lower_bound, upper, self._gap(), size))

    def solution(self, status: Status) -> Solution:
        """The best model with all that is known about it."""
        return Solution(
            coef=self.incumbent.coef,
            intercept=self.incumbent.intercept,
            support=self.incumbent.support,
            objective=self.incumbent.objective,
            lower_bound=self.lower_bound,
            status=status,
            nodes=self.nodes,
            seconds=self.watch.seconds,
            trace=self.trace,
            problem=self.problem,
            root=None if self.settings.screening == "none" else self.root.bound,
        )
