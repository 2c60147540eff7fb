"""The search where the columns that survive at the root are too many to be held.

It asks the matrix for passes that serve many nodes, and for few columns. Once better models let the root decide so many
features that the others can be held, the compiled tree takes over.
"""

from __future__ import annotations

import numpy as np

from safescreen.expiry import ExpiredError
from safescreen.incumbents import Incumbent, polish_in_time
from safescreen.kernels.goals import cutoff
from safescreen.problem import Problem
from safescreen.relaxation import Fixings, Root, trivial_bound
from safescreen.screening import decide, flipped
from safescreen.search.branch_and_bound import Search
from safescreen.search.proof_writer import ProofWriter
from safescreen.search.room import Room
from safescreen.search.settings import Settings
from safescreen.search.solution import relative_gap
from safescreen.search.watch import Watch
from safescreen.search.wide_proof import TreeRecorder
from safescreen.search.wide_tree import WideOrders, WideTree
from safescreen.search.workers import hopeless, room_for
from safescreen.status import Status
from safescreen.tuning import COLUMNS_PART, LEAST_WARM_START, LOCAL_PART, WIDE_BATCH, WIDE_COLUMNS
from safescreen.working_memory import allowed, sharing


def make_search(
    problem: Problem, root: Root, incumbent: Incumbent, watch: Watch, proof: ProofWriter | None = None
) -> Search:
    """The search that suits the columns which the root leaves; there may be none to make."""
    done = relative_gap(incumbent.objective, root.bound.value) <= watch.settings.rel_gap
    if problem.design.readable_in_place or done or _has_room(problem, root, incumbent, watch.settings):
        return Search(problem, root, incumbent, watch, proof)
    return WideSearch(problem, root, incumbent, watch, proof)


def _has_room(problem: Problem, root: Root, incumbent: Incumbent, settings: Settings) -> bool:
    """Whether an ordinary search could hold what the root leaves it with this model."""
    left = Fixings.given(problem)
    if settings.screening != "none":
        left = decide(root.bound, left, incumbent.objective)
    columns = int(np.count_nonzero(~left.excluded))
    slots = room_for(problem, root, columns, settings.n_threads, LEAST_WARM_START).slots
    return problem.design.has_room_for(columns, slots)


