"""A path on the page: objective and bound along it, and which features enter when."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from safescreen.formatting.digits import above, below, counted, nearest, percent_above, signed
from safescreen.formatting.escaping import escaped
from safescreen.reporting import markup as html
from safescreen.reporting.charts import Chart, linear, parameter_axis, thinned
from safescreen.reporting.content import sentences
from safescreen.reporting.content.features import deviations
from safescreen.reporting.content.held_out import HeldOut
from safescreen.reporting.content.subject import Subject
from safescreen.solution import Solution
from safescreen.status import Status

IndexArray = npt.NDArray[np.int64]

_MATRIX_ROWS, _MATRIX_COLUMNS = 40, 60
_FEW_MODELS = 25
_LISTED = 8  # features named per change
_LONGEST_ROW_NAME = 80
_NARROW_COLUMN = 22  # pixels of a matrix's column on a phone, about
_CAUTION = (
    "Whoever picks a model by these scores has used the held-out data for fitting and needs fresh data to judge it."
)


class Point(NamedTuple):
    """A model of the path, with its score if there are held-out data."""

    value: float
    solution: Solution
    score: HeldOut | None


def path_section(subject: Subject) -> str:
    """All models along a path."""
    path = subject.path
    if path is None:
        return ""
    scores = subject.scores or (None,) * len(path)
    points = sorted(map(Point, path.values.tolist(), path, scores), key=lambda point: point.value)
    several = len(points) > 1
    return html.section(
        "path",
        f"The path: {counted(len(points), 'model')}",
        html.paragraph(sentences.path_summary(path)),
        _bounds_chart(path.parameter, points) if several else "",
        _score_chart(path.parameter, points) if several and subject.scores else "",
        _entry_matrix(path.parameter, [points[i] for i in thinned(len(points), _MATRIX_COLUMNS)]),
        _table(path.parameter, points),
    )


def _bounds_chart(parameter: str, points: list[Point]) -> str:
    values = np.array([point.value for point in points], dtype=np.float64)
    upper = np.array([point.solution.objective for point in points])
    lower = np.array([point.solution.lower_bound for point in points])
    chart = Chart(parameter_axis(parameter, values), linear("objective", lower.min(), upper.max(), room=0.05))
    chart.bounds(values, lower, upper)
    titles = [
        f"{html.setting(parameter, value)}: {counted(solution.support.size, 'feature')}, objective "
        f"{solution.objective:.6g}, bound {solution.lower_bound:.6g}"
        for value, solution, _ in points
    ]
    chart.dots(values, upper, "model", titles)
    legend = (("best model", "model"), ("proved lower bound", "bound"))
    description = f"Objective and lower bound of {len(points)} models along {html.PARAMETERS[parameter]}."
    return chart.html("path", "Objective along the path", description, legend)


def _score_chart(parameter: str, points: list[Point]) -> str:
    values = np.array([point.value for point in points], dtype=np.float64)
    scores = [point.score for point in points if point.score is not None]
    losses, naive = np.array([score.log_loss for score in scores]), scores[0].naive_log_loss
    height = linear("log-loss", min(losses.min(), naive), max(losses.max(), naive), room=0.05)
    chart = Chart(parameter_axis(parameter, values), height)
    chart.level(naive, "reference")
    chart.line(values, losses, "model")
    labels = [html.setting(parameter, value) for value in values.tolist()]
    titles = [f"{label}: held-out log-loss {loss:.4g}" for label, loss in zip(labels, losses.tolist(), strict=True)]
    chart.dots(values, losses, "model", titles)
    legend = (("model", "model"), ("always the base rate", "reference"))
    description = "Held-out log-loss along the path."
    return chart.html("scores", "Log-loss on held-out data", description, legend, 200) + html.paragraph(
        _CAUTION, "quiet"
    )


def _entry_matrix(parameter: str, points: list[Point]) -> str:
    """Which features are in which models: a row per feature, a column per model, colour for the coefficient."""
    problem = points[0].solution.problem
    features = np.unique(np.concatenate([point.solution.support for point in points]))
    if not features.size:
        return ""
    used = np.column_stack([np.isin(features, point.solution.support) for point in points])
    effects = np.column_stack([point.solution.coef[features] for point in points])
    effects *= deviations(problem, features)[:, None]
    reach = float(np.abs(effects).max()) or 1.0
    labels = [f"{point.value:d}" if parameter == "k" else f"{point.value:.2g}" for point in points]
    first = _order_of_entry(parameter, used)[:_MATRIX_ROWS]
    rows = []
    for i, name in zip(first.tolist(), problem.names(features[first]), strict=True):
        cells = [
            _cell(effect, reach, f"{html.SYMBOLS[parameter]} = {label}") if there else "<td></td>"
            for there, effect, label in zip(used[i], effects[i].tolist(), labels, strict=True)
        ]
        rows.append(f'<tr><th scope="row">{html.name(name, _LONGEST_ROW_NAME)}</th>{"".join(cells)}</tr>')
    caption = (
        f"Columns: {html.PARAMETERS[parameter]}. Colour: coefficient per standard deviation, blue where it speaks for "
        f"{sentences.label(problem, 1)} and orange where it speaks against it."
    )
    if features.size > first.size:
        more = counted(features.size - first.size, "feature")
        caption += f" {more} that came later or less often are not shown."
    return html.filled("matrix.html", caption=escaped(caption), heads=_matrix_heads(labels), rows="".join(rows))


def _order_of_entry(parameter: str, used: npt.NDArray[np.bool_]) -> IndexArray:
    """Features in the order in which they enter as models grow, those that stay longer first."""
    growing = used[:, ::-1] if parameter == "mu" else used  # models grow as the price falls
    return np.lexsort((-used.sum(axis=1), growing.argmax(axis=1)))


def _matrix_heads(labels: list[str]) -> str:
    """As many labels as there is room for."""
    every = math.ceil((7 * max(map(len, labels)) + 8) / min(_NARROW_COLUMN, 700 / len(labels)))
    shown = (label if place % every == 0 else "" for place, label in enumerate(labels))
    return "".join(f'<th scope="col"><span>{label}</span></th>' for label in shown)


def _cell(effect: float, reach: float, where: str) -> str:
    look = "plus" if effect > 0.0 else "minus"
    share = 0.2 + 0.8 * abs(effect / reach)
    return f'<td class="{look}" style="--share:{share:.2f}" title="{escaped(f"{where}: {signed(effect)}")}"></td>'


def _table(parameter: str, points: list[Point]) -> str:
    """All models in numbers, and how each differs from the one before."""
    columns = [
        html.Column(html.SYMBOLS[parameter], look="number", names_rows=True),
        html.Column("Features", look="number"),
        html.Column("Objective", look="number"),
        html.Column("Lower bound", look="number wide"),
        html.Column("Gap", look="number"),
        html.Column("Status", look="wide"),
    ]
    if points[0].score is not None:
        columns += [html.Column("Log-loss", "held-out", "number"), html.Column("ROC area", "held-out", "number wide")]
    rows: list[str] = []
    previous: set[int] = set()
    for point in points[::-1] if parameter == "mu" else points:
        current = set(point.solution.support.tolist())
        changes = _changes(point.solution.problem.names, sorted(current - previous), sorted(previous - current))
        rows.append(html.row(columns, _cells(point), "changed" if changes else "unchanged"))
        if changes:
            rows.append(f'<tr class="changes"><td colspan="{len(columns)}">{changes}</td></tr>')
        previous = current
    return html.folded(
        "All models in numbers", html.table("points", columns, rows), unfolded=len(points) <= _FEW_MODELS
    )


def _cells(point: Point) -> list[str]:
    value, solution, score = point
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
