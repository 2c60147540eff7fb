"""What a proof needs to know of every node, logged while the search runs; without entries where no proof is wanted."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from safescreen.arrays import FloatArray, IndexArray, RecordArray
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
def log_decision(log: ProofLog, decision: int) -> None:
    """Log what screening decided in the latest node."""
    if log.intercept.size > 0:
        counts = log.counts[0]
        log.screened[counts.screened] = decision
        counts.screened += 1
        log.n_screened[counts.nodes - 1] += 1
