"""A tree over more columns than memory has room for: rounds of relaxations that share one pass over the matrix.

A node is relaxed over the few columns at hand. One pass then serves all nodes of a round: it bounds each of them over
all columns, and names the columns that its relaxation lacks. A node that lacks some is relaxed again in the next round,
beside new ones, so that every pass serves as many nodes as it can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safescreen.arrays import IndexArray
from safescreen.kernels import Goal, Target
from safescreen.kernels.goals import cutoff
from safescreen.problem import Problem
from safescreen.relaxation import (
    Decided,
    Fixings,
    ListedBound,
    Point,
    Reached,
    Root,
    bound_of_leaf,
    bounds_of_nodes,
    trivial_bound,
)
from safescreen.screening import flipped_free
from safescreen.search.room import Room
from safescreen.search.wide_nodes import WaitingNodes, WideNode
from safescreen.search.wide_proof import TreeRecorder
from safescreen.search.wide_relaxations import Relaxations, Task
from safescreen.tuning import FIRST_BLOCK, MISSING_SHARE, NODE_PATIENCE, NODE_TOLERANCE, WIDE_LIST, WIDE_TRIES

_NOTHING = np.empty(0, np.int64)
_REMEMBERED = 1 << 16  # supports that are not fitted again


@dataclass(frozen=True)
class WideOrders:
    """What a wide search is for, and how it goes about it."""

    goal: Goal
    screen_nodes: bool
    batch: int  # nodes that share a pass
    open_bytes: int  # memory for open nodes


class WideTree:
    """Open nodes, columns at hand, and the lower bound of all that is open or closed.

    Attributes
    ----------
    nodes : int
        Nodes explored.
    passes : int
        Passes over the matrix that bounded them.
    found : list of (objective, support)
        Models found since the caller last emptied it, each better than those before.
    """

    def __init__(self, problem: Problem, root: Root, room: Room, orders: WideOrders, recorder: TreeRecorder) -> None:
        self.problem, self._orders, self._recorder = problem, orders, recorder
        self._relaxations = Relaxations(problem, root, room)
        self._waiting, self._again, self._at_hand = WaitingNodes(orders.open_bytes), list[WideNode](), list[WideNode]()
        self._closed_bound = np.inf
        self._tried: set[bytes] = set()
        self._hopeless = _NOTHING
        self.nodes, self.passes = 0, 0
        self.found: list[tuple[float, IndexArray]] = []
        self._upper = self._cutoff = np.inf
        nonzero = np.flatnonzero(root.x)
        start = Point(nonzero, root.x[nonzero], root.b, root.level)
        self.apply(Fixings.given(problem), np.inf)
        bound = max(trivial_bound(problem), root.bound.value)  # in this order also of what is no number
        self._waiting.push(WideNode(-1, 0, _NOTHING, bound, start, self._count(start, 0)))

    # -- what the caller tells and asks ---------------------------------------------------------------------

    def apply(self, fixings: Fixings, closed_bound: float) -> None:
        """Take over what the root has decided for the whole tree; what that cuts off has this bound."""
        self._undecided = fixings.free
        self._included = np.flatnonzero(fixings.included)
        self._fixings, self._n_free = fixings, int(np.count_nonzero(self._undecided))
        self._closed_bound = min(self._closed_bound, closed_bound)

    def give_up_on(self, features: IndexArray) -> None:
        """Features with which nothing can be proved: they are decided first, and nodes that have one in are closed."""
        self._hopeless = features

    @property
    def open_nodes(self) -> int:
        """Nodes not closed yet."""
        return len(self._waiting) + len(self._again) + len(self._at_hand)

    @property
    def lower_bound(self) -> float:
        """The smallest bound of anything open or closed."""
        unfinished = (node.bound for node in (*self._again, *self._at_hand))
        return min(self._closed_bound, self._waiting.smallest_bound, *unfinished)

    def first_layer(self, model: IndexArray, cutoff: float) -> float:
        """How many features of a model all others below the cutoff do without at least; see `kernels.outward`.

        Infinite if nothing below it is open; 0 if anything below it was closed, in whatever layer that was.
        """
        if not self._closed_bound >= cutoff:
            return 0.0
        nodes = (*self._waiting, *self._again, *self._at_hand)
        return min((self._layer(node, model) for node in nodes if not node.bound >= cutoff), default=np.inf)

    def _layer(self, node: WideNode, model: IndexArray) -> int:
        inside = np.union1d(self._included, node.included)
        out = self._fixings.excluded[model] | np.isin(model, node.excluded)
        free = int(np.count_nonzero(~(out | np.isin(model, inside))))
        return int(np.count_nonzero(out)) + max(free - (self.problem.k - inside.size), 0)

    def explore(self, upper: float, most_nodes: int) -> None:
        """One round: at most so many nodes, one pass. If time is up in the middle, its nodes are open still."""
        self._upper, self._cutoff = upper, cutoff(self._orders.goal, upper)
        tasks = self._next_tasks(min(self._orders.batch, most_nodes))
        reached = self._relaxations.relax(tasks)
        self._try_models(tasks, reached)
        bounds = self._bounds(tasks, reached)
        for task, point, bound in zip(tasks, reached, bounds, strict=True):
            self._settle(task, point, bound)
        self._recorder.flush()

    def close(self) -> None:
        """Complete the proof: what is open are leaves, with a point of their own if they have been relaxed."""
        for node in (*self._waiting, *self._again, *self._at_hand):
            self._recorder.record(node.parent, node.decision, node.point, _NOTHING)
        self._recorder.flush()

    # -- the nodes of a round -------------------------------------------------------------------------------

    def _next_tasks(self, most: int) -> list[Task]:
        """Nodes to be relaxed, those that lacked columns first, with their columns at hand."""
        included: list[IndexArray] = []
        while len(self._at_hand) < most and (self._again or len(self._waiting)):
            node = self._again.pop(0) if self._again else self._waiting.pop()
            inside = self._inside(node)
            if inside is not None:
                self._at_hand.append(node)
                included.append(inside)
        if not self._at_hand:
            return []
        self._relaxations.take_in(self._at_hand, included)
        tasks = []
        for place, (node, inside) in enumerate(zip(tuple(self._at_hand), included, strict=True)):
            if place == 0 or self._relaxations.store.has(np.concatenate([inside, node.start.features])):
                tasks.append(self._task(node, inside))
            else:  # too many for the memory there is
                self._at_hand.remove(node)
                self._waiting.push(node)
        return tasks

    def _inside(self, node: WideNode) -> IndexArray | None:
        """All features that are in in this node; None, and it is closed, if it is known to hold nothing of use."""
        fixings, inside, outside = self._fixings, node.included, node.excluded
        included = np.union1d(self._included, inside)
        contradicts = fixings.excluded[inside].any() or fixings.included[outside].any()
        beyond_reach = included.size > self._relaxations.store.capacity or self._has_hopeless(included)
        if contradicts or included.size > self.problem.k:  # screening has proved that nothing better is in it
            self._close(node, max(self._cutoff, node.bound))
        elif node.bound >= self._cutoff or beyond_reach:
            self._close(node, node.bound)
        else:
            return included
        return None

    def _has_hopeless(self, features: IndexArray) -> bool:
        return self._hopeless.size > 0 and bool(np.isin(self._hopeless, features).any())

    def _close(self, node: WideNode, bound: float) -> None:
        """Close a node with this bound."""
        self._closed_bound = min(self._closed_bound, bound)
        self._recorder.record(node.parent, node.decision, node.point, _NOTHING)

    def _task(self, node: WideNode, included: IndexArray) -> Task:
        outside = node.excluded
        path = np.concatenate([node.included, outside])
        n_free = self._n_free - int(np.count_nonzero(self._undecided[path])) if included.size < self.problem.k else 0
        rows = self._relaxations.store.rows(included)
        decided = Decided(included, rows, outside, self._undecided, n_free)
        patience = NODE_PATIENCE if n_free else 0.0
        return Task(node, decided, Target(self._cutoff, NODE_TOLERANCE * self._orders.goal.rel_gap, patience))

    def _bounds(self, tasks: Sequence[Task], reached: Sequence[Reached]) -> list[ListedBound | None]:
        """What the dual point of each node proves: one pass for all that have free features."""
        bounds: list[ListedBound | None] = [None] * len(tasks)
        passing, duals = [], []
        for place, (task, point) in enumerate(zip(tasks, reached, strict=True)):
            if point.dual is None:
                continue
            if task.decided.n_free == 0:
                bounds[place] = bound_of_leaf(self.problem, task.decided, point.dual)
            else:
                passing.append(place)
                duals.append(point.dual)
        if passing:
            count = max(tasks[place].node.count for place in passing)
            nodes = [tasks[place].decided for place in passing]
            for place, bound in zip(passing, bounds_of_nodes(self.problem, nodes, duals, count), strict=True):
                bounds[place] = bound
            self.passes += 1
        return bounds

    # -- models ---------------------------------------------------------------------------------------------

    def _try_models(self, tasks: Sequence[Task], reached: Sequence[Reached]) -> None:
        """Fit the models that the relaxations suggest; a better one lowers the cutoff at once."""
        models = []
        if len(self._tried) > _REMEMBERED:
            self._tried.clear()
        for task, point in zip(tasks, reached, strict=True):
            support = self._rounded(task.decided, point.last)
            if support.tobytes() not in self._tried:
                self._tried.add(support.tobytes())
                models.append((support, point.last))
        for objective, (support, _) in zip(self._relaxations.fit(models), models, strict=True):
            if objective < self._upper:
                self.found.append((objective, support))
                self._upper, self._cutoff = objective, cutoff(self._orders.goal, objective)

    def _rounded(self, decided: Decided, point: Point) -> IndexArray:
        """What is in, and the largest free coefficients, as many as there is room for."""
        size = np.where(decided.free(point.features), np.abs(point.values), 0.0)
        order = np.argsort(-size, kind="stable")[: self.problem.k - decided.included.size]
        chosen = order[size[order] > 0.5 * point.level]
        return np.union1d(decided.included, point.features[chosen])

    # -- what becomes of a node -----------------------------------------------------------------------------

    def _settle(self, task: Task, reached: Reached, bound: ListedBound | None) -> None:
        """Close the node, have it relaxed again with the columns it lacks, or branch."""
        node = task.node
        self._at_hand.remove(node)
        node.tries += 1
        node.start = reached.last
        if bound is not None and bound.value >= node.bound:
            node.best, node.point, node.bound = bound, reached.best, bound.value
        if task.decided.n_free == 0 or node.bound >= self._cutoff:
            self.nodes += 1
            self._close(node, node.bound)
        elif bound is not None and self._needs_more(task, reached, bound):
            self._again.append(node)
        else:
            self.nodes += 1
            self._branch(task, bound)

    def _needs_more(self, task: Task, reached: Reached, bound: ListedBound) -> bool:
        """Whether to relax the node again: it lacks columns or a longer list, and might not survive with them."""
        node = task.node
        node.missing = self._missing(bound, reached.last.level)
        if bound.complete and not node.missing.size:
            return False
        if not bound.complete:
            node.count *= 2
        gap = reached.primal - node.bound
        survives = reached.primal < self._cutoff and gap <= NODE_PATIENCE * (self._cutoff - node.bound)
        return not survives and node.tries < WIDE_TRIES

    def _missing(self, bound: ListedBound, level: float) -> IndexArray:
        """Listed columns that matter at this level and are not at hand, the strongest first."""
        away = self._relaxations.store.places(bound.features) < 0
        needed = 2.0 * level / self.problem.gamma
        if not (bound.widened[away] > needed * (1.0 + 1e-12)).any():
            return _NOTHING
        return bound.features[away & (bound.widened > MISSING_SHARE * needed)][:FIRST_BLOCK]

    def _branch(self, task: Task, bound: ListedBound | None) -> None:
        """Screen, then split on a feature; where screening leaves none, the node is its own only child."""
        node, screened = task.node, self._screened(task)
        number = self._recorder.record(node.parent, node.decision, node.point, screened)
        count = self._count(node.start, 0 if bound is None else bound.dropped + screened.size)
        j = self._chosen(task, screened, bound)
        for decision in (0,) if j < 0 else (j + 1, -j - 1):
            child = node.child(number, screened, decision, node.start, count)
            child.missing = node.missing
            self._waiting.push(child)

    def _screened(self, task: Task) -> IndexArray:
        """Decisions about listed features whose other side is proved to hold nothing below the cutoff."""
        best = task.node.best
        if best is None or not self._orders.screen_nodes:
            return _NOTHING
        chosen, raised = flipped_free(best)
        decided = (raised > self._cutoff) & task.decided.free(best.features)
        self._closed_bound = min(self._closed_bound, float(raised[decided].min(initial=np.inf)))
        return np.asarray(np.where(chosen, 1, -1) * (best.features + 1))[decided]

    def _chosen(self, task: Task, screened: IndexArray, bound: ListedBound | None) -> int:
        """The most fractional free feature, else the strongest free one, else any; -1 if there is none."""
        decided, start = task.decided, task.node.start
        if task.decided.n_free == screened.size:
            return -1
        taken = np.abs(screened) - 1
        hopeless = self._hopeless[decided.free(self._hopeless)]
        hopeless = hopeless[~np.isin(hopeless, taken)]
        if hopeless.size:
            return int(hopeless[0])
        z = np.abs(start.values) / start.level if start.level > 0.0 else np.zeros(start.values.size)
        score = np.minimum(z, 1.0 - z)
        free = decided.free(start.features) & ~np.isin(start.features, taken)
        fractional = free & (z > 0.0) & (z < 1.0 - 1e-9)
        if fractional.any():
            return int(start.features[np.argmax(np.where(fractional, score, -1.0))])
        listed = _NOTHING if bound is None else bound.features[~np.isin(bound.features, taken)]
        if listed.size:
            return int(listed[0])
        left = self._undecided.copy()
        left[np.concatenate([decided.included, decided.excluded, taken])] = False
        return int(np.flatnonzero(left)[0])

    def _count(self, start: Point, decided: int) -> int:
        """How many features a pass should name: those that can count, decided ones among them, and some more."""
        return min(self.problem.k, 2 * start.features.size + 64) + decided + WIDE_LIST
