"""What notebooks show of a result: a small table instead of a line.

Colours and fonts are the notebook's own, so that cards fit a light and a dark one. Every result uses this room, so it
imports none of their types.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from safescreen.formatting.digits import above, below, counted, duration, percent_above, percent_of
from safescreen.formatting.escaping import escaped, shortened

_MOST_ROWS = 10
_LONGEST_NAME = 60
_CELL = "padding:.15em 1.2em .15em 0;border:0;background:none;vertical-align:top"
_QUIET = "opacity:.65"


def problem_card(problem: Any) -> str:
    """Data and parameters."""
    positive = int((problem.y > 0.0).sum())
    names = [shortened(label, _LONGEST_NAME) for label in problem.class_names]
    facts = [
        (
            "samples",
            f"{problem.n_samples:,} ({positive:,} of class {names[1]}, {problem.n_samples - positive:,} of {names[0]})",
        ),
        ("modelled", f"probability of {names[1]}"),
        ("features", f"{problem.n_features:,}"),
        *problem.asked.facts(),
        *([("copies", f"{problem.left_out.size:,} left out")] if problem.left_out.size else []),
    ]
    return _card("Sparse logistic regression", "a problem, not yet solved", _facts(facts))


def screening_card(screening: Any) -> str:
    """What is decided."""
    excluded, included, undecided = (
        part.size for part in (screening.excluded, screening.included, screening.undecided)
    )  # fmt: skip
    facts = [
        ("in no optimal model", f"{excluded:,}"),
        ("in every optimal model", f"{included:,}"),
        ("undecided", f"{undecided:,}"),
        ("optimum between", f"{below(screening.lower_bound, 6)} and {above(screening.upper_bound, 6)}"),
    ]
    share = percent_of(excluded + included, excluded + included + undecided)
    return _card(f"Screening: {share} decided", f"in {duration(screening.seconds)}", _facts(facts))


def relaxation_card(relaxation: Any) -> str:
    """The bound, and how far the relaxation is from a choice of features."""
    z = relaxation.z
    fractional = int(np.count_nonzero((z > 1e-6) & (z < 1.0 - 1e-6)))
    facts = [
        ("proved lower bound", below(relaxation.lower_bound, 8)),
        ("value", above(relaxation.value, 8)),
        ("features chosen", f"{np.count_nonzero(z >= 1.0 - 1e-6):,} fully, {fractional:,} in part"),
    ]
    return _card("Relaxation", f"in {duration(relaxation.seconds)}", _facts(facts))


def solution_card(solution: Any) -> str:
    """The model, and what is proved about it."""
    problem, support = solution.problem, solution.support
    proved = "proved optimal" if solution.status == "optimal" else f"not proved optimal ({solution.status})"
    remark = f"{counted(solution.nodes, 'node')} in {duration(solution.seconds)}"
    facts = [
        ("modelled", f"probability of {shortened(problem.class_names[1], _LONGEST_NAME)}"),
        ("objective", above(solution.objective, 8)),
        ("proved lower bound", below(solution.lower_bound, 8)),
        ("gap", percent_above(solution.gap)),
        *([("proved besides", solution.neighbourhood)] if solution.neighbourhood else []),
    ]
    order = np.argsort(-np.abs(solution.coef[support] * problem.design.scales[support]), kind="stable")
    shown = support[order[:_MOST_ROWS]]
    rows = [
        (name, f"{solution.coef[j]:.4g}") for j, name in zip(shown.tolist(), problem.names(shown), strict=True)
    ]  # fmt: skip
    rows.append(("intercept", f"{solution.intercept:.4g}"))
    more = f" (the largest {_MOST_ROWS})" if support.size > _MOST_ROWS else ""
    listed = _table((f"{counted(support.size, 'feature')}{more}", "coefficient"), rows)
    return _card(f"Solution: {proved}", remark, _facts(facts) + listed)


def path_card(path: Any) -> str:
    """One line per model."""
    heads = (path.parameter, "features", "objective", "gap", "status")
    rows = [
        (f"{value:g}", f"{one.support.size:,}", above(one.objective, 6), percent_above(one.gap), one.status)
        for value, one in zip(path.values[: 3 * _MOST_ROWS].tolist(), path, strict=False)
    ]
    optimal = path.statuses.count("optimal")
    rest = len(path) - len(rows)
    more = f'<div style="{_QUIET}">and {rest:,} more</div>' if rest else ""
    modelled = shortened(path[0].problem.class_names[1], _LONGEST_NAME)
    remark = f"in {duration(float(path.seconds.sum()))}, probability of {modelled} modelled"
    if path.refit_gamma != "same":
        remark += f"; choices are proved, coefficients estimated with refit_gamma={path.refit_gamma!r}"
    return _card(f"Path: {optimal} of {counted(len(path), 'model')} proved optimal", remark, _table(heads, rows) + more)


def _card(title: str, remark: str, body: str) -> str:
    return (
        f'<div style="margin:.4em 0;line-height:1.45;font-variant-numeric:tabular-nums"><div><strong>{escaped(title)}'
        f'</strong> <span style="{_QUIET}">{escaped(remark)}</span></div>{body}</div>'
    )


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    rows = "".join(
        f'<tr><td style="{_CELL};text-align:left;{_QUIET}">{escaped(what)}</td>'
        f'<td style="{_CELL};text-align:left">{escaped(value)}</td></tr>'
        for what, value in facts
    )
    return f'<table style="border-collapse:collapse;margin:.3em 0">{rows}</table>'


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    def line(cells: tuple[str, ...], tag: str, look: str) -> str:
        sides = ("left", *("right" for _ in cells[1:]))
        return "".join(
            f'<{tag} style="{_CELL};text-align:{side};{look}">{escaped(shortened(cell, _LONGEST_NAME))}</{tag}>'
            for cell, side in zip(cells, sides, strict=True)
        )

    head = f"<thead><tr>{line(heads, 'th', _QUIET + ';font-weight:400')}</tr></thead>"
    body = "".join(f"<tr>{line(row, 'td', '')}</tr>" for row in rows)
    return f'<table style="border-collapse:collapse;margin:.3em 0">{head}<tbody>{body}</tbody></table>'


def table_card(
    title: str,
    remark: str,
    sentence: str,
    heads: tuple[str, ...],
    rows: Iterable[tuple[str, ...]],
    notes: Iterable[str],
) -> str:
    """A table with a sentence above it and notes below."""
    above = f"<div>{escaped(sentence)}</div>"
    below_it = "".join(f'<div style="{_QUIET}">{escaped(note)}</div>' for note in notes)
    return _card(title, remark, above + _table(heads, rows) + below_it)
