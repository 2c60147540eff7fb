"""The paper's pipeline as a baseline: branch and bound over an interior-point conic solver.

Relax the root, round it, screen once if asked, then branch: best bound first, most fractional feature, no
heuristics. Nothing here uses the compiled solver, so that comparing both on the same problems separates what
screening gains from what the node solver gains.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import expit, xlog1py, xlogy

import safescreen as ss
from safescreen.testing.reference import fit_support

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

EXTRA = "pip install 'safescreen[conic]'"
_SLACK = 1e-9  # relative: bounds here are evaluated in plain floating point, so a proof must clear them by this
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


class Pipeline:
    """A problem with its dense columns, and the formulas of the paper over them."""

    def __init__(self, problem: ss.Problem) -> None:
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

    def root(self, x: FloatArray, z: FloatArray, screening: bool) -> Root:
        """Round the relaxation ``(x, z)`` of the root; the rounded model is the upper bound to screen with."""
        fixed, percent = self.start, 0.0
        bound, gain = self.dual(x, fixed)
        model = self.refit(nearest_choice(np.where(fixed.chosen, np.inf, z), self.problem.k))
        if screening:
            fixed = self.screen(bound, gain, model.objective, fixed)
            percent = 100.0 * float(np.mean(fixed.out | fixed.chosen))
        return Root(bound, model, fixed, percent)

    def refit(self, support: IndexArray) -> Model:
        """The best model on a support; its objective is rounded up."""
        problem = self.problem
        fit = fit_support(self.columns[:, support], problem.y, problem.weights, problem.gamma, False)
        x = np.zeros(problem.n_features)
        x[support] = fit.x
        return Model(problem.objective(*problem.to_data_units(x)), support)


# -- a node as a cone program ----------------------------------------------------------------------------


def clarabel() -> Any:
    """The solver, or one sentence on how to get it."""
    try:
        import clarabel
    except ImportError as error:
        raise ImportError(f"the baseline needs Clarabel: {EXTRA}.") from error
    return clarabel


def relax_node(pipeline: Pipeline, fixed: Fixed, time_limit: float) -> tuple[FloatArray, FloatArray] | None:
    """Coefficients and choice of a node's perspective relaxation; None if the time is up."""
    solver = clarabel()
    settings = solver.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.time_limit = max(time_limit, 1e-3)
    free, chosen = np.flatnonzero(pipeline.free(fixed)), np.flatnonzero(fixed.chosen)
    result = solver.DefaultSolver(*_cone_program(pipeline, free, chosen, pipeline.kappa(fixed)), settings).solve()
    if result.status == solver.SolverStatus.MaxTime:
        return None
    x_free, x_chosen, z_free, _ = np.split(result.x, np.cumsum([free.size, chosen.size, free.size]))
    x, z = np.zeros(fixed.out.size), np.zeros(fixed.out.size)
    x[free], x[chosen] = x_free, x_chosen
    z[free], z[chosen] = np.clip(z_free, 0.0, 1.0), 1.0
    return x, z


