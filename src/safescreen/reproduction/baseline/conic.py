"""The paper's pipeline as a baseline: branch and bound over an interior-point conic solver.

Relax the root, round it, screen once if asked, then branch: best bound first, most fractional feature, no
heuristics. Only screening is ours: comparing with our solver on the same problems separates what screening gains from
what the node solver gains.
"""

from __future__ import annotations

import heapq
import math
import warnings
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, xlog1py, xlogy

import safescreen as ss
from safescreen.testing.conic import conic_model
from safescreen.testing.reference import fit_support

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_WHERE_IT_STALLS = dict.fromkeys(("reduced_tol_gap_abs", "reduced_tol_gap_rel", "reduced_tol_feas"), 1e-2)
_INTEGRAL = 1e-6  # a choice this close to 0 or 1 counts as made


@dataclass(frozen=True)
class BaselineSolution:
    """What the baseline returns."""

    objective: float
    lower_bound: float
    status: str
    nodes: int
    seconds: float
    screened_percent: float
    support: IndexArray


class Fixed(NamedTuple):
    """Features decided out and in."""

    out: BoolArray
    chosen: BoolArray


class Model(NamedTuple):
    """A feasible model."""

    objective: float
    support: IndexArray


class Relaxed(NamedTuple):
    """Coefficients and choice of a node's relaxation, and the seconds the solver took for it."""

    x: FloatArray
    z: FloatArray
    seconds: float


class Root(NamedTuple):
    """What is known before branching: bound and rounded model, and what screening has decided."""

    bound: float
    model: Model
    fixed: Fixed
    screened_percent: float


def nearest_choice(z: FloatArray, k: int) -> IndexArray:
    """The features a relaxation suggests: those at least half chosen, or the k largest where the budget is used up."""
    order = np.argsort(-z, kind="stable")[:k]
    used_up = float(np.minimum(z, 1.0).sum()) >= k * (1.0 - 1e-6)
    return np.sort(order[z[order] > 0.0] if used_up else order[z[order] >= 0.5])


def rounded_model(problem: ss.Problem, z: FloatArray) -> Model:
    """The paper's upper bound: a relaxation's choice rounded to the nearest feasible one and refitted."""
    return refit(problem, nearest_choice(np.where(problem.included, np.inf, z), problem.k))


def refit(problem: ss.Problem, support: IndexArray) -> Model:
    """The best model on a support; its objective is rounded up."""
    columns = np.asarray(problem.design.columns(support), dtype=np.float64)
    x = np.zeros(problem.n_features)
    x[support] = fit_support(columns, problem.y, problem.weights, problem.gamma, False).x
    return Model(problem.objective(*problem.to_data_units(x)), support)


class Pipeline:
    """A problem with its dense columns, and the formulas of the paper over them."""

    def __init__(self, problem: ss.Problem) -> None:
        if problem.fit_intercept:
            raise ValueError("problem has fit_intercept=True, but the paper's models have no intercept.")
        self.problem = problem
        self.columns = np.asarray(problem.design.columns(np.arange(problem.n_features)), dtype=np.float64)
        self.start = Fixed(problem.excluded, problem.included)

    def kappa(self, fixed: Fixed) -> int:
        """What is left of the budget."""
        return self.problem.k - int(np.count_nonzero(fixed.chosen))

    def free(self, fixed: Fixed) -> BoolArray:
        """Features still to decide; none once the budget is spent."""
        return ~(fixed.out | fixed.chosen) & (self.kappa(fixed) > 0)

    def dual(self, x: FloatArray, fixed: Fixed) -> float:
        """The dual bound at the point that belongs to ``x``.

        It holds wherever ``x`` comes from: the solver's own objective, feasible up to a tolerance only, is not used.
        """
        problem = self.problem
        p = expit(-problem.y * (self.columns @ x))
        entropy = -xlogy(p, p) - xlog1py(1.0 - p, -p)
        gain = 0.25 * problem.gamma * (self.columns.T @ (problem.weights * problem.y * p)) ** 2 - problem.mu
        best = np.sort(np.maximum(gain[self.free(fixed)], 0.0))[::-1][: max(self.kappa(fixed), 0)]
        return float(problem.weights @ entropy - gain[fixed.chosen].sum() - best.sum())

    def root(self, x: FloatArray, z: FloatArray, screening: bool) -> Root:
        """Round the relaxation ``(x, z)`` of the root; the rounded model is the upper bound to screen with."""
        bound, model = self.dual(x, self.start), rounded_model(self.problem, z)
        if not screening:
            return Root(bound, model, self.start, 0.0)
        found = ss.screen(self.problem, upper_bound=model.objective)
        out, chosen = self.start.out.copy(), self.start.chosen.copy()
        out[found.excluded], chosen[found.included] = True, True
        return Root(bound, model, Fixed(out, chosen), found.percent)

    def relax(self, fixed: Fixed, time_limit: float) -> Relaxed:
        """Solve a node's perspective relaxation, as well as the time allows."""
        kept = self.free(fixed) | fixed.chosen
        if not kept.any():
            return Relaxed(np.zeros(kept.size), np.zeros(kept.size), 0.0)
        node = conic_model(self.problem, ~kept, fixed.chosen)
        with warnings.catch_warnings(action="ignore"):  # about accuracy, which the dual bound does not rely on
            node.model.solve(solver="CLARABEL", max_threads=1, time_limit=max(time_limit, 1e-3), **_WHERE_IT_STALLS)
        return Relaxed(node.coefficients, node.choice, node.model.solver_stats.solve_time)


