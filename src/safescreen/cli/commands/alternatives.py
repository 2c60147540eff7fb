"""``safescreen alternatives``: which other models of a file are as good, with proof."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from rich.console import Console

import safescreen as ss
from safescreen.cli.failures import finish, is_enough
from safescreen.cli.grouping import expand, only, without
from safescreen.cli.options import DataOptions, ListOptions, OutputOptions, SearchOptions, TermOptions
from safescreen.cli.output.files import (
    check_outputs,
    keeping_proof_failures,
    print_json,
    problem_opening,
    write_files,
    write_plot,
    write_records,
)
from safescreen.cli.output.show import copies_line, grid, introduce, make_console, make_table, plain, result_rows

_MOST_ROWS, _MOST_EXCHANGES = 20, 5


@expand
def alternatives(
    source: Annotated[DataOptions, without("test")],
    terms: TermOptions,
    wish: ListOptions,
    search: Annotated[SearchOptions, only("time_limit", "n_threads")],
    outputs: Annotated[
        OutputOptions,
        only("proof", "output", "models_out", "plot", "report", "json", "quiet", "accept_limit"),
    ],
) -> None:
    """List all models that are as good as the best one, and prove that none is missing.

    With a budget alone more features never hurt: then the models are listed none of whose features can be left out. The
    time limit holds for the list, and once more for prices and for exchanges. Coefficients are those at --gamma.
    """
    from safescreen.cli.inputs import load, make_problem
    from safescreen.cli.output.about import about, check_command
    from safescreen.cli.output.results import warn_of_scales
    from safescreen.good_models import answer

    check_outputs(outputs, source.data)
    data = load(source.data, source.reading(), terms.include)
    problem = make_problem(data, terms.asdict(), source.copies)
    console = make_console(outputs.silent)
    introduce(console, data, problem)
    warn_of_scales(make_console(outputs.quiet, stderr=True), problem)
    wanted: dict[str, Any] = {**wish.asdict(), "time_limit": search.time_limit, "n_threads": search.n_threads}
    with keeping_proof_failures() as failures:
        found = ss.alternatives(problem, **wanted, proof=outputs.proof, progress=not outputs.quiet)
    outputs = replace(outputs, proof=None) if failures else outputs
    if not outputs.silent:
        _show(console, found)
    complete = write_files(
        console,
        outputs,
        output=lambda path: write_records(path, _records(found, "features")),
        models_out=lambda path: write_records(path, _records(found, "models")),
        plot=lambda path: write_plot(path, ss.AlternativesDisplay.from_alternatives, found),
        report=lambda path: ss.report(found, path, proof=outputs.proof, **about(source, data, outputs)),
    )
    if outputs.proof is not None:
        console.print(f"[dim]Check the proof with[/dim] {plain(check_command(source, outputs.proof))}", soft_wrap=True)
    if outputs.json:
        names = ("proof", "output", "models_out", "plot", "report")
        files = {name: getattr(outputs, name) for name in names}
        opened = problem_opening(source, data, problem)
        print_json({**opened, **answer(found), "files": files, "notes": data.notes})
    listed = found.complete or is_enough([found.status], outputs.accept_limit)
    finish(proved=listed and complete and not failures)


def _show(console: Console, found: ss.Alternatives) -> None:
    """The features with their shares and prices, the cheapest exchanges, and how far all of it is proved."""
    from safescreen.good_models import telling

    order = found.order()
    shown = order[:_MOST_ROWS]
    table = make_table(
        {"feature": "text", "in\nmodels": "number", "coefficient": "number", "doing without\ncosts": "number"}
    )
    for j, name in zip(shown.tolist(), found.problem.names(shown), strict=True):
        cells = (telling.share(found, j), telling.coefficients(found, j), telling.price(found, j))
        look = "bold" if j in found.best.support else ""
        table.add_row(plain(name), *cells, style=look)
    console.print(table)
    if order.size > shown.size:
        console.print(f"[dim]and {order.size - shown.size:,} features in fewer models[/dim]")
    console.print("[dim]Features of the best model in bold; costs in % of the best objective.[/dim]")
    for line in telling.exchanges(found)[:_MOST_EXCHANGES]:
        console.print(f"{plain(line)}.")
    if len(found) > 1:
        console.print(plain(telling.contested(found)))
    if copies_line(found.best):
        console.print(copies_line(found.best))
    rows = result_rows(found.best)
    ended = {"nodes": f"{found.nodes:,}", "seconds": f"{found.seconds:.2f}"}
    console.print(grid({"status": found.status, **rows, **ended}, align="left"))
    look = "green" if found.complete else "yellow"
    console.print(f"[{look}]{plain(found.describe())}[/{look}]")


def _records(found: ss.Alternatives, of: str) -> list[dict[str, Any]]:
    """A table for spreadsheets, several values in a cell separated by semicolons."""
    frame = found.to_frame(of)
    records = list(frame.to_dict("records"))
    for name, record in zip(frame.index.tolist(), records, strict=True):
        record.update({key: "; ".join(map(str, value)) for key, value in record.items() if isinstance(value, list)})
        record[str(frame.index.name)] = name
    first = str(frame.index.name)
    return [{first: record[first], **record} for record in records]
