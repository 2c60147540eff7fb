"""Training data from a table: labels, weights, features, and what to do about text and gaps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from safescreen.tables.encoding import BoolArray, Encoding, Input, Reading, columns_with_gaps, examples
from safescreen.tables.filling import CategoryGaps, Gaps, coded, medians, most_frequent
from safescreen.tables.layout import parsed_number
from safescreen.tables.table import Table, default_names, whole
from safescreen.text import count, listed, nearest

_WHOLE = re.compile(r"[+-]?\d{1,18}")
_MANY = 20  # categories of which a column may always have so many
_DEFAULT_LABELS = "y"


@dataclass(frozen=True)
class Prepared:
    """Data ready for a problem."""

    X: Any  # features, dense or sparse
    y: npt.NDArray[Any]  # labels
    weights: npt.NDArray[np.float64] | None  # of the samples
    encoding: Encoding  # how the features were made
    notes: tuple[str, ...] = ()  # what a user should know about it
    gaps: Gaps | None = None  # the filled values, so that each fold of a cross-validation can fill its own

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features; None where they would only say what the position says."""
        names = self.encoding.names
        return None if not self.encoding.named and names == default_names(len(names)) else names


def prepare(table: Table, reading: Reading) -> Prepared:
    """Labels, weights and features of a training table.

    Raises
    ------
    ValueError
        If columns hold text or miss values and the reading does not say what to do about it; the message does.
    """
    reading.checked()
    labels, target = _find_labels(table, reading)
    weights, weight = _find_weights(table, reading, target)
    asides = tuple(place for place in (target, weight) if place is not None)
    excluded, unwanted = _find_excluded(table, reading, asides)
    used = [j for j in range(table.n_columns) if j not in excluded and j not in asides]
    if not used:
        raise ValueError(
            f"{table.source} has {count(table.n_columns, 'column')}, but a target and at least one feature are needed "
            "(fields are separated by commas, semicolons or tabs)."
        )
    inputs, categories = _make_inputs(table, reading, used)
    names = [source.name for source in inputs]
    unknown = [name for name in unwanted if name not in names]
    if unknown:
        raise ValueError(
            f"--exclude contains {unknown[0]!r}, but {table.source} has no such column: did you mean "
            f"{nearest(unknown[0], [*names, *table.names])!r}?"
        )
    encoding = Encoding(
        inputs=tuple(source for source in inputs if source.name not in unwanted),
        named=table.named,
        n_columns=table.n_columns,
        asides=asides,
        categories=categories,
        first_index=table.first_index,
        reading=reading,
    )
    if len(set(encoding.names)) < len(encoding.inputs):
        raise ValueError(f"{table.source} has two columns that --one-hot would give the same name: rename one of them.")
    return _without_gaps(table, encoding, labels, weights)


def target_labels(table: Table, encoding: Encoding) -> npt.NDArray[Any]:
    """The labels of a table with held-out data."""
    target = encoding.reading.target
    if encoding.named and not table.named and target is not None and target not in table.arrays and encoding.asides:
        target = str(encoding.asides[0])  # no names here, so the order has to do
    return _find_labels(table, replace(encoding.reading, target=target))[0]


# --- labels and weights


def _find_labels(table: Table, reading: Reading) -> tuple[npt.NDArray[Any], int | None]:
    """The labels (None, NaN or an empty string where one is missing) and the column they come from, if any."""
    target = reading.target
    if target is None:
        if _DEFAULT_LABELS in table.arrays:
            return table.arrays[_DEFAULT_LABELS], None
        raise ValueError(_no_target(table))
    if target in table.arrays:
        return table.arrays[target], None
    place = table.find(target, "--target")
    if place in table.texts:
        return _parsed_labels(table.texts[place]), place
    return whole(table.numbers(place)), place


def _no_target(table: Table) -> str:
    if table.named and table.arrays:
        return f"{table.source} has no labels 'y': name an array or a column with --target."
    columns = f"its columns are {listed(table.names, 8)}" if table.named else f"{table.n_columns} columns without names"
    return f"--target is missing: name the column of {table.source} with the labels ({columns})."


