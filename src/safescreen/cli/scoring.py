"""A model file on new data: what it predicts, what was filled on the way, and how well that goes where labels are."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from safescreen.arrays import BoolArray, FloatArray
from safescreen.cli.inputs import read_model, read_new, restated, split_names
from safescreen.cli.output.files import opening
from safescreen.prediction import accuracy, auc, linear_predictor, log_loss
from safescreen.problem.labels import is_against_rest
from safescreen.saving.record import Record
from safescreen.tables import Encoding, Reading, Table, target_labels
from safescreen.tables.table import missing
from safescreen.text import count, listed

_INDEX = re.compile(r"[+-]?\d+")


class Scores(NamedTuple):
    """Share of labels predicted correctly, area under the ROC curve (NaN with one class) and mean log-loss.

    The baseline is the log-loss of predicting the share of the class in the same data for every row.
    """

    accuracy: float
    auc: float
    log_loss: float
    baseline_log_loss: float

    @classmethod
    def of(cls, log_odds: FloatArray, positive: BoolArray, weights: FloatArray | None = None) -> Scores:
        """How well log-odds predict."""
        asked = positive, weights
        share = float(np.average(positive, weights=weights))
        base = math.inf if share == 1.0 else math.log(share / (1.0 - share)) if share else -math.inf
        baseline = log_loss(np.full(positive.size, base), *asked)
        return cls(accuracy(log_odds, *asked), auc(log_odds, *asked), log_loss(log_odds, *asked), baseline)

    def __str__(self) -> str:
        area = "undefined" if math.isnan(self.auc) else f"{self.auc:.4f}"
        return f"accuracy {100.0 * self.accuracy:.1f} %, AUC {area}"


@dataclass(frozen=True)
class Predicted:
    """A model and a table, and the log-odds of the label that is modelled."""

    record: Record
    encoding: Encoding
    table: Table
    log_odds: FloatArray
    known: BoolArray  # the rows that have all values a prediction needs
    keep: tuple[str, ...] = ()  # columns to be carried along, as typed

    @classmethod
    def of(cls, model: Path, data: str, said: Reading, keep: Sequence[str] = ()) -> Predicted:
        """Read and predict; columns to be kept along are read as text, unless the model needs their numbers."""
        record, encoding = read_model(model)
        encoding = replace(encoding, reading=restated(encoding.reading, said))
        words = {word.strip() for value in keep for word in (value, *value.split(","))} | {*encoding.reading.labels}
        words = {word for word in words if word == said.target or not _INDEX.fullmatch(word)}
        words -= {source.column for source in encoding.inputs if source.category is None}
        table = read_new(data, encoding, sorted(words))
        X, gone = encoding.apply(table)
        with np.errstate(invalid="ignore"):
            log_odds = linear_predictor(X, record.coefficients, record.intercept)
        if not np.isfinite(log_odds[~gone]).all():
            raise ValueError(f"{table.source} has infinite or far too large numbers in a column that the model uses.")
        return cls(record, encoding, table, log_odds, ~gone, tuple(keep))

    @property
    def has_labels(self) -> bool:
        """Whether the column of the labels seems to be in the table."""
        target, table = self.encoding.reading.target, self.table
        if target is None:
            return bool(table.arrays)
        by_place = not table.named or _INDEX.fullmatch(target) is not None
        named = target in table.arrays or target in table.names
        return named or (by_place and table.n_columns == self.encoding.n_columns)

    @cached_property
    def labelled(self) -> tuple[FloatArray, BoolArray]:
        """Log-odds, and whether the modelled label is there, of the rows that have a label and a prediction."""
        labels = target_labels(self.table, self.encoding)
        there = self.known & ~missing(labels)
        negative, positive = (str(label) for label in (self.record.classes[0], self.record.positive_class))
        words = [str(label) for label in labels[there].tolist()]
        strange = [] if is_against_rest(self.record.classes[0], self.record.positive_class) else words
        strange = [word for word in strange if word not in (negative, positive)]
        if strange or not words:
            why = f"the label {strange[0]!r}, but the model knows {negative} and {positive}" if words else "no labels"
            raise ValueError(f"{self.table.source} has {why}.")
        return self.log_odds[there], np.array([word == positive for word in words], dtype=np.bool_)

    @cached_property
    def kept(self) -> dict[str, list[Any]]:
        """Columns to be carried along, None where they have no value."""
        names = split_names(self.keep, self.table.names)
        return {name: [_tidy(value) for value in self.table.column(name, "--keep")[0].tolist()] for name in names}

    @cached_property
    def filled(self) -> dict[str, int]:
        """How many gaps were filled, by column."""
        return filled(self.encoding, self.table)

    def opening(self, data: str) -> dict[str, Any]:
        """The beginning of a document: the data, the labels, and the terms under which the model was chosen."""
        record, reading = self.record, self.encoding.reading
        terms = {**record.parameters, **({"exclude": reading.exclude} if reading.exclude else {})}
        return opening(data, reading.target, record, terms, record.feature_names)

    @property
    def notes(self) -> list[str]:
        """What a user should know about these predictions."""
        notes = [*self.table.notes]
        record, encoding, table = self.record, self.encoding, self.table
        if encoding.named and table.named and record.feature_names is not None:
            reading = encoding.reading
            expected = {*record.feature_names.tolist(), *encoding.categories, *reading.exclude}
            expected |= {reading.target, reading.weights, *self.kept}
            extra = [name for name in table.names if name not in expected]
            if extra:
                new = count(len(extra), "column")
                notes.append(f"Ignored {new} that the training data did not have: {listed(extra)}.")
        strangers = encoding.strangers(table)
        if strangers:
            notes.append(f"The training data did not have {listed(strangers)}: taken as none of the categories.")
        notes += filling_note(encoding, self.filled)
        if not self.known.all():
            notes.append(f"No prediction for {count(int((~self.known).sum()), 'row')} with missing values.")
        return notes


def filled(encoding: Encoding, table: Table) -> dict[str, int]:
    """How many gaps of a table an encoding fills, by column."""
    inputs = tuple(source for source in encoding.inputs if source.fill is not None)
    if not inputs:
        return {}
    open_inputs = tuple(replace(source, fill=None) for source in inputs)
    matrix, gone = replace(encoding, inputs=open_inputs).apply(table, allow_gaps=True)
    counts = np.isnan(matrix).sum(axis=0).tolist() if gone.any() else []
    return {source.column: number for source, number in zip(inputs, counts, strict=False) if number}


def filling_note(encoding: Encoding, counts: dict[str, int]) -> list[str]:
    """One sentence on what was filled, and with what; none if nothing was."""
    if not counts:
        return []
    fills = {source.column: source.fill for source in encoding.inputs}
    told = [
        f"{number:,} in {column!r} with {fill if isinstance(fill, str) else f'{fill:g}'}"
        for column, number in list(counts.items())[:_TOLD]
        for fill in [fills[column]]
    ]
    more = f" and others in {count(len(counts) - _TOLD, 'more column')}" if len(counts) > _TOLD else ""
    return [f"Filled {count(sum(counts.values()), 'missing value')}: {', '.join(told)}{more}."]


_TOLD = 10


def _tidy(value: Any) -> Any:
    """A value as it was in the file: whole numbers without a point, nothing where there was nothing."""
    if value is None or value != value:
        return None
    return int(value) if isinstance(value, float) and value.is_integer() else value
