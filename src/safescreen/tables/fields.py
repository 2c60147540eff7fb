"""What fields mean, the same in every format: a gap, a number or a text, and a column that is a feature or not."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, time
from typing import Any

import numpy as np

from safescreen.arrays import FloatArray
from safescreen.tables.layout import MISSING, parsed_number
from safescreen.tables.table import Table, Texts, default_names, position

_BOOLEANS = {"true": 1.0, "false": 0.0}


def kept_columns(labels: Collection[str], names: Sequence[str] | None, n_columns: int) -> set[int]:
    """Where the columns are that stay text; who needs those that are not there will say so."""
    places = (position(column, names or (), n_columns) for column in labels)
    return {place for place in places if place is not None}


def sorted_out(
    matrix: FloatArray, columns: Mapping[int, Sequence[Any]], kept: set[int], decimal: str = "."
) -> dict[int, Texts]:
    """The columns that are text; what turns out to be numbers goes into the matrix."""
    texts: dict[int, Texts] = {}
    for j, column in columns.items():
        fields = [_field(value, "." if j in kept else decimal) for value in column]
        values = None if j in kept else _numbers(fields, decimal)
        if values is None:
            texts[j] = np.array(fields, dtype=object)
        else:
            matrix[:, j] = values
    return texts


def named_table(
    source: str, names: Sequence[str] | None, matrix: FloatArray, texts: dict[int, Texts], decimal: str
) -> Table:
    """The table with the names of the file, without the columns that have none and are no feature anybody means."""
    n_columns = matrix.shape[1]
    if names is None:
        return Table(source, default_names(n_columns), False, matrix, texts, decimal=decimal)
    unnamed = [j for j, name in enumerate(names) if not name]
    fillers = {j for j in unnamed if j not in texts and np.isnan(matrix[:, j]).all()}
    notes: tuple[str, ...] = ()
    row_names: Texts | None = None
    if 0 in {*unnamed} - fillers and (0 in texts or (np.diff(matrix[:, 0]) == 1.0).all()):
        fillers.add(0)
        row_names = texts.get(0)
        notes = ("The first column has no name and is taken as row names.",)
    used = [j for j in range(n_columns) if j not in fillers]
    if fillers:
        texts = {place: texts[j] for place, j in enumerate(used) if j in texts}
        matrix = matrix[:, used]
    called = [names[j] or f"x{j}" for j in used]
    return Table(source, called, True, matrix, texts, notes=notes, row_names=row_names, decimal=decimal)


def _field(value: Any, decimal: str) -> str | None:
    """What stands in the file without white space around it, None if that means a missing value.

    What is a number already, as in a workbook, is written as the numbers among the texts are.
    """
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()  # as it would stand in a text file
    field = "" if value is None or value != value else str(value).strip()
    if isinstance(value, float):
        field = field.replace(".", decimal)
    return None if field in MISSING else field


def _numbers(fields: Sequence[str | None], decimal: str) -> FloatArray | None:
    """Numbers that libraries leave alone: true and false, huge ones, odd white space; None if there is more."""
    words = {field for field in fields if field is not None}
    known: dict[str | None, float | None] = {word: _BOOLEANS.get(word.lower()) for word in words}
    if None in known.values():
        known = {word: parsed_number(word, decimal) for word in words}
    return None if None in known.values() else np.array([known.get(field, np.nan) for field in fields])
