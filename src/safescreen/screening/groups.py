"""Safe screening of groups: a core, without whose features (or with few of them) the relaxation passes a threshold.

Columns of the relaxation move into the core until the bound of models that avoid it passes the threshold. Then as many
as possible return: many at once by the dual point at hand, others by relaxations that stop once they are decided. What
one step shows to take the relaxation below the threshold is not tried. Returning more columns only lowers the bound, so
that a column that could not return once cannot return later: at the end none can.
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

_ROUGHLY = 0.3
"""Patience of one whose columns are to be looked at."""

_SHARE = 3
"""One of so many columns of the relaxation moves into the core at a time."""

_FASTER = 10
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
    """Members of a core on their way back, those that gain least first."""

    def __init__(self, solver: GroupSolver, members: BoolArray, at: Iterate, most: int, cutoff: float) -> None:
        self.solver = solver
        self.members = members.copy()
        self.most = most
        self.cutoff = cutoff
        self.at = at  # the relaxation for the members at hand
        self.pending = np.flatnonzero(members)

    def run(self) -> tuple[BoolArray, Bound]:
        """Return all that can return, and what is left with its bound."""
        size = max(self.pending.size // 4, 1)
        self._settle()
        while self.pending.size:
            size = min(size, self.pending.size)
            some = self.pending[:size]
            tried = self._relaxed(some)
            if tried.bound.value > self.cutoff:
                self._accept(some, tried)
                self._settle()
                size *= 2
            elif size > 1:
                size = max(size // 4, 1)
            else:
                self.pending = self.pending[1:]
        return self.members, self.at.bound

    def _relaxed(self, returned: IndexArray) -> Iterate:
        self.solver.take_in(returned, self.at)
        return self.solver.solve(self._without(returned), self.at, self.cutoff, _AT_ONCE)

    def _without(self, returned: IndexArray) -> Group:
        members = self.members.copy()
        members[returned] = False
        return Group(members, self.most)

    def _accept(self, returned: IndexArray, at: Iterate) -> None:
        self.members[returned] = False
        self.at = at
        self.pending = self.pending[returned.size :]

    def _settle(self) -> None:
        """The relaxation as it is now: what its dual point returns, and what it shows cannot return."""
        while True:
            group = Group(self.members, self.most)
            solved = self.solver.solve(group, self.at, np.inf, 0.0)
            if solved.bound.value > self.cutoff:
                self.at = solved
            self.pending = self.pending[np.argsort(self.at.bound.gain[self.pending], kind="stable")]
            count, bound = self._returned_by_point()
            if count == 0:
                break
            self._accept(self.pending[:count], replace(self.at, bound=bound))
        if self.most == 0:
            self._drop_blocked()

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
        """Pending members that a step shows to be needed stay; a block of columns at a time."""
        kept = []
        piece = max(self.solver.most_columns // 2, 1)
        for start in range(0, self.pending.size, piece):
            some = self.pending[start : start + piece]
            self.solver.take_in(some, self.at)
            kept.append(some[~self.solver.blocked(some, self.at, self.cutoff)])
        self.pending = np.concatenate(kept) if kept else self.pending


def importance(problem: Problem, members: BoolArray, bound: Bound) -> tuple[IndexArray, FloatArray]:
    """The members of a core, those that gain most where they are avoided first, and their gains."""
    features = np.flatnonzero(members)
    order = features[np.argsort(-bound.gain[features], kind="stable")]
    return order, bound.gain[order] + problem.mu
