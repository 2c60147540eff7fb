"""Cross-validation, or a criterion, on the page: scores over sizes and ridges."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import safescreen.reporting.markup as html
from safescreen.arrays import FloatArray
from safescreen.estimators.choosing import account, leaders, shown_score, told
from safescreen.estimators.cross_validation import L0LogisticRegressionCV
from safescreen.formatting.digits import nearest, padded, percent_above
from safescreen.formatting.escaping import escaped
from safescreen.reporting.charts import Chart, linear, parameter_axis
from safescreen.reporting.content.subject import Subject

_SERIES = 6  # colours for lines
_MOST_ROWS = 200


class _Grid(NamedTuple):
    """Scores of all candidates as people read them, and which of them lead their size and ridge of the choice."""

    score: str
    values: FloatArray
    errors: FloatArray | None  # a criterion has none
    params: list[dict[str, Any]]
    shown: list[int]
    best: int

    @classmethod
    def of(cls, search: L0LogisticRegressionCV) -> _Grid:
        results, best = search.cv_results_, search.best_index_
        score, sign = shown_score(search)
        errors = None if search.criterion else results["std_test_score"] / search.n_splits_**0.5
        shown = leaders(results, list(search.best_params_)[:2], best)
        return cls(score, sign * results["mean_test_score"], errors, results["params"], shown, best)

    def number(self, i: int) -> str:
        """A score, with its error if there is one."""
        error = "" if self.errors is None else f" ± {padded(self.errors[i], 2)}"
        return padded(self.values[i], 4) + error


def section(subject: Subject) -> str:
    """How the choice came about."""
    search = subject.estimator
    if not isinstance(search, L0LogisticRegressionCV):
        return ""
    grid = _Grid.of(search)
    edges = f" At the edge of the grid: {'; '.join(search.edges_)}." if search.edges_ else ""
    return html.section(
        "crossvalidation",
        "How size and ridges were chosen",
        html.filled("choice.html", account=escaped(account(search, html.SYMBOLS)), edges=escaped(edges)),
        html.paragraph(search.undone_) if search.undone_ else "",
        _chart(grid),
        _matrix(grid),
        _table(search, grid),
    )


def _candidate(parameters: dict[str, Any]) -> str:
    return ", ".join(html.setting(name, value) for name, value in parameters.items())


def _chart(grid: _Grid) -> str:
    """Scores along the size (or the ridge of the choice, if there is one size), each with its best other ridge."""
    size, ridge = list(grid.params[0])[:2]
    errors = np.zeros(grid.values.size) if grid.errors is None else grid.errors
    usable = [i for i in grid.shown if np.isfinite(grid.values[i]) and np.isfinite(errors[i])]
    several = len({grid.params[i][size] for i in usable}) > 1
    along, across = (size, ridge) if several else (ridge, size)
    x = np.array([p[along] for p in grid.params], dtype=np.float64)
    if len(set(x[usable].tolist())) < 2:
        return ""
    low, high = grid.values - errors, grid.values + errors
    title = grid.score if grid.errors is None else f"{grid.score}, mean ± standard error"
    chart = Chart(parameter_axis(along, x), linear(title, low[usable].min(), high[usable].max(), room=0.06))
    groups = sorted({grid.params[i][across] for i in usable})
    legend = []
    for place, group in enumerate(groups):
        look = f"series{place * (_SERIES - 1) // (len(groups) - 1)}" if len(groups) > 1 else "model"
        members = [i for i in sorted(usable, key=lambda i: x[i]) if grid.params[i][across] == group]
        if grid.errors is not None:
            chart.bars(x[members], low[members], high[members], look)
        chart.line(x[members], grid.values[members], look)
        titles = [f"{_candidate(grid.params[i])}: {grid.number(i)}" for i in members]
        chart.dots(x[members], grid.values[members], look, titles)
        legend += [(html.setting(across, group), look)] if len(groups) > 1 else []
    if grid.best in usable:
        chart.dots([x[grid.best]], [grid.values[grid.best]], "chosen", ["chosen"])
        legend.append(("chosen", "chosen"))
    description = f"{title} along {html.PARAMETERS[along]}, each with the best ridge of the estimates."
    return chart.html("crossvalidation", f"Size against {grid.score}", description, legend, 260)


def _matrix(grid: _Grid) -> str:
    """Sizes down, ridges of the choice across, in each cell the score at the best ridge of the estimates."""
    size, ridge = list(grid.params[0])[:2]
    places = {(grid.params[i][size], grid.params[i][ridge]): i for i in grid.shown}
    ridges = list(dict.fromkeys(gamma for _, gamma in places))
    if len(places) < 2:
        return ""
    columns = [html.Column(html.SYMBOLS[size], look="number", names_rows=True)]
    columns += [
        html.Column(html.setting(ridge, gamma), f"{grid.score}, {html.SYMBOLS['refit_gamma']}", "number")
        for gamma in ridges
    ]
    rows = [
        html.row(columns, [told(value), *(_cell(grid, places[value, gamma]) for gamma in ridges)])
        for value in dict.fromkeys(value for value, _ in places)
    ]
    return html.table("grid-points", columns, rows)


def _cell(grid: _Grid, i: int) -> str:
    text = f"{grid.number(i)} <small>{escaped(told(grid.params[i]['refit_gamma']))}</small>"
    return f'<strong title="chosen">★ {text}</strong>' if i == grid.best else text


def _table(search: L0LogisticRegressionCV, grid: _Grid) -> str:
    """All candidates, the best first."""
    columns = [html.Column(html.SYMBOLS[name], look="number") for name in search.best_params_]
    columns += [html.Column(grid.score, look="number"), html.Column("Features", "mean", "number")]
    columns += [html.Column("Largest gap", "" if search.criterion else "in any fold", "number")]
    results = search.cv_results_
    order = np.argsort(results["rank_test_score"], kind="stable").tolist()
    rows = []
    for i in order[:_MOST_ROWS]:
        cells = [told(value) for value in grid.params[i].values()]
        cells += [grid.number(i), nearest(results["mean_n_features"][i], 3), percent_above(results["max_gap"][i])]
        rows.append(html.row(columns, cells, "best" if i == grid.best else ""))
    more = html.paragraph(f"The best {_MOST_ROWS} of {len(order):,}.", "quiet") if len(order) > _MOST_ROWS else ""
    return html.folded("All candidates in numbers", html.table("grid-points", columns, rows) + more)
