"""A crew of one: it takes the same path every time, and rests whenever it is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from types import TracebackType

from safescreen import expiry
from safescreen.arrays import IndexArray
from safescreen.incumbents import Incumbent
from safescreen.kernels import Orders
from safescreen.kernels.open_nodes import arrange
from safescreen.kernels.outward import Order
from safescreen.kernels.patience import attend
from safescreen.search.crew import Rest
from safescreen.search.found import FoundModels
from safescreen.search.next_door import NextDoor
from safescreen.search.workers import Worker


class LoneWorker:
    """One worker, called from the thread of the search.

    Parameters
    ----------
    worker : Worker
        Who holds the root node.
    expired : callable
        Whether time is up: asked while a node is relaxed that may take long.
    """

    size = 1

    def __init__(self, worker: Worker, expired: Callable[[], bool]) -> None:
        self._worker, self._expired = worker, expired

    @property
    def columns(self) -> IndexArray:
        """The columns that the search is about."""
        return self._worker.columns

    @property
    def nodes(self) -> int:
        """Nodes explored."""
        return self._worker.nodes

    @property
    def open_nodes(self) -> int:
        """Nodes waiting."""
        return self._worker.waiting

    @property
    def lower_bound(self) -> float:
        """The smallest bound of anything open or closed."""
        return self._worker.lower_bound

    @property
    def can_begin_again(self) -> bool:
        """Whether the root node is at hand."""
        return self._worker.root is not None

    def begin_again(self) -> None:
        """Drop all open nodes for the root."""
        self._worker.begin_again()

    def arrange(self, order: Order) -> None:
        """Take open nodes in this order from now on."""
        arrange(self._worker.open_nodes, order)

    def first_layer(self, order: Order, cutoff: float) -> float:
        """The first layer of this order with anything open below the cutoff; 0 where that is not known."""
        return self._worker.first_layer(order.number, cutoff)

    def explore(self, upper: float, orders: Orders) -> None:
        """Explore until the allowance is used or nothing is left."""
        worker = self._worker
        self._attended(lambda: worker.explore(upper, orders))
        worker.flush_log()
        worker.flush_list()

    def _attended(self, work: Callable[[], None]) -> None:
        """Have the worker do this, and halt it when time is up."""
        if not self._worker.is_long:
            work()
            return
        task = expiry.begun(work)
        try:
            attend([task], self._worker.at_hand, self._expired)
        finally:
            wait([task])  # once halted, it is there soon
        task.result()

    def next_door(self, order: Order, model: Incumbent) -> NextDoor | None:
        """A tree of its own that goes outward from this model, as long as no proof is written."""
        worker = self._worker
        if worker.root is None or worker.proof is not None:
            return None
        return NextDoor(worker, worker.root, order, model, self._attended)

    def collect_model(self, upper: float) -> IndexArray | None:
        """The support of the best model found since the last time, if it is better than ``upper``."""
        return self._worker.collect_model(upper)

    def collect_lists(self) -> list[FoundModels]:
        """The models listed since the last time."""
        return self._worker.collect_list()

    @contextmanager
    def at_rest(self) -> Iterator[Rest]:
        """As it always is between two calls."""
        worker = self._worker
        yield Rest([worker.open_nodes], worker.closed_bound, worker.decided_by_root())

    def __enter__(self) -> LoneWorker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """There is nothing to end."""

    def finish(self) -> IndexArray:
        """Complete the proof of the tree; returns what the root's dual point has decided in it."""
        self._worker.finish_log()
        return self._worker.decided_by_root()
