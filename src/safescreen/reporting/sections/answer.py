"""The answer and what it rests on."""

from __future__ import annotations

import math

from scipy.special import entr

import safescreen.reporting.markup as html
from safescreen.estimation.telling import which_is_which
from safescreen.formatting.digits import above, below, counted, nearest, percent_of
from safescreen.formatting.escaping import escaped
from safescreen.prediction import log_loss
from safescreen.reporting.content import sentences
from safescreen.reporting.content.held_out import Model
from safescreen.reporting.content.subject import Subject
from safescreen.search.solution import Solution
from safescreen.status import Status
from safescreen.summary import Table
from safescreen.summary.cells import HEADS, cells, notes

_OPEN_ROWS = 30  # coefficients shown without unfolding the rest
_MOST_ROWS = 1000
_LOOKS = ("number wide", "number", "number wide", "number", "number wide")  # wide ones are left out on phones
_COLUMNS = (
    html.Column("Feature", names_rows=True),
    html.Column("", look="effect"),
    *(html.Column(head.title.capitalize(), head.remark, look) for head, look in zip(HEADS[1:], _LOOKS, strict=True)),
)


def section(subject: Subject) -> str:
    """The model with the proof in numbers."""
    solution = subject.solution
    features = counted(solution.support.size, "feature") if solution.support.size else "no feature"
    heading = f"The answer: {features}"
    if subject.place is not None:
        heading = f"One model in detail: {html.setting(*subject.place)}, {features}"
    unproved = "verdict_open.html" if subject.searched else "verdict_unsearched.html"
    verdict = "verdict_proved.html" if solution.status == Status.OPTIMAL else unproved
    said = {**sentences.numbers(solution), **_meant(subject)}
    parts = [html.filled(verdict, **said), _ridges(subject), _facts(solution, subject.model, said)]
    return html.section("answer", heading, *parts, _coefficients(subject))


def _meant(subject: Subject) -> dict[str, str]:
    """What the proof is about: the model, or the choice where the model is estimated at another ridge."""
    if not subject.two_ridges:
        return {"this": "this one", "its": "this model’s "}
    return {"this": f"this choice of features, at γ = {subject.problem.gamma:g},", "its": "its objective of "}


def _ridges(subject: Subject) -> str:
    """Which ridge is which, where there are two."""
    if not subject.two_ridges:
        return ""
    return html.paragraph(f"{which_is_which(subject.solution, subject.model.gamma)} The model below is the estimate.")


def _facts(solution: Solution, model: Model, said: dict[str, str]) -> str:
    loss, null = training_losses(solution, model)
    facts = [
        ("Features used", f"{solution.support.size:,}", f"of {solution.problem.n_features:,}"),
        ("Gap left", said["gap"], "to the proved bound"),
        ("Objective", above(solution.objective, 5), f"bound {below(solution.lower_bound, 5)}"),
        ("Training log-loss", nearest(loss, 4), f"{nearest(null, 4)} without features"),
    ]
    if solution.screening is not None:
        out, inside, free = sentences.screened(solution)
        facts.append(("Decided at once", percent_of(out + inside, free), "before any search"))
    facts.append(("Search", said["seconds"], said["nodes"]))
    return html.tiles(facts)


def training_losses(solution: Solution, model: Model) -> tuple[float, float]:
    """Mean log-loss on the training data: of the model, and of the best one without features."""
    problem, support = solution.problem, solution.support
    x = model.coef[support] * problem.design.scales[support]
    if model.gamma == problem.gamma:
        loss = solution.objective - float(x @ x) / problem.gamma - problem.mu * support.size
    else:
        b = model.intercept + float(problem.design.means[support] @ model.coef[support])
        loss = log_loss(problem.design.columns(support) @ x + b, problem.y > 0.0, problem.weights)
    share = float(problem.weights[problem.y > 0.0].sum())
    return loss, float(entr(share) + entr(1.0 - share)) if problem.fit_intercept else math.log(2.0)


def _coefficients(subject: Subject) -> str:
    """The chosen features with their coefficients and odds ratios, the largest first."""
    table = subject.table
    if not table.rows:
        return html.paragraph("The best model uses no feature: it predicts the same probability for every sample.")
    rows = _coefficient_rows(table)
    parts = [html.table("coefficients", _COLUMNS, rows[:_OPEN_ROWS])]
    if len(rows) > _OPEN_ROWS:
        rest = html.table("coefficients", _COLUMNS, rows[_OPEN_ROWS:])
        missing = len(table.rows) - len(rows)
        note = html.paragraph(f"{missing:,} smaller ones are left out here.", "quiet") if missing else ""
        parts.append(html.folded(f"{len(table.rows) - _OPEN_ROWS:,} more", rest + note))
    label, intercept = escaped(sentences.label(subject.problem, 1)), nearest(table.intercept, 5)
    parts.append(html.paragraph(" ".join(notes(table)), "quiet"))
    return html.joined([*parts, html.filled("coefficients.html", label=label, intercept=intercept)])


def _coefficient_rows(table: Table) -> list[str]:
    shown = table.rows[:_MOST_ROWS]
    effects = [row.effect for row in table.rows]
    low, high = min(*effects, 0.0), max(*effects, 0.0)
    rows = []
    for row, (name, *numbers) in zip(shown, cells(table), strict=False):
        bar = _effect_bar(row.effect, low, high)
        rows.append(html.row(_COLUMNS, (html.name(name), bar, *map(escaped, numbers))))
    return rows


def _effect_bar(effect: float, low: float, high: float) -> str:
    """A bar from zero to the coefficient, on a scale that all rows share."""
    unit = 1000.0 / ((high - low) or 1.0)
    zero, end = -low * unit, (effect - low) * unit
    look = "plus" if effect > 0.0 else "minus"
    return (
        '<svg class="effect-bar" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="{look}" x="{min(zero, end):.1f}" y="2.5" width="{abs(end - zero):.1f}" height="5"/>'
        f'<path d="M{zero:.1f} 0V10"/></svg>'
    )
