"""The nodes of a wide search on their way into a proof."""

from __future__ import annotations

import numpy as np

from safescreen.arrays import AnyArray, FloatArray, IndexArray
from safescreen.relaxation import Point
from safescreen.search.proof_writer import NODE, ProofWriter

_NO_FEATURES, _NO_VALUES = np.empty(0, np.int32), np.empty(0)


class TreeRecorder:
    """Gives nodes their numbers and hands them to the proof, if one is written."""

    def __init__(self, proof: ProofWriter | None) -> None:
        self._proof = proof
        self._next = 0
        self._numbers: list[int] = []
        self._records: list[tuple[int, int, int, int, float]] = []
        self._screened: list[IndexArray] = []
        self._features: list[IndexArray] = []
        self._values: list[FloatArray] = []

    def record(self, parent: int, decision: int, point: Point | None, screened: IndexArray) -> int:
        """Note a node whose bound is that of its point, or its parent's if it has none; returns its number."""
        number, self._next = self._next, self._next + 1
        if self._proof is None:
            return number
        self._numbers.append(number)
        size = -1 if point is None else point.features.size
        self._records.append((parent, decision, screened.size, size, 0.0 if point is None else point.b))
        if point is not None:
            self._screened.append(screened)
            self._features.append(point.features)
            self._values.append(point.values)
        return number

    def flush(self) -> None:
        """Hand over what was noted since the last time."""
        if self._proof is None or not self._records:
            return
        self._proof.take_nodes(
            np.array(self._numbers, np.int64),
            np.array(self._records, NODE),
            _joined(self._screened).astype(np.int32),
            _joined(self._features).astype(np.int32),
            np.concatenate([_NO_VALUES, *self._values]),
        )
        for entries in (self._numbers, self._records, self._screened, self._features, self._values):
            entries.clear()


def _joined(arrays: list[IndexArray]) -> AnyArray:
    return np.concatenate([_NO_FEATURES, *arrays])
