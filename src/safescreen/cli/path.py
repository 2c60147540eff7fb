"""``safescreen path``: certified models along a range of budgets, prices or ridge parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

import safescreen.cli.options as o
from safescreen.status import Status

if TYPE_CHECKING:
    from ..path import L0Path
    from ..problem import Problem
    from .inputs import Loaded
    from .scores import Scores


def path(
    data: o.DataFile,
    target: o.Target = None,
    k: Annotated[
        str | None,
        typer.Option(
            "--k", "-k", help="Budgets: 1:20, 1:20:5 or 1,2,5.", show_default=False, rich_help_panel="Problem"
        ),
    ] = None,
    mu: Annotated[
        str | None,
        typer.Option(help="Prices, as in 0.1,0.01,0.001.", show_default=False, rich_help_panel="Problem"),
    ] = None,
    gamma: Annotated[str, typer.Option(help="Ridge parameter, or several of them.", rich_help_panel="Problem")] = "1.0",
    no_intercept: o.NoIntercept = False,
    no_standardize: o.NoStandardize = False,
    include: o.Include = None,
    exclude: o.Exclude = None,
    weights: o.Weights = None,
    impute: o.Impute = None,
    one_hot: o.OneHot = False,
    drop_missing: o.DropMissing = False,
    header: o.Header = None,
    test: o.TestFile = None,
    gap: o.Gap = 1e-4,
    time_limit: o.TimeLimit = None,
    threads: o.Threads = 1,
    output: o.TableOutput = None,
    plot: o.Plot = None,
    report: o.Report = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Solve for a range of budgets (or prices, or ridge parameters), each with its own proof.

    The time limit holds for each of them.
    """
    import numpy as np

    import safescreen as ss

    from ..path import solve_along
    from ..search import Settings
    from .failures import LIMIT_HIT
    from .inputs import load, load_test, make_problem, reading_from
    from .outputs import check_outputs, check_plot, print_json, write_csv, write_plot
    from .ranges import clipped, parse_grid
    from .show import make_console, settings_line, show_files, show_notes

    name, values, fixed = parse_grid(k, mu, gamma)
    Settings(gap, time_limit, n_threads=threads).checked()
    check_outputs((data, test), output=output, plot=plot, report=report)
    check_plot(plot)
    loaded = load(data, reading_from(target, weights, exclude, impute, one_hot, drop_missing, header), include)
    values, notes = clipped(name, values, len(loaded.data.encoding.inputs))
    held_out = None if test is None else load_test(test, loaded)
    problem = make_problem(
        loaded,
        **{**fixed, name: values[0]},
        include=include,
        fit_intercept=not no_intercept,
        standardize=not no_standardize,
    )
    console = make_console(quiet or json)
    show_notes(console, [*loaded.data.notes, *notes])
    console.print(_question(loaded, problem, name))
    console.print(settings_line(problem, without=name))
    solutions = solve_along(
        problem, name, values, rel_gap=gap, time_limit=time_limit, n_threads=threads, progress=not quiet
    )
    found = ss.L0Path(name, np.array(values), tuple(solutions))
    scores = _scores(found, loaded, held_out)
    rows = _rows(found, scores)
    _show(console, found, scores)
    if output is not None:
        write_csv(output, list(rows[0]), [list(row.values()) for row in rows])
    if plot is not None:
        write_plot(plot, lambda: ss.PathDisplay.from_path(found))
    if report is not None:
        ss.report(found, report, test=held_out, title=f"{loaded.target} in {loaded.table.source}")
    show_files(console, table=output, picture=plot, report=report)
    if json:
        print_json({"parameter": name, "points": rows, "notes": [*loaded.data.notes, *notes]})
    if any(status != Status.OPTIMAL for status in found.statuses):
        raise typer.Exit(LIMIT_HIT)


def _question(loaded: Loaded, problem: Problem, name: str) -> str:
    from .show import plain

    aim = plain(f"{loaded.target} = {problem.classes[1]}")
    return (
        f"[bold]Which of {problem.n_features:,} features[/bold] best predict [bold]{aim}[/bold], for each {name}? "
        f"({problem.n_samples:,} rows)"
    )


def _scores(found: L0Path, loaded: Loaded, held_out: tuple[Any, Any] | None) -> dict[str, list[Scores]]:
    """Scores of every model, on the training data and on held-out data."""
    from .results import score_of

    sets = {"training": (loaded.data.X, loaded.data.y, loaded.data.weights)}
    if held_out is not None:
        sets["held_out"] = (*held_out, None)
    return {what: [score_of(solution, *values) for solution in found] for what, values in sets.items()}


def _rows(found: L0Path, scores: dict[str, list[Scores]]) -> list[dict[str, Any]]:
    """One record per point."""
    rows = []
    for i, (value, solution) in enumerate(zip(found.values.tolist(), found, strict=True)):
        row = {
            found.parameter: value,
            "n_features": solution.support.size,
            "features": "; ".join(solution.feature_names),
            "intercept": solution.intercept,
            "objective": solution.objective,
            "lower_bound": solution.lower_bound,
            "gap": solution.gap,
            "status": solution.status,
            "nodes": solution.nodes,
            "seconds": solution.seconds,
            "screened_percent": float(found.screened_percent[i]),
        }
        for what, points in scores.items():
            row[f"{what}_accuracy"], row[f"{what}_auc"] = points[i]
        rows.append(row)
    return rows


def _show(console: Any, found: L0Path, scores: dict[str, list[Scores]]) -> None:
    """One line per point: what changes from one to the next is what people look for."""
    from rich import box
    from rich.table import Table

    from .show import plain

    what = "held_out" if "held_out" in scores else "training"
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(found.parameter, justify="right", no_wrap=True)
    if found.parameter != "k":
        table.add_column("size", justify="right", no_wrap=True)
    table.add_column("objective", justify="right", no_wrap=True)
    table.add_column("gap %", justify="right", no_wrap=True)
    table.add_column("AUC" if what == "training" else "test AUC", justify="right", no_wrap=True)
    table.add_column("sec.", justify="right", no_wrap=True)
    table.add_column("features (+ new, - gone)", overflow="fold")
    before: set[str] = set()
    for i, (value, solution) in enumerate(zip(found.values.tolist(), found, strict=True)):
        names = solution.feature_names
        changes = [f"+{name}" for name in names if name not in before]
        changes += [f"-{name}" for name in sorted(before - set(names))]
        before = set(names)
        gap = f"{100.0 * solution.gap:.3f}"
        row = [f"{value:g}"] + ([str(len(names))] if found.parameter != "k" else [])
        row += [f"{solution.objective:.6f}", gap if solution.status == Status.OPTIMAL else f"[yellow]{gap}[/yellow]"]
        row += [f"{scores[what][i].auc:.4f}", f"{solution.seconds:.2f}", plain(", ".join(changes))]
        table.add_row(*row)
    console.print(table)
    open_points = sum(status != Status.OPTIMAL for status in found.statuses)
    if open_points:
        console.print(f"[yellow]{open_points} of {len(found)} searches ended early[/yellow]: see their gaps.")
