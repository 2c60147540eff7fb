"""``safescreen predict``: labels for new data, from a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from safescreen.cli.grouping import expand, only
from safescreen.cli.options import FORM, DataOptions, OutputOptions
from safescreen.cli.output.files import check_outputs, print_json, write_records
from safescreen.cli.output.show import make_console, show_notes
from safescreen.text import count

if TYPE_CHECKING:
    from safescreen.cli.scoring import Predicted, Scores


@expand
def predict(
    *,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model written by fit.")],
    source: Annotated[DataOptions, only("data", *FORM)],
    proba: Annotated[
        bool,
        typer.Option("--proba", help="Add the probability of the modelled label.", rich_help_panel=OutputOptions.panel),
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Columns to carry along, such as ids, separated by commas.",
            rich_help_panel=OutputOptions.panel,
        ),
    ] = None,
    outputs: Annotated[OutputOptions, only("output", "json", "quiet")],
) -> None:
    """Predict labels for new data.

    Columns are found by name; only those that the model uses are needed. What fit did about missing values and
    categories is done again, and said. The file is read as the training data were, but for what is said anew about how
    it is written. Where the data have labels, too, it is said how well they are predicted.
    """
    from safescreen.cli.scoring import Predicted

    check_outputs(outputs, source.data, str(model))
    found = Predicted.of(model, source.data, source.reading(), keep or ())
    rows = _rows(found, proba)
    scores, said = _scored(found)
    record, notes = found.record, [*found.notes, *said]
    notes += [f"The probability is that of the label {record.positive_class}."] if proba else []
    show_notes(make_console(outputs.quiet, stderr=True), notes)
    if outputs.json:
        told = {"scores": None if scores is None else scores._asdict(), "filled": found.filled, "notes": notes}
        print_json({**found.opening(source.data), "n_samples": found.table.n_rows, "predictions": rows, **told})
    if outputs.output is not None or not outputs.silent:
        write_records(outputs.output, rows)


def _rows(found: Predicted, proba: bool) -> list[dict[str, Any]]:
    """Index, what is carried along, label and, if wanted, probability; None where values are missing."""
    from safescreen.prediction import probabilities

    labels = found.record.classes[(found.log_odds > 0.0).astype(int)].tolist()
    made = {"label": labels, **({"probability": probabilities(found.log_odds)[:, 1].tolist()} if proba else {})}
    carried = {f"{name} (data)" if name in (*made, "index") else name: values for name, values in found.kept.items()}
    return [
        {
            "index": i,
            **{name: values[i] for name, values in carried.items()},
            **{name: values[i] if known else None for name, values in made.items()},
        }
        for i, known in enumerate(found.known.tolist())
    ]


def _scored(found: Predicted) -> tuple[Scores | None, list[str]]:
    """Scores, where there are labels, and a sentence about them."""
    from safescreen.cli.scoring import Scores

    if not found.has_labels:
        return None, []
    try:
        log_odds, positive = found.labelled
    except ValueError as error:  # predictions are what was asked for
        return None, [f"Not scored: {error}"]
    scores = Scores.of(log_odds, positive)
    losses = f"log-loss {scores.log_loss:.4f} ({scores.baseline_log_loss:.4f} with the same probability for all)"
    return scores, [f"On {count(positive.size, 'row')} with labels: {scores}, {losses}."]
