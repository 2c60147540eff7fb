"""A problem restricted to some of its columns, as the compiled solver sees it."""

from __future__ import annotations

from safescreen.arrays import IndexArray
from safescreen.design import Columns
from safescreen.kernels import Subproblem
from safescreen.problem import Problem


def restricted(problem: Problem, indices: IndexArray) -> Subproblem:
    """These columns, all held dense: for short work on few of them."""
    return restricted_to(problem, problem.design.dense_columns(indices))


def restricted_for_search(problem: Problem, indices: IndexArray, urgency: IndexArray, slots: int) -> Subproblem:
    """These columns, held as suits a long search with so many dense ones; urgent ones are dense from the start."""
    return restricted_to(problem, problem.design.search_columns(indices, urgency, slots))


def restricted_to(problem: Problem, columns: Columns) -> Subproblem:
    """Columns that are at hand."""
    return Subproblem(
        columns=columns,
        y=problem.y,
        w=problem.weights,
        gamma=problem.gamma,
        mu=problem.mu,
        k=problem.k,
        intercept=problem.fit_intercept,
        loss=problem.loss.code,
    )
