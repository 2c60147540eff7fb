"""Held-out data on the page: scores, ROC and calibration."""

from __future__ import annotations

import math

import numpy as np

import safescreen.reporting.words as words
from safescreen.formatting.digits import counted, nearest

from .charts import Chart, linear, thinned
from .heldout import HeldOut
from .markup import SYMBOLS, paragraph, section, tiles
from .subject import Subject


def heldout_section(subject: Subject, held_out: HeldOut) -> str:
    """Scores, ROC and calibration."""
    problem = subject.problem
    positive = int(held_out.positive.sum())
    intro = (
        f"{counted(held_out.positive.size, 'sample')} that the model has not seen, {positive:,} of them "
        f"{words.label(problem, 1)}."
    )
    facts = [
        ("Log-loss", nearest(held_out.log_loss, 4), f"{nearest(held_out.naive_log_loss, 4)} at the base rate"),
        ("Brier score", nearest(held_out.brier, 4), "0 is perfect"),
        ("Accuracy", f"{100.0 * held_out.accuracy:.1f}\u00a0%", "at probability ½"),
    ]
    charts = [_calibration_chart(held_out, words.label(problem, 1))]
    if held_out.has_both_classes:
        area, low, high = held_out.auc()
        interval = f"95\u00a0% interval {low:.3f} to {high:.3f}" if math.isfinite(low) else "no interval"
        facts.insert(0, ("Area under ROC", f"{area:.3f}", interval))
        charts.insert(0, _roc_chart(held_out, area))
    else:
        intro += " With one class only there is no ROC curve."
    which = ""
    if subject.path is not None:
        name = subject.path.parameter
        which = f" Shown for {SYMBOLS[name]} = {getattr(problem, name):g}; the path above has the scores of all models."
    pair = f'<div class="pair">{"".join(charts)}</div>'
    return section("heldout", "On held-out data", paragraph(intro + which), tiles(facts), pair)


def _roc_chart(held_out: HeldOut, area: float) -> str:
    false, true = held_out.roc()
    chart = Chart(linear(0.0, 1.0, 6), linear(0.0, 1.0, 6))
    chart.line([0.0, 1.0], [0.0, 1.0], "reference")
    keep = thinned(false.size)
    chart.area(false[keep], np.zeros(keep.size), true[keep], "soft")
    chart.line(false[keep], true[keep], "model")
    return chart.html(
        "ROC curve", f"ROC curve with area {area:.3f}.", "false positive rate", "true positive rate", (), 280, "roc"
    )


def _calibration_chart(held_out: HeldOut, positive: str) -> str:
    bins = held_out.calibration()
    chart = Chart(linear(0.0, 1.0, 6), linear(0.0, 1.0, 6))
    counts, edges = np.histogram(held_out.probability, bins=20, range=(0.0, 1.0))
    chart.columns(edges[:-1], edges[1:], 0.18 * counts / max(counts.max(), 1), "soft")
    chart.line([0.0, 1.0], [0.0, 1.0], "reference")
    predicted = [group.predicted for group in bins]
    chart.bars(predicted, [group.low for group in bins], [group.high for group in bins], "model")
    titles = [
        f"{counted(group.size, 'sample')}: predicted {group.predicted:.3f}, observed {group.observed:.3f} "
        f"({group.low:.3f} to {group.high:.3f})"
        for group in bins
    ]
    chart.dots(predicted, [group.observed for group in bins], "model", titles)
    return chart.html(
        "Calibration",
        f"Observed against predicted share of {positive} in {counted(len(bins), 'group')}.",
        "predicted probability (columns: how many samples)",
        "observed share, 95 % interval",
        (),
        280,
        "calibration",
    )
