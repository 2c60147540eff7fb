"""``safescreen evaluate``: how well a model file predicts data with labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from safescreen.cli.grouping import expand, only
from safescreen.cli.options import FORM, DataOptions, OutputOptions
from safescreen.cli.output.files import check_outputs, print_json, write_files, write_records
from safescreen.cli.output.show import grid, make_console, make_table, plain, show_notes

if TYPE_CHECKING:
    from safescreen.cli.scoring import Predicted


@expand
def evaluate(
    *,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model written by fit or cv.")],
    source: Annotated[DataOptions, only("data", "target", *FORM)],
    outputs: Annotated[OutputOptions, only("output", "json", "quiet")],
) -> None:
    """Score a model on data with labels: log-loss, accuracy, AUC and calibration.

    Columns are found and filled as by predict; the labels are in the column of the training data's target, unless
    --target says otherwise. A calibration slope below 1 means that probabilities are too close to 0 and 1.
    """
    from safescreen.cli.scoring import Predicted

    check_outputs(outputs, source.data, str(model))
    found = Predicted.of(model, source.data, source.reading())
    document, groups = _scores(found), _groups(found)
    console = make_console(outputs.silent)
    show_notes(make_console(outputs.quiet, stderr=True), found.notes)
    positive = plain(f"{found.record.positive_class}")
    console.print(f"{document['n_scored']:,} of {found.table.n_rows:,} rows have a label and a prediction.")
    numbers = {name.replace("_", " "): value for name, value in document.items() if isinstance(value, float)}
    console.print(grid({name: "undefined" if value != value else f"{value:.4f}" for name, value in numbers.items()}))
    table = make_table(dict.fromkeys(("rows", f"mean probability of {positive}", "share that came true"), "number"))
    for group in groups:
        table.add_row(f"{group['rows']:,}", f"{group['predicted']:.4f}", f"{group['observed']:.4f}")
    console.print(table)
    write_files(console, outputs, table="calibration", output=lambda path: write_records(path, groups))
    if outputs.json:
        told = {"calibration": groups, "filled": found.filled, "notes": found.notes}
        print_json({**found.opening(source.data), **document, **told})


def _scores(found: Predicted) -> dict[str, Any]:
    """All scores by name."""
    from safescreen.cli.scoring import Scores
    from safescreen.prediction import calibration_line

    log_odds, positive = found.labelled
    scores = Scores.of(log_odds, positive)
    intercept, slope = calibration_line(log_odds, positive)
    return {
        "n_samples": found.table.n_rows,
        "n_scored": positive.size,
        "log_loss": scores.log_loss,
        "baseline_log_loss": scores.baseline_log_loss,
        "accuracy": scores.accuracy,
        "auc": scores.auc,
        "calibration_intercept": intercept,
        "calibration_slope": slope,
    }


def _groups(found: Predicted) -> list[dict[str, Any]]:
    """Rows of similar prediction: how many, what was predicted on average, and what came true."""
    from safescreen.prediction import probabilities, similar_groups

    log_odds, positive = found.labelled
    probability = probabilities(log_odds)[:, 1]
    return [
        {
            "rows": members.size,
            "predicted": float(probability[members].mean()),
            "observed": float(positive[members].mean()),
        }
        for members in similar_groups(log_odds)
    ]
