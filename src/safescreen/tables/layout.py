"""What kind of delimited text a file is: its encoding, delimiter and decimal point, and whether there are names."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from safescreen.tables.source import Source
from safescreen.text import count

MISSING = frozenset(("", "?", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NAN", "NULL", "null"))
"""Fields that stand for a missing value, in every format."""

BLANKS = " "
"""The delimiter that is any white space."""

THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
"""A number whose commas may separate thousands."""

_DELIMITERS = "\t;,"
_CALLED = {"tab": "\t", "\\t": "\t", "space": BLANKS, "comma": ",", "semicolon": ";"}
_SAMPLE_ROWS = 20
_LONGEST_FIELD = 10_000_000
_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")

Rows = list[tuple[int, list[str]]]  # with the numbers of their last lines


class DecodingError(ValueError):
    """The file's text has another encoding."""


@dataclass(frozen=True)
class Form:
    """What the user says about how a file is written; None where that is to be found out."""

    header: bool | None = None  # whether the first row has names
    delimiter: str | None = None  # a character, or its name
    decimal: str | None = None  # "." or ","
    encoding: str | None = None  # of text
    sheet: str | None = None  # of a workbook, by name or index

    def __post_init__(self) -> None:
        character = self.separator
        if character is not None and (len(character) != 1 or character.isalnum() or character in '"\r\n.#+-'):
            raise ValueError(f"--delimiter is {self.delimiter!r}, but must be a character, 'tab' or 'space'.")
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"--decimal is {self.decimal!r}, but must be '.' or ','.")
        if self.decimal is not None and self.decimal == character:
            raise ValueError(f"--decimal and --delimiter are both {character!r}, but must be different.")
        try:
            io.TextIOWrapper(io.BytesIO(), encoding=self.encoding)
        except LookupError:
            raise ValueError(
                f"--encoding is {self.encoding!r}, but must be one that Python knows, such as 'utf-8' or 'cp1252'."
            ) from None

    @property
    def separator(self) -> str | None:
        """The delimiter as a character."""
        return None if self.delimiter is None else _CALLED.get(self.delimiter.lower(), self.delimiter)


class Layout(NamedTuple):
    """How a text file is to be read."""

    encoding: str
    delimiter: str
    decimal: str
    names: list[str] | None  # None without a header; the names of row numbers and the like are empty
    n_columns: int
    skipped: int  # lines before the first row
    comments: bool  # whether lines are known that are no rows
    notes: tuple[str, ...]  # what was assumed


