"""Pictures (extra ``plot``): the paper's two figures, and its tables with our figures beside the published ones."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from safescreen.files import write_whole
from safescreen.plots.base import pyplot, tidy
from safescreen.reproduction.experiments import BASELINES
from safescreen.reproduction.results import Row
from safescreen.reproduction.writing import Table, as_frame

if TYPE_CHECKING:
    import pandas as pd

_RIDGE_COLOURS = {1.0: "#0b5394", 1.5: "#d9822b", 1.8: "#2e8b57"}
_THEIRS, _THEIRS_SCREENED, _OURS = "#9aa5b1", "#3e4c59", "#0b5394"
_MODES = {
    "none": ("ours, no screening", "#c9882b"),
    "root": ("ours, root screening", "#3d85c6"),
    "nodes": ("ours, screening in every node", "#1b7a43"),
}


class Series(NamedTuple):
    """One kind of point: its label, the row's value, and how it looks; drawn with its spread if the row has one."""

    label: str
    value: str
    marker: str
    colour: str
    filled: bool = True


class Panel(NamedTuple):
    """One pair of axes in a picture of a table."""

    title: str
    scale: str
    series: list[Series]


def draw(table: Table, folder: Path, form: str = "svg") -> Path:
    """Draw a table or figure; returns the file."""
    plt = pyplot()
    plt.switch_backend("Agg")
    # the same picture gives the same file; text as text can be searched, and halves the file
    plt.rcParams.update({"svg.hashsalt": "safescreen", "svg.fonttype": "none"})
    figure = _screening_figure(plt, table) if table.name.startswith("figure") else _dots(plt, table, _panels(table))
    path = folder / f"{table.name}.{form}"
    with write_whole(path) as temporary:
        figure.savefig(temporary, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
    plt.close(figure)
    return path


def _axes(plt: Any, count: int, size: tuple[float, float]) -> tuple[Any, Any]:
    """A figure with so many panels in a row."""
    figure, axes = plt.subplots(1, count, figsize=size, sharey=True, squeeze=False, layout="constrained")
    for ax in axes[0]:
        tidy(ax)
    return figure, axes[0]


def _finish(figure: Any, axes: Any, columns: int, title: str) -> Any:
    """One legend below all panels, every label once, and a title."""
    found: dict[str, Any] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=columns, frameon=False, fontsize=8)
    figure.suptitle(title, fontsize=11)
    return figure


# -- figures 1 and 2 -------------------------------------------------------------------------------------


def _screening_figure(plt: Any, table: Table) -> Any:
    """Per cent screened over the number of samples: a panel per price (or budget ratio), a line per ridge."""
    points = as_frame(table.rows)
    key = "mu" if table.name == "figure1" else "n"
    samples, ridges = (sorted(points[name].unique()) for name in ("m", "gamma"))
    panels = points.groupby(key)
    figure, axes = _axes(plt, len(panels), (1.2 + 3.1 * len(panels), 4.0))
    for ax, (panel, found) in zip(axes, panels, strict=True):
        for place, gamma in enumerate(ridges):
            _screening_lines(ax, found[found["gamma"] == gamma], samples, 0.14 * (place - 0.5 * (len(ridges) - 1)))
        ax.set_xticks(range(len(samples)), [f"{m:,}" for m in samples])
        ax.set_xlim(-0.45, len(samples) - 0.5)
        ax.set_xlabel("samples m")
        title = f"μ = {panel:g}" if key == "mu" else f"n = {panel:,} (k/n = {found['k_over_n'].iloc[0]:.3g})"
        ax.set_title(title, fontsize=10)
    axes[0].set_ylabel("features screened at the root, %")
    axes[0].set_ylim(top=100.9)  # once all points are drawn: this ends the scaling by itself
    return _finish(figure, axes, len(ridges), table.title.partition(": ")[2])


def _screening_lines(ax: Any, points: pd.DataFrame, samples: list[int], shift: float) -> None:
    """The points of one ridge: with the paper's upper bound, and with the best one."""
    gamma = points["gamma"].iloc[0]
    colour = _RIDGE_COLOURS.get(gamma, "black")
    rounded = Series(f"γ = {gamma:g}, rounded model (the paper's)", "screened_percent", "o", colour)
    best = Series(f"γ = {gamma:g}, best model found", "screened_percent_best", "D", colour, filled=False)
    for series, line, aside in ((rounded, "-", 0.0), (best, ":", 0.05)):
        known = points.dropna(subset=series.value)
        places = known["m"].map(samples.index) + shift + aside
        spreads = known[f"{series.value}_std"]
        _mark(ax, (places, known[series.value]), series, yerr=spreads, linestyle=line, linewidth=1.2)


