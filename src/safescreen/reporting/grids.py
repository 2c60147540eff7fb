"""Cross-validation on the page: scores over the grid."""

from __future__ import annotations

import math

import numpy as np

from safescreen.cv import L0LogisticRegressionCV
from safescreen.formatting.digits import counted, nearest, percent_above

from .charts import Chart, linear, parameter_axis
from .markup import PARAMETERS, SYMBOLS, folded, paragraph, section, table

_SERIES = 6  # colours for lines
_MOST_ROWS = 200


def grid_section(search: L0LogisticRegressionCV | None) -> str:
    """Scores over the grid."""
    if search is None:
        return ""
    results = search.cv_results_
    varied = [name for name in results["params"][0] if len({p[name] for p in results["params"]}) > 1]
    chosen = _candidate(search.best_params_)
    rule = (
        "the simplest candidate within one standard error of the best mean score"
        if search.one_standard_error
        else "the best mean score"
    )
    intro = (
        f"Cross-validation with {search.n_splits_} folds compared {counted(len(results['params']), 'candidate')}; "
        f"{chosen} was chosen for {rule}. The proof above is about the final model, given this choice; the choice "
        "itself rests on the data and is not proved."
    )
    edges = [name for name in varied if search.best_params_[name] in _ends([p[name] for p in results["params"]])]
    if edges:
        values = " and ".join(f"{SYMBOLS[name]} = {search.best_params_[name]:g}" for name in edges)
        intro += f" {values} {'is' if len(edges) == 1 else 'are'} at the edge of the grid: a wider one may do better."
    return section(
        "crossvalidation",
        "How the parameters were chosen",
        paragraph(intro),
        _grid_chart(search, varied) if varied else "",
        _grid_table(search),
    )


def _ends(values: list[float]) -> tuple[float, float]:
    return min(values), max(values)


def _candidate(parameters: dict[str, float]) -> str:
    return ", ".join(f"{SYMBOLS[name]} = {value:g}" for name, value in parameters.items())


def _score_name(search: L0LogisticRegressionCV) -> str:
    scoring = search.scoring
    if scoring is None:
        return "negative log-loss"
    return scoring.replace("_", " ") if isinstance(scoring, str) else "score"


def _grid_chart(search: L0LogisticRegressionCV, varied: list[str]) -> str:
    results = search.cv_results_
    params, mean = results["params"], np.asarray(results["mean_test_score"], dtype=np.float64)
    error = np.asarray(results["std_test_score"], dtype=np.float64) / math.sqrt(search.n_splits_)
    usable = np.isfinite(mean) & np.isfinite(error)
    if not usable.any():
        return ""
    along = max(varied, key=lambda name: len({p[name] for p in params}))
    across = next((name for name in varied if name != along), None)
    values = np.array([p[along] for p in params], dtype=np.float64)
    low, high = (mean - error)[usable].min(), (mean + error)[usable].max()
    chart = Chart(parameter_axis(along, values), linear(float(low), float(high), room=0.06))
    groups = sorted({p[across] for p in params}) if across else [None]
    legend = []
    for place, group in enumerate(groups):
        members = [i for i, p in enumerate(params) if usable[i] and (across is None or p[across] == group)]
        members.sort(key=lambda i: values[i])
        if not members:
            continue
        look = f"series{place * (_SERIES - 1) // max(len(groups) - 1, 1)}" if across else "model"
        chart.bars(values[members], (mean - error)[members], (mean + error)[members], look)
        chart.line(values[members], mean[members], look)
        titles = [f"{_candidate(params[i])}: {mean[i]:.4g} ± {error[i]:.2g}" for i in members]
        chart.dots(values[members], mean[members], look, titles)
        if across:
            legend.append((f"{SYMBOLS[across]} = {group:g}", look))
    best = search.best_index_
    if usable[best]:
        chart.dots([values[best]], [mean[best]], "chosen", ["chosen"])
        legend.append(("chosen", "chosen"))
    label = PARAMETERS[along] + (", logarithmic" if chart.x.logarithmic else "")
    return chart.html(
        "Cross-validated score",
        f"Mean score with standard errors along {PARAMETERS[along]}; larger is better.",
        label,
        f"{_score_name(search)}, mean ± standard error",
        legend,
        260,
        "crossvalidation",
    )


def _grid_table(search: L0LogisticRegressionCV) -> str:
    """All candidates, the best first."""
    results = search.cv_results_
    names = list(results["params"][0])
    heads = [(SYMBOLS[name], "", "number") for name in names]
    heads += [("Mean score", "", "number"), ("Std. error", "", "number"), ("Largest gap", "in any fold", "number")]
    order = np.argsort(results["rank_test_score"], kind="stable").tolist()
    rows = []
    for i in order[:_MOST_ROWS]:
        cells = [f"{results['params'][i][name]:g}" for name in names]
        cells.append(nearest(float(results["mean_test_score"][i]), 5))
        cells.append(nearest(float(results["std_test_score"][i]) / math.sqrt(search.n_splits_), 3))
        cells.append(percent_above(float(results["max_gap"][i])))
        look = ' class="best"' if i == search.best_index_ else ""
        rows.append(f"<tr{look}>{''.join(f'<td class=number>{cell}</td>' for cell in cells)}</tr>")
    more = paragraph(f"The best {_MOST_ROWS} of {len(order):,}.", "quiet") if len(order) > _MOST_ROWS else ""
    return folded("All candidates in numbers", table("grid-points", heads, "".join(rows)) + more)
