"""The big-M relaxation, for comparison: the same problem with ``|x_j| ≤ M z_j`` in place of the perspective.

With ``z_j = |x_j| / M`` it is ridge plus ℓ1 with a box: ``‖x‖²/γ + (μ/M) ‖x‖₁``, ``|x_j| ≤ M``, and ``Σ|x_j| ≤ κ M``
for a budget. An accelerated proximal gradient method is all it deserves; the budget's multiplier is found inside the
proximal step.
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

LARGEST_DECOMPOSITION = 1 << 30
"""Entries times columns of a matrix that is decomposed: some seconds."""

POWER_STEPS = 50
"""Steps of the power method for larger ones; what they miss is below the five per cent that are added."""


class _BigMTerms(NamedTuple):
    """The relaxation over the columns that are not excluded."""

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
    terms = _BigMTerms(problem, columns, problem.design.columns(columns), problem.included[columns], M)
    x, b, value, lower, p = _accelerated(terms, tolerance, rounds)
    full = np.zeros(problem.n_features)
    full[columns] = x
    z = np.minimum(np.abs(full) / M, 1.0)
    z[problem.included] = 1.0
    return BigM(float(value), float(lower), full, float(b), z, p)


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
    """Safe bound: any ``p`` in [0, 1] and any multiplier of the budget give one."""
    problem, M = terms.problem, terms.M
    p = problem.loss.balanced(problem.y, problem.weights, p) if problem.fit_intercept else p
    alpha = problem.y * (problem.weights * p)
    scale = float(np.linalg.norm(alpha)) * (4.0 if problem.fit_intercept else 1.0) * (1.0 + 1e-9)
    correlation = np.abs(terms.block.T @ alpha) + scale * problem.design.block_error[terms.columns]
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
    return value - 8.0 * UNIT * (1.0 + abs(loss) + price), p
