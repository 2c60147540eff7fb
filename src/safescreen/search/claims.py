"""What a proof may claim: no more than a checker in double precision confirms.

The solver sums its worst columns exactly and knows its own dual points; a checker does neither. With ordinary data the
difference is far below what a checker lets pass. Where columns are so large, or so far from zero, that rounding could
cost more, the checker itself is asked, about the very file that is written.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from safescreen.arrays import AnyArray
from safescreen.problem import Problem
from safescreen.rounding import UNIT
from safescreen.verification.checker import CLAIM_TOLERANCE, Sought, at_least_trivial, lower_bound, model_objective
from safescreen.verification.listed_models import read_models
from safescreen.verification.reading import OPTIONAL_ARRAYS, RefusedError
from safescreen.verification.recognition import StatedProblem, recognise_problem

_LET_PASS = 2e-7
"""Checkers let a claim exceed what they certify by a millionth of the objective."""


def rounding_matters(problem: Problem, objective: float) -> bool:
    """Whether a checker may lose a part of a bound to rounding that is worth a look, by the size of the columns.

    A correlation is off by some ``m`` units of its column's norm, at most ``min(k, n)`` of them count, and ``Σ q`` is
    about the objective wherever a bound is of any use.
    """
    samples = problem.n_samples
    largest = float(problem.design.norms[~problem.excluded].max(initial=0.0)) / math.sqrt(samples)
    count = min(problem.k, problem.n_features)
    error = 2.0 * (samples + 16) * UNIT * largest * math.sqrt(problem.gamma * count)
    return not error * (2.0 * math.sqrt(objective) + error) <= _LET_PASS * objective


def confirmed_list(problem: Problem, header: dict[str, Any], arrays: dict[str, AnyArray]) -> tuple[float, float]:
    """Objective of the best model, and what is missing on a list at best, as the checker finds them."""
    with np.errstate(all="ignore"):
        try:
            recognised, given = _recognised(problem, header, arrays)
            objective = model_objective(recognised, arrays["support"], arrays["coef"], header["intercept"])
            models, _ = read_models(recognised, header, given, CLAIM_TOLERANCE)
            sought = Sought(models, header["claims"]["missing_bound"])
            lower = at_least_trivial(recognised.terms, lower_bound(recognised, header["chunks"], given, sought)).value
        except RefusedError:  # then no claim is of any use
            return 0.0, 0.0
        return objective, min(lower, sought.threshold)


def confirmed(problem: Problem, header: dict[str, Any], arrays: dict[str, AnyArray]) -> tuple[float, float]:
    """Objective and lower bound of a proof with this header and these arrays, as the checker finds them."""
    with np.errstate(all="ignore"):
        try:
            recognised, given = _recognised(problem, header, arrays)
            objective = model_objective(recognised, arrays["support"], arrays["coef"], header["intercept"])
            lower = lower_bound(recognised, header["chunks"], given)
        except RefusedError:  # then no claim is of any use
            return 0.0, 0.0
        return objective, at_least_trivial(recognised.terms, lower).value


def _recognised(
    problem: Problem, header: dict[str, Any], arrays: dict[str, AnyArray]
) -> tuple[StatedProblem, dict[str, AnyArray]]:
    """The problem as the checker sees it, and all arrays of the proof."""
    stated = {**header, "classes": [-1.0, 1.0]}  # of the labels as the problem has them
    given = {name: np.empty(0, dtype) for name, dtype in OPTIONAL_ARRAYS.items()} | arrays
    return recognise_problem(stated, given, problem.design.matrix, problem.y), given
