"""A path on the page: objective and bound along it, and which features enter when."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

import safescreen.reporting.words as words
from safescreen.formatting.digits import above, below, counted, nearest, percent_above, signed
from safescreen.formatting.escaping import escaped
from safescreen.path import L0Path
from safescreen.status import Status

from .charts import Chart, linear, parameter_axis, thinned
from .heldout import HeldOut
from .markup import PARAMETERS, SYMBOLS, folded, name_html, paragraph, section, table
from .subject import Subject, deviations

IndexArray = npt.NDArray[np.int64]

_MATRIX_ROWS, _MATRIX_COLUMNS = 40, 60
_FEW_MODELS = 25
_LISTED = 8  # features named per change
_LONGEST_ROW_NAME = 80
_NARROW_COLUMN = 22  # pixels of a matrix's column on a phone, about


def path_section(subject: Subject, scores: Sequence[HeldOut] | None) -> str:
    """All models along a path."""
    path = subject.path
    if path is None:
        return ""
    order = np.argsort(path.values, kind="stable")
    return section(
        "path",
        f"The path: {counted(len(path), 'model')}",
        paragraph(words.path_summary(subject)),
        _path_chart(path, order) if len(path) > 1 else "",
        _score_chart(path, order, scores) if scores is not None and len(path) > 1 else "",
        _entry_matrix(path, order),
        _path_table(path, order, scores),
    )


def _path_chart(path: L0Path, order: IndexArray) -> str:
    values = np.asarray(path.values, dtype=np.float64)[order]
    upper, lower = path.objectives[order], path.lower_bounds[order]
    chart = Chart(parameter_axis(path.parameter, values), linear(float(lower.min()), float(upper.max()), room=0.05))
    chart.area(values, lower, upper, "gap")
    chart.line(values, lower, "bound")
    chart.line(values, upper, "model")
    titles = [
        f"{SYMBOLS[path.parameter]} = {value:g}: {counted(path[i].support.size, 'feature')}, objective "
        f"{path[i].objective:.6g}, bound {path[i].lower_bound:.6g}"
        for i, value in zip(order.tolist(), values.tolist(), strict=True)
    ]
    chart.dots(values, upper, "model", titles)
    legend = [("best model", "model"), ("proved lower bound", "bound")]
    label = PARAMETERS[path.parameter] + (", logarithmic" if chart.x.logarithmic else "")
    description = f"Objective and lower bound of {len(path)} models along {PARAMETERS[path.parameter]}."
    return chart.html("Objective along the path", description, label, "objective", legend, 240, "path")


def _score_chart(path: L0Path, order: IndexArray, scores: Sequence[HeldOut]) -> str:
    values = np.asarray(path.values, dtype=np.float64)[order]
    losses = np.array([scores[i].log_loss for i in order.tolist()])
    naive = scores[0].naive_log_loss
    chart = Chart(
        parameter_axis(path.parameter, values),
        linear(float(min(losses.min(), naive)), float(max(losses.max(), naive)), room=0.05),
    )
    chart.level(naive, "reference")
    chart.line(values, losses, "model")
    titles = [
        f"{SYMBOLS[path.parameter]} = {value:g}: held-out log-loss {loss:.4g}"
        for value, loss in zip(values.tolist(), losses.tolist(), strict=True)
    ]
    chart.dots(values, losses, "model", titles)
    legend = [("model", "model"), ("always the base rate", "reference")]
    label = PARAMETERS[path.parameter] + (", logarithmic" if chart.x.logarithmic else "")
    note = (
        "Whoever picks a model by these scores has used the held-out data for fitting and needs fresh data to judge it"
    )
    return chart.html(
        "Log-loss on held-out data", "Held-out log-loss along the path.", label, "log-loss", legend, 200, "scores"
    ) + paragraph(f"{note}.", "quiet")


def _entry_matrix(path: L0Path, order: IndexArray) -> str:
    """Which features are in which models: a row per feature, a column per model, colour for the coefficient."""
    problem, symbol = path[0].problem, SYMBOLS[path.parameter]
    order = order[thinned(order.size, _MATRIX_COLUMNS)]
    chosen, times = np.unique(np.concatenate([path[i].support for i in order.tolist()]), return_counts=True)
    if not chosen.size:
        return ""
    spread = deviations(problem, chosen)
    effects = np.column_stack([path[i].coef[chosen] * spread for i in order.tolist()])
    used = np.column_stack([np.isin(chosen, path[i].support) for i in order.tolist()])
    growing = used[:, ::-1] if path.parameter == "mu" else used  # models grow as the price falls
    rows = np.lexsort((chosen, -times, growing.argmax(axis=1)))[:_MATRIX_ROWS]
    reach = float(np.abs(effects).max()) or 1.0
    labels = [
        f"{value:.2g}" if path.parameter != "k" else f"{value:d}" for value in np.asarray(path.values)[order].tolist()
    ]
    lines = []
    for i, name in zip(rows.tolist(), problem.names(chosen[rows]), strict=True):
        cells = [
            _cell(effects[i, c] / reach, f"{symbol} = {label}: {signed(float(effects[i, c]))}")
            if used[i, c]
            else "<td></td>"
            for c, label in enumerate(labels)
        ]
        lines.append(f'<tr><th scope="row">{name_html(name, _LONGEST_ROW_NAME)}</th>{"".join(cells)}</tr>')
    every = math.ceil((7 * max(map(len, labels)) + 8) / min(_NARROW_COLUMN, 700 / len(labels)))
    heads = "".join(
        f'<th scope="col"><span>{label if c % every == 0 else ""}</span></th>' for c, label in enumerate(labels)
    )
    more = chosen.size - rows.size
    caption = (
        f"Columns: {PARAMETERS[path.parameter]}. Colour: coefficient per standard deviation, blue where it speaks for "
        f"{words.label(problem, 1)} and orange where it speaks against it."
        + (f" {counted(more, 'feature')} that came later or less often are not shown." if more else "")
    )
    return (
        '<figure class="matrix" data-chart="entries"><figcaption><strong>Which features enter when</strong>'
        f"<span>{escaped(caption)}</span></figcaption>"
        f'<div class="scroll"><table><thead><tr><td></td>{heads}</tr></thead><tbody>{"".join(lines)}</tbody></table>'
        "</div></figure>"
    )


def _cell(share: float, title: str) -> str:
    look = "plus" if share > 0.0 else "minus"
    return f'<td class="{look}" style="--share:{0.2 + 0.8 * abs(share):.2f}" title="{escaped(title)}"></td>'


def _path_table(path: L0Path, order: IndexArray, scores: Sequence[HeldOut] | None) -> str:
    """All models in numbers, and how each differs from the one before."""
    heads = [
        (SYMBOLS[path.parameter], "", "number"),
        ("Features", "", "number"),
        ("Objective", "", "number"),
        ("Lower bound", "", "number wide"),
        ("Gap", "", "number"),
        ("Status", "", "wide"),
    ]
    if scores is not None:
        heads += [("Log-loss", "held-out", "number"), ("ROC area", "held-out", "number wide")]
    rows: list[str] = []
    previous: set[int] = set()
    for i in (order[::-1] if path.parameter == "mu" else order).tolist():
        current = set(path[i].support.tolist())
        changes = _changes(path[i].problem.names, sorted(current - previous), sorted(previous - current))
        held_out = "" if scores is None else _score_cells(scores[i])
        look = "changed" if changes else "unchanged"
        rows.append(f'<tr class="{look}">{_point_cells(path, i)}{held_out}</tr>')
        if changes:
            rows.append(f'<tr class="changes"><td colspan="{len(heads)}">{changes}</td></tr>')
        previous = current
    return folded("All models in numbers", table("points", heads, "".join(rows)), unfolded=len(path) <= _FEW_MODELS)


def _point_cells(path: L0Path, i: int) -> str:
    solution = path[i]
    status = "proved" if solution.status == Status.OPTIMAL else escaped(solution.status.replace("_", " "))
    return (
        f'<th scope="row" class="number">{float(path.values[i]):.4g}</th>'
        f'<td class="number">{solution.support.size:,}</td>'
        f'<td class="number">{above(solution.objective, 5, padded=True)}</td>'
        f'<td class="number wide">{below(solution.lower_bound, 5, padded=True)}</td>'
        f'<td class="number">{percent_above(solution.gap)}</td><td class="wide">{status}</td>'
    )


def _score_cells(score: HeldOut) -> str:
    area = f"{score.auc()[0]:.3f}" if score.has_both_classes else "–"
    return f'<td class="number">{nearest(score.log_loss, 4)}</td><td class="number wide">{area}</td>'


def _changes(names: Callable[[list[int]], list[str]], entered: list[int], left: list[int]) -> str:
    """Features that come and go from one model to the next, at most a handful of each."""
    parts = []
    for sign, look, features in (("+", "plus", entered), ("−", "minus", left)):
        shown = names(features[:_LISTED])
        parts += [f'<span class="{look}">{sign}\u00a0{name_html(name, _LONGEST_ROW_NAME)}</span>' for name in shown]
        if len(features) > _LISTED:
            parts.append(f'<span class="{look}">{sign}\u00a0{len(features) - _LISTED:,} more</span>')
    return " ".join(parts)