# -- the search ------------------------------------------------------------------------------------------


def conic_search(
    problem: ss.Problem, screening: bool, rel_gap: float = 1e-4, time_limit: float = math.inf
) -> BaselineSolution:
    """Solve a problem, without intercept, the paper's way; its matrix is made dense.

    ``screening`` at the root uses the rounded root relaxation as upper bound.
    """
    return _Search(Pipeline(problem), rel_gap, time_limit).run(screening)


class _Node(NamedTuple):
    """A relaxed node, ordered by its bound."""

    bound: float
    number: int
    fixed: Fixed
    z: FloatArray


class _Search:
    """Best-bound branch and bound.

    Its clock stands still while CVXPY translates a node for the solver, which a program written for this solver would
    not need.
    """

    def __init__(self, pipeline: Pipeline, rel_gap: float, time_limit: float) -> None:
        self.pipeline = pipeline
        self.rel_gap = rel_gap
        self.time_limit = time_limit
        self.start = perf_counter()
        self.relaxed = 0
        self.heap: list[_Node] = []
        self.incumbent = Model(math.inf, np.empty(0, np.int64))
        self.closed = math.inf  # smallest bound among finished nodes: the proof holds for these, too

    def run(self, screening: bool) -> BaselineSolution:
        """Root, screening, tree."""
        relaxed = self._relax(self.pipeline.start)
        if relaxed is None:
            self.incumbent = rounded_model(self.pipeline.problem, np.zeros(self.pipeline.problem.n_features))
            return self._solution("time_limit", 0.0, -math.inf)
        root = self.pipeline.root(relaxed.x, relaxed.z, screening)
        self.incumbent = root.model
        heapq.heappush(self.heap, _Node(root.bound, 0, root.fixed, relaxed.z))
        while self.heap and not self._done(self.lower_bound):
            if not self._branch(heapq.heappop(self.heap)):
                return self._solution("time_limit", root.screened_percent, self.lower_bound)
        return self._solution("optimal", root.screened_percent, self.lower_bound)

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
            integral = refit(self.pipeline.problem, np.flatnonzero(node.fixed.chosen | (free & (node.z > 0.5))))
            self.incumbent = min(self.incumbent, integral, key=lambda model: model.objective)
            if distance[j] < 0.0 or self._done(node.bound):
                self.closed = min(self.closed, node.bound)
                return True
        (out, chosen), this = node.fixed, np.arange(free.size) == j
        for child in (Fixed(out, chosen | this), Fixed(out | this, chosen)):
            relaxed = self._relax(child)
            if relaxed is None:
                heapq.heappush(self.heap, node)
                return False
            bound = max(self.pipeline.dual(relaxed.x, child), node.bound)
            heapq.heappush(self.heap, _Node(bound, self.relaxed, child, relaxed.z))
        return True

    def _relax(self, fixed: Fixed) -> Relaxed | None:
        """The relaxation of a node; None when time is up."""
        if self.seconds >= self.time_limit:
            return None
        before = perf_counter()
        found = self.pipeline.relax(fixed, self.time_limit - self.seconds)
        self.start += perf_counter() - before - found.seconds
        if self.seconds >= self.time_limit:
            return None
        self.relaxed += 1
        return found

    @property
    def seconds(self) -> float:
        """What the clock shows."""
        return perf_counter() - self.start

    def _solution(self, status: str, percent: float, bound: float) -> BaselineSolution:
        objective, support = self.incumbent
        return BaselineSolution(objective, bound, status, max(self.relaxed - 1, 0), self.seconds, percent, support)
