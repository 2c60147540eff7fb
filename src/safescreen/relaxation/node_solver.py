"""The relaxation of a node over the columns at hand, and the fit of a model on some of them.

What it finds is the relaxation of a smaller problem. Its dual point bounds the whole one all the same, once a pass over
the matrix has shown what the other columns make of it: see :func:`safescreen.relaxation.bounds.bounds_of_nodes`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from safescreen import kernels
from safescreen.arrays import FloatArray, IndexArray
from safescreen.kernels import FREE, GRAM, IN, NEWTON, OUT, Start, Target
from safescreen.kernels.node import make_node
from safescreen.kernels.node_relaxation import make_workspace
from safescreen.problem import Problem
from safescreen.relaxation.bounds import Decided
from safescreen.relaxation.column_store import ColumnStore
from safescreen.relaxation.perspective import dual_of
from safescreen.rounding import UNIT
from safescreen.tuning import GRAM_TRIAL_PERIOD, HOT_FEATURES, REFIT_TOLERANCE


class Point(NamedTuple):
    """A sparse iterate with its intercept and level: a warm start, or what is behind a dual point."""

    features: IndexArray
    values: FloatArray
    b: float
    level: float


class Reached(NamedTuple):
    """How far the relaxation of a node has come."""

    primal: float  # its objective: the relaxation over all columns has at most this
    last: Point
    best: Point  # the iterate behind `dual`
    dual: FloatArray | None  # the best dual point over the columns at hand; None if it is of no use


class NodeSolver:
    """Work space for one relaxation at a time over the columns of a store."""

    def __init__(self, problem: Problem, store: ColumnStore, curvature: FloatArray, capacity: int) -> None:
        self._problem, self._store = problem, store
        hot = np.full(store.capacity, store.capacity <= HOT_FEATURES)
        self._node = make_node(store.capacity, problem.n_samples, hot)
        self._workspace = make_workspace(store.capacity, curvature, capacity)
        self._replacements = store.replacements
        self._relaxed, self._exact = 0, 0

    def relax(self, decided: Decided, start: Point, target: Target) -> Reached:
        """Solve the relaxation of a node over the columns at hand, those that are in among them."""
        node, places = self._node, self._store.features
        node.status[:] = np.where((places >= 0) & decided.free(places), FREE, OUT)
        node.status[self._store.places(decided.included)] = IN
        hard = self._exact * 2 > self._relaxed + 8 and self._relaxed % GRAM_TRIAL_PERIOD != 0
        primal, value = self._solve(start, NEWTON if hard else GRAM, target)
        self._relaxed += 1
        self._exact += int(node.progress["strategy"][0] >= NEWTON)
        level, b = float(node.progress["level"][0]), float(node.progress["intercept"][0])
        dual = dual_of(self._problem, node.best_alpha) if value > -np.inf else None
        last, best = self._point(node.x, b, level), self._point(node.best_x, float(node.best_b[0]), level)
        return Reached(primal, last, best, dual)

    def fit(self, support: IndexArray, start: Point) -> float:
        """The objective of the best model on this support, whose columns are at hand; rounded up."""
        self._node.status[:] = OUT
        self._node.status[self._store.places(support)] = IN
        lowest = start._replace(level=0.0)
        primal, _ = self._solve(lowest, NEWTON, Target(np.inf, REFIT_TOLERANCE, 0.0))
        return primal * (1.0 + 8.0 * self._problem.n_samples * UNIT)

    def _solve(self, start: Point, strategy: int, target: Target) -> tuple[float, float]:
        """Solve for the node's status; the objective, and the bound over the columns at hand."""
        node, subproblem = self._node, self._store.subproblem
        self._forget_replaced_columns()
        places = self._store.places(start.features)
        kept = (places >= 0) & (node.status[places] != OUT)
        node.x[:] = 0.0
        node.x[places[kept]] = start.values[kept]
        node.u[:] = start.values[kept] @ subproblem.columns.block[places[kept]] + start.b
        level = max(start.level, float(np.sqrt(subproblem.gamma * subproblem.mu)))
        relaxed = kernels.relax(subproblem, node, self._workspace, Start(level, start.b, strategy), target)
        return relaxed.primal, relaxed.bound.value

    def _forget_replaced_columns(self) -> None:
        """Products with columns that are not at hand any more are void."""
        if self._replacements != self._store.replacements:
            self._replacements = self._store.replacements
            self._workspace.gram.size[0] = 0
            self._workspace.gram.slot_of[:] = -1

    def _point(self, x: FloatArray, b: float, level: float) -> Point:
        places = np.flatnonzero(x)
        return Point(self._store.features[places], x[places], b, level)
