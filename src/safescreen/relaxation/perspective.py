"""The root relaxation: a small dense block of columns, enlarged until no column outside it matters.

The compiled node solver works on the block alone. One full pass over the matrix then bounds the whole problem and
shows which columns the block lacks; two or three passes are enough. A weak ridge makes nearly every column look
promising at the start, so the price is then lowered in steps from one at which few are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from safescreen import kernels
from safescreen.arrays import FloatArray, IndexArray
from safescreen.expiry import ExpiredError, grace, look_up
from safescreen.kernels import GRAM, IN, NEWTON, Start, Target
from safescreen.kernels.node import make_node
from safescreen.kernels.node_relaxation import make_workspace
from safescreen.problem import Problem
from safescreen.relaxation.bounds import (
    Bound,
    Fixings,
    bound_at,
    bound_without_matrix,
    largest,
    sharp_bound_at,
    shorter_bound_at,
)
from safescreen.relaxation.restriction import restricted
from safescreen.tuning import (
    CHEAP_ROOT,
    FAR_FROM_COMPLETE,
    FIRST_BLOCK,
    FIRST_SHARE,
    LEAST_BLOCK,
    LEAST_ROOT_BYTES,
    MISSING_SHARE,
    PRICE_STEP,
    ROOT_RETRIES,
    ROOT_ROUGHNESS,
    ROOT_SHARPENING,
    ROOT_SOLVES,
)

_NO_COLUMNS = np.empty(0, np.int64)


@dataclass(frozen=True)
class Root:
    """The root relaxation as the solver uses it: in the units of the (standardised) matrix."""

    value: float
    bound: Bound
    x: FloatArray
    b: float
    level: float


def solve_root(problem: Problem, tolerance: float = 1e-10) -> Root:
    """Solve the perspective relaxation to a relative gap of about ``tolerance``, where numbers and time allow it.

    If time is up earlier (see :mod:`safescreen.expiry`), the result is the best bound so far. Without a root there is
    nothing at all, so it has half of the grace.
    """
    return RootInStages(problem, tolerance).finished()


class RootInStages:
    """A root that others may look at before it is solved, where going on is dear."""

    def __init__(self, problem: Problem, tolerance: float) -> None:
        self._problem, self._tolerance = problem, tolerance
        self._solve: _RootSolve | None = None

    def begun(self) -> Root:
        """Solved, or a first one whose bound may be poor."""
        return self._run(in_full=False)

    def finished(self) -> Root:
        """Solved, from where it stands."""
        return self._run(in_full=True)

    @property
    def is_finished(self) -> bool:
        """Whether there is no more to be had."""
        return self._solve is None or self._solve.is_finished

    def _run(self, in_full: bool) -> Root:
        with grace(0.5):
            try:
                self._solve = self._solve or _RootSolve(self._problem, self._tolerance)
            except ExpiredError:
                features = self._problem.n_features
                return Root(np.inf, bound_without_matrix(self._problem), np.zeros(features), 0.0, 0.0)
            return self._solve.run(in_full)


class _RootSolve:
    """One solve of the root: the block at hand, the iterate, and the best bound so far."""

    def __init__(self, problem: Problem, tolerance: float) -> None:
        self.problem = problem
        self.tolerance = tolerance
        self.fixings = Fixings.given(problem)
        strength = _first_correlations(problem)
        np.abs(strength, out=strength)
        strength[~self.fixings.free] = 0.0
        kappa = problem.k - problem.include.size
        self.level, self.prices = _start(problem, strength, kappa)
        promising = np.flatnonzero(strength > FIRST_SHARE * 2.0 * self.level / problem.gamma)
        self.most = _columns_that_fit(problem)
        most = min(max(FIRST_BLOCK, min(2 * kappa, 256)), self.most)
        columns = _strongest(promising, strength[promising], most)
        self.complete = columns.size == promising.size
        self._first_columns = _joined(columns, problem.include)
        self.x, self.b, self.value, self.strategy = np.zeros(problem.n_features), 0.0, np.inf, GRAM
        self.bound: Bound | None = None
        self.retries = 0
        self.is_finished = False
        self._solves = self._in_turn()

    def run(self, in_full: bool) -> Root:
        """Solve for one price after the other, the problem's own at last; unless in full, no farther than is cheap."""
        try:
            for entries in self._solves:
                if not in_full and entries > CHEAP_ROOT:
                    return self._as_it_is()
        except ExpiredError:
            self.bound = max(self.bound or self._without_a_solve(), bound_without_matrix(self.problem), key=_value)
        self.is_finished = True
        return self._as_it_is()

    def _as_it_is(self) -> Root:
        return Root(self.value, self._best_bound(), self.x.copy(), self.b, self.level)

    def _in_turn(self) -> Iterator[int]:
        """All solves; between two of them, with no block at hand, how many entries the next block has."""
        self.block = _Block(self.problem, self.fixings, self._first_columns)
        for price in self.prices[:-1]:
            yield from self._approach(price)
        yield from self._finish(self.prices[-1])

    def _without_a_solve(self) -> Bound:
        """The bound at the dual point of the model without features, if there is time for one more pass."""
        problem = self.problem
        p = problem.loss.null_dual(problem.y, problem.weights, problem.fit_intercept)
        try:
            with grace(0.7):
                return bound_at(problem, self.fixings, p)
        except ExpiredError:
            return bound_without_matrix(problem)

    def _approach(self, price: float) -> Iterator[int]:
        """Roughly, at a higher price: for the columns that matter there, and a start for the next price."""
        for _ in range(ROOT_SOLVES):
            columns = self._lacking(self._solve(price, ROOT_ROUGHNESS))
            if columns is None:
                self.retries += 1
                return
            yield from self._exchange_block(columns)

    def _finish(self, price: float) -> Iterator[int]:
        """At the problem's own price: until the gap is closed, or nothing more helps."""
        accuracy = self.tolerance if self.complete else ROOT_ROUGHNESS
        for _ in range(ROOT_SOLVES):
            trial = self._solve(price, accuracy)
            bound = self._best_bound()
            if self.value - bound.value <= self.tolerance * abs(self.value):
                return
            columns = self._lacking(trial)
            if columns is not None:
                yield from self._exchange_block(columns)
                gap = (self.value - bound.value) / abs(self.value)
                accuracy = accuracy if gap < FAR_FROM_COMPLETE else ROOT_ROUGHNESS
                accuracy = max(self.tolerance, min(accuracy, ROOT_SHARPENING * gap))
                continue
            self.retries += 1
            if accuracy <= self.tolerance and self.retries > ROOT_RETRIES:
                sharp = sharp_bound_at(self.problem, self.fixings, bound.dual)
                self.bound = sharp if sharp.value > bound.value else bound
                return
            accuracy = self.tolerance

    def _solve(self, price: float, accuracy: float) -> Bound:
        """Solve over the block, and bound the whole problem: one pass over the matrix."""
        start = Start(self.level, self.b, self.strategy)
        self.value, alpha, self.b, self.level = self.block.solve(price, self.x, start, accuracy)
        self.strategy = min(self.block.strategy, NEWTON)  # where the Gram matrix did not do, it will not do either
        with grace(0.7):  # a point that was reached is worth a pass
            trial = bound_at(self.problem, self.fixings, dual_of(self.problem, alpha))
        self.bound = trial if self.bound is None or trial.value > self.bound.value else self.bound
        look_up()
        return trial

    def _best_bound(self) -> Bound:
        assert self.bound is not None, "every solve takes a bound"
        return self.bound

    def _lacking(self, trial: Bound) -> IndexArray | None:
        """The block with the columns that this bound shows to be missing; None without any, or room for some."""
        missing = missing_columns(self.problem, self.fixings, self.block.columns, trial, self.level)
        if missing.size == 0:
            return None
        columns = _joined(self.block.columns, missing)
        if columns.size > self.most:
            kept = self._kept()
            if kept.size >= self.most:  # a bound without the others: weaker, and as safe
                self.bound = max(self._best_bound(), shorter_bound_at(self.problem, self.fixings, trial), key=_value)
                return None
            columns = _joined(kept, _strongest(missing, np.abs(trial.correlation[missing]), self.most - kept.size))
        return columns

    def _exchange_block(self, columns: IndexArray) -> Iterator[int]:
        """Go on with these columns."""
        del self.block  # two of them need not lie side by side
        yield columns.size * self.problem.n_samples
        self.block = _Block(self.problem, self.fixings, columns)

    def _kept(self) -> IndexArray:
        """The columns of the block that matter where not all fit; the others make way."""
        columns = self.block.columns
        return np.asarray(columns[(self.x[columns] != 0.0) | self.fixings.included[columns]])


