"""Arrow tables, in memory or in Parquet files and datasets: columns by name, rows in groups."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from threading import Lock
from typing import Any

import numpy as np

from safescreen.arrays import AnyArray, IndexArray
from safescreen.design.elsewhere import check_extremes, refuse_columns
from safescreen.design.sources.base import Source

_TYPES = {"halffloat": "f2", "float": "f4", "double": "f8"} | {
    name: name for name in ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
}
"""Arrow's numbers, as NumPy calls them; decimals, which it does not have, become float64."""


def open_arrow(X: Any) -> Source:
    """A table, record batch, Parquet file or dataset."""
    if hasattr(X, "read_row_groups"):
        return _ParquetSource(X)
    if hasattr(X, "get_fragments"):
        return _DatasetSource(X)
    return _TableSource(X)


class _ArrowSource(Source):
    """Columns of numbers without nulls, one type for all of them."""

    def __init__(self, schema: Any, samples: int) -> None:
        names, types = [str(name) for name in schema.names], [str(kind) for kind in schema.types]
        numeric = [kind in _TYPES or kind.startswith("decimal") for kind in types]
        refuse_columns(names, types, numeric)
        self.shape = (int(samples), len(names))
        self.dtype = np.result_type(*{_TYPES.get(kind, "f8") for kind in types}) if types else np.dtype(np.float64)
        self.feature_names = np.array(names, dtype=object)
        self._lock = Lock()

    def read(self, rows: slice, columns: slice | IndexArray) -> AnyArray:
        """These rows of these columns; a null is a missing value, and refused as one."""
        numbers = range(self.shape[1])[columns] if isinstance(columns, slice) else columns.tolist()
        with self._lock:
            table = self._table(rows, list(numbers))
        block = np.empty((table.num_rows, table.num_columns), self.dtype, order="F")
        for j, column in enumerate(table.itercolumns()):
            if column.null_count:
                check_extremes(has_nan=True, largest=0.0)
            block[:, j] = (column if str(column.type) in _TYPES else column.cast("float64")).to_numpy()
        return block

    @abstractmethod
    def _table(self, rows: slice, columns: list[int]) -> Any:
        """The same as a table, with columns in this order."""

    def _names(self, columns: list[int]) -> list[str]:
        assert self.feature_names is not None, "every schema has names"
        return [str(self.feature_names[j]) for j in columns]


class _TableSource(_ArrowSource):
    """A table or a record batch in memory: no copy of it is made."""

    def __init__(self, X: Any) -> None:
        super().__init__(X.schema, X.num_rows)
        self.held_bytes = int(X.nbytes)
        self._X = X

    def _table(self, rows: slice, columns: list[int]) -> Any:
        return self._X.slice(rows.start, rows.stop - rows.start).select(columns)


class _GroupedSource(_ArrowSource):
    """Rows in groups, which are read as a whole; columns by their names."""

    def __init__(self, schema: Any, groups: list[int]) -> None:
        super().__init__(schema, sum(groups))
        _refuse_repeated(schema.names)
        self._ends = np.cumsum([0, *groups])
        self.grain = (max(groups, default=1) or 1, 1)

    def spans(self, axis: int, most: int) -> Iterator[slice]:
        """Rows in pieces of whole groups, about ``most`` of them if groups are small."""
        if axis == 1:
            yield from super().spans(axis, most)
            return
        start = 0
        for end, later in zip(self._ends[1:].tolist(), [*self._ends[2:].tolist(), self.shape[0]], strict=True):
            if end > start and (later - start > most or end == self.shape[0]):
                yield slice(start, end)
                start = end

    def _groups(self, rows: slice) -> tuple[list[int], slice]:
        """The groups that have these rows, and where in them these are."""
        first = int(np.searchsorted(self._ends, rows.start, side="right")) - 1
        last = int(np.searchsorted(self._ends, rows.stop, side="left"))
        start = int(self._ends[first])
        return list(range(first, last)), slice(rows.start - start, rows.stop - start)

    def _table(self, rows: slice, columns: list[int]) -> Any:
        groups, inside = self._groups(rows)
        return self._of_groups(groups, self._names(columns)).slice(inside.start, inside.stop - inside.start)

    @abstractmethod
    def _of_groups(self, groups: list[int], names: list[str]) -> Any:
        """These columns of these groups of rows."""


class _ParquetSource(_GroupedSource):
    """One Parquet file and its row groups."""

    def __init__(self, X: Any) -> None:
        metadata = X.metadata
        super().__init__(X.schema_arrow, [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)])
        self._X = X

    def _of_groups(self, groups: list[int], names: list[str]) -> Any:
        return self._X.read_row_groups(groups, columns=names).select(names)


class _DatasetSource(_GroupedSource):
    """A dataset of any format and its fragments; one that is filtered is read as a single group of rows."""

    def __init__(self, X: Any) -> None:
        parts = _fragments(X)
        super().__init__(X.schema, [part.count_rows() for part in parts] or [X.count_rows()])
        self._X = X
        self._parts = parts

    def _of_groups(self, groups: list[int], names: list[str]) -> Any:
        if len(groups) >= len(self._parts):
            return self._X.to_table(columns=names)
        schema = self._X.schema
        tables = [self._parts[group].to_table(schema=schema, columns=names) for group in groups]
        return _one_below_another(tables)


def _fragments(X: Any) -> list[Any]:
    """The row groups or files of a dataset; none where it does not give them away, since it is filtered."""
    try:
        files = list(X.get_fragments())
    except ValueError:
        return []
    return [part for file in files for part in (file.split_by_row_group() if _has_groups(file) else [file])]


def _has_groups(fragment: Any) -> bool:
    return hasattr(fragment, "split_by_row_group")


def _one_below_another(tables: list[Any]) -> Any:
    from pyarrow import concat_tables

    return concat_tables(tables)


def _refuse_repeated(names: list[str]) -> None:
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"X has several columns called {repeated!r}, but columns of a file are read by their names.")
