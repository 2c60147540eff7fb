"""The second half of a page: what was ruled out, how the search went, held-out data, path and cross-validation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from safescreen.cv import L0LogisticRegressionCV
from safescreen.path import L0Path
from safescreen.solution import Solution

from . import words
from .answer import LONGEST_NAME, SYMBOLS, name_html, paragraph, section, tiles
from .charts import Axis, Chart, linear, logarithmic, steps
from .digits import (
    above,
    below,
    compact_below,
    counted,
    duration,
    nearest,
    percent_above,
    signed,
)
from .escaping import escaped, plain, shortened
from .heldout import HeldOut
from .subject import IN, OPEN, OUT, REQUIRED, UNKNOWN, Subject, decisions, deviations, margins, reading_order

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.int64]

FALLBACK_ROWS = 50
"""Features shown where there is no script."""

_NAME_BYTES = 40  # per feature, on average: names beyond that are shortened
_SMALL_NAMES = 256_000  # bytes of names that never need shortening
_CURVE_POINTS = 400
_MATRIX_ROWS = 40
_DECISIONS = {
    "i": "in every optimal model",
    "o": "in no optimal model",
    "u": "undecided",
    "r": "required by the user",
    "f": "excluded by the user",
    "c": "constant",
    "n": "not screened",
}
_PARAMETER_LABELS = {"k": "budget k", "mu": "price μ", "gamma": "ridge parameter γ"}
_SERIES = 6  # colours for lines


# -- features ------------------------------------------------------------------------------------------


def features_section(subject: Subject) -> str:
    """What was ruled out and by how much."""
    solution = subject.solution
    codes, margin = decisions(solution), margins(solution)
    screened = solution.screening is not None
    return section(
        "features",
        "What was ruled out, and by how much" if screened else "All features",
        paragraph(words.ruled_out(solution)),
        _margin_chart(codes, margin) if screened else "",
        paragraph(words.meaning_of_margin(solution), "quiet") if screened else "",
        _explorer(codes, solution),
        _fallback(solution, codes, margin),
    )


def features_data(subject: Subject) -> dict[str, Any]:
    """All features for the page's table, as compactly as JSON can hold them."""
    solution = subject.solution
    problem, support = solution.problem, solution.support
    effect = solution.coef[support] * deviations(problem, support)
    names, length = _compact_names(problem.feature_names)
    data: dict[str, Any] = {
        "count": problem.n_features,
        "names": names,
        "codes": decisions(solution),
        "labels": _DECISIONS,
        "margins": compact_below(margins(solution)),
        "objective": solution.objective,
        "support": support.tolist(),
        "effects": [float(f"{value:.4g}") for value in effect.tolist()],
        "shortened": length,
        "models": None,
    }
    if subject.path is not None:
        chosen, times = np.unique(np.concatenate(subject.path.supports), return_counts=True)
        data["models"] = {"of": len(subject.path), "features": chosen.tolist(), "times": times.tolist()}
    return data


