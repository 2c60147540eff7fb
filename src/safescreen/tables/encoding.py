"""From the columns of a table to a matrix of numbers, for training data and new data alike.

What happened to the training data (which columns were used, what filled the gaps, which categories there were) is an
`Encoding`. It travels with the model, so that new data are treated alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np
from scipy import sparse

from safescreen.arrays import AnyArray, BoolArray, FloatArray, IndexArray
from safescreen.tables.layout import Form
from safescreen.tables.table import Table, columns_with, missing, quoted_columns
from safescreen.text import count, listed, suggestion


@dataclass(frozen=True)
class Reading(Form):
    """What the user says about a file and its columns, which are given by name or index."""

    target: str | None = None  # the labels; archives and SVMlight files have labels of their own
    weights: str | None = None  # sample weights
    exclude: tuple[str, ...] = ()  # columns, or indicators of one category, that are no features
    impute: str | None = None  # "median" for missing numbers means the most frequent category for missing texts
    one_hot: bool = False  # columns of text become one indicator per category, or one in all if there are two
    drop_missing: bool = False  # rows with missing values are left out
    positive: str | None = None  # the label that is modelled; by default the larger of two

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.impute not in (None, "median"):
            raise ValueError(f"--impute is {self.impute!r}, but must be 'median'.")

    @property
    def form(self) -> dict[str, Any]:
        """How the file is written."""
        return {part.name: getattr(self, part.name) for part in fields(Form)}

    @property
    def labels(self) -> tuple[str, ...]:
        """Columns of text that are no quantities."""
        return () if self.target is None else (self.target,)


@dataclass(frozen=True, slots=True)
class Input:
    """Where a feature comes from: a column, or one category of it, and what fills its gaps."""

    column: str
    position: int
    category: str | None = None
    fill: float | str | None = None

    @property
    def name(self) -> str:
        """What the feature is called."""
        return self.column if self.category is None else f"{self.column}={self.category}"

    @property
    def filler(self) -> float:
        """The feature's value where the column has a gap; NaN if nothing fills it."""
        if self.fill is None:
            return np.nan
        return float(self.fill if self.category is None else self.fill == self.category)


