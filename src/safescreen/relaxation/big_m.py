"""The big-M relaxation, for comparison: the same problem with ``|x_j| ≤ M z_j`` in place of the perspective.

With ``z_j = |x_j| / M`` it is ridge plus ℓ1 with a box: ``‖x‖²/γ + (μ/M) ‖x‖₁``, ``|x_j| ≤ M``, and ``Σ|x_j| ≤ κ M``
for a budget. An accelerated proximal gradient method is all it deserves; the budget's multiplier is found inside the
proximal step. Columns that do not fit into memory are taken in blocks of the strongest: any dual point bounds the whole
problem after one pass over the matrix. A solution that uses more columns than fit is not reached; value and bound then
lie apart.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from safescreen.arrays import BoolArray, FloatArray, IndexArray
from safescreen.problem import Problem
from safescreen.problem.validation import check_positive
from safescreen.relaxation.bounds import entropy_below
from safescreen.rounding import UNIT
from safescreen.tuning import LEAST_BLOCK

LARGEST_DECOMPOSITION = 1 << 30
"""Entries times columns of a matrix that is decomposed: some seconds."""

POWER_STEPS = 50
"""Steps of the power method for larger ones; what they miss is below the five per cent that are added."""

FIRST_BLOCK = 64
"""Columns to begin with where not all of them fit; then twice as many each time."""

MOST_BLOCKS = 50
"""Blocks that are solved at most: where the solution is not sparse, none may be enough."""


class _BigMTerms(NamedTuple):
    """The relaxation over the columns that are not excluded, or over some of them."""

    problem: Problem
    columns: IndexArray
    block: FloatArray
    fixed: BoolArray  # included by the user: pays its price, free in the box
    M: float

    @property
    def kappa(self) -> int:
        return self.problem.k - int(np.count_nonzero(self.fixed))


class BigM(NamedTuple):
    """A solved big-M relaxation, in the units of the (standardised) matrix."""

    value: float
    lower_bound: float
    x: FloatArray
    b: float
    z: FloatArray
    dual: FloatArray


def solve_big_m(problem: Problem, M: float, tolerance: float = 1e-9, rounds: int = 20_000) -> BigM:
    """Solve the big-M relaxation to a relative duality gap of ``tolerance``, or as far as ``rounds`` steps lead."""
    M = check_positive("M", M)
    columns = np.flatnonzero(~problem.excluded)
    most = max(2 * problem.design.columns_at_a_time // 3, problem.include.size + LEAST_BLOCK)  # weighted, and so twice
    if columns.size <= most:
        x, b, value, lower, p = _accelerated(_restricted(problem, columns, M), tolerance, rounds)
    else:
        x, b, value, lower, p = _in_blocks(problem, columns, M, most, (tolerance, rounds))
    full = np.zeros(problem.n_features)
    full[columns] = x
    z = np.minimum(np.abs(full) / M, 1.0)
    z[problem.included] = 1.0
    return BigM(float(value), float(lower), full, float(b), z, p)


def _restricted(problem: Problem, columns: IndexArray, M: float) -> _BigMTerms:
    return _BigMTerms(problem, columns, problem.design.columns(columns), problem.included[columns], M)


def _in_blocks(
    problem: Problem, columns: IndexArray, M: float, most: int, effort: tuple[float, int]
) -> tuple[FloatArray, float, float, float, FloatArray]:
    """The best point over growing blocks of strong columns, and the best bound over all columns.

    Whatever is outside of a block is zero, so that the points are feasible. A block that is full gives its place to
    columns that would be better than those that are not used.
    """
    fixed = problem.included[columns]
    whole = _BigMTerms(problem, columns, np.empty((problem.n_samples, 0)), fixed, M)
    best_x, best_b, best_value = np.zeros(columns.size), 0.0, math.inf
    null_dual = problem.loss.null_dual(problem.y, problem.weights, problem.fit_intercept)
    lower, dual, correlation = _dual_of_all(whole, null_dual, best_x)
    used, size = fixed, int(np.count_nonzero(fixed)) + FIRST_BLOCK
    for _ in range(MOST_BLOCKS):
        order = np.argsort(-np.where(used, np.inf, correlation), kind="stable")
        block = np.sort(order[: min(size, most)])
        x = np.zeros(columns.size)
        x[block], b, value, _, p = _accelerated(_restricted(problem, columns[block], M), *effort)
        if value < best_value:
            best_x, best_b, best_value = x, b, value
        bound, p, correlation = _dual_of_all(whole, p, x)
        if bound > lower:
            lower, dual = bound, p
        used, size = fixed | (x != 0.0), 2 * block.size
        missing = correlation > problem.mu / M
        missing[block] = False
        reached = best_value - lower <= effort[0] * abs(best_value)
        if reached or not missing.any() or np.count_nonzero(used) >= most:
            break
    return best_x, best_b, best_value, lower, dual


def _dual_of_all(whole: _BigMTerms, p: FloatArray, x: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Safe bound for all columns, by one pass over the matrix; with the correlations, rounded up."""
    design = whole.problem.design
    p, alpha, scale = _feasible(whole.problem, p)
    error = np.maximum(design.error, design.block_error)
    correlation = (np.abs(design.correlations(alpha)) + scale * error)[whole.columns]
    return _bound(whole, p, x, correlation), p, correlation