def _columns_that_fit(problem: Problem) -> int:
    """Columns a block may have: as memory allows, but never so few that nothing could be done."""
    few = LEAST_ROOT_BYTES // (16 * problem.n_samples)
    return max(problem.design.columns_at_a_time, few, problem.include.size + LEAST_BLOCK)


def _value(bound: Bound) -> float:
    return bound.value


def _first_correlations(problem: Problem) -> FloatArray:
    """Correlations at the dual point of the model without features."""
    p = problem.loss.null_dual(problem.y, problem.weights, problem.fit_intercept)
    return problem.design.correlations(problem.y * (problem.weights * p))


def _start(problem: Problem, strength: FloatArray, kappa: int) -> tuple[float, list[float]]:
    """A first level, and the prices to solve for one after the other."""
    lowest = float(np.sqrt(problem.gamma * problem.mu))
    crowd = min(max(2 * kappa, 64), 256, strength.size)
    level = lowest
    if 0 < kappa < strength.size:
        level = max(level, 0.5 * problem.gamma * _nth_strongest(strength, kappa))
    prices = [problem.mu]
    if kappa < crowd:
        return level, prices
    crowded = 0.25 * problem.gamma * _nth_strongest(strength, crowd - 1) ** 2
    while prices[0] < 0.1 * crowded and len(prices) < 40:
        prices.insert(0, max(prices[0] * PRICE_STEP, 1e-6 * crowded))
    if len(prices) > 1:
        level = float(np.sqrt(problem.gamma * prices[0]))
    return level, prices


