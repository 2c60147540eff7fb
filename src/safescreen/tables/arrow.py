"""Parquet, Arrow and Feather files through pyarrow, which is loaded here and nowhere else."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from safescreen.text import listed

from .source import Source
from .table import Table, Texts

_INDEX_COLUMN = re.compile(r"__index_level_\d+__")  # what pandas calls the index it stores


def read_arrow(source: Source, kind: str) -> Table:
    """Read a file of kind ``"parquet"`` or ``"arrow"``, which includes Feather."""
    try:
        import pyarrow as pa
    except ImportError:
        raise ImportError(
            f"{source.name} is a {kind.capitalize()} file, which needs pyarrow: pip install 'safescreen[frames]'."
        ) from None
    with source.open() as stream:
        content = pa.BufferReader(stream.read())
    try:
        table = _read(content, kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        reason = " ".join(str(error).split()).partition(". ")[0].rstrip(".")
        raise ValueError(f"{source.name} is truncated or damaged ({reason}).") from None
    chosen = [j for j, name in enumerate(table.column_names) if not _INDEX_COLUMN.fullmatch(name)]
    names = [str(table.column_names[j]) for j in chosen]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"{source.name} has more than one column named {listed(twice)}: rename them.")
    matrix = np.full((table.num_rows, len(chosen)), np.nan, order="F")
    texts: dict[int, Texts] = {}
    for place, j in enumerate(chosen):
        numbers = _numbers(table.column(j))
        if numbers is None:
            texts[place] = _texts(table.column(j))
        else:
            matrix[:, place] = numbers
    if table.num_rows == 0:
        raise ValueError(f"{source.name} has columns but no rows of data.")
    return Table(source.name, names, True, matrix, texts)


def _read(content: Any, kind: str) -> Any:
    if kind == "parquet":
        import pyarrow.parquet as pq

        return pq.read_table(content)
    import pyarrow as pa

    start = content.read(6)
    content.seek(0)
    return (pa.ipc.open_file if start == b"ARROW1" else pa.ipc.open_stream)(content).read_all()


def _numbers(column: Any) -> Any:
    """The values as float64 with NaN for null, or None for a column that is not numeric."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_null(kind):
        return np.nan
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None
    return column.to_numpy()


def _texts(column: Any) -> Texts:
    return np.array([None if value is None else str(value) for value in column.to_pylist()], dtype=object)
