"""Which other models are as good: the list, its features with their prices, exchanges and contested samples."""

from __future__ import annotations

import numpy as np

import safescreen.reporting.markup as html
from safescreen.formatting.digits import counted, duration, percent_above, signed
from safescreen.formatting.escaping import escaped
from safescreen.good_models import Alternatives, telling
from safescreen.reporting.content import sentences
from safescreen.reporting.content.features import deviations
from safescreen.reporting.content.subject import Subject

_MATRIX_ROWS, _MATRIX_COLUMNS = 30, 60
_OPEN_ROWS, _MOST_ROWS = 15, 200
_MOST_EXCHANGES = 50
_LONGEST_ROW_NAME = 80
_FEATURES = (
    html.Column("Feature", names_rows=True),
    html.Column("In models", look="number"),
    html.Column("Coefficient", "lowest to highest", "number wide"),
    html.Column("Price of doing without", "of the best objective", "number"),
)
_EXCHANGES = (
    html.Column("Feature of the best model", names_rows=True),
    html.Column("Can be replaced by"),
    html.Column("At", "of the best objective", "number"),
)


def section(subject: Subject) -> str:
    """All good models."""
    others = subject.alternatives
    if others is None:
        return ""
    return html.section(
        "alternatives",
        f"Which other models are as good: {telling.kind(others)}",
        html.filled("others_complete.html" if others.complete else "others_open.html", told=escaped(others.describe())),
        _facts(others),
        _matrix(others),
        _features(others),
        _exchanges(others),
        html.paragraph(f"How much the models disagree. {telling.contested(others)}") if len(others) > 1 else "",
    )


def _facts(others: Alternatives) -> str:
    fate = f"of {counted(others.problem.n_features, 'feature')}"
    worst = percent_above(float(others.excess.max(initial=0.0)))
    facts = [
        ("Minimal models" if others.minimal else "Models", f"{len(others):,}", f"up to {worst} above the best"),
        ("In all of them", f"{others.always.size:,}", fate),
        ("In some", f"{others.sometimes.size:,}", fate),
        ("In none", f"{others.never.size:,}", "proved"),
    ]
    if others.undecided.size:
        facts.append(("Undecided", f"{others.undecided.size:,}", "may be in missing ones"))
    facts.append(("Search", duration(others.seconds), counted(others.nodes, "node")))
    return html.tiles(facts)


def _matrix(others: Alternatives) -> str:
    """Which features are in which models: a row per feature, a column per model, colour for the coefficient."""
    order = others.order()
    shown, columns = order[:_MATRIX_ROWS], min(len(others), _MATRIX_COLUMNS)
    if not shown.size or not columns:
        return ""
    scales = deviations(others.problem, shown)
    effects = others.coefs[:columns][:, shown].toarray().T * scales[:, None]
    used = others.coefs[:columns][:, shown].toarray().T != 0.0
    reach = float(np.abs(effects).max()) or 1.0
    names = others.problem.names(shown)
    rows = [
        f'<tr><th scope="row">{html.name(name, _LONGEST_ROW_NAME)}</th>'
        + "".join(
            _cell(effect, reach, place) if there else "<td></td>"
            for place, (there, effect) in enumerate(zip(row_used, row, strict=True), 1)
        )
        + "</tr>"
        for name, row_used, row in zip(names, used.tolist(), effects.tolist(), strict=True)
    ]
    left = []
    if len(others) > columns:
        left.append(f"the best {columns:,} of {counted(len(others), 'model')}")
    if order.size > shown.size:
        left.append(f"{shown.size:,} of {counted(order.size, 'feature')}")
    return html.filled(
        "others_matrix.html",
        label=escaped(sentences.label(others.problem, 1)),
        rest=f" Shown are {' and '.join(left)}." if left else "",
        rows="".join(rows),
    )


def _cell(effect: float, reach: float, place: int) -> str:
    look = "plus" if effect > 0.0 else "minus"
    share = 0.2 + 0.8 * abs(effect / reach)
    return f'<td class="{look}" style="--share:{share:.2f}" title="{escaped(f"model {place}: {signed(effect)}")}"></td>'


def _features(others: Alternatives) -> str:
    """Share, range of coefficients and price of each feature."""
    order = others.order()
    rows = [
        html.row(
            _FEATURES,
            (
                html.name(name),
                escaped(telling.share(others, j)),
                escaped(telling.coefficients(others, j)),
                escaped(telling.price(others, j)),
            ),
            "best" if chosen else "",
        )
        for j, name, chosen in zip(
            order[:_MOST_ROWS].tolist(),
            others.problem.names(order[:_MOST_ROWS]),
            np.isin(order[:_MOST_ROWS], others.best.support).tolist(),
            strict=True,
        )
    ]
    if not rows:
        return ""
    note = (
        "Features of the best model in bold. The price is how much worse the best model without the feature is, bound "
        "included; prices are rounded up, and those of features that the best model does not have are zero."
    )
    parts = [html.table("points", _FEATURES, rows[:_OPEN_ROWS]), html.paragraph(note, "quiet")]
    if len(rows) > _OPEN_ROWS:
        hidden = order.size - len(rows)
        left = html.paragraph(f"{counted(hidden, 'feature')} in fewer models left out here.", "quiet") if hidden else ""
        rest = html.table("points", _FEATURES, rows[_OPEN_ROWS:]) + left
        parts.insert(1, html.folded(f"{order.size - _OPEN_ROWS:,} more", rest))
    return html.joined(parts)


def _exchanges(others: Alternatives) -> str:
    """Which feature of the best model can be replaced by which other one."""
    pairs = others.exchanges
    if not pairs:
        said = "No single exchange of a feature of the best model for another one stays within the tolerance."
        return html.paragraph(
            said if others.exchanges_complete else "No exchange of a feature of the best model was found."
        )
    names = others.problem.names
    rows = [
        html.row(_EXCHANGES, (*map(html.name, names([pair.out, pair.in_])), escaped(percent_above(pair.cost))))
        for pair in pairs[:_MOST_EXCHANGES]
    ]
    more = len(pairs) - len(rows)
    note = html.paragraph(f"The cheapest {len(rows):,} of {len(pairs):,}.", "quiet") if more else ""
    found = "" if others.exchanges_complete else " found"
    title = f"{counted(len(pairs), 'exchange')} of one feature of the best model for another{found}"
    return html.folded(title, html.table("points", _EXCHANGES, rows) + note, unfolded=len(pairs) <= _OPEN_ROWS)
