"""Small problems as the kernels see them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from safescreen.design import make_design
from safescreen.design.columns import Columns, Raw
from safescreen.kernels.columns import add_columns
from safescreen.kernels.losses import Point
from safescreen.kernels.node import Node, make_node
from safescreen.kernels.node_relaxation import Workspace, make_workspace
from safescreen.kernels.subproblem import IN, OUT, Subproblem
from safescreen.problem import Problem
from safescreen.relaxation.restriction import restricted


class Case(NamedTuple):
    """A problem, and the arrays of a relaxation of it."""

    problem: Problem
    subproblem: Subproblem
    node: Node
    workspace: Workspace

    @property
    def progress(self):
        """Where the relaxation stands."""
        return self.node.progress[0]


def random_problem(seed: int, m: int = 30, n: int = 6, **options) -> Problem:
    """Labels that depend on the first columns, and on chance."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    y = np.where(X[:, :3].sum(axis=1) + rng.logistic(size=m) > 0.0, 1, -1)
    y[:2] = 1, -1
    if options.pop("weighted", False):
        options["sample_weight"] = rng.exponential(size=m) + 0.01
    price = {} if "k" in options else {"mu": 0.01}
    plain = {"fit_intercept": False, "standardize": False}
    return Problem(X, y, **{"gamma": 5.0, **plain, **price, **options})


def as_case(problem: Problem, capacity: int | None = None) -> Case:
    """All columns of the problem, dense, in a node where only the user's choices are decided."""
    n = problem.n_features
    subproblem = restricted(problem, np.arange(n))
    node = make_node(n, problem.n_samples, np.ones(n))
    node.status[problem.included] = IN
    node.status[problem.excluded] = OUT
    return Case(problem, subproblem, node, make_workspace(n, problem.weights, n if capacity is None else capacity))


def random_case(seed: int, m: int = 30, n: int = 6, capacity: int | None = None, **options) -> Case:
    """Both at once."""
    return as_case(random_problem(seed, m, n, **options), capacity)


def low_level(problem: Problem) -> float:
    """A level to start from: no lower than the price allows, and low enough for some feature to be worth a look."""
    return max(0.1, float(np.sqrt(problem.gamma * problem.mu)))


def set_iterate(case: Case, x, b: float = 0.0) -> None:
    """Put the node at an iterate, its predictor included."""
    case.node.x[:] = x
    case.progress.intercept = b
    add_columns(case.subproblem.columns, case.node.x, b, case.node.u)


def empty_point(m: int) -> Point:
    """Room for the terms of a dual point."""
    return Point(*np.empty((6, m)))


def sparse_columns(X: np.ndarray, slots: int, standardised: bool = True, moments=None) -> Columns:
    """The columns of a matrix in compressed form, none of them dense yet, with so many slots for dense ones."""
    m, n = X.shape
    compressed = sparse.csc_array(X)
    starts = compressed.indptr.astype(np.int64)
    raw = Raw.compressed(compressed.data, compressed.indices.astype(np.int32), starts[:-1].copy(), starts[1:].copy())
    if moments is None:
        moments = (X.mean(axis=0), X.std(axis=0)) if standardised else (np.zeros(n), np.ones(n))
    return Columns.partly_dense(raw, moments, np.full(n, 1e-14), np.full((slots, m), np.nan))


def columns_in_place(X: np.ndarray, slots: int, numbers: np.ndarray) -> Columns:
    """These columns of a matrix, standardised, read where they are, with so many slots for dense ones."""
    design = make_design(X, np.full(len(X), 1.0 / len(X)), standardize=True)
    columns = design.search_columns(numbers, np.zeros(numbers.size, np.int64), slots)
    assert columns.are_in_place
    return columns
