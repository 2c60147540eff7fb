"""The paper's pipeline as a yardstick: branch and bound over an interior-point conic solver.

Relax the root, round it, screen once if asked, then branch: best bound first, most fractional feature, no
heuristics. Nothing here uses the compiled solver, so that comparing both on the same problems separates what
screening gains from what the node solver gains.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, xlog1py, xlogy

from safescreen.problem import Problem
from safescreen.testing.reference import fit_support
from safescreen.reproduction.conic_model import ConicModel

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_SLACK = 1e-9  # relative: bounds here are evaluated in plain floating point, so a proof must clear them by this
_INTEGRAL = 1e-6  # a choice this close to 0 or 1 counts as made


@dataclass(frozen=True)
class ConicSolution:
    """What the yardstick returns."""

    objective: float
    lower_bound: float
    status: str
    nodes: int
    seconds: float
    screened_percent: float
    support: IndexArray

    @property
    def gap(self) -> float:
        """Relative distance between model and bound."""
        return max(self.objective - self.lower_bound, 0.0) / abs(self.objective)


class Fixed(NamedTuple):
    """Features decided out and in."""

    out: BoolArray
    chosen: BoolArray


class Model(NamedTuple):
    """A feasible model."""

    objective: float
    support: IndexArray


class _Node(NamedTuple):
    """A relaxed node, ordered by its bound."""

    bound: float
    number: int
    fixed: Fixed
    z: FloatArray


def nearest_choice(z: FloatArray, k: int) -> IndexArray:
    """The features a relaxation suggests: those at least half chosen, or the k largest where the budget is used up."""
    order = np.argsort(-z, kind="stable")[:k]
    used_up = float(np.minimum(z, 1.0).sum()) >= k * (1.0 - 1e-6)
    return np.sort(order[z[order] > 0.0] if used_up else order[z[order] >= 0.5])


class Pipeline:
    """A problem with its dense columns, and the formulas of the paper over them."""

    def __init__(self, problem: Problem) -> None:
        if problem.fit_intercept:
            raise ValueError("problem has fit_intercept=True, but the paper's models have no intercept.")
        self.problem = problem
        self.columns = np.asarray(problem.design.columns(np.arange(problem.n_features)), dtype=np.float64)
        self.start = Fixed(problem.excluded.copy(), problem.included.copy())

    def kappa(self, fixed: Fixed) -> int:
        """What is left of the budget."""
        return self.problem.k - int(np.count_nonzero(fixed.chosen))

    def free(self, fixed: Fixed) -> BoolArray:
        """Features still to decide; none once the budget is spent."""
        return ~(fixed.out | fixed.chosen) & (self.kappa(fixed) > 0)

    def dual(self, x: FloatArray, fixed: Fixed) -> tuple[float, FloatArray]:
        """The dual bound at the point that belongs to ``x``, and every feature's ``q - μ``.

        It holds wherever ``x`` comes from: the solver's own objective, feasible up to a tolerance only, is not used.
        """
        problem = self.problem
        p = expit(-problem.y * (self.columns @ x))
        entropy = -xlogy(p, p) - xlog1py(1.0 - p, -p)
        gain = 0.25 * problem.gamma * (self.columns.T @ (problem.weights * problem.y * p)) ** 2 - problem.mu
        best = np.sort(np.maximum(gain[self.free(fixed)], 0.0))[::-1][: max(self.kappa(fixed), 0)]
        return float(problem.weights @ entropy - gain[fixed.chosen].sum() - best.sum()), gain

    def screen(self, bound: float, gain: FloatArray, upper: float, fixed: Fixed) -> Fixed:
        """Propositions 1 and 2: fix every feature whose flipped choice pushes the bound past ``upper``."""
        free, kappa = np.flatnonzero(self.free(fixed)), self.kappa(fixed)
        if free.size == 0:
            return fixed
        order = free[np.argsort(-gain[free], kind="stable")]
        positive = np.append(np.maximum(gain[order], 0.0), [0.0, 0.0])
        last, following = positive[min(kappa, free.size) - 1], positive[min(kappa, free.size)]
        if kappa >= free.size:
            last = following = 0.0
        picked = np.zeros(gain.size, dtype=bool)
        picked[order[:kappa]] = gain[order[:kappa]] > 0.0
        raised = bound + np.where(picked, gain - following, last - gain)
        proved = self.free(fixed) & (raised > upper * (1.0 + _SLACK))
        return Fixed(fixed.out | (proved & ~picked), fixed.chosen | (proved & picked))

    def rounded(self, z: FloatArray) -> Model:
        """The nearest feasible choice, refitted."""
        return self.refit(nearest_choice(np.where(self.start.chosen, np.inf, z), self.problem.k))

    def refit(self, support: IndexArray) -> Model:
        """The best model on a support; its objective is rounded up."""
        problem = self.problem
        fit = fit_support(self.columns[:, support], problem.y, problem.weights, problem.gamma, False)
        x = np.zeros(problem.n_features)
        x[support] = fit.x
        return Model(problem.objective(*problem.to_data_units(x)), support)


def conic_search(
    problem: Problem, screening: bool, rel_gap: float = 1e-4, time_limit: float = math.inf
) -> ConicSolution:
    """Solve a problem the paper's way.

    Parameters
    ----------
    problem : Problem
        The problem, without intercept; its matrix is made dense.
    screening : bool
        Whether to screen at the root, with the rounded root relaxation as upper bound.
    rel_gap : float, default 1e-4
        Stop once the relative gap is at most this.
    time_limit : float, optional
        Seconds.

    Returns
    -------
    ConicSolution
        The model, its bound, and how much work it took.
    """
    search = _Search(Pipeline(problem), rel_gap, time_limit)
    return search.run(screening)


class _Search:
    """Best-bound branch and bound."""

    def __init__(self, pipeline: Pipeline, rel_gap: float, time_limit: float) -> None:
        problem = pipeline.problem
        self.pipeline = pipeline
        self.model = ConicModel(pipeline.columns, problem.y, problem.weights, problem.gamma, problem.mu)
        self.rel_gap = rel_gap
        self.start = perf_counter()
        self.end = self.start + time_limit
        self.relaxed = 0
        self.heap: list[_Node] = []
        self.incumbent = Model(math.inf, np.empty(0, np.int64))
        self.closed = math.inf  # smallest bound among pruned nodes: the proof holds for these, too

    def run(self, screening: bool) -> ConicSolution:
        """Root, screening, tree."""
        pipeline = self.pipeline
        fixed = pipeline.start
        root = self._relax(fixed)
        if root is None:
            self.incumbent = pipeline.rounded(np.zeros(pipeline.problem.n_features))
            return self._solution("time_limit", 0.0, -math.inf)
        bound, gain, z = root
        self.incumbent = pipeline.rounded(z)
        percent = 0.0
        if screening:
            fixed = pipeline.screen(bound, gain, self.incumbent.objective, fixed)
            percent = 100.0 * float(np.mean(fixed.out | fixed.chosen))
        heapq.heappush(self.heap, _Node(bound, 0, fixed, z))
        while self.heap and not self._done(self.lower_bound):
            if not self._branch(heapq.heappop(self.heap)):
                return self._solution("time_limit", percent, self.lower_bound)
        return self._solution("optimal", percent, self.lower_bound)

    @property
    def lower_bound(self) -> float:
        """No model is better than this."""
        waiting = self.heap[0].bound if self.heap else math.inf
        return min(waiting, self.closed, self.incumbent.objective)

    def _done(self, bound: float) -> bool:
        upper = self.incumbent.objective
        return upper - bound <= self.rel_gap * abs(upper) * (1.0 - 1e-6)

    def _branch(self, node: _Node) -> bool:
        """Relax both children of a node; False when time is up, with the node still open."""
        free = self.pipeline.free(node.fixed)
        distance = np.where(free, np.minimum(node.z, 1.0 - node.z), -1.0)
        j = int(np.argmax(distance))
        if distance[j] <= _INTEGRAL:
            self._try(np.flatnonzero(node.fixed.chosen | (free & (node.z > 0.5))))
            if distance[j] < 0.0 or self._done(node.bound):
                self.closed = min(self.closed, node.bound)
                return True
        for chosen in (True, False):
            mask = np.zeros(free.size, dtype=bool)
            mask[j] = True
            out, inside = node.fixed
            child = Fixed(out, inside | mask) if chosen else Fixed(out | mask, inside)
            relaxed = self._relax(child)
            if relaxed is None:
                heapq.heappush(self.heap, node)
                return False
            bound = max(relaxed[0], node.bound)
            if self._done(bound):
                self.closed = min(self.closed, bound)
            else:
                heapq.heappush(self.heap, _Node(bound, self.relaxed, child, relaxed[2]))
        return True

    def _try(self, support: IndexArray) -> None:
        """Take over the model of an integral node if it is better."""
        self.incumbent = min(self.incumbent, self.pipeline.refit(support), key=lambda model: model.objective)

    def _relax(self, fixed: Fixed) -> tuple[float, FloatArray, FloatArray] | None:
        """Bound, gains and choice of a node; None when time is up."""
        pipeline = self.pipeline
        left = self.end - perf_counter()
        if left <= 0.0:
            return None
        free, chosen = np.flatnonzero(pipeline.free(fixed)), np.flatnonzero(fixed.chosen)
        solution = self.model.solve(free, chosen, max(pipeline.kappa(fixed), 0), left)
        if solution is None:
            return None
        self.relaxed += 1
        bound, gain = pipeline.dual(solution.x, fixed)
        return bound, gain, solution.z

    def _solution(self, status: str, percent: float, bound: float) -> ConicSolution:
        seconds = perf_counter() - self.start
        return ConicSolution(
            self.incumbent.objective, bound, status, max(self.relaxed - 1, 0), seconds, percent, self.incumbent.support
        )
