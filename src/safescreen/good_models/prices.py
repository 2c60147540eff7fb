"""What it costs to do without a feature, and what it costs to be forced to take one: exact, bounds included.

Most of these prices need no search. Who does without a feature that the best model has not loses nothing, and where all
good models are listed the best of those that lack a feature, or have it, is among them. The others are answers to the
same problem with one more feature decided.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from safescreen.arrays import FloatArray, IndexArray
from safescreen.good_models.time_left import TimeLeft
from safescreen.problem import Problem
from safescreen.search import Listed, Settings, solve
from safescreen.status import Status

PRICE_GAP = 1e-6
"""The relative gap to which the best model without a feature, or with it, is found."""


@dataclass(frozen=True)
class Prices:
    """Prices in units of the objective, of shape (n_features,); nan where there is none to ask for.

    Each is the objective of the best model without the feature (or with it) minus the best objective. The true price is
    between ``bound`` and ``price``. The two differ by rounding only unless time ran out; the price is infinite where it
    did so before any model was found.
    """

    price: FloatArray
    bound: FloatArray

    @classmethod
    def unknown(cls, n_features: int) -> Prices:
        """No price is known."""
        return cls(np.full(n_features, np.nan), np.full(n_features, np.nan))

    def set(self, j: int, price: float, bound: float) -> None:
        """Note a price; none is negative."""
        self.price[j], self.bound[j] = max(price, 0.0), max(min(bound, price), 0.0)


class Pricing:
    """Finds prices one by one, in a total time."""

    def __init__(self, problem: Problem, listed: Listed, settings: Settings, progress: bool = False) -> None:
        self.problem, self.listed, self.progress = problem, listed, progress
        self._time = TimeLeft(replace(settings, rel_gap=PRICE_GAP))
        self._lacking, self._having = _best_of_list(listed, problem.n_features)

    def without(self, features: IndexArray) -> Prices:
        """Of doing without each of these features; the user's own decisions have no price."""
        found, listed = Prices.unknown(self.problem.n_features), self.listed
        chosen = np.isin(features, listed.best.support)
        for j in features[~chosen].tolist():
            found.set(j, 0.0, 0.0)
        for j in features[chosen & ~self.problem.included[features]].tolist():
            known = float(self._lacking[j])
            if not listed.minimal:  # a model without it is listed, or missing
                least = min(known, listed.missing_bound)
            else:  # it may also contain one that is listed
                least = listed.missing_bound if known == np.inf else listed.best.objective
            self._set(found, j, known, least, {"exclude": [j]})
        return found

    def having(self, features: IndexArray) -> Prices:
        """Of being forced to take each of these features."""
        problem, listed, found = self.problem, self.listed, Prices.unknown(self.problem.n_features)
        chosen = np.isin(features, listed.best.support)
        for j in features[chosen].tolist():
            found.set(j, 0.0, 0.0)
        room = problem.include.size < problem.k
        for j in features[~chosen & ~problem.excluded[features]].tolist() if room else ():
            known = float(self._having[j])
            least = listed.best.objective if listed.minimal else min(known, listed.missing_bound)
            self._set(found, j, known, least, {"include": [j]})
        return found

    def _set(self, found: Prices, j: int, known: float, least: float, decision: dict[str, list[int]]) -> None:
        """The price between what the list knows and what a search proves, which may be needless, or have no time."""
        best = self.listed.best
        settings = self._time.settings() if known - least > PRICE_GAP * best.objective else None
        if settings is not None:
            problem = self.problem.with_decisions(**decision)
            start = np.where(problem.excluded, 0.0, best.coef)
            solution = solve(problem, **vars(settings), warm_start=start, progress=self.progress)
            known, least = min(known, solution.objective), max(least, solution.lower_bound)
            if solution.status == Status.INTERRUPTED:
                self._time.end()
        found.set(j, known - best.objective, least - best.objective)


def _best_of_list(listed: Listed, n_features: int) -> tuple[FloatArray, FloatArray]:
    """The best listed objective without each feature, and with it; infinite where no listed model is like that."""
    models = listed.models
    lacking, having = np.full(n_features, np.inf), np.full(n_features, np.inf)
    np.minimum.at(having, models.feature, np.repeat(models.objective, models.size))
    unsettled = np.ones(n_features, np.bool_)  # features of all models so far, which come best first
    for support, objective in zip(models.supports(), models.objective.tolist(), strict=True):
        lacks = unsettled.copy()
        lacks[support] = False
        lacking[lacks] = objective
        unsettled &= ~lacks
        if not unsettled.any():
            break
    return lacking, having
