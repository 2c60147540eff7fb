"""What is next door to a model, in a tree of its own: all models that exchange one of its features.

A search that is halfway through its tree has parts of a new model's neighbours in many open nodes. From the root they
are a few nodes with one place left, which are swept at once. So one exchange is covered in a fraction of a second, and
the tree goes on as it was. What this tree closes stands in no proof: a search that writes one does without.
"""

from __future__ import annotations

from collections.abc import Callable

from safescreen.arrays import FloatArray
from safescreen.incumbents import Incumbent
from safescreen.kernels import Orders
from safescreen.kernels.open_nodes import OpenNodes, arrange, first_layer, make_open_nodes
from safescreen.kernels.outward import Order
from safescreen.search.parcels import Parcel, put_in
from safescreen.search.workers import Worker
from safescreen.tuning import NODE_SLOTS


class NextDoor:
    """Open nodes that go outward from one model, explored by a worker who has a tree besides.

    Parameters
    ----------
    worker : Worker
        Who explores.
    root : Parcel
        The root node.
    order : Order
        Outward from the model.
    model : Incumbent
        To begin the fits with.
    attended : callable
        Calls what may take long so that it can be halted.
    """

    def __init__(
        self,
        worker: Worker,
        root: Parcel,
        order: Order,
        model: Incumbent,
        attended: Callable[[Callable[[], None]], None],
    ) -> None:
        self._worker, self._order, self._attended = worker, order, attended
        own = worker.open_nodes
        room = make_open_nodes(NODE_SLOTS, worker.columns.size, own.feature.shape[1], int(own.counts["most"][0]))
        self._nodes = put_in(room, root)
        _begin_with(self._nodes, order, model.x[worker.columns[order.model]], model.b)
        arrange(self._nodes, order)

    def explore(self, upper: float, orders: Orders) -> None:
        """Explore for a while; what is found, the worker has."""
        self._attended(lambda: self._explore(upper, orders))

    def _explore(self, upper: float, orders: Orders) -> None:
        worker = self._worker
        left = orders._replace(node_limit=orders.node_limit - worker.nodes)
        with worker.explorer.aside():
            report = worker.explorer.explore(self._nodes, upper, left)
        self._nodes = report.open_nodes
        worker.learn(report)

    def first_layer(self, cutoff: float) -> float:
        """The first layer with anything open below the cutoff; 0 where that is not known."""
        known = self._worker.closed_bound >= cutoff
        return first_layer(self._nodes, self._order.number) if known else 0.0


def _begin_with(nodes: OpenNodes, order: Order, x: FloatArray, b: float) -> None:
    """Have the only node begin with these coefficients of the model."""
    slot, count = nodes.heap[0], min(x.size, nodes.feature.shape[1])
    nodes.feature[slot, :count], nodes.value[slot, :count] = order.model[:count], x[:count]
    nodes.length[slot], nodes.intercept[slot] = count, b
