"""Slow, obvious and independent answers to the questions the solver answers fast.

Nothing here uses the solver: the matrix is asked for its columns, everything else is written down again from
the definition of the problem. :func:`brute_force` fits every admissible support.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlog1py, xlogy

if TYPE_CHECKING:
    from safescreen.problem import Problem

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Support = tuple[int, ...]

MOST_FEATURES = 12
MOST_STEPS = 500

INVISIBLE = 1e-12
"""A predicted decrease this small, relative: a full Newton step is right, and the objective cannot tell."""


class Fit(NamedTuple):
    """A ridge-penalised logistic fit: ``Σ w log(1 + exp(-y (A x + b))) + (1/γ) ‖x‖²`` at its minimum."""

    value: float
    x: Vector
    b: float


@dataclass(frozen=True)
class BruteForce:
    """Every admissible support with its value, price included."""

    value: float
    supports: list[Support]
    best_x: Vector
    best_b: float
    table: dict[Support, float]

    def ties(self, tolerance: float) -> list[Support]:
        """All supports whose value is within a relative ``tolerance`` of the best."""
        limit = self.value + tolerance * abs(self.value)
        return [support for support, value in self.table.items() if value <= limit]


# -- one support -----------------------------------------------------------------------------------------


def fit_support(A: Matrix, y: Vector, w: Vector, gamma: float, intercept: bool) -> Fit:
    """Minimise the penalised loss over all columns of ``A`` by damped Newton steps.

    The unknowns are scaled so that columns of very different sizes meet on equal terms. The last steps no
    longer show in the objective; they go on while the gradient still falls, because the dual bound is
    sensitive to it.
    """
    scale = _column_scale(A, w)
    B = np.column_stack([A / scale, np.ones(len(y))]) if intercept else A / scale
    ridge = np.append(1.0 / (gamma * scale**2), [0.0] * intercept)
    u = np.zeros(B.shape[1])
    value = _penalised(B, y, w, ridge, u)
    previous = math.inf
    for _ in range(MOST_STEPS):
        step, decrement = _newton_step(B, y, w, ridge, u)
        invisible = decrement <= INVISIBLE * value
        if invisible and not decrement < 0.25 * previous:
            break
        u = u + (step if invisible else _step_length(B, y, w, ridge, u, step, decrement, value) * step)
        value = _penalised(B, y, w, ridge, u)
        previous = decrement if invisible else math.inf
    return Fit(value, u[: A.shape[1]] / scale, float(u[-1]) if intercept else 0.0)


def support_bound(A: Matrix, y: Vector, w: Vector, gamma: float, intercept: bool, x: Vector, b: float) -> float:
    """A lower bound on the value of a support, from the dual point that belongs to ``(x, b)``.

    By weak duality it holds wherever ``(x, b)`` comes from; at the minimiser it meets the value, so the
    difference says how far a fit can be from the truth.
    """
    p = expit(-y * (A @ x + b))
    if intercept:
        p = _balanced(p, y, w)
    c = A.T @ (w * y * p)
    entropy = -xlogy(p, p) - xlog1py(1.0 - p, -p)
    return math.fsum(w * entropy) - 0.25 * gamma * math.fsum(c * c)


def _column_scale(A: Matrix, w: Vector) -> Vector:
    """Weighted root mean square of every column; 1 for columns that are zero wherever the weight is not."""
    scale = np.sqrt(w @ (A * A))
    return np.where(scale > 0.0, scale, 1.0)


def _losses(margins: Vector) -> Vector:
    return np.logaddexp(0.0, -margins)


def _penalised(B: Matrix, y: Vector, w: Vector, ridge: Vector, u: Vector) -> float:
    """The objective in scaled unknowns, its terms summed exactly."""
    return math.fsum(w * _losses(y * (B @ u))) + math.fsum(ridge * u * u)


def _newton_step(B: Matrix, y: Vector, w: Vector, ridge: Vector, u: Vector) -> tuple[Vector, float]:
    """Newton's step and the decrease it predicts (twice), by least squares rather than normal equations.

    Squaring the matrix would lose half of the digits exactly where they are scarce: duplicated columns whose
    difference is held by a weak ridge alone.
    """
    margins = y * (B @ u)
    p = expit(-margins)
    gradient = 2.0 * ridge * u - B.T @ (w * y * p)
    root = np.vstack([np.sqrt(w * p * expit(margins))[:, None] * B, np.diag(np.sqrt(2.0 * ridge))])
    size = np.sqrt((root * root).sum(axis=0))
    size[size == 0.0] = 1.0
    _, singular, V = np.linalg.svd(root / size, full_matrices=False)
    kept = singular > 1e-14 * singular[:1].max(initial=0.0)
    projected = (V @ (gradient / size))[kept] / singular[kept]
    step = -(V[kept].T @ (projected / singular[kept])) / size
    return step, float(projected @ projected)


def _step_length(
    B: Matrix, y: Vector, w: Vector, ridge: Vector, u: Vector, step: Vector, decrement: float, value: float
) -> float:
    """Backtrack from a full step until the objective falls by a fair part of what the step predicts."""
    length = 1.0
    while length > 1e-10:
        if _penalised(B, y, w, ridge, u + length * step) < value - 1e-4 * length * decrement:
            break
        length *= 0.5
    return length


def _balanced(p: Vector, y: Vector, w: Vector) -> Vector:
    """Scale down the heavier class so that ``Σ w y p = 0``, what a free intercept asks of a dual point."""
    positive = math.fsum((w * p)[y > 0])
    negative = math.fsum((w * p)[y < 0])
    if positive == negative:
        return p
    heavier = y > 0 if positive > negative else y < 0
    return np.where(heavier, p * (min(positive, negative) / max(positive, negative)), p)


# -- all supports ----------------------------------------------------------------------------------------


def brute_force(problem: Problem, tolerance: float = 1e-9) -> BruteForce:
    """Fit every admissible support (at most twelve features) and keep all that tie with the best.

    Features the user includes are in every support and pay their price even with a zero coefficient;
    features the user excludes and constant columns are in none, unless included.
    """
    n = problem.n_features
    if n > MOST_FEATURES:
        raise ValueError(f"brute force takes at most {MOST_FEATURES} features, got {n}.")
    columns = np.asarray(problem.design.columns(np.arange(n)), dtype=np.float64)
    fits = {support: _fit(problem, columns, support) for support in admissible_supports(problem)}
    table = {support: fit.value + problem.mu * len(support) for support, fit in fits.items()}
    best = min(table, key=table.__getitem__)
    best_x = np.zeros(n)
    best_x[list(best)] = fits[best].x
    result = BruteForce(table[best], [], best_x, fits[best].b, table)
    result.supports.extend(result.ties(tolerance))
    return result


def admissible_supports(problem: Problem) -> list[Support]:
    """All feature sets that respect the budget and the user's own decisions."""
    include = {int(j) for j in problem.include}
    barred = {int(j) for j in problem.exclude} | {int(j) for j in np.flatnonzero(problem.design.constant)}
    choice = [j for j in range(problem.n_features) if j not in include and j not in barred]
    most = min(len(choice), problem.k - len(include))
    return [tuple(sorted(include.union(chosen))) for size in range(most + 1) for chosen in combinations(choice, size)]


def _fit(problem: Problem, columns: Matrix, support: Support) -> Fit:
    A = columns[:, list(support)]
    return fit_support(A, problem.y, problem.weights, problem.gamma, problem.fit_intercept)
