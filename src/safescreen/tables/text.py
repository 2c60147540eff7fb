"""CSV and its relatives, with the standard library and NumPy alone.

The common case, nothing but numbers, goes through one pass at C speed. Only the pieces of a file in which that fails
are looked at column by column.
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .source import Source
from .table import Table, Texts, count, default_names, listed

FloatArray = npt.NDArray[np.float64]

MISSING = frozenset(("", "?", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NAN", "NULL", "null"))
"""Fields that stand for a missing value."""

_BOOLEANS = {"true": 1.0, "false": 0.0}
_DELIMITERS = "\t;,"
_SAMPLE_ROWS = 20
_FIELDS_AT_ONCE = 500_000
_LONGEST_FIELD = 10_000_000


class _Layout(NamedTuple):
    """How a text file is to be read."""

    encoding: str
    delimiter: str
    names: list[str] | None  # None without a header; the names of row numbers and the like are empty
    n_columns: int


def read_text(source: Source, header: bool | None = None, labels: Collection[str] = ()) -> Table:
    """Read a delimited text file.

    Parameters
    ----------
    source : Source
        The file.
    header : bool, optional
        Whether the first row has names; by default that is found out.
    labels : collection of str
        Columns, by name or index, to be kept as text even if they look like numbers, because what they mean is not
        a quantity.
    """
    with _clear_errors(source):
        layout = _find_layout(source, header)
        kept = _positions(layout, labels)
        matrix, texts = _read_columns(source, layout, kept)
    if matrix.shape[0] == 0:
        raise ValueError(f"{source.name} has a header but no rows of data.")
    return _make_table(source, layout, matrix, texts, kept)


def read_names(source: Source) -> list[str]:
    """The column names alone, for those who cannot wait for the rest."""
    with _clear_errors(source):
        return _find_layout(source, None).names or []


@contextmanager
def _clear_errors(source: Source) -> Iterator[None]:
    """Encoding and quoting errors as sentences."""
    try:
        yield
    except UnicodeDecodeError as error:
        wrong = error.object[error.start]
        raise ValueError(
            f"{source.name} is not UTF-8 text (it has the byte 0x{wrong:02x}): save it as UTF-8, or convert it with "
            "iconv."
        ) from None
    except csv.Error as error:
        raise ValueError(f"{source.name} cannot be read as delimited text ({error}).") from None


# --- what kind of text file it is


def _find_layout(source: Source, header: bool | None) -> _Layout:
    encoding = "utf-16" if source.head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    delimiter = _find_delimiter(source, encoding)
    with _rows(source, encoding, delimiter) as reader:
        sample = list(islice((row for row in reader if not _is_blank(row)), _SAMPLE_ROWS))
    if not sample:
        raise ValueError(f"{source.name} is empty, but rows with a target and features are needed.")
    first, rest = [field.strip() for field in sample[0]], sample[1:]
    if header is None:
        header = _looks_like_header(first, rest)
    if not header:
        return _Layout(encoding, delimiter, None, len(first))
    if rest and len(rest[0]) == len(first) + 1:
        trailing = all(not row[-1].strip() for row in rest)
        first = [*first, ""] if trailing else ["", *first]  # or the rows start with names, as R writes them
    _refuse_duplicates(source, first)
    return _Layout(encoding, delimiter, first, len(first))


def _find_delimiter(source: Source, encoding: str) -> str:
    """Tab, semicolon or comma: the one that splits the first lines into equally many fields."""
    with source.open() as raw, io.TextIOWrapper(raw, encoding=encoding, newline="") as text:
        lines = [line for line in islice(text, _SAMPLE_ROWS) if line.strip()]
    counts = {delimiter: [_count_outside_quotes(line, delimiter) for line in lines] for delimiter in _DELIMITERS}
    for delimiter, found in counts.items():
        if len(set(found)) == 1 and found[0] > 0:
            return delimiter
    return max(reversed(_DELIMITERS), key=lambda delimiter: counts[delimiter][0])


def _count_outside_quotes(line: str, delimiter: str) -> int:
    return line.count(delimiter) if '"' not in line else sum(part.count(delimiter) for part in line.split('"')[::2])


def _looks_like_header(first: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Whether the first row holds names.

    It does if none of its fields is a number, if one of them is not a number but those below are, or if it counts the
    columns, which is what frames without names write.
    """
    texts = [j for j, field in enumerate(first) if not (_is_number(field) or field in MISSING)]
    if len(texts) == sum(field != "" for field in first):
        return True
    if len(first) > 2 and list(first) == [str(j) for j in range(len(first))]:
        return True
    below = [row for row in rest if len(row) == len(first)]
    return any(_all_numbers([row[j].strip() for row in below]) for j in texts)


