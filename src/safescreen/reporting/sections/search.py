"""How the search went: bounds over time."""

from __future__ import annotations

import numpy as np

import safescreen.reporting.markup as html
from safescreen.arrays import FloatArray
from safescreen.reporting.charts import Axis, Chart, linear, logarithmic, thinned
from safescreen.reporting.content import sentences
from safescreen.reporting.content.subject import Subject
from safescreen.search.solution import Solution
from safescreen.status import Status

_LEGEND = (("best model", "model"), ("proved lower bound", "bound"), ("open", "gap"))


def section(subject: Subject) -> str:
    """Bounds over time."""
    solution = subject.solution
    searched = solution.nodes > 0 and len(solution.trace) > 1
    unsearched = "not_needed" if solution.status == Status.OPTIMAL else "not_begun"
    if not subject.searched:
        unsearched = "not_wanted"
    elif subject.alternatives is not None and solution.nodes > 0:
        unsearched = "listed"
    story = html.filled(f"search_{'explored' if searched else unsearched}.html", **sentences.numbers(solution))
    return html.section("search", "How the search went", story, _bounds_chart(solution) if searched else "")


def _bounds_chart(solution: Solution) -> str:
    seconds, lower, upper = _trace(solution)
    unit, factor = ("seconds", 1.0) if seconds[-1] >= 1.0 else ("milliseconds", 1000.0)
    time = seconds * factor
    end = float(time[-1])
    time_axis = _time_axis(unit, max(float(time[0]), 1e-3 * end), end)
    chart = Chart(time_axis, linear("objective", lower.min(), upper.max(), room=0.05))
    chart.bounds(np.repeat(time, 2)[1:], np.repeat(lower, 2)[:-1], np.repeat(upper, 2)[:-1])  # in steps
    description = (
        f"Best model and lower bound over {end:.3g} {unit}; they end at {solution.objective:.6g} and "
        f"{solution.lower_bound:.6g}."
    )
    return chart.html("bounds", "Bounds over time", description, _LEGEND, 260)


def _trace(solution: Solution) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Seconds and both bounds up to the end, where a bound changed; thinned out if there are many moments."""
    seconds, _, lower, upper = np.array(solution.trace, dtype=np.float64).T
    seconds = np.append(seconds, max(solution.seconds, seconds[-1]))
    lower, upper = np.append(lower, solution.lower_bound), np.append(upper, solution.objective)
    changed = np.flatnonzero((np.diff(lower) != 0.0) | (np.diff(upper) != 0.0)) + 1
    keep = np.concatenate(([0], changed, [lower.size - 1]))
    keep = np.unique(keep[thinned(keep.size)])
    return seconds[keep], lower[keep], upper[keep]


def _time_axis(unit: str, first: float, end: float) -> Axis:
    """Logarithmic where most happens early; from zero unless the first bound came late."""
    if end > 30.0 * first:
        return logarithmic(unit, first, end)
    return linear(unit, 0.0 if first < 0.25 * end else first, end)
