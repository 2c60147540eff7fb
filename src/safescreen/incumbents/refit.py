"""Ridge logistic regression on given supports: what a choice of features is worth."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from safescreen import kernels
from safescreen.arrays import FloatArray, IndexArray
from safescreen.expiry import grace
from safescreen.kernels import IN, NEWTON, OUT, Start, Target
from safescreen.kernels.node import make_node
from safescreen.kernels.node_relaxation import make_workspace
from safescreen.problem import Problem
from safescreen.relaxation import restricted
from safescreen.tuning import CACHED_BYTES, SAMPLES_AT_A_TIME


@dataclass(frozen=True)
class Incumbent:
    """A model: its support, its coefficients for the (standardised) matrix and the data, its objective rounded up."""

    support: IndexArray
    x: FloatArray = field(repr=False)
    b: float
    coef: FloatArray = field(repr=False)
    intercept: float
    objective: float
    rounding: float  # relative distance of the objective, which is rounded up, from its plain evaluation


class Refitter:
    """Ridge logistic regression on subsets of a fixed list of columns, warm-started from the last fit."""

    def __init__(self, problem: Problem, columns: IndexArray) -> None:
        self.problem = problem
        self.columns = columns
        self._subproblem = restricted(problem, columns)
        capacity = min(columns.size, max(problem.k, 64) + 1)
        self._node = make_node(columns.size, problem.n_samples, np.ones(columns.size))
        self._workspace = make_workspace(columns.size, problem.weights, min(capacity, columns.size))
        self.b = 0.0

    def fit(self, chosen: IndexArray, x: FloatArray, tolerance: float = 1e-9, cutoff: float = np.inf) -> float:
        """Fit the columns at positions ``chosen`` from start values; returns the objective, price included.

        A fit that is proved to end no lower than ``cutoff`` is left as it is then.
        """
        node = self._node
        node.status[:] = OUT
        node.status[chosen] = IN
        node.x[:] = 0.0
        node.x[chosen] = x
        node.u[:] = x @ self._subproblem.columns.block[chosen] + self.b
        start, target = Start(0.0, self.b, NEWTON), Target(cutoff, tolerance, 0.0)
        fitted = kernels.relax(self._subproblem, node, self._workspace, start, target)
        self.b = fitted.intercept
        return fitted.primal

    def coefficients(self, chosen: IndexArray) -> FloatArray:
        """Coefficients of the last fit."""
        return self._node.x[chosen].copy()

    def drop_costs(self, chosen: IndexArray) -> FloatArray:
        """What leaving out each fitted column would cost, by the quadratic model of the last fit."""
        columns, root = self._subproblem.columns.block, np.sqrt(self._workspace.point.curvature)
        hessian = np.zeros((chosen.size + self.problem.fit_intercept,) * 2)
        for start in range(0, root.size, SAMPLES_AT_A_TIME):
            part = slice(start, start + SAMPLES_AT_A_TIME)
            block = np.ones((len(hessian), root[part].size))
            block[: chosen.size] = columns[chosen, part]
            block *= root[part]
            hessian += block @ block.T
        hessian[np.diag_indices(chosen.size)] += 2.0 / self.problem.gamma
        variances = np.diag(np.linalg.pinv(hessian, hermitian=True))[: chosen.size]
        with np.errstate(over="ignore"):
            return np.asarray(self._node.x[chosen] ** 2 / (2.0 * np.maximum(variances, 1e-300)))

    def entry_gains(self) -> FloatArray:
        """How much each column would like to enter after the last fit: its one-dimensional Newton decrease."""
        columns, point = self._subproblem.columns.block, self._workspace.point
        correlation, curvature = np.empty((2, len(columns)))
        rows = max(1, CACHED_BYTES // (8 * columns.shape[1]))
        for start in range(0, len(columns), rows):
            part = columns[start : start + rows]
            correlation[start : start + rows] = part @ point.alpha
            curvature[start : start + rows] = np.square(part) @ point.curvature
        return np.asarray(correlation * correlation / (2.0 * (curvature + 2.0 / self.problem.gamma)))


def without_features(problem: Problem) -> Incumbent:
    """The intercept alone, beside included features that do nothing: a model that needs no look at the matrix."""
    zero, b = np.zeros(problem.n_features), 0.0
    if problem.fit_intercept:
        share = float(problem.weights[problem.y > 0.0].sum())
        b = math.log(share) - math.log1p(-share) if 0.0 < share < 1.0 else 0.0
    return Incumbent(problem.include, zero, b, zero, b, problem.objective(zero, b), 0.0)


def polish(problem: Problem, support: IndexArray, x: FloatArray, b: float) -> Incumbent:
    """Fit a support to machine accuracy and evaluate the model, rounding up.

    Where the numbers leave the range of doubles, a fit can end anywhere or be no number at all. One that is worse than
    no coefficients makes way for the model that has none, of the features the user includes.
    """
    refitter = Refitter(problem, support)
    refitter.b = b
    value = refitter.fit(np.arange(support.size), x[support], 0.0)
    exact = np.zeros(problem.n_features)
    exact[support] = refitter.coefficients(np.arange(support.size))
    b = refitter.b
    del refitter  # its columns need not lie beside those of the evaluation
    with grace():
        fitted = _evaluated(problem, support, exact, b, value)
    intercept, loss = problem.loss.null_model(problem.y, problem.weights, problem.fit_intercept)
    if fitted is not None and fitted.objective <= (loss + problem.mu * support.size) * (1.0 + 1e-12):
        return fitted
    value = loss + problem.mu * problem.include.size
    plain = _evaluated(problem, problem.include, np.zeros(problem.n_features), intercept, value)
    assert plain is not None, "without coefficients nothing overflows"
    return plain if fitted is None or plain.objective < fitted.objective else fitted


def _evaluated(problem: Problem, support: IndexArray, x: FloatArray, b: float, value: float) -> Incumbent | None:
    """The model with its objective, rounded up from about ``value``; none if it, or its objective, is not finite."""
    if not (np.isfinite(x[support]).all() and math.isfinite(b)):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            coef, intercept = problem.to_data_units(x, b)
            objective = problem.objective(coef, intercept)
        except (OverflowError, ValueError):  # of exact sums, and of coefficients that are too large in the data's units
            return None
    if not math.isfinite(objective):
        return None
    return Incumbent(support, x, b, coef, intercept, objective, max(objective - value, 0.0) / objective)


def _without_features(problem: Problem) -> float:
    """Less than the objective of the best model without features."""
    _, loss = problem.loss.null_model(problem.y, problem.weights, problem.fit_intercept)
    return loss * (1.0 - 1e-12)


def with_users_features(problem: Problem, best: Incumbent) -> Incumbent:
    """The model at hand, or the fit of the features the user includes and no others, if that is better.

    More features fit at least as well, so that it cannot be unless they have a price, or their fit was dropped.
    """
    if best.x[best.support].any() and (problem.mu == 0.0 or np.array_equal(best.support, problem.include)):
        return best
    if not problem.include.size and best.objective < _without_features(problem):
        return best
    return min(best, polish(problem, problem.include, best.x, best.b), key=lambda model: model.objective)
