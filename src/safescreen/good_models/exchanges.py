"""Exchange pairs: which feature of the best model can be replaced by which other one, and at what cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from safescreen.good_models.time_left import TimeLeft
from safescreen.problem import Problem
from safescreen.search import FoundModels, Listed, Settings, list_below


class Exchange(NamedTuple):
    """One feature of the best model for another one, all others kept."""

    out: int
    in_: int
    cost: float  # how much worse the objective is, relative to the best


def find_exchanges(problem: Problem, listed: Listed, settings: Settings) -> tuple[list[Exchange], bool]:
    """Every single exchange in the best model that stays below the threshold, the cheapest first; and whether it is.

    A complete list of all models has them. Minimal models are not all, so there the exchanges of each feature are
    listed by themselves: a problem in which all the others are in.
    """
    best, pairs, time, every = listed.best, [], TimeLeft(settings), True
    if not listed.minimal:
        pairs, every = _pairs(listed, listed.models), listed.complete
    else:
        budget = problem.with_parameters(k=max(best.support.size, 1))
        for out in np.setdiff1d(best.support, problem.include).tolist():
            left = time.settings()
            if left is None:
                every = False
                break
            others = budget.with_decisions(include=np.setdiff1d(best.support, [out]), exclude=[out])
            found, complete = list_below(others, listed.threshold, left)
            pairs += _pairs(listed, found)
            every &= complete
    return sorted(pairs, key=lambda pair: (pair.cost, pair.out, pair.in_)), every


def _pairs(listed: Listed, models: FoundModels) -> list[Exchange]:
    """The models that differ from the best one by an exchange."""
    best = listed.best
    chosen = set(best.support.tolist())
    pairs = []
    for support, objective in zip(models.supports(), models.objective.tolist(), strict=True):
        features = set(support.tolist())
        out, into = chosen - features, features - chosen
        if len(out) == len(into) == 1:
            pairs.append(Exchange(out.pop(), into.pop(), max(objective / best.objective - 1.0, 0.0)))
    return pairs
