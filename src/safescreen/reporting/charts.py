"""Small charts as HTML and SVG, without a library.

The SVG holds lines and areas only and is stretched to whatever width there is, with strokes that keep their width;
labels are HTML around it and keep their size. So one chart serves a phone, a desktop and paper, and needs no script.
Colours are classes, which the style sheet sets for light, dark and print.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from safescreen.arrays import FloatArray, IndexArray
from safescreen.formatting.digits import nearest
from safescreen.formatting.escaping import escaped
from safescreen.reporting.markup import PARAMETERS

Values = Sequence[float] | FloatArray

_SIDE = 1000.0  # of the SVG's own square, whatever its shape on the page


@dataclass(frozen=True)
class Axis:
    """What is measured: a range of numbers, linear or logarithmic, and the numbers to label."""

    title: str
    low: float
    high: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    logarithmic: bool = False

    def place(self, values: npt.ArrayLike) -> FloatArray:
        """Where numbers lie, 0 at the low end and 1 at the high end."""
        scale = np.log10 if self.logarithmic else np.asarray
        low, high, inside = scale(self.low), scale(self.high), scale(np.clip(values, self.low, self.high))
        return np.asarray((inside - low) / (high - low), dtype=np.float64)


def linear(title: str, low: float, high: float, most: int = 6, whole: bool = False, room: float = 0.0) -> Axis:
    """An axis from ``low`` to ``high``, a little longer by ``room``, with round labels and ``most`` steps at most."""
    low, high = float(low), float(high)
    if not high - low > max(1e-12 * max(abs(low), abs(high)), 1e-250):
        low, high = low - max(abs(low) * 1e-3, 1e-9), high + max(abs(high) * 1e-3, 1e-9)
    low, high = low - room * (high - low), high + room * (high - low)
    step = _round_step((high - low) / most, whole)
    first = math.ceil(low / step - 1e-9)
    ticks = [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]
    decimals = next(places for places in range(400) if whole or round(step * 10.0**places, 6) % 1.0 == 0.0)
    if decimals > 8 or abs(high) >= 1e7:
        labels = [nearest(tick, 6) for tick in ticks]
    else:
        labels = [f"{tick:,.{decimals}f}".replace("-", "−") for tick in ticks]
    return Axis(title, low, high, tuple(ticks), tuple(labels))


def logarithmic(title: str, low: float, high: float, count: int = 6) -> Axis:
    """An axis over orders of magnitude, with powers of ten (or few of them) as labels."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    every = max(1, math.ceil((last - first) / count))
    decades = math.log10(high / low)
    factors = (1.0, 2.0, 5.0) if decades < 1.5 else (1.0, 3.0) if decades < 3.2 else (1.0,)
    powers = range(first, last + 1, every)
    ticks = [f * 10.0**p for p in powers for f in factors if low * 0.999 <= f * 10.0**p <= high * 1.001]
    labels = tuple(nearest(tick, 1) for tick in ticks)
    return Axis(f"{title}, logarithmic", low, high, tuple(ticks), labels, logarithmic=True)


def parameter_axis(name: str, values: FloatArray) -> Axis:
    """An axis for a model parameter: prices and ridge parameters are spread over orders of magnitude."""
    low, high = float(values.min()), float(values.max())
    if name != "k" and low > 0.0 and high > 10.0 * low:
        return logarithmic(PARAMETERS[name], low, high)
    return linear(PARAMETERS[name], low, high, 12 if name == "k" else 6, whole=name == "k")


def _round_step(step: float, whole: bool) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    rounded = next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= step * (1.0 - 1e-9))
    return max(1.0, math.ceil(rounded)) if whole else rounded


