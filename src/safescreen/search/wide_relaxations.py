"""The relaxations of a round: the columns they need, taken in at once, and solvers that share them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import NamedTuple, TypeVar

import numpy as np

from safescreen.arrays import IndexArray
from safescreen.kernels import Target
from safescreen.problem import Problem
from safescreen.relaxation import ColumnStore, Decided, NodeSolver, Point, Reached, Root
from safescreen.search.room import Room
from safescreen.search.wide_nodes import WideNode

Item = TypeVar("Item")
Result = TypeVar("Result")


class Task(NamedTuple):
    """A node to be relaxed."""

    node: WideNode
    decided: Decided
    target: Target


class Relaxations:
    """Columns at hand, and as many solvers as there are threads: each has the same nodes every time."""

    def __init__(self, problem: Problem, root: Root, room: Room) -> None:
        curvature = np.maximum(problem.loss.curvature(root.bound.dual), 1e-6) * problem.weights
        self.store = ColumnStore(problem, room.slots)
        self._solvers = [NodeSolver(problem, self.store, curvature, room.capacity) for _ in range(room.workers)]

    def take_in(self, nodes: Sequence[WideNode], included: Sequence[IndexArray]) -> None:
        """Have the columns of these nodes at hand: first those that they cannot do without, the first node's first."""
        needed = [part for node, inside in zip(nodes, included, strict=True) for part in (inside, _by_size(node.start))]
        self.store.take_in(np.concatenate([*needed, *(node.missing for node in nodes)]))

    def relax(self, tasks: Sequence[Task]) -> list[Reached]:
        """Relax every node over the columns at hand."""
        return self._spread(tasks, lambda solver, task: solver.relax(task.decided, task.node.start, task.target))

    def fit(self, models: Sequence[tuple[IndexArray, Point]]) -> list[float]:
        """Objectives of the best models on these supports, rounded up; their columns are at hand."""
        return self._spread(models, lambda solver, model: solver.fit(*model))

    def _spread(self, items: Sequence[Item], work: Callable[[NodeSolver, Item], Result]) -> list[Result]:
        """The results of all items, in their order."""
        threads = min(len(self._solvers), len(items))
        if threads < 2:
            return [work(self._solvers[0], item) for item in items]

        def share(number: int) -> list[Result]:
            return [work(self._solvers[number], item) for item in items[number::threads]]

        with ThreadPoolExecutor(threads) as pool:
            parts = [pool.submit(copy_context().run, share, number) for number in range(threads)]
            shares = [part.result() for part in parts]
        return [shares[i % threads][i // threads] for i in range(len(items))]


def _by_size(start: Point) -> IndexArray:
    """Features of a warm start, the largest coefficients first."""
    return np.asarray(start.features[np.argsort(-np.abs(start.values), kind="stable")])
