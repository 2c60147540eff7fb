"""``safescreen screen``: what is proved about the features before any search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from safescreen.cli.grouping import expand, only, without
from safescreen.cli.options import DataOptions, OutputOptions, TermOptions

if TYPE_CHECKING:
    from rich.console import Console

    from safescreen.problem import Problem
    from safescreen.screening import Screening

_STYLES = {"in": "cyan", "undecided": "default", "out": "green"}

Row = tuple[str, str, float]
"""Name, decision and margin of a feature."""


@expand
def screen(
    *,
    source: Annotated[DataOptions, without("test")],
    terms: TermOptions,
    top: Annotated[int, typer.Option(help="Features to show of each kind.", rich_help_panel=OutputOptions.panel)] = 5,
    outputs: Annotated[OutputOptions, only("output", "json", "quiet")],
) -> None:
    """Prove which features are in no, and which in every optimal model."""
    import safescreen as ss
    from safescreen.cli.inputs import load, make_problem
    from safescreen.cli.output.files import check_outputs, print_json, show_files, write_csv
    from safescreen.cli.output.show import introduce, make_console, screening_line

    terms.check()
    check_outputs(outputs, source.data)
    loaded = load(source.data, source.reading(), terms.include)
    problem = make_problem(loaded, terms.asdict())
    console = make_console(outputs.silent)
    introduce(console, loaded, problem)
    screening = ss.screen(problem)
    rows = _rows(problem, screening)
    if outputs.output is not None:
        write_csv(outputs.output, ("feature", "decision", "margin"), [(name, what, repr(m)) for name, what, m in rows])
    console.print(screening_line(screening))
    console.print(f"Optimal objective between {screening.lower_bound:.8g} and {screening.upper_bound:.8g}")
    if top > 0:
        _show(console, rows, top)
    show_files(console, outputs, output="decisions")
    if outputs.json:
        print_json({**_document(problem, screening, rows), "notes": loaded.data.notes})


def _rows(problem: Problem, screening: Screening) -> list[Row]:
    """All features, in their order."""
    decisions = ["undecided"] * problem.n_features
    for j in screening.excluded.tolist():
        decisions[j] = "out"
    for j in screening.included.tolist():
        decisions[j] = "in"
    names = problem.names(range(problem.n_features))
    return list(zip(names, decisions, screening.margin.tolist(), strict=True))


def _show(console: Console, rows: list[Row], top: int) -> None:
    """The features of each kind with the largest margins."""
    from safescreen.cli.output.show import make_table, plain

    table = make_table({"feature": "text", "decision": "word", "margin of the proof": "number"})
    for decision, style in _STYLES.items():
        chosen = sorted((row for row in rows if row[1] == decision), key=lambda row: -row[2])
        for name, _, margin in chosen[:top]:
            shown = "decided beforehand" if margin == float("inf") else f"{margin:+.3g}"
            table.add_row(plain(name), f"[{style}]{decision}[/]", shown)
        if top < len(chosen):
            table.add_row(f"[dim]and {len(chosen) - top:,} more[/dim]", f"[dim]{decision}[/dim]", "")
    console.print(table)


def _document(problem: Problem, screening: Screening, rows: list[Row]) -> dict[str, Any]:
    """Everything, for other programs."""
    from safescreen.cli.output.results import screening_document

    return {
        "n_samples": problem.n_samples,
        "n_features": problem.n_features,
        **screening_document(screening),
        "lower_bound": screening.lower_bound,
        "upper_bound": screening.upper_bound,
        "seconds": screening.seconds,
        "features": [{"name": name, "decision": what, "margin": margin} for name, what, margin in rows],
    }
