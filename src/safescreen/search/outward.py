"""Outward from the best model: which order a search explores in, and how many exchanges it has covered.

Where the gap is wide for long, most of the tree will never be explored. Then some of the rounds go outward: they
explore the layers of models that exchange one feature of the best one, two, and so on, so that a limit leaves a
sentence about all models near it. The other rounds raise the lower bound as ever. A better model begins its own layers;
what is closed stays closed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from safescreen.arrays import FloatArray, IndexArray
from safescreen.incumbents import Incumbent
from safescreen.kernels.open_nodes import count_waiting
from safescreen.kernels.outward import BEST_BOUND_FIRST, Order, layers_of, outward_from
from safescreen.search.crew import Crew, Rest
from safescreen.tuning import (
    EARLY_OUTWARD_SHARE,
    FIRST_OUTWARD_ROUNDS,
    LATE_OUTWARD_GAP,
    LATE_OUTWARD_ROUNDS,
    OUTWARD_GAP,
    OUTWARD_ROUNDS,
    OUTWARD_SHARE,
    ROUNDS_OF_A_CREW,
    STINT_SHARE,
)


class Opened(NamedTuple):
    """Open nodes, each in a row of arrays as `OpenNodes` have them."""

    rows: npt.NDArray[np.integer]
    bound: FloatArray
    bits: npt.NDArray[np.uint8]
    inside: npt.NDArray[np.integer]


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
        self._begun_at: IndexArray | None = None  # the model that it begins with
        self._in_tree = 0  # exchanges of that model which are covered by the tree of the search
        self._support: IndexArray | None = None  # of the model of which so many are covered, by whatever tree
        self._covered = 0
        self._rounds, self._outward_rounds, self._stint = 0, 0, 0  # since outward rounds began
        self._since = 0  # the model at hand is the best one
        self._waited, self._begins, self._goes_outward = 0, False, False

    def proved(self, model: Incumbent) -> int:
        """How many exchanged features of this model are covered, by the latest reports."""
        return self._covered if _is(self._support, model) else 0

    def is_due(self, crew: Crew, gap: float) -> bool:
        """Once a round: whether it is time to go outward, for the first time."""
        if self._order.number > 0:
            return False
        self._waited += 1
        waited = self._waited if crew.size == 1 else self._waited / ROUNDS_OF_A_CREW
        soon = is_wide(gap) and waited > OUTWARD_ROUNDS
        self._begins = soon or (gap > LATE_OUTWARD_GAP and waited > LATE_OUTWARD_ROUNDS)
        return self._begins

    def begin(self) -> None:
        """Go outward from the next round on."""
        self._begins = True

    def is_uncovered(self, model: Incumbent) -> bool:
        """Whether it is time to go outward, and not even one exchange of this model is covered."""
        return self._begins and not self.proved(model)

    def is_next_door(self, model: Incumbent) -> bool:
        """Whether the rounds at hand are all for the first exchange of this model."""
        first = self._since < FIRST_OUTWARD_ROUNDS or not _is(self._begun_at, model)
        return first and self.is_uncovered(model)

    def order_from(self, model: Incumbent, columns: IndexArray) -> Order:
        """The order outward from this model, for a tree of its own."""
        return outward_from(1, _positions(model, columns), self._places, model.objective)

    def steer(self, crew: Crew, model: Incumbent) -> None:
        """Have the next round explored in the order that is due."""
        if not self._begins:
            return
        if not _is(self._begun_at, model):
            self._begin(crew, model)
        self._choose()
        crew.arrange(self._order if self._goes_outward else BEST_BOUND_FIRST)

    def look(self, crew: Crew, model: Incumbent) -> None:
        """Note which layers are explored, after a round."""
        if self._goes_outward and _is(self._begun_at, model):
            layer = crew.first_layer(self._order, self.cutoff(model))
            self._in_tree = max(self._in_tree, int(min(layer - 1.0, model.support.size)))
            self.take(layer, model)

    def settle(self, closed_bound: float, opened: Iterable[Opened], columns: IndexArray, model: Incumbent) -> None:
        """Note what a tree at rest proves, whatever the order of its nodes; features are positions in ``columns``.

        If anything was closed below the cutoff, as rounding may make it, nobody knows in which layer that was.
        """
        cutoff, positions = self.cutoff(model), _positions(model, columns)
        layers = (first_layer_below(cutoff, nodes, positions, self._places) for nodes in opened)
        self.take(min(layers, default=np.inf) if closed_bound >= cutoff else 0.0, model)

    def take(self, layer: float, model: Incumbent) -> None:
        """Note that below the cutoff this is the first layer with anything open."""
        self._covered = max(self.proved(model), int(min(layer - 1.0, model.support.size)), 0)
        self._support = model.support

    def cutoff(self, model: Incumbent) -> float:
        """What has no smaller bound counts as covered."""
        return model.objective - self._rel_gap * model.objective

    def _begin(self, crew: Crew, model: Incumbent) -> None:
        """Go outward from this model."""
        positions = _positions(model, crew.columns)
        self._order = outward_from(self._order.number + 1, positions, self._places, model.objective)
        self._covered = self.proved(model)
        self._begun_at = self._support = model.support
        self._in_tree, self._since = 0, 0

    def _choose(self) -> None:
        """Whether the next round goes outward: a model's first ones do, until one exchange is covered, then a share.

        It is a larger one until two exchanges are covered.

        Rounds of one kind follow each other for longer and longer, since putting nodes in another order takes time.
        """
        if not self._in_tree and self._since < FIRST_OUTWARD_ROUNDS:
            self._goes_outward, self._stint = True, self._rounds
        elif self._rounds >= self._stint:
            share = OUTWARD_SHARE if self._in_tree > 1 else EARLY_OUTWARD_SHARE
            self._goes_outward = self._outward_rounds < share * self._rounds
            part = share if self._goes_outward else 1.0 - share
            self._stint = self._rounds + 1 + int(STINT_SHARE * part * self._rounds)
        self._rounds += 1
        self._since += 1
        self._outward_rounds += self._goes_outward


def _is(support: IndexArray | None, model: Incumbent) -> bool:
    return support is not None and np.array_equal(support, model.support)


def is_wide(gap: float) -> bool:
    """Whether a search goes outward at once."""
    return gap > OUTWARD_GAP


def first_layer_below(cutoff: float, opened: Opened, model: IndexArray, places: int) -> float:
    """The first layer with an open node below the cutoff, infinite if there is none."""
    below = opened.rows[~(opened.bound[opened.rows] >= cutoff)]
    layers = layers_of(opened.bits[below[:, None], model >> 2], opened.inside[below], model, places)
    return float(layers.min()) if below.size else np.inf


def opened_in(rest: Rest) -> Iterator[Opened]:
    """The open nodes of a tree at rest."""
    for nodes in rest.open_sets:
        yield Opened(nodes.heap[: count_waiting(nodes)], nodes.bound, nodes.bits, nodes.inside)


def _positions(model: Incumbent, columns: IndexArray) -> IndexArray:
    """Where the features of the model are among the columns of a search."""
    return np.flatnonzero(np.isin(columns, model.support))
