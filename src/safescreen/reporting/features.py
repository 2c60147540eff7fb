"""All features: what is proved about each, and by what margin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

import safescreen.reporting.words as words
from safescreen.formatting.digits import below, compact_below
from safescreen.formatting.escaping import escaped, plain, script_json, shortened
from safescreen.solution import Solution

from .charts import Axis, Chart, linear, thinned
from .markup import LONGEST_NAME, name_html, paragraph, section, table
from .subject import (
    CONSTANT,
    FORBIDDEN,
    IN,
    OPEN,
    OUT,
    REQUIRED,
    UNKNOWN,
    Subject,
    decisions,
    deviations,
    margins,
    reading_order,
)

FloatArray = npt.NDArray[np.float64]

FALLBACK_ROWS = 50
"""Features shown where there is no script."""

LABELS = {
    IN: "proved in",
    OUT: "ruled out",
    OPEN: "undecided",
    REQUIRED: "required",
    FORBIDDEN: "excluded",
    CONSTANT: "constant",
    UNKNOWN: "not screened",
}

_NAME_BYTES = 36  # per feature, on average: beyond that long names are cut
_SMALL_NAMES = 256_000  # bytes of names that never need cutting


def features_section(subject: Subject) -> str:
    """What was ruled out and by how much."""
    solution = subject.solution
    codes, margin = decisions(solution), margins(solution)
    screened = solution.screening is not None
    return section(
        "features",
        "What was ruled out, and by how much" if screened else "All features",
        paragraph(words.ruled_out(solution)),
        _margin_chart(codes, margin) if screened else "",
        paragraph(words.meaning_of_margin(solution), "quiet") if screened else "",
        _explorer(codes, solution),
        _fallback(solution, codes, margin),
    )


def features_data(subject: Subject) -> dict[str, Any]:
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


def _compact_names(names: npt.NDArray[np.object_] | None) -> tuple[list[str] | None, int | None]:
    """Names for embedding, and the length to which long ones were cut, if any were, so that the page stays small."""
    if names is None:
        return None, None
    shown = [plain(name) for name in names.tolist()]
    letters = np.array([len(name) for name in shown])
    width = np.array([len(script_json(name).encode()) for name in shown]) / np.maximum(letters, 1)  # bytes per letter
    allowed = max(_SMALL_NAMES, _NAME_BYTES * len(shown))
    length = LONGEST_NAME
    while length > 6 and (np.minimum(letters, length) * width).sum() > allowed:
        length -= 1
    if letters.max() <= length:
        return shown, None
    return [shortened(name, length) for name in shown], length


def _margin_chart(codes: str, margin: FloatArray) -> str:
    """All margins, sorted: what is above zero is proved."""
    finite = np.flatnonzero(np.isfinite(margin))
    if finite.size < 2:
        return ""
    order = finite[np.argsort(-margin[finite], kind="stable")]
    height, known = margin[order], np.array(list(codes))[order]
    chart = Chart(linear(0.5, order.size + 0.5, 6), linear(min(height.min(), 0.0), max(height.max(), 0.0), room=0.04))
    chart.x = Axis(chart.x.low, chart.x.high, *_rank_ticks(order.size))
    chart.level(0.0, "threshold")
    legend = []
    for code, look, label in ((OUT, "out", "ruled out"), (OPEN, "open", "undecided"), (IN, "in", "proved in")):
        places = np.flatnonzero(known == code)
        if places.size:
            shown = places[thinned(places.size)]
            chart.dots((shown + 1.0).tolist(), height[shown], look)
            legend.append((f"{label} ({places.size:,})", look))
    description = f"Margins of {order.size} features, sorted; above zero is proved."
    return chart.html(
        "Margins of all features", description, "features, sorted by margin", "margin", legend, 220, "margins"
    )


def _rank_ticks(size: int) -> tuple[tuple[float, ...], tuple[str, ...]]:
    step = linear(0.0, float(size), 5, whole=True).ticks
    ticks = (1.0, *(tick for tick in step if 1.0 < tick <= size))
    return ticks, tuple(f"{tick:,.0f}" for tick in ticks)


def _explorer(codes: str, solution: Solution) -> str:
    """The frame of the table of all features; the script fills it."""
    groups = [
        ("all", "All", len(codes)),
        ("model", "In the model", solution.support.size),
        ("in", "Proved in", codes.count(IN) + codes.count(REQUIRED)),
        ("open", "Undecided", codes.count(OPEN)),
        ("out", "Ruled out", sum(map(codes.count, (OUT, FORBIDDEN, CONSTANT)))),
    ]
    if UNKNOWN in codes:
        groups = groups[:2]
    buttons = "".join(
        f'<button type="button" data-group="{group}" aria-pressed="{"true" if group == "all" else "false"}">'
        f"{label} <span>{count:,}</span></button>"
        for group, label, count in groups
    )
    return (
        '<div id="explorer" hidden><div class="controls">'
        '<label class="hidden" for="needle">Search features</label>'
        '<input id="needle" type="search" placeholder="Search name or column" autocomplete="off" '
        f'spellcheck="false"><div class="groups" role="group" aria-label="Show">{buttons}</div></div>'
        '<div class="scroll"><table class="features"><thead><tr></tr></thead><tbody></tbody></table></div>'
        '<div class="pager"><button type="button" data-turn="-1">Previous</button>'
        '<output id="shown" aria-live="polite"></output>'
        '<button type="button" data-turn="1">Next</button></div></div>'
    )


def _fallback(solution: Solution, codes: str, margin: FloatArray) -> str:
    """The first rows as plain HTML, for readers without scripts."""
    shown = np.array([np.inf if value is None else value for value in compact_below(margin)])  # ties as in the script
    order = reading_order(codes, shown, solution.support)[:FALLBACK_ROWS]
    chosen = set(solution.support.tolist())
    rows = "".join(
        f'<tr><td class="number">{j}</td><th scope="row">{name_html(name)}</th>'
        f"<td>{escaped(LABELS[codes[j]])}{', in the model' if j in chosen else ''}</td>"
        f'<td class="number">{below(float(margin[j])) if math.isfinite(margin[j]) else "–"}</td></tr>'
        for j, name in zip(order.tolist(), solution.problem.names(order), strict=True)
    )
    heads = [("Column", "", "number"), ("Feature", "", ""), ("Proved", "", ""), ("Margin", "", "number")]
    remark = (
        f"The first {order.size} of {len(codes):,} features; with scripts allowed, this page shows, sorts and searches "
        "all of them."
    )
    return f"<noscript>{paragraph(remark)}{table('features', heads, rows)}</noscript>"
