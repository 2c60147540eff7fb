"""Outward from the best model: which order a search explores in, and how many exchanges it has covered.

Where the gap is wide for long, most of the tree will never be explored. Then some of the rounds go outward: they explore
the layers of models that exchange one feature of the best one, two, and so on, so that a limit leaves a sentence about
all models near it. The other rounds raise the lower bound as ever. A better model begins its own layers; what is
closed stays closed.
"""

from __future__ import annotations

import numpy as np

from safescreen.arrays import IndexArray
from safescreen.incumbents import Incumbent
from safescreen.kernels.open_nodes import OpenNodes
from safescreen.kernels.outward import BEST_BOUND_FIRST, Order, layers_of, outward_from
from safescreen.search.crew import Crew, Rest
from safescreen.search.solution import relative_gap
from safescreen.tuning import FIRST_OUTWARD_ROUNDS, OUTWARD_GAP, OUTWARD_NODES, OUTWARD_SHARE, STINT_SHARE


class Outward:
    """The order of each round, and what is proved around the best model.

    Parameters
    ----------
    places : int
        Features that a model may have.
    rel_gap : float
        No model counts as better that is so by no more than this.
    """

    def __init__(self, places: int, rel_gap: float) -> None:
        self._places, self._rel_gap = places, rel_gap
        self._order = BEST_BOUND_FIRST  # of the rounds that go outward, once there are any
        self._support: IndexArray | None = None  # of the model that this is about
        self._covered = 0
        self._rounds, self._outward_rounds, self._stint = 0, 0, 0  # since outward rounds began
        self._goes_outward = False

    def proved(self, model: Incumbent) -> int:
        """How many exchanged features of this model are covered, by the latest reports."""
        return self._covered if self._is_about(model) else 0

    def steer(self, crew: Crew, model: Incumbent, gap: float) -> None:
        """Have the next round explored in the order that is due."""
        if self._order.number == 0 and not (gap > OUTWARD_GAP and crew.nodes >= OUTWARD_NODES):
            return
        if not self._is_about(model):
            self._begin(crew, model)
        self._choose()
        crew.arrange(self._order if self._goes_outward else BEST_BOUND_FIRST)

    def look(self, crew: Crew, model: Incumbent) -> None:
        """Note which layers are explored, after a round."""
        if self._goes_outward and self._is_about(model):
            self._cover(crew.first_layer(self._order, self._cutoff(model)), model)

    def settle(self, rest: Rest, columns: IndexArray, model: Incumbent) -> None:
        """Note what a tree at rest proves, whatever the order of its nodes."""
        if not self._is_about(model):
            self._support, self._covered = model.support, 0
        self._cover(first_open_layer(rest, _positions(model, columns), self._places, self._cutoff(model)), model)

    def _is_about(self, model: Incumbent) -> bool:
        return self._support is not None and np.array_equal(self._support, model.support)

    def _cutoff(self, model: Incumbent) -> float:
        """The least bound of what counts as covered."""
        return model.objective - self._rel_gap * model.objective

    def _begin(self, crew: Crew, model: Incumbent) -> None:
        """Go outward from this model."""
        positions = _positions(model, crew.columns)
        self._order = outward_from(self._order.number + 1, positions, self._places, model.objective)
        self._support, self._covered = model.support, 0

    def _choose(self) -> None:
        """Whether the next round goes outward: at first until one exchange is covered, then a share of all rounds.

        Rounds of one kind follow each other for longer and longer, since putting nodes in another order takes time.
        """
        if self._rounds >= self._stint:
            behind = self._outward_rounds < OUTWARD_SHARE * self._rounds
            early = self._covered == 0 and self._rounds < FIRST_OUTWARD_ROUNDS
            self._goes_outward = early or behind
            share = OUTWARD_SHARE if self._goes_outward else 1.0 - OUTWARD_SHARE
            self._stint = self._rounds + 1 + int(STINT_SHARE * share * self._rounds)
        self._rounds += 1
        self._outward_rounds += self._goes_outward

    def _cover(self, layer: float, model: Incumbent) -> None:
        """All layers before this one are explored: of the exchanges so proved, the model itself is the first layer."""
        self._covered = max(self._covered, int(min(layer - 1.0, model.support.size)), 0)


def first_open_layer(rest: Rest, model: IndexArray, places: int, cutoff: float) -> float:
    """The first layer with an open node below the cutoff, infinite if there is none.

    If anything was closed with a smaller bound, as rounding may make it, nobody knows where it was: then it is 0.
    """
    if not rest.closed_bound >= cutoff:
        return 0.0
    return min((first_layer_below(nodes, model, places, cutoff) for nodes in rest.open_sets), default=np.inf)


def first_layer_below(nodes: OpenNodes, model: IndexArray, places: int, cutoff: float) -> float:
    """The same of a set of open nodes."""
    waiting = nodes.heap[: int(nodes.counts["waiting"][0])]
    below = waiting[~(nodes.bound[waiting] >= cutoff)]
    return float(layers_of(nodes.bits[below], model, places).min()) if below.size else np.inf


def _positions(model: Incumbent, columns: IndexArray) -> IndexArray:
    """Where the features of the model are among the columns of a search."""
    return np.flatnonzero(np.isin(columns, model.support))
