"""The coefficients of chosen features, estimated at a ridge of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from safescreen.arrays import BoolArray, FloatArray, IndexArray
from safescreen.defaults import AUTO_RIDGE
from safescreen.estimation.folds import held_out_masks
from safescreen.estimation.ridge import Fit, Rows, fit_ridge
from safescreen.problem import Problem
from safescreen.problem.validation import about, check_gamma
from safescreen.search.solution import Solution
from safescreen.text import brief

WORDS = ("auto", "same", "cv")
"""What may stand in place of a number."""

RIDGES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
"""What ``"cv"`` tries, beside the ridge of the choice and ``2 n_samples``, scikit-learn's default; only weaker ones."""

N_FOLDS = 5


class Model(NamedTuple):
    """Coefficients of the chosen features and intercept, in the units of the data."""

    coefficients: FloatArray
    intercept: float


@dataclass(frozen=True)
class Estimate:
    """Coefficients of the chosen features, and what is needed to read them.

    Every array has one entry per chosen feature.

    Attributes
    ----------
    gamma : float
        Ridge at which the coefficients were estimated.
    support : ndarray of int
        The chosen features, sorted.
    coefficients : ndarray of float
        Change in the log-odds of the positive class per unit of each feature.
    intercept : float
        Intercept in the units of the data.
    means, deviations : ndarray of float
        Mean and standard deviation of each feature over the (weighted) training rows.
    binary : ndarray of bool
        Whether a feature has the values 0 and 1 only.
    unpenalised : ndarray of float
        Coefficients of the same features without any ridge: what the ridge shrank them from. Not a number where there
        are none, because the features separate the classes or repeat each other.
    """

    gamma: float
    support: IndexArray
    coefficients: FloatArray
    intercept: float
    means: FloatArray = field(repr=False)
    deviations: FloatArray = field(repr=False)
    binary: BoolArray = field(repr=False)
    unpenalised: FloatArray = field(repr=False)

    @property
    def shrinkage(self) -> FloatArray:
        """By what share the ridge made each coefficient smaller: 0 is not at all, 1 is to nothing."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(1.0 - self.coefficients / self.unpenalised)

    def coef(self, n_features: int) -> FloatArray:
        """Coefficients of all features."""
        coef = np.zeros(n_features)
        coef[self.support] = self.coefficients
        return coef


def check_refit_gamma(refit_gamma: Any) -> float | str:
    """The ridge of the estimates: a number, ``"auto"``, ``"same"`` or ``"cv"``."""
    if isinstance(refit_gamma, str):
        if refit_gamma not in WORDS:
            raise about(
                "refit_gamma",
                ValueError(f"refit_gamma is {brief(refit_gamma)}, but must be a number > 0, 'auto', 'same' or 'cv'."),
            )
        return refit_gamma
    try:
        return check_gamma(refit_gamma)
    except (TypeError, ValueError) as error:
        said = str(error).removesuffix(".").replace("gamma", "refit_gamma", 1)
        raise about("refit_gamma", type(error)(f"{said}, 'auto', 'same' or 'cv'.")) from None


def estimate(solution: Solution, refit_gamma: float | str) -> Estimate:
    """Estimate the coefficients of a solution's features at another ridge.

    Parameters
    ----------
    solution : Solution
        The choice of features.
    refit_gamma : float, "auto", "same" or "cv"
        Ridge of the estimates; ``"auto"`` is 30, or that of the choice if that is weaker; ``"same"`` keeps the
        solution's coefficients; ``"cv"`` chooses a ridge at least as weak by five-fold cross-validation. The folds
        share the features that all rows chose: this says how strongly to shrink, not how well the model predicts.
    """
    refit_gamma = check_refit_gamma(refit_gamma)
    problem, support = solution.problem, solution.support
    rows = chosen_rows(problem, support)
    start = _as_fit(solution)
    gamma = _ridge(rows, problem, refit_gamma)
    fit = start if gamma == problem.gamma else fit_ridge(rows, gamma, problem.fit_intercept, start)
    coefficients, intercept = _in_data_units(problem, support, fit)
    if fit is start:
        coefficients, intercept = solution.coef[support], solution.intercept
    means, deviations, binary = _moments(problem, support, rows)
    return Estimate(
        gamma=gamma,
        support=support,
        coefficients=coefficients,
        intercept=intercept,
        means=means,
        deviations=deviations,
        binary=binary,
        unpenalised=_unpenalised(problem, support, rows, fit),
    )


def refit(problem: Problem, support: IndexArray, refit_gamma: float | str) -> FloatArray:
    """Coefficients of any features in the units of the data, without what is needed to read them: many times over."""
    rows = chosen_rows(problem, support)
    gamma = _ridge(rows, problem, refit_gamma)
    return _in_data_units(problem, support, fit_ridge(rows, gamma, problem.fit_intercept))[0]


def models_at(solution: Solution, refit_gammas: Sequence[float | str]) -> list[Model]:
    """The chosen features' coefficients at each of several ridges, without what is needed to read them."""
    problem, support = solution.problem, solution.support
    rows = chosen_rows(problem, support)
    ridges = [_ridge(rows, problem, refit_gamma) for refit_gamma in refit_gammas]
    fits: dict[float, Fit] = {problem.gamma: _as_fit(solution)}
    fit = fits[problem.gamma]
    for ridge in sorted(set(ridges) - {problem.gamma}):
        fit = fits[ridge] = fit_ridge(rows, ridge, problem.fit_intercept, fit)
    return [Model(*_in_data_units(problem, support, fits[ridge])) for ridge in ridges]


