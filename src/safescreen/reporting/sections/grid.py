"""Cross-validation on the page: scores over the grid."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from safescreen.cv import L0LogisticRegressionCV
from safescreen.formatting.digits import counted, nearest, percent_above
from safescreen.reporting import markup as html
from safescreen.reporting.charts import Chart, linear, parameter_axis
from safescreen.reporting.content.subject import Subject

FloatArray = npt.NDArray[np.float64]

_SERIES = 6  # colours for lines
_MOST_ROWS = 200


def grid_section(subject: Subject) -> str:
    """Scores over the grid."""
    search = subject.search
    if search is None:
        return ""
    values = {name: [p[name] for p in search.cv_results_["params"]] for name in search.best_params_}
    varied = {name: sorted(set(column)) for name, column in values.items() if len(set(column)) > 1}
    return html.section(
        "crossvalidation",
        "How the parameters were chosen",
        html.paragraph(_choice(search) + _edges(search, varied)),
        _chart(search, varied) if varied else "",
        _table(search),
    )


def _choice(search: L0LogisticRegressionCV) -> str:
    """What was compared, what was chosen, and why."""
    rule = "the best mean score"
    if search.one_standard_error:
        rule = "the simplest candidate within one standard error of the best mean score"
    return (
        f"Cross-validation with {search.n_splits_} folds compared "
        f"{counted(len(search.cv_results_['params']), 'candidate')}; {_candidate(search.best_params_)} was chosen for "
        f"{rule}. The proof above is about the final model, given this choice; the choice itself rests on the data and "
        "is not proved."
    )


def _edges(search: L0LogisticRegressionCV, varied: dict[str, list[float]]) -> str:
    """A warning if the choice lies at the edge of the grid."""
    best = search.best_params_
    edges = [html.setting(name, best[name]) for name, values in varied.items() if best[name] in (values[0], values[-1])]
    if not edges:
        return ""
    are = "is" if len(edges) == 1 else "are"
    return f" {' and '.join(edges)} {are} at the edge of the grid: a wider one may do better."


def _candidate(parameters: dict[str, float]) -> str:
    return ", ".join(html.setting(name, value) for name, value in parameters.items())


def _score_name(search: L0LogisticRegressionCV) -> str:
    scoring = search.scoring
    if scoring is None:
        return "negative log-loss"
    return scoring.replace("_", " ") if isinstance(scoring, str) else "score"


def _scores(search: L0LogisticRegressionCV) -> tuple[FloatArray, FloatArray]:
    """Mean scores and their standard errors."""
    results = search.cv_results_
    error = np.asarray(results["std_test_score"], dtype=np.float64) / math.sqrt(search.n_splits_)
    return np.asarray(results["mean_test_score"], dtype=np.float64), error


def _chart(search: L0LogisticRegressionCV, varied: dict[str, list[float]]) -> str:
    """Scores along the parameter with most values, a line for each value of the other one."""
    params = search.cv_results_["params"]
    mean, error = _scores(search)
    low, high = mean - error, mean + error
    usable = np.isfinite(low) & np.isfinite(high)
    if not usable.any():
        return ""
    along = max(varied, key=lambda name: len(varied[name]))
    across = next((name for name in varied if name != along), None)
    x = np.array([p[along] for p in params], dtype=np.float64)
    score = f"{_score_name(search)}, mean ± standard error"
    chart = Chart(parameter_axis(along, x), linear(score, low[usable].min(), high[usable].max(), room=0.06))
    legend = []
    groups = varied[across] if across else [0.0]
    for place, group in enumerate(groups):
        members = [i for i in np.argsort(x, kind="stable").tolist() if usable[i]]
        look = "model"
        if across:
            members = [i for i in members if params[i][across] == group]
            look = f"series{place * (_SERIES - 1) // (len(groups) - 1)}"
        if not members:
            continue
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
    order = np.argsort(results["rank_test_score"], kind="stable").tolist()
    rows = []
    for i in order[:_MOST_ROWS]:
        cells = [f"{value:g}" for value in results["params"][i].values()]
        cells += [nearest(float(mean[i]), 5), nearest(float(error[i]), 3), percent_above(float(results["max_gap"][i]))]
        rows.append(html.row(columns, cells, "best" if i == search.best_index_ else ""))
    more = html.paragraph(f"The best {_MOST_ROWS} of {len(order):,}.", "quiet") if len(order) > _MOST_ROWS else ""
    return html.folded("All candidates in numbers", html.table("grid-points", columns, rows) + more)
