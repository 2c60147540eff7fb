"""Branch and bound: rounds of exploration, better models and the lower bound between them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from safescreen.expiry import ExpiredError
from safescreen.incumbents import Incumbent, polish_in_time
from safescreen.kernels import BEST_MODEL, Goal
from safescreen.problem import Problem
from safescreen.relaxation import Root
from safescreen.search.improving import Improver
from safescreen.search.proof_writer import ProofWriter
from safescreen.search.solution import Moment, Solution, TracePoint, relative_gap
from safescreen.search.tree_search import TreeSearch
from safescreen.search.watch import Watch
from safescreen.search.workers import Workers
from safescreen.status import Status
from safescreen.tuning import LOCAL_PART, SMALL_BLOCK
from safescreen.working_memory import sharing


class Search(TreeSearch):
    """The search for the best model."""

    def __init__(
        self, problem: Problem, root: Root, incumbent: Incumbent, watch: Watch, proof: ProofWriter | None = None
    ) -> None:
        # a hair stricter than asked, so that rounding in the objective and the gap itself cannot miss the request
        rel_gap = max(watch.settings.rel_gap * (1.0 - 1e-6) - 1e-13 - 4.0 * incumbent.rounding, 0.0)
        super().__init__(problem, root, watch, proof, Goal(BEST_MODEL, rel_gap))
        self.incumbent = incumbent
        self.improver = Improver(problem, root, watch)

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
            workers = self._prepare(self.incumbent.objective)
        except ExpiredError:  # while columns were gathered
            self.screened = np.empty(0, np.int64)
            return self.watch.limit(self.nodes) or Status.INTERRUPTED
        with ThreadPoolExecutor(self.settings.n_threads) as pool, sharing(LOCAL_PART):
            while self.open_nodes > 0:
                self._explore(workers, pool, self.incumbent.objective)
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
