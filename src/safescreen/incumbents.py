"""Good models fast: round the relaxation, refit, then add, drop and swap features.

Screening is only as strong as the best model known. Rounding and refitting is nearly optimal where the ridge is
strong; where it is weak the rounded model can be 30 % above the optimum, and a local search pays for itself at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from safescreen import kernels
from safescreen.bounds import IN, OUT, Fixings
from safescreen.node import Data, State, make_state
from safescreen.problem import Problem
from safescreen.relaxation import Root, block_data

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.int64]

_SAMPLES = 512  # rows of the matrix at a time, where a copy is needed
SEARCH_GAP = 4e-3  # relative gap above which the root's local search is worth its time
_CANDIDATES = 1500  # columns the local search looks at
_NEAR_ENTRIES = 500_000  # entries of these columns, where the gap is small


class _Effort(NamedTuple):
    """How hard a local search tries: a new feature may gain more than its own Newton step promises."""

    trials: int  # replacements refitted per feature dropped
    optimism: float  # gain of an addition, in multiples of the promise
    hope: float  # the same, once another feature has left


_WIDE = _Effort(trials=6, optimism=4.0, hope=16.0)
_NARROW = _Effort(trials=2, optimism=1.3, hope=2.0)  # with a small gap the promise is nearly exact


@dataclass(frozen=True)
class Incumbent:
    """A model: its support, its coefficients for the (standardised) matrix and the data, its objective rounded up."""

    support: IndexArray
    x: FloatArray = field(repr=False)
    b: float
    coef: FloatArray = field(repr=False)
    intercept: float
    objective: float
    rounding: float  # relative distance of the objective, which is rounded up, from its plain evaluation


class Refitter:
    """Ridge logistic regression on subsets of a fixed list of columns, warm-started from the last fit."""

    def __init__(self, problem: Problem, columns: IndexArray) -> None:
        self.problem = problem
        self.columns = columns
        self._data: Data = block_data(problem, columns)
        capacity = min(columns.size, max(problem.k, 64) + 1)
        self._state: State = make_state(self._data, np.ones(columns.size), problem.weights, min(capacity, columns.size))
        self.b = 0.0

    def fit(self, chosen: IndexArray, x: FloatArray, tolerance: float = 1e-9) -> float:
        """Fit the columns at positions ``chosen`` from start values; returns the objective, price included."""
        state = self._state
        state.status[:] = OUT
        state.status[chosen] = IN
        state.x[:] = 0.0
        state.x[chosen] = x
        state.u[:] = state.x @ self._data.columns + self.b
        value, _, _, _, _, self.b, _ = kernels.relax(self._data, state, 0.0, self.b, np.inf, tolerance, 0.0, True)
        return float(value)

    def coefficients(self, chosen: IndexArray) -> FloatArray:
        """Coefficients of the last fit."""
        return self._state.x[chosen].copy()

    def drop_costs(self, chosen: IndexArray) -> FloatArray:
        """What leaving out each fitted column would cost, by the quadratic model of the last fit."""
        columns, root = self._data.columns, np.sqrt(self._state.point.curvature)
        hessian = np.zeros((chosen.size + self.problem.fit_intercept,) * 2)
        for start in range(0, root.size, _SAMPLES):
            part = slice(start, start + _SAMPLES)
            block = np.ones((len(hessian), root[part].size))
            block[: chosen.size] = columns[chosen, part]
            block *= root[part]
            hessian += block @ block.T
        hessian[np.diag_indices(chosen.size)] += 2.0 / self.problem.gamma
        spread = np.diag(np.linalg.pinv(hessian, hermitian=True))[: chosen.size]
        return np.asarray(self._state.x[chosen] ** 2 / (2.0 * np.maximum(spread, 1e-300)))

    def pull(self) -> FloatArray:
        """How much each column would like to enter after the last fit: its one-dimensional Newton decrease."""
        columns, point = self._data.columns, self._state.point
        curvature = np.einsum("ij,j,ij->i", columns, point.curvature, columns) + 2.0 / self.problem.gamma
        correlation = columns @ point.alpha
        return np.asarray(correlation * correlation / (2.0 * curvature))


def polish(problem: Problem, support: IndexArray, x: FloatArray, b: float) -> Incumbent:
    """Fit a support to machine accuracy and evaluate the model, rounding up."""
    refitter = Refitter(problem, support)
    refitter.b = b
    value = refitter.fit(np.arange(support.size), x[support], 0.0)
    exact = np.zeros(problem.n_features)
    exact[support] = refitter.coefficients(np.arange(support.size))
    b = refitter.b
    del refitter  # its columns need not lie beside those of the evaluation
    coef, intercept = problem.to_data_units(exact, b)
    objective = problem.objective(coef, intercept)
    return Incumbent(support, exact, b, coef, intercept, objective, max(objective - value, 0.0) / objective)


def rounded(problem: Problem, root: Root) -> IndexArray:
    """The support a relaxation suggests: its largest coefficients, as many as price and budget make worthwhile."""
    size = np.abs(root.x)
    size[problem.included] = np.inf
    lowest = np.sqrt(problem.gamma * problem.mu)
    binding = root.level > lowest * (1.0 + 1e-9)
    worthwhile = size > (0.0 if binding else 0.5 * lowest)
    order = np.argsort(-size, kind="stable")[: problem.k]
    return np.sort(order[worthwhile[order]])


def first_incumbent(problem: Problem, root: Root, expired: Callable[[], bool] = lambda: False) -> Incumbent:
    """Round, refit and, where the gap to the root's bound is wide, search locally from two starts."""
    best = polish(problem, rounded(problem, root), root.x, root.b)
    if best.objective - root.bound.value <= SEARCH_GAP * best.objective:
        return best
    return improve(problem, best, root, expired, greedy=True)


