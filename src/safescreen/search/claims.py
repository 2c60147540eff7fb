"""What a proof may claim: no more than a checker in double precision confirms.

The solver sums its worst columns exactly and knows its own dual points; a checker does neither. With ordinary data the
difference is far below what a checker lets pass. Where columns are so large, or so far from zero, that rounding could
cost more, the checker itself is asked, about the very file that is written. If it is not done when time is up, or would
need more memory than there is, nothing is claimed that is not plain: whoever checks the proof finds the bound anyway.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from threading import Event
from typing import Any

import numpy as np

from safescreen.arrays import AnyArray
from safescreen.expiry import ExpiredError, aside, expiring
from safescreen.problem import Problem
from safescreen.relaxation import trivial_bound
from safescreen.rounding import UNIT
from safescreen.search.solution import Solution
from safescreen.verification.arithmetic import BETWEEN_PIECES
from safescreen.verification.checker import CLAIM_TOLERANCE, Sought, at_least_trivial, lower_bound, model_objective
from safescreen.verification.cores import core_bounds
from safescreen.verification.listed_models import read_models
from safescreen.verification.reading import OPTIONAL_ARRAYS, RefusedError
from safescreen.verification.recognition import StatedProblem, recognise_problem
from safescreen.working_memory import allowed

ROUNDING_SHARE = 2e-7
"""Of the objective: less is not worth a look, as checkers let a claim exceed what they certify by a millionth."""


def rounding_matters(problem: Problem, objective: float) -> bool:
    """Whether a checker may lose a part of a bound to rounding that is worth a look, by the size of the columns.

    A correlation is off by some ``m`` units of its column's norm, at most ``min(k, n)`` of them count, and ``Σ q`` is
    about the objective wherever a bound is of any use.
    """
    samples = problem.n_samples
    largest = float(problem.design.norms[~problem.excluded].max(initial=0.0)) / math.sqrt(samples)
    count = min(problem.k, problem.n_features)
    error = 2.0 * (samples + 16) * UNIT * largest * math.sqrt(problem.gamma * count)
    return not error * (2.0 * math.sqrt(objective) + error) <= ROUNDING_SHARE * objective


def claims_without_checker(problem: Problem, solution: Solution) -> tuple[float, float]:
    """An objective that the checker cannot exceed, and the bound that needs no proof.

    The checker lowers every margin by ``e_i = (s + 10) u (Σ |A_ij x_j| + |b|)`` and the error of ``b``, and its sums
    are off by as much again. The loss rises with that by ``2 Σ w_i e_i`` at most; twice this is added.
    """
    support, design = solution.support, problem.design
    coef = solution.coef[support]
    shifts = coef * design.means[support]
    b = math.fsum((solution.intercept, *shifts))
    sizes = float(np.abs(coef * design.scales[support]) @ _mean_sizes(problem, solution)) + abs(b)
    b_error = 4.0 * UNIT * (abs(solution.intercept) + math.fsum(np.abs(shifts)))
    slack = 4.0 * (support.size + 10) * UNIT * sizes + 8.0 * b_error
    return solution.objective + slack, trivial_bound(problem)


def _mean_sizes(problem: Problem, solution: Solution) -> AnyArray:
    """At least ``Σ_i w_i |A_ij|`` of the model's columns; once standardised, no more than one."""
    if problem.standardize:
        return np.full(solution.support.size, 1.01)
    with expiring(lambda: False):  # few columns, each of which the model was fitted with
        columns = (problem.design.columns([j])[:, 0] for j in solution.support)
        return np.array([1.01 * float(problem.weights @ np.abs(column)) for column in columns])


def confirmed_list(problem: Problem, header: dict[str, Any], arrays: dict[str, AnyArray]) -> tuple[float, float]:
    """Objective of the best model, and what is missing on a list at best, as the checker finds them in time."""

    def ask() -> tuple[float, float]:
        recognised, given = _recognised(problem, header, arrays)
        objective = model_objective(recognised, arrays["support"], arrays["coef"], header["intercept"])
        models, _ = read_models(recognised, header, given, CLAIM_TOLERANCE)
        sought = Sought(models, header["claims"]["missing_bound"])
        lower = at_least_trivial(recognised.terms, lower_bound(recognised, header["chunks"], given, sought)).value
        return objective, min(lower, sought.threshold)

    return _in_time(problem, arrays, ask)


def confirmed(problem: Problem, header: dict[str, Any], arrays: dict[str, AnyArray]) -> tuple[float, float]:
    """Objective and lower bound of a proof with this header and these arrays, as the checker finds them in time."""

    def ask() -> tuple[float, float]:
        recognised, given = _recognised(problem, header, arrays)
        objective = model_objective(recognised, arrays["support"], arrays["coef"], header["intercept"])
        lower = lower_bound(recognised, header["chunks"], given, enough=objective)
        return objective, at_least_trivial(recognised.terms, lower).value

    return _in_time(problem, arrays, ask)


def confirmed_core(problem: Problem, header: dict[str, Any], arrays: dict[str, AnyArray]) -> tuple[float, float]:
    """Objective of the model, and the bound of what avoids a core, as the checker finds them in time."""

    def ask() -> tuple[float, float]:
        recognised, given = _recognised(problem, header, arrays)
        objective = model_objective(recognised, arrays["support"], arrays["coef"], header["intercept"])
        return objective, core_bounds(recognised, header, given).avoiding

    return _in_time(problem, arrays, ask)


def _in_time(
    problem: Problem, arrays: dict[str, AnyArray], ask: Callable[[], tuple[float, float]]
) -> tuple[float, float]:
    """What the checker says, unless it takes too long or too much: then it is left, and soon ends by itself."""
    if _bytes_to_check(problem, arrays) > allowed(problem.design.nbytes):
        raise ExpiredError
    given_up = Event()

    def carry_out() -> tuple[float, float]:
        BETWEEN_PIECES.set(lambda: _leave_if(given_up))  # of the thread that this is called in
        with np.errstate(all="ignore"):
            try:
                return ask()
            except RefusedError:  # then no claim is of any use
                return 0.0, 0.0

    try:
        return aside(carry_out)
    finally:
        given_up.set()


def _leave_if(given_up: Event) -> None:
    if given_up.is_set():
        raise ExpiredError


def _bytes_to_check(problem: Problem, arrays: dict[str, AnyArray]) -> int:
    """Memory that the checker takes, roughly: copies of a matrix that is not as it likes it, and of what a tree has."""
    design = problem.design
    samples, features = design.shape
    column = 8 * samples
    decisions = arrays.get("root_screened", np.empty(0, np.int32))
    left = features - int(np.count_nonzero(problem.excluded)) - int(np.count_nonzero(decisions < 0))
    taken = column * max(left, 0) if any(name.startswith("tree") for name in arrays) else 0
    far_from_zero = bool((np.abs(design.means) > 8.0 * design.scales).any())
    if design.form == "sparse":
        return 3 * design.nbytes + taken + (column * features if far_from_zero else 0)
    return taken + (column * features if far_from_zero or design.dtype != np.float64 else 0)


def _recognised(
    problem: Problem, header: dict[str, Any], arrays: dict[str, AnyArray]
) -> tuple[StatedProblem, dict[str, AnyArray]]:
    """The problem as the checker sees it, and all arrays of the proof."""
    stated = {**header, "classes": [-1.0, 1.0]}  # of the labels as the problem has them
    given = {name: np.empty(0, dtype) for name, dtype in OPTIONAL_ARRAYS.items()} | arrays
    return recognise_problem(stated, given, problem.design.matrix, problem.y), given
