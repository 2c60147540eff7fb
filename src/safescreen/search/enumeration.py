"""All models below a threshold: the tree of the search for the best one, with another goal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from safescreen.arrays import FloatArray
from safescreen.expiry import ExpiredError
from safescreen.kernels import ALL_MODELS, MINIMAL_MODELS, Goal
from safescreen.problem import Problem
from safescreen.relaxation import Root, trivial_bound
from safescreen.search.crew import Crew
from safescreen.search.found import FoundModels
from safescreen.search.proof_writer import ProofWriter
from safescreen.search.solution import Moment
from safescreen.search.tree_search import TreeSearch
from safescreen.search.watch import Watch
from safescreen.status import Status

NODE_GAP = 1e-3
"""The relative gap to which nodes are solved at most: their points only serve to exclude supports."""

ANY_NUMBER = 2**62
"""Of models, where none are too many."""

TIES = 1e-8
"""Objectives that differ by less, relatively, count as equal."""


@dataclass(frozen=True)
class Wanted:
    """Which models are sought.

    Parameters
    ----------
    threshold : float
        None above this.
    minimal : bool
        Whether only those with no feature to spare are listed; the threshold is final then.
    within : float, optional
        None worse than the best by more than this, relatively.
    n_best : int, optional
        No more than so many, the best ones.
    most : int
        More than so many are too many to go on.
    """

    threshold: float
    minimal: bool = False
    within: float | None = None
    n_best: int | None = None
    most: int = 10_000

    def lowered(self, threshold: float, best: float, objectives: Callable[[], FloatArray]) -> float:
        """The threshold, given the best of the models that exist, and the objectives of all."""
        if self.minimal:
            return threshold
        if self.within is not None:
            threshold = min(threshold, within_of(best, self.within))
        if self.n_best is not None:
            objective = objectives()
            if objective.size >= self.n_best:
                threshold = min(threshold, float(np.partition(objective, self.n_best - 1)[self.n_best - 1]))
        return threshold


def within_of(best: float, within: float) -> float:
    """The threshold of models that are worse than the best by at most this part of it; ties are on the safe side."""
    return best * (1.0 + within) * (1.0 + TIES)


class Enumeration(TreeSearch):
    """The list of all models below a threshold."""

    def __init__(
        self, problem: Problem, root: Root, watch: Watch, wanted: Wanted, proof: ProofWriter | None = None
    ) -> None:
        super().__init__(problem, root, watch, proof, Goal(MINIMAL_MODELS if wanted.minimal else ALL_MODELS, NODE_GAP))
        self.wanted = wanted
        self.threshold = wanted.threshold
        self._parts: list[FoundModels] = []  # the models to be listed, as they came
        self._best, self._count = np.inf, 0
        self.spare: list[FoundModels] = []  # models with features to spare, met where minimal ones are sought
        self.refuted: list[FoundModels] = []  # supports whose own dual points prove that they are above the threshold

    def run(self) -> Status:
        """Search until nothing is left, or a limit is hit."""
        status = self._run()
        self._close_tree()
        self._account_for_spare()
        if status is Status.OPTIMAL and not self.is_complete:
            return Status.NUMERICAL_LIMIT
        return status

    def _run(self) -> Status:
        status = self.watch.limit()
        if status is not None:
            return status
        try:
            crew = self._prepare(self.threshold)
        except ExpiredError:  # while columns were gathered
            return self.watch.limit() or Status.INTERRUPTED
        with crew:
            while self.open_nodes > 0 and status is None:
                self._explore(crew, self.threshold)
                self._catch_up(crew)
                status = self._look_up()
            with self._at_rest(crew):
                return status if status is not None and self.open_nodes > 0 else Status.OPTIMAL

    @property
    def found(self) -> FoundModels:
        """The models to be listed."""
        self._parts = [FoundModels.joined(self._parts)]
        return self._parts[0]

    @property
    def is_complete(self) -> bool:
        """Whether every model below the threshold is listed."""
        return self.lower_bound >= self.threshold

    @property
    def best_bound(self) -> float:
        """No model is better than this, listed or not; not for minimal ones, whose supersets are not looked at."""
        return min(self.lower_bound, float(self.found.bound.min(initial=np.inf)))

    def _catch_up(self, crew: Crew) -> None:
        """Take over what was listed, lower the threshold, and note what may be missing."""
        self.lower_bound = max(trivial_bound(self.problem), crew.lower_bound)  # of what is not listed by now
        parts = crew.collect_lists()
        self._best = min((float(part.objective.min(initial=self._best)) for part in parts), default=self._best)
        self._parts += [kept for part in parts if len(kept := self._sorted_out(part))]
        self._count = sum(map(len, self._parts))
        threshold = self.wanted.lowered(self.threshold, self._best, lambda: self.found.objective)
        if threshold < self.threshold:
            self.threshold = threshold
            self._parts = [self._sorted_out(self.found)]
            self._count = len(self.found)

    def _sorted_out(self, models: FoundModels) -> FoundModels:
        """What is to be listed; what a proof or a search that ends early needs to know besides is kept elsewhere."""
        above, spare = models.bound > self.threshold, models.spare
        if not (above.any() or spare.any()):
            return models
        if self.proof is not None:
            self.refuted.append(models.chosen(above))
        self.spare.append(models.chosen(spare & ~above))
        return models.chosen(~above & ~spare)

    def _account_for_spare(self) -> None:
        """A model with features to spare contains a minimal one; if that is not found yet, both are missing."""
        spare = FoundModels.joined(self.spare)
        spare = spare.chosen(spare.bound < self.lower_bound)
        lone = spare.chosen(~spare.contain(self.found))
        self.lower_bound = float(lone.bound.min(initial=self.lower_bound))

    def _look_up(self) -> Status | None:
        """Show where the search stands; the status if it is over."""
        if self._count > self.wanted.most and self.wanted.n_best is None:
            return Status.MODEL_LIMIT
        gap = max(self.threshold - self.lower_bound, 0.0) / self.threshold
        moment = Moment(self.watch.seconds, self.nodes, self.open_nodes, self.lower_bound, self._best, gap, self._count)
        missing = f"{self.lower_bound:.6g} of {self.threshold:.6g}"
        said = f"{self._count:,} models, none missing below {missing}; {self.nodes:,} nodes ({self.open_nodes:,} open)"
        stopped = self.watch.show(moment, said)
        return Status.INTERRUPTED if stopped else self.watch.limit(self.nodes)
