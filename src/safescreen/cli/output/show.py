"""What the commands show, made to fit 80 columns."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import safescreen as ss

if TYPE_CHECKING:
    from safescreen.summary import Table as ModelTable
    from safescreen.tables import Prepared

_COLUMNS: dict[str, dict[str, Any]] = {
    "text": {"overflow": "fold"},
    "word": {"no_wrap": True},
    "number": {"justify": "right", "no_wrap": True},
    "long number": {"justify": "right", "min_width": 8},
}


def make_console(quiet: bool = False, stderr: bool = False) -> Console:
    """A console without guesses about what numbers mean; colours vanish when piped."""
    return Console(quiet=quiet, highlight=False, emoji=False, file=sys.stderr if stderr else sys.stdout)


def plain(text: object) -> str:
    """Names, labels and paths as they are: no markup, nothing that a terminal would obey."""
    return escape(
        "".join(
            letter if letter.isprintable() or letter == "\u00a0" else "\N{REPLACEMENT CHARACTER}"
            for letter in str(text)
        )
    )


def make_table(columns: dict[str, str]) -> Table:
    """A table; each column holds text, words, numbers or long numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name, kind in columns.items():
        table.add_column(name, **_COLUMNS[kind])
    return table


def grid(rows: dict[str, str], align: str = "right") -> Table:
    """Names and values."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(justify=align, overflow="fold")  # type: ignore[arg-type]
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def introduce(console: Console, data: Prepared, problem: ss.Problem, varying: str = "") -> None:
    """What happened to the data, the question, and the terms under which it is asked but for the one that varies."""
    show_notes(console, data.notes)
    console.print(_question(data, problem, varying))
    weighted = ", weighted" if problem.weights.min() < problem.weights.max() else ""
    console.print(f"[dim]{problem.describe(without=varying)}{weighted}[/dim]")
    show_modelled(console, problem)


def show_modelled(console: Console, problem: ss.Problem) -> None:
    """Which class coefficients and probabilities are about."""
    console.print(f"Modelled: {plain(problem.modelled)}.")


def show_notes(console: Console, notes: Iterable[str]) -> None:
    """What happened to the data."""
    for note in notes:
        console.print(f"[yellow]Note:[/yellow] {plain(note)}")


def warn(console: Console, text: str) -> None:
    """One line about what went less well than hoped for."""
    console.print(f"[yellow]Warning:[/yellow] {plain(text)}", soft_wrap=True)


def _question(data: Prepared, problem: ss.Problem, varying: str) -> str:
    """What is asked of the data."""
    limited = not varying and problem.k < problem.n_features
    which = f"Which {problem.k} of" if limited else "Which of"
    verb = "predicts" if limited and problem.k == 1 else "predict"
    aim = plain(f"{data.target} = {problem.positive_class}")
    each = f", for each {varying}" if varying else ""
    return (
        f"[bold]{which} {problem.n_features:,} features[/bold] best {verb} [bold]{aim}[/bold]{each}? "
        f"({problem.n_samples:,} rows)"
    )


def screening_line(screening: ss.Screening, seconds: bool = True) -> str:
    """What screening proves before any search."""
    started = f"Screened in {screening.seconds:.2f} s" if seconds else "Screened"
    return (
        f"{started}: [green]{len(screening.excluded):,} out[/green], "
        f"[cyan]{len(screening.included):,} in[/cyan], {len(screening.undecided):,} undecided "
        f"({screening.share})"
    )


def copies_line(solution: ss.Solution) -> str:
    """Which chosen features stand for others, empty if none does or all may be chosen."""
    problem = solution.problem
    told = problem.about_copies(solution.support) if problem.one_of_copies else ""
    return f"[yellow]Note:[/yellow] {plain(told)}; --copies allow lets them compete." if told else ""


def show_features(console: Console, model: ModelTable) -> None:
    """The chosen features, those that matter most first, and what their columns mean."""
    from safescreen.summary.cells import cells, heads, notes

    first, *others = heads(model)
    titles = {f"{head.brief or head.title}\n{head.remark}": "number" for head in others}
    table = make_table({first.title: "text", **titles})
    table.collapse_padding = True  # the more room for names
    *features, intercept = cells(model)
    for line in features:
        table.add_row(*map(plain, line))
    table.add_row(f"[dim]{intercept[0]}[/dim]", *intercept[1:])
    console.print(table)
    for note in notes(model):
        console.print(f"[dim]{plain(note)}[/dim]")


def result_rows(found: ss.Solution | ss.Verification) -> dict[str, str]:
    """How good a model is, and how far that is proved."""
    return {
        "objective": f"{found.objective:.10f}",
        "safe lower bound": f"{found.lower_bound:.10f}",
        "gap": f"{100.0 * found.gap:.4f} %",
        "nodes": f"{found.nodes:,}",
        "seconds": f"{found.seconds:.2f}",
    }
