"""The table: columns as they were read from a file, before anybody decides what to do with them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from safescreen.text import count, nearest

FloatArray = npt.NDArray[np.float64]
Texts = npt.NDArray[np.object_]

_INDEX = re.compile(r"[+-]?\d+")


@dataclass(frozen=True)
class Table:
    """Columns of numbers and columns of text."""

    source: str  # what to call the file in messages
    names: list[str]  # one per column, invented ones if the file has none
    named: bool  # whether the names come from the file
    matrix: Any  # dense or sparse, NaN where a number is missing; columns of text are NaN throughout
    texts: dict[int, Texts] = field(default_factory=dict)  # by position, None where a value is missing
    arrays: dict[str, npt.NDArray[Any]] = field(default_factory=dict)  # one entry per row each, such as labels ``y``
    first_index: int | None = None  # of a format that numbers its columns, so that a file need not reach the last one
    notes: tuple[str, ...] = ()  # what a user should know about the reading

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.matrix.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.matrix.shape[1])

    def numbers(self, place: int) -> npt.NDArray[Any]:
        """One column of numbers."""
        column = self.matrix[:, [place]]
        return np.asarray(column.toarray() if sparse.issparse(column) else column).ravel()

    def find(self, wanted: str, option: str) -> int:
        """The position of a column given by name or by index, negative ones counting from the end."""
        place = position(wanted, self.names if self.named else (), self.n_columns)
        if place is not None:
            return place
        if _INDEX.fullmatch(wanted):
            raise ValueError(
                f"{option} is {wanted}, but {self.source} has {count(self.n_columns, 'column')}: indices from 0 to "
                f"{self.n_columns - 1} are allowed, and negative ones count from the end."
            )
        if self.named:
            absent = f"such column: did you mean {nearest(wanted, self.names)!r}?"
        else:
            absent = f"column names: give an index from 0 to {self.n_columns - 1}, or -1 for the last column."
        raise ValueError(f"{option} is {wanted!r}, but {self.source} has no {absent}")


def position(wanted: str, names: Sequence[str], n_columns: int) -> int | None:
    """Where the column with a name or an index is, negative ones counting from the end; None if there is none."""
    if wanted in names:
        return names.index(wanted)
    if _INDEX.fullmatch(wanted) and -n_columns <= int(wanted) < n_columns:
        return int(wanted) % n_columns
    return None


def duplicates(names: Sequence[str]) -> list[str]:
    """Names that more than one column has."""
    return [name for name, times in Counter(names).items() if times > 1]


def default_names(n_columns: int, first: int = 0) -> list[str]:
    """Names for columns that have none."""
    return [f"x{j}" for j in range(first, first + n_columns)]


def spread(numbers: FloatArray, textual: Sequence[int]) -> FloatArray:
    """Numbers with columns of NaN at the positions of the columns of text."""
    if not textual:
        return numbers
    matrix = np.full((numbers.shape[0], numbers.shape[1] + len(textual)), np.nan, order="F")
    matrix[:, np.delete(np.arange(matrix.shape[1]), textual)] = numbers
    return matrix


def whole(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Whole numbers as integers, so that labels look as they did in the file."""
    if values.dtype.kind != "f" or not np.isfinite(values).all() or (values != np.floor(values)).any():
        return values
    return values.astype(np.int64) if np.abs(values).max(initial=0.0) < 2**53 else values
