"""Excel workbooks through openpyxl, which is loaded here and nowhere else."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from safescreen.tables.fields import kept_columns, named_table, sorted_out
from safescreen.tables.layout import Form, looks_like_header, named_columns
from safescreen.tables.room import available_memory, check_room, check_unpacked
from safescreen.tables.source import Source
from safescreen.tables.table import Table, position
from safescreen.text import listed, suggestion

_MOST_ROWS = 1 << 20
_BYTES_OF_CELL = 40
_SIZE_OF_TREE = 8
_LARGEST_PART = 1 << 26
_KEPT_WHOLE = re.compile(r"\[Content_Types\]\.xml|xl/(workbook|styles|theme/.*)\.xml|docProps/.*|.*\.rels")


def read_excel(source: Source, form: Form, labels: Collection[str] = ()) -> Table:
    """Read one sheet; what stands in its cells means what it would mean in a text file."""
    rows, notes = _read_rows(source, form)
    cells = [(i, row) for i, row in enumerate(rows, 1) if row]
    if not cells:
        raise ValueError(f"{source.name} has an empty sheet, but rows with a target and features are needed.")
    width = max(len(row) for _, row in cells)
    full = [[*row, *[None] * (width - len(row))] for _, row in cells]
    sample = [["" if cell is None else str(cell) for cell in row] for row in full[:20]]
    header = looks_like_header(sample[0], sample[1:]) if form.header is None else form.header
    names = named_columns(sample[0], sample[1:]) if header else None
    body, numbers = full[header:], [i for i, _ in cells[header:]]
    matrix, decimal = np.full((len(body), width), np.nan), form.decimal or "."
    columns = {j: [row[j] for row in body] for j in range(width)}
    texts = sorted_out(matrix, columns, kept_columns(labels, names, width), decimal)
    table = named_table(source.name, names, matrix, texts, decimal)
    return replace(table, notes=(*notes, *table.notes), places=lambda rows: [f"row {numbers[i]:,}" for i in rows])


def _read_rows(source: Source, form: Form) -> tuple[list[tuple[Any, ...]], tuple[str, ...]]:
    try:
        import openpyxl
    except ImportError:
        raise ImportError(
            f"{source.name} is an Excel workbook, which needs openpyxl: pip install 'safescreen[excel]', or save it as "
            "CSV."
        ) from None
    with source.open() as stream:
        content = io.BytesIO(stream.read())
    _check_parts(source, content)
    with _damage_told(source):
        book = openpyxl.load_workbook(content, read_only=True, data_only=True)
        names = [sheet.title for sheet in book.worksheets]
    name, notes = _find_sheet(source, names, form.sheet)
    with _damage_told(source):
        book[name].reset_dimensions()  # some programs write wrong ones
        return _bounded_rows(source, book[name].iter_rows(values_only=True)), notes


def _check_parts(source: Source, content: io.BytesIO) -> None:
    """Refuse parts that expand too far, for those of which all is kept at once, in a tree of many times their size."""
    with _damage_told(source), zipfile.ZipFile(content) as book:
        sizes = {part.filename: part.file_size for part in book.infolist()}
    available = available_memory()
    check_unpacked(source.name, sum(sizes.values()), available)
    shared = sum(size for name, size in sizes.items() if name.endswith("sharedStrings.xml"))
    check_room(source.name, "has texts that take", _SIZE_OF_TREE * shared, available)
    for name, size in sizes.items():
        if _KEPT_WHOLE.fullmatch(name) and size > _LARGEST_PART:
            raise ValueError(f"{source.name} is a damaged Excel workbook ({name!r} expands to {size:,} bytes).")


def _bounded_rows(source: Source, rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """All rows; a single cell far to the right or below makes a table with as many gaps."""
    available = available_memory()
    found: list[tuple[Any, ...]] = []
    width = 0
    for row in rows:
        filled = max((j for j, cell in enumerate(row, 1) if cell is not None), default=0)
        found.append(row[:filled])
        width = max(width, filled)
        if len(found) > _MOST_ROWS:
            raise ValueError(f"it has more than {_MOST_ROWS:,} rows, which Excel does not know")
        cells = len(found) * width
        check_room(source.name, f"has {cells:,} cells, which take", _BYTES_OF_CELL * cells, available)
    return found


@contextmanager
def _damage_told(source: Source) -> Iterator[None]:
    """One sentence for whatever openpyxl cannot make sense of, and nothing about styles and extensions."""
    broken = (zipfile.BadZipFile, zlib.error, LookupError, OSError, SyntaxError, TypeError, AttributeError, ValueError)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    except (*broken, EOFError, RuntimeError) as error:
        raise ValueError(f"{source.name} is a damaged Excel workbook ({error}).") from None


def _find_sheet(source: Source, names: list[str], wanted: str | None) -> tuple[str, tuple[str, ...]]:
    """The sheet that is wanted, the first one if nobody says; which is worth a note if there are others."""
    if not names:
        raise ValueError(f"{source.name} has no sheet with cells.")
    if wanted is None:
        note = f"Sheet {names[0]!r} is read; there are also {listed(names[1:])} (--sheet)."
        return names[0], (note,) if len(names) > 1 else ()
    place = position(wanted, names, len(names))
    if place is None:
        raise ValueError(f"--sheet is {wanted!r}, but {source.name} has no such sheet: {suggestion(wanted, names)}")
    return names[place], ()
