"""CSV and its relatives through pandas, which is loaded only when such a file is read."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from safescreen.arrays import FloatArray
from safescreen.tables.layout import MISSING, Layout, find_layout, parsed_number, refuse_ragged, text_lines
from safescreen.tables.source import Source
from safescreen.tables.table import Table, Texts, default_names, position, spread

_BOOLEANS = {"true": 1.0, "false": 0.0}
_EXACT_BY_DEFAULT = (3, 1)  # pandas from then on warns about asking for exact numbers, earlier ones need to be asked


def read_text(source: Source, header: bool | None = None, labels: Collection[str] = ()) -> Table:
    """Read a delimited text file; `labels` are columns kept as text, since what they mean is not a quantity."""
    layout = find_layout(source, header)
    places = (position(column, layout.names or (), layout.n_columns) for column in labels)
    kept = {place for place in places if place is not None}  # who needs the others will say so
    frame = _read_frame(source, layout, kept)
    if huge := _huge_integers(frame):
        frame = _read_frame(source, layout, kept | huge)
    matrix, texts = _columns(frame, kept)
    return _named_table(source, layout, matrix, texts)


def _read_frame(source: Source, layout: Layout, textual: set[int]) -> Any:
    """All columns, named by their positions: numbers where a column has nothing else, text as it is in the file."""
    import pandas as pd

    skip = layout.n_columns > 1  # the only column has a gap where a line is blank
    first_row = 0 if skip else layout.blank_lines
    exact = tuple(map(int, pd.__version__.split(".")[:2])) >= _EXACT_BY_DEFAULT
    with (
        text_lines(source, layout.encoding, newline=None) as lines,  # since pandas misreads some bare carriage returns
        warnings.catch_warnings(action="error", category=pd.errors.ParserWarning),
    ):
        try:
            frame = pd.read_csv(
                lines,
                sep=layout.delimiter,
                header=None if layout.names is None else first_row,
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
            if "EOF inside string" not in reason:
                refuse_ragged(source, layout)
            raise ValueError(
                f"{source.name} cannot be read as delimited text ({reason}): close all quotation marks, and give every "
                "row the same number of fields."
            ) from None
    last = frame.iloc[:, -1]
    if last.isna().any() or last.eq("").any():
        refuse_ragged(source, layout)  # pandas fills up a row that is too short
    return frame


def _huge_integers(frame: Any) -> set[int]:
    """Columns with integers beyond 64 bits; pandas reads them as Python does, to whom 1_0 is ten."""
    mixed = [j for j, dtype in enumerate(frame.dtypes) if dtype.kind == "O"]
    return {j for j in mixed if any(type(value) is int for value in frame[j].tolist())}


def _columns(frame: Any, kept: set[int]) -> tuple[FloatArray, dict[int, Texts]]:
    """Columns of numbers and columns of text."""
    textual = [j for j, dtype in enumerate(frame.dtypes) if dtype.kind not in "biuf" or j in kept]
    matrix = spread(frame.drop(columns=textual).to_numpy(np.float64, copy=True), textual)
    texts: dict[int, Texts] = {}
    for j in textual:
        fields = [_field(value) for value in frame[j].tolist()]
        values = None if j in kept else _numbers(fields)
        if values is None:
            texts[j] = np.array(fields, dtype=object)
        else:
            matrix[:, j] = values
    return matrix, texts


def _field(value: Any) -> str | None:
    """What stands in the file without white space around it, None if that means a missing value."""
    field = "" if value != value else str(value).strip()
    return None if field in MISSING else field


def _numbers(fields: Sequence[str | None]) -> FloatArray | None:
    """Numbers that pandas leaves alone: true and false, huge ones, odd white space; None if there is anything else."""
    words = {field for field in fields if field is not None}
    known: dict[str | None, float | None] = {word: _BOOLEANS.get(word.lower()) for word in words}
    if None in known.values():
        known = {word: parsed_number(word) for word in words}
    return None if None in known.values() else np.array([known.get(field, np.nan) for field in fields])


def _named_table(source: Source, layout: Layout, matrix: FloatArray, texts: dict[int, Texts]) -> Table:
    """The table with the names of the file, without the columns that have none and are no feature anybody means."""
    if layout.names is None:
        return Table(source.name, default_names(layout.n_columns), False, matrix, texts)
    unnamed = [j for j, name in enumerate(layout.names) if not name]
    fillers = {j for j in unnamed if j not in texts and np.isnan(matrix[:, j]).all()}
    notes: tuple[str, ...] = ()
    if 0 in {*unnamed} - fillers and (0 in texts or (np.diff(matrix[:, 0]) == 1.0).all()):
        fillers.add(0)
        notes = ("The first column has no name and is taken as row names.",)
    used = [j for j in range(layout.n_columns) if j not in fillers]
    names = [layout.names[j] or f"x{j}" for j in used]
    if fillers:
        texts = {place: texts[j] for place, j in enumerate(used) if j in texts}
        matrix = matrix[:, used]
    return Table(source.name, names, True, matrix, texts, notes=notes)
