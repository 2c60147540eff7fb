"""``safescreen path``: proved models along a range of budgets, prices or ridge parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console

import safescreen as ss
from safescreen.cli.failures import finish, is_enough
from safescreen.cli.grouping import expand, only, without
from safescreen.cli.options import DataOptions, EstimateOptions, OutputOptions, RangeOptions, SearchOptions
from safescreen.cli.output.files import (
    check_outputs,
    print_json,
    problem_opening,
    write_files,
    write_plot,
    write_records,
)
from safescreen.cli.output.show import copies_line, introduce, make_console, make_table, plain
from safescreen.cli.ranges import clipped, parse_path
from safescreen.status import Status

if TYPE_CHECKING:
    from safescreen.cli.output.results import Result


@expand
def path(
    source: DataOptions,
    terms: RangeOptions,
    estimation: EstimateOptions,
    search: Annotated[SearchOptions, without("node_limit", "screening")],
    outputs: Annotated[OutputOptions, only("output", "plot", "report", "json", "quiet", "accept_limit")],
) -> None:
    """Solve for a range of budgets (or prices, or ridge parameters), each with its own proof.

    The proofs are about the choices at --gamma; coefficients are estimated at --refit-gamma. The time limit holds for
    each search.
    """
    from safescreen.cli.inputs import load, load_test, make_problem, noted
    from safescreen.cli.output.about import about
    from safescreen.cli.output.results import Result

    varying, fixed = parse_path(terms)
    check_outputs(outputs, source.data, source.test)
    varying, data = clipped(varying, load(source.data, source.reading(), terms.include))
    [(name, values)] = varying.items()
    held_out = load_test(source.test, data)
    problem = make_problem(data, {**terms.asdict(), **fixed, name: values[0]}, source.copies)
    console = make_console(outputs.silent)
    data = noted(data, problem)
    introduce(console, data, problem, varying=name)
    settings = {**vars(search), **varying, "refit_gamma": estimation.ridge}
    found = ss.l0_path(problem, **settings, progress=not outputs.quiet)
    results = [Result(data, *pair, held_out) for pair in zip(found, found.estimates, strict=True)]
    rows = _rows(found, results)
    _show(console, found, results)
    complete = write_files(
        console,
        outputs,
        output=lambda path: write_records(path, rows),
        plot=lambda path: write_plot(path, ss.PathDisplay.from_path, found),
        report=lambda path: ss.report(found, path, test=held_out, **about(source, data, outputs)),
    )
    if outputs.json:
        opened = problem_opening(source, data, problem, refit_gamma=estimation.ridge, **varying)
        print_json({**opened, "parameter": name, "points": rows, "notes": data.notes})
    finish(proved=complete and is_enough(found.statuses, outputs.accept_limit))


def _rows(found: ss.L0Path, results: list[Result]) -> list[dict[str, Any]]:
    """One record per point."""
    frame = found.to_frame()
    frame["features"] = ["; ".join(names) for names in frame["features"]]
    for what in results[0].scores:
        frame[f"{what}_accuracy"] = [result.scores[what].accuracy for result in results]
        frame[f"{what}_auc"] = [result.scores[what].auc for result in results]
    return list(frame.reset_index().to_dict("records"))


def _show(console: Console, found: ss.L0Path, results: list[Result]) -> None:
    """One line per point: what changes from one to the next is what people look for."""
    held_out = "held_out" in results[0].scores
    sized = found.parameter != "k"
    names = [found.parameter, *(["size"] if sized else []), "objective", "gap %"]
    names += ["test AUC" if held_out else "AUC", "sec."]
    table = make_table({**dict.fromkeys(names, "number"), "features (+ new, - gone)": "text"})
    before: list[str] = []
    for value, result in zip(found.values.tolist(), results, strict=True):
        solution, chosen = result.solution, result.solution.feature_names
        changes = [f"+{name}" for name in chosen if name not in before]
        changes += [f"-{name}" for name in sorted(before) if name not in chosen]
        before = chosen
        gap = f"{100.0 * solution.gap:.3f}"
        row = [f"{value:g}", *([str(len(chosen))] if sized else []), f"{solution.objective:.6f}"]
        row += [gap if solution.status == Status.OPTIMAL else f"[yellow]{gap}[/yellow]"]
        row += [f"{result.scores['held_out' if held_out else 'training'].auc:.4f}", f"{solution.seconds:.2f}"]
        table.add_row(*row, plain(", ".join(changes)))
    console.print(table)
    if found.refit_gamma != "same":
        low, high = found.refit_gammas.min(), found.refit_gammas.max()
        ridges = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        console.print(f"Proofs are about the choices at gamma; AUC is that of estimates at γ = {ridges}.")
    for line in dict.fromkeys(filter(None, (copies_line(solution) for solution in found))):
        console.print(line)
    open_points = sum(status != Status.OPTIMAL for status in found.statuses)
    if open_points:
        console.print(f"[yellow]{open_points} of {len(found)} searches ended early[/yellow]: see their gaps.")
