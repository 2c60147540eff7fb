"""What a core is asked for: a tolerance and a count, and the model that both are measured against."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, NamedTuple

from safescreen.incumbents import Incumbent
from safescreen.problem import Problem
from safescreen.problem.validation import about
from safescreen.relaxation import Root, trivial_bound
from safescreen.rounding import UNIT
from safescreen.search import Settings, Solution, TracePoint, relative_gap
from safescreen.status import Status

MARGIN = 4e-7
"""By how much the proof passes the threshold at least, relative to it: more than rounding costs a checker."""


class Known(NamedTuple):
    """What cores of all tolerances have in common."""

    problem: Problem
    root: Root
    objective: float
    model: Solution | Incumbent | None  # whose objective that is, if there is one

    def threshold(self, within: float) -> float:
        """The largest objective of a model within a tolerance of the best, rounded up."""
        return self.objective * (1.0 + within) * (1.0 + 4.0 * UNIT)

    def cutoff(self, within: float) -> float:
        """What the bound must pass."""
        return self.threshold(within) * (1.0 + MARGIN)

    def solution(self, seconds: float) -> Solution | None:
        """The model as a solution; where it comes from local searches, one that stopped before its first node."""
        if self.model is None or isinstance(self.model, Solution):
            return self.model
        model, bound = self.model, self.root.bound
        lower = min(max(trivial_bound(self.problem), bound.value), model.objective)
        done = relative_gap(model.objective, lower) <= Settings().rel_gap
        return Solution(
            coef=model.coef,
            intercept=model.intercept,
            support=model.support,
            objective=model.objective,
            lower_bound=lower,
            status=Status.OPTIMAL if done else Status.NODE_LIMIT,
            nodes=0,
            seconds=seconds,
            trace=[TracePoint(seconds, 0, lower, model.objective)],
            problem=self.problem,
            root=bound,
        )


def check_within(within: Any) -> float:
    """A tolerance, which is no bool."""
    sensible = not isinstance(within, bool) and isinstance(within, Real) and 0.0 <= float(within) < math.inf
    if not sensible:
        raise about(
            "within",
            ValueError(f"within is {within!r}, but must be a number >= 0, such as 0.05 for five per cent."),
        )
    return float(within)


def check_count(at_least: Any) -> int:
    """How many features are to be used at least."""
    if isinstance(at_least, bool) or not isinstance(at_least, Integral) or int(at_least) < 1:
        raise about("at_least", ValueError(f"at_least is {at_least!r}, but must be an integer >= 1."))
    return int(at_least)