def _compact_names(names: npt.NDArray[np.object_] | None) -> tuple[list[str] | None, int | None]:
    """Names for embedding, and the length to which long ones were cut, if any were, so that the page stays small."""
    if names is None:
        return None, None
    shown = [plain(name) for name in names.tolist()]
    size = np.array([len(name.encode()) + 3 for name in shown])
    allowed = max(_SMALL_NAMES, _NAME_BYTES * len(shown))
    longest, length = max(map(len, shown)), LONGEST_NAME
    while length > 8 and int(np.minimum(size, 3 * length if _is_wide(shown) else length).sum()) > allowed:
        length -= max(length // 10, 1)
    if longest <= length:
        return shown, None
    return [shortened(name, length) for name in shown], length


def _is_wide(names: list[str]) -> bool:
    """Whether names are in an alphabet whose letters take several bytes."""
    return sum(len(name.encode()) for name in names) > 1.2 * sum(map(len, names))


def _margin_chart(codes: str, margin: FloatArray) -> str:
    """All margins, sorted: what is above zero is proved."""
    finite = np.flatnonzero(np.isfinite(margin))
    if finite.size < 2:
        return ""
    order = finite[np.argsort(-margin[finite], kind="stable")]
    height, known = margin[order], np.array(list(codes))[order]
    chart = Chart(linear(0.5, order.size + 0.5, 6), linear(min(height.min(), 0.0), max(height.max(), 0.0), room=0.04))
    chart.x = Axis(chart.x.low, chart.x.high, *_rank_ticks(order.size))
    chart.level(0.0, "threshold")
    legend = []
    for code, look, label in ((OUT, "out", "ruled out"), (OPEN, "open", "undecided"), (IN, "in", "proved in")):
        places = np.flatnonzero(known == code)
        if places.size:
            shown = places[_spread(places.size)]
            chart.dots(shown + 1.0, height[shown], look)
            legend.append((f"{label} ({places.size:,})", look))
    description = f"Margins of {order.size} features, sorted; above zero is proved."
    return chart.html(
        "Margins of all features", description, "features, sorted by margin", "margin", legend, 220, "margins"
    )


def _rank_ticks(size: int) -> tuple[tuple[float, ...], tuple[str, ...]]:
    step = linear(0.0, float(size), 5, whole=True).ticks
    ticks = (1.0, *(tick for tick in step if 1.0 < tick <= size))
    return ticks, tuple(f"{tick:,.0f}" for tick in ticks)


def _spread(size: int) -> IndexArray:
    """At most a few hundred places out of many, first and last included."""
    return np.unique(np.linspace(0, size - 1, min(size, _CURVE_POINTS)).round().astype(np.int64))


def _explorer(codes: str, solution: Solution) -> str:
    """The frame of the table of all features; the script fills it."""
    groups = [
        ("all", "All", len(codes)),
        ("model", "In the model", solution.support.size),
        ("in", "Proved in", codes.count(IN) + codes.count(REQUIRED)),
        ("open", "Undecided", codes.count(OPEN)),
        ("out", "Ruled out", sum(codes.count(code) for code in "ofc")),
    ]
    if UNKNOWN in codes:
        groups = groups[:2]
    buttons = "".join(
        f'<button type="button" data-group="{group}" aria-pressed="{"true" if group == "all" else "false"}">'
        f"{label} <span>{count:,}</span></button>"
        for group, label, count in groups
    )
    return (
        '<div id="explorer" hidden><div class="controls">'
        '<label class="hidden" for="needle">Search features</label>'
        '<input id="needle" type="search" placeholder="Search by name or column number" autocomplete="off" '
        f'spellcheck="false"><div class="groups" role="group" aria-label="Show">{buttons}</div></div>'
        '<div class="scroll"><table class="features"><thead><tr></tr></thead><tbody></tbody></table></div>'
        '<div class="pager"><button type="button" data-turn="-1">Previous</button>'
        '<output id="shown" aria-live="polite"></output>'
        '<button type="button" data-turn="1">Next</button></div></div>'
    )


def _fallback(solution: Solution, codes: str, margin: FloatArray) -> str:
    """The first rows as plain HTML, for readers without scripts."""
    order = reading_order(codes, margin, solution.support)[:FALLBACK_ROWS]
    chosen = set(solution.support.tolist())
    rows = "".join(
        f'<tr><td class="number">{j}</td><th scope="row">{name_html(name)}</th>'
        f"<td>{escaped(_DECISIONS[codes[j]])}{', in the model' if j in chosen else ''}</td>"
        f'<td class="number">{below(float(margin[j])) if math.isfinite(margin[j]) else "–"}</td></tr>'
        for j, name in zip(order.tolist(), solution.problem.names(order), strict=True)
    )
    return (
        f"<noscript><p>The first {order.size} of {len(codes):,} features; with scripts allowed, this page shows, sorts "
        "and searches all of them.</p>"
        '<table class="features"><thead><tr><th class="number" scope="col">Column</th><th scope="col">Feature</th>'
        '<th scope="col">Proved</th><th scope="col" class="number">Margin</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></noscript>"
    )


# -- the search ------------------------------------------------------------------------------------------


def search_section(solution: Solution) -> str:
    """Bounds over time."""
    if solution.nodes == 0 or len(solution.trace) < 2:
        return section(
            "search",
            "How the search went",
            paragraph(
                f"After {duration(solution.seconds)} the first bound, {below(solution.lower_bound, 6)}, and the first "
                f"models, the best at {above(solution.objective, 6)}, were close enough: "
                f"a gap of {percent_above(solution.gap)} and no search."
                if solution.status == "optimal"
                else f"The search ended after {duration(solution.seconds)}, before it explored anything: the first "
                f"bound is {below(solution.lower_bound, 6)}, the best model {above(solution.objective, 6)}."
            ),
        )
    return section(
        "search",
        "How the search went",
        paragraph(
            f"The search explored {counted(solution.nodes, 'node')} in {duration(solution.seconds)}. The upper line is "
            "the best model found so far; no model lies below the lower line. What is between them, shaded, is what "
            "was still open."
        ),
        _bounds_chart(solution),
    )


def _bounds_chart(solution: Solution) -> str:
    seconds, _, lower, upper = (np.array(column, dtype=np.float64) for column in zip(*solution.trace, strict=True))
    end = max(solution.seconds, float(seconds[-1]))
    seconds, lower, upper = (
        np.append(seconds, end), np.append(lower, solution.lower_bound), np.append(upper, solution.objective)
    )  # fmt: skip
    keep = _turning_points(lower, upper)
    seconds, lower, upper = seconds[keep], lower[keep], upper[keep]
    first = max(float(seconds[0]), 1e-4)
    time = logarithmic(first, end) if end > 30.0 * first else linear(0.0, end, 6)
    chart = Chart(time, linear(float(lower.min()), float(upper.max()), room=0.05))
    xs, bottom = steps(seconds, lower)
    _, top = steps(seconds, upper)
    chart.area(xs, bottom, top, "gap")
    chart.line(xs, bottom, "bound")
    chart.line(xs, top, "model")
    legend = [("best model", "model"), ("proved lower bound", "bound"), ("open", "gap")]
    label = "seconds, logarithmic" if time.logarithmic else "seconds"
    description = (
        f"Best model and lower bound over {end:.3g} seconds; they end at {solution.objective:.6g} and "
        f"{solution.lower_bound:.6g}."
    )
    return chart.html("Bounds over time", description, label, "objective", legend, 260, "bounds")


def _turning_points(lower: FloatArray, upper: FloatArray) -> IndexArray:
    """The moments at which a bound changed, thinned out if there are many."""
    changed = np.flatnonzero((np.diff(lower) != 0.0) | (np.diff(upper) != 0.0)) + 1
    keep = np.concatenate(([0], changed, [lower.size - 1]))
    return np.unique(keep[_spread(keep.size)])


# -- held-out data -----------------------------------------------------------------------------------------


def heldout_section(subject: Subject, held_out: HeldOut) -> str:
    """Scores, ROC and calibration."""
    problem = subject.problem
    positive = int(held_out.positive.sum())
    intro = (
        f"{counted(held_out.positive.size, 'sample')} that the model has not seen, {positive:,} of them "
        f"{words.label(problem, 1)}."
    )
    facts = [
        ("Log-loss", nearest(held_out.log_loss, 4), f"{nearest(held_out.naive_log_loss, 4)} at the base rate"),
        ("Brier score", nearest(held_out.brier, 4), "0 is perfect"),
        ("Accuracy", f"{100.0 * held_out.accuracy:.1f}\u00a0%", "at probability ½"),
    ]
    charts = [_calibration_chart(held_out, words.label(problem, 1))]
    if held_out.has_both_classes:
        area, low, high = held_out.auc()
        interval = f"95\u00a0% interval {low:.3f} to {high:.3f}" if math.isfinite(low) else "no interval"
        facts.insert(0, ("Area under ROC", f"{area:.3f}", interval))
        charts.insert(0, _roc_chart(held_out, area))
    else:
        intro += " With one class only there is no ROC curve."
    which = ""
    if subject.path is not None:
        name = subject.path.parameter
        which = f" Shown for {SYMBOLS[name]} = {getattr(problem, name):g}; the path above has the scores of all models."
    return section(
        "heldout", "On held-out data", paragraph(intro + which), tiles(facts), f'<div class="pair">{"".join(charts)}</div>'
    )


def _roc_chart(held_out: HeldOut, area: float) -> str:
    false, true = held_out.roc()
    chart = Chart(linear(0.0, 1.0, 6), linear(0.0, 1.0, 6))
    chart.line([0.0, 1.0], [0.0, 1.0], "reference")
    keep = _spread(false.size)
    chart.area(false[keep], np.zeros(keep.size), true[keep], "soft")
    chart.line(false[keep], true[keep], "model")
    return chart.html(
        "ROC curve", f"ROC curve with area {area:.3f}.", "false positive rate", "true positive rate", (), 280, "roc"
    )


def _calibration_chart(held_out: HeldOut, positive: str) -> str:
    bins = held_out.calibration()
    chart = Chart(linear(0.0, 1.0, 6), linear(0.0, 1.0, 6))
    counts, edges = np.histogram(held_out.probability, bins=20, range=(0.0, 1.0))
    chart.columns(edges[:-1], edges[1:], 0.18 * counts / max(counts.max(), 1), "soft")
    chart.line([0.0, 1.0], [0.0, 1.0], "reference")
    predicted = [group.predicted for group in bins]
    chart.bars(predicted, [group.low for group in bins], [group.high for group in bins], "model")
    titles = [
        f"{counted(group.size, 'sample')}: predicted {group.predicted:.3f}, observed {group.observed:.3f} "
        f"({group.low:.3f} to {group.high:.3f})"
        for group in bins
    ]
    chart.dots(predicted, [group.observed for group in bins], "model", titles)
    return chart.html(
        "Calibration",
        f"Observed against predicted share of {positive} in {counted(len(bins), 'group')}.",
        "predicted probability (columns: how many samples)",
        "observed share, 95 % interval",
        (),
        280,
        "calibration",
    )


# -- path --------------------------------------------------------------------------------------------------


def path_section(subject: Subject, scores: Sequence[HeldOut] | None) -> str:
    """All models along a path."""
    path = subject.path
    if path is None:
        return ""
    order = np.argsort(path.values, kind="stable")
    return section(
        "path",
        f"The path: {counted(len(path), 'model')}",
        paragraph(words.path_summary(subject)),
        _path_chart(path, order) if len(path) > 1 else "",
        _score_chart(path, order, scores) if scores is not None and len(path) > 1 else "",
        _entry_matrix(path, order),
        _path_table(path, order, scores),
    )


def _parameter_axis(name: str, values: FloatArray) -> Axis:
    low, high = float(values.min()), float(values.max())
    if name != "k" and low > 0.0 and high > 10.0 * low:
        return logarithmic(low, high)
    return linear(low, high, 8, whole=name == "k")


def _path_chart(path: L0Path, order: IndexArray) -> str:
    values = np.asarray(path.values, dtype=np.float64)[order]
    upper, lower = path.objectives[order], path.lower_bounds[order]
    chart = Chart(_parameter_axis(path.parameter, values), linear(float(lower.min()), float(upper.max()), room=0.05))
    chart.area(values, lower, upper, "gap")
    chart.line(values, lower, "bound")
    chart.line(values, upper, "model")
    titles = [
        f"{SYMBOLS[path.parameter]} = {value:g}: {counted(path[i].support.size, 'feature')}, objective "
        f"{path[i].objective:.6g}, bound {path[i].lower_bound:.6g}"
        for i, value in zip(order.tolist(), values.tolist(), strict=True)
    ]
    chart.dots(values, upper, "model", titles)
    legend = [("best model", "model"), ("proved lower bound", "bound")]
    label = _PARAMETER_LABELS[path.parameter] + (", logarithmic" if chart.x.logarithmic else "")
    description = f"Objective and lower bound of {len(path)} models along {_PARAMETER_LABELS[path.parameter]}."
    return chart.html("Objective along the path", description, label, "objective", legend, 240, "path")


def _score_chart(path: L0Path, order: IndexArray, scores: Sequence[HeldOut]) -> str:
    values = np.asarray(path.values, dtype=np.float64)[order]
    losses = np.array([scores[i].log_loss for i in order.tolist()])
    naive = scores[0].naive_log_loss
    chart = Chart(
        _parameter_axis(path.parameter, values),
        linear(float(min(losses.min(), naive)), float(max(losses.max(), naive)), room=0.05),
    )
    chart.level(naive, "reference")
    chart.line(values, losses, "model")
    titles = [
        f"{SYMBOLS[path.parameter]} = {value:g}: held-out log-loss {loss:.4g}"
        for value, loss in zip(values.tolist(), losses.tolist(), strict=True)
    ]
    chart.dots(values, losses, "model", titles)
    legend = [("model", "model"), ("always the base rate", "reference")]
    label = _PARAMETER_LABELS[path.parameter] + (", logarithmic" if chart.x.logarithmic else "")
    note = "Whoever picks a model by these scores has used the held-out data for fitting, and needs fresh data to judge it."
    return chart.html(
        "Log-loss on held-out data", "Held-out log-loss along the path.", label, "log-loss", legend, 200, "scores"
    ) + paragraph(note, "quiet")


def _entry_matrix(path: L0Path, order: IndexArray) -> str:
    """Which features are in which models: a row per feature, a column per model, colour for the coefficient."""
    problem = path[0].problem
    chosen, times = np.unique(np.concatenate(path.supports), return_counts=True)
    if not chosen.size:
        return ""
    effects = np.array([solution.coef[chosen] for solution in path]).T[:, order] * deviations(problem, chosen)[:, None]
    used = np.array([np.isin(chosen, solution.support) for solution in path]).T[:, order]
    forwards = used if path.parameter != "mu" else used[:, ::-1]  # models grow as the price falls
    rows = np.lexsort((chosen, -times, forwards.argmax(axis=1)))[:_MATRIX_ROWS]
    reach = float(np.abs(effects).max()) or 1.0
    labels = [f"{value:g}" for value in np.asarray(path.values)[order].tolist()]
    names = problem.names(chosen)
    symbol = SYMBOLS[path.parameter]
    body = "".join(
        f'<tr><th scope="row">{name_html(names[i])}</th>'
        + "".join(
            _cell(effects[i, c] / reach, f"{symbol} = {labels[c]}: {signed(float(effects[i, c]))}") if used[i, c] else "<td></td>"
            for c in range(order.size)
        )
        + "</tr>"
        for i in rows.tolist()
    )
    every = max(1, math.ceil(order.size / 12))
    heads = "".join(
        f'<th scope="col"><span>{label if c % every == 0 else ""}</span></th>' for c, label in enumerate(labels)
    )
    more = chosen.size - rows.size
    rest = f" {counted(more, 'further feature')} used later or less often {'is' if more == 1 else 'are'} not shown." if more > 0 else ""
    caption = (
        f"Which features enter when. Columns: {_PARAMETER_LABELS[path.parameter]}; colour: coefficient per standard "
        f"deviation, blue for more and orange for less {words.label(problem, 1)}.{rest}"
    )
    return (
        f'<figure class="matrix" data-chart="entries"><figcaption>{escaped(caption)}</figcaption><div class="scroll"><table>'
        f'<thead><tr><td></td>{heads}</tr></thead><tbody>{body}</tbody></table></div></figure>'
    )


def _cell(share: float, title: str) -> str:
    look = "plus" if share > 0.0 else "minus"
    return f'<td class="{look}" style="--share:{0.2 + 0.8 * abs(share):.2f}" title="{escaped(title)}"></td>'


def _path_table(path: L0Path, order: IndexArray, scores: Sequence[HeldOut] | None) -> str:
    symbol, problem = SYMBOLS[path.parameter], path[0].problem
    previous: set[int] = set()
    rows = []
    sequence = order[::-1] if path.parameter == "mu" else order
    for i in sequence.tolist():
        solution = path[i]
        current = set(solution.support.tolist())
        cells = [
            f'<th scope="row" class="number">{float(path.values[i]):g}</th>',
            f'<td class="number">{len(current):,}</td>',
            f'<td class="number">{above(solution.objective, 5)}</td>',
            f'<td class="number wide">{below(solution.lower_bound, 5)}</td>',
            f'<td class="number">{percent_above(solution.gap)}</td>',
            f"<td>{'proved' if solution.status == 'optimal' else escaped(solution.status.replace('_', ' '))}</td>",
        ]
        if scores is not None:
            area = f"{scores[i].auc()[0]:.3f}" if scores[i].has_both_classes else "–"
            cells += [f'<td class="number">{nearest(scores[i].log_loss, 4)}</td>', f'<td class="number">{area}</td>']
        cells.append(f'<td class="changes">{_changes(problem.names, current - previous, previous - current)}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
        previous = current
    held_out = '<th class="number">Log-loss<small>held-out</small></th><th class="number">ROC area<small>held-out</small></th>'
    return (
        '<details open><summary>All models in numbers</summary><div class="scroll"><table class="points"><thead><tr>'
        f'<th class="number">{symbol}</th><th class="number">Features</th><th class="number">Objective</th>'
        '<th class="number wide">Lower bound</th><th class="number">Gap</th><th>Status</th>'
        f"{held_out if scores is not None else ''}<th>Enter and leave</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div></details>"
    )


def _changes(names_of: Any, entered: set[int], left: set[int]) -> str:
    """Features that come and go from one model to the next, at most a handful of each."""
    parts = []
    for sign, look, features in (("+", "plus", sorted(entered)), ("−", "minus", sorted(left))):
        shown = [f'<span class="{look}">{sign} {name_html(shortened(n, 60))}</span>' for n in names_of(features[:8])]
        more = [f"<span>{sign} {len(features) - 8:,} more</span>"] if len(features) > 8 else []
        parts += shown + more
    return " ".join(parts) or "–"


# -- cross-validation --------------------------------------------------------------------------------------


def search_grid_section(search: L0LogisticRegressionCV | None) -> str:
    """Scores over the grid."""
    if search is None:
        return ""
    results = search.cv_results_
    varied = [name for name in results["params"][0] if len({p[name] for p in results["params"]}) > 1]
    chosen = ", ".join(f"{SYMBOLS[name]} = {search.best_params_[name]:g}" for name in search.best_params_)
    rule = (
        "the simplest candidate within one standard error of the best mean score"
        if search.one_standard_error
        else "the best mean score"
    )
    intro = (
        f"{counted(len(results['params']), 'candidate')} were compared by cross-validation with {search.n_splits_} folds; "
        f"{chosen} was chosen for {rule}. The proof above is about the final model, given this choice; the choice itself "
        "rests on the data and is not proved."
    )
    return section(
        "crossvalidation",
        "How the parameters were chosen",
        paragraph(intro),
        _grid_chart(search, varied) if varied else "",
        _grid_table(search),
    )


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
    chart = Chart(_parameter_axis(along, values), linear(float(low), float(high), room=0.06))
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
        titles = [
            f"{', '.join(f'{SYMBOLS[name]} = {value:g}' for name, value in params[i].items())}: {mean[i]:.4g} ± {error[i]:.2g}"
            for i in members
        ]
        chart.dots(values[members], mean[members], look, titles)
        if across:
            legend.append((f"{SYMBOLS[across]} = {group:g}", look))
    best = search.best_index_
    if usable[best]:
        chart.dots([values[best]], [mean[best]], "chosen", ["chosen"])
        legend.append(("chosen", "chosen"))
    label = _PARAMETER_LABELS[along] + (", logarithmic" if chart.x.logarithmic else "")
    return chart.html(
        "Cross-validated score",
        f"Mean score with standard errors along {_PARAMETER_LABELS[along]}; larger is better.",
        label,
        f"{_score_name(search)}, mean ± standard error",
        legend,
        260,
        "crossvalidation",
    )


def _grid_table(search: L0LogisticRegressionCV) -> str:
    results = search.cv_results_
    names = list(results["params"][0])
    heads = "".join(f'<th class="number">{SYMBOLS[name]}</th>' for name in names)
    order = np.argsort(results["rank_test_score"], kind="stable").tolist()
    rows = "".join(
        f'<tr{" class=best" if i == search.best_index_ else ""}>'
        + "".join(f'<td class="number">{results["params"][i][name]:g}</td>' for name in names)
        + f'<td class="number">{nearest(float(results["mean_test_score"][i]), 5)}</td>'
        f'<td class="number">{nearest(float(results["std_test_score"][i]) / math.sqrt(search.n_splits_), 3)}</td>'
        f'<td class="number">{percent_above(float(results["max_gap"][i]))}</td></tr>'
        for i in order[:200]
    )
    more = paragraph(f"The best 200 of {len(order):,}.", "quiet") if len(order) > 200 else ""
    return (
        f'<details><summary>All candidates in numbers</summary><div class="scroll"><table class="grid-points"><thead><tr>{heads}'
        '<th class="number">Mean score</th><th class="number">Std. error</th><th class="number">Largest gap'
        f"<small>in any fold</small></th></tr></thead><tbody>{rows}</tbody></table></div>{more}</details>"
    )
