"""Cross-validation on the page: scores over the grid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import safescreen.reporting.markup as html
from safescreen.arrays import BoolArray, FloatArray
from safescreen.estimators.cross_validation import L0LogisticRegressionCV
from safescreen.formatting.digits import counted, nearest, percent_above
from safescreen.reporting.charts import Chart, linear, parameter_axis
from safescreen.reporting.content.subject import Subject

_ESTIMATION = "refit_gamma"
"""Costs next to nothing, so the chart shows the best of them only."""

_SERIES = 6  # colours for lines
_MOST_ROWS = 200


def section(subject: Subject) -> str:
    """Scores over the grid."""
    search = subject.estimator
    if not isinstance(search, L0LogisticRegressionCV) or "mean_test_score" not in search.cv_results_:
        return ""
    params = search.cv_results_["params"]
    values = {name: {p[name] for p in params} for name in search.best_params_ if name != _ESTIMATION}
    varied = {name: sorted(some) for name, some in values.items() if len(some) > 1}
    story = html.filled(
        "choice.html",
        folds=search.n_splits_,
        candidates=counted(len(params), "candidate"),
        chosen=_candidate(search.best_params_),
        rule="the simplest candidate within one standard error of " if search.one_standard_error else "",
        edges=f" At the edge of the grid, {'; '.join(search.edges_)}." if search.edges_ else "",
    )
    return html.section(
        "crossvalidation",
        "How the parameters were chosen",
        story,
        _chart(search, varied) if varied else "",
        _table(search),
    )


def _best_estimates(params: list[dict[str, Any]], mean: FloatArray) -> BoolArray:
    """The candidates whose ridge of the estimates is the best for their size and ridge of the choice."""
    best: dict[tuple[Any, ...], int] = {}
    for i in np.argsort(mean, kind="stable"):
        best[tuple(value for name, value in params[i].items() if name != _ESTIMATION)] = int(i)
    return np.isin(np.arange(mean.size), list(best.values()))


def _candidate(parameters: dict[str, Any]) -> str:
    return ", ".join(html.setting(name, value) for name, value in parameters.items())


def _scores(search: L0LogisticRegressionCV) -> tuple[FloatArray, FloatArray]:
    """Mean scores and their standard errors."""
    results = search.cv_results_
    return results["mean_test_score"], results["std_test_score"] / math.sqrt(search.n_splits_)


def _chart(search: L0LogisticRegressionCV, varied: dict[str, list[float]]) -> str:
    """Scores along the parameter with most values, a line for each value of the other one."""
    params = search.cv_results_["params"]
    mean, error = _scores(search)
    low, high = mean - error, mean + error
    usable = np.isfinite(low) & np.isfinite(high) & _best_estimates(params, mean)
    if not usable.any():
        return ""
    along = max(varied, key=lambda name: len(varied[name]))
    across = next((name for name in varied if name != along), None)
    x = np.array([p[along] for p in params], dtype=np.float64)
    group_of = np.array([p[across] if across else 0 for p in params])
    scoring = search.scoring or "negative log-loss"
    score = scoring.replace("_", " ") if isinstance(scoring, str) else "score"
    height = linear(f"{score}, mean ± standard error", low[usable].min(), high[usable].max(), room=0.06)
    chart = Chart(parameter_axis(along, x), height)
    legend = []
    groups = np.unique(group_of[usable])
    for place, group in enumerate(groups):
        members = [i for i in np.argsort(x, kind="stable") if usable[i] and group_of[i] == group]
        look = f"series{place * (_SERIES - 1) // max(groups.size - 1, 1)}" if across else "model"
        titles = [f"{_candidate(params[i])}: {mean[i]:.4g} ± {error[i]:.2g}" for i in members]
        chart.bars(x[members], low[members], high[members], look)
        chart.line(x[members], mean[members], look)
        chart.dots(x[members], mean[members], look, titles)
        if across:
            legend.append((html.setting(across, group), look))
    best = search.best_index_
    if usable[best]:
        chart.dots([x[best]], [mean[best]], "chosen", ["chosen"])
        legend.append(("chosen", "chosen"))
    description = f"Mean score with standard errors along {html.PARAMETERS[along]}; larger is better."
    return chart.html("crossvalidation", "Cross-validated score", description, legend, 260)


def _table(search: L0LogisticRegressionCV) -> str:
    """All candidates, the best first."""
    results = search.cv_results_
    mean, error = _scores(search)
    columns = [html.Column(html.SYMBOLS[name], look="number") for name in search.best_params_]
    columns += [html.Column("Mean score", look="number"), html.Column("Std. error", look="number")]
    columns += [html.Column("Largest gap", "in any fold", "number")]
    order = np.argsort(results["rank_test_score"], kind="stable")
    rows = []
    for i in order[:_MOST_ROWS]:
        cells = [value if isinstance(value, str) else f"{value:g}" for value in results["params"][i].values()]
        cells += [nearest(mean[i], 5), nearest(error[i], 3), percent_above(results["max_gap"][i])]
        rows.append(html.row(columns, cells, "best" if i == search.best_index_ else ""))
    more = html.paragraph(f"The best {_MOST_ROWS} of {order.size:,}.", "quiet") if order.size > _MOST_ROWS else ""
    return html.folded("All candidates in numbers", html.table("grid-points", columns, rows) + more)