class WideSearch(Search):
    """The search for the best model, driven from here as long as its columns cannot be held.

    Attributes
    ----------
    passes : int
        Passes over the matrix that bounded nodes.
    """

    can_be_kept = False

    def __init__(
        self, problem: Problem, root: Root, incumbent: Incumbent, watch: Watch, proof: ProofWriter | None = None
    ) -> None:
        super().__init__(problem, root, incumbent, watch, proof)
        self.passes = 0
        self._tree: WideTree | None = None
        self._screen_by_root()

    @property
    def nodes(self) -> int:
        """Nodes explored."""
        return super().nodes + (0 if self._tree is None else self._tree.nodes)

    @property
    def open_nodes(self) -> int:
        """Nodes waiting."""
        return super().open_nodes if self._tree is None else self._tree.open_nodes

    def _search_tree(self) -> Status | None:
        """Rounds of exploration until a limit is hit, which is returned, or nothing is left to explore."""
        self._tree = tree = self._plant()
        while tree.open_nodes:
            before = self.incumbent.objective
            try:
                self._explore_wide(tree)
            except ExpiredError:
                return self.watch.limit(self.nodes) or Status.INTERRUPTED
            status = self._look_up()
            if status is not None:
                return None if status is Status.OPTIMAL else status
            if self.incumbent.objective < before:
                self._screen_by_root()
                tree.apply(self._fixings, self._cut_off)
                if _has_room(self.problem, self.root, self.incumbent, self.settings) and self._begin_again():
                    return super()._search_tree()
        return None

    def _plant(self) -> WideTree:
        """A tree with its root node, as large as memory allows."""
        problem, available = self.problem, allowed(self.problem.design.nbytes)
        open_bytes = int((1.0 - COLUMNS_PART - LOCAL_PART) * available)
        orders = WideOrders(self._orders.goal, self.settings.screening == "nodes", WIDE_BATCH, open_bytes)
        room = _room(problem, self.root, self.settings.n_threads)
        tree = WideTree(problem, self.root, room, orders, TreeRecorder(self.proof))
        tree.apply(self._fixings, self._cut_off)
        columns = np.flatnonzero(~self._fixings.excluded)
        tree.give_up_on(columns[hopeless(problem, columns, self.incumbent.objective)])
        return tree

    def _explore_wide(self, tree: WideTree) -> None:
        """One round of the tree; better models and the new lower bound after it."""
        limit = self.settings.node_limit
        most = tree.open_nodes if limit is None else limit - self.nodes
        try:
            tree.explore(self.incumbent.objective, most)
        finally:
            self.passes = tree.passes
            self.lower_bound = max(self.lower_bound, min(tree.lower_bound, self.incumbent.objective))
        with sharing(LOCAL_PART):
            for _, support in tree.found:
                found = polish_in_time(self.problem, support, self.incumbent.x, self.incumbent.b)
                self._adopt(found or self.incumbent)
            tree.found.clear()
            if self.improver.is_due(self.incumbent, self._gap(), self.nodes):
                self._adopt(self.improver.next_door(self.incumbent, self.nodes))
            if self.improver.may_perturb(self._gap(), self.nodes):
                self._adopt(self.improver.perturbed(self.incumbent, self.nodes))
        self.lower_bound = min(self.lower_bound, self.incumbent.objective)

    def _screen_by_root(self) -> None:
        """What the root's dual point decides against the best model by now."""
        given = self._fixings = Fixings.given(self.problem)
        self._cut_off = np.inf
        if self.settings.screening == "none":
            return
        limit = cutoff(self._orders.goal, self.incumbent.objective)
        self._fixings = decide(self.root.bound, given, limit)
        included = np.flatnonzero(self._fixings.included & ~given.included)
        excluded = np.flatnonzero(self._fixings.excluded & ~given.excluded)
        _, raised = flipped(self.root.bound, given)
        self._cut_off = float(min(raised[included].min(initial=np.inf), raised[excluded].min(initial=np.inf)))
        self.screened = np.concatenate([included + 1, -1 - excluded])

    def _begin_again(self) -> bool:
        """Drop the tree for an ordinary one; whether that is possible.

        What it has proved stays true; but a proof holds one tree, and says no more than that one does.
        """
        if self.proof is not None:
            if not self.proof.begin_again():
                return False
            self.lower_bound = max(trivial_bound(self.problem), self.root.bound.value)
        self._dismiss_tree()
        return True

    def _close_tree(self) -> None:
        """Complete the proof of the tree, and dismiss it."""
        if self._tree is not None:
            layer = self._tree.first_layer(self.incumbent.support, self.outward.cutoff(self.incumbent))
            self.outward.take(layer, self.incumbent)
            self._tree.close()
            self._dismiss_tree()
        super()._close_tree()

    def _dismiss_tree(self) -> None:
        """Keep the count of its nodes, and nothing else."""
        self._explored, self._tree = self.nodes, None


def _room(problem: Problem, root: Root, workers: int) -> Room:
    """How many columns are held, for how many solvers: no more of these than leave the room that one would have."""
    most = max(WIDE_COLUMNS, 2 * (min(problem.k, WIDE_COLUMNS) + int(np.count_nonzero(root.x))))
    columns = min(most, problem.n_features)
    alone = room_for(problem, root, columns, 1, LEAST_WARM_START)
    for count in range(workers, 1, -1):
        room = room_for(problem, root, columns, count, LEAST_WARM_START)
        if (room.slots, room.capacity) == (alone.slots, alone.capacity):
            return room
    return alone
