"""CSV and its relatives, with the standard library and NumPy alone: what kind of text it is, and the table."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

import numpy as np

from safescreen.text import listed

from .columns import MISSING, FloatArray, Layout, is_blank, open_lines, read_columns, split_fields
from .source import Source
from .table import Table, Texts, default_names

_BOOLEANS = {"true": 1.0, "false": 0.0}
_DELIMITERS = "\t;,"
_SAMPLE_ROWS = 20


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
        matrix, texts = read_columns(source, layout, kept)
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


def _find_layout(source: Source, header: bool | None) -> Layout:
    encoding = "utf-16" if source.head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    delimiter = _find_delimiter(source, encoding)
    with open_lines(source, encoding) as lines:
        sample = list(islice((row for row in split_fields(lines, delimiter) if not is_blank(row)), _SAMPLE_ROWS))
    if not sample:
        raise ValueError(f"{source.name} is empty, but rows with a target and features are needed.")
    first, rest = [field.strip() for field in sample[0]], sample[1:]
    if header is None:
        header = _looks_like_header(first, rest)
    if not header:
        return Layout(encoding, delimiter, None, len(first))
    if rest and len(rest[0]) == len(first) + 1:
        trailing = all(not row[-1].strip() for row in rest)
        first = [*first, ""] if trailing else ["", *first]  # or the rows start with names, as R writes them
    _refuse_duplicates(source, first)
    return Layout(encoding, delimiter, first, len(first))


def _find_delimiter(source: Source, encoding: str) -> str:
    """Tab, semicolon or comma: the one that splits the first lines into equally many fields."""
    with source.open() as raw, io.TextIOWrapper(raw, encoding=encoding, newline="") as text:
        lines = [line for line in islice(text, _SAMPLE_ROWS) if line.strip()] or [""]
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


def _positions(layout: Layout, wanted: Collection[str]) -> set[int]:
    """Where those of the wanted columns are that exist; who needs the others will say so."""
    positions = set()
    for column in wanted:
        if layout.names is not None and column in layout.names:
            positions.add(layout.names.index(column))
        elif column.lstrip("+-").isdigit() and -layout.n_columns <= int(column) < layout.n_columns:
            positions.add(int(column) % layout.n_columns)
    return positions


# --- the table


def _make_table(source: Source, layout: Layout, matrix: FloatArray, texts: dict[int, Texts], kept: set[int]) -> Table:
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
