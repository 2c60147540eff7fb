"""Warnings about fits that are right and yet of little use."""

from __future__ import annotations

import warnings

from safescreen.estimation import Estimate
from safescreen.estimation.cautions import only_class, scale_ratio
from safescreen.problem import Problem
from safescreen.search import Solution


class OneClassWarning(UserWarning):
    """A model is optimal for its problem and yet predicts the same class for every training row."""


class ScaleWarning(UserWarning):
    """Columns have very different scales and are not standardised, so that the ridge decides by their units."""


def warn_of_scales(problem: Problem, stacklevel: int) -> None:
    """Say so where columns that are not standardised differ so much that units decide what is chosen."""
    ratio = scale_ratio(problem)
    if ratio is None:
        return
    warnings.warn(
        f"The columns have very different scales (their norms differ by a factor of {ratio:.2g}) "
        "and standardize is False: the ridge hardly penalises large columns and suppresses small ones, so that units "
        "of measurement decide which features are chosen. Use standardize=True, or bring the columns to one scale.",
        ScaleWarning,
        stacklevel=stacklevel + 1,
    )


def warn_of_one_class(solution: Solution, estimate: Estimate, stacklevel: int) -> None:
    """Say so where a model that is proved optimal tells no row from another."""
    label = only_class(solution, estimate)
    if label is None:
        return
    warnings.warn(
        f"The model is optimal for its problem, but predicts {label} for every training "
        f"row. The ridge may be too strong (gamma={solution.problem.gamma:g}, refit_gamma={estimate.gamma:g}; larger "
        "values shrink less), the features too few, or the classes too unequal (class_weight='balanced').",
        OneClassWarning,
        stacklevel=stacklevel + 1,
    )
