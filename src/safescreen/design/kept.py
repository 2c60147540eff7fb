"""Columns that were read lately, since a root, a model and a search ask for the same ones."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

import numpy as np

from safescreen.arrays import AnyArray, BoolArray, FloatArray, IndexArray


class KeptColumns:
    """So many columns at most, in the type in which they are stored; the one asked for longest ago goes first."""

    def __init__(self) -> None:
        self._columns: OrderedDict[int, AnyArray] = OrderedDict()
        self._lock = Lock()

    def fill(self, wanted: IndexArray, rows: FloatArray) -> BoolArray:
        """Write the columns that are here into their rows; which these are."""
        here = np.zeros(wanted.size, dtype=np.bool_)
        with self._lock:
            for place, j in enumerate(wanted.tolist()):
                column = self._columns.get(j)
                if column is not None:
                    self._columns.move_to_end(j)
                    rows[place] = column
                    here[place] = True
        return here

    def keep(self, wanted: IndexArray, columns: list[AnyArray], most: int) -> None:
        """Keep these columns, which nobody will change, and of all no more than so many."""
        with self._lock:
            for j, column in zip(wanted.tolist(), columns, strict=True):
                self._columns[j] = column
            while len(self._columns) > most:
                self._columns.popitem(last=False)
