"""The first half of a page: the question, the answer and what it rests on."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from safescreen.solution import Solution

from . import words
from .digits import above, below, counted, duration, nearest, percent_above, percent_of, signed
from .escaping import escaped, shortened
from .subject import Subject, deviations

FloatArray = npt.NDArray[np.float64]

LONGEST_NAME = 200
"""Characters of a name that are shown; nobody reads more, and the table of all features has its number."""

_OPEN_ROWS = 30  # coefficients shown without unfolding the rest
_MOST_ROWS = 1000


def section(anchor: str, heading: str, *parts: str) -> str:
    """A section with its heading; empty parts are left out."""
    return f'<section id="{anchor}"><h2>{escaped(heading)}</h2>\n{_joined(parts)}\n</section>'


def paragraph(text: str, look: str = "") -> str:
    """A paragraph of plain text."""
    return f'<p class="{look}">{escaped(text)}</p>' if look else f"<p>{escaped(text)}</p>"


def name_html(name: str) -> str:
    """A user's name for something, isolated so that its direction of writing cannot disturb the line."""
    return f"<bdi>{escaped(shortened(name, LONGEST_NAME))}</bdi>"


def tiles(facts: list[tuple[str, str, str]]) -> str:
    """A row of numbers with their meanings and a remark."""
    cells = "".join(
        f"<div><dt>{escaped(what)}</dt><dd>{escaped(value)}</dd><dd class='remark'>{escaped(remark)}</dd></div>"
        for what, value, remark in facts
    )
    return f'<dl class="tiles">{cells}</dl>'


def question_html(subject: Subject) -> str:
    """The question as the page's opening."""
    parts = [
        paragraph(words.question(subject), "question"),
        paragraph(words.meaning_of_best(subject.problem), "quiet"),
    ]
    return f'<div id="question">{_joined(parts)}</div>'


def answer_section(subject: Subject) -> str:
    """The model with the proof in numbers."""
    solution = subject.solution
    support = solution.support.size
    if subject.path is None:
        heading = f"The answer: {counted(support, 'feature')}" if support else "The answer: no feature"
    else:
        value = getattr(solution.problem, subject.path.parameter)
        heading = f"One model in detail: {SYMBOLS[subject.path.parameter]} = {value:g}, {counted(support, 'feature')}"
    return section("answer", heading, verdict_html(solution), _facts(solution), coefficients_html(solution))


SYMBOLS = {"k": "k", "mu": "μ", "gamma": "γ"}


def verdict_html(solution: Solution) -> str:
    """What is proved, set apart."""
    verdict = words.verdict(solution)
    look = "proved" if verdict.proved else "open"
    body = "".join(paragraph(sentence) for sentence in verdict.sentences)
    return f'<div class="verdict {look}"><p class="stamp">{escaped(verdict.headline)}</p>{body}</div>'


def _facts(solution: Solution) -> str:
    problem, screening = solution.problem, solution.screening
    facts = [
        ("Features used", f"{solution.support.size:,}", f"of {problem.n_features:,}"),
        ("Gap left", percent_above(solution.gap), "to the proved bound"),
        ("Objective", above(solution.objective, 5), f"bound {below(solution.lower_bound, 5)}"),
    ]
    loss, null = training_losses(solution)
    facts.append(("Training log-loss", nearest(loss, 4), f"{nearest(null, 4)} without features"))
    if screening is not None:
        decided = screening.excluded.size + screening.included.size
        facts.append(("Decided at once", percent_of(decided, problem.n_features), "before any search"))
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


def coefficients_html(solution: Solution) -> str:
    """The chosen features with their coefficients and odds ratios, the largest first."""
    problem = solution.problem
    if not solution.support.size:
        return paragraph("No feature is worth its price: the best model predicts the same probability for everyone.")
    spread = deviations(problem, solution.support)
    effect = solution.coef[solution.support] * spread
    order = np.argsort(-np.abs(effect), kind="stable")
    names = problem.names(solution.support)
    reach = float(np.abs(effect).max()) or 1.0
    rows = [
        _coefficient_row(names[i], effect[i], solution.coef[solution.support[i]], spread[i], reach)
        for i in order[:_MOST_ROWS].tolist()
    ]
    note = (
        f"Per standard deviation: one standard deviation more of a feature, all others equal, multiplies the odds of "
        f"{words.label(problem, 1)} by the odds ratio. The ridge shrinks coefficients towards zero, and the features "
        "were chosen on the same data, so ordinary confidence intervals would not apply."
    )
    intercept = f"The intercept, in the data’s units, is {nearest(solution.intercept, 5)}."
    return (
        _coefficient_table(rows[:_OPEN_ROWS])
        + _folded(rows[_OPEN_ROWS:], order.size)
        + paragraph(f"{intercept} {note}", "quiet")
    )


def _coefficient_table(rows: list[str]) -> str:
    heads = (
        '<th scope="col">Feature</th><th scope="col" class="effect"><span class="hidden">Picture of the '
        'coefficient</span></th><th scope="col" class="number">Coefficient<small>per std. dev.</small></th>'
        '<th scope="col" class="number">Odds ratio<small>per std. dev.</small></th>'
        '<th scope="col" class="number wide">Coefficient<small>per unit</small></th>'
        '<th scope="col" class="number wide">Std. dev.</th>'
    )
    return f'<table class="coefficients"><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def _folded(rows: list[str], total: int) -> str:
    """The rest of a long model, to unfold."""
    if not rows:
        return ""
    missing = total - _OPEN_ROWS - len(rows)
    more = paragraph(f"{missing:,} smaller ones are left out here.", "quiet") if missing else ""
    return f"<details><summary>{len(rows):,} more</summary>{_coefficient_table(rows)}{more}</details>"


def _coefficient_row(name: str, effect: float, coef: float, spread: float, reach: float) -> str:
    ratio = nearest(math.exp(effect), 3) if abs(effect) < 600.0 else "∞" if effect > 0.0 else "0"
    return (
        f'<tr><th scope="row">{name_html(name)}</th><td class="effect">{_effect_bar(effect / reach)}</td>'
        f'<td class="number">{signed(effect)}</td><td class="number">{ratio}</td>'
        f'<td class="number wide">{signed(coef)}</td><td class="number wide">{nearest(spread, 3)}</td></tr>'
    )


def _effect_bar(share: float) -> str:
    """A bar from zero in the middle to the left or right."""
    look, start = ("plus", 0.0) if share > 0.0 else ("minus", 100.0 * share)
    return (
        '<svg class="effect-bar" viewBox="-100 0 200 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="{look}" x="{start:.1f}" y="2" width="{abs(100.0 * share):.1f}" height="6"/>'
        '<path d="M0 0V10"/></svg>'
    )


def _joined(parts: object) -> str:
    return "\n".join(part for part in parts if part)  # type: ignore[attr-defined]
