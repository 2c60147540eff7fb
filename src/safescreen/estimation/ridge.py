"""Ridge logistic regression on a few dense columns: Newton's method in plain NumPy.

Nothing is proved about these fits, so they need none of the solver's care with rounding, and nothing compiled.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from safescreen.arrays import FloatArray
from safescreen.prediction import log_loss

_STEPS = 200
_HALVINGS = 40
_STRONGEST = 1e300  # penalty: all coefficients are zero long before, and an infinite one times zero would be NaN
_DECREASE = 1e-13
"""Newton's method ends when it promises a smaller decrease than this, relative to the objective."""


class Rows(NamedTuple):
    """Samples as the fit sees them: the chosen columns, labels -1 and 1, and weights that sum to one."""

    block: FloatArray
    y: FloatArray
    weights: FloatArray

    def part(self, chosen: FloatArray | np.ndarray) -> Rows:
        """Some of the rows, weights summing to one again."""
        weights = self.weights[chosen]
        return Rows(self.block[chosen], self.y[chosen], weights / weights.sum())


class Fit(NamedTuple):
    """Coefficients and intercept for the block, and whether the fit came to an end."""

    x: FloatArray
    b: float
    converged: bool

    def loss(self, rows: Rows) -> float:
        """Mean log-loss on rows."""
        return log_loss(rows.block @ self.x + self.b, rows.y > 0.0, rows.weights)


def fit_ridge(rows: Rows, gamma: float, fit_intercept: bool, start: Fit | None = None) -> Fit:
    """Minimise ``Σ wᵢ log(1 + exp(-yᵢ(aᵢ·x + b))) + ‖x‖²/gamma``; an infinite `gamma` means no penalty."""
    size = rows.block.shape[1]
    matrix = np.column_stack((rows.block, np.ones(len(rows.y)))) if fit_intercept else rows.block
    penalty = np.zeros(matrix.shape[1])
    penalty[:size] = min(2.0 / gamma, _STRONGEST)
    v = np.zeros(matrix.shape[1])
    if start is not None:
        v[:size] = start.x
        v[size:] = start.b
    value = _objective(matrix, rows, penalty, v)
    converged = v.size == 0
    for _ in range(0 if converged else _STEPS):
        step, decrease = _newton(matrix, rows, penalty, v)
        if not decrease > _DECREASE * max(value, 1e-3):
            converged = math.isfinite(decrease)
            if converged and math.isfinite(gamma):
                v = v + step  # costs nothing, and doubles the digits
            break
        moved = _searched(matrix, rows, penalty, v, step, value, decrease)
        if moved is None:
            converged = decrease < 1e-9 * max(value, 1e-3)  # as far as rounding lets it
            break
        v, value = moved
    if start is not None and not converged and math.isfinite(gamma):
        return fit_ridge(rows, gamma, fit_intercept)  # so far off that there is no curvature left
    return Fit(v[:size].copy(), float(v[size:].sum()), converged)


def _objective(matrix: FloatArray, rows: Rows, penalty: FloatArray, v: FloatArray) -> float:
    return float(rows.weights @ np.logaddexp(0.0, -rows.y * (matrix @ v)) + 0.5 * (penalty * v) @ v)


def _newton(matrix: FloatArray, rows: Rows, penalty: FloatArray, v: FloatArray) -> tuple[FloatArray, float]:
    """Newton's step and twice the decrease its model promises, solved in columns scaled alike."""
    wrong = expit(-rows.y * (matrix @ v))
    gradient = penalty * v - (rows.weights * rows.y * wrong) @ matrix
    curved = (rows.weights * wrong * (1.0 - wrong))[:, None] * matrix
    hessian = matrix.T @ curved
    hessian[np.diag_indices(v.size)] += penalty
    scale = 1.0 / np.sqrt(np.maximum(np.diag(hessian), 1e-300))
    scaled = hessian * scale * scale[:, None]
    try:
        step = -scale * np.linalg.solve(scaled, scale * gradient)
    except np.linalg.LinAlgError:
        step = -scale * np.linalg.lstsq(scaled, scale * gradient, rcond=1e-12)[0]
    decrease = float(-gradient @ step)
    if decrease < 0.0:  # the Hessian is singular to working precision
        step = -(scale**2) * gradient
        decrease = float(-gradient @ step)
    return step, decrease


def _searched(
    matrix: FloatArray, rows: Rows, penalty: FloatArray, v: FloatArray, step: FloatArray, value: float, decrease: float
) -> tuple[FloatArray, float] | None:
    """The first point along the step that decreases the objective enough, and its objective."""
    length = 1.0
    for _ in range(_HALVINGS):
        moved = v + length * step
        reached = _objective(matrix, rows, penalty, moved)
        if reached <= value - 1e-4 * length * decrease:
            return moved, reached
        length *= 0.5
    return None