def _parsed_labels(values: npt.NDArray[np.object_]) -> npt.NDArray[Any]:
    """Labels read as text: whole numbers, numbers or words, None where one is missing."""
    present = np.array([value is not None for value in values.tolist()])
    words = values[present].tolist()
    if words and all(_WHOLE.fullmatch(word) for word in words):
        labels = np.array([int(word) for word in words], dtype=np.int64)
    else:
        try:
            labels = whole(np.array([parsed_number(word) for word in words]))
        except ValueError:
            labels = np.array(words, dtype=np.str_)
    if present.all():
        return labels
    filled = np.full(values.size, None, dtype=object)
    filled[present] = labels.tolist()
    return filled


def is_missing(labels: npt.NDArray[Any]) -> BoolArray:
    """Where a label or weight is missing."""
    if labels.dtype.kind == "O":
        return np.array([label is None or label != label for label in labels.tolist()], dtype=np.bool_)
    return np.isnan(labels) if labels.dtype.kind == "f" else np.zeros(labels.size, dtype=np.bool_)


def _find_weights(
    table: Table, reading: Reading, target: int | None
) -> tuple[npt.NDArray[np.float64] | None, int | None]:
    if reading.weights is None:
        return None, None
    if reading.weights in table.arrays:
        return np.asarray(table.arrays[reading.weights], dtype=np.float64), None
    place = table.find(reading.weights, "--weights")
    if place == target:
        raise ValueError(f"--weights and --target are both {table.names[place]!r}, but must be two columns.")
    if place in table.texts:
        raise ValueError(f"--weights is {reading.weights!r}, but that column holds text: numbers >= 0 are needed.")
    weights = np.asarray(table.numbers(place), dtype=np.float64)
    negative = weights[weights < 0.0]
    if negative.size:
        raise ValueError(
            f"--weights is {reading.weights!r}, but that column has the negative value {negative[0]:g}: numbers >= 0 "
            "are needed."
        )
    return weights, place


# --- features


def _find_excluded(table: Table, reading: Reading, asides: Sequence[int]) -> tuple[set[int], list[str]]:
    """Positions of the columns a user does not want, and names that are none of the table's columns."""
    excluded, others = set(), []
    for name in reading.exclude:
        if "=" in name and name not in table.names:
            others.append(name)
            continue
        place = table.find(name, "--exclude")
        if place in asides:
            raise ValueError(f"--exclude contains {name!r}, but that column is the target or the weights already.")
        excluded.add(place)
    return excluded, others


def _make_inputs(table: Table, reading: Reading, used: Sequence[int]) -> tuple[list[Input], dict[str, list[str]]]:
    """One feature per column of numbers, and the indicators of each column of text with all its categories."""
    textual = [j for j in used if j in table.texts]
    if textual and not reading.one_hot:
        columns = ",".join(table.names[j] for j in textual[:5])
        raise ValueError(
            f"{table.source} has text in {examples(table, textual)}: turn categories into numbers with --one-hot, or "
            f"leave columns out, as in --exclude {columns!r}."
        )
    inputs: list[Input] = []
    categories: dict[str, list[str]] = {}
    for j in used:
        if j in table.texts:
            categories[table.names[j]], indicators = _indicators(table, j, reading)
            inputs += indicators
        else:
            inputs.append(Input(table.names[j], j))
    return inputs, categories


