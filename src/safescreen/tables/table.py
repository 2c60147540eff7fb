"""The table: columns as they were read from a file, before anybody decides what to do with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from safescreen.text import count, nearest

FloatArray = npt.NDArray[np.float64]
Texts = npt.NDArray[np.object_]


@dataclass(frozen=True)
class Table:
    """Columns of numbers and columns of text.

    Attributes
    ----------
    source : str
        What to call the file in messages.
    names : list of str
        One per column; invented ones if the file has none.
    named : bool
        Whether the names come from the file.
    matrix : ndarray or SciPy sparse matrix of shape (n_rows, n_columns)
        Numbers, NaN where one is missing; columns of text are NaN throughout.
    texts : dict
        The columns of text by position, None where a value is missing.
    arrays : dict
        Vectors with one entry per row that lie beside the matrix, such as the labels ``y`` of an archive.
    first_index : int, optional
        The index of the first column in a format that numbers its columns and leaves zeros out, so that a file need
        not reach the last column.
    notes : tuple of str
        What a user should know about the reading.
    """

    source: str
    names: list[str]
    named: bool
    matrix: Any
    texts: dict[int, Texts] = field(default_factory=dict)
    arrays: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    first_index: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.matrix.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.matrix.shape[1])

    def find(self, wanted: str, option: str) -> int:
        """The position of a column given by name or by index, negative ones counting from the end."""
        if self.named:
            positions = [j for j, name in enumerate(self.names) if name == wanted]
            if positions:
                return positions[0]
        try:
            index = int(wanted)
        except ValueError:
            raise ValueError(f"{option} is {wanted!r}, but {self._no_such_column(wanted)}") from None
        if not -self.n_columns <= index < self.n_columns:
            raise ValueError(
                f"{option} is {wanted}, but {self.source} has {count(self.n_columns, 'column')}: indices from 0 to "
                f"{self.n_columns - 1} are allowed, and negative ones count from the end."
            )
        return index % self.n_columns

    def _no_such_column(self, wanted: str) -> str:
        if not self.named:
            return (
                f"{self.source} has no column names: give an index from 0 to {self.n_columns - 1}, or -1 for the last "
                "column."
            )
        return f"{self.source} has no such column: did you mean {nearest(wanted, self.names)!r}?"


def default_names(n_columns: int, first: int = 0) -> list[str]:
    """Names for columns that have none."""
    return [f"x{j}" for j in range(first, first + n_columns)]


def spread(numbers: FloatArray, places: Sequence[int], n_columns: int) -> FloatArray:
    """Numbers in their columns, NaN in the columns of text."""
    if len(places) == n_columns:
        return numbers
    matrix = np.full((len(numbers), n_columns), np.nan, order="F")
    matrix[:, places] = numbers
    return matrix


def whole(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Whole numbers as integers, so that labels look as they did in the file."""
    if values.dtype.kind != "f" or not np.isfinite(values).all() or (values != np.floor(values)).any():
        return values
    return values.astype(np.int64) if np.abs(values).max(initial=0.0) < 2**53 else values
