"""A search between two rounds, as plain values: what it takes to go on from there, in this process or another one.

What can be computed again from the data is not taken at its word later on: a dual point is kept, not its bound; a
model's coefficients, not its objective. The bounds of open and closed nodes are all that has to be believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from safescreen.arrays import FloatArray, IndexArray
from safescreen.incumbents import Incumbent
from safescreen.kernels.open_nodes import OpenNodes, make_open_nodes
from safescreen.kernels.outward import count_inside
from safescreen.relaxation import Root
from safescreen.search.branch_and_bound import Search
from safescreen.search.crew import Rest
from safescreen.search.improving import Pace
from safescreen.search.proof_writer import ProofWriter, TreeSoFar
from safescreen.search.solution import TracePoint
from safescreen.tuning import NODE_SLOTS

_LARGEST = float(np.finfo(np.float64).max)


class Waiting(NamedTuple):
    """Open nodes, the best first, without the room that `OpenNodes` have to spare."""

    bound: FloatArray
    level: FloatArray
    intercept: FloatArray
    bits: npt.NDArray[np.uint8]  # (nodes, bytes)
    parent: IndexArray  # its place in the tree of the proof; -1 for none
    decision: npt.NDArray[np.int32]
    length: npt.NDArray[np.int32]
    feature: npt.NDArray[np.int32]  # the warm starts of all nodes, one after the other
    value: npt.NDArray[np.float32]


@dataclass(frozen=True)
class Tree:
    """What is still open, and what is known of everything else."""

    columns: IndexArray  # the features that nodes decide about
    screened: IndexArray  # what the root's dual point has decided anywhere, as ±(feature + 1)
    waiting: Waiting
    closed_bound: float  # nothing that was pruned or screened away has a smaller bound
    means: FloatArray  # of these columns, as the bounds are about them
    scales: FloatArray
    logged: TreeSoFar | None  # for a proof


@dataclass(frozen=True)
class Snapshot:
    """All that a search needs to go on."""

    root: Root
    incumbent: Incumbent
    tree: Tree | None  # None where the root alone was enough
    nodes: int
    seconds: float
    trace: list[TracePoint]
    pace: Pace

    def without_proof(self) -> Snapshot:
        """The same without the tree of a proof."""
        if self.tree is None or self.tree.logged is None:
            return self
        waiting = self.tree.waiting._replace(parent=np.full(self.tree.waiting.parent.size, -1))
        return replace(self, tree=replace(self.tree, waiting=waiting, logged=None))


def taken(search: Search, tree: Tree | None) -> Snapshot:
    """The search as it stands, with its tree, if it has one."""
    return Snapshot(
        root=search.root,
        incumbent=search.incumbent,
        tree=tree,
        nodes=search.nodes,
        seconds=search.watch.seconds,
        trace=list(search.trace),
        pace=search.improver.pace(search.incumbent),
    )


def tree_of(search: Search, columns: IndexArray, rest: Rest) -> Tree:
    """The tree of a search at rest."""
    design = search.problem.design
    proof = search.proof if search.proof is not None and search.proof.failure is None else None
    return Tree(
        columns=columns,
        screened=np.union1d(search.screened, rest.decided).astype(np.int64),
        waiting=waiting_in(rest.open_sets, proof),
        closed_bound=rest.closed_bound,
        means=design.means[columns],
        scales=design.scales[columns],
        logged=None if proof is None else proof.so_far(),
    )


def waiting_in(sets: Sequence[OpenNodes], proof: ProofWriter | None) -> Waiting:
    """The nodes that wait in these sets, the best first; a proof knows where their parents are."""
    slots = [nodes.heap[: nodes.counts["waiting"][0]] for nodes in sets]

    def joined(name: str) -> npt.NDArray[Any]:
        parts = [getattr(nodes, name)[chosen] for nodes, chosen in zip(sets, slots, strict=True)]
        return np.concatenate(parts)[order]

    bounds = np.concatenate([nodes.bound[chosen] for nodes, chosen in zip(sets, slots, strict=True)])
    order = np.argsort(bounds, kind="stable")
    length, feature, value = joined("length"), joined("feature"), joined("value")
    used = np.arange(feature.shape[1]) < length[:, None]
    parent = joined("parent").astype(np.int64)
    return Waiting(
        bound=_finite(joined("bound"), -_LARGEST),  # what is no number bounds nothing
        level=_finite(joined("level"), 0.0),
        intercept=_finite(joined("intercept"), 0.0),
        bits=joined("bits").astype(np.uint8),
        parent=np.full(parent.size, -1) if proof is None else proof.places_of(parent),
        decision=joined("decision").astype(np.int32),
        length=length.astype(np.int32),
        feature=feature[used].astype(np.int32),
        value=np.nan_to_num(value[used].astype(np.float32)),
    )


def open_nodes_of(waiting: Waiting, features: int, width: int, most: int) -> OpenNodes:
    """The same nodes as a search has them; of each warm start as much as fits into ``width``."""
    count = waiting.bound.size
    nodes = make_open_nodes(max(NODE_SLOTS, 2 * count), features, width, most)
    order = np.argsort(waiting.bound, kind="stable")
    for name in ("bound", "level", "intercept", "bits", "parent", "decision"):
        getattr(nodes, name)[:count] = getattr(waiting, name)[order]
    nodes.key[:count] = nodes.bound[:count]
    nodes.inside[:count] = count_inside(nodes.bits[:count])
    nodes.length[:count] = np.minimum(waiting.length, width)[order]
    place = np.empty(count, np.int64)
    place[order] = np.arange(count)
    first = np.cumsum(waiting.length, dtype=np.int64) - waiting.length
    entry = np.arange(waiting.feature.size) - np.repeat(first, waiting.length)
    row, kept = np.repeat(place, waiting.length), entry < width
    nodes.feature[row[kept], entry[kept]] = waiting.feature[kept]
    nodes.value[row[kept], entry[kept]] = waiting.value[kept]
    nodes.heap[:count] = np.arange(count)  # sorted by bound, hence a heap
    left = nodes.bound.size - count
    nodes.vacant[:left] = np.arange(nodes.bound.size - 1, count - 1, -1)
    nodes.counts["vacant"], nodes.counts["waiting"] = left, count
    return nodes


def _finite(numbers: FloatArray, otherwise: float) -> FloatArray:
    """The same numbers; ``otherwise`` where one is none, the largest where one is infinite."""
    return np.nan_to_num(numbers, nan=otherwise, posinf=_LARGEST, neginf=-_LARGEST)
