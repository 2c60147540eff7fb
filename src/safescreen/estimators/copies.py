"""Copies of columns, as the estimators treat and tell them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from safescreen.arrays import IndexArray
from safescreen.problem import Problem
from safescreen.problem.copies import ONE, check_copies
from safescreen.search.solution import Solution


class CopiesWarning(UserWarning):
    """A chosen feature has copies, of which only one may be chosen; the message names them."""


def settle_copies(copies: Any, problem: Problem) -> Problem:
    """The problem that an estimator solves: with one of each group of copies, or with all."""
    return problem.without_copies() if check_copies(copies) == ONE else problem


def superfluous_copies(copies: Any, state: Callable[[], Problem]) -> list[int]:
    """What a cross-validation leaves out in each fold: copies in all rows are copies in any of them.

    The problem is stated only if somebody has to look for copies.
    """
    left_out: list[int] = state().without_copies().left_out.tolist() if check_copies(copies) == ONE else []
    return left_out


def warn_of_copies(copies: str, solution: Solution, stacklevel: int) -> None:
    """Tell users whose chosen features stand for others, which they might have expected."""
    told = solution.problem.about_copies(solution.support) if copies == ONE else ""
    if told:
        warnings.warn(f"{told}; copies='allow' lets them compete.", CopiesWarning, stacklevel=stacklevel + 1)


def groups_of(solution: Solution) -> list[IndexArray]:
    """All groups of copies among the columns of a solution's problem."""
    return [np.array(group) for group in solution.problem.copies]
