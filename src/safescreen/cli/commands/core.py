"""``safescreen core``: features of which every good model of a file uses some, with proof."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from rich.console import Console

import safescreen as ss
from safescreen.cli.failures import finish
from safescreen.cli.grouping import expand, only, without
from safescreen.cli.options import CoreOptions, DataOptions, OutputOptions, TermOptions
from safescreen.cli.output.files import (
    check_outputs,
    keeping_proof_failures,
    print_json,
    problem_opening,
    write_files,
    write_plot,
    write_records,
)
from safescreen.cli.output.show import introduce, make_console, make_table, plain

_MOST_ROWS = 20


@expand
def core(
    source: Annotated[DataOptions, without("test")],
    terms: TermOptions,
    question: CoreOptions,
    outputs: Annotated[OutputOptions, only("proof", "output", "plot", "report", "json", "quiet")],
) -> None:
    """Prove that every good model uses at least one (or two, ...) of a short list of features.

    There is no search. The list as a whole is what no good model does without; any single feature of it may be in none.
    """
    from safescreen.cli.inputs import load, make_problem
    from safescreen.cli.output.about import about, check_command
    from safescreen.cli.output.results import warn_of_scales
    from safescreen.cores import answer

    check_outputs(outputs, source.data)
    data = load(source.data, source.reading(), terms.include)
    problem = make_problem(data, terms.asdict(), source.copies)
    console = make_console(outputs.silent)
    introduce(console, data, problem)
    warn_of_scales(make_console(outputs.quiet, stderr=True), problem)
    with keeping_proof_failures() as failures:
        found = ss.core(problem, **question.asdict(), proof=outputs.proof)
    outputs = replace(outputs, proof=None) if failures else outputs
    if not outputs.silent:
        _show(console, found)
    complete = write_files(
        console,
        outputs,
        output=lambda path: write_records(path, _records(found)),
        plot=lambda path: write_plot(path, ss.CoreDisplay.from_core, found),
        report=lambda path: ss.report(found, path, proof=outputs.proof, **about(source, data, outputs)),
    )
    if outputs.proof is not None:
        console.print(f"[dim]Check the proof with[/dim] {plain(check_command(source, outputs.proof))}", soft_wrap=True)
    if outputs.json:
        files = {name: getattr(outputs, name) for name in ("proof", "output", "plot", "report")}
        opened = problem_opening(source, data, problem)
        print_json({**opened, **answer(found), "files": files, "notes": data.notes})
    finish(proved=complete and not failures)


def _show(console: Console, found: ss.Core) -> None:
    """The features that matter most, and what is proved of all of them."""
    from safescreen.cores.telling import CAUTION

    table = make_table({"feature": "text", "gain": "number"})
    for row in _records(found)[:_MOST_ROWS]:
        table.add_row(plain(row["feature"]), f"{row['gain']:.3g}")
    console.print(table)
    if len(found) > _MOST_ROWS:
        console.print(f"[dim]and {len(found) - _MOST_ROWS:,} more[/dim]")
    console.print(
        f"Models that use fewer cost at least {found.lower_bound:.8g}, the best at most {found.objective:.8g}"
    )
    console.print(f"[green]Proved: {plain(found.sentence)}[/green]")
    if len(found) > found.at_least:
        console.print(f"[dim]{CAUTION}[/dim]")


def _records(found: ss.Core) -> list[dict[str, Any]]:
    """The table of features, the most important first."""
    rows = zip(found.names, found.features.tolist(), found.gain.tolist(), strict=True)
    return [{"feature": name, "index": j, "gain": gain} for name, j, gain in rows]
