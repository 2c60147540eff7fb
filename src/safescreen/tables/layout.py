"""What kind of delimited text a file is: its encoding, its delimiter, and whether its first row has names."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

from safescreen.tables.source import Source
from safescreen.text import count

MISSING = frozenset(("", "?", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NAN", "NULL", "null"))
"""Fields that stand for a missing value."""

_DELIMITERS = "\t;,"
_SAMPLE_ROWS = 20
_LONGEST_FIELD = 10_000_000


class Layout(NamedTuple):
    """How a text file is to be read."""

    encoding: str
    delimiter: str
    names: list[str] | None  # None without a header; the names of row numbers and the like are empty
    n_columns: int
    blank_lines: int  # before the first row


def find_layout(source: Source, header: bool | None) -> Layout:
    """Look at the first rows; `header` says whether the first one has names, None that it is to be found out."""
    encoding = "utf-16" if source.head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    delimiter = _find_delimiter(source, encoding)
    sample = list(islice(numbered_rows(source, encoding, delimiter), _SAMPLE_ROWS))
    if not sample:
        raise ValueError(f"{source.name} is empty, but rows with a target and features are needed.")
    line, first = sample[0]
    blank_lines = line - "".join(first).count("\n") - 1
    first, rest = [field.strip() for field in first], [row for _, row in sample[1:]]
    if header is None:
        header = _looks_like_header(first, rest)
    if not header:
        return Layout(encoding, delimiter, None, len(first), blank_lines)
    if rest and len(rest[0]) == len(first) + 1:
        trailing = all(not row[-1].strip() for row in rest)
        first = [*first, ""] if trailing else ["", *first]  # or the rows start with names, as R writes them
    return Layout(encoding, delimiter, first, len(first), blank_lines)


@contextmanager
def text_lines(source: Source, encoding: str, newline: str | None = "") -> Iterator[io.TextIOWrapper]:
    """The lines of a text file with their line ends, all of these alike if `newline` is None; errors are sentences."""
    with source.open() as raw, io.TextIOWrapper(raw, encoding=encoding, newline=newline) as lines:
        try:
            yield lines
        except UnicodeDecodeError as error:
            wrong = error.object[error.start]
            raise ValueError(
                f"{source.name} is not UTF-8 text (it has the byte 0x{wrong:02x}): save it as UTF-8, or convert it "
                "with iconv."
            ) from None
        except csv.Error as error:
            raise ValueError(f"{source.name} cannot be read as delimited text ({error}).") from None


def numbered_rows(source: Source, encoding: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that say something, each with the number of its last line."""
    csv.field_size_limit(_LONGEST_FIELD)
    with text_lines(source, encoding) as lines:
        rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
        for row in rows:
            if len(row) > 1 or (row and row[0].strip()):
                yield rows.line_num, row


def refuse_ragged(source: Source, layout: Layout) -> None:
    """Raise an error if a row has another number of fields than there are columns."""
    rows = numbered_rows(source, layout.encoding, layout.delimiter)
    for line, row in islice(rows, 0 if layout.names is None else 1, None):
        if len(row) != layout.n_columns:
            raise ValueError(
                f"{source.name} has {count(len(row), 'field')} in line {line}, but {layout.n_columns:,} in the first "
                "line: every row needs the same number of fields."
            )


def _find_delimiter(source: Source, encoding: str) -> str:
    """Tab, semicolon or comma: the one that splits the first lines into equally many fields."""
    with text_lines(source, encoding) as text:
        lines = [line for line in islice(text, _SAMPLE_ROWS) if line.strip()] or [""]
    unquoted = ["".join(line.split('"')[::2]) for line in lines]
    counts = {delimiter: [line.count(delimiter) for line in unquoted] for delimiter in _DELIMITERS}
    for delimiter, found in counts.items():
        if len(set(found)) == 1 and found[0] > 0:
            return delimiter
    return max(reversed(_DELIMITERS), key=lambda delimiter: counts[delimiter][0])


def _looks_like_header(first: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Whether the first row holds names.

    It does if none of its fields is a number, if one of them is not a number but those below are, or if it counts the
    columns, which is what frames without names write.
    """
    texts = [j for j, field in enumerate(first) if parsed_number(field) is None and field not in MISSING]
    if len(texts) == sum(field != "" for field in first):
        return True
    if len(first) > 2 and list(first) == [str(j) for j in range(len(first))]:
        return True
    below = [row for row in rest if len(row) == len(first)]
    return any(_all_numbers({row[j].strip() for row in below} - MISSING) for j in texts)


def _all_numbers(fields: Collection[str]) -> bool:
    return bool(fields) and all(parsed_number(field) is not None for field in fields)


def parsed_number(field: str) -> float | None:
    """A number as people write it, None for anything else, and for underscores, which Python allows."""
    try:
        return None if "_" in field else float(field)
    except ValueError:
        return None