def find_layout(source: Source, form: Form) -> Layout:
    """Look at the first rows; what the user says about the file is not doubted."""
    encoding = form.encoding or ("utf-16" if source.head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig")
    delimiter = form.separator or _find_delimiter(source, encoding)
    remarks, sample = _first_rows(source, encoding, delimiter)
    if not sample:
        raise ValueError(f"{source.name} is empty, but rows with a target and features are needed.")
    decimal = form.decimal or _find_decimal(delimiter, [row for _, row in sample])
    line, first = sample[0]
    rest = [row for _, row in sample[1:]]
    header = looks_like_header(first, rest, decimal) if form.header is None else form.header
    if form.header is not False and remarks and _is_header(remarks[-1][1], first, rest, decimal):
        header, rest = True, [first, *rest]
        line, first = remarks.pop()
        first = [first[0].lstrip("# "), *first[1:]]
    skipped = line - "".join(first).count("\n") - 1
    names = named_columns(first, rest) if header else None
    said = {
        "Columns are taken to be separated by blanks": delimiter == BLANKS and form.delimiter is None,
        "Commas are taken to be decimal points (--decimal . says otherwise)": decimal == "," and form.decimal is None,
    }
    notes = tuple(f"{note}." for note, assumed in said.items() if assumed)
    width = len(first if names is None else names)
    return Layout(encoding, delimiter, decimal, names, width, skipped, bool(remarks), notes)


def named_columns(first: Sequence[str], rest: Sequence[Sequence[str]]) -> list[str]:
    """The names in the first row, empty ones for columns it has no name for."""
    names = [field.strip() for field in first]
    if rest and len(rest[0]) == len(names) + 1:
        trailing = all(not row[-1].strip() for row in rest)
        return [*names, ""] if trailing else ["", *names]  # or the rows start with names, as R writes them
    return names


@contextmanager
def text_lines(source: Source, encoding: str, newline: str | None = "") -> Iterator[io.TextIOWrapper]:
    """The lines of a text file with their line ends, all of these alike if `newline` is None; errors are sentences."""
    with source.open() as raw, io.TextIOWrapper(raw, encoding=encoding, newline=newline) as lines:
        try:
            yield lines
        except UnicodeDecodeError as error:
            called = encoding.removesuffix("-sig").upper()
            raise DecodingError(
                f"{source.name} is not {called} text (it has the byte 0x{error.object[error.start]:02x}): save it as "
                "UTF-8, or name its encoding with --encoding."
            ) from None
        except UnicodeError as error:
            raise DecodingError(f"{source.name} is not {encoding} text ({error}): name another --encoding.") from None
        except csv.Error as error:
            raise ValueError(f"{source.name} cannot be read as delimited text ({error}).") from None


def numbered_rows(source: Source, encoding: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that say something, each with the number of its last line."""
    csv.field_size_limit(_LONGEST_FIELD)
    with text_lines(source, encoding) as text:
        lines = (f"{line.expandtabs(1).strip()}\n" for line in text) if delimiter == BLANKS else text
        rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
        for row in rows:
            if len(row) > 1 or (row and row[0].strip()):
                yield rows.line_num, row


def data_rows(source: Source, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """The rows below the header, each with the number of its last line, without comments."""
    rows = numbered_rows(source, layout.encoding, layout.delimiter)
    below = (row for row in rows if row[0] > layout.skipped)
    for line, row in islice(below, 0 if layout.names is None else 1, None):
        if len(row) == layout.n_columns or not _is_remark(row):
            yield line, row


def refuse_ragged(source: Source, layout: Layout) -> int:
    """Raise an error if a row has another number of fields than there are columns; else the number of rows."""
    number = 0
    for line, row in data_rows(source, layout):
        number += 1
        if len(row) != layout.n_columns:
            raise ValueError(
                f"{source.name} has {count(len(row), 'field')} in line {line}, but {layout.n_columns:,} in the first "
                "line: every row needs the same number of fields."
            )
    return number


def _is_remark(row: Sequence[str]) -> bool:
    return row[0].startswith("#") and row[0].strip() not in MISSING


def _first_rows(source: Source, encoding: str, delimiter: str) -> tuple[Rows, Rows]:
    """The comments at the top, and the first rows below."""
    remarks: Rows = []
    sample: Rows = []
    for line, row in numbered_rows(source, encoding, delimiter):
        if not sample and _is_remark(row):
            remarks.append((line, row))
        elif not sample or len(row) == len(sample[-1][1]) or not _is_remark(row):
            sample.append((line, row))
        if len(sample) == _SAMPLE_ROWS:
            break
    return (remarks, sample) if sample else ([], remarks[:_SAMPLE_ROWS])  # rows may all begin like that


def _is_header(remark: Sequence[str], first: Sequence[str], rest: Sequence[Sequence[str]], decimal: str) -> bool:
    """Whether the comment above the first row has the names, as NumPy writes them, and the first row has not."""
    if len(remark) != len(first) or len(first) == 1:
        return False
    if remark[0].startswith("# "):
        return not looks_like_header(first, rest, decimal)
    return not _names_numbers(first, rest, decimal)


def _find_delimiter(source: Source, encoding: str) -> str:
    """Tab, semicolon or comma, the one that splits the first lines into equally many fields, or blanks that do."""
    with text_lines(source, encoding) as text:
        told = (line for line in text if line.strip() and not line.startswith("#"))
        lines = list(islice(told, _SAMPLE_ROWS)) or [""]
    unquoted = ["".join(line.split('"')[::2]) for line in lines]
    counts = {delimiter: [line.count(delimiter) for line in unquoted] for delimiter in _DELIMITERS}
    for delimiter, found in counts.items():
        if len(set(found)) == 1 and found[0] > 0:
            return delimiter
    if not any(found[0] for found in counts.values()):
        widths = [len(row) for _, row in _first_rows(source, encoding, BLANKS)[1]]
        if len(set(widths[1:])) == 1 and widths[0] > 1 and widths[1] - widths[0] in (0, 1):
            return BLANKS
    return max(reversed(_DELIMITERS), key=lambda delimiter: counts[delimiter][0])


def _find_decimal(delimiter: str, rows: Sequence[Sequence[str]]) -> str:
    """A comma if a column has numbers with commas that cannot be those of thousands, and nothing has a point."""
    fields = [[field.strip() for field in row] for row in rows]
    if delimiter == "," or any(_POINT.fullmatch(field) for row in fields for field in row):
        return "."
    width = len(fields[-1])
    for j in range(width):
        column = {row[j] for row in fields[len(fields) > 1 :] if len(row) == width} - MISSING
        if any("," in field and not THOUSANDS.fullmatch(field) for field in column) and _all_numbers(column, ","):
            return ","
    return "."


def looks_like_header(first: Sequence[str], rest: Sequence[Sequence[str]], decimal: str = ".") -> bool:
    """Whether the first row holds names.

    It does if none of its fields is a number, if one of them is not a number but those below are, or if it counts the
    columns, which is what frames without names write.
    """
    first = [field.strip() for field in first]
    texts = [j for j, field in enumerate(first) if parsed_number(field, decimal) is None and field not in MISSING]
    if len(texts) == sum(field != "" for field in first):
        return True
    if len(first) > 2 and list(first) == [str(j) for j in range(len(first))]:
        return True
    return _names_numbers(first, rest, decimal)


def _names_numbers(first: Sequence[str], rest: Sequence[Sequence[str]], decimal: str) -> bool:
    """Whether a field of the first row is a text, and all below it are numbers."""
    texts = [j for j, field in enumerate(first) if not _all_numbers({field.strip()}, decimal)]
    below = [row for row in rest if len(row) == len(first)]
    texts = [j for j in texts if first[j].strip() not in MISSING]
    return any(_all_numbers({row[j].strip() for row in below} - MISSING, decimal) for j in texts)


def _all_numbers(fields: Collection[str], decimal: str) -> bool:
    return bool(fields) and all(parsed_number(field, decimal) is not None for field in fields)


def parsed_number(field: str, decimal: str = ".") -> float | None:
    """A number as people write it, None for anything else, and for underscores, which Python allows."""
    if decimal == ",":
        if "." in field:
            return None
        field = field.replace(",", ".")
    try:
        return None if "_" in field else float(field)
    except ValueError:
        return None
