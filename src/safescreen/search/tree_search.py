"""What every search of the tree does, whatever it looks for: set up a crew, let it explore, and keep the proof."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from safescreen.arrays import IndexArray
from safescreen.kernels import Goal, Orders
from safescreen.problem import Problem
from safescreen.relaxation import Fixings, Root, trivial_bound
from safescreen.screening import decide
from safescreen.search.crew import Crew, Rest
from safescreen.search.lone import LoneWorker
from safescreen.search.proof_writer import ProofWriter
from safescreen.search.solution import TracePoint
from safescreen.search.threads import Threads
from safescreen.search.watch import Watch
from safescreen.search.workers import Workshop
from safescreen.tuning import ALLOWANCE

_NO_LIMIT = 2**62


Recruit = Callable[[Workshop, Watch], Crew]
"""Makes the crew of a search from its workshop."""


def crew_here(workshop: Workshop, watch: Watch) -> Crew:
    """One worker, or as many threads as there is room for."""
    if workshop.most == 1:
        return LoneWorker(workshop.first_worker(), watch.expired)
    return Threads(workshop, watch.expired)


class TreeSearch(ABC):
    """A crew, what the root has decided, and the lower bound of what is still sought."""

    def __init__(self, problem: Problem, root: Root, watch: Watch, proof: ProofWriter | None, goal: Goal) -> None:
        self.problem = problem
        self.root = root
        self.settings = watch.settings
        self.watch = watch
        self.proof = proof
        self.screened: IndexArray = np.empty(0, np.int64)  # what the root's dual point has decided, as ±(feature + 1)
        self.recruit: Recruit = crew_here
        self.crew: Crew | None = None
        self.lower_bound = max(trivial_bound(problem), root.bound.value)  # in this order also of what is no number
        self.trace: list[TracePoint] = []
        self._explored = 0
        self._orders = Orders(goal, self.settings.screening == "nodes", _NO_LIMIT, ALLOWANCE)

    @property
    def nodes(self) -> int:
        """Nodes explored."""
        return self._explored + (self.crew.nodes if self.crew is not None else 0)

    @property
    def open_nodes(self) -> int:
        """Nodes waiting."""
        return self.crew.open_nodes if self.crew is not None else 0

    def _prepare(self, upper: float) -> Crew:
        """Screen at the root against this objective, and set up a crew on what is left."""
        given = fixings = Fixings.given(self.problem)
        if self.settings.screening != "none":
            fixings = decide(self.root.bound, given, upper)
            included = np.flatnonzero(fixings.included & ~given.included)
            excluded = np.flatnonzero(fixings.excluded & ~given.excluded)
            self.screened = np.concatenate([included + 1, -1 - excluded])
        threads = self.settings.n_threads
        return self._gather(Workshop(self.problem, self.root, fixings, upper, threads, self.proof, self._orders.goal))

    def _gather(self, workshop: Workshop) -> Crew:
        """The crew of a workshop."""
        self.crew = self.recruit(workshop, self.watch)
        return self.crew

    def _explore(self, crew: Crew, upper: float) -> None:
        """Let the crew explore for a while."""
        crew.explore(upper, self._orders_now())

    def _orders_now(self) -> Orders:
        """What a crew is to do, within the limit of nodes."""
        limit = self.settings.node_limit
        nodes = _NO_LIMIT if limit is None else max(limit - self._explored, 0)
        return self._orders._replace(node_limit=nodes)

    @contextmanager
    def _at_rest(self, crew: Crew) -> Iterator[Rest]:
        """Nobody explores, whatever was found is taken over, and the lower bound is that of the tree as it is."""
        with crew.at_rest() as rest:
            self._catch_up(crew)
            yield rest

    @abstractmethod
    def _catch_up(self, crew: Crew) -> None:
        """Take over what has been found, and the lower bound."""

    def _close_tree(self) -> None:
        """Complete the proof of the tree, keep what the root has decided in it, and dismiss the crew."""
        if self.crew is not None:
            self.screened = np.union1d(self.screened, self.crew.finish())
            self._explored, self.crew = self.nodes, None
