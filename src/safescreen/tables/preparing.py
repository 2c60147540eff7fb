"""Training data from a table: labels, weights, features, and what to do about text and gaps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from safescreen.arrays import AnyArray, BoolArray, FloatArray
from safescreen.tables.encoding import Encoding, Input, Reading
from safescreen.tables.filling import Gaps, medians, most_frequent
from safescreen.tables.findings import id_columns, refuse_unusable
from safescreen.tables.layout import parsed_number
from safescreen.tables.table import LABELS, Table, Texts, default_names, missing, quoted_columns, whole
from safescreen.text import count, listed, suggestion

_WHOLE = re.compile(r"[+-]?\d{1,18}")


@dataclass(frozen=True)
class Prepared:
    """Data ready for a problem."""

    table: Table  # where they come from
    X: Any  # features, dense or sparse
    y: AnyArray  # labels
    weights: FloatArray | None  # of the samples
    encoding: Encoding  # how the features were made
    notes: tuple[str, ...] = ()  # what a user should know about it
    gaps: Gaps | None = None  # the filled values, so that each fold of a cross-validation can fill its own

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features; None where they would only say what the position says."""
        names = self.encoding.names
        return None if not self.encoding.named and names == default_names(len(names)) else names

    def frame(self) -> Any:
        """The features with their names, for whoever takes frames; without names the bare matrix."""
        if self.feature_names is None:
            return self.X
        import pandas as pd

        make = pd.DataFrame.sparse.from_spmatrix if sparse.issparse(self.X) else pd.DataFrame
        return make(self.X, columns=self.feature_names)

    @property
    def target(self) -> str:
        """What the labels are called."""
        name = self.encoding.reading.target or LABELS
        return name if name in self.table.arrays else self.table.names[self.encoding.asides[0]]

    @property
    def positive(self) -> Any:
        """The label that is to be modelled, None if nobody says so."""
        text = self.encoding.reading.positive
        return None if text is None else _label_called(text, np.unique(self.y).tolist())

    @property
    def title(self) -> str:
        """What a report about the data is called."""
        return f"{self.target} in {self.table.source}"


