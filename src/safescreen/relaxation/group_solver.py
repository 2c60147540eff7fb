"""The relaxation of all models that use at most a few features of a group: none of them, or one, two, ...

If none may be used, the group is out, and it is the ordinary relaxation of what is left. Otherwise the group has a
budget of its own, which the compiled solver does not know. For fixed shares of it, ``z_j = π_j``, a feature of the
group costs ``x_j²/(γ π_j)``: that is a column scaled by ``√π_j`` and fixed in. So shares and coefficients are improved
in turn. That only looks for a good dual point; what it proves is for :func:`safescreen.relaxation.bounds.regrouped`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from safescreen import kernels
from safescreen.arrays import BoolArray, FloatArray, IndexArray
from safescreen.design import Columns
from safescreen.expiry import look_up
from safescreen.kernels import FREE, IN, NEWTON, OUT, Start, Target
from safescreen.kernels.node import make_node
from safescreen.kernels.node_relaxation import Workspace, make_workspace
from safescreen.problem import Problem
from safescreen.relaxation.bounds import Bound, Fixings, Group, group_bound_at
from safescreen.relaxation.group_steps import GroupSteps
from safescreen.relaxation.perspective import Root, dual_of, missing_columns
from safescreen.relaxation.restriction import restricted, restricted_to
from safescreen.tuning import LEAST_BLOCK, LEAST_CAPACITY

SOLVES = 40
"""Blocks, shares and accuracies that are tried for one relaxation, at most."""

FIRST_MEMBERS = 32
"""Features of a group that get a share of its budget to begin with."""

FINEST = 1e-7
"""Relative gap at which a relaxation counts as solved."""

SETTLED = 0.2
"""Gap, as a part of what the bound has above the threshold, at which a relaxation is settled."""

ROOM = 3
"""Working sets have room for so many times as many columns as are in use: fewer columns a step against more steps."""


@dataclass(frozen=True)
class Iterate:
    """Where a relaxation stands, in the units of the (standardised) matrix."""

    value: float  # of the relaxation, at these coefficients
    bound: Bound
    x: FloatArray
    b: float
    level: float
    shares: FloatArray  # π: of the group's own budget, one per feature; zeros if the group is out


class GroupSolver:
    """Relaxations for one group after another, each from where an earlier one ended."""

    def __init__(self, problem: Problem, root: Root) -> None:
        self.problem = problem
        self._given = Fixings.given(problem)
        self._most = max(problem.design.columns_at_a_time, problem.include.size + LEAST_BLOCK)
        columns = np.union1d(np.flatnonzero(root.x), problem.include)
        self._block = _Block(problem, columns)

    @property
    def most_columns(self) -> int:
        """How many columns there is room for at a time."""
        return self._most

    def take_in(self, columns: IndexArray, start: Iterate) -> None:
        """Have these columns at hand, since they will be asked about; those at hand stay as long as there is room."""
        missing = columns[~np.isin(columns, self._block.columns)]
        if missing.size:
            self._enlarge(missing, start.x)

    def solve(self, group: Group, start: Iterate, cutoff: float, patience: float) -> Iterate:
        """Relax until the bound is above ``cutoff``, or the value is below it by so much that this cannot happen.

        ``patience`` is the share of what the bound lacks that the gap may have then: large to stop at once.
        """

        def decided(value: float, bound: float) -> bool:
            return bound > cutoff or (value < cutoff and value - bound <= patience * (cutoff - bound))

        goal = Target(np.inf, 0.0, 0.0)
        if not group.most:
            goal = goal._replace(cutoff=cutoff * (1.0 + FINEST), patience=patience)
        return self._relaxed(group, start, goal, decided)

    def settle(self, group: Group, start: Iterate, cutoff: float) -> Iterate:
        """Relax until the gap is a small part of what the bound has above ``cutoff``; ``start`` if it stays below."""

        def settled(value: float, bound: float) -> bool:
            return value - bound <= max(SETTLED * (bound - cutoff), FINEST * value)

        at = self._relaxed(group, start, Target(np.inf, 0.0, 0.0), settled)
        return at if at.bound.value > cutoff else start

    def _relaxed(self, group: Group, start: Iterate, goal: Target, enough: Callable[[float, float], bool]) -> Iterate:
        """Relax ever more sharply, with the columns that turn out to matter, until value and bound are good enough."""
        problem, x, b, level, shares = self.problem, start.x.copy(), start.b, start.level, start.shares
        shares = self._first_shares(group, start) if group.most else np.zeros(problem.n_features)
        x[group.members & (shares == 0.0)] = 0.0
        level = level if x.any() else 0.0  # at a level for others no column might ever be missing
        best, tolerance = None, 1e-3
        for _ in range(SOLVES):
            look_up()
            target = goal._replace(tolerance=0.5 * tolerance)
            value, alpha, b, level = self._block.solve(group, shares, x, (b, level), target)
            bound = group_bound_at(problem, group, dual_of(problem, alpha))
            best = bound if best is None or bound.value > best.value else best
            if enough(value, best.value):
                break
            missing = self._missing(group, bound, level)
            if missing.size:
                self._enlarge(missing, x)
                continue
            moved = self._improve(group, shares, x, bound) if group.most else False
            if moved:
                continue
            if tolerance <= FINEST:
                break
            tolerance = max(0.05 * tolerance, FINEST)
        assert best is not None, "every solve takes a bound"
        return Iterate(value, best, x, b, level, shares)

    def blocked(self, members: IndexArray, at: Iterate, cutoff: float) -> BoolArray:
        """Which features of a group that is out would, each alone, take the relaxation below ``cutoff`` once returned.

        A feature that is not blocked by this may be blocked all the same.
        """
        used = np.flatnonzero((at.x != 0.0) | self.problem.included)
        rows, included = self._block.rows(used), self.problem.included[used]
        steps = GroupSteps(self.problem, rows, at.x[used], included, at.b, at.level)
        return steps.reach(self.problem.design.dense_columns(members).block, at.value - cutoff)

    def _missing(self, group: Group, bound: Bound, level: float) -> IndexArray:
        """Columns outside of the block that matter; those of the group only if it may be used."""
        out = self._given.excluded | (group.members & ~self._given.included)
        return missing_columns(self.problem, Fixings(self._given.included, out), self._block.columns, bound, level)

    def _enlarge(self, missing: IndexArray, x: FloatArray) -> None:
        """Take columns into the block; where there is no room, columns that are not used make it."""
        columns = np.union1d(self._block.columns, missing)
        if columns.size > self._most:
            columns = np.union1d(np.union1d(np.flatnonzero(x), self.problem.include), missing)
        self._block = _Block(self.problem, columns)

    def _first_shares(self, group: Group, start: Iterate) -> FloatArray:
        """Shares to begin with: by what the features of the group gain at the point before."""
        free = group.members & self._given.free
        size = np.where(free, np.abs(start.bound.correlation), 0.0)
        strong = np.flatnonzero(size)
        count = min(strong.size, max(8 * group.most, FIRST_MEMBERS))
        strong = strong[np.argsort(-size[strong], kind="stable")[:count]]
        known = np.where(free, start.shares, 0.0)
        wanted = np.zeros(size.size)
        wanted[strong] = size[strong] / max(float(size[strong].max(initial=0.0)), 1e-300)
        self.take_in(strong, start)
        mixed = known + (0.05 if known.any() else 1.0) * wanted
        return filled(mixed, float(group.most))

    def _improve(self, group: Group, shares: FloatArray, x: FloatArray, bound: Bound) -> bool:
        """Better shares for these coefficients, and a little for features that lack one; whether that changes much."""
        free = group.members & self._given.free
        size = np.where(free, np.abs(x), 0.0)
        lowest = np.sqrt(self.problem.gamma * self.problem.mu)
        better = filled(size, float(group.most))
        if lowest > 0.0:
            better = np.minimum(better, np.where(size > 0.0, np.maximum(size / lowest, 1e-9), 0.0))
        chosen = np.flatnonzero(better > 0.01)
        least = float(bound.gain[chosen].min()) if chosen.size else 0.0
        lacking = np.flatnonzero(free & (bound.gain > max(least, 0.0)) & (better <= 0.01))
        lacking = lacking[np.argsort(-bound.gain[lacking], kind="stable")[:FIRST_MEMBERS]]
        new = lacking[shares[lacking] <= 0.0]
        if new.size:
            self.take_in(new, Iterate(0.0, bound, x, 0.0, 0.0, shares))
            better[new] = 0.05
            better = filled(better, float(group.most))
        change = float(np.abs(better - shares).max(initial=0.0))
        shares[:] = better
        x[group.members & (shares == 0.0)] = 0.0
        return change > 1e-3


def filled(size: FloatArray, budget: float) -> FloatArray:
    """Shares of a budget in proportion to these sizes, none above 1: ``min(1, size / τ)`` that adds up to it."""
    order = np.argsort(-size, kind="stable")
    ordered = size[order]
    rest = np.cumsum(ordered[::-1])[::-1]
    for full in range(int(budget) + 1):
        if full >= ordered.size or budget - full <= 0.0:
            break
        level = rest[full] / (budget - full)
        if ordered[full] <= level:
            return np.minimum(size / level, 1.0) if level > 0.0 else np.zeros(size.size)
    return np.minimum(np.where(size > 0.0, 1.0, 0.0), 1.0)


class _Block:
    """The columns at hand, gathered once, and the compiled solver's work space for them."""

    def __init__(self, problem: Problem, columns: IndexArray) -> None:
        self.problem = problem
        self.columns = columns
        self._subproblem = restricted(problem, columns)
        self._node = make_node(columns.size, problem.n_samples, np.ones(columns.size))
        self._workspace = make_workspace(columns.size, problem.weights, 0)

    def rows(self, columns: IndexArray) -> FloatArray:
        """Some of these columns, as rows."""
        return self._subproblem.columns.block[np.searchsorted(self.columns, columns)]

    def predictor(self, x: FloatArray) -> FloatArray:
        """``A x``, for coefficients of these columns."""
        return np.asarray(x[self.columns] @ self._subproblem.columns.block)

    def solve(
        self, group: Group, shares: FloatArray, x: FloatArray, start: tuple[float, float], target: Target
    ) -> tuple[float, FloatArray, float, float]:
        """Solve over the block from the iterate in ``x``, which is updated in place.

        ``start`` holds intercept and level; the result is the value, the best dual point, intercept and level.
        """
        problem, node, subproblem = self.problem, self._node, self._subproblem
        share = shares[self.columns]
        used = share > 0.0
        node.status[:] = np.where(group.members[self.columns], OUT, FREE)
        node.status[used | problem.included[self.columns]] = IN
        scale, free_price = np.where(used, np.sqrt(share), 1.0), 0.0
        if used.any():
            columns = subproblem.columns
            scaled = Columns.all_dense(columns.block * scale[:, None], problem.design.block_error[self.columns])
            budget = problem.k - group.most + int(np.count_nonzero(used))
            subproblem = restricted_to(problem, scaled)._replace(k=budget)
            free_price = problem.mu * float((1.0 - share[used]).sum())
        b, level = start
        node.x[:] = np.where(node.status != OUT, x[self.columns] / scale, 0.0)
        node.u[:] = node.x @ subproblem.columns.block + b
        level = max(level, float(np.sqrt(subproblem.gamma * subproblem.mu)))
        workspace = self._room_for(int(np.count_nonzero((node.x != 0.0) | (node.status == IN))))
        relaxed = kernels.relax(subproblem, node, workspace, Start(level, b, NEWTON), target)
        x[self.columns] = node.x * scale
        return relaxed.primal - free_price, node.best_alpha, relaxed.intercept, relaxed.level

    def _room_for(self, used: int) -> Workspace:
        """Room for working sets, which hold no matrix between two relaxations: those with exact Hessians need none.

        Far from a solution, most columns would be in them. The strongest ones do.
        """
        capacity = min(max(LEAST_CAPACITY, ROOM * used), self.columns.size)
        if self._workspace.quadratic.x.size <= capacity:
            self._workspace = make_workspace(self.columns.size, self.problem.weights, capacity)
        return self._workspace
