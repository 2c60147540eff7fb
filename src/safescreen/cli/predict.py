"""``safescreen predict``: labels for new data, from a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import safescreen.cli.options as o

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ..records import Record
    from ..tables import Encoding, Table


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", show_default=False, help="Model written by fit.")],
    data: o.DataFile,
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of the second label.", rich_help_panel="Output")
    ] = False,
    output: o.TableOutput = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Predict labels for new data.

    Columns are found by name; only those that the model uses are needed. What fit did about missing values and
    categories is done again.
    """
    from ..records import Record
    from ..tables import check_readable, read_table
    from .outputs import check_outputs, print_json, write_csv
    from .show import make_console, show_notes

    check_readable(model)
    check_outputs((data, str(model)), output=output)
    record = Record.read(model)
    encoding = _encoding(model, record)
    header = encoding.reading.header
    table = read_table(data, header=header, labels=encoding.categorical, first_index=encoding.first_index)
    log_odds, known = _log_odds(record, encoding, table)
    show_notes(make_console(quiet, stderr=True), [*table.notes, *_notes(record, encoding, table, known, proba)])
    rows = _rows(record, log_odds, known, proba)
    columns = ("index", "label", "probability") if proba else ("index", "label")
    if json:
        print_json(
            {
                "classes": record.classes,
                "predictions": [dict(zip(columns, row, strict=True)) for row in rows],
            }
        )
    if output is not None or not (json or quiet):
        write_csv(output, columns, [["" if value is None else value for value in row] for row in rows])


def _encoding(model: Path, record: Record) -> Encoding:
    """How to find the chosen features; a model fitted in Python wants them as they are."""
    from ..tables import Encoding, Input, default_names

    if record.encoding is not None:
        try:
            encoding = Encoding.from_json(record.encoding)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ValueError(f"{model} cannot be loaded: it is damaged (its encoding cannot be read).") from None
        if len(encoding.inputs) == record.support.size:
            return encoding
        raise ValueError(f"{model} cannot be loaded: it is damaged (its encoding has the wrong length).")
    names = default_names(record.n_features) if record.feature_names is None else record.feature_names.tolist()
    inputs = tuple(Input(names[j], j) for j in record.support.tolist())
    return Encoding(inputs, record.feature_names is not None, record.n_features)


def _log_odds(
    record: Record, encoding: Encoding, table: Table
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Log-odds of the second label, and for which rows they are known."""
    import numpy as np

    from safescreen.prediction import linear_predictor

    X, missing = encoding.apply(table)
    if missing.any() and not encoding.reading.drop_missing:
        gaps = [source.column for j, source in enumerate(encoding.inputs) if np.isnan(X[:, j]).any()]
        raise ValueError(
            f"{table.source} has missing values in {int(missing.sum())} row(s), column {gaps[0]!r}: fill them, or fit "
            "the model with --impute median."
        )
    with np.errstate(invalid="ignore"):
        log_odds = linear_predictor(X, record.coefficients, record.intercept)
    if not np.isfinite(log_odds[~missing]).all():
        raise ValueError(f"{table.source} has infinite or far too large numbers in a column that the model uses.")
    return log_odds, ~missing


def _rows(
    record: Record, log_odds: npt.NDArray[np.float64], known: npt.NDArray[np.bool_], proba: bool
) -> list[tuple[Any, ...]]:
    """Index, label and, if wanted, probability; None where values are missing."""
    from safescreen.prediction import probabilities

    labels = record.classes[(log_odds > 0.0).astype(int)].tolist()
    chances = probabilities(log_odds)[:, 1].tolist()
    rows: list[tuple[Any, ...]] = []
    for i, (label, chance, ok) in enumerate(zip(labels, chances, known.tolist(), strict=True)):
        values = (label, chance) if ok else (None, None)
        rows.append((i, *values) if proba else (i, values[0]))
    return rows


def _notes(record: Record, encoding: Encoding, table: Table, known: npt.NDArray[np.bool_], proba: bool) -> list[str]:
    """What a user should know about these predictions."""
    from ..tables import count, listed

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
    if proba:
        notes.append(f"The probability is that of the label {record.classes[1]}.")
    return notes
