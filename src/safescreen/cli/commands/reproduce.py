"""``safescreen reproduce``: the paper's experiments, its figures beside ours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console

from safescreen.cli.failures import INTERRUPTED, fail, finish
from safescreen.files import write_whole

if TYPE_CHECKING:
    from safescreen.reproduction.experiments import Choice, Task
    from safescreen.reproduction.results import Results
    from safescreen.reproduction.writing import Table

_LIMIT, _QUICK_LIMIT = 300.0, 20.0
_PAGE = 120  # columns where there is no terminal

Target = Literal["table1", "table2", "table3", "table4", "table5", "figure1", "figure2", "baseline", "all"]


def reproduce(
    target: Annotated[Target, typer.Argument(help="A table or figure of the paper, its own pipeline, or everything.")],
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Seeds per synthetic setting.", show_default="10; 3 for n = 2,941 and baseline"),
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
    backend: Annotated[Literal["clarabel", "mosek"], typer.Option(help="Conic solver of the baseline.")] = "clarabel",
    genomic: Annotated[
        Path | None, typer.Option(help="Series matrix of GSE10072 (.txt or .txt.gz), where it cannot be downloaded.")
    ] = None,
) -> None:
    """Run the paper's experiments and show its figures beside ours.

    Every measurement is kept at once: the same command continues a run that was interrupted.
    """
    from safescreen.reproduction.experiments import TARGETS, Choice

    limit = time_limit if time_limit is not None else _QUICK_LIMIT if quick else _LIMIT
    choice = Choice(TARGETS if target == "all" else (target,), seeds, quick, gap, limit, backend)
    folder = out if out is not None else Path("reproduction-quick" if quick else "reproduction")
    finish(proved=_reproduce(choice, folder, jobs, None if genomic is None else str(genomic)))


def _reproduce(choice: Choice, folder: Path, jobs: int, genomic: str | None) -> bool:
    """Measure, write, show; returns whether all of our solves were finished."""
    from safescreen.reproduction.experiments import MODES, SYNTHETIC, tasks
    from safescreen.reproduction.measure import missing_data
    from safescreen.reproduction.results import OPTIMAL, Results
    from safescreen.reproduction.tables import build
    from safescreen.reproduction.writing import as_report

    console = Console(highlight=False, width=None if Console().is_terminal else _PAGE)
    everything = len(choice.targets) > 1
    choice = _without_missing_baseline(choice, console)
    names = {setting.data for target in choice.targets for setting in choice.settings(target)}
    missing = missing_data(names - {SYNTHETIC}, genomic)
    for name, sentence in missing.items():
        _warn(console, f"{name} is left out: {sentence}")
    wanted = tasks(choice, frozenset(missing))
    folder.mkdir(parents=True, exist_ok=True)
    results = Results(folder / "results.jsonl")
    _measure(wanted, results, jobs, genomic)
    tables = [build(target, results, choice, missing) for target in choice.targets]
    for table in tables:
        _show(table, folder, console)
    drawn = _draw(tables, folder, console)
    if everything:
        page = as_report(tables, _command_line(choice, jobs), results.machines(wanted), results.seconds(wanted), drawn)
        _write(folder / "README.md", page)
    console.print(f"Tables and figures are in {folder}")
    found = [results.shown(task) for task in wanted if task.kind in MODES]
    return all(result is not None and result["status"] == OPTIMAL for result in found)


def _without_missing_baseline(choice: Choice, console: Console) -> Choice:
    """Among other targets, a baseline that cannot run here is left out; alone, it is an error."""
    from safescreen.reproduction.baseline.mosek import check_mosek
    from safescreen.testing.conic import import_cvxpy

    if "baseline" not in choice.targets:
        return choice
    try:
        check_mosek() if choice.backend == "mosek" else import_cvxpy()
    except ImportError as error:
        if choice.targets == ("baseline",):
            raise
        _warn(console, f"The baseline is left out: {error}")
        return replace(choice, targets=tuple(name for name in choice.targets if name != "baseline"))
    return choice


def _measure(wanted: list[Task], results: Results, jobs: int, genomic: str | None) -> None:
    from safescreen.reproduction.runner import Display, run

    try:
        with Display(wanted, Console(stderr=True)) as display:
            run(wanted, results, jobs, display, genomic)
    except KeyboardInterrupt:
        done = sum(results.find(task) is not None for task in wanted)
        fail(f"Stopped with {done} of {len(wanted)} measurements kept; the same command continues.", INTERRUPTED)


def _warn(console: Console, sentence: str) -> None:
    console.print(sentence, style="yellow", markup=False)  # brackets are part of a command to type


def _command_line(choice: Choice, jobs: int) -> str:
    """The command that makes the same tables."""
    words = ["safescreen reproduce all"]
    words += ["--quick"] if choice.quick else []
    words += [f"--seeds {choice.seeds}"] if choice.seeds is not None else []
    return " ".join([*words, f"--gap {choice.gap:g} --time-limit {choice.time_limit:g} --jobs {jobs}"])


def _show(table: Table, folder: Path, console: Console) -> None:
    """One table: as CSV, Markdown and on the screen."""
    from safescreen.reproduction.writing import as_csv, as_markdown, as_rich

    _write(folder / f"{table.name}.csv", as_csv(table))
    _write(folder / f"{table.name}.md", as_markdown(table))
    console.print(as_rich(table))
    for note in table.notes:
        console.print(note, style="dim", markup=False)
    console.print()


def _draw(tables: list[Table], folder: Path, console: Console) -> bool:
    """The pictures; False where matplotlib is missing."""
    from safescreen.reproduction.figures import draw

    try:
        for table in tables:
            draw(table, folder)
    except ImportError as error:
        _warn(console, f"{error}")
        return False
    return True


def _write(path: Path, text: str) -> None:
    with write_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
