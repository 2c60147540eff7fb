"""Warnings about fits that are right and yet of little use."""

from __future__ import annotations

import math
import warnings

import numpy as np

from safescreen.estimation import Estimate
from safescreen.problem import Problem
from safescreen.search import Solution
from safescreen.status import Status

SCALE_RATIO = 1e3
"""Columns whose sizes differ by more than this are treated very differently by one ridge."""


class OneClassWarning(UserWarning):
    """A model is optimal for its problem and yet predicts the same class for every training row."""


class ScaleWarning(UserWarning):
    """Columns have very different scales and are not standardised, so that the ridge decides by their units."""


def warn_of_scales(problem: Problem, stacklevel: int) -> None:
    """Say so where columns that are not standardised differ so much that units decide what is chosen."""
    if problem.standardize:
        return
    sizes = problem.design.norms[problem.design.norms > 0.0]
    if sizes.size < 2 or sizes.max() <= SCALE_RATIO * sizes.min():
        return
    warnings.warn(
        f"The columns have very different scales (their norms differ by a factor of {sizes.max() / sizes.min():.2g}) "
        "and standardize is False: the ridge hardly penalises large columns and suppresses small ones, so that units "
        "of measurement decide which features are chosen. Use standardize=True, or bring the columns to one scale.",
        ScaleWarning,
        stacklevel=stacklevel + 1,
    )


def warn_of_one_class(solution: Solution, estimate: Estimate, stacklevel: int) -> None:
    """Say so where a model that is proved optimal tells no row from another."""
    problem = solution.problem
    counted = problem.weights > 0.0
    positive = _log_odds(problem, estimate)[counted] > 0.0
    if solution.status != Status.OPTIMAL or positive.any() != positive.all() or np.unique(problem.y[counted]).size < 2:
        return
    warnings.warn(
        f"The model is optimal for its problem, but predicts {problem.classes[int(positive[0])]!r} for every training "
        f"row. The ridge may be too strong (gamma={problem.gamma:g}, refit_gamma={estimate.gamma:g}; larger values "
        "shrink less), the features too few, or the classes too unequal (class_weight='balanced').",
        OneClassWarning,
        stacklevel=stacklevel + 1,
    )


def _log_odds(problem: Problem, estimate: Estimate) -> np.ndarray:
    """What the model predicts for its training rows, from centred columns."""
    x = estimate.coefficients * problem.design.scales[estimate.support]
    shifts = problem.design.means[estimate.support] * estimate.coefficients
    b = math.fsum((estimate.intercept, *shifts.tolist()))
    return np.asarray(problem.design.columns(estimate.support) @ x + b)
