"""The table: columns as they were read from a file, before anybody decides what to do with them."""

from __future__ import annotations

import re
import reprlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from safescreen.arrays import AnyArray, BoolArray, FloatArray
from safescreen.tables.layout import parsed_number
from safescreen.text import count, listed, suggestion

Texts = npt.NDArray[np.object_]

LABELS = "y"
"""The array with the labels where nobody says otherwise."""

MOST_COLUMNS = 20_000_000
"""Beyond that, a number of columns is a mistake, and their names alone would fill the memory."""

_FEW_COLUMNS = 2_000_000  # so many are no burden

_INDEX = re.compile(r"[+-]?\d+")


@dataclass(frozen=True)
class Table:
    """Columns of numbers and columns of text."""

    source: str  # what to call the file in messages
    names: list[str]  # one per column, invented ones if the file has none
    named: bool  # whether the names come from the file
    matrix: Any  # dense or sparse, NaN where a number is missing; columns of text are NaN throughout
    texts: dict[int, Texts] = field(default_factory=dict)  # by position, None where a value is missing
    arrays: dict[str, AnyArray] = field(default_factory=dict)  # one entry per row each, such as labels ``y``
    first_index: int | None = None  # of a format that numbers its columns, so that a file need not reach the last one
    notes: tuple[str, ...] = ()  # what a user should know about the reading
    row_names: Texts | None = None  # a first column without a name
    decimal: str = "."  # the decimal point of numbers in texts
    places: Callable[[Sequence[int]], list[str]] = lambda rows: [f"row {i + 1:,}" for i in rows]  # where rows stand

    def __post_init__(self) -> None:
        twice = [name for name, times in Counter(self.names).items() if times > 1]
        if twice:
            raise ValueError(f"{self.source} has more than one column named {listed(twice)}: rename them.")
        if self.n_rows == 0:
            raise ValueError(f"{self.source} has {'a header' if self.named else 'columns'} but no rows of data.")

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.matrix.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.matrix.shape[1])

    def column(self, wanted: str, option: str) -> tuple[AnyArray, int | None]:
        """The values of an array, or of a column given by name or by index, and the position of the latter."""
        if wanted in self.arrays:
            return self.arrays[wanted], None
        place = self.find(wanted, option)
        if place in self.texts:
            return self.texts[place], place
        column = self.matrix[:, [place]]
        return np.asarray(column.toarray() if sparse.issparse(column) else column).ravel(), place

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
        if self.named or self._is_row(wanted):
            absent = f"such column: {self._hint(wanted)}"
        else:
            absent = f"column names: give an index from 0 to {self.n_columns - 1}, or -1 for the last column."
        raise ValueError(f"{option} is {wanted!r}, but {self.source} has no {absent}")

    def _hint(self, wanted: str) -> str:
        """What may be meant by a column that is not there; perhaps a row, if samples are columns."""
        if self._is_row(wanted):
            return f"is the file transposed, with a row {wanted!r} where each row has to be a sample?"
        return suggestion(wanted, self.names)

    def _is_row(self, wanted: str) -> bool:
        """Whether a row begins with what should be the name of a column."""
        rows = self.texts.get(0) if self.row_names is None else self.row_names
        return rows is not None and wanted in rows.tolist()

    def example(self, places: Sequence[int]) -> str:
        """Columns of text, with an instance."""
        names = list(dict.fromkeys(self.names[place] for place in places))
        return f"{quoted_columns(names)}{self.instance(places[0])}"

    def instance(self, place: int) -> str:
        """The first text of a column that is not a number, and where it stands."""
        texts = self.texts[place].tolist()
        present = [i for i, text in enumerate(texts) if text is not None]
        first = next((i for i in present if parsed_number(texts[i], self.decimal) is None), next(iter(present), None))
        return "" if first is None else f" (such as {reprlib.repr(texts[first])} in {self.places([first])[0]})"


def position(wanted: str, names: Sequence[str], n_columns: int) -> int | None:
    """Where the column with a name or an index is, negative ones counting from the end; None if there is none."""
    if wanted in names:
        return names.index(wanted)
    if _INDEX.fullmatch(wanted) and -n_columns <= int(wanted) < n_columns:
        return int(wanted) % n_columns
    return None


def most_columns(n_entries: int) -> int:
    """How many columns to believe in: a small file can state a huge index or shape, by mistake or malice."""
    return min(MOST_COLUMNS, max(_FEW_COLUMNS, 100 * n_entries))


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


def quoted_columns(names: Sequence[str]) -> str:
    """A few names, for messages."""
    return f"{'column' if len(names) == 1 else 'columns'} {listed(names)}"


def missing(values: AnyArray) -> BoolArray:
    """Where a text, label or weight is missing: None or NaN."""
    return np.array([value is None or value != value for value in values.tolist()], dtype=np.bool_)


def columns_with(test: Callable[[AnyArray], BoolArray], matrix: AnyArray) -> list[int]:
    """Columns with NaN or infinity, whichever the test finds; sums say where to look, without a mask of the matrix."""
    if matrix.dtype.kind != "f":
        return []
    with np.errstate(invalid="ignore", over="ignore"):
        suspects = np.flatnonzero(~np.isfinite(matrix.sum(axis=0)))
    return [int(j) for j in suspects if test(matrix[:, j]).any()]


def whole(values: AnyArray) -> AnyArray:
    """Whole numbers as integers, so that labels look as they did in the file."""
    if values.dtype.kind != "f" or not np.isfinite(values).all() or (values != np.floor(values)).any():
        return values
    return values.astype(np.int64) if np.abs(values).max(initial=0.0) < 2**53 else values
