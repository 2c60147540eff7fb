"""What all good models use: the list, how it grows with the tolerance, and what it does not say."""

from __future__ import annotations

import numpy as np

import safescreen.reporting.markup as html
from safescreen.cores import TOLERANCES, Core, telling
from safescreen.formatting.digits import above, below, counted, duration, nearest
from safescreen.formatting.escaping import escaped
from safescreen.reporting.charts import Chart, linear
from safescreen.reporting.content.subject import Subject

_OPEN_ROWS, _MOST_ROWS = 15, 500
_FEATURES = (
    html.Column("Feature", names_rows=True),
    html.Column("Gain", "in objective, at most", "number"),
)


def section(subject: Subject) -> str:
    """Features of which every good model uses at least one, or two, ..."""
    core = subject.core
    if core is None:
        return ""
    return html.section(
        "core",
        f"What all good models use: {counted(len(core), 'feature')} of {core.problem.n_features:,}",
        html.filled("core.html", told=escaped(core.sentence), caution=_caution(core)),
        _facts(core),
        _curve(core),
        _features(core, np.isin(core.features, subject.solution.support).tolist()),
    )


def _caution(core: Core) -> str:
    return html.paragraph(telling.CAUTION) if len(core) > core.at_least else ""


def _facts(core: Core) -> str:
    return html.tiles(
        [
            ("Features listed", f"{len(core):,}", f"of {core.problem.n_features:,}"),
            ("Every good model uses", f"at least {core.at_least:,}", "of them"),
            ("Good means", f"within {telling.percent(core)}", f"of {above(core.objective, 5)}"),
            ("Models that use fewer", below(core.lower_bound, 5), "or more"),
            ("Found and proved", duration(core.seconds), "without a search"),
        ]
    )


def _curve(core: Core) -> str:
    """How the list grows with the tolerance, as far as there is one."""
    curve = core.curve(sorted({*TOLERANCES, core.within}))
    exists = np.isfinite(curve.size)
    shares, sizes = 100.0 * curve.within[exists], curve.size[exists]
    if shares.size < 2:
        return ""
    chart = Chart(
        linear("tolerance, % above the best objective", 0.0, shares[-1], room=0.02),
        linear("features of the core", 0.0, sizes.max(), whole=True, room=0.02),
    )
    chart.line(shares, sizes, "model")
    titles = [f"within {share:g} %: {counted(int(size), 'feature')}" for share, size in zip(shares, sizes, strict=True)]
    chart.dots(shares, sizes, "model", titles)
    chart.dots([100.0 * core.within], [float(len(core))], "chosen", ["this list"])
    description = f"Features of a core for tolerances up to {shares[-1]:g} %: {', '.join(titles)}."
    legend = (("a list for each tolerance", "model"), ("the one above", "chosen"))
    return chart.html("core", "The larger the tolerance, the longer the list", description, legend, 220)


def _features(core: Core, chosen: list[bool]) -> str:
    """The features with their gains, those of the model on the page in bold."""
    rows = [
        html.row(_FEATURES, (html.name(name), escaped(nearest(gain, 3))), "best" if used else "")
        for name, gain, used in zip(
            core.problem.names(core.features[:_MOST_ROWS]), core.gain.tolist(), chosen, strict=False
        )
    ]
    note = (
        "Those first that matter most to models which avoid the list: the gain is by how much each would lower their "
        "bound if it returned alone. Features of the model above in bold."
    )
    parts = [html.table("points", _FEATURES, rows[:_OPEN_ROWS]), html.paragraph(note, "quiet")]
    if len(rows) > _OPEN_ROWS:
        hidden = len(core) - len(rows)
        left = html.paragraph(f"{counted(hidden, 'feature')} of less weight left out here.", "quiet") if hidden else ""
        rest = html.table("points", _FEATURES, rows[_OPEN_ROWS:]) + left
        parts.insert(1, html.folded(f"{len(core) - _OPEN_ROWS:,} more", rest))
    return html.joined(parts)