def _nth_strongest(strength: FloatArray, n: int) -> float:
    """The strength that ``n`` others reach."""
    return float(largest(strength, n + 1).min())


class _Block:
    """The columns at hand, gathered once, and the compiled solver's work space for them."""

    def __init__(self, problem: Problem, fixings: Fixings, columns: IndexArray) -> None:
        self.columns = columns
        self._subproblem = restricted(problem, columns)
        self._node = make_node(columns.size, problem.n_samples, np.ones(columns.size))
        self._workspace = make_workspace(columns.size, problem.weights, columns.size)
        self._node.status[fixings.included[columns]] = IN

    def solve(
        self, price: float, x: FloatArray, start: Start, tolerance: float
    ) -> tuple[float, FloatArray, float, float]:
        """Solve the relaxation over the block from the iterate in ``x``, which is updated in place.

        The result is the value, the best dual point, intercept and level.
        """
        subproblem, node = self._subproblem._replace(mu=price), self._node
        node.x[:] = x[self.columns]
        node.u[:] = node.x @ subproblem.columns.block + start.intercept
        start = start._replace(level=max(start.level, float(np.sqrt(subproblem.gamma * price))))
        relaxed = kernels.relax(subproblem, node, self._workspace, start, Target(np.inf, 0.5 * tolerance, 0.0))
        x[self.columns] = node.x
        return relaxed.primal, node.best_alpha, relaxed.intercept, relaxed.level

    @property
    def strategy(self) -> int:
        """The one that the last solve ended with."""
        return int(self._node.progress[0].strategy)


def dual_of(problem: Problem, alpha: FloatArray) -> FloatArray:
    """The dual point ``p`` behind ``α = w y p``; rows of weight zero do not matter."""
    mass = problem.weights
    return np.divide(problem.y * alpha, mass, out=np.zeros_like(alpha), where=mass > 0.0)


def missing_columns(problem: Problem, fixings: Fixings, block: IndexArray, bound: Bound, level: float) -> IndexArray:
    """Columns that matter at this level and are not in the block."""
    needed = 2.0 * level / problem.gamma
    near = MISSING_SHARE * needed
    columns = np.flatnonzero((bound.correlation > near) | (bound.correlation < -near))
    outside = fixings.free
    outside[block] = False
    columns = columns[outside[columns]]
    strength = np.abs(bound.correlation[columns])
    if not (strength > needed * (1.0 + 1e-12)).any():
        return _NO_COLUMNS
    return _strongest(columns, strength, max(FIRST_BLOCK, block.size))


def _joined(columns: IndexArray, others: IndexArray) -> IndexArray:
    """Both, sorted, each once."""
    return np.union1d(columns, others) if others.size else np.sort(columns)


def _strongest(columns: IndexArray, strength: FloatArray, most: int) -> IndexArray:
    """The ``most`` of these columns with the largest strength."""
    if columns.size <= most:
        return columns
    return columns[np.argpartition(-strength, most)[:most]]