def _indicators(table: Table, j: int, reading: Reading) -> tuple[list[str], list[Input]]:
    """One feature per category, or only the second of two, since the first would say the same again."""
    name = table.names[j]
    present = [value for value in table.texts[j].tolist() if value is not None]
    if not present:
        raise ValueError(
            f"{table.source} has no value at all in column {name!r}: leave it out with --exclude {name!r}."
        )
    categories = sorted(set(present))
    if len(categories) > max(_MANY, len(present) // 2):
        raise ValueError(
            f"{table.source} has {len(categories):,} different texts in column {name!r}, too many to be categories: "
            f"leave it out with --exclude {name!r}."
        )
    fill = categories[most_frequent(coded(table.texts[j], categories))] if reading.impute else None
    shown = categories[1:] if len(categories) == 2 else categories
    return categories, [Input(name, j, category, fill) for category in shown]


# --- gaps


def _without_gaps(
    table: Table, encoding: Encoding, labels: npt.NDArray[Any], weights: npt.NDArray[np.float64] | None
) -> Prepared:
    """Fill or drop what is missing, or say what could be done."""
    reading = encoding.reading
    matrix, missing = encoding.apply(table)
    notes = list(table.notes)
    gaps: Gaps | None = None
    if reading.impute and not sparse.issparse(matrix):
        encoding, matrix, gaps = _filled(table, encoding, matrix)
        missing = np.zeros(table.n_rows, dtype=np.bool_)
        if gaps:
            notes.append(f"Filled {count(len(gaps), 'missing value')} (--impute {reading.impute}).")
    elif missing.any() and not reading.drop_missing:
        raise ValueError(_gaps_sentence(table, encoding, matrix))
    missing = missing | _rows_without(table, reading, "target", labels)
    if weights is not None:
        missing = missing | _rows_without(table, reading, "weight", weights)
    if missing.any():
        if missing.all():
            raise ValueError(f"{table.source} has no row without missing values, so --drop-missing leaves nothing.")
        notes.append(
            f"Left out {missing.sum():,} of {count(table.n_rows, 'row')} with missing values (--drop-missing)."
        )
        matrix, labels = matrix[~missing], labels[~missing]
        weights = None if weights is None else weights[~missing]
        gaps = None if gaps is None else gaps.among(~missing)
    _refuse_infinity(table, encoding, matrix)
    return Prepared(matrix, _settled(labels), weights, encoding, tuple(notes), gaps or None)


def _rows_without(table: Table, reading: Reading, what: str, values: npt.NDArray[Any]) -> BoolArray:
    """Rows without a target or weight, if they may be dropped."""
    gone = is_missing(values)
    if gone.any() and not reading.drop_missing:
        raise ValueError(
            f"{table.source} has {count(int(gone.sum()), 'row')} without a {what}: leave such rows out with "
            "--drop-missing."
        )
    return gone


def _settled(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Labels in a type of their own, now that none is missing."""
    return np.array(labels.tolist()) if labels.dtype.kind == "O" else whole(labels)


def _filled(table: Table, encoding: Encoding, matrix: Any) -> tuple[Encoding, Any, Gaps]:
    """Medians in place of gaps; the encoding keeps those of all columns, since new data may have other gaps."""
    empty = [encoding.inputs[j].column for j in columns_with_gaps(matrix) if np.isnan(matrix[:, j]).all()]
    if empty:
        raise ValueError(
            f"{table.source} has no value at all in column {listed(empty)}: leave it out with --exclude {empty[0]!r}."
        )
    found = medians(matrix)
    inputs = tuple(
        replace(source, fill=float(found[j])) if source.category is None else source
        for j, source in enumerate(encoding.inputs)
    )
    fills = [source.fill if source.category is None else source.fill == source.category for source in inputs]
    gaps = Gaps(sparse.csr_array(np.isnan(matrix)), _category_gaps(table, encoding), np.array(fills, dtype=np.float64))
    return replace(encoding, inputs=inputs), gaps.fill(np.array(matrix, dtype=np.float64)), gaps


def _category_gaps(table: Table, encoding: Encoding) -> tuple[CategoryGaps, ...]:
    """The columns of categories with gaps."""
    features: dict[int, list[int]] = {}
    for j, source in enumerate(encoding.inputs):
        if source.category is not None:
            features.setdefault(source.position, []).append(j)
    found = []
    for place, indicators in features.items():
        categories = encoding.categories[table.names[place]]
        shown = coded([encoding.inputs[j].category for j in indicators], categories)
        found.append(CategoryGaps(np.array(indicators), shown, coded(table.texts[place], categories)))
    return tuple(column for column in found if column.missing.any())


def _gaps_sentence(table: Table, encoding: Encoding, matrix: Any) -> str:
    gaps = columns_with_gaps(matrix)
    columns = list(dict.fromkeys(encoding.inputs[j].column for j in gaps))
    rows = int(np.isnan(matrix[:, gaps]).any(axis=1).sum())
    return (
        f"{table.source} has missing values in {count(rows, 'row')}, column{'' if len(columns) == 1 else 's'} "
        f"{listed(columns)}: fill them with --impute median, leave those rows out with --drop-missing, or leave "
        "columns out with --exclude."
    )


def _refuse_infinity(table: Table, encoding: Encoding, matrix: Any) -> None:
    if sparse.issparse(matrix) or matrix.dtype.kind != "f":
        return
    with np.errstate(invalid="ignore", over="ignore"):
        suspects = np.flatnonzero(~np.isfinite(matrix.sum(axis=0)))
    columns = [encoding.inputs[int(j)].column for j in suspects if np.isinf(matrix[:, j]).any()]
    if columns:
        raise ValueError(
            f"{table.source} has infinite or far too large numbers in column{'' if len(columns) == 1 else 's'} "
            f"{listed(columns)}: correct them, or leave columns out with --exclude."
        )
