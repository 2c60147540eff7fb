"""``safescreen path``: proved models along a range of budgets, prices or ridge parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from safescreen.cli.failures import LIMIT_HIT
from safescreen.cli.grouping import expand, only, without
from safescreen.cli.options import DataOptions, OutputOptions, RangeOptions, SearchOptions
from safescreen.status import Status

if TYPE_CHECKING:
    from rich.console import Console

    from safescreen.cli.inputs import HeldOut, Loaded
    from safescreen.cli.output.scores import Scores
    from safescreen.path import L0Path


@expand
def path(
    source: DataOptions,
    terms: RangeOptions,
    search: Annotated[SearchOptions, without("node_limit", "screening")],
    outputs: Annotated[OutputOptions, only("output", "plot", "report", "json", "quiet")],
) -> None:
    """Solve for a range of budgets (or prices, or ridge parameters), each with its own proof.

    The time limit holds for each of them.
    """
    import numpy as np

    import safescreen as ss
    from safescreen.cli.inputs import load, load_test, make_problem
    from safescreen.cli.output.files import check_outputs, print_json, show_files, write_plot, write_records
    from safescreen.cli.output.show import introduce, make_console
    from safescreen.cli.ranges import clipped, parse_path
    from safescreen.path import solve_along

    varying, fixed = parse_path(terms)
    search.check()
    check_outputs(outputs, source.data, source.test)
    loaded = load(source.data, source.reading(), terms.include)
    varying, clipping = clipped(varying, len(loaded.data.encoding.inputs))
    [(name, values)] = varying.items()
    notes = [*loaded.data.notes, *clipping]
    held_out = load_test(source.test, loaded)
    problem = make_problem(loaded, {**terms.asdict(), **fixed, name: values[0]})
    console = make_console(outputs.silent)
    introduce(console, loaded, problem, notes, varying=name)
    solutions = solve_along(problem, name, values, **search.limits, progress=not outputs.quiet)
    found = ss.L0Path(name, np.array(values), tuple(solutions))
    scores = _scores(found, loaded, held_out)
    rows = _rows(found, scores)
    _show(console, found, scores)
    if outputs.output is not None:
        write_records(outputs.output, rows)
    if outputs.plot is not None:
        write_plot(outputs.plot, lambda: ss.PathDisplay.from_path(found))
    if outputs.report is not None:
        ss.report(found, outputs.report, test=held_out, title=loaded.title)
    show_files(console, outputs)
    if outputs.json:
        print_json({"parameter": name, "points": rows, "notes": notes})
    if any(status != Status.OPTIMAL for status in found.statuses):
        raise typer.Exit(LIMIT_HIT)


def _scores(found: L0Path, loaded: Loaded, held_out: HeldOut | None) -> dict[str, list[Scores]]:
    """Scores of every model, on the training data and on held-out data."""
    from safescreen.cli.output.results import Result

    models = [Result(loaded, solution, held_out).scores for solution in found]
    return {what: [scores[what] for scores in models] for what in models[0]}


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


def _show(console: Console, found: L0Path, scores: dict[str, list[Scores]]) -> None:
    """One line per point: what changes from one to the next is what people look for."""
    from safescreen.cli.output.show import make_table, plain

    what = "held_out" if "held_out" in scores else "training"
    sized = found.parameter != "k"
    names = [found.parameter, *(["size"] if sized else []), "objective", "gap %"]
    names += ["AUC" if what == "training" else "test AUC", "sec."]
    table = make_table({**dict.fromkeys(names, "number"), "features (+ new, - gone)": "text"})
    before: list[str] = []
    for value, solution, score in zip(found.values.tolist(), found, scores[what], strict=True):
        chosen = solution.feature_names
        changes = [f"+{name}" for name in chosen if name not in before]
        changes += [f"-{name}" for name in sorted(before) if name not in chosen]
        before = chosen
        gap = f"{100.0 * solution.gap:.3f}"
        row = [f"{value:g}", *([str(len(chosen))] if sized else []), f"{solution.objective:.6f}"]
        row += [gap if solution.status == Status.OPTIMAL else f"[yellow]{gap}[/yellow]", f"{score.auc:.4f}"]
        table.add_row(*row, f"{solution.seconds:.2f}", plain(", ".join(changes)))
    console.print(table)
    open_points = sum(status != Status.OPTIMAL for status in found.statuses)
    if open_points:
        console.print(f"[yellow]{open_points} of {len(found)} searches ended early[/yellow]: see their gaps.")
