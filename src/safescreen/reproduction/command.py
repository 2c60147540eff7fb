"""The command ``safescreen reproduce``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from safescreen.reproduction.cells import Table
    from safescreen.reproduction.experiments import Choice
    from safescreen.reproduction.results import Results

LIMIT_HIT, BAD_INPUT, INTERRUPTED = 1, 2, 130
_QUICK_LIMIT = 20.0
_PAGE = 120  # columns where there is no terminal


class Target(StrEnum):
    """What can be reproduced."""

    table1 = "table1"
    table2 = "table2"
    table3 = "table3"
    table4 = "table4"
    table5 = "table5"
    figure1 = "figure1"
    figure2 = "figure2"
    yardstick = "yardstick"
    all = "all"


class Backend(StrEnum):
    """Solvers of the yardstick."""

    clarabel = "clarabel"
    mosek = "mosek"


def reproduce(
    target: Annotated[Target, typer.Argument(help="A table or figure of the paper, its own pipeline, or everything.")],
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Seeds per synthetic setting.", show_default="10; 3 for n = 2,941 and yardstick"),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A first look: 2 seeds, small settings, under a minute.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes; each uses one thread.")] = 1,
    time_limit: Annotated[
        float | None, typer.Option(min=0.0, help="Seconds per solve.", show_default="300; quick: 20")
    ] = None,
    gap: Annotated[float, typer.Option(min=0.0, max=0.5, help="Relative gap at which a solve is done.")] = 1e-4,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for results, tables and figures.", show_default="reproduction; quick: reproduction-quick"
        ),
    ] = None,
    backend: Annotated[Backend, typer.Option(help="Conic solver of the yardstick.")] = Backend.clarabel,
    genomic: Annotated[
        Path | None, typer.Option(help="Series matrix of GSE10072 (.txt or .txt.gz), where it cannot be downloaded.")
    ] = None,
) -> None:
    """Run the paper's experiments and show its figures beside ours.

    Every measurement is kept at once: the same command continues a run that was interrupted.
    """
    from rich.console import Console

    from safescreen.reproduction.experiments import TARGETS, Choice

    console = Console()
    if not console.is_terminal:
        console = Console(width=_PAGE)
    limit = time_limit if time_limit is not None else _QUICK_LIMIT if quick else 300.0
    targets = TARGETS if target is Target.all else (target.value,)
    choice = Choice(targets, seeds, quick, gap, limit, backend.value)
    folder = out if out is not None else Path("reproduction-quick" if quick else "reproduction")
    try:
        unsolved = _reproduce(
            choice, target is Target.all, folder, jobs, None if genomic is None else str(genomic), console
        )
    except (ImportError, OSError, ValueError) as error:
        typer.echo(f"safescreen: {error}", err=True)
        raise typer.Exit(BAD_INPUT) from None
    if unsolved:
        raise typer.Exit(LIMIT_HIT)


def _reproduce(choice: Choice, everything: bool, folder: Path, jobs: int, genomic: str | None, console: Any) -> int:
    """Measure, write, show; returns the number of our solves that were not finished."""
    from dataclasses import replace

    from safescreen.reproduction.data import availability
    from safescreen.reproduction.experiments import SYNTHETIC, settings_of, tasks
    from safescreen.reproduction.results import Results
    from safescreen.reproduction.runner import run
    from safescreen.reproduction.writing import as_report, replace_text

    if "yardstick" in choice.targets:
        sentence = _yardstick_problem(choice.backend)
        if sentence is not None and not everything:
            raise ImportError(sentence)
        if sentence is not None:
            console.print(f"[yellow]The yardstick is left out: {sentence}[/yellow]", highlight=False)
            choice = replace(choice, targets=tuple(name for name in choice.targets if name != "yardstick"))
    settings = [setting for name in choice.targets for setting in settings_of(name, choice.quick)]
    missing = availability({setting.data for setting in settings} - {SYNTHETIC}, genomic)
    for name, sentence in missing.items():
        console.print(f"[yellow]{name} is left out: {sentence}[/yellow]", highlight=False)
    wanted = tasks(choice, frozenset(missing))
    results = Results(folder / "results.jsonl")
    _measure(run, wanted, results, jobs, genomic, console)
    tables = _tables(choice, results, missing)
    drawn = [_show(table, folder, console) for table in tables]
    if everything:
        line = _command_line(choice, jobs)
        report = as_report(tables, line, results.machines(wanted), results.seconds(wanted), all(drawn))
        replace_text(folder / "README.md", report)
    console.print(f"Tables and figures are in {folder}", highlight=False)
    ours = [task for task in wanted if task.kind in ("none", "root", "nodes")]
    found = [results.shown(task) for task in ours]
    return sum(result is None or result["status"] != "optimal" for result in found)


def _measure(run: Any, wanted: list[Any], results: Results, jobs: int, genomic: str | None, console: Any) -> None:
    from rich.console import Console

    from safescreen.reproduction.display import Progress

    try:
        with Progress(Console(stderr=True)) as display:
            run(wanted, results, jobs, display, genomic)
    except KeyboardInterrupt:
        done = sum(results.find(task) is not None for task in wanted)
        typer.echo(f"Stopped with {done} of {len(wanted)} measurements kept; the same command continues.", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _tables(choice: Choice, results: Results, missing: dict[str, str]) -> list[Table]:
    from safescreen.reproduction.tables import build

    return [build(target, results, choice, missing) for target in choice.targets]


def _command_line(choice: Choice, jobs: int) -> str:
    """The command that makes the same tables."""
    words = ["safescreen reproduce all"]
    words += ["--quick"] if choice.quick else []
    words += [f"--seeds {choice.seeds}"] if choice.seeds is not None else []
    return " ".join([*words, f"--gap {choice.gap:g} --time-limit {choice.time_limit:g} --jobs {jobs}"])


def _show(table: Table, folder: Path, console: Any) -> bool:
    """One table: as CSV, Markdown, picture and on the screen; False if there is no picture."""
    from safescreen.reproduction.figures import draw
    from safescreen.reproduction.writing import as_csv, as_markdown, as_rich, replace_text

    replace_text(folder / f"{table.name}.csv", as_csv(table))
    replace_text(folder / f"{table.name}.md", as_markdown(table))
    console.print(as_rich(table))
    for note in table.notes:
        console.print(f"[dim]{note}[/dim]", highlight=False)
    console.print()
    try:
        draw(table, folder)
    except ImportError as error:
        console.print(f"[yellow]{error}[/yellow]", highlight=False)
        return False
    return True


def _yardstick_problem(backend: str) -> str | None:
    """Why the yardstick cannot run here, in one sentence; None if it can."""
    from safescreen.reproduction.conic_model import clarabel
    from safescreen.reproduction.mixed_integer import mosek_problem

    if backend == "mosek":
        return mosek_problem()
    try:
        clarabel()
    except ImportError as error:
        return str(error)
    return None