def _accelerated(
    terms: _BigMTerms, tolerance: float, rounds: int
) -> tuple[FloatArray, float, float, float, FloatArray]:
    """FISTA with restarts on ``(x, b)``; returns the best primal point and the best safe bound."""
    problem = terms.problem
    step = _step_size(terms)
    x = np.zeros(terms.columns.size)
    b = 0.0
    ahead_x, ahead_b, momentum = x, b, 1.0
    best_value, best, lower, dual = math.inf, (x, b), -math.inf, np.full(problem.n_samples, 0.5)
    for attempt in range(rounds):
        p = problem.loss.dual_point(problem.y * (terms.block @ ahead_x + ahead_b))
        alpha = problem.y * problem.weights * p
        new_x = _proximal(terms, ahead_x + step * (terms.block.T @ alpha), step)
        new_b = ahead_b + step * float(alpha.sum()) if problem.fit_intercept else 0.0
        if float((ahead_x - new_x) @ (new_x - x)) + (ahead_b - new_b) * (new_b - b) > 0.0:
            momentum = 1.0  # the step points back: drop the momentum
        next_momentum = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum * momentum))
        weight = (momentum - 1.0) / next_momentum
        ahead_x, ahead_b = new_x + weight * (new_x - x), new_b + weight * (new_b - b)
        x, b, momentum = new_x, new_b, next_momentum
        if attempt % 10 == 9 or attempt == rounds - 1:
            value, p = _primal(terms, x, b)
            if value < best_value:
                best_value, best = value, (x, b)
            bound, p = _dual(terms, p, x)
            if bound > lower:
                lower, dual = bound, p
            if best_value - lower <= tolerance * abs(best_value):
                break
    return best[0], best[1], best_value, lower, dual


def _step_size(terms: _BigMTerms) -> float:
    """One over the Lipschitz constant of the loss's gradient, intercept included."""
    problem = terms.problem
    rows = terms.block * np.sqrt(problem.weights)[:, None]
    if problem.fit_intercept:
        rows = np.column_stack([rows, np.sqrt(problem.weights)])
    return 1.0 / problem.loss.max_curvature / max(_norm(rows) ** 2 * 1.0001, 1e-300)


def _norm(rows: FloatArray) -> float:
    """The largest singular value: to all digits, or a little above it where a decomposition would take long."""
    if rows.size * min(rows.shape) <= LARGEST_DECOMPOSITION:
        return float(np.linalg.norm(rows, 2))
    v: FloatArray = np.random.default_rng(0).standard_normal((rows.shape[1],))
    size = float(np.linalg.norm(v))
    for _ in range(POWER_STEPS):
        v = rows.T @ (rows @ (v / size))
        size = float(np.linalg.norm(v))
    return 1.05 * math.sqrt(size)


