"""A search that goes on from where an earlier run had come."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from safescreen.arrays import AnyArray
from safescreen.incumbents import Incumbent
from safescreen.kernels import Goal
from safescreen.kernels.outward import count_inside
from safescreen.problem import Problem
from safescreen.relaxation import Fixings, Root
from safescreen.search.branch_and_bound import Search
from safescreen.search.crew import Crew
from safescreen.search.outward import Opened
from safescreen.search.proof_writer import ProofWriter
from safescreen.search.snapshot import Snapshot, Tree, open_nodes_of
from safescreen.search.watch import Watch
from safescreen.search.workers import Worker, Workshop


class ResumedWorkshop(Workshop):
    """Where workers are made that go on with a tree."""

    def __init__(
        self,
        problem: Problem,
        root: Root,
        tree: Tree,
        upper: float,
        count: int,
        proof: ProofWriter | None,
        goal: Goal,
    ) -> None:
        excluded = np.ones(problem.n_features, np.bool_)
        excluded[tree.columns] = False
        super().__init__(problem, root, Fixings(problem.included, excluded), upper, count, proof, goal)
        self._tree = tree

    def first_worker(self) -> Worker:
        """A worker that holds all open nodes of the tree, and knows of the closed ones."""
        worker, tree = self.worker(0), self._tree
        width, most = worker.open_nodes.feature.shape[1], int(worker.open_nodes.counts["most"][0])
        worker.open_nodes = open_nodes_of(tree.waiting, tree.columns.size, width, most)
        worker.remember(tree.closed_bound)
        return worker


class ResumedSearch(Search):
    """The search for the best model, from a snapshot on.

    Parameters
    ----------
    problem : Problem
        The problem.
    snapshot : Snapshot
        Where the earlier run had come.
    incumbent : Incumbent
        The best model: the snapshot's, or a better one.
    watch : Watch
        Clock and limits.
    proof : ProofWriter, optional
        The proof to write.
    chunks : iterable of dict
        The tree of the proof so far.
    """

    def __init__(
        self,
        problem: Problem,
        snapshot: Snapshot,
        incumbent: Incumbent,
        watch: Watch,
        proof: ProofWriter | None = None,
        chunks: Iterable[dict[str, AnyArray]] = (),
    ) -> None:
        super().__init__(problem, snapshot.root, incumbent, watch, proof)
        self._tree = snapshot.tree
        self._explored, self.trace = snapshot.nodes, list(snapshot.trace)
        self.improver.go_on(snapshot.pace, snapshot.incumbent)
        if proof is not None:
            proof.take_over(chunks)
        if self._tree is not None:
            self.screened = self._tree.screened
            bound = min(float(self._tree.waiting.bound.min(initial=np.inf)), self._tree.closed_bound)
            self.lower_bound = min(max(self.lower_bound, bound), incumbent.objective)
            waiting = self._tree.waiting
            opened = Opened(np.arange(waiting.bound.size), waiting.bound, waiting.bits, count_inside(waiting.bits))
            self.outward.settle(self._tree.closed_bound, [opened], self._tree.columns, incumbent)

    def _prepare(self, upper: float) -> Crew:
        """Set up a crew on the columns and open nodes of the snapshot."""
        tree = self._tree
        if tree is None:
            return super()._prepare(upper)
        threads, goal = self.settings.n_threads, self._orders.goal
        crew = self._gather(ResumedWorkshop(self.problem, self.root, tree, upper, threads, self.proof, goal))
        self._tree = None
        return crew

    def _close_tree(self) -> None:
        """Complete the proof, also where time was up before there was a crew."""
        tree, self._tree = self._tree, None
        if tree is not None:
            self.screened = tree.screened
            if self.proof is not None:
                self.proof.take_open(open_nodes_of(tree.waiting, tree.columns.size, 1, 1), tree.columns)
        super()._close_tree()
