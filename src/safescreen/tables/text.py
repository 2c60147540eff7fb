"""CSV and its relatives through pandas, which is loaded only when such a file is read."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from safescreen.arrays import FloatArray
from safescreen.tables.fields import kept_columns, named_table, sorted_out
from safescreen.tables.layout import (
    BLANKS,
    MISSING,
    DecodingError,
    Form,
    Layout,
    data_rows,
    find_layout,
    refuse_ragged,
    text_lines,
)
from safescreen.tables.room import CHUNK, Watch, WeighedText, available_memory, check_room
from safescreen.tables.source import Source
from safescreen.tables.table import Table, Texts, spread

_WINDOWS = "cp1252"
_BYTES_OF_FIELD = 16  # its place in the text and its number, or its number twice
_BYTES_OF_TEXT = 64  # of a field that is kept
_EXACT_BY_DEFAULT = (3, 1)  # pandas from then on warns about asking for exact numbers, earlier ones need to be asked


def read_text(source: Source, form: Form, labels: Collection[str] = ()) -> Table:
    """Read a delimited text file; `labels` are columns kept as text, since what they mean is not a quantity."""
    try:
        return _read(source, form, labels)
    except DecodingError:
        if form.encoding is not None:
            raise
        try:
            table = _read(source, replace(form, encoding=_WINDOWS), labels)
        except DecodingError:
            table = None
        if table is None:
            raise
    note = "The file is not UTF-8 and taken to be Windows-1252 (--encoding says otherwise)."
    return replace(table, notes=(note, *table.notes))


def _read(source: Source, form: Form, labels: Collection[str]) -> Table:
    layout = find_layout(source, form)
    kept = kept_columns(labels, layout.names, layout.n_columns)
    frame, layout = _read_frame(source, layout, kept)
    if huge := _huge_integers(frame):
        frame, layout = _read_frame(source, layout, kept | huge)
    matrix, texts = _columns(source.name, frame, kept, layout.decimal)
    table = named_table(source.name, layout.names, matrix, texts, layout.decimal)
    comments = ("Lines that begin with # are taken to be comments.",) if layout.comments else ()
    notes = (*layout.notes, *comments, *table.notes)
    return replace(table, notes=notes, places=lambda rows: _lines(source, layout, rows))


def _lines(source: Source, layout: Layout, rows: Sequence[int]) -> list[str]:
    """The lines of a few rows."""
    if layout.n_columns == 1:  # whose blank lines are rows
        return [f"row {i + 1:,}" for i in rows]
    found = dict(zip(rows, rows, strict=True))
    for i, (line, _) in enumerate(islice(data_rows(source, layout), max(rows, default=-1) + 1)):
        if i in found:
            found[i] = line
    return [f"line {found[i]:,}" for i in rows]


def _read_frame(source: Source, layout: Layout, textual: set[int]) -> tuple[Any, Layout]:
    """All columns, named by their positions: numbers where a column has nothing else, text as it is in the file."""
    import pandas as pd

    skip = layout.n_columns > 1  # the only column has a gap where a line is blank
    first_row = 0 if skip else layout.skipped
    exact = tuple(map(int, pd.__version__.split(".")[:2])) >= _EXACT_BY_DEFAULT
    with (
        text_lines(source, layout.encoding, newline=None) as lines,  # since pandas misreads some bare carriage returns
        warnings.catch_warnings(action="error", category=pd.errors.ParserWarning),
    ):
        try:
            frame = pd.read_csv(
                _rewritten(source, layout) if layout.comments else _watched(source, layout, lines),
                sep="," if layout.comments else r"\s+" if layout.delimiter == BLANKS else layout.delimiter,
                decimal=layout.decimal,
                header=None if layout.names is None or layout.comments else first_row,
                names=range(layout.n_columns),
                index_col=False,
                dtype=dict.fromkeys(textual, str),
                na_values=list(MISSING),
                keep_default_na=False,
                skip_blank_lines=skip,
                skipinitialspace=True,
                low_memory=False,  # or the type of a column would be decided piece by piece
                float_precision=None if exact else "round_trip",
            )
        except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
            reason = str(error).rpartition("C error: ")[2].strip()
            if "EOF inside string" not in reason and _only_comments(source, layout):
                return _read_frame(source, layout._replace(comments=True), textual)
            raise ValueError(
                f"{source.name} cannot be read as delimited text ({reason}): close all quotation marks, and give every "
                "row the same number of fields."
            ) from None
    last = frame.iloc[:, -1]
    if (last.isna().any() or last.eq("").any()) and _only_comments(source, layout, len(frame)):  # pandas fills rows up
        return _read_frame(source, layout._replace(comments=True), textual)
    return frame, layout


def _only_comments(source: Source, layout: Layout, n_rows: int = -1) -> bool:
    """Whether rows have another number of fields because some are comments below the first row."""
    return refuse_ragged(source, layout) != n_rows and layout.n_columns > 1 and not layout.comments


def _watched(source: Source, layout: Layout, lines: Any) -> WeighedText:
    """The text, unless there is more than memory for it."""
    watch = Watch(lambda available: _check_whole(source, layout, available))
    return WeighedText(lines, watch, lambda piece: _weight(piece, layout.delimiter))


def _check_whole(source: Source, layout: Layout, available: int) -> None:
    """See how much the text and its fields take, without keeping them."""
    weight = 0
    with text_lines(source, layout.encoding, newline=None) as lines:
        while piece := lines.read(CHUNK):
            weight += _weight(piece, layout.delimiter)
            check_room(source.name, "takes", weight, available)


def _weight(piece: str, delimiter: str) -> int:
    return len(piece) + _BYTES_OF_FIELD * (piece.count(delimiter) + piece.count("\n"))


def _rewritten(source: Source, layout: Layout) -> io.StringIO:
    """The rows without header and comments, which pandas cannot tell from rows that begin with #."""
    _check_whole(source, layout, available_memory())
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(row for _, row in data_rows(source, layout))
    text.seek(0)
    return text


def _huge_integers(frame: Any) -> set[int]:
    """Columns with integers beyond 64 bits; pandas reads them as Python does, to whom 1_0 is ten."""
    mixed = [j for j, dtype in enumerate(frame.dtypes) if dtype.kind == "O"]
    return {j for j in mixed if any(type(value) is int for value in frame[j].tolist())}


def _columns(source: str, frame: Any, kept: set[int], decimal: str) -> tuple[FloatArray, dict[int, Texts]]:
    """Columns of numbers and columns of text."""
    textual = [j for j, dtype in enumerate(frame.dtypes) if dtype.kind not in "biuf" or j in kept]
    check_room(source, f"has {len(textual):,} columns of text, which take", _BYTES_OF_TEXT * len(textual) * len(frame))
    numbers = spread(frame.drop(columns=textual).to_numpy(np.float64, copy=True), textual)
    return numbers, sorted_out(numbers, {j: frame[j].tolist() for j in textual}, kept, decimal)