def prepare(table: Table, reading: Reading) -> Prepared:
    """Labels, weights and features of a training table.

    Raises
    ------
    ValueError
        If columns hold text or miss values and the reading does not say what to do about it; the message does.
    """
    labels, target = _find_labels(table, reading)
    weights, weight = _find_weights(table, reading, target)
    called = (reading.target or LABELS) if target is None else table.names[target]
    check_classes(table, called, _settled(labels[~missing(labels)]), reading)
    asides = tuple(place for place in (target, weight) if place is not None)
    excluded, unwanted = _find_excluded(table, reading, asides)
    used = [j for j in range(table.n_columns) if j not in excluded and j not in asides]
    if not used:
        raise ValueError(
            f"{table.source} has {count(table.n_columns, 'column')}, but a target and at least one feature are needed "
            "(fields are separated by commas, semicolons, tabs or blanks, or by what --delimiter says)."
        )
    ids = id_columns(table, used)
    if 0 < len(ids) < len(used):
        used = [j for j in used if j not in ids]
        left_out = (table.names[j] if table.named else str(j) for j in ids)
        reading = replace(reading, exclude=(*reading.exclude, *left_out))
    refuse_unusable(table, reading, used, labels, weights)
    inputs, categories = _make_inputs(table, used)
    names = [source.name for source in inputs]
    unknown = [name for name in unwanted if name not in names]
    if unknown:
        raise ValueError(
            f"--exclude contains {unknown[0]!r}, but {table.source} has no such column: "
            f"{suggestion(unknown[0], [*names, *table.names])}"
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
    data = _without_gaps(table, encoding, labels, weights)
    return replace(data, notes=(*data.notes, *_note_of_ids(table, ids)))


def check_classes(table: Table, target: str, labels: AnyArray, reading: Reading) -> None:
    """Refuse a target that is not binary, in the words of someone who looks at a file."""
    classes = np.unique(labels)
    about = f"The target {target!r} of {table.source}"
    if classes.size < 2:
        only = f"only one class, {classes[0]}" if classes.size else "no labels"
        raise ValueError(f"{about} has {only}, but two are needed.")
    if reading.positive is not None:
        _label_called(reading.positive, classes.tolist())
    elif classes.size > 2 and reading.weights is None:  # weights may leave two
        shown = ", ".join(str(label) for label in classes[:5]) + (", ..." if classes.size > 5 else "")
        raise ValueError(
            f"{about} has {classes.size:,} classes ({shown}), but exactly two are needed: name the one to tell from "
            "the rest with --positive."
        )


def prepare_test(table: Table, encoding: Encoding) -> tuple[Any, AnyArray]:
    """Features and labels of a table with held-out data, treated as the training data were."""
    X, gone = encoding.apply(table)
    y = target_labels(table, encoding)
    gone = gone | _rows_without(table, encoding.reading, "target", y)
    return X[~gone], _settled(y[~gone])


def target_labels(table: Table, encoding: Encoding) -> AnyArray:
    """The labels of a table with held-out data."""
    target = encoding.reading.target
    if encoding.named and not table.named and target is not None and target not in table.arrays and encoding.asides:
        target = str(encoding.asides[0])  # no names here, so the order has to do
    return _find_labels(table, replace(encoding.reading, target=target))[0]


# --- labels and weights


def _label_called(text: str, labels: Sequence[Any]) -> Any:
    """The label that looks like what was typed."""
    number = parsed_number(text)
    for label in labels:
        if text == str(label) or (number is not None and not isinstance(label, str) and label == number):
            return label
    known = [str(label) for label in labels]
    raise ValueError(f"--positive is {text!r}, but must be one of the labels: {suggestion(text, known)}")


def _find_labels(table: Table, reading: Reading) -> tuple[AnyArray, int | None]:
    """The labels (None, NaN or an empty string where one is missing) and the column they come from, if any."""
    if reading.target is None and LABELS not in table.arrays:
        known = [*table.arrays, *(table.names if table.named else ())]
        columns = f"there are {listed(known, 8)}" if known else f"{table.n_columns} columns without names"
        raise ValueError(f"--target is missing: name the column of {table.source} with the labels ({columns}).")
    labels, place = table.column(reading.target or LABELS, "--target")
    return _parsed_labels(labels) if labels.dtype.kind == "O" else whole(labels), place


def _parsed_labels(values: Texts) -> AnyArray:
    """Labels read as text: whole numbers, numbers or words, None where one is missing."""
    words = values.tolist()
    known = {word: int(word) if _WHOLE.fullmatch(word) else parsed_number(word) for word in {*words} - {None}}
    return np.array(words) if None in known.values() else whole(np.array([known.get(word) for word in words]))


def _find_weights(table: Table, reading: Reading, target: int | None) -> tuple[FloatArray | None, int | None]:
    if reading.weights is None:
        return None, None
    weights, place = table.column(reading.weights, "--weights")
    if place is not None and place == target:
        raise ValueError(f"--weights and --target are both {table.names[place]!r}, but must be two columns.")
    if weights.dtype.kind not in "biuf":
        found = "" if place is None else table.instance(place)
        raise ValueError(
            f"--weights is {reading.weights!r}, but that column holds text{found}: numbers >= 0 are needed."
        )
    negative = weights[weights < 0.0]
    if negative.size:
        raise ValueError(
            f"--weights is {reading.weights!r}, but that column has the negative value {negative[0]:g}: numbers >= 0 "
            "are needed."
        )
    return np.asarray(weights, dtype=np.float64), place


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


def _make_inputs(table: Table, used: Sequence[int]) -> tuple[list[Input], dict[str, list[str]]]:
    """One feature per column of numbers, and the indicators of each column of text with all its categories."""
    inputs: list[Input] = []
    categories: dict[str, list[str]] = {}
    for j in used:
        if j in table.texts:
            categories[table.names[j]] = found = sorted({*table.texts[j].tolist()} - {None})
            shown = found[1:] if len(found) == 2 else found  # the first of two would say the same again
            inputs += [Input(table.names[j], j, category) for category in shown]
        else:
            inputs.append(Input(table.names[j], j))
    return inputs, categories


def _note_of_ids(table: Table, ids: Sequence[int]) -> list[str]:
    names = [table.names[j] for j in ids]
    return [f"Left out {quoted_columns(names)}, whose texts are all different, as those of ids are."] if ids else []


# --- gaps


def _without_gaps(table: Table, encoding: Encoding, labels: AnyArray, weights: FloatArray | None) -> Prepared:
    """Fill or drop what is missing, or say what could be done."""
    reading = encoding.reading
    matrix, gone = encoding.apply(table, allow_gaps=reading.impute is not None)
    notes = list(table.notes)
    gaps: Gaps | None = None
    if reading.impute and not sparse.issparse(matrix):
        encoding, matrix, gaps = _filled(table, encoding, matrix)
        gone = np.zeros(table.n_rows, dtype=np.bool_)
        if gaps:
            notes.append(f"Filled {count(len(gaps), 'missing value')} (--impute {reading.impute}).")
    gone = gone | _rows_without(table, reading, "target", labels)
    if weights is not None:
        gone = gone | _rows_without(table, reading, "weight", weights)
    if gone.any():
        if gone.all():
            raise ValueError(f"{table.source} has no row without missing values, so --drop-missing leaves nothing.")
        notes.append(f"Left out {gone.sum():,} of {count(table.n_rows, 'row')} with missing values (--drop-missing).")
        matrix, labels = matrix[~gone], labels[~gone]
        weights = None if weights is None else weights[~gone]
        gaps = None if gaps is None else gaps.among(~gone)
    return Prepared(table, matrix, _settled(labels), weights, encoding, tuple(notes), gaps or None)


def _rows_without(table: Table, reading: Reading, what: str, values: AnyArray) -> BoolArray:
    """Rows without a target or weight, if they may be dropped."""
    gone = missing(values)
    if gone.any() and not reading.drop_missing:
        raise ValueError(
            f"{table.source} has {count(int(gone.sum()), 'row')} without a {what}: leave such rows out with "
            "--drop-missing."
        )
    return gone


def _settled(labels: AnyArray) -> AnyArray:
    """Labels in a type of their own, now that none is missing."""
    return whole(np.array(labels.tolist()) if labels.dtype.kind == "O" else labels)


def _filled(table: Table, encoding: Encoding, matrix: AnyArray) -> tuple[Encoding, FloatArray, Gaps]:
    """Medians in place of gaps; the encoding keeps those of all columns, since new data may have other gaps."""
    categorical = {source.position for source in encoding.inputs if source.category is not None}
    common = {place: most_frequent(table.texts[place]) for place in categorical}
    inputs = tuple(
        replace(source, fill=common.get(source.position, median))
        for source, median in zip(encoding.inputs, medians(matrix).tolist(), strict=True)
    )
    gaps = Gaps.found(matrix, inputs, table.texts)
    return replace(encoding, inputs=inputs), gaps.fill(np.array(matrix, dtype=np.float64)), gaps
