"""``safescreen screen``: what is proved about the features before any search."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

import safescreen as ss
from safescreen.cli.failures import finish
from safescreen.cli.grouping import expand, only, without
from safescreen.cli.options import DataOptions, OutputOptions, TermOptions
from safescreen.cli.output.files import (
    attributes,
    check_outputs,
    print_json,
    problem_opening,
    screening_document,
    write_files,
    write_records,
)
from safescreen.cli.output.show import introduce, make_console, make_table, plain, screening_line

_STYLES = {"in": "cyan", "undecided": "default", "out": "green"}


@expand
def screen(
    *,
    source: Annotated[DataOptions, without("test", "copies")],
    terms: TermOptions,
    top: Annotated[int, typer.Option(help="Features to show of each kind.", rich_help_panel=OutputOptions.panel)] = 5,
    outputs: Annotated[OutputOptions, only("output", "json", "quiet")],
) -> None:
    """Prove which features are in no, and which in every optimal model."""
    from safescreen.cli.inputs import load, make_problem, noted

    check_outputs(outputs, source.data)
    data = load(source.data, source.reading(), terms.include)
    problem = make_problem(data, terms.asdict())
    console = make_console(outputs.silent)
    data = noted(data, problem)
    introduce(console, data, problem)
    screening = ss.screen(problem)
    rows = _rows(problem, screening)
    console.print(screening_line(screening))
    console.print(f"Optimal objective between {screening.lower_bound:.8g} and {screening.upper_bound:.8g}")
    if top > 0:
        _show(console, rows, top)
    complete = write_files(console, outputs, table="decisions", output=lambda path: write_records(path, rows))
    if outputs.json:
        opened = problem_opening(source, data, problem, copies="allow")
        print_json({**opened, **_document(screening, rows), "notes": data.notes})
    finish(proved=complete)


def _document(screening: ss.Screening, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Everything, for other programs."""
    return {
        **screening_document(screening),
        **attributes(screening, "lower_bound", "upper_bound", "seconds"),
        "features": [{"name": row["feature"], "decision": row["decision"], "margin": row["margin"]} for row in rows],
    }


def _rows(problem: ss.Problem, screening: ss.Screening) -> list[dict[str, Any]]:
    """Name, decision and margin of each feature."""
    decisions = dict.fromkeys(screening.excluded.tolist(), "out") | dict.fromkeys(screening.included.tolist(), "in")
    names = problem.names(range(problem.n_features))
    words = [decisions.get(j, "undecided") for j in range(problem.n_features)]
    rows = zip(names, words, screening.margin.tolist(), strict=True)
    return [{"feature": name, "decision": decision, "margin": margin} for name, decision, margin in rows]


def _show(console: Console, rows: list[dict[str, Any]], top: int) -> None:
    """The features of each kind with the largest margins."""
    table = make_table({"feature": "text", "decision": "word", "margin of the proof": "number"})
    for decision, style in _STYLES.items():
        chosen = sorted((row for row in rows if row["decision"] == decision), key=lambda row: -row["margin"])
        for row in chosen[:top]:
            margin = "decided beforehand" if row["margin"] == float("inf") else f"{row['margin']:+.3g}"
            table.add_row(plain(row["feature"]), f"[{style}]{decision}[/]", margin)
        if top < len(chosen):
            table.add_row(f"[dim]and {len(chosen) - top:,} more[/dim]", f"[dim]{decision}[/dim]", "")
    console.print(table)
