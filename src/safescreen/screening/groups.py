"""Safe screening of groups: a core, without whose features (or with few of them) the relaxation passes a threshold.

Columns of the relaxation move into the core until the bound of models that avoid it passes the threshold. Then as many
as possible return: those that the dual point at hand allows, and as many at a time as a relaxation is likely to allow,
by what others have cost. Relaxations stop once they are decided, and where one column was refused the next ones are
tried only if a few steps do not show that they are needed, too. Returning more columns only lowers the bound, so that a
column that could not return once cannot return later: at the end none can.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from safescreen.arrays import BoolArray, FloatArray, IndexArray
from safescreen.expiry import ExpiredError
from safescreen.problem import Problem
from safescreen.relaxation import Bound, Fixings, Group, GroupSolver, Iterate, Root, regrouped

_AT_ONCE = 1e9
"""Patience of a relaxation that may stop as soon as it is decided."""

_ROUGHLY = 0.05
"""Patience of one whose columns are to be looked at."""

_SPENT = 0.7
"""Members that return together should take this part of the room above the threshold."""

_GROWTH_OF_COST = 1.5
"""The power of its excess with which the cost of a member grows, seen on real data: between a line and a parabola."""

_LOOKED_AT = 256
"""Members that are looked at together whether they are needed."""

_COPIES = 8
"""Vectors over the samples that one of them takes for that, for each that a column takes."""

_SHARE = 2
"""One of so many columns of the relaxation moves into the core at a time."""

_FASTER = 8
"""And where that is less, one for so many members: a long list would take many steps."""


class CoreFinder:
    """Cores of one problem, for any number of thresholds.

    Parameters
    ----------
    problem, root
        The problem and its relaxation.
    most : int
        A core is a list of which no model below the threshold uses so few features: none for a core of one.
    """

    def __init__(self, problem: Problem, root: Root, most: int) -> None:
        self.problem = problem
        self._most = most
        self._solver = GroupSolver(problem, root)
        self._free = Fixings.given(problem).free
        nothing = np.zeros(problem.n_features)
        self._root = Iterate(root.value, root.bound, root.x, root.b, root.level, nothing)

    def find(self, cutoff: float) -> tuple[BoolArray, Bound] | None:
        """Members of a core, and the bound above ``cutoff`` that proves it; None if there is no proof of any."""
        members, at = deque(self._growth(cutoff), maxlen=1).pop()
        return _Returning(self._solver, members, at, self._most, cutoff).run() if at.bound.value > cutoff else None

    def size(self, cutoff: float) -> tuple[int, bool]:
        """About how many features a core has, some of which could still return; if time is up, how many it exceeds.

        Beside the number: whether there was time.
        """
        count = 0
        try:
            for members, _ in self._growth(cutoff):
                count = int(np.count_nonzero(members))
        except ExpiredError:
            return count, False
        return count, True

    def _growth(self, cutoff: float) -> Iterator[tuple[BoolArray, Iterate]]:
        """More and more features, each time with the relaxation without them, until that passes the threshold."""
        members, at = np.zeros(self.problem.n_features, np.bool_), self._root
        while True:
            at = self._solver.solve(Group(members, self._most), at, cutoff, _ROUGHLY)
            yield members, at
            others = self._free & ~members
            if at.bound.value > cutoff or not others.any():
                return
            members[self._next(members, at)] = True

    def _next(self, members: BoolArray, at: Iterate) -> IndexArray:
        """Features that move into the core: what the relaxation uses most, or where these are few, would use next."""
        others = np.flatnonzero(self._free & ~members)
        used: IndexArray = others[at.x[others] != 0.0]
        many = int(np.count_nonzero(members)) // _FASTER
        if used.size >= max(many, 1):
            order = np.argsort(-np.abs(at.x[used]), kind="stable")
            return used[order[: max(used.size // _SHARE, many, 1)]]
        order = np.argsort(-at.bound.gain[others], kind="stable")
        return others[order[: many if used.size else max(others.size // _SHARE, many, 1)]]


class _Returning:
    """Members of a core on their way back, those that gain least first.

    As many return at a time as the room above the threshold should be enough for, by what others have taken of it.
    """

    def __init__(self, solver: GroupSolver, members: BoolArray, at: Iterate, most: int, cutoff: float) -> None:
        self.solver = solver
        self.members = members.copy()
        self.most = most
        self.cutoff = cutoff
        self.at = at  # the relaxation for the members at hand
        self.pending = np.flatnonzero(members)
        self._free = Fixings.given(solver.problem).free
        self._price = at.bound.value  # of what returns, by its excess
        self._limit = members.size  # of what is tried at a time

    def run(self) -> tuple[BoolArray, Bound]:
        """Return all that can return, and what is left with its bound."""
        self._settle()
        while self.pending.size:
            sure, bound = self._returned_by_point()
            some = self._affordable()
            if sure < some:
                tried = self._relaxed(self.pending[:some])
                if tried.bound.value > self.cutoff:
                    self._accept(some, tried)
                    self._limit = 4 * some
                    continue
                self._limit = max(some // 4, 1)
            if sure:
                self._accept(sure, replace(self.at, bound=bound))
            elif some == 1:
                self.pending = self.pending[1:]
                self._drop_blocked()
        return self.members, self.at.bound

    def _relaxed(self, returned: IndexArray) -> Iterate:
        self.solver.take_in(returned, self.at)
        return self.solver.solve(self._without(returned), self.at, self.cutoff, _AT_ONCE)

    def _without(self, returned: IndexArray) -> Group:
        members = self.members.copy()
        members[returned] = False
        return Group(members, self.most)

    def _accept(self, count: int, at: Iterate) -> None:
        """Return the first of the pending members, and see what that has cost."""
        value, excess = self.at.value, float(self._excess()[:count].sum())
        self.members[self.pending[:count]] = False
        self.pending = self.pending[count:]
        self.at = at
        self._settle()
        if excess > 0.0:
            self._price = max(value - self.at.value, 0.0) / excess

    def _settle(self) -> None:
        """The relaxation for the members at hand, as sharp as the room above the threshold asks for."""
        self.at = self.solver.settle(Group(self.members, self.most), self.at, self.cutoff)
        self.pending = self.pending[np.argsort(self.at.bound.gain[self.pending], kind="stable")]

    def _excess(self) -> FloatArray:
        """By how much the correlation of each pending member exceeds that of what is used, as costs grow with it."""
        problem = self.solver.problem
        strength = np.sqrt(np.maximum(self.at.bound.gain + problem.mu, 0.0))
        others = strength[self._free & ~self.members]
        last = others.size - (problem.k - problem.include.size)
        used = float(np.partition(others, last)[last]) if 0 <= last < others.size else 0.0
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray(np.maximum(strength[self.pending] / max(used, 1e-300) - 1.0, 0.0) ** _GROWTH_OF_COST)

    def _affordable(self) -> int:
        """How many pending members should be able to return together; at least one."""
        room = _SPENT * (self.at.bound.value - self.cutoff)
        with np.errstate(invalid="ignore", over="ignore"):
            costs = self._price * np.cumsum(self._excess())
        return min(max(int(np.searchsorted(costs, room, side="right")), 1), self._limit)

    def _returned_by_point(self) -> tuple[int, Bound]:
        """How many of the pending members can return by the dual point at hand, and its bound then."""
        problem, bound = self.solver.problem, self.at.bound
        low, high, best = 0, self.pending.size + 1, bound
        while high - low > 1:
            middle = (low + high) // 2
            trial = regrouped(problem, self._without(self.pending[:middle]), bound)
            if trial.value > self.cutoff:
                low, best = middle, trial
            else:
                high = middle
        return low, best

    def _drop_blocked(self) -> None:
        """Of the pending members that come next, those stay in the core that a few steps show to be needed."""
        while self.most == 0 and self.pending.size:
            some = self.pending[: min(_LOOKED_AT, max(self.solver.most_columns // _COPIES, 1))]
            needed = self.solver.blocked(some, self.at, self.cutoff)
            self.pending = np.concatenate((some[~needed], self.pending[some.size :]))
            if not needed.all():
                return


def importance(problem: Problem, members: BoolArray, bound: Bound) -> tuple[IndexArray, FloatArray]:
    """The members of a core, those that gain most where they are avoided first, and their gains."""
    features = np.flatnonzero(members)
    order = features[np.argsort(-bound.gain[features], kind="stable")]
    return order, bound.gain[order] + problem.mu
