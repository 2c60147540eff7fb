"""Held-out data on the page: scores, ROC and calibration."""

from __future__ import annotations

import math

import numpy as np

import safescreen.reporting.markup as html
from safescreen.formatting.digits import counted, nearest
from safescreen.prediction import accuracy, roc
from safescreen.reporting.charts import Chart, linear, thinned
from safescreen.reporting.content import sentences
from safescreen.reporting.content.held_out import HeldOut
from safescreen.reporting.content.subject import Subject


def section(subject: Subject) -> str:
    """Scores, ROC and calibration."""
    score, label = subject.score, sentences.label(subject.problem, 1)
    if score is None:
        return ""
    size, positive = score.positive.size, score.positive.sum()
    intro = f"{counted(size, 'sample')} given as held-out data, {positive:,} of them {label}."
    if subject.seen:
        which = "All" if subject.seen == size else f"{subject.seen:,}"
        intro += f" {which} of them are training data, too, so that these scores flatter the model."
    if math.isnan(score.auc):
        intro += " With one class only there is no ROC curve."
    if subject.place is not None:
        intro += f" Shown for {html.setting(*subject.place)}; the path above has the scores of all models."
    charts = f'<div class="pair">{_roc_chart(score)}{_calibration_chart(score, label)}</div>'
    return html.section("heldout", "On held-out data", html.paragraph(intro), html.tiles(_facts(score)), charts)


def _facts(score: HeldOut) -> list[tuple[str, str, str]]:
    facts = [
        ("Log-loss", nearest(score.log_loss, 4), f"{nearest(score.naive_log_loss, 4)} at the base rate"),
        ("Brier score", nearest(score.brier, 4), "0 is perfect"),
        ("Accuracy", f"{100.0 * accuracy(score.log_odds, score.positive):.1f}\u00a0%", "at probability ½"),
    ]
    if math.isnan(score.auc):
        return facts
    low, high = score.auc_interval()
    interval = "no interval" if math.isnan(low) else f"95\u00a0% interval {low:.3f} to {high:.3f}"
    return [("Area under ROC", f"{score.auc:.3f}", interval), *facts]


def _roc_chart(score: HeldOut) -> str:
    if math.isnan(score.auc):
        return ""
    false, true = roc(score.log_odds, score.positive)
    keep = thinned(false.size)
    chart = Chart(linear("false positive rate", 0.0, 1.0), linear("true positive rate", 0.0, 1.0))
    chart.line((0.0, 1.0), (0.0, 1.0), "reference")
    chart.area(false[keep], np.zeros(keep.size), true[keep], "soft")
    chart.line(false[keep], true[keep], "model")
    return chart.html("roc", "ROC curve", f"ROC curve with area {score.auc:.3f}.", height=280)


def _calibration_chart(score: HeldOut, label: str) -> str:
    groups = score.calibration()
    chart = Chart(
        linear("predicted probability (columns: how many samples)", 0.0, 1.0),
        linear("observed share, 95 % interval", 0.0, 1.0),
    )
    counts, edges = np.histogram(score.probability, bins=20, range=(0.0, 1.0))
    chart.area(np.repeat(edges, 2)[1:-1], np.zeros(40), np.repeat(0.18 * counts / counts.max(), 2), "soft")
    chart.line((0.0, 1.0), (0.0, 1.0), "reference")
    _, predicted, observed, low, high = zip(*groups, strict=True)
    chart.bars(predicted, low, high, "model")
    titles = [
        f"{counted(group.size, 'sample')}: predicted {group.predicted:.3f}, observed {group.observed:.3f} "
        f"({group.low:.3f} to {group.high:.3f})"
        for group in groups
    ]
    chart.dots(predicted, observed, "model", titles)
    description = f"Observed against predicted share of {label} in {counted(len(groups), 'group')}."
    return chart.html("calibration", "Calibration", description, height=280)
