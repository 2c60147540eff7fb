"""Branch and bound: a crew explores; meanwhile, or between rounds, better models and the lower bound."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np

from safescreen.expiry import ExpiredError
from safescreen.incumbents import Incumbent, polish_in_time
from safescreen.kernels import BEST_MODEL, Goal
from safescreen.problem import Problem
from safescreen.relaxation import Root, trivial_bound
from safescreen.search.crew import Crew, Rest
from safescreen.search.errands import Errands, ErrandsBeside, ErrandsHere
from safescreen.search.forecast import Forecast
from safescreen.search.improving import Improver
from safescreen.search.outward import Outward, opened_in
from safescreen.search.proof_writer import ProofWriter
from safescreen.search.solution import Moment, Solution, TracePoint, relative_gap
from safescreen.search.tree_search import TreeSearch
from safescreen.search.watch import Watch
from safescreen.status import Status
from safescreen.tuning import FIRST_OUTWARD_ROUNDS, LOCAL_PART, LOOKS_IN_A_ROUND, SMALL_BLOCK
from safescreen.working_memory import sharing


class Keeper(Protocol):
    """Whoever keeps a search, so that another run can go on with it."""

    @property
    def is_due(self) -> bool:
        """Whether it is time for a checkpoint."""

    def keep(self, search: Search, rest: Rest) -> None:
        """Write a checkpoint of a search at rest."""

    def hold(self, search: Search, rest: Rest) -> None:
        """Remember the tree, whose open nodes are about to become leaves of the proof."""

    def finish(self, search: Search, status: Status) -> None:
        """Write the last checkpoint of a run."""


class Search(TreeSearch):
    """The search for the best model."""

    can_be_kept = True
    """Whether another run can go on with it."""

    def __init__(
        self, problem: Problem, root: Root, incumbent: Incumbent, watch: Watch, proof: ProofWriter | None = None
    ) -> None:
        # a hair stricter than asked, so that rounding in the objective and the gap itself cannot miss the request
        rel_gap = max(watch.settings.rel_gap * (1.0 - 1e-6) - 1e-13 - 4.0 * incumbent.rounding, 0.0)
        super().__init__(problem, root, watch, proof, Goal(BEST_MODEL, rel_gap))
        self.incumbent = incumbent
        self.keeper: Keeper | None = None
        self.errands: Errands = ErrandsHere()
        me = weakref.proxy(self)  # else a search, and with it the problem, would outlive its end
        self.improver = Improver(problem, root, watch, lambda: me.errands.called_off)
        self.forecast = Forecast(problem, root, watch)
        self.outward = Outward(problem.k, self.settings.rel_gap)
        self._size = 1  # of the crew
        self._stopped = False  # by the callback
        self._looked_around: Incumbent | None = None  # in a tree of its own

    def follow(self, first: Search) -> None:
        """Begin where another search has ended, whose tree is dropped: what it has covered is in no proof."""
        self.trace, self._explored, self._stopped = first.trace, first.nodes, first._stopped
        covered = first.outward.proved(self.incumbent)
        if covered and self.proof is None:
            self.outward.take(1.0 + covered, self.incumbent)

    @property
    def is_over(self) -> bool:
        """Whether somebody has stopped it, or a limit is reached."""
        return self._stopped or self.watch.limit(self.nodes) is not None

    def run(self) -> Status:
        """Search until the gap is closed or a limit is hit."""
        status = self._run()
        self._close_tree()
        if self.keeper is not None:
            self.keeper.finish(self, status)
        return status

    def _run(self) -> Status:
        status = self._look_up() or self._search_tree()
        if status is not None:
            return status
        self._close_tree()  # the memory of the workers is not needed any more
        if self.improver.is_worthwhile_at_last(self.incumbent, self._gap(), self.nodes):
            self.incumbent = self.improver.next_door(self.incumbent, self.nodes, self._size)
            self.lower_bound = min(self.lower_bound, self.incumbent.objective)
            self._record()
        return Status.OPTIMAL if self._gap() <= self.settings.rel_gap else Status.NUMERICAL_LIMIT

    def _search_tree(self) -> Status | None:
        """Rounds of exploration until a limit is hit, which is returned, or nothing is left to explore."""
        try:
            crew = self._prepare(self.incumbent.objective)
        except ExpiredError:  # while columns were gathered
            self.screened = np.empty(0, np.int64)
            return self.watch.limit(self.nodes) or Status.INTERRUPTED
        status, self._size = None, crew.size
        self.errands = ErrandsHere() if crew.size == 1 else ErrandsBeside(self.watch.expired)
        with sharing(LOCAL_PART), self.errands, crew:
            while self.open_nodes > 0 and status is None:
                status = self._round(crew)
                if status is None and self.keeper is not None and self.keeper.is_due:
                    with self._at_rest(crew) as rest:
                        self.keeper.keep(self, rest)
            with self._at_rest(crew) as rest:
                self._note_the_end()
                self.outward.settle(rest.closed_bound, opened_in(rest), crew.columns, self.incumbent)
                if self.keeper is not None:
                    self.keeper.hold(self, rest)
        return status if self._gap() > self.settings.rel_gap else None

    def _round(self, crew: Crew) -> Status | None:
        """Explore for a while, and note what came of it; the status if the search is over."""
        if self.outward.is_due(crew, self._gap()):
            self._replant(crew)
        self.outward.steer(crew, self.incumbent)
        self._explore(crew, self.incumbent.objective)
        self._update(crew)
        self.outward.look(crew, self.incumbent)
        return self._look_up() or self._look_next_door(crew)

    def _look_next_door(self, crew: Crew) -> Status | None:
        """Cover one exchange of a new best model, or of a better one met on the way; the status if the search is over.

        Small trees have covered it by then. What takes too long is left to the tree.
        """
        orders = self._orders_now()
        orders = orders._replace(allowance=max(orders.allowance // LOOKS_IN_A_ROUND, 1))
        while self.outward.is_uncovered(self.incumbent) and self.incumbent is not self._looked_around:
            model = self.incumbent
            tree = crew.next_door(self.outward.order_from(model, crew.columns), model)
            if tree is None or not self.open_nodes:
                return None
            self._looked_around = model
            for _ in range(FIRST_OUTWARD_ROUNDS * LOOKS_IN_A_ROUND):
                tree.explore(model.objective, orders)
                self._collect(crew, self._keep)
                if self.incumbent is not model:
                    break
                self.outward.take(tree.first_layer(self.outward.cutoff(model)), model)
                status = self._look_up()
                if status is not None or self.outward.proved(model):
                    return status
        return None

    def _replant(self, crew: Crew) -> None:
        """Drop the tree for one that goes outward from its root on: every open node would have to do so on its own.

        What it has proved stays true; but a proof holds one tree, and says no more than that one does.
        """
        with self._at_rest(crew):
            if crew.can_begin_again and (self.proof is None or self.proof.begin_again()):
                crew.begin_again()
                if self.proof is not None:
                    self.lower_bound = max(trivial_bound(self.problem), self.root.bound.value)

    def _look_up(self) -> Status | None:
        """Note where the search stands; the status if it is over."""
        self.forecast.look(self.incumbent.objective, self._gap())
        stopped = self._record()
        if self._gap() <= self.settings.rel_gap:
            return Status.OPTIMAL
        return Status.INTERRUPTED if stopped else self.watch.limit(self.nodes)

    def _update(self, crew: Crew) -> None:
        """Take over better models and the new lower bound."""
        self.errands.collect()
        self._collect(crew, self._adopt)
        self._improve(crew)
        self._raise_bound(crew)

    def _catch_up(self, crew: Crew) -> None:
        """The same for a tree at rest, with no local search to begin or under way."""
        self.errands.finish()
        self._collect(crew, self._keep)
        self._raise_bound(crew)

    def _collect(self, crew: Crew, take: Callable[[Incumbent], None]) -> None:
        """Take the best model that the tree has led to."""
        support = crew.collect_model(self.incumbent.objective)
        if support is not None:
            found = polish_in_time(self.problem, support, self.incumbent.x, self.incumbent.b)
            take(found or self.incumbent)

    def _improve(self, crew: Crew) -> None:
        """Look for better models near the best one, if that is due."""
        small = crew.columns.size * self.problem.n_samples <= SMALL_BLOCK
        if small and not self.errands.busy and self.improver.is_due(self.incumbent, self._gap(), self.nodes):
            self.errands.run(partial(self.improver.next_door, self.incumbent, self.nodes), self._adopt)
        affordable = self.improver.may_perturb(self._gap(), self.nodes, crew.size)
        if affordable and not (self.errands.busy or self.outward.is_next_door(self.incumbent)):
            self.errands.run(partial(self.improver.perturbed, self.incumbent, self.nodes), self._adopt)

    def _raise_bound(self, crew: Crew) -> None:
        self.lower_bound = min(max(self.lower_bound, crew.lower_bound), self.incumbent.objective)

    def _adopt(self, model: Incumbent) -> None:
        """Make a model the incumbent, if it is better, and look around it where the gap leaves room."""
        if model.objective < self.incumbent.objective:
            self.incumbent = model
            if self.improver.has_room(model, self.lower_bound):
                self.errands.run(partial(self.improver.from_new, model, self.nodes), self._keep)

    def _keep(self, model: Incumbent) -> None:
        """Make a model the incumbent, if it is better."""
        self.incumbent = min(self.incumbent, model, key=lambda known: known.objective)

    def _gap(self) -> float:
        return relative_gap(self.incumbent.objective, self.lower_bound)

    def _record(self) -> bool:
        """Note where the search stands, show it, and ask the callback whether to stop."""
        seconds, nodes, lower, upper = point = TracePoint(
            self.watch.seconds, self.nodes, self.lower_bound, self.incumbent.objective
        )
        self.trace.append(point)
        size, proved = self.incumbent.support.size, self.outward.proved(self.incumbent)
        moment = Moment(seconds, nodes, self.open_nodes, lower, upper, self._gap(), size, proved)
        self._stopped = self.watch.show(moment) or self._stopped
        return self._stopped

    def _note_the_end(self) -> None:
        """Note what a crew reached between the last look and its rest."""
        seconds, nodes, lower, upper = self.watch.seconds, self.nodes, self.lower_bound, self.incumbent.objective
        last = self.trace[-1]
        if (nodes, lower, upper) != (last.nodes, last.lower_bound, last.upper_bound):
            self.trace.append(TracePoint(seconds, nodes, lower, upper))

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
            rel_gap=self.settings.rel_gap,
            proved_exchanges=self.outward.proved(self.incumbent),
        )