def improve(
    problem: Problem,
    start: Incumbent,
    root: Root,
    expired: Callable[[], bool],
    greedy: bool = False,
    refits: float = math.inf,
    hard: bool = False,
) -> Incumbent:
    """Local search (add, drop, swap) from a model and, if asked, from a greedily built one; never worse than it.

    It ends in a local optimum, when the time has expired, or after about so many ``refits``. It tries hard where the
    gap to the root's bound is wide, or if asked to.
    """
    search = _LocalSearch(problem, start, root, expired, refits)
    search.effort = _WIDE if hard else search.effort
    support = search.run(start.support, greedy)
    found = polish(problem, support, start.x, start.b)
    return found if found.objective < start.objective else start


def kick(
    problem: Problem, start: Incumbent, root: Root, expired: Callable[[], bool], rng: np.random.Generator
) -> tuple[Incumbent, int]:
    """Forget about half of a model's features at random and search locally from there.

    Returns a model that is never worse, and what this cost in the units of a search's allowance.
    """
    search = _LocalSearch(problem, start, root, expired, math.inf)
    dropped = (rng.random(start.support.size) < 0.5) & ~problem.included[start.support]
    support = search.run(start.support[~dropped], greedy=False)
    found = polish(problem, support, start.x, start.b)
    work = 16 * search.fits * search.refitter.columns.size * problem.n_samples
    return (found if found.objective < start.objective else start), work


