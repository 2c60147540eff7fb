"""When a search looks for better models, and how much that may cost."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from safescreen.incumbents import Incumbent, improve, perturb_and_improve
from safescreen.problem import Problem
from safescreen.relaxation import Root
from safescreen.search.watch import Watch
from safescreen.tuning import (
    ALLOWANCE,
    FIRST_PERTURBATION,
    FIRST_PERTURBATIONS,
    LOCAL_SEARCH_GAP,
    LOCAL_SEARCH_GROWTH,
    LOCAL_SEARCH_NODES,
    LOCAL_SEARCH_ROOM,
    LONG_SEARCH_NODES,
    PERTURBATION_GAP,
    PERTURBATION_SHARE,
)


class Pace(NamedTuple):
    """When a search looks for better models, for one that goes on later."""

    next_look: int  # from so many nodes on
    rounds: int  # so far
    work: int  # spent on perturbed starts
    has_looked: bool  # next door to the best model


class Improver:
    """Local searches around a branch and bound: from new models, next door to the best, and from perturbed ones.

    Parameters
    ----------
    problem, root, watch
        Those of the search.
    called_off : callable
        Asked now and then by a local search: whether nobody waits for more than it has found.
    """

    def __init__(
        self, problem: Problem, root: Root, watch: Watch, called_off: Callable[[], bool] = lambda: False
    ) -> None:
        self.problem, self.root, self.watch = problem, root, watch
        self._called_off = called_off
        self._next_look = LONG_SEARCH_NODES
        self._looked_at: Incumbent | None = None
        self._rounds, self._work = 0, 0

    def pace(self, model: Incumbent) -> Pace:
        """Where it stands, given the best model."""
        return Pace(int(self._next_look), self._rounds, int(self._work), model is self._looked_at)

    def go_on(self, pace: Pace, model: Incumbent) -> None:
        """Go on at this pace, with other random numbers than before."""
        self._next_look, self._rounds, self._work, has_looked = pace
        self._looked_at = model if has_looked else None
        self._rng = np.random.default_rng(self._rounds)

    @cached_property
    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(0)

    def has_room(self, model: Incumbent, lower_bound: float) -> bool:
        """Whether the gap of a new model is wide enough for a look around it."""
        return model.objective - lower_bound > LOCAL_SEARCH_GAP * model.objective

    def from_new(self, model: Incumbent, nodes: int) -> Incumbent:
        """A model the tree has found, improved."""
        return improve(self.problem, model, self.root, self._is_over(nodes))

    def _is_over(self, nodes: int) -> Callable[[], bool]:
        """Asked now and then by a local search: whether the whole search has reached a limit by now, or goes on."""
        return lambda: self._called_off() or self.watch.limit(nodes) is not None

    def is_due(self, model: Incumbent, gap: float, nodes: int) -> bool:
        """Whether a long search should look next door, which it does ever more rarely."""
        return nodes >= self._next_look and gap > LOCAL_SEARCH_ROOM and model is not self._looked_at

    def is_worthwhile_at_last(self, model: Incumbent, gap: float, nodes: int) -> bool:
        """Whether a finished search should."""
        return nodes > LOCAL_SEARCH_NODES and gap > LOCAL_SEARCH_ROOM and model is not self._looked_at

    def next_door(self, model: Incumbent, nodes: int, waiting: int = 1) -> Incumbent:
        """The best model next door to this one: within the gap there may be a better one.

        If so many explorers wait for the end of it, it makes do with so much less.
        """
        self._next_look = LOCAL_SEARCH_GROWTH * nodes
        refits = min(nodes / 2, 100 + nodes / 20) / waiting
        hard = nodes >= LONG_SEARCH_NODES
        self._looked_at = improve(self.problem, model, self.root, self._is_over(nodes), refits=refits, hard=hard)
        return self._looked_at

    def may_perturb(self, gap: float, nodes: int, explorers: int = 1) -> bool:
        """Once a round: whether a perturbed start is affordable, and the gap wide enough to want one.

        So many explorers worked in the round.
        """
        self._rounds += explorers
        return self._affordable() > 0.0 and gap > PERTURBATION_GAP and self.watch.limit(nodes) is None

    def _affordable(self) -> float:
        """The work that perturbed starts may still do by now: a share of all, of which a part comes early."""
        rounds = self._rounds - FIRST_PERTURBATION
        return (FIRST_PERTURBATIONS + PERTURBATION_SHARE * rounds) * ALLOWANCE - self._work if rounds > 0 else 0.0

    def perturbed(self, model: Incumbent, nodes: int) -> Incumbent:
        """The best model found from one with about half of its features forgotten, at the second try if need be."""
        over = self._is_over(nodes)
        for _ in range(2):
            found, work = perturb_and_improve(self.problem, model, self.root, over, self._rng)
            self._work += work
            if found is not model or over() or self._affordable() <= 0.0:
                break
        return found
