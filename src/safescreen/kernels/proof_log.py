"""What a proof needs to know of every node, logged while the search runs; without entries where no proof is wanted."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from safescreen.arrays import BoolArray, FloatArray, IndexArray, PlaceArray, RecordArray
from safescreen.kernels.compiling import compiled, inlined, record_type
from safescreen.kernels.node import Node, listed

COUNTS = record_type(
    [
        ("nodes", "i8"),
        ("screened", "i8"),  # screening decisions
        ("entries", "i8"),  # of points
        ("next_number", "i8"),  # of the next node
        ("step", "i8"),  # between the numbers of one worker
        ("features", "i8"),  # entries a node may need
    ]
)


class ProofLog(NamedTuple):
    """Nodes with their parents, decisions and points."""

    counts: RecordArray  # [a record of `COUNTS`]
    number: IndexArray  # (nodes,): the node's own
    parent: IndexArray  # (nodes,): the number of its parent, -1 for the root
    decision: npt.NDArray[np.int32]  # (nodes,): what distinguishes it from its parent, as ±(feature + 1), 0 for nothing
    n_screened: npt.NDArray[np.int32]  # (nodes,): screening decisions
    n_entries: npt.NDArray[np.int32]  # (nodes,): entries of its point, -1 if it has none
    intercept: FloatArray  # (nodes,): of its point
    swept: BoolArray  # (nodes,): whether every completion of its features by one more has a dual point of its own
    screened: npt.NDArray[np.int32]  # decisions, as ±(feature + 1)
    feature: npt.NDArray[np.int32]
    value: FloatArray


def make_proof_log(nodes: int, entries: int, features: int, first: int, step: int) -> ProofLog:
    """An empty log whose nodes are numbered ``first``, ``first + step``, ..."""
    return ProofLog(
        counts=np.array([(0, 0, 0, first, step, features)], COUNTS),
        number=np.empty(nodes, np.int64),
        parent=np.empty(nodes, np.int64),
        decision=np.empty(nodes, np.int32),
        n_screened=np.empty(nodes, np.int32),
        n_entries=np.empty(nodes, np.int32),
        intercept=np.empty(nodes),
        swept=np.zeros(nodes, np.bool_),
        screened=np.empty(entries, np.int32),
        feature=np.empty(entries, np.int32),
        value=np.empty(entries),
    )


def empty_log(log: ProofLog) -> None:
    """Forget what has been taken over; the numbers go on."""
    for name in ("nodes", "screened", "entries"):
        log.counts[name] = 0


@inlined
def is_full(log: ProofLog) -> bool:
    """Whether the log may lack room for a node and another point of it; one that is not kept is never full."""
    counts = log.counts[0]
    entries = max(counts.screened, counts.entries) + 2 * counts.features
    return log.intercept.size > 0 and (counts.nodes + 1 >= log.intercept.size or entries > log.value.size)


@compiled
def log_node(log: ProofLog, parent: int, decision: int, node: Node, has_point: bool) -> int:
    """Log a node, with the dual point behind its bound where that adds something; returns its number."""
    if log.intercept.size == 0:
        return parent
    counts = log.counts[0]
    i: int = counts.nodes
    number: int = counts.next_number
    log.number[i] = number
    log.parent[i] = parent
    log.decision[i] = decision
    log.n_screened[i] = 0
    log.n_entries[i] = -1
    log.intercept[i] = 0.0
    log.swept[i] = False
    if has_point:
        first = counts.entries
        for j in listed(node):
            if node.best_x[j] != 0.0:
                log.feature[counts.entries] = j
                log.value[counts.entries] = node.best_x[j]
                counts.entries += 1
        log.n_entries[i] = counts.entries - first
        log.intercept[i] = node.best_b[0]
    counts.nodes += 1
    counts.next_number += counts.step
    return number


@inlined
def has_room_for(log: ProofLog, nodes: int, entries: int) -> bool:
    """Whether so many nodes with so many entries of points fit as well; anything fits where no log is kept."""
    counts = log.counts[0]
    fits: bool = counts.nodes + nodes <= log.intercept.size and counts.entries + entries <= log.value.size
    return fits or log.intercept.size == 0


@compiled
def log_model(
    log: ProofLog, parent: int, decision: int, features: PlaceArray, x: FloatArray, size: int, intercept: float
) -> int:
    """Log a node with a fitted model as its point, for which there must be room; returns its number."""
    if log.intercept.size == 0:
        return parent
    counts = log.counts[0]
    i: int = counts.nodes
    number: int = counts.next_number
    log.number[i] = number
    log.parent[i] = parent
    log.decision[i] = decision
    log.n_screened[i] = 0
    log.n_entries[i] = size
    log.intercept[i] = intercept
    log.swept[i] = False
    for a in range(size):
        log.feature[counts.entries + a] = features[a]
        log.value[counts.entries + a] = x[a]
    counts.entries += size
    counts.nodes += 1
    counts.next_number += counts.step
    return number


@inlined
def mark_swept(log: ProofLog) -> None:
    """Mark the latest node as one whose completions have dual points of their own, but for its children."""
    if log.intercept.size > 0:
        log.swept[log.counts[0].nodes - 1] = True


@inlined
def take_back(log: ProofLog, nodes: int, entries: int) -> None:
    """Forget the latest nodes, which nothing refers to, and their points: only so many are left."""
    counts = log.counts[0]
    counts.next_number -= (counts.nodes - nodes) * counts.step
    counts.nodes = nodes
    counts.entries = entries


@inlined
def log_decision(log: ProofLog, decision: int) -> None:
    """Log what screening decided in the latest node."""
    if log.intercept.size > 0:
        counts = log.counts[0]
        log.screened[counts.screened] = decision
        counts.screened += 1
        log.n_screened[counts.nodes - 1] += 1
