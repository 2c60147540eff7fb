"""Good models fast: round the relaxation, refit, then add, drop and swap features.

Screening is only as strong as the best model known. Rounding and refitting is nearly optimal where the ridge is
strong; where it is weak the rounded model can be 30 % above the optimum, and a local search pays for itself at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from safescreen.arrays import FloatArray, IndexArray
from safescreen.expiry import ExpiredError, grace, is_over
from safescreen.incumbents.refit import Incumbent, Refitter, polish, without_features
from safescreen.problem import Problem
from safescreen.relaxation import Fixings, Root
from safescreen.screening import decide
from safescreen.tuning import LOCAL_SEARCH_COLUMNS, LOCAL_SEARCH_GAP, NEAR_ENTRIES

DRAWN_FROM = 200
"""The strongest columns, from which a local search may begin anew."""

BESIDE_COLUMNS = 24
"""Columns with their weighted copies that take as much room as vectors over the samples: those of the fits, and of a
model that is fitted beside them."""


class _Effort(NamedTuple):
    """How hard a local search tries: a new feature may gain more than its own Newton step promises."""

    trials: int  # replacements refitted per feature dropped
    optimism: float  # gain of an addition, in multiples of the promise
    swap_optimism: float  # the same, once another feature has left


_WIDE = _Effort(trials=6, optimism=4.0, swap_optimism=16.0)
_NARROW = _Effort(trials=2, optimism=1.3, swap_optimism=2.0)  # with a small gap the promise is nearly exact


def rounded(problem: Problem, root: Root) -> IndexArray:
    """The support a relaxation suggests: its largest coefficients, as many as price and budget make worthwhile."""
    columns = np.flatnonzero((root.x != 0.0) | problem.included)
    size = np.abs(root.x[columns])
    size[problem.included[columns]] = np.inf
    lowest = np.sqrt(problem.gamma * problem.mu)
    binding = root.level > lowest * (1.0 + 1e-9)
    worthwhile = size > (0.0 if binding else 0.5 * lowest)
    order = np.argsort(-size, kind="stable")[: problem.k]
    return np.sort(columns[order[worthwhile[order]]])


def first_incumbent(problem: Problem, root: Root, expired: Callable[[], bool] = lambda: False) -> Incumbent:
    """Round, refit and, where the gap to the root's bound is wide, search locally from two starts.

    If time is up before a model is fitted, it is the one without features.
    """
    best = polish_in_time(problem, rounded(problem, root), root.x, root.b)
    if best is None or is_over():
        simple = without_features(problem)
        return simple if best is None else min(best, simple, key=lambda model: model.objective)
    if best.objective - root.bound.value <= LOCAL_SEARCH_GAP * best.objective:
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
    try:
        search = _LocalSearch(problem, start, root, expired, refits)
    except ExpiredError:
        return start
    search.effort = _WIDE if hard else search.effort
    support = search.run(start.support, greedy)
    return _better(problem, start, support)


def perturb_and_improve(
    problem: Problem, start: Incumbent, root: Root, expired: Callable[[], bool], rng: np.random.Generator
) -> tuple[Incumbent, int]:
    """Forget about half of a model's features at random and search locally from there.

    Returns a model that is never worse, and what this cost in the units of a search's allowance.
    """
    try:
        search = _LocalSearch(problem, start, root, expired, math.inf)
    except ExpiredError:
        return start, 0
    support = search.run(_part(search, start, rng), greedy=False)
    work = 16 * search.fits * search.refitter.columns.size * problem.n_samples
    return _better(problem, start, support), work


def restart_and_improve(
    problem: Problem, start: Incumbent, root: Root, restarts: int, close: float, rng: np.random.Generator
) -> Incumbent:
    """Search locally so many times from a part of the best model, and from two strong features drawn at random.

    The latter have nothing to do with the model: from parts of it one comes back to it where the ridge is weak. It ends
    early with a model whose distance to the root's bound is ``close``, relative to its objective.
    """
    best = start
    search = _LocalSearch(problem, best, root, lambda: False, math.inf)
    for _ in range(restarts):
        for begin in (_part, _strong_ones):
            if best.objective - root.bound.value <= close * best.objective:
                return best
            found = _better(problem, best, search.run(begin(search, best, rng), greedy=False))
            if found is not best:
                best, search = found, _LocalSearch(problem, found, root, lambda: False, math.inf)
    return best


def _part(search: _LocalSearch, model: Incumbent, rng: np.random.Generator) -> IndexArray:
    """About half of a model's features."""
    dropped = (rng.random(model.support.size) < 0.5) & ~search.problem.included[model.support]
    return model.support[~dropped]


