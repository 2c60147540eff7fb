"""What a notebook shows: small cards of plain tags."""

from __future__ import annotations

from dataclasses import replace

import safescreen as ss
from pages import NASTY, Page, data


def test_cards():
    X, y = data(n=len(NASTY))
    problem = ss.Problem(
        X, y, k=9, mu=1e-4, gamma=5.0, standardize=True, feature_names=NASTY, exclude=[3], fit_intercept=False
    )
    solution = ss.solve(problem)
    path = ss.l0_path(*data(), k=range(1, 6), gamma=5.0)
    cards = {
        "ridge γ 5": problem,
        "proved lower bound": ss.relax(problem),
        "Screening:": ss.screen(problem),
        "Solution: proved optimal": solution,
        "not proved optimal (time_limit)": replace(solution, status="time_limit"),
        "Path: 5 of 5 models proved optimal": path,
    }
    for words_, thing in cards.items():
        card = Page(thing._repr_html_())
        assert words_ in card.text
        assert {tag for tag, _ in card.tags} <= {"div", "strong", "span", "table", "thead", "tbody", "tr", "th", "td"}
        assert len(thing._repr_html_()) < 10_000
