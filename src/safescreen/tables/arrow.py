"""Parquet, Arrow and Feather files through pyarrow, which is loaded here and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import numpy as np

from safescreen.tables.fields import kept_columns, sorted_out
from safescreen.tables.room import check_room
from safescreen.tables.source import Source
from safescreen.tables.table import Table, spread

_BYTES_OF_NUMBER = 16  # twice, on the way to the matrix
_BYTES_OF_TEXT = 64
_INDEX_COLUMN = re.compile(r"__index_level_\d+__")  # what pandas calls the index it stores


def read_arrow(source: Source, kind: str, labels: Collection[str] = (), decimal: str = ".") -> Table:
    """Read a file of kind ``"parquet"`` or ``"arrow"``, which includes Feather; `labels` stay text if they are."""
    try:
        import pyarrow as pa
    except ImportError:
        raise ImportError(
            f"{source.name} is a {kind.capitalize()} file, which needs pyarrow: pip install 'safescreen[frames]'."
        ) from None
    with source.open() as stream:
        content = pa.BufferReader(stream.read())
    try:
        if kind == "parquet":
            import pyarrow.parquet as pq

            _check_room(source, pq.read_schema(content), pq.read_metadata(content).num_rows)
            table = pq.read_table(content, use_threads=False)  # threads may keep all columns of a wide file at once
        else:
            table = _read_batches(source, content)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        reason = " ".join(str(error).split()).partition(". ")[0].rstrip(".")
        raise ValueError(f"{source.name} is truncated or damaged ({reason}).") from None
    table = table.select([j for j, name in enumerate(table.column_names) if not _INDEX_COLUMN.fullmatch(name)])
    numeric = [_is_numeric(column.type) for column in table.schema]
    textual = np.flatnonzero(~np.array(numeric, dtype=np.bool_)).tolist()
    numbers = table.select(np.flatnonzero(numeric).tolist()).to_pandas(ignore_metadata=True)
    matrix = spread(numbers.to_numpy(np.float64, copy=True), textual)
    kept = kept_columns(labels, table.column_names, table.num_columns)
    texts = sorted_out(matrix, {j: table.column(j).to_pylist() for j in textual}, kept, decimal)
    return Table(source.name, table.column_names, True, matrix, texts, decimal=decimal)


def _read_batches(source: Source, content: Any) -> Any:
    """An Arrow file batch by batch, since only those that have been read say how many rows they have."""
    import pyarrow as pa

    if source.head.startswith(b"ARROW1"):
        file = pa.ipc.open_file(content)
        schema, batches = file.schema, map(file.get_batch, range(file.num_record_batches))
    else:
        stream = pa.ipc.open_stream(content)
        schema, batches = stream.schema, iter(stream)
    read, rows = [], 0
    for batch in batches:
        read.append(batch)
        rows += batch.num_rows
        _check_room(source, schema, rows)
    return pa.Table.from_batches(read, schema)


def _check_room(source: Source, schema: Any, n_rows: int) -> None:
    """Repeated values take next to nothing in such files."""
    bytes_of_row = sum(_BYTES_OF_NUMBER if _is_numeric(column.type) else _BYTES_OF_TEXT for column in schema)
    check_room(source.name, f"has {n_rows:,} rows of {len(schema):,} columns, which take", n_rows * bytes_of_row)


def _is_numeric(kind: Any) -> bool:
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)