def _cone_program(pipeline: Pipeline, free: IndexArray, chosen: IndexArray, kappa: int) -> tuple[Any, ...]:
    """The paper's model of a node: objective, constraints and cones over the unknowns ``x_F, x_in, z, t, u, r``.

    Two exponential cones per sample carry the loss, one second-order cone per free feature carries ``x² ≤ z t``:

        min  Σ w_i u_i + (1/γ) Σ_F t_j + (1/γ) Σ_in x_j² + μ Σ_F z_j
        exp(-y_i A_i x - u_i) ≤ r_i,   exp(-u_i) ≤ 1 - r_i,   x_j² ≤ z_j t_j,   z ≤ 1,   Σ_F z ≤ κ

    Fixed features are taken out of the program rather than bounded: ``x² ≤ 0 · t`` has no interior, which
    interior-point methods need.
    """
    problem = pipeline.problem
    m, f, n = problem.n_samples, free.size, free.size + chosen.size
    at_z, at_t, at_u, at_r, size = n, n + f, n + 2 * f, n + 2 * f + m, n + 2 * f + 2 * m
    quadratic, cost = np.zeros(size), np.zeros(size)
    quadratic[f:n] = 2.0 / problem.gamma
    cost[at_z:at_t], cost[at_t:at_u], cost[at_u:at_r] = problem.mu, 1.0 / problem.gamma, problem.weights

    def unit(start: int, count: int) -> Any:
        return sparse.eye_array(count, size, k=start, format="csr")

    x, z, t, u, r = unit(0, f), unit(at_z, f), unit(at_t, f), unit(at_u, m), unit(at_r, m)
    nothing = sparse.csr_array((m, size))
    signed = -problem.y[:, None] * pipeline.columns[:, np.concatenate([free, chosen])]
    loss = sparse.hstack([sparse.csr_array(signed), nothing[:, n:]])
    budget = sparse.csr_array(z.sum(axis=0)[None, :])
    # a row of each block gives one entry of the cone's vector: rhs - row · unknowns
    above, above_rhs = _interleaved([u - loss, nothing, -r], [0.0, 1.0, 0.0])
    below, below_rhs = _interleaved([u, nothing, r], [0.0, 1.0, 1.0])
    shape, shape_rhs = _interleaved([-z - t, -2.0 * x, t - z], [0.0, 0.0, 0.0])
    rows = sparse.vstack([z, budget, above, below, shape], format="csc")
    rhs = np.concatenate([np.ones(f), [float(max(kappa, 0))], above_rhs, below_rhs, shape_rhs])
    solver = clarabel()
    cones = [solver.NonnegativeConeT(f + 1)]
    cones += [solver.ExponentialConeT()] * (2 * m) + [solver.SecondOrderConeT(3)] * f
    return sparse.csc_matrix(sparse.diags_array(quadratic)), cost, sparse.csc_matrix(rows), rhs, cones


def _interleaved(blocks: list[Any], constants: list[float]) -> tuple[Any, FloatArray]:
    """Row i of the first block, row i of the second and so on: the three entries of the i-th cone together."""
    count, parts = blocks[0].shape[0], len(blocks)
    order = np.arange(count * parts).reshape(parts, count).T.ravel()
    return sparse.vstack(blocks, format="csr")[order], np.tile(constants, count)


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
    """Best-bound branch and bound."""

    def __init__(self, pipeline: Pipeline, rel_gap: float, time_limit: float) -> None:
        self.pipeline = pipeline
        self.rel_gap = rel_gap
        self.start = perf_counter()
        self.end = self.start + time_limit
        self.relaxed = 0
        self.heap: list[_Node] = []
        self.incumbent = Model(math.inf, np.empty(0, np.int64))
        self.closed = math.inf  # smallest bound among pruned nodes: the proof holds for these, too

    def run(self, screening: bool) -> BaselineSolution:
        """Root, screening, tree."""
        relaxed = self._relax(self.pipeline.start)
        if relaxed is None:
            nothing = np.zeros(self.pipeline.problem.n_features)
            self.incumbent = self.pipeline.root(nothing, nothing, False).model
            return self._solution("time_limit", 0.0, -math.inf)
        root = self.pipeline.root(*relaxed, screening)
        self.incumbent = root.model
        heapq.heappush(self.heap, _Node(root.bound, 0, root.fixed, relaxed[1]))
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
            integral = self.pipeline.refit(np.flatnonzero(node.fixed.chosen | (free & (node.z > 0.5))))
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
            x, z = relaxed
            bound = max(self.pipeline.dual(x, child)[0], node.bound)
            if self._done(bound):
                self.closed = min(self.closed, bound)
            else:
                heapq.heappush(self.heap, _Node(bound, self.relaxed, child, z))
        return True

    def _relax(self, fixed: Fixed) -> tuple[FloatArray, FloatArray] | None:
        """Coefficients and choice of a node; None when time is up."""
        left = self.end - perf_counter()
        found = relax_node(self.pipeline, fixed, left) if left > 0.0 else None
        self.relaxed += found is not None
        return found

    def _solution(self, status: str, percent: float, bound: float) -> BaselineSolution:
        objective, support = self.incumbent
        nodes, seconds = max(self.relaxed - 1, 0), perf_counter() - self.start
        return BaselineSolution(objective, bound, status, nodes, seconds, percent, support)
