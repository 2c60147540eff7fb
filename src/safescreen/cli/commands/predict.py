"""``safescreen predict``: labels for new data, from a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from safescreen.cli.grouping import expand, only
from safescreen.cli.options import DataOptions, OutputOptions
from safescreen.cli.output.files import check_outputs, print_json, write_records
from safescreen.cli.output.show import make_console, show_notes
from safescreen.text import count, listed

if TYPE_CHECKING:
    from safescreen.prediction import BoolArray, FloatArray
    from safescreen.saving.record import Record
    from safescreen.tables import Encoding, Table


@expand
def predict(
    *,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model written by fit.")],
    source: Annotated[DataOptions, only("data")],
    proba: Annotated[
        bool,
        typer.Option("--proba", help="Add the probability of the modelled label.", rich_help_panel=OutputOptions.panel),
    ] = False,
    outputs: Annotated[OutputOptions, only("output", "json", "quiet")],
) -> None:
    """Predict labels for new data.

    Columns are found by name; only those that the model uses are needed. What fit did about missing values and
    categories is done again.
    """
    from safescreen.cli.inputs import read_model, read_new

    check_outputs(outputs, source.data, str(model))
    record, encoding = read_model(model)
    table = read_new(source.data, encoding)
    log_odds, known = _log_odds(record, encoding, table)
    notes = [*table.notes, *_notes(record, encoding, table, known)]
    notes += [f"The probability is that of the label {record.positive_class}."] if proba else []
    show_notes(make_console(outputs.quiet, stderr=True), notes)
    rows = _rows(record, log_odds, known, proba)
    if outputs.json:
        print_json({"classes": record.classes, "positive_class": record.positive_class, "predictions": rows})
    if outputs.output is not None or not outputs.silent:
        write_records(outputs.output, rows)


def _log_odds(record: Record, encoding: Encoding, table: Table) -> tuple[FloatArray, BoolArray]:
    """Log-odds of the label that is modelled, and for which rows they are known."""
    import numpy as np

    from safescreen.prediction import linear_predictor

    X, missing = encoding.apply(table)
    with np.errstate(invalid="ignore"):
        log_odds = linear_predictor(X, record.coefficients, record.intercept)
    if not np.isfinite(log_odds[~missing]).all():
        raise ValueError(f"{table.source} has infinite or far too large numbers in a column that the model uses.")
    return log_odds, ~missing


def _rows(record: Record, log_odds: FloatArray, known: BoolArray, proba: bool) -> list[dict[str, Any]]:
    """Index, label and, if wanted, probability; None where values are missing."""
    from safescreen.prediction import probabilities

    labels = record.classes[(log_odds > 0.0).astype(int)].tolist()
    columns = {"label": labels, **({"probability": probabilities(log_odds)[:, 1].tolist()} if proba else {})}
    return [
        {"index": i, **{name: values[i] if found else None for name, values in columns.items()}}
        for i, found in enumerate(known.tolist())
    ]


def _notes(record: Record, encoding: Encoding, table: Table, known: BoolArray) -> list[str]:
    """What a user should know about these predictions."""
    notes = []
    if encoding.named and table.named and record.feature_names is not None:
        reading = encoding.reading
        expected = {*record.feature_names.tolist(), *encoding.categories, *reading.exclude}
        expected |= {reading.target, reading.weights}
        extra = [name for name in table.names if name not in expected]
        if extra:
            notes.append(f"Ignored {count(len(extra), 'column')} that the training data did not have: {listed(extra)}.")
    strangers = encoding.strangers(table)
    if strangers:
        notes.append(f"The training data did not have {listed(strangers)}: taken as none of the categories.")
    if not known.all():
        notes.append(f"No prediction for {count(int((~known).sum()), 'row')} with missing values.")
    return notes
