"""All features: what is proved about each, and by what margin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import safescreen.reporting.markup as html
from safescreen.arrays import AnyArray, FloatArray
from safescreen.formatting.digits import below, compact_below, nearest
from safescreen.formatting.escaping import plain, script_json, shortened
from safescreen.reporting.charts import Chart, linear, rank_axis, thinned
from safescreen.reporting.content import sentences
from safescreen.reporting.content.features import LABELS, Decision, decisions, deviations, margins, reading_order
from safescreen.reporting.content.subject import Subject
from safescreen.search.solution import Solution

_FALLBACK_ROWS = 50  # features shown where there is no script
_COLUMNS = (
    html.Column("Column", look="number"),
    html.Column("Feature", names_rows=True),
    html.Column("Proved"),
    html.Column("Margin", look="number"),
)
_NAME_BYTES = 36  # per feature, on average: beyond that long names are cut
_SMALL_NAMES = 256_000  # bytes of names that never need cutting


def section(subject: Subject) -> str:
    """What was ruled out and by how much."""
    solution = subject.solution
    letters, margin = decisions(solution), margins(solution)
    screened = solution.screening is not None
    return html.section(
        "features",
        "What was ruled out, and by how much" if screened else "All features",
        html.paragraph(sentences.ruled_out(solution)),
        _margin_chart(letters, margin) if screened else "",
        html.filled("margins.html", objective=nearest(solution.objective, 5)) if screened else "",
        _explorer(letters, solution),
        _fallback(solution, letters, margin),
    )


def embedded(subject: Subject) -> dict[str, Any]:
    """All features for the page's table, as compactly as JSON can hold them."""
    solution = subject.solution
    problem, support = solution.problem, solution.support
    effect = solution.coef[support] * deviations(problem, support)
    names, length = _compact_names(problem.feature_names)
    data: dict[str, Any] = {
        "count": problem.n_features,
        "names": names,
        "codes": decisions(solution),
        "labels": LABELS,
        "margins": compact_below(margins(solution)),
        "objective": solution.objective,
        "support": support.tolist(),
        "effects": [float(f"{value:.4g}") for value in effect.tolist()],
        "shortened": length,
        "models": None,
    }
    if subject.path is not None:
        chosen, times = np.unique(np.concatenate(subject.path.supports), return_counts=True)
        data["models"] = {"of": len(subject.path), "features": chosen.tolist(), "times": times.tolist()}
    return data


def _compact_names(names: AnyArray | None) -> tuple[list[str] | None, int | None]:
    """Names for embedding, and the length to which long ones were cut, if any were, so that the page stays small."""
    if names is None:
        return None, None
    shown = [plain(name) for name in names.tolist()]
    letters = np.array([len(name) for name in shown])
    width = np.array([len(script_json(name).encode()) for name in shown]) / np.maximum(letters, 1)  # bytes per letter
    allowed = max(_SMALL_NAMES, _NAME_BYTES * len(shown))
    length = html.LONGEST_NAME
    while length > 6 and (np.minimum(letters, length) * width).sum() > allowed:
        length -= 1
    if letters.max() <= length:
        return shown, None
    return [shortened(name, length) for name in shown], length


def _margin_chart(letters: str, margin: FloatArray) -> str:
    """All margins, sorted: what is above zero is proved."""
    finite = np.flatnonzero(np.isfinite(margin))
    if finite.size < 2:
        return ""
    order = finite[np.argsort(-margin[finite], kind="stable")]
    height, known = margin[order], np.array(list(letters))[order]
    chart = Chart(
        rank_axis("features, sorted by margin", order.size),
        linear("margin", min(height.min(), 0.0), max(height.max(), 0.0), room=0.04),
    )
    chart.level(0.0, "threshold")
    legend = []
    for code, look in ((Decision.OUT, "out"), (Decision.OPEN, "open"), (Decision.IN, "in")):
        places = np.flatnonzero(known == code)
        if places.size:
            shown = places[thinned(places.size)]
            chart.dots((shown + 1.0).tolist(), height[shown], look)
            legend.append((f"{LABELS[code]} ({places.size:,})", look))
    description = f"Margins of {order.size} features, sorted; above zero is proved."
    return chart.html("margins", "Margins of all features", description, legend, 220)


def _explorer(letters: str, solution: Solution) -> str:
    """The frame of the table of all features; the script fills it."""
    groups = [
        ("all", "All", len(letters)),
        ("model", "In the model", solution.support.size),
        ("in", "Proved in", letters.count(Decision.IN) + letters.count(Decision.REQUIRED)),
        ("open", "Undecided", letters.count(Decision.OPEN)),
        ("out", "Ruled out", sum(map(letters.count, (Decision.OUT, Decision.FORBIDDEN, Decision.CONSTANT)))),
    ]
    if Decision.UNKNOWN in letters:
        groups = groups[:2]
    buttons = "".join(
        f'<button type="button" data-group="{group}" aria-pressed="{"true" if group == "all" else "false"}">'
        f"{label} <span>{count:,}</span></button>"
        for group, label, count in groups
    )
    return html.filled("explorer.html", buttons=buttons)


def _fallback(solution: Solution, letters: str, margin: FloatArray) -> str:
    """The first rows as plain HTML, for readers without scripts."""
    shown = np.array([np.inf if value is None else value for value in compact_below(margin)])  # ties as in the script
    order = reading_order(letters, shown, solution.support)[:_FALLBACK_ROWS]
    chosen = set(solution.support.tolist())
    rows = []
    for j, name in zip(order.tolist(), solution.problem.names(order), strict=True):
        decision = LABELS[Decision(letters[j])] + (", in the model" if j in chosen else "")
        height = below(float(margin[j])) if math.isfinite(margin[j]) else "–"
        rows.append(html.row(_COLUMNS, (str(j), html.name(name), decision, height)))
    remark = (
        f"The first {order.size} of {len(letters):,} features; with scripts allowed, this page shows, sorts and "
        "searches all of them."
    )
    return f"<noscript>{html.paragraph(remark)}{html.table('features', _COLUMNS, rows)}</noscript>"
