"""What it costs to do without a feature, and what it costs to be forced to take one: exact, bounds included.

Most of these prices need no search. Who does without a feature that the best model has not loses nothing, and where all
good models are listed the best of those that lack a feature, or have it, is among them. The others are answers to the
same problem with one more feature decided.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from safescreen.arrays import FloatArray, IndexArray
from safescreen.problem import Problem
from safescreen.search import Listed, Settings, Solution, solve

PRICE_GAP = 1e-6
"""The relative gap to which the best model without a feature, or with it, is found."""


@dataclass(frozen=True)
class Prices:
    """Prices in units of the objective, of shape (n_features,); nan where a price was not asked for or cannot be had.

    Each is the objective of the best model without the feature (or with it) minus the best objective. The true price is
    between ``bound`` and ``price``; the two differ by rounding only unless time ran out.
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

    def __init__(self, problem: Problem, listed: Listed, settings: Settings) -> None:
        self.problem, self.listed, self.settings = problem, listed, settings
        self._start = perf_counter()
        self._lacking, self._having = self._from_list()

    def _from_list(self) -> tuple[FloatArray, FloatArray]:
        """The best listed objective without each feature, and with it; infinite where a list cannot tell.

        Only a complete list of all models can: what contains a minimal model is not listed.
        """
        n, models = self.problem.n_features, self.listed.models
        lacking, having = np.full(n, np.inf), np.full(n, np.inf)
        if self.listed.minimal or not self.listed.complete:
            return lacking, having
        np.minimum.at(having, models.feature, np.repeat(models.objective, models.size))
        unsettled = np.ones(n, np.bool_)  # features of all models so far, which come best first
        for support, objective in zip(models.supports(), models.objective.tolist(), strict=True):
            lacks = unsettled.copy()
            lacks[support] = False
            lacking[lacks] = objective
            unsettled &= ~lacks
            if not unsettled.any():
                break
        return lacking, having

    def without(self, features: IndexArray) -> Prices:
        """Of doing without each of these features; the user's own decisions have no price."""
        found, best = Prices.unknown(self.problem.n_features), self.listed.best
        chosen = np.isin(features, best.support)
        for j in features[~chosen].tolist():
            found.set(j, 0.0, 0.0)
        for j in features[chosen & ~self.problem.included[features]].tolist():
            if np.isfinite(self._lacking[j]):
                found.set(j, self._lacking[j] - best.objective, self._lacking[j] - best.objective)
            else:
                self._note(found, j, self._best(self.problem.with_decisions(exclude=[j])))
        return found

    def having(self, features: IndexArray) -> Prices:
        """Of being forced to take each of these features."""
        problem, best, found = self.problem, self.listed.best, Prices.unknown(self.problem.n_features)
        chosen = np.isin(features, best.support)
        for j in features[chosen].tolist():
            found.set(j, 0.0, 0.0)
        for j in features[~chosen & ~problem.excluded[features]].tolist():
            if np.isfinite(self._having[j]):
                found.set(j, self._having[j] - best.objective, self._having[j] - best.objective)
            elif problem.include.size < problem.k:
                self._note(found, j, self._best(problem.with_decisions(include=[j])))
        return found

    def _best(self, problem: Problem) -> Solution | None:
        """The best model of a problem with one more feature decided, if there is time."""
        limit = self.settings.time_limit
        left = None if limit is None else limit - (perf_counter() - self._start)
        if left is not None and left <= 0.0:
            return None
        start = np.where(problem.excluded, 0.0, self.listed.best.coef)
        return solve(problem, rel_gap=PRICE_GAP, time_limit=left, n_threads=self.settings.n_threads, warm_start=start)

    def _note(self, found: Prices, j: int, solution: Solution | None) -> None:
        best = self.listed.best
        if solution is not None:
            found.set(j, solution.objective - best.objective, solution.lower_bound - best.objective)
