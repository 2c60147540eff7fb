"""The answer and what it rests on."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import entr

import safescreen.reporting.markup as html
from safescreen.formatting.digits import above, below, counted, nearest, padded, percent_of, signed
from safescreen.formatting.escaping import escaped
from safescreen.reporting.content import sentences
from safescreen.reporting.content.features import deviations
from safescreen.reporting.content.subject import Subject
from safescreen.search.solution import Solution
from safescreen.status import Status

_OPEN_ROWS = 30  # coefficients shown without unfolding the rest
_MOST_ROWS = 1000
_COLUMNS = (
    html.Column("Feature", names_rows=True),
    html.Column("", look="effect"),
    html.Column("Coefficient", "per std. dev.", "number"),
    html.Column("Odds ratio", "per std. dev.", "number"),
    html.Column("Coefficient", "per unit", "number wide"),
    html.Column("Std. dev.", look="number wide"),
)


def section(subject: Subject) -> str:
    """The model with the proof in numbers."""
    solution = subject.solution
    features = counted(solution.support.size, "feature") if solution.support.size else "no feature"
    heading = f"The answer: {features}"
    if subject.place is not None:
        heading = f"One model in detail: {html.setting(*subject.place)}, {features}"
    verdict = "verdict_proved.html" if solution.status == Status.OPTIMAL else "verdict_open.html"
    said = sentences.numbers(solution)
    parts = (html.filled(verdict, **said), _facts(solution, said), _coefficients(solution))
    return html.section("answer", heading, *parts)


def _facts(solution: Solution, said: dict[str, str]) -> str:
    loss, null = training_losses(solution)
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


def training_losses(solution: Solution) -> tuple[float, float]:
    """Mean log-loss on the training data: of the model, and of the best one without features."""
    problem = solution.problem
    x = solution.coef[solution.support] * problem.design.scales[solution.support]
    loss = solution.objective - float(x @ x) / problem.gamma - problem.mu * solution.support.size
    share = float(problem.weights[problem.y > 0.0].sum())
    return loss, float(entr(share) + entr(1.0 - share)) if problem.fit_intercept else math.log(2.0)


def _coefficients(solution: Solution) -> str:
    """The chosen features with their coefficients and odds ratios, the largest first."""
    if not solution.support.size:
        return html.paragraph("The best model uses no feature: it predicts the same probability for every sample.")
    rows = _coefficient_rows(solution)
    parts = [html.table("coefficients", _COLUMNS, rows[:_OPEN_ROWS])]
    if len(rows) > _OPEN_ROWS:
        rest = html.table("coefficients", _COLUMNS, rows[_OPEN_ROWS:])
        missing = solution.support.size - len(rows)
        note = html.paragraph(f"{missing:,} smaller ones are left out here.", "quiet") if missing else ""
        parts.append(html.folded(f"{solution.support.size - _OPEN_ROWS:,} more", rest + note))
    label, intercept = escaped(sentences.label(solution.problem, 1)), nearest(solution.intercept, 5)
    return html.joined([*parts, html.filled("coefficients.html", label=label, intercept=intercept)])


def _coefficient_rows(solution: Solution) -> list[str]:
    problem, support = solution.problem, solution.support
    spreads = deviations(problem, support)
    effects = solution.coef[support] * spreads
    with np.errstate(over="ignore"):
        odds_ratios = np.exp(effects)
    order = np.argsort(-np.abs(effects), kind="stable")[:_MOST_ROWS]
    low, high = min(effects.min(), 0.0), max(effects.max(), 0.0)
    rows = []
    for name, i in zip(problem.names(support[order]), order, strict=True):
        cells = [html.name(name), _effect_bar(effects[i], low, high), signed(effects[i]), padded(odds_ratios[i], 3)]
        cells += [signed(solution.coef[support[i]]), padded(spreads[i], 3)]
        rows.append(html.row(_COLUMNS, cells))
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