def _ridge(rows: Rows, problem: Problem, refit_gamma: float | str) -> float:
    """The ridge meant."""
    if refit_gamma == "cv":
        return choose_ridge(rows, problem.fit_intercept, ridges_from(problem.gamma, problem.n_samples))
    if refit_gamma == "auto":
        return max(problem.gamma, AUTO_RIDGE)
    return problem.gamma if isinstance(refit_gamma, str) else refit_gamma


def chosen_rows(problem: Problem, support: IndexArray) -> Rows:
    """The chosen columns of the (standardised) matrix, with labels and weights."""
    return Rows(problem.design.columns(support), problem.y, problem.weights)


def ridges_from(gamma: float, n_samples: int) -> list[float]:
    """The ridges worth trying: that of the choice, and weaker ones."""
    return sorted({gamma, *(ridge for ridge in (*RIDGES, 2.0 * n_samples) if ridge > gamma)})


def choose_ridge(rows: Rows, fit_intercept: bool, ridges: Sequence[float]) -> float:
    """The ridge with the smallest cross-validated log-loss; the strongest where there is nothing to choose by."""
    masks = held_out_masks(rows.y, rows.weights, N_FOLDS)
    losses = np.zeros(len(ridges))
    for mask in masks:
        training, held_out = rows.part(~mask & (rows.weights > 0.0)), rows.part(mask)
        fit: Fit | None = None
        for place, ridge in enumerate(ridges):
            fit = fit_ridge(training, ridge, fit_intercept, fit)
            losses[place] += fit.loss(held_out) * float(rows.weights[mask].sum())
    return ridges[int(np.argmin(losses))]


def _as_fit(solution: Solution) -> Fit:
    """The solution's coefficients for the (standardised) matrix."""
    problem, support = solution.problem, solution.support
    coef = solution.coef[support]
    b = math.fsum((solution.intercept, *(problem.design.means[support] * coef).tolist()))
    return Fit(coef * problem.design.scales[support], b if problem.fit_intercept else 0.0, True)


def _in_data_units(problem: Problem, support: IndexArray, fit: Fit) -> tuple[FloatArray, float]:
    x = np.zeros(problem.n_features)
    x[support] = fit.x
    coef, intercept = problem.to_data_units(x, fit.b)
    return coef[support], intercept


def _moments(problem: Problem, support: IndexArray, rows: Rows) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Means, standard deviations and which features are 0 or 1, in the units of the data."""
    scales, shifts = problem.design.scales[support], problem.design.means[support]
    centre = rows.weights @ rows.block
    spread = np.sqrt(rows.weights @ (rows.block - centre) ** 2)
    values = rows.block[rows.weights > 0.0] * scales + shifts
    tolerance = 1e-9
    binary = ((np.abs(values) <= tolerance) | (np.abs(values - 1.0) <= tolerance)).all(axis=0)
    return centre * scales + shifts, spread * scales, np.asarray(binary & (spread > 0.0))


def _unpenalised(problem: Problem, support: IndexArray, rows: Rows, start: Fit) -> FloatArray:
    """Coefficients without a ridge, where there are any."""
    nothing = np.full(support.size, np.nan)
    fit = fit_ridge(rows, math.inf, problem.fit_intercept, start)
    margins = rows.y * (rows.block @ fit.x + fit.b)
    separated = bool((margins[rows.weights > 0.0] > 0.0).all()) and fit.loss(rows) < 1e-4
    if separated or not fit.converged or np.linalg.matrix_rank(rows.block) < support.size:
        return nothing
    return _in_data_units(problem, support, fit)[0]