@dataclass
class Chart:
    """Marks on a pair of axes, collected and then written out."""

    x: Axis
    y: Axis
    marks: list[str] = field(default_factory=list)

    def area(self, xs: Values, lower: Values, upper: Values, look: str) -> None:
        """What lies between two lines."""
        outline = self._points(xs, upper) + self._points(xs, lower)[::-1]
        self.marks.append(f'<path class="area {look}" d="M{"L".join(outline)}Z"/>')

    def bounds(self, xs: Values, lower: Values, upper: Values) -> None:
        """The best model and the proved bound, and what is open between them."""
        self.area(xs, lower, upper, "gap")
        self.line(xs, lower, "bound")
        self.line(xs, upper, "model")

    def line(self, xs: Values, ys: Values, look: str) -> None:
        """Points joined by straight lines."""
        self.marks.append(f'<path class="line {look}" d="M{"L".join(self._points(xs, ys))}"/>')

    def dots(self, xs: Values, ys: Values, look: str, titles: Sequence[str] | None = None) -> None:
        """Points; with titles each one says what it is when pointed at."""
        points = self._points(xs, ys)
        if titles is None:
            self.marks.append(f'<path class="dot {look}" d="{"".join(f"M{point}h0" for point in points)}"/>')
            return
        self.marks += [
            f'<path class="dot {look}" d="M{point}h0"><title>{escaped(title)}</title></path>'
            for point, title in zip(points, titles, strict=True)
        ]

    def bars(self, xs: Values, lower: Values, upper: Values, look: str) -> None:
        """Vertical lines, for errors."""
        pairs = zip(self._points(xs, lower), self._points(xs, upper), strict=True)
        self.marks.append(f'<path class="bar {look}" d="{"".join(f"M{low}L{high}" for low, high in pairs)}"/>')

    def level(self, y: float, look: str) -> None:
        """A horizontal line across the chart."""
        self.line((self.x.low, self.x.high), (y, y), look)

    def html(
        self, name: str, title: str, description: str, legend: Sequence[tuple[str, str]] = (), height: int = 240
    ) -> str:
        """The chart as a figure; all texts are escaped here. The legend pairs labels with looks."""
        keys = "".join(f'<span class="key {look}">{escaped(label)}</span>' for label, look in legend)
        widest = max(self.y.labels, key=len, default="")
        grid = "".join(f"M0 {_SIDE * (1.0 - place):.1f}H{_SIDE:g}" for place in self.y.place(self.y.ticks))
        return (
            f'<figure class="chart" data-chart="{escaped(name)}"><figcaption><strong>{escaped(title)}</strong>'
            f'<span class="keys">{keys}</span></figcaption>'
            f'<div class="y-label">{escaped(self.y.title)}</div><div class="plot" style="--height:{height}px">'
            f'<div class="ys"><b>{escaped(widest)}</b>{_tick_labels(self.y, "bottom")}</div>'
            f'<svg viewBox="0 0 1000 1000" preserveAspectRatio="none" role="img" aria-label="{escaped(description)}">'
            f'<path class="grid" d="{grid}"/>{"".join(self.marks)}</svg>'
            f'<div class="xs">{_tick_labels(self.x, "left")}</div></div>'
            f'<div class="x-label">{escaped(self.x.title)}</div></figure>'
        )

    def _points(self, xs: Values, ys: Values) -> list[str]:
        places = zip(_SIDE * self.x.place(xs), _SIDE * (1.0 - self.y.place(ys)), strict=True)
        return [f"{x:.1f} {y:.1f}" for x, y in places]


def _tick_labels(axis: Axis, side: str) -> str:
    """The axis' numbers, each at its distance from a side of the chart."""
    return "".join(
        f'<span style="{side}:{100.0 * place:.2f}%">{escaped(label)}</span>'
        for place, label in zip(axis.place(axis.ticks), axis.labels, strict=True)
    )


def thinned(size: int, most: int = 400) -> IndexArray:
    """At most ``most`` places out of many, first and last included: a screen shows no more."""
    return np.unique(np.linspace(0, size - 1, min(size, most)).round().astype(np.int64))