@dataclass(frozen=True)
class Encoding:
    """How features are made from the columns of a file."""

    inputs: tuple[Input, ...]  # one per feature
    named: bool  # whether columns are found by name
    n_columns: int  # of the training file
    asides: tuple[int, ...] = ()  # positions of its target and weights, which new files need not have
    categories: dict[str, list[str]] = field(default_factory=dict)  # all of a column that became indicators
    first_index: int | None = None  # what an SVMlight file called its first column
    reading: Reading = field(default_factory=Reading)  # what the user said about the training file

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return [source.name for source in self.inputs]

    @property
    def categorical(self) -> tuple[str, ...]:
        """Columns to be read as text, by name or index."""
        columns = {s.column if self.named else str(s.position) for s in self.inputs if s.category is not None}
        return tuple(sorted(columns))

    def restricted(self, features: Sequence[int]) -> Encoding:
        """The encoding of these features alone, which is all a sparse model needs."""
        return replace(self, inputs=tuple(self.inputs[int(j)] for j in features))

    def apply(self, table: Table, *, allow_gaps: bool = False) -> tuple[Any, BoolArray]:
        """One column per feature, NaN where a value is missing and nothing fills it, and the rows with NaN.

        Such rows are refused unless they are allowed here or were to be left out of the training data.
        """
        positions = self._locate(table)
        self._refuse_text(table, positions)
        if sparse.issparse(table.matrix):
            return _sparse_columns(table, positions), np.zeros(table.n_rows, dtype=np.bool_)
        if any(source.category is not None for source in self.inputs):
            places = zip(self.inputs, positions.tolist(), strict=True)
            matrix = np.column_stack([_feature(table, place, source) for source, place in places])
        else:
            matrix = _dense_columns(table.matrix, positions)
        gaps = columns_with(np.isnan, matrix)
        fillable = [j for j in gaps if self.inputs[j].fill is not None]
        if fillable:
            matrix = np.array(matrix)
        for j in fillable:
            matrix[np.isnan(matrix[:, j]), j] = self.inputs[j].filler
        gone = np.asarray(np.isnan(matrix[:, gaps]).any(axis=1), dtype=np.bool_)
        if gone.any() and not (allow_gaps or self.reading.drop_missing):
            columns = list(dict.fromkeys(self.inputs[j].column for j in gaps if self.inputs[j].fill is None))
            raise ValueError(
                f"{table.source} has missing values in {count(int(gone.sum()), 'row')}, {quoted_columns(columns)}: "
                "fill them with --impute median, leave those rows out with --drop-missing, or leave columns out with "
                "--exclude, when the model is fitted."
            )
        return matrix, gone

    def strangers(self, table: Table) -> list[str]:
        """Categories in a table that the training data did not have, as ``column=category``."""
        places = zip(self.inputs, self._locate(table).tolist(), strict=True)
        columns = {place: source.column for source, place in places if source.category is not None}
        found = []
        for place, column in columns.items():
            values = {value for value in table.texts[place].tolist() if value is not None}
            found += [f"{column}={value}" for value in sorted(values - set(self.categories[column]))]
        return found

    def _locate(self, table: Table) -> IndexArray:
        """Where each feature's column is in a table."""
        if self.named and table.named:
            return self._locate_by_name(table)
        positions = np.array([source.position for source in self.inputs], dtype=np.int64)
        if table.n_columns == self.n_columns or table.first_index is not None:
            return positions
        for left_out in range(1, len(self.asides) + 1):
            if table.n_columns == self.n_columns - left_out:
                return positions - sum((positions > place).astype(np.int64) for place in self.asides[:left_out])
        needed = f"{self.n_columns:,}" + (f" or {self.n_columns - 1:,}" if self.asides else "")
        raise ValueError(
            f"{table.source} has {count(table.n_columns, 'column')}, but {needed} are needed, since without column "
            "names only the order says which is which."
        )

    def _locate_by_name(self, table: Table) -> IndexArray:
        places = {name: j for j, name in enumerate(table.names)}
        absent = list(dict.fromkeys(source.column for source in self.inputs if source.column not in places))
        if absent:
            raise ValueError(
                f"{table.source} lacks {count(len(absent), 'column')} that the model needs, {listed(absent)}: "
                f"{suggestion(absent[0], table.names)}"
            )
        return np.array([places[source.column] for source in self.inputs], dtype=np.int64)

    def _refuse_text(self, table: Table, positions: IndexArray) -> None:
        places = zip(self.inputs, positions.tolist(), strict=True)
        wrong = [place for source, place in places if source.category is None and place in table.texts]
        if wrong:
            raise ValueError(
                f"{table.source} has text where the model needs numbers, in {table.example(wrong)}: correct the data."
            )

    def to_json(self) -> dict[str, Any]:
        """Plain values, for the model file."""
        inputs = [asdict(source) for source in self.inputs]
        told = [{name: value for name, value in source.items() if value is not None} for source in inputs]
        return {**asdict(self), "inputs": told}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Encoding:
        """What `to_json` wrote; raises KeyError, TypeError or ValueError for anything else."""
        reading = Reading(**{**content["reading"], "exclude": tuple(content["reading"]["exclude"])})
        return cls(
            inputs=tuple(Input(**source) for source in content["inputs"]),
            named=bool(content["named"]),
            n_columns=int(content["n_columns"]),
            asides=tuple(content["asides"]),
            categories={name: list(values) for name, values in content["categories"].items()},
            first_index=content["first_index"],
            reading=reading,
        )


def _feature(table: Table, place: int, source: Input) -> FloatArray:
    """One column of the matrix."""
    if source.category is None:
        return np.asarray(table.matrix[:, place], dtype=np.float64)
    if place not in table.texts:
        raise ValueError(f"{table.source} has numbers in column {source.column!r}, but the model needs categories.")
    texts = table.texts[place]
    return np.where(missing(texts), np.nan, texts == source.category)


def _dense_columns(matrix: AnyArray, positions: IndexArray) -> AnyArray:
    """Columns of a matrix; a view where they are neighbours."""
    if positions.size and (np.diff(positions) == 1).all():
        return matrix[:, positions[0] : positions[-1] + 1]
    return matrix[:, positions]


def _sparse_columns(table: Table, positions: IndexArray) -> Any:
    """Columns of a sparse table; those beyond its end are zero where the format allows that."""
    matrix = table.matrix
    if not np.isfinite(matrix.data).all():
        raise ValueError(f"{table.source} has missing or infinite values, which cannot be filled in a sparse matrix.")
    needed = int(positions.max(initial=0)) + 1
    if needed > table.n_columns:
        matrix = sparse.csc_array(matrix, copy=True)
        matrix.resize(table.n_rows, needed)
    if positions.size == matrix.shape[1] and (positions == np.arange(positions.size)).all():
        return matrix
    return sparse.csc_array(matrix)[:, positions]
