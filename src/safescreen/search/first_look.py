"""A look next door to the first model while the root is still dear to solve: what it says needs no root.

Where a weak ridge makes thousands of columns matter, solving the root takes longer than a look at all models that
exchange one feature of the first one. So these come first. The tree behind that is dropped: the search itself begins
with the better model and the better root.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from safescreen.expiry import ExpiredError
from safescreen.incumbents import Incumbent, first_incumbent, polish_in_time, rounded
from safescreen.problem import Problem
from safescreen.relaxation import Root
from safescreen.search.branch_and_bound import Search
from safescreen.search.crew import Crew
from safescreen.search.forecast import Forecast
from safescreen.search.lone import LoneWorker
from safescreen.search.outward import is_wide
from safescreen.search.solution import relative_gap
from safescreen.search.watch import Watch
from safescreen.search.workers import Workshop
from safescreen.tuning import FIRST_LOOK_ENTRIES, LOCAL_PART
from safescreen.working_memory import sharing


def look_next_door(problem: Problem, root: Root, watch: Watch) -> FirstLook | None:
    """What is found next door to a first model, given a root that is not solved; None where that had better wait.

    That is so where the gap may turn out narrow, and where looks at all columns may take longer than the root.
    """
    if not problem.design.readable_in_place or problem.n_features * problem.n_samples > FIRST_LOOK_ENTRIES:
        return None
    model = polish_in_time(problem, rounded(problem, root), root.x, root.b)
    if model is None or not _is_far_above(model, root):
        return None
    model = first_incumbent(problem, root, watch.expired)
    if not _is_far_above(model, root):
        return None
    search = FirstLook(problem, _beginning_with(model, root, problem), model, watch)
    search.look()
    return search


def _is_far_above(model: Incumbent, root: Root) -> bool:
    """Whether the gap is wide, wherever the root ends: over some of the columns it has no smaller value."""
    return is_wide(relative_gap(model.objective, root.value))


def _beginning_with(model: Incumbent, root: Root, problem: Problem) -> Root:
    """The root with this model as its iterate, and no other column near it: few are worth being held dense."""
    strongest = float(np.abs(root.bound.correlation).max(initial=0.0))
    return replace(root, x=model.x, b=model.b, level=0.5 * problem.gamma * strongest)


def _alone(workshop: Workshop, watch: Watch) -> Crew:
    return LoneWorker(workshop.first_worker(), watch.expired)


class FirstLook(Search):
    """A search that is over as soon as one exchange of its best model is covered."""

    def look(self) -> None:
        """Look at the model's neighbours, and at those of each better one among them."""
        self.recruit = _alone
        self.forecast = Forecast(self.problem, self.root, Watch(self.settings))  # in silence: the search itself says it
        if self._look_up() is not None:
            return
        try:
            crew = self._prepare(self.incumbent.objective)
        except ExpiredError:
            return
        self.outward.begin()
        with sharing(LOCAL_PART), crew:
            self._look_next_door(crew)
        self._close_tree()
