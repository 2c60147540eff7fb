"""Open nodes in plain arrays: two bits per feature, a sparse warm start, a bound, and a binary heap of their slots.

An `OpenNodes` is a value: it can be stored, split, sent elsewhere and explored there. It has an order of its own, which
`arrange` changes.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from safescreen.arrays import FloatArray, IndexArray, RecordArray, StatusArray
from safescreen.kernels.columns import make_decided_dense, make_dense, reserved_slots
from safescreen.kernels.compiling import compiled, inlined, record_type
from safescreen.kernels.node import Node, listed
from safescreen.kernels.outward import Order, count_inside, keys_of, layer_of, layers_of, outward_key
from safescreen.kernels.subproblem import FREE, IN, OUT, Subproblem
from safescreen.kernels.vectors import signed
from safescreen.tuning import SMALL_STORE

COUNTS = record_type(
    [
        ("vacant", "i8"),  # slots without a node
        ("waiting", "i8"),  # nodes on the heap
        ("most", "i8"),  # nodes beyond which depth comes first
        ("order", "i8"),  # the number of its order
        ("places", "i8"),  # features that a model may have, where the order is outward
        ("exchangeable", "i8"),  # features of the model to go outward from
        ("step", "f8"),  # between two layers, likewise
    ]
)


ALL_OUT = 0b10101010
"""Two bits for each of four features that are out."""


class OpenNodes(NamedTuple):
    """Slots of a fixed shape, a stack of free slots and a heap ordered by key."""

    bound: FloatArray
    key: FloatArray  # the bound, unless the order is outward
    level: FloatArray
    intercept: FloatArray
    bits: npt.NDArray[np.uint8]  # (slots, bytes): two bits per feature
    inside: npt.NDArray[np.int32]  # how many of them are in
    parent: IndexArray  # number of the parent in the log
    decision: npt.NDArray[np.int32]  # what distinguishes the node from it: ±(feature + 1), 0 for nothing
    length: npt.NDArray[np.int32]  # entries in the warm start
    feature: npt.NDArray[np.int32]  # (slots, width)
    value: npt.NDArray[np.float32]
    vacant: npt.NDArray[np.int32]
    heap: npt.NDArray[np.int32]
    model: IndexArray  # (features,): the features to go outward from, so many as counted; see `model_of`
    counts: RecordArray  # [a record of `COUNTS`]


PER_NODE = ("bound", "key", "level", "intercept", "bits", "inside", "parent", "decision", "length", "feature", "value")
"""The arrays with one entry per slot."""


def make_open_nodes(slots: int, features: int, width: int, most: int) -> OpenNodes:
    """No open nodes; pages are only touched when nodes are stored. Beyond ``most`` nodes depth comes first."""
    return OpenNodes(
        bound=np.empty(slots),
        key=np.empty(slots),
        level=np.empty(slots),
        intercept=np.empty(slots),
        bits=np.empty((slots, (features + 3) // 4), np.uint8),
        inside=np.empty(slots, np.int32),
        parent=np.empty(slots, np.int64),
        decision=np.empty(slots, np.int32),
        length=np.empty(slots, np.int32),
        feature=np.empty((slots, width), np.int32),
        value=np.empty((slots, width), np.float32),
        vacant=np.arange(slots - 1, -1, -1, dtype=np.int32),
        heap=np.empty(slots, np.int32),
        model=np.empty(features, np.int64),
        counts=np.array([(slots, 0, most, 0, 0, 0, 1.0)], COUNTS),
    )


def count_waiting(nodes: OpenNodes) -> int:
    """How many nodes are open."""
    return int(nodes.counts["waiting"][0])


def smallest_bound(nodes: OpenNodes) -> float:
    """The bound of the best open node; infinite if there is none."""
    waiting = count_waiting(nodes)
    if nodes.counts["order"][0] == 0:
        return float(nodes.bound[nodes.heap[0]]) if waiting else np.inf
    return float(nodes.bound[nodes.heap[:waiting]].min(initial=np.inf))


def first_layer(nodes: OpenNodes, number: int) -> float:
    """The first layer with open nodes, infinite if there are none; 0 if their order does not have this number."""
    if not count_waiting(nodes):
        return np.inf
    counts = nodes.counts[0]
    if number == 0 or counts["order"] != number:
        return 0.0
    return float(nodes.key[nodes.heap[0]] // counts["step"])


def arrange(nodes: OpenNodes, order: Order) -> None:
    """Put the open nodes in this order, which those to come will be in, too."""
    counts = nodes.counts[0]
    if counts["order"] == order.number:
        return
    counts["order"], counts["places"], counts["step"] = order.number, order.places, order.step
    counts["exchangeable"] = order.model.size
    nodes.model[: order.model.size] = order.model
    slots = nodes.heap[: counts["waiting"]].copy()
    _give_keys(nodes, slots)
    _make_heap(nodes, slots)


def order_of(nodes: OpenNodes) -> Order:
    """The order that open nodes are in."""
    counts = nodes.counts[0]
    model = nodes.model[: counts["exchangeable"]].copy()
    return Order(int(counts["order"]), model, int(counts["places"]), float(counts["step"]))


def emptied(nodes: OpenNodes) -> OpenNodes:
    """The same room with no node in it."""
    slots = nodes.bound.size
    nodes.vacant[:] = np.arange(slots - 1, -1, -1)
    nodes.counts["vacant"], nodes.counts["waiting"] = slots, 0
    return nodes


def _give_keys(nodes: OpenNodes, slots: npt.NDArray[np.int32]) -> None:
    """Give these the numbers by which they are ordered."""
    order, bounds = order_of(nodes), nodes.bound[slots]
    if order.number != 0:
        bytes_of_model = nodes.bits[slots[:, None], order.model >> 2]
        layers = layers_of(bytes_of_model, nodes.inside[slots], order.model, order.places)
        bounds = keys_of(bounds, layers, order.step)
    nodes.key[slots] = bounds


def _make_heap(nodes: OpenNodes, slots: npt.NDArray[np.int32]) -> None:
    """Let these be the open nodes, and no others."""
    nodes.heap[: slots.size] = slots[np.argsort(nodes.key[slots], kind="stable")]  # sorted, hence a heap
    nodes.counts["waiting"] = slots.size


def add_root(nodes: OpenNodes, status: StatusArray, x: FloatArray, start: tuple[float, float, float]) -> None:
    """Store the root, the only node that does not come from a compiled search, where there is no other node.

    ``start`` holds its bound, level and intercept. The order is that of bounds.
    """
    counts = nodes.counts[0]
    slot = nodes.vacant[counts["vacant"] - 1]
    nonzero = np.flatnonzero(x)[: nodes.feature.shape[1]]
    nodes.bound[slot], nodes.level[slot], nodes.intercept[slot] = start
    nodes.key[slot] = nodes.bound[slot]
    nodes.parent[slot], nodes.decision[slot] = -1, 0
    codes = np.where(status == IN, 1, np.where(status == OUT, 2, 0)).astype(np.uint8)
    codes = np.concatenate([codes, np.zeros(-codes.size % 4, np.uint8)]).reshape(-1, 4)
    nodes.bits[slot] = codes[:, 0] | codes[:, 1] << 2 | codes[:, 2] << 4 | codes[:, 3] << 6
    nodes.inside[slot] = count_inside(nodes.bits[slot : slot + 1])[0]
    nodes.length[slot] = nonzero.size
    nodes.feature[slot, : nonzero.size] = nonzero
    nodes.value[slot, : nonzero.size] = x[nonzero]
    nodes.heap[0] = slot
    counts["vacant"] -= 1
    counts["waiting"] = 1


def bytes_per_node(features: int, width: int) -> int:
    """Memory of an open node."""
    return features // 4 + 8 * width + 64


def enlarged(nodes: OpenNodes) -> OpenNodes:
    """The same open nodes in twice the slots; once they take much memory, in as many as may ever be needed.

    Two large sets would lie side by side else, while slots that are not used take none.
    """
    old, counts = nodes.bound.size, nodes.counts[0]
    slots, features, width = 2 * old, 4 * nodes.bits.shape[1], nodes.feature.shape[1]
    enough = int(counts["most"]) + 2 * features
    if old * bytes_per_node(features, width) > SMALL_STORE and enough > old:
        slots = enough
    new = make_open_nodes(slots, features, width, int(counts["most"]))
    for name in PER_NODE:
        getattr(new, name)[:old] = getattr(nodes, name)
    vacant, added = int(counts["vacant"]), slots - old
    new.heap[:old] = nodes.heap
    arrange(new, order_of(nodes))
    new.vacant[:added] = np.arange(slots - 1, old - 1, -1, dtype=np.int32)
    new.vacant[added : added + vacant] = nodes.vacant[:vacant]
    new.counts["vacant"], new.counts["waiting"] = vacant + added, counts["waiting"]
    return new


def split_off(nodes: OpenNodes, idle: OpenNodes, every: int = 2, most: int | None = None) -> OpenNodes:
    """Move every second open node, in their order, to a set that has none; returns that set, with the same order.

    ``nodes`` keeps the others, ``idle`` gives its slots, enlarged if need be. It may also be every third node or so,
    and no more than ``most`` of them, those that come first.
    """
    counts = nodes.counts[0]
    slots = nodes.heap[: counts["waiting"]].copy()
    slots = slots[np.argsort(nodes.key[slots], kind="stable")]
    moves = np.zeros(slots.size, np.bool_)
    moves[np.arange(1, slots.size, every)[:most]] = True
    kept, given = slots[~moves], slots[moves]
    while idle.counts["vacant"][0] < given.size + 2:
        idle = enlarged(idle)
    arrange(idle, order_of(nodes))
    target = np.arange(given.size, dtype=np.int32)
    for name in PER_NODE:
        getattr(idle, name)[target] = getattr(nodes, name)[given]
    idle.heap[: given.size] = target  # sorted, hence a heap
    left = idle.bound.size - given.size
    idle.counts["vacant"], idle.counts["waiting"] = left, given.size
    idle.vacant[:left] = np.arange(idle.bound.size - 1, given.size - 1, -1, dtype=np.int32)
    vacant = int(counts["vacant"])
    nodes.vacant[vacant : vacant + given.size] = given
    nodes.heap[: kept.size] = kept
    counts["vacant"], counts["waiting"] = vacant + given.size, kept.size
    return idle


def taken_out(nodes: OpenNodes, most: int) -> OpenNodes:
    """A new set with every second one of the best open nodes, no more than ``most``."""
    features, width = 4 * nodes.bits.shape[1], nodes.feature.shape[1]
    return split_off(nodes, make_open_nodes(most + 2, features, width, int(nodes.counts["most"][0])), 2, most)


def joined(nodes: OpenNodes, others: OpenNodes) -> OpenNodes:
    """All open nodes of two sets, in the slots and the order of the first; the second is used up."""
    arriving = others.heap[: count_waiting(others)]
    while nodes.counts["vacant"][0] < arriving.size + 2:
        nodes = enlarged(nodes)
    vacant, waiting = int(nodes.counts["vacant"][0]), count_waiting(nodes)
    target = nodes.vacant[vacant - arriving.size : vacant].copy()
    for name in PER_NODE:
        getattr(nodes, name)[target] = getattr(others, name)[arriving]
    nodes.counts["vacant"] = vacant - arriving.size
    others.counts["waiting"] = 0
    admit(nodes, np.concatenate([nodes.heap[:waiting], target]), target)
    return nodes


def admit(nodes: OpenNodes, slots: npt.NDArray[np.int32], arrived: npt.NDArray[np.int32]) -> None:
    """Let these slots be the open nodes, some of which have arrived with keys of another order."""
    _give_keys(nodes, arrived)
    _make_heap(nodes, slots)


@compiled
def push(nodes: OpenNodes, slot: int) -> None:
    """Put a filled slot on the heap."""
    counts = nodes.counts[0]
    i = counts.waiting
    counts.waiting += 1
    while i > 0:
        parent = (i - 1) // 2
        if nodes.key[nodes.heap[parent]] <= nodes.key[slot]:
            break
        nodes.heap[i] = nodes.heap[parent]
        i = parent
    nodes.heap[i] = slot


@compiled
def pop(nodes: OpenNodes) -> int:
    """Take the slot that comes first off the heap, or the latest, as a rule, when memory is short."""
    counts = nodes.counts[0]
    counts.waiting -= 1
    size: int = counts.waiting
    latest: int = nodes.heap[size]
    if size > counts.most:
        return latest
    slot: int = nodes.heap[0]
    if size > 0:
        i = 0
        while True:
            child = 2 * i + 1
            if child >= size:
                break
            if child + 1 < size and nodes.key[nodes.heap[child + 1]] < nodes.key[nodes.heap[child]]:
                child += 1
            if nodes.key[latest] <= nodes.key[nodes.heap[child]]:
                break
            nodes.heap[i] = nodes.heap[child]
            i = child
        nodes.heap[i] = latest
    return slot


@inlined
def model_of(nodes: OpenNodes) -> IndexArray:
    """The features to go outward from; none where bounds alone count."""
    return nodes.model[: nodes.counts[0].exchangeable]


@inlined
def release(nodes: OpenNodes, slot: int) -> None:
    """Give the slot of a node that is no longer open back."""
    counts = nodes.counts[0]
    nodes.vacant[counts.vacant] = slot
    counts.vacant += 1


@compiled
def save(nodes: OpenNodes, node: Node, bound: float, parent: int, decision: int) -> None:
    """Store the node at hand: its decisions and as much of its iterate as fits."""
    counts, progress = nodes.counts[0], node.progress[0]
    counts.vacant -= 1
    slot = nodes.vacant[counts.vacant]
    nodes.bound[slot] = nodes.key[slot] = bound
    nodes.parent[slot] = parent
    nodes.decision[slot] = decision
    nodes.level[slot] = progress.level
    nodes.intercept[slot] = progress.intercept
    inside = pack(node, nodes.bits[slot])
    nodes.inside[slot] = inside
    if counts.order != 0:
        layer = layer_of(model_of(nodes), node.status, inside, counts.places)
        nodes.key[slot] = outward_key(layer, bound, counts.step)
    width, length = nodes.feature.shape[1], 0
    for j in listed(node):
        if node.x[j] != 0.0 and length < width:
            nodes.feature[slot, length] = j
            nodes.value[slot, length] = node.x[j]
            length += 1
    nodes.length[slot] = length
    push(nodes, slot)


@compiled
def load(subproblem: Subproblem, nodes: OpenNodes, node: Node, slot: int, decided_only: bool) -> float:
    """Bring a stored node back, with coefficients of what is in, or of all, and free its slot; returns its bound."""
    progress = node.progress[0]
    unpack(nodes.bits[slot], node)
    make_decided_dense(subproblem.columns, node.status, listed(node))  # these first: without them the node is nothing
    reserved = reserved_slots(subproblem.columns, subproblem.k)
    for i in range(nodes.length[slot]):
        feature = signed(nodes.feature[slot, i])
        if decided_only and node.status[feature] != IN:
            continue
        if node.status[feature] != OUT and make_dense(subproblem.columns, feature, reserved):
            node.x[feature] = nodes.value[slot, i]
    progress.level = nodes.level[slot]
    progress.intercept = nodes.intercept[slot]
    release(nodes, slot)
    bound: float = nodes.bound[slot]
    return bound


@inlined
def pack(node: Node, bits: npt.NDArray[np.uint8]) -> int:
    """Write what is decided about every feature as two bits: 0 free, 1 in, 2 out; returns how many are in.

    Few are listed, the others are out.
    """
    inside = 0
    for i in range(bits.size):
        bits[i] = ALL_OUT
    at, byte = 0, ALL_OUT
    for j in listed(node):  # in order, so that a byte is written once
        if node.status[j] != OUT:
            if j >> 2 != at:
                bits[at] = byte
                at, byte = signed(j >> 2), ALL_OUT
            byte ^= (3 if node.status[j] == IN else 2) << signed(2 * (j & 3))
            inside += 1 if node.status[j] == IN else 0
    bits[at] = byte
    for j in range(node.status.size, 4 * bits.size):
        bits[j >> 2] ^= np.uint8(2 << (2 * (j & 3)))
    return inside


@inlined
def unpack(bits: npt.NDArray[np.uint8], node: Node) -> None:
    """Read these bits into a node without coefficients, and list what is not out."""
    progress = node.progress[0]
    for j in listed(node):
        node.status[j] = OUT
        node.x[j] = 0.0
    count = 0
    for i in range(bits.size):
        if bits[i] == ALL_OUT:
            continue
        for j in range(4 * i, min(4 * i + 4, node.status.size)):
            code = (bits[i] >> (2 * (j & 3))) & 3
            if code != 2:
                node.status[j] = FREE if code == 0 else IN
                node.listed[count] = j
                count += 1
    progress.listed = count
