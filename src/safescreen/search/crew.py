"""Who explores the tree: what a search asks of one worker, of threads, or of other computers.

A search (`safescreen.search.tree_search`) knows its crew by this protocol alone. It calls `explore` again and again and
looks, between two calls, at what has been reached. Whether the crew rests between the calls or goes on is its own
affair, so that everything below is a statement about the latest reports: it may be old, but it is true.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import NamedTuple, Protocol

from safescreen.arrays import IndexArray
from safescreen.incumbents import Incumbent
from safescreen.kernels import Orders
from safescreen.kernels.open_nodes import OpenNodes
from safescreen.kernels.outward import Order
from safescreen.search.found import FoundModels
from safescreen.search.next_door import NextDoor


class Rest(NamedTuple):
    """The tree while nobody works on it; whatever is logged of it has been given to the proof."""

    open_sets: list[OpenNodes]  # every open node is in one of them; features are positions in `Crew.columns`
    closed_bound: float  # nothing that was pruned or screened away has a smaller bound
    decided: IndexArray  # what the root's dual point has decided in some node, as ±(feature + 1)


class Crew(Protocol):
    """Explorers, the nodes they have open, and what they found."""

    @property
    def columns(self) -> IndexArray:
        """The columns that the search is about."""

    @property
    def size(self) -> int:
        """How many may explore at the same time."""

    @property
    def nodes(self) -> int:
        """Nodes explored, by the latest reports."""

    @property
    def open_nodes(self) -> int:
        """Nodes waiting, about; zero only if the whole tree is explored, with nothing under way."""

    @property
    def lower_bound(self) -> float:
        """The smallest bound of anything open or closed, by the latest reports: what is found later cannot undo it."""

    @property
    def can_begin_again(self) -> bool:
        """Whether the root node is at hand."""

    def begin_again(self) -> None:
        """Drop all open nodes for the root; only at rest, and only where that is possible."""

    def arrange(self, order: Order) -> None:
        """Take open nodes in this order from now on."""

    def first_layer(self, order: Order, cutoff: float) -> float:
        """The first layer of this order with anything below the cutoff that is open, by the latest reports.

        Infinite if nothing is; 0 where nobody knows, as after another order.
        """

    def next_door(self, order: Order, model: Incumbent) -> NextDoor | None:
        """A tree of its own that goes outward from this model; None where there is but the tree they explore."""

    def explore(self, upper: float, orders: Orders) -> None:
        """Let them explore for a while, some hundredths of a second, and look after them meanwhile.

        ``upper`` is the best objective, or the threshold, that the search knows by now: it is for all of them. An
        explorer's failure is raised here. Returns early when nothing is left or time is up. ``orders.node_limit`` is
        for all of them together, and counts from the first call: between two of them they may go on exploring.
        """

    def collect_model(self, upper: float) -> IndexArray | None:
        """The support of the best model found since the last time, if it is better than ``upper``."""

    def collect_lists(self) -> list[FoundModels]:
        """The models listed since the last time.

        A caller who wants `lower_bound` to cover what is not collected yet asks for that first.
        """

    def at_rest(self) -> AbstractContextManager[Rest]:
        """All explorers are called back and wait until this ends: everything above is exact, nothing is under way."""

    def __enter__(self) -> Crew:
        """Ready to explore."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Everybody is called back, at once if something was raised, and nobody explores any more."""

    def finish(self) -> IndexArray:
        """After that: complete the proof of the tree, with its open nodes; returns `Rest.decided`."""
