"""How the search went: bounds over time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from safescreen.formatting.digits import above, below, counted, duration, percent_above
from safescreen.solution import Solution
from safescreen.status import Status

from .charts import Axis, Chart, linear, logarithmic, steps, thinned
from .markup import paragraph, section

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.int64]


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
                if solution.status == Status.OPTIMAL
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
    unit, factor = ("seconds", 1.0) if end >= 1.0 else ("milliseconds", 1000.0)
    seconds, end = seconds * factor, end * factor
    time = _time_axis(max(float(seconds[0]), 1e-3 * end), end)
    chart = Chart(time, linear(float(lower.min()), float(upper.max()), room=0.05))
    xs, bottom = steps(seconds, lower)
    _, top = steps(seconds, upper)
    chart.area(xs, bottom, top, "gap")
    chart.line(xs, bottom, "bound")
    chart.line(xs, top, "model")
    legend = [("best model", "model"), ("proved lower bound", "bound"), ("open", "gap")]
    label = f"{unit}, logarithmic" if chart.x.logarithmic else unit
    description = (
        f"Best model and lower bound over {end:.3g} {unit}; they end at {solution.objective:.6g} and "
        f"{solution.lower_bound:.6g}."
    )
    return chart.html("Bounds over time", description, label, "objective", legend, 260, "bounds")


def _time_axis(first: float, end: float) -> Axis:
    """Logarithmic where most happens early; from zero unless the first bound came late."""
    if end > 30.0 * first:
        return logarithmic(first, end)
    return linear(0.0 if first < 0.25 * end else first, end, 6)


def _turning_points(lower: FloatArray, upper: FloatArray) -> IndexArray:
    """The moments at which a bound changed, thinned out if there are many."""
    changed = np.flatnonzero((np.diff(lower) != 0.0) | (np.diff(upper) != 0.0)) + 1
    keep = np.concatenate(([0], changed, [lower.size - 1]))
    return np.unique(keep[thinned(keep.size)])
