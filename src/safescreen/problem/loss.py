"""The loss, as the Python side of the solver sees it: value, conjugate, curvature and dual domain, rounding included.

Its compiled twin is :mod:`safescreen.kernels.losses`, found by ``code``. ``docs/design/extending.md`` says what another
loss has to bring.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from safescreen.arrays import FloatArray
from safescreen.exact_sums import exact_sum
from safescreen.rounding import UNIT


class Loss(Protocol):
    """A convex loss of labels ``y`` in {-1, 1} and a linear predictor, with samples weighted by ``w``."""

    code: int
    max_curvature: float

    def value_above(self, y: FloatArray, w: FloatArray, predictor: FloatArray, error: FloatArray) -> float:
        """The weighted loss, never below its value in real arithmetic; ``error`` bounds that of the predictor."""

    def dual_point(self, margin: FloatArray) -> FloatArray:
        """The dual point ``p`` that belongs to margins ``y t``."""

    def conjugate_below(self, w: FloatArray, p: FloatArray, imbalance: float) -> float:
        """The dual's part of the loss at ``p``, never above its value at any point within a relative ``imbalance``."""

    def balanced(self, y: FloatArray, w: FloatArray, p: FloatArray) -> FloatArray:
        """A dual point near ``p`` with ``Σ w y p = 0``, as the dual of an intercept demands."""

    def null_dual(self, y: FloatArray, w: FloatArray, intercept: bool) -> FloatArray:
        """The dual point of the model without features."""

    def null_model(self, y: FloatArray, w: FloatArray, intercept: bool) -> tuple[float, float]:
        """The intercept of the model without features, and its loss, but for rounding."""

    def curvature(self, p: FloatArray) -> FloatArray:
        """Second derivative of each sample's loss at the dual point ``p``."""


class Logistic:
    """``log(1 + exp(-y t))``, whose dual is the entropy of ``p = 1 / (1 + exp(y t))`` in [0, 1]."""

    code = 0
    max_curvature = 0.25

    def value_above(self, y: FloatArray, w: FloatArray, predictor: FloatArray, error: FloatArray) -> float:
        """The weighted loss from above.

        The loss grows with ``-y t``, so evaluating it at that number plus a bound on its error covers all rounding of
        the linear predictor; what is left is that of exp, log (4 ulp each) and the sum.
        """
        losses = np.logaddexp(0.0, error - y * predictor)
        terms = w * np.where(w > 0.0, losses, 0.0)
        return exact_sum(terms) * (1.0 + 24.0 * UNIT) + y.size * 1e-300

    def dual_point(self, margin: FloatArray) -> FloatArray:
        """``1 / (1 + exp(y t))`` without overflow."""
        return np.asarray(np.exp(-np.logaddexp(0.0, margin)))

    def conjugate_below(self, w: FloatArray, p: FloatArray, imbalance: float) -> float:
        """``Σ w H(p)`` minus all that rounding can have added, the distance to an exactly balanced point included."""
        rest = 1.0 - p
        log_rest = np.log1p(-np.minimum(p, 0.5))  # accurate for small p, where rest has lost the digits of p
        log_p, log_high = np.log(np.maximum(p, 1e-300)), np.log(np.maximum(rest, 1e-300))
        terms = -p * log_p - rest * np.where(p < 0.5, log_rest, log_high)
        slope = p * np.abs(log_p - log_high)  # change per relative change of p
        drift = 4.0 * UNIT + 2.0 * imbalance
        errors = 16.0 * UNIT * terms + 64.0 * UNIT * (p >= 0.5) + drift * (slope + p * p)
        weighted = w * (terms - errors)
        return exact_sum(weighted) - 4.0 * UNIT * float(np.abs(weighted).sum()) * (1.0 + 1e-9)

    def balanced(self, y: FloatArray, w: FloatArray, p: FloatArray) -> FloatArray:
        """Scale the heavier class down until both weigh the same: ``p`` stays in [0, 1]."""
        mass = w * p
        upper = y > 0.0
        positive, negative = exact_sum(mass[upper]), exact_sum(mass[~upper])
        if positive > negative:
            return np.where(upper, p * (negative / positive), p)
        if negative > positive:
            return np.where(upper, p, p * (positive / negative))
        return p

    def null_dual(self, y: FloatArray, w: FloatArray, intercept: bool) -> FloatArray:
        """One half, or with an intercept the other class's share."""
        if not intercept:
            return np.full(y.size, 0.5)
        positive = float(w[y > 0.0].sum())
        return np.where(y > 0.0, 1.0 - positive, positive)

    def null_model(self, y: FloatArray, w: FloatArray, intercept: bool) -> tuple[float, float]:
        """The logarithm of the odds, and the entropy of the classes."""
        if not intercept:
            return 0.0, math.log(2.0)
        positive, negative = float(w[y > 0.0].sum()), float(w[y < 0.0].sum())
        log_positive, log_negative = math.log(positive), math.log(negative)
        return log_positive - log_negative, -(positive * log_positive + negative * log_negative)

    def curvature(self, p: FloatArray) -> FloatArray:
        """``p (1 - p)``."""
        return np.asarray(p * (1.0 - p))


LOGISTIC = Logistic()
