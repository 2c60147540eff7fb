"""Open nodes and logs that travel: only what is in use, in plain arrays.

Numbers of nodes are given out where the proof is written. A log that comes from elsewhere has numbers of its own,
beginning with `ELSEWHERE`, and gets others when it arrives: so one that is dropped leaves no trace.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from safescreen.arrays import AnyArray, FloatArray, IndexArray
from safescreen.kernels.open_nodes import PER_NODE, OpenNodes, admit, count_waiting, enlarged
from safescreen.kernels.outward import Order
from safescreen.kernels.proof_log import COUNTS, ProofLog, empty_log

ELSEWHERE = 1 << 48
"""Numbers from here on belong to a log that has not arrived yet."""

_PER_LOGGED_NODE = ("number", "parent", "decision", "n_screened", "n_entries", "intercept", "swept")


class Parcel(NamedTuple):
    """Open nodes: the arrays of `OpenNodes` that have an entry per node."""

    arrays: tuple[AnyArray, ...]

    @property
    def size(self) -> int:
        """How many nodes these are."""
        return len(self.arrays[0])

    @property
    def smallest_bound(self) -> float:
        """The bound of the best of them; infinite if there is none."""
        return float(self.arrays[PER_NODE.index("bound")].min(initial=np.inf))

    def first_layer(self, order: Order) -> float:
        """The first layer of this order, in which they are, that has any of them; 0 where bounds alone count."""
        if order.number == 0:
            return 0.0
        return float(self.arrays[PER_NODE.index("key")].min() // order.step) if self.size else np.inf

    @property
    def parents(self) -> IndexArray:
        """The numbers of their parents."""
        return self.arrays[PER_NODE.index("parent")]

    def with_parents(self, parents: IndexArray) -> Parcel:
        """The same nodes, whose parents have other numbers."""
        place = PER_NODE.index("parent")
        return Parcel((*self.arrays[:place], parents, *self.arrays[place + 1 :]))


def take_best(nodes: OpenNodes, count: int, shares: int) -> list[Parcel]:
    """Take the ``count`` open nodes that come first off a store, in so many shares that are equally good."""
    waiting = nodes.heap[: count_waiting(nodes)]
    slots = waiting[np.argsort(nodes.key[waiting], kind="stable")]
    taken, kept = slots[:count], slots[count:]
    parcels = [_copied(nodes, taken[share::shares]) for share in range(shares)]
    counts = nodes.counts[0]
    vacant = int(counts["vacant"])
    nodes.vacant[vacant : vacant + taken.size] = taken
    nodes.heap[: kept.size] = kept  # sorted, hence a heap
    counts["vacant"], counts["waiting"] = vacant + taken.size, kept.size
    return parcels


def copy_of(nodes: OpenNodes) -> Parcel:
    """All open nodes of a store, which keeps them."""
    return _copied(nodes, nodes.heap[: count_waiting(nodes)])


def take_all(nodes: OpenNodes) -> Parcel:
    """All open nodes of a store."""
    return take_best(nodes, count_waiting(nodes), 1)[0]


def put_in(nodes: OpenNodes, parcel: Parcel) -> OpenNodes:
    """The store with these nodes, too, enlarged if need be."""
    if parcel.size == 0:
        return nodes
    while nodes.counts["vacant"][0] < parcel.size + 2:
        nodes = enlarged(nodes)
    counts = nodes.counts[0]
    vacant, waiting = int(counts["vacant"]), int(counts["waiting"])
    slots = nodes.vacant[vacant - parcel.size : vacant].copy()
    for name, array in zip(PER_NODE, parcel.arrays, strict=True):
        getattr(nodes, name)[slots] = array
    counts["vacant"] = vacant - parcel.size
    admit(nodes, np.concatenate([nodes.heap[:waiting], slots]), slots)
    return nodes


def _copied(nodes: OpenNodes, slots: AnyArray) -> Parcel:
    return Parcel(tuple(getattr(nodes, name)[slots] for name in PER_NODE))


class LogPart(NamedTuple):
    """Logged nodes: the arrays of `ProofLog` as far as they are filled."""

    nodes: tuple[AnyArray, ...]
    screened: AnyArray
    feature: AnyArray
    value: FloatArray


def take_log(log: ProofLog) -> LogPart:
    """What a log holds, which is empty afterwards."""
    counts = log.counts[0]
    nodes, screened, entries = int(counts["nodes"]), int(counts["screened"]), int(counts["entries"])
    part = LogPart(
        tuple(getattr(log, name)[:nodes].copy() for name in _PER_LOGGED_NODE),
        log.screened[:screened].copy(),
        log.feature[:entries].copy(),
        log.value[:entries].copy(),
    )
    empty_log(log)
    return part


def arrived_log(part: LogPart, first: int) -> ProofLog:
    """A log from elsewhere whose first number is ``first`` from now on."""
    number, parent, decision, n_screened, n_entries, intercept, swept = part.nodes
    counts = (number.size, part.screened.size, part.feature.size, 0, 1, 0)
    return ProofLog(
        np.array([counts], COUNTS),
        arrived_numbers(number, first),
        arrived_numbers(parent, first),
        decision,
        n_screened,
        n_entries,
        intercept,
        swept,
        part.screened,
        part.feature,
        part.value,
    )


def arrived_numbers(numbers: IndexArray, first: int) -> IndexArray:
    """Numbers given out elsewhere begin with ``first``; those that were known there already stay."""
    return np.where(numbers >= ELSEWHERE, numbers - ELSEWHERE + first, numbers)