def _proximal(terms: _BigMTerms, target: FloatArray, step: float) -> FloatArray:
    """Minimise penalty plus distance: shrink, scale, clip, with the budget's multiplier where it binds."""
    problem, M = terms.problem, terms.M
    scale = 1.0 + 2.0 * step / problem.gamma
    size = np.abs(target)
    slope = np.where(terms.fixed, 0.0, step * problem.mu / M)

    def shrunk(multiplier: float) -> FloatArray:
        threshold = slope + np.where(terms.fixed, 0.0, step * multiplier / M)
        return np.asarray(np.clip((size - threshold) / scale, 0.0, M))

    budget = terms.kappa * M
    result = shrunk(0.0)
    if result[~terms.fixed].sum() > budget:
        low, high = 0.0, float(size.max()) * M / step
        for _ in range(100):
            middle = 0.5 * (low + high)
            if shrunk(middle)[~terms.fixed].sum() > budget:
                low = middle
            else:
                high = middle
            if high - low <= 1e-16 * high:
                break
        result = shrunk(high)
    return np.asarray(np.copysign(result, target))


def _primal(terms: _BigMTerms, x: FloatArray, b: float) -> tuple[float, FloatArray]:
    """Objective at a feasible point, and the dual point it suggests."""
    problem = terms.problem
    price = problem.mu * (float(np.abs(x[~terms.fixed]).sum()) / terms.M + np.count_nonzero(terms.fixed))
    predictor = terms.block @ x + b
    loss = problem.loss.value_above(problem.y, problem.weights, predictor, np.zeros_like(predictor))
    return loss + float(x @ x) / problem.gamma + price, problem.loss.dual_point(problem.y * predictor)


def _dual(terms: _BigMTerms, p: FloatArray, x: FloatArray) -> tuple[float, FloatArray]:
    """Safe bound for the columns of the block."""
    p, alpha, scale = _feasible(terms.problem, p)
    correlation = np.abs(terms.block.T @ alpha) + scale * terms.problem.design.block_error[terms.columns]
    return _bound(terms, p, x, correlation), p


def _feasible(problem: Problem, p: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """A dual point, balanced if need be, as ``p`` and ``α``; and what to multiply errors of correlations with."""
    p = problem.loss.balanced(problem.y, problem.weights, p) if problem.fit_intercept else p
    alpha = problem.y * (problem.weights * p)
    return p, alpha, float(np.linalg.norm(alpha)) * (4.0 if problem.fit_intercept else 1.0) * (1.0 + 1e-9)


def _bound(terms: _BigMTerms, p: FloatArray, x: FloatArray, correlation: FloatArray) -> float:
    """Safe bound: any ``p`` in [0, 1] and any multiplier of the budget give one."""
    problem, M = terms.problem, terms.M
    free = ~terms.fixed

    def conjugate(multiplier: float) -> float:
        slope = np.where(free, (problem.mu + multiplier) / M, 0.0)
        best = np.clip(0.5 * problem.gamma * (correlation - slope), 0.0, M)
        gains = best * (correlation - slope) - best * best / problem.gamma
        return math.fsum(gains.tolist()) * (1.0 + 16.0 * UNIT) + multiplier * terms.kappa * (1.0 + 4.0 * UNIT)

    candidates = [0.0]
    if float(np.abs(x[free]).sum()) >= terms.kappa * M * (1.0 - 1e-6):
        inside = free & (np.abs(x) > 0.0) & (np.abs(x) < M)
        estimates = M * (correlation[inside] - 2.0 * np.abs(x[inside]) / problem.gamma) - problem.mu
        if estimates.size:
            candidates.append(max(float(np.median(estimates)), 0.0))
    loss = min(conjugate(multiplier) for multiplier in candidates)
    price = problem.mu * np.count_nonzero(terms.fixed)
    value = entropy_below(problem, p) + price - loss
    return float(value - 8.0 * UNIT * (1.0 + abs(loss) + price))