def _all_numbers(fields: Sequence[str]) -> bool:
    present = [field for field in fields if field not in MISSING]
    return bool(present) and all(_is_number(field) for field in present)


def _is_number(field: str) -> bool:
    if "_" in field:
        return False
    try:
        return not math.isnan(float(field))
    except ValueError:
        return False


def _refuse_duplicates(source: Source, names: Sequence[str]) -> None:
    twice = [name for name, times in Counter(names).items() if name and times > 1]
    if twice:
        raise ValueError(
            f"{source.name} has more than one column named {listed(twice)}: rename them, or remove the header and use "
            "indices."
        )


def _positions(layout: _Layout, wanted: Collection[str]) -> set[int]:
    """Where those of the wanted columns are that exist; who needs the others will say so."""
    positions = set()
    for column in wanted:
        if layout.names is not None and column in layout.names:
            positions.add(layout.names.index(column))
        elif column.lstrip("+-").isdigit() and -layout.n_columns <= int(column) < layout.n_columns:
            positions.add(int(column) % layout.n_columns)
    return positions


# --- rows


class _Lines:
    """The lines of a text; notices underscores, which Python would accept in numbers."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text
        self.underscore = False

    def __iter__(self) -> Iterator[str]:
        for line in self._text:
            if "_" in line:
                self.underscore = True
            yield line


class _Reader:
    """Rows, and whether the rows since the last question may hold underscores."""

    def __init__(self, text: io.TextIOWrapper, delimiter: str) -> None:
        self._lines = _Lines(text)
        self._rows = csv.reader(iter(self._lines), delimiter=delimiter, skipinitialspace=True)

    def __iter__(self) -> Iterator[list[str]]:
        return iter(self._rows)

    @property
    def line(self) -> int:
        """The number of the line read last."""
        return self._rows.line_num

    def had_underscore(self) -> bool:
        """Whether there was an underscore since the last call."""
        found, self._lines.underscore = self._lines.underscore, False
        return found


@contextmanager
def _rows(source: Source, encoding: str, delimiter: str) -> Iterator[_Reader]:
    csv.field_size_limit(_LONGEST_FIELD)
    with source.open() as raw, io.TextIOWrapper(raw, encoding=encoding, newline="") as text:
        yield _Reader(text, delimiter)


def _is_blank(row: Sequence[str]) -> bool:
    return not row or (len(row) == 1 and not row[0].strip())


def _read_columns(source: Source, layout: _Layout, kept: set[int]) -> tuple[FloatArray, dict[int, Texts]]:
    """All columns; those that turn out to be text are read in a second pass, from their first field on."""
    textual = set(kept)
    while True:
        matrix, texts, found = _read_pass(source, layout, textual)
        if not found:
            return matrix, texts
        textual |= found


def _read_pass(source: Source, layout: _Layout, textual: set[int]) -> tuple[FloatArray, dict[int, Texts], set[int]]:
    """One pass over the file: numbers, the columns known to be text, and which others are."""
    width = layout.n_columns
    at_once = max(_FIELDS_AT_ONCE // width, 1)
    pieces: list[FloatArray] = []
    texts: dict[int, list[str | None]] = {j: [] for j in sorted(textual)}
    found: set[int] = set()
    with _rows(source, layout.encoding, layout.delimiter) as reader:
        rows = (row for row in reader if row)
        if layout.names is not None:
            next(row for row in rows if not _is_blank(row))
        reader.had_underscore()
        while chunk := list(islice(rows, at_once)):
            if set(map(len, chunk)) != {width}:
                chunk = [row for row in chunk if not _is_blank(row)]
                if any(len(row) != width for row in chunk):
                    raise _ragged(source, layout)
            piece, new = _convert(chunk, width, textual, reader.had_underscore(), texts)
            found |= new
            if found and not pieces:
                break  # little is lost by starting again
            pieces.append(piece)
    matrix = np.concatenate(pieces) if pieces else np.empty((0, width))
    return matrix, {j: np.array(values, dtype=object) for j, values in texts.items()}, found


def _convert(
    chunk: list[list[str]], width: int, textual: set[int], underscore: bool, texts: dict[int, list[str | None]]
) -> tuple[FloatArray, set[int]]:
    """Some rows as numbers; texts are added to those before them."""
    if not textual and not underscore:
        try:
            fields = chain.from_iterable(chunk)
            return np.fromiter(map(float, fields), np.float64, count=len(chunk) * width).reshape(-1, width), set()
        except ValueError:
            pass
    values = np.full((len(chunk), width), np.nan)
    found = set()
    for j, column in enumerate(zip(*chunk, strict=True)):
        if j in textual:
            texts[j] += _as_texts(column)
            continue
        numbers = _as_numbers(column, underscore)
        if numbers is None:
            found.add(j)
        else:
            values[:, j] = numbers
    return values, found


def _as_texts(column: Sequence[str]) -> list[str | None]:
    stripped = (field.strip() for field in column)
    return [None if field in MISSING else field for field in stripped]


def _as_numbers(column: Sequence[str], underscore: bool) -> FloatArray | None:
    """A column as numbers, or None if it has anything else."""
    if underscore and any("_" in field for field in column):
        return None
    try:
        return np.fromiter(map(float, column), np.float64, count=len(column))
    except ValueError:
        pass
    filled = ("nan" if field.strip() in MISSING else field for field in column)
    try:
        return np.fromiter(map(float, filled), np.float64, count=len(column))
    except ValueError:
        return None


def _ragged(source: Source, layout: _Layout) -> ValueError:
    """The sentence about the first row of another length."""
    width = layout.n_columns
    with _rows(source, layout.encoding, layout.delimiter) as reader:
        rows = (row for row in reader if not _is_blank(row))
        if layout.names is not None:
            next(rows)
        for row in rows:
            if len(row) != width:
                return ValueError(
                    f"{source.name} has {count(len(row), 'field')} in line {reader.line}, but {width:,} in the first "
                    "line: every row needs the same number of fields."
                )
    raise AssertionError("The rows are not ragged after all.")


# --- the table


def _make_table(source: Source, layout: _Layout, matrix: FloatArray, texts: dict[int, Texts], kept: set[int]) -> Table:
    notes: list[str] = []
    for j in [j for j in texts if j not in kept]:
        numbers = _booleans(texts[j])
        if numbers is not None:
            matrix[:, j] = numbers
            del texts[j]
    if layout.names is None:
        names = default_names(layout.n_columns)
        return Table(source.name, names, False, matrix, texts)
    used = [j for j, name in enumerate(layout.names) if name or not _is_filler(j, matrix, texts, notes)]
    names = [layout.names[j] or f"x{j}" for j in used]
    if len(used) < layout.n_columns:
        texts = {place: texts[j] for place, j in enumerate(used) if j in texts}
        matrix = matrix[:, used]
    return Table(source.name, names, True, matrix, texts, notes=tuple(notes))


def _booleans(column: Texts) -> FloatArray | None:
    """A column of true and false as ones and zeros."""
    words = {value for value in column.tolist() if value is not None}
    if not words or not all(word.lower() in _BOOLEANS for word in words):
        return None
    return np.array([np.nan if value is None else _BOOLEANS[value.lower()] for value in column.tolist()])


def _is_filler(j: int, matrix: FloatArray, texts: dict[int, Texts], notes: list[str]) -> bool:
    """Whether a column without a name is a row number, a row name or nothing: no feature anybody means."""
    if j in texts:
        row_names = j == 0
    else:
        values = matrix[:, j]
        if np.isnan(values).all():
            return True
        row_names = j == 0 and bool((np.diff(values) == 1.0).all())
    if row_names:
        notes.append("The first column has no name and is taken as row names.")
    return row_names
