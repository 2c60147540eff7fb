"""A path on the page: objective and bound along it, and which features enter when."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import zip_longest

import numpy as np

import safescreen.reporting.markup as html
from safescreen.formatting.digits import above, below, counted, nearest, percent_above, signed
from safescreen.formatting.escaping import escaped
from safescreen.path import L0Path
from safescreen.reporting.charts import Chart, linear, parameter_axis, thinned
from safescreen.reporting.content import sentences
from safescreen.reporting.content.features import deviations
from safescreen.reporting.content.held_out import HeldOut
from safescreen.reporting.content.subject import Subject
from safescreen.search.solution import Solution
from safescreen.status import Status

_MATRIX_ROWS, _MATRIX_COLUMNS = 40, 60
_FEW_MODELS = 25
_RIDGES = (
    "The proofs are about the choices of features; coefficients and held-out scores are those of estimates at another "
    "ridge."
)
_LISTED = 8  # features named per change
_LONGEST_ROW_NAME = 80
_NARROW_COLUMN = 22  # pixels of a matrix's column on a phone, about


def section(subject: Subject) -> str:
    """All models along a path."""
    if subject.path is None:
        return ""
    order = np.argsort(subject.path.values, kind="stable")
    path = subject.path.at(order)
    scores = [subject.scores[i] for i in order] if subject.scores else []
    several = len(path) > 1
    optimal = path.statuses.count(Status.OPTIMAL)
    summary = "path_proved.html" if optimal == len(path) else "path_open.html"
    return html.section(
        "path",
        f"The path: {counted(len(path), 'model')}",
        html.filled(summary, optimal=optimal, models=len(path), gap=percent_above(path.gaps.max())),
        html.paragraph(_RIDGES) if subject.two_ridges else "",
        _bounds_chart(path) if several else "",
        _score_chart(path, scores) if several and scores else "",
        _entry_matrix(path.at(thinned(len(path), _MATRIX_COLUMNS))),
        _table(path, scores),
    )


def _bounds_chart(path: L0Path) -> str:
    lower, upper = path.lower_bounds, path.objectives
    chart = Chart(parameter_axis(path.parameter, path.values), linear("objective", lower.min(), upper.max(), room=0.05))
    chart.bounds(path.values, lower, upper)
    titles = [
        f"{html.setting(path.parameter, value)}: {counted(solution.support.size, 'feature')}, objective "
        f"{solution.objective:.6g}, bound {solution.lower_bound:.6g}"
        for value, solution in zip(path.values, path, strict=True)
    ]
    chart.dots(path.values, upper, "model", titles)
    legend = (("best model", "model"), ("proved lower bound", "bound"))
    description = f"Objective and lower bound of {len(path)} models along {html.PARAMETERS[path.parameter]}."
    return chart.html("path", "Objective along the path", description, legend)


def _score_chart(path: L0Path, scores: Sequence[HeldOut]) -> str:
    losses, naive = np.array([score.log_loss for score in scores]), scores[0].naive_log_loss
    height = linear("log-loss", min(losses.min(), naive), max(losses.max(), naive), room=0.05)
    chart = Chart(parameter_axis(path.parameter, path.values), height)
    chart.level(naive, "reference")
    chart.line(path.values, losses, "model")
    titles = [
        f"{html.setting(path.parameter, value)}: held-out log-loss {loss:.4g}"
        for value, loss in zip(path.values, losses, strict=True)
    ]
    chart.dots(path.values, losses, "model", titles)
    legend = (("model", "model"), ("always the base rate", "reference"))
    figure = chart.html("scores", "Log-loss on held-out data", "Held-out log-loss along the path.", legend, 200)
    return figure + html.filled("caution.html")


def _entry_matrix(path: L0Path) -> str:
    """Which features are in which models: a row per feature, a column per model, colour for the coefficient."""
    problem, parameter = path[0].problem, path.parameter
    features = np.unique(np.concatenate(path.supports))
    if not features.size:
        return ""
    used = np.column_stack([np.isin(features, support) for support in path.supports])
    effects = path.coefs[features] * deviations(problem, features)[:, None]
    reach = float(np.abs(effects).max()) or 1.0
    labels = [f"{value:d}" if parameter == "k" else f"{value:.2g}" for value in path.values]
    growing = used[:, ::-1] if parameter == "mu" else used  # models grow as the price falls
    first = np.lexsort((-used.sum(axis=1), growing.argmax(axis=1)))[:_MATRIX_ROWS]  # earliest entry, longest stay
    rows = []
    for i, name in zip(first, problem.names(features[first]), strict=True):
        cells = [
            _cell(effect, reach, f"{html.SYMBOLS[parameter]} = {label}") if there else "<td></td>"
            for there, effect, label in zip(used[i], effects[i].tolist(), labels, strict=True)
        ]
        rows.append(f'<tr><th scope="row">{html.name(name, _LONGEST_ROW_NAME)}</th>{"".join(cells)}</tr>')
    hidden = counted(features.size - first.size, "feature")
    return html.filled(
        "matrix.html",
        parameter=html.PARAMETERS[parameter],
        label=escaped(sentences.label(problem, 1)),
        rest=f" {hidden} that came later or less often are not shown." if features.size > first.size else "",
        heads=_matrix_heads(labels),
        rows="".join(rows),
    )


def _matrix_heads(labels: list[str]) -> str:
    """As many labels as there is room for."""
    every = math.ceil((7 * max(map(len, labels)) + 8) / min(_NARROW_COLUMN, 700 / len(labels)))
    shown = (label if place % every == 0 else "" for place, label in enumerate(labels))
    return "".join(f'<th scope="col"><span>{label}</span></th>' for label in shown)


def _cell(effect: float, reach: float, where: str) -> str:
    look = "plus" if effect > 0.0 else "minus"
    share = 0.2 + 0.8 * abs(effect / reach)
    return f'<td class="{look}" style="--share:{share:.2f}" title="{escaped(f"{where}: {signed(effect)}")}"></td>'


def _table(path: L0Path, scores: Sequence[HeldOut]) -> str:
    """All models in numbers, and how each differs from the one before."""
    columns = [
        html.Column(html.SYMBOLS[path.parameter], look="number", names_rows=True),
        html.Column("Features", look="number"),
        html.Column("Objective", look="number"),
        html.Column("Lower bound", look="number wide"),
        html.Column("Gap", look="number"),
        html.Column("Status", look="wide"),
    ]
    if scores:
        columns += [html.Column("Log-loss", "held-out", "number"), html.Column("ROC area", "held-out", "number wide")]
    points = list(zip_longest(path.values, path, scores))  # without held-out data the scores are None
    rows: list[str] = []
    previous: set[int] = set()
    for value, solution, score in points[::-1] if path.parameter == "mu" else points:
        current = set(solution.support.tolist())
        changes = _changes(solution.problem.names, sorted(current - previous), sorted(previous - current))
        rows.append(html.row(columns, _cells(value, solution, score), "changed" if changes else "unchanged"))
        if changes:
            rows.append(f'<tr class="changes"><td colspan="{len(columns)}">{changes}</td></tr>')
        previous = current
    table = html.table("points", columns, rows)
    return html.folded("All models in numbers", table, unfolded=len(path) <= _FEW_MODELS)


def _cells(value: float, solution: Solution, score: HeldOut | None) -> list[str]:
    cells = [
        f"{value:.4g}",
        f"{solution.support.size:,}",
        above(solution.objective, 5, padded=True),
        below(solution.lower_bound, 5, padded=True),
        percent_above(solution.gap),
        "proved" if solution.status == Status.OPTIMAL else solution.status.replace("_", " "),
    ]
    if score is not None:
        cells += [nearest(score.log_loss, 4), "–" if math.isnan(score.auc) else f"{score.auc:.3f}"]
    return cells


def _changes(names: Callable[[list[int]], list[str]], entered: list[int], left: list[int]) -> str:
    """Features that come and go from one model to the next, at most a handful of each."""
    parts = []
    for sign, look, features in (("+", "plus", entered), ("−", "minus", left)):
        shown = [html.name(name, _LONGEST_ROW_NAME) for name in names(features[:_LISTED])]
        if len(features) > _LISTED:
            shown.append(f"{len(features) - _LISTED:,} more")
        parts += [f'<span class="{look}">{sign}\u00a0{name}</span>' for name in shown]
    return " ".join(parts)
