"""The question, the answer and what it rests on."""

from __future__ import annotations

import math

import numpy as np

import safescreen.reporting.words as words
from safescreen.formatting.digits import (
    above,
    below,
    counted,
    duration,
    nearest,
    padded,
    percent_above,
    percent_of,
    signed,
)
from safescreen.solution import Solution

from .markup import SYMBOLS, folded, joined, name_html, paragraph, section, table, tiles
from .subject import Subject, deviations

_OPEN_ROWS = 30  # coefficients shown without unfolding the rest
_MOST_ROWS = 1000


def question_html(subject: Subject) -> str:
    """The question as the page's opening."""
    parts = (
        paragraph(words.question(subject), "question"),
        paragraph(words.meaning_of_best(subject), "quiet"),
    )
    return f'<div id="question">{joined(parts)}</div>'


def answer_section(subject: Subject) -> str:
    """The model with the proof in numbers."""
    solution = subject.solution
    support = solution.support.size
    if subject.path is None:
        heading = f"The answer: {counted(support, 'feature') if support else 'no feature'}"
    else:
        value = getattr(solution.problem, subject.path.parameter)
        heading = f"One model in detail: {SYMBOLS[subject.path.parameter]} = {value:g}, {counted(support, 'feature')}"
    return section("answer", heading, _verdict(solution), _facts(solution), _coefficients(solution))


def _verdict(solution: Solution) -> str:
    """What is proved, set apart."""
    verdict = words.verdict(solution)
    look = "proved" if verdict.proved else "open"
    body = "".join(paragraph(sentence) for sentence in verdict.sentences)
    return f'<div class="verdict {look}">{paragraph(verdict.headline, "stamp")}{body}</div>'


def _facts(solution: Solution) -> str:
    problem = solution.problem
    loss, null = training_losses(solution)
    facts = [
        ("Features used", f"{solution.support.size:,}", f"of {problem.n_features:,}"),
        ("Gap left", percent_above(solution.gap), "to the proved bound"),
        ("Objective", above(solution.objective, 5), f"bound {below(solution.lower_bound, 5)}"),
        ("Training log-loss", nearest(loss, 4), f"{nearest(null, 4)} without features"),
    ]
    if solution.screening is not None:
        out, inside, free = words.screened(solution)
        facts.append(("Decided at once", percent_of(out + inside, free), "before any search"))
    facts.append(("Search", duration(solution.seconds), counted(solution.nodes, "node")))
    return tiles(facts)


def training_losses(solution: Solution) -> tuple[float, float]:
    """Mean log-loss on the training data: of the model, and of the best one without features."""
    problem = solution.problem
    x = solution.coef[solution.support] * problem.design.scales[solution.support]
    loss = solution.objective - float(x @ x) / problem.gamma - problem.mu * solution.support.size
    share = float(problem.weights[problem.y > 0.0].sum())
    null = -share * math.log(share) - (1.0 - share) * math.log1p(-share) if problem.fit_intercept else math.log(2.0)
    return loss, null


def _coefficients(solution: Solution) -> str:
    """The chosen features with their coefficients and odds ratios, the largest first."""
    problem, support = solution.problem, solution.support
    if not support.size:
        return paragraph("The best model uses no feature: it predicts the same probability for every sample.")
    spread = deviations(problem, support)
    effect = solution.coef[support] * spread
    order = np.argsort(-np.abs(effect), kind="stable")[:_MOST_ROWS]
    names = problem.names(support[order])
    low, high = min(float(effect.min()), 0.0), max(float(effect.max()), 0.0)
    rows = [
        _coefficient_row(name, float(effect[i]), float(solution.coef[support[i]]), float(spread[i]), low, high)
        for name, i in zip(names, order.tolist(), strict=True)
    ]
    missing = support.size - len(rows)
    note = (
        f"The intercept, in the data’s units, is {nearest(solution.intercept, 5)}. One standard deviation more of a "
        f"feature, all others equal, multiplies the odds of {words.label(problem, 1)} by the odds ratio. The ridge "
        "shrinks coefficients towards zero and the features were chosen on these data, so ordinary confidence "
        "intervals would not apply."
    )
    rest = _coefficient_table(rows[_OPEN_ROWS:])
    if missing:
        rest += paragraph(f"{missing:,} smaller ones are left out here.", "quiet")
    return joined(
        (
            _coefficient_table(rows[:_OPEN_ROWS]),
            folded(f"{support.size - _OPEN_ROWS:,} more", rest) if len(rows) > _OPEN_ROWS else "",
            paragraph(note, "quiet"),
        )
    )


def _coefficient_table(rows: list[str]) -> str:
    heads = [
        ("Feature", "", ""),
        ("", "", "effect"),
        ("Coefficient", "per std. dev.", "number"),
        ("Odds ratio", "per std. dev.", "number"),
        ("Coefficient", "per unit", "number wide"),
        ("Std. dev.", "", "number wide"),
    ]
    return table("coefficients", heads, "".join(rows))


def _coefficient_row(name: str, effect: float, coef: float, spread: float, low: float, high: float) -> str:
    ratio = padded(math.exp(effect), 3) if abs(effect) < 600.0 else "∞" if effect > 0.0 else "0"
    return (
        f'<tr><th scope="row">{name_html(name)}</th><td class="effect">{_effect_bar(effect, low, high)}</td>'
        f'<td class="number">{signed(effect)}</td><td class="number">{ratio}</td>'
        f'<td class="number wide">{signed(coef)}</td><td class="number wide">{padded(spread, 3)}</td></tr>'
    )


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
