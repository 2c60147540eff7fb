"""All features: what is proved about each, and by what margin."""

from __future__ import annotations

from typing import Any

import numpy as np

import safescreen.reporting.markup as html
from safescreen.arrays import AnyArray, FloatArray
from safescreen.formatting.digits import below, compact_below, nearest
from safescreen.formatting.escaping import plain, script_json, shortened
from safescreen.reporting.charts import Chart, linear, thinned
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
        html.filled("explorer.html"),
        _fallback(solution, letters, margin),
    )


def embedded(subject: Subject) -> dict[str, Any]:
    """All features for the page's table, as compactly as JSON can hold them."""
    solution = subject.solution
    problem, support = solution.problem, solution.support
    effect = subject.model.coef[support] * deviations(problem, support)
    data: dict[str, Any] = {
        "count": problem.n_features,
        "names": _compact_names(problem.feature_names),
        "codes": decisions(solution),
        "labels": LABELS,
        "margins": compact_below(margins(solution)),
        "objective": solution.objective,
        "support": support.tolist(),
        "effects": [float(f"{value:.4g}") for value in effect.tolist()],
        "models": None,
    }
    if subject.path is not None:
        chosen, times = np.unique(np.concatenate(subject.path.supports), return_counts=True)
        data["models"] = {"of": len(subject.path), "features": chosen.tolist(), "times": times.tolist()}
    return data


def _compact_names(names: AnyArray | None) -> list[str] | None:
    """Names for embedding, long ones cut so that the page stays small."""
    if names is None:
        return None
    shown = [plain(name) for name in names.tolist()]
    letters = np.array([len(name) for name in shown])
    width = np.array([len(script_json(name).encode()) for name in shown]) / np.maximum(letters, 1)  # bytes per letter
    allowed = max(_SMALL_NAMES, _NAME_BYTES * len(shown))
    length = html.LONGEST_TEXT
    while length > 6 and (np.minimum(letters, length) * width).sum() > allowed:
        length -= 1
    return [shortened(name, length) for name in shown]


def _margin_chart(letters: str, margin: FloatArray) -> str:
    """All margins, sorted: what is above zero is proved."""
    finite = np.flatnonzero(np.isfinite(margin))
    if finite.size < 2:
        return ""
    order = finite[np.argsort(-margin[finite], kind="stable")]
    height, known = margin[order], np.array(list(letters))[order]
    chart = Chart(
        linear("features, sorted by margin", 0.5, order.size + 0.5, 5, whole=True),
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


def _fallback(solution: Solution, letters: str, margin: FloatArray) -> str:
    """The first rows as plain HTML, for readers without scripts."""
    shown = np.array([np.inf if value is None else value for value in compact_below(margin)])  # ties as in the script
    order = reading_order(letters, shown, solution.support)[:_FALLBACK_ROWS]
    chosen = set(solution.support.tolist())
    rows = []
    for j, name in zip(order.tolist(), solution.problem.names(order), strict=True):
        decision = LABELS[Decision(letters[j])] + (", in the model" if j in chosen else "")
        height = below(margin[j]) if np.isfinite(margin[j]) else "–"
        rows.append(html.row(_COLUMNS, (str(j), html.name(name), decision, height)))
    table = html.table("features", _COLUMNS, rows)
    return html.filled("fallback.html", shown=order.size, count=f"{len(letters):,}", table=table)
