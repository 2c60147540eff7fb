"""The nodes of a wide search: what is decided on their path, a warm start, a bound."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from safescreen.arrays import IndexArray
from safescreen.relaxation import ListedBound, Point


@dataclass(eq=False)
class WideNode:
    """A node that waits, or is at hand; decisions are ``±(feature + 1)``."""

    parent: int  # its number in the proof
    decision: int
    path: IndexArray  # all decisions above, its own and what was screened on the way among them
    bound: float  # its parent's, or a better one
    start: Point
    count: int  # features to ask a pass for
    tries: int = 0
    missing: IndexArray = field(default_factory=lambda: np.empty(0, np.int64))  # columns that its relaxation lacked
    best: ListedBound | None = None  # behind its own bound
    point: Point | None = None

    @property
    def included(self) -> IndexArray:
        """Features that its path decides in."""
        return np.asarray(self.path[self.path > 0] - 1)

    @property
    def excluded(self) -> IndexArray:
        """Features that its path decides out."""
        return np.asarray(-self.path[self.path < 0] - 1)

    @property
    def nbytes(self) -> int:
        """Memory it takes, roughly: what it shares with its sibling is counted twice."""
        return 512 + self.path.nbytes + self.start.features.nbytes + self.start.values.nbytes

    def child(self, number: int, decisions: IndexArray, decision: int, start: Point, count: int) -> WideNode:
        """A child of this node, which has ``number``, after these screening decisions and with one of its own."""
        own = [decision] if decision else []
        path = np.concatenate([self.path, decisions, np.array(own, np.int64)])
        return WideNode(number, decision, path, self.bound, start, count)


class WaitingNodes:
    """Open nodes, best bound first; where they take too much memory, depth first."""

    def __init__(self, most_bytes: int) -> None:
        self._heap: list[tuple[float, int, WideNode]] = []
        self._pushed, self._bytes, self._most_bytes = 0, 0, most_bytes

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[WideNode]:
        return (node for _, _, node in self._heap)

    @property
    def smallest_bound(self) -> float:
        """The bound of the best of them; infinite if there is none."""
        return self._heap[0][0] if self._heap else np.inf

    def push(self, node: WideNode) -> None:
        """Add a node."""
        self._pushed += 1
        self._bytes += node.nbytes
        heapq.heappush(self._heap, (node.bound, self._pushed, node))

    def pop(self) -> WideNode:
        """Take the best node, or the latest one where memory is short."""
        if self._bytes > self._most_bytes:
            latest = max(range(len(self._heap)), key=lambda place: self._heap[place][1])
            self._heap[latest], self._heap[-1] = self._heap[-1], self._heap[latest]
            _, _, node = self._heap.pop()
            heapq.heapify(self._heap)
        else:
            _, _, node = heapq.heappop(self._heap)
        self._bytes -= node.nbytes
        return node