class _LocalSearch:
    """Add, drop and swap over the columns most likely to matter."""

    def __init__(
        self, problem: Problem, start: Incumbent, root: Root, expired: Callable[[], bool], most_fits: float
    ) -> None:
        self.problem = problem
        self.fits = 0
        self._most_fits = most_fits
        self._out_of_time = expired
        fixings = root.bound.decide(Fixings(problem.included, problem.excluded), start.objective)
        strength = np.abs(root.bound.correlation)
        strength[fixings.excluded] = -1.0  # proved to be in no better model
        strength[fixings.included] = np.inf
        strength[start.support] = np.inf
        wide = start.objective - root.bound.value > SEARCH_GAP * start.objective
        most = max(_CANDIDATES, 2 * problem.k)
        if not wide:  # the strongest are enough
            most = min(most, max(_NEAR_ENTRIES // problem.n_samples, 2 * start.support.size))
        count = min(most, int(np.count_nonzero(strength >= 0.0)))
        columns = np.sort(np.argsort(-strength, kind="stable")[:count])
        self.refitter = Refitter(problem, columns)
        self.keep = fixings.included[columns]
        self.effort = _WIDE if wide else _NARROW

    def expired(self) -> bool:
        """Whether to be content with what has been found."""
        return self.fits >= self._most_fits or self._out_of_time()

    def run(self, support: IndexArray, greedy: bool) -> IndexArray:
        """The best support reached from the given one, and from nothing if ``greedy``."""
        columns = self.refitter.columns
        best = self._descend(np.searchsorted(columns, support))
        if greedy:
            other = self._descend(self._grow())
            best = min(best, other, key=lambda pair: pair[0])
        return np.sort(columns[best[1]])

    def _grow(self) -> IndexArray:
        """Forward selection: add the column with the strongest pull until none is worth its price."""
        chosen = np.flatnonzero(self.keep)
        value, x = self._fit(chosen, np.zeros(chosen.size))
        most = min(self.problem.k, self.keep.size)  # there may be no column at all that is not ruled out
        while chosen.size < most and not self.expired():
            pull = self.refitter.pull()
            pull[chosen] = -np.inf
            j = int(np.argmax(pull))
            if not pull[j] > self.problem.mu:
                break
            trial = np.append(chosen, j)
            new_value, new_x = self._fit(trial, np.append(x, 0.0))
            if new_value >= value:
                break
            chosen, value, x = trial, new_value, new_x
        return chosen

    def _descend(self, chosen: IndexArray) -> tuple[float, IndexArray]:
        """Improve until no single add, drop or swap helps."""
        value, x = self._fit(chosen, np.zeros(chosen.size))
        improved = True
        while improved and not self.expired():
            improved = False
            if chosen.size < self.problem.k:
                found = self._best_addition(chosen, x, value, value)
                if found is not None:
                    value, chosen, x = found
                    improved = True
            for i in self._weakest(chosen, x):
                if self.expired():
                    break
                found = self._without(chosen, x, i, value)
                if found is not None:
                    value, chosen, x = found
                    improved = True
                    break
        return value, chosen

    def _weakest(self, chosen: IndexArray, x: FloatArray) -> list[int]:
        """Which features to try without, cheapest first, as long as a replacement might make up for them."""
        self._fit(chosen, x)
        costs = self.refitter.drop_costs(chosen)
        pull = self.refitter.pull()
        pull[chosen] = 0.0
        hope = self.effort.hope * float(pull.max(initial=0.0)) + self.problem.mu
        return [int(i) for i in np.argsort(costs, kind="stable") if costs[i] < hope and not self.keep[chosen[i]]]

    def _fit(self, chosen: IndexArray, x: FloatArray) -> tuple[float, FloatArray]:
        self.fits += 1
        value = self.refitter.fit(chosen, x)
        return value, self.refitter.coefficients(chosen)

    def _best_addition(
        self, chosen: IndexArray, x: FloatArray, base: float, value: float
    ) -> tuple[float, IndexArray, FloatArray] | None:
        """The best of the most promising additions to the last fit (of value ``base``), if it improves on ``value``."""
        pull = self.refitter.pull()
        pull[chosen] = -np.inf
        best = None
        count = min(self.effort.trials, pull.size)
        for j in np.argpartition(-pull, count - 1)[:count]:
            if base + self.problem.mu - self.effort.optimism * pull[j] >= value:
                continue
            trial = np.append(chosen, j)
            new_value, new_x = self._fit(trial, np.append(x, 0.0))
            if new_value < value * (1.0 - 1e-9):
                best, value = (new_value, trial, new_x), new_value
        return best

    def _without(
        self, chosen: IndexArray, x: FloatArray, i: int, value: float
    ) -> tuple[float, IndexArray, FloatArray] | None:
        """Drop the i-th feature, alone or for the best replacement, if that improves on ``value``."""
        rest, kept = np.delete(chosen, i), np.delete(x, i)
        new_value, new_x = self._fit(rest, kept)
        if new_value < value * (1.0 - 1e-9):
            return new_value, rest, new_x
        return self._best_addition(rest, new_x, new_value, value)
