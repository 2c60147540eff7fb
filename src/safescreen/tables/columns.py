"""Rows of delimited text as columns of numbers and of text.

The common case, nothing but numbers, goes through at C speed. Only the pieces of a file in which that fails are looked
at column by column.
"""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from safescreen.text import count

from .source import Source
from .table import Texts

FloatArray = npt.NDArray[np.float64]

MISSING = frozenset(("", "?", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NAN", "NULL", "null"))
"""Fields that stand for a missing value."""

_FIELDS_AT_ONCE = 500_000
_LONGEST_FIELD = 10_000_000
_WHITE_SPACE = " \t\r\n\v\f"
_COMMON_GAPS = (",,", ",NA,", ",?,", ",NULL,", ",null,", ",N/A,")
_NAN = dict.fromkeys(MISSING, "nan")


class Layout(NamedTuple):
    """How a text file is to be read."""

    encoding: str
    delimiter: str
    names: list[str] | None  # None without a header; the names of row numbers and the like are empty
    n_columns: int


class _Lines:
    """The lines of a text; notices underscores, which Python would accept in numbers."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._lines = iter(text)
        self._underscore = False

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        if "_" in line:
            self._underscore = True
        return line

    def had_underscore(self) -> bool:
        """Whether there was an underscore since the last call."""
        found, self._underscore = self._underscore, False
        return found


@contextmanager
def open_lines(source: Source, encoding: str) -> Iterator[_Lines]:
    """The lines of a text file, line ends included."""
    csv.field_size_limit(_LONGEST_FIELD)
    with source.open() as raw, io.TextIOWrapper(raw, encoding=encoding, newline="") as text:
        yield _Lines(text)


def split_fields(lines: Iterable[str], delimiter: str) -> Any:
    """Rows of fields, with the number of the last line as ``line_num``."""
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True)


def is_blank(row: Sequence[str]) -> bool:
    """Whether a row says nothing."""
    return not row or (len(row) == 1 and not row[0].strip())


def read_columns(source: Source, layout: Layout, kept: set[int]) -> tuple[FloatArray, dict[int, Texts]]:
    """All columns; those that turn out to be text are read in a second pass, from their first field on."""
    textual = set(kept)
    while True:
        found = _Pass(source, layout, textual)
        if not found.new:
            return found.matrix, found.texts
        textual |= found.new


class _Pass:
    """One pass over the file: numbers, the columns known to be text, and which others turn out to be.

    Lines without quotes are split by counting delimiters and parsed by NumPy; the others, and all that are not plain
    numbers, by the csv module and column by column.
    """

    def __init__(self, source: Source, layout: Layout, textual: set[int]) -> None:
        self._source, self._layout, self._textual = source, layout, sorted(textual)
        self._numeric = [j for j in range(layout.n_columns) if j not in textual]
        self._texts: dict[int, list[str | None]] = {j: [] for j in self._textual}
        self.new: set[int] = set()
        pieces: list[FloatArray] = []
        for piece in self._pieces():
            if self.new and not pieces:
                break  # little is lost by starting again
            pieces.append(piece)
        self.matrix = np.concatenate(pieces) if pieces else np.empty((0, layout.n_columns))

    @property
    def texts(self) -> dict[int, Texts]:
        """The columns of text."""
        return {j: np.array(values, dtype=object) for j, values in self._texts.items()}

    def _pieces(self) -> Iterator[FloatArray]:
        at_once = max(_FIELDS_AT_ONCE // self._layout.n_columns, 1)
        with open_lines(self._source, self._layout.encoding) as lines:
            if self._layout.names is not None:
                next(row for row in split_fields(lines, self._layout.delimiter) if not is_blank(row))
            lines.had_underscore()
            while chunk := list(islice(lines, at_once)):
                if any('"' in line for line in chunk):
                    break  # from here on, fields may hold delimiters and line ends
                yield self._fromopen_lines(chunk, lines.had_underscore())
            rows = split_fields(chain(chunk, lines), self._layout.delimiter)
            while some := list(islice(rows, at_once)):
                yield self._from_rows(some, lines.had_underscore())

    def _fromopen_lines(self, chunk: list[str], underscore: bool) -> FloatArray:
        """Lines without quotes, at C speed if they hold plain numbers."""
        delimiter, width = self._layout.delimiter, self._layout.n_columns
        plain = {line.count(delimiter) for line in chunk} == {width - 1}
        bodies, texts = self._without_texts(chunk) if plain else (None, [])
        numbers = None if bodies is None else _parse(bodies, delimiter, len(chunk) * len(self._numeric))
        if numbers is None:
            return self._from_rows(list(split_fields(chunk, delimiter)), underscore)
        for j, column in zip(self._textual, texts, strict=True):
            self._texts[j] += _as_texts(column)
        return self._spread(numbers)

    def _without_texts(self, chunk: list[str]) -> tuple[list[str] | None, list[list[str]]]:
        """The lines without a first or last field of text; columns of text elsewhere take longer."""
        delimiter = self._layout.delimiter
        if not self._textual:
            return chunk, []
        if self._textual == [self._layout.n_columns - 1]:
            split = [line.rpartition(delimiter) for line in chunk]
            return [head for head, _, _ in split], [[tail for _, _, tail in split]]
        if self._textual == [0]:
            split = [line.partition(delimiter) for line in chunk]
            return [tail for _, _, tail in split], [[head for head, _, _ in split]]
        return None, []

    def _from_rows(self, rows: list[list[str]], underscore: bool) -> FloatArray:
        """Rows of fields; the numbers are tried all at once before they are looked at column by column."""
        width = self._layout.n_columns
        if set(map(len, rows)) != {width}:
            rows = [row for row in rows if not is_blank(row)]
            if any(len(row) != width for row in rows):
                raise _ragged(self._source, self._layout)
        for j in reversed(self._textual):
            self._texts[j] += _as_texts([row.pop(j) for row in rows])
        if not underscore:
            fields = [*chain.from_iterable(rows)]
            for candidate in (fields, _filled(fields)):
                try:
                    return self._spread(np.fromiter(map(float, candidate), np.float64, len(fields)))
                except ValueError:
                    pass
        values = np.full((len(rows), width), np.nan)
        for j, column in zip(self._numeric, zip(*rows, strict=True), strict=False):
            numbers = _as_numbers(column, underscore)
            if numbers is None:
                self.new.add(j)
            else:
                values[:, j] = numbers
        return values

    def _spread(self, numbers: FloatArray) -> FloatArray:
        """Numbers in their columns, NaN in the columns of text."""
        rows = numbers.reshape(-1, len(self._numeric))
        if not self._textual:
            return rows
        values = np.full((rows.shape[0], self._layout.n_columns), np.nan)
        values[:, self._numeric] = rows
        return values


def _parse(lines: Sequence[str], delimiter: str, size: int) -> FloatArray | None:
    """Delimited numbers, some of them missing, or None if there is anything else.

    NumPy reads a field of nothing but white space as -1, so that no text with white space may get there.
    """
    if delimiter != "," and any("," in line for line in lines):
        return None
    text = delimiter.join(line.rstrip("\r\n") for line in lines).replace(delimiter, ",")
    if " " in text:
        text = text.replace(", ", ",")
    if any(space in text for space in _WHITE_SPACE):
        return None
    numbers = _from_string(text, size)
    if numbers is not None:
        return numbers
    text = f",{text},"
    for gap in _COMMON_GAPS:
        if gap in text:
            text = text.replace(gap, ",nan,").replace(gap, ",nan,")  # twice, since neighbours share a comma
            numbers = _from_string(text[1:-1], size)
            if numbers is not None:
                return numbers
    return None


def _from_string(text: str, size: int) -> FloatArray | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # older versions of NumPy only warn
            numbers = np.fromstring(text, sep=",")
    except (ValueError, DeprecationWarning):
        return None
    return numbers if numbers.size == size else None


def _as_texts(column: Sequence[str]) -> list[str | None]:
    stripped = (field.strip() for field in column)
    return [None if field in MISSING else field for field in stripped]


def _as_numbers(column: Sequence[str], underscore: bool) -> FloatArray | None:
    """A column as numbers, or None if it has anything else."""
    if underscore and any("_" in field for field in column):
        return None
    for fields in _readings(column):
        try:
            return np.fromiter(map(float, fields), np.float64, len(column))
        except ValueError:
            pass
    return None


def _readings(column: Sequence[str]) -> Iterator[Iterable[str]]:
    """Ways to read a column, the cheapest first."""
    yield column
    yield _filled(column)
    yield _filled([field.strip() for field in column])


def _filled(fields: Sequence[str]) -> Iterable[str]:
    """The fields, those that stand for a missing value as ``nan``."""
    return map(_NAN.get, fields, fields)


def _ragged(source: Source, layout: Layout) -> ValueError:
    """The sentence about the first row of another length."""
    width = layout.n_columns
    with open_lines(source, layout.encoding) as lines:
        reader = split_fields(lines, layout.delimiter)
        rows = (row for row in reader if not is_blank(row))
        if layout.names is not None:
            next(rows)
        for row in rows:
            if len(row) != width:
                return ValueError(
                    f"{source.name} has {count(len(row), 'field')} in line {reader.line_num}, but {width:,} in the "
                    "first line: every row needs the same number of fields."
                )
    raise AssertionError("The rows are not ragged after all.")