def _strong_ones(search: _LocalSearch, model: Incumbent, rng: np.random.Generator) -> IndexArray:
    """What every better model has, and two strong features beside it."""
    columns = search.refitter.columns
    strength = search.strength.copy()
    strength[search.keep] = -1.0
    strong = columns[_largest(strength, min(DRAWN_FROM, int(np.count_nonzero(~search.keep))))]
    kept = columns[search.keep]
    drawn = rng.choice(strong, max(min(2, strong.size, search.problem.k - kept.size), 0), replace=False)
    return np.union1d(kept, drawn)


def _better(problem: Problem, start: Incumbent, support: IndexArray) -> Incumbent:
    """The model on this support if it is better than the one at hand, and there is time to fit it."""
    found = polish_in_time(problem, support, start.x, start.b)
    return found if found is not None and found.objective < start.objective else start


def polish_in_time(problem: Problem, support: IndexArray, x: FloatArray, b: float) -> Incumbent | None:
    """`polish`, or None if time is up before there is a model.

    A fit that is halted gives one as well, so that it leaves a part of the grace to its evaluation.
    """
    try:
        with grace(0.8):
            return polish(problem, support, x, b)
    except ExpiredError:
        return None


def _largest(values: FloatArray, count: int) -> IndexArray:
    """Positions of the ``count`` largest values, in order; of equal ones the first."""
    if count in (0, values.size):
        return np.arange(count)
    least = np.partition(values, values.size - count)[values.size - count]
    above = np.flatnonzero(values > least)
    equal = np.flatnonzero(values == least)[: count - above.size]
    return np.sort(np.concatenate((above, equal)))


class _LocalSearch:
    """Add, drop and swap over the columns most likely to matter."""

    def __init__(
        self, problem: Problem, start: Incumbent, root: Root, expired: Callable[[], bool], most_fits: float
    ) -> None:
        self.problem = problem
        self.fits = 0
        self._most_fits = most_fits
        self._out_of_time = expired
        fixings = decide(root.bound, Fixings.given(problem), start.objective)
        strength = np.abs(root.bound.correlation)
        strength[fixings.excluded] = -1.0  # proved to be in no better model
        strength[fixings.included] = np.inf
        strength[start.support] = np.inf
        wide = start.objective - root.bound.value > LOCAL_SEARCH_GAP * start.objective
        most = max(LOCAL_SEARCH_COLUMNS, 2 * problem.k)
        room = problem.design.columns_at_a_time - start.support.size - BESIDE_COLUMNS
        most = min(most, max(room, int(np.count_nonzero(strength == np.inf)) + 1))
        if not wide:  # the strongest are enough
            most = min(most, max(NEAR_ENTRIES // problem.n_samples, 2 * start.support.size))
        count = min(most, int(np.count_nonzero(strength >= 0.0)))
        columns = _largest(strength, count)
        self.refitter = Refitter(problem, columns)
        self.strength = np.abs(root.bound.correlation[columns])
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
        """Forward selection: add the column with the largest gain until none is worth its price."""
        chosen = np.flatnonzero(self.keep)
        value, x = self._fit(chosen, np.zeros(chosen.size))
        most = min(self.problem.k, self.keep.size)  # there may be no column at all that is not ruled out
        while chosen.size < most and not self.expired():
            gains = self.refitter.entry_gains()
            gains[chosen] = -np.inf
            j = int(np.argmax(gains))
            if not gains[j] > self.problem.mu:
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
        gains = self.refitter.entry_gains()
        gains[chosen] = 0.0
        affordable = self.effort.swap_optimism * float(gains.max(initial=0.0)) + self.problem.mu
        return [int(i) for i in np.argsort(costs, kind="stable") if costs[i] < affordable and not self.keep[chosen[i]]]

    def _fit(self, chosen: IndexArray, x: FloatArray, cutoff: float = np.inf) -> tuple[float, FloatArray]:
        self.fits += 1
        value = self.refitter.fit(chosen, x, cutoff=cutoff)
        return value, self.refitter.coefficients(chosen)

    def _best_addition(
        self, chosen: IndexArray, x: FloatArray, base: float, value: float
    ) -> tuple[float, IndexArray, FloatArray] | None:
        """The best of the most promising additions to the last fit (of value ``base``), if it improves on ``value``."""
        gains = self.refitter.entry_gains()
        gains[chosen] = -np.inf
        best = None
        count = min(self.effort.trials, gains.size)
        for j in np.argpartition(-gains, count - 1)[:count]:
            if base + self.problem.mu - self.effort.optimism * gains[j] >= value:
                continue
            trial = np.append(chosen, j)
            new_value, new_x = self._fit(trial, np.append(x, 0.0), value)
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
