"""Pictures (extra ``plot``): the paper's two figures, and its tables with our figures beside the published ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from safescreen.reproduction.cells import Table
from safescreen.reproduction.experiments import MODES, YARDSTICKS
from safescreen.reproduction.summary import Row

_RIDGE_COLOURS = {1.0: "#0b5394", 1.5: "#d9822b", 1.8: "#2e8b57"}
_THEIRS, _THEIRS_SCREENED = "#9aa5b1", "#3e4c59"
_MODE_COLOURS = {"none": "#c9882b", "root": "#3d85c6", "nodes": "#1b7a43"}


class Series(NamedTuple):
    """One kind of point: its label, the row's value and spread, and how it looks."""

    label: str
    value: str
    spread: str | None
    marker: str
    colour: str
    filled: bool = True


class Panel(NamedTuple):
    """One pair of axes in a picture of a table."""

    title: str
    scale: str
    series: list[Series]


def _pyplot() -> Any:
    """Matplotlib without a display, or one sentence on how to get it."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise ImportError("Figures need matplotlib: pip install 'safescreen[plot]'.") from error
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "safescreen"  # the same picture gives the same file
    import matplotlib.pyplot as plt

    return plt


def draw(table: Table, folder: Path) -> list[Path]:
    """Draw a table or figure as PNG and SVG; returns the files."""
    plt = _pyplot()
    if table.name in ("figure1", "figure2"):
        figure = _screening_figure(plt, table)
    else:
        figure = _dots(plt, table, _panels(table))
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for suffix in ("png", "svg"):
        path = folder / f"{table.name}.{suffix}"
        temporary = path.with_name(f".{path.name}.part")
        figure.savefig(temporary, format=suffix, dpi=150, metadata={"Date": None} if suffix == "svg" else None)
        temporary.replace(path)
        paths.append(path)
    plt.close(figure)
    return paths


# -- figures 1 and 2 -------------------------------------------------------------------------------------


def _screening_figure(plt: Any, table: Table) -> Any:
    """Per cent screened over the number of samples: a panel per price (or budget ratio), a line per ridge."""
    key = "mu" if table.name == "figure1" else "n"
    panels = sorted({row[key] for row in table.rows})
    samples = sorted({row["m"] for row in table.rows})
    figure, axes = plt.subplots(
        1, len(panels), figsize=(1.2 + 3.1 * len(panels), 4.0), sharey=True, squeeze=False, layout="constrained"
    )
    for ax, panel in zip(axes[0], panels, strict=True):
        rows = [row for row in table.rows if row[key] == panel]
        _screening_panel(ax, rows, samples)
        ax.set_title(
            f"μ = {panel:g}" if key == "mu" else f"n = {panel:,} (k/n = {rows[0]['k_over_n']:.3g})", fontsize=10
        )
    axes[0][0].set_ylabel("features screened at the root, %")
    axes[0][0].set_ylim(top=100.9)  # once all points are drawn: this ends the scaling by itself
    _legend(figure, axes[0], columns=len({row["gamma"] for row in table.rows}))
    figure.suptitle(table.title.partition(": ")[2], fontsize=11)
    return figure


def _screening_panel(ax: Any, rows: list[Row], samples: list[int]) -> None:
    ridges = sorted({row["gamma"] for row in rows})
    kinds = (
        ("screened_percent", "o", "-", "rounded model (the paper's)"),
        ("screened_percent_best", "D", ":", "best model found"),
    )
    for number, gamma in enumerate(ridges):
        ours = {row["m"]: row for row in rows if row["gamma"] == gamma}
        shift = 0.14 * (number - 0.5 * (len(ridges) - 1))
        for column, (name, marker, line, what) in enumerate(kinds):
            points = [
                (place, ours[m]) for place, m in enumerate(samples) if m in ours and not math.isnan(ours[m][name])
            ]
            ax.errorbar(
                [place + shift + 0.05 * column for place, _ in points],
                [row[name] for _, row in points],
                yerr=[row[f"{name}_std"] for _, row in points],
                label=f"γ = {gamma:g}, {what}",
                color=_RIDGE_COLOURS.get(gamma, "black"),
                marker=marker,
                markersize=5,
                markerfacecolor="white" if column else None,
                linestyle=line,
                linewidth=1.2,
                capsize=2.5,
                elinewidth=0.9,
            )
    ax.set_xticks(range(len(samples)), [f"{m:,}" for m in samples])
    ax.set_xlim(-0.45, len(samples) - 0.5)
    ax.set_xlabel("samples m")
    _tidy(ax)


# -- tables ----------------------------------------------------------------------------------------------


def _panels(table: Table) -> list[Panel]:
    if table.name in ("table1", "table2"):
        return [
            Panel("integrality gap of the big-M relaxation, %", "linear", _gap_series("bigm")),
            Panel("integrality gap of the conic relaxation, %", "log", _gap_series("conic")),
        ]
    if table.name == "yardstick":
        plain, screened = YARDSTICKS["clarabel" if "conic_seconds" in table.rows[0] else "mosek"]
        theirs = [
            Series("paper's pipeline, no screening", f"{plain}_seconds", None, "s", _THEIRS),
            Series("paper's pipeline, root screening", f"{screened}_seconds", None, "s", _THEIRS_SCREENED),
        ]
        return [Panel("seconds", "log", theirs + _our_times())]
    theirs = [
        Series("published, no screening", "published_bnb_seconds", None, "s", _THEIRS),
        Series("published, root screening", "published_bnb_screening_seconds", None, "s", _THEIRS_SCREENED),
    ]
    times = Panel("seconds", "log", theirs + _our_times())
    if table.name != "table5":
        return [times]
    screened_series = [
        Series("published", "published_screened_percent", None, "x", "black"),
        Series("ours, rounded model (the paper's)", "screened_percent", None, "o", "#0b5394"),
        Series("ours, best model found", "screened_percent_best", None, "D", "#0b5394", filled=False),
    ]
    return [Panel("features screened at the root, %", "linear", screened_series), times]


def _gap_series(name: str) -> list[Series]:
    return [
        Series("published", f"published_{name}_gap_percent", None, "x", "black"),
        Series("ours (± standard deviation)", f"{name}_gap_percent", f"{name}_gap_percent_std", "o", "#0b5394"),
    ]


def _our_times() -> list[Series]:
    names = {"none": "ours, no screening", "root": "ours, root screening", "nodes": "ours, screening in every node"}
    return [Series(names[mode], f"{mode}_seconds", None, "o", _MODE_COLOURS[mode]) for mode in MODES]


def _label(row: Row) -> str:
    """A setting in a few characters."""
    if "dataset" in row:
        return f"{row['dataset']}{' (stand-in)' if row['stands_in_for'] else ''}  μ={row['mu']:g}  γ={row['gamma']:g}"
    front = f"{row['form']}  " if "form" in row else ""
    front += f"n={row['n']:,}  " if row.get("n") else ""
    price = f"μ={row['mu']:g}  " if row.get("mu") else ""
    return f"{front}{price}m={row['m']:,}  γ={row['gamma']:g}"


def _dots(plt: Any, table: Table, panels: Sequence[Panel]) -> Any:
    """A row of the table per line, a mark per number; triangles are lower bounds from a time limit."""
    rows = table.rows
    figure, axes = plt.subplots(
        1,
        len(panels),
        figsize=(2.6 + 4.0 * len(panels), 1.8 + 0.19 * len(rows)),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for ax, panel in zip(axes[0], panels, strict=True):
        for number, series in enumerate(panel.series):
            _series(ax, rows, series, 0.12 * (number - 0.5 * (len(panel.series) - 1)), panel.scale)
        ax.set_xscale(panel.scale)
        if panel.scale == "log":
            _plain_ticks(ax)
        ax.set_xlabel(panel.title)
        _tidy(ax)
    axes[0][0].set_yticks(range(len(rows)), [_label(row) for row in rows], fontsize=8)
    axes[0][0].set_ylim(len(rows) - 0.4, -0.6)
    _legend(figure, axes[0], columns=2 * len(panels))
    figure.suptitle(table.title.partition(", relative gap")[0], fontsize=11)
    return figure


def _legend(figure: Any, axes: Any, columns: int) -> None:
    """One legend below all panels, every label once."""
    found: dict[str, Any] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=columns, frameon=False, fontsize=8)


def _plain_ticks(ax: Any) -> None:
    """Numbers as one writes them, few enough to be read."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = ax.get_xlim()
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 1000.0 * low else (1.0,)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def _series(ax: Any, rows: list[Row], series: Series, shift: float, scale: str) -> None:
    found = [(place, row) for place, row in enumerate(rows) if _drawable(row.get(series.value), scale)]
    limited = series.value.removesuffix("_seconds") + "_at_limit"
    marks = [(series.marker, [pair for pair in found if not pair[1].get(limited)], series.label)]
    marks.append((">", [pair for pair in found if pair[1].get(limited)], f"{series.label}: at least (limit)"))
    for marker, points, label in marks:
        if not points:
            continue
        ax.errorbar(
            [row[series.value] for _, row in points],
            [place + shift for place, _ in points],
            xerr=[_reach(row, series, scale) for _, row in points] if series.spread else None,
            linestyle="none",
            marker=marker,
            markersize=5,
            color=series.colour,
            markerfacecolor=series.colour if series.filled else "white",
            elinewidth=0.9,
            capsize=2,
            label=label,
        )


def _drawable(value: Any, scale: str) -> bool:
    return isinstance(value, float) and not math.isnan(value) and (scale == "linear" or value > 0.0)


def _reach(row: Row, series: Series, scale: str) -> float:
    """The spread; on a logarithmic axis it must not reach zero."""
    spread = float(row[series.spread]) if series.spread else 0.0
    return min(spread, 0.95 * float(row[series.value])) if scale == "log" else spread


def _tidy(ax: Any) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