# -- tables ----------------------------------------------------------------------------------------------


def _panels(table: Table) -> list[Panel]:
    if table.name in ("table1", "table2"):
        return [
            Panel("integrality gap of the big-M relaxation, %", "linear", _gap_series("bigm")),
            Panel("integrality gap of the conic relaxation, %", "log", _gap_series("conic")),
        ]
    who, (plain, screened) = "published", ("published_bnb", "published_bnb_screening")
    if table.name == "baseline":
        who = "paper's pipeline"
        plain, screened = BASELINES["clarabel" if "conic_seconds" in table.rows[0] else "mosek"]
    times = [
        Series(f"{who}, no screening", f"{plain}_seconds", "s", _THEIRS),
        Series(f"{who}, root screening", f"{screened}_seconds", "s", _THEIRS_SCREENED),
        *(Series(label, f"{mode}_seconds", "o", colour) for mode, (label, colour) in _MODES.items()),
    ]
    shares = [
        Series("published", "published_screened_percent", "x", "black"),
        Series("ours, rounded model (the paper's)", "screened_percent", "o", _OURS),
        Series("ours, best model found", "screened_percent_best", "D", _OURS, filled=False),
    ]
    panels = [Panel("features screened at the root, %", "linear", shares), Panel("seconds", "log", times)]
    return panels if table.name == "table5" else panels[1:]


def _gap_series(name: str) -> list[Series]:
    return [
        Series("published", f"published_{name}_gap_percent", "x", "black"),
        Series("ours (± standard deviation)", f"{name}_gap_percent", "o", _OURS),
    ]


def _label(row: Row) -> str:
    """A setting in a few characters."""
    if "dataset" in row:
        return f"{row['dataset']}{' (stand-in)' if row['stands_in_for'] else ''}  μ={row['mu']:g}  γ={row['gamma']:g}"
    front = f"{row['form']}  " if "form" in row else ""
    front += f"n={row['n']:,}  " if row.get("n") else ""
    price = f"μ={row['mu']:g}  " if row.get("mu") else ""
    return f"{front}{price}m={row['m']:,}  γ={row['gamma']:g}"


def _dots(plt: Any, table: Table, panels: list[Panel]) -> Any:
    """A row of the table per line, a mark per number; triangles are lower bounds from a time limit."""
    rows, points = table.rows, as_frame(table.rows)
    figure, axes = _axes(plt, len(panels), (2.6 + 4.0 * len(panels), 1.8 + 0.19 * len(rows)))
    for ax, panel in zip(axes, panels, strict=True):
        for place, series in enumerate(panel.series):
            _series(ax, points, series, 0.12 * (place - 0.5 * (len(panel.series) - 1)), panel.scale)
        ax.set_xscale(panel.scale)
        if panel.scale == "log":
            _plain_ticks(ax)
        ax.set_xlabel(panel.title)
    axes[0].set_yticks(range(len(rows)), [_label(row) for row in rows], fontsize=8)
    axes[0].set_ylim(len(rows) - 0.4, -0.6)
    return _finish(figure, axes, 2 * len(panels), table.title.partition(", relative gap")[0])


def _plain_ticks(ax: Any) -> None:
    """Numbers as one writes them, few enough to be read."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = ax.get_xlim()
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 1000.0 * low else (1.0,)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def _series(ax: Any, points: pd.DataFrame, series: Series, shift: float, scale: str) -> None:
    """The marks of one series; those at a time limit look different and have a label of their own."""
    found = points[points[series.value] > (0.0 if scale == "log" else -math.inf)]
    limit = series.value.removesuffix("_seconds") + "_at_limit"
    at_limit = found[limit] > 0 if limit in found else found.index < 0
    limited = series._replace(marker=">", label=f"{series.label}: at least (limit)")
    for kind, some in ((series, found[~at_limit]), (limited, found[at_limit])):
        if len(some):
            values, spreads = some[series.value], some.get(f"{series.value}_std")
            if spreads is not None and scale == "log":
                spreads = spreads.clip(upper=0.95 * values)  # a bar must not reach zero
            _mark(ax, (values, some.index + shift), kind, xerr=spreads, linestyle="none")


def _mark(ax: Any, points: tuple[Any, Any], series: Series, **style: Any) -> None:
    filling = series.colour if series.filled else "white"
    look = {"color": series.colour, "marker": series.marker, "markerfacecolor": filling, "markersize": 5}
    ax.errorbar(*points, label=series.label, elinewidth=0.9, capsize=2, **look, **style)
