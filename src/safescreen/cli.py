"""The command line: ``safescreen demo`` and what follows.

Heavy imports happen inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import __version__
from .reproduction.command import reproduce

if TYPE_CHECKING:
    from rich.table import Table

    from .problem import Problem
    from .screening import Screening
    from .solution import Solution

BAD_INPUT = 2
"""Exit status for input that cannot be used."""

app = typer.Typer(
    help="Provably optimal sparse logistic regression.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


app.command()(reproduce)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"safescreen {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Provably optimal sparse logistic regression."""


@app.command()
def demo(
    k: Annotated[int, typer.Option(help="Budget of features.")] = 5,
    gamma: Annotated[float, typer.Option(help="Ridge parameter: small values shrink more.")] = 10.0,
    svg: Annotated[Path | None, typer.Option(help="Save what is shown as a picture, too.")] = None,
) -> None:
    """Screen and solve an embedded real data set, and show what is proved."""
    from rich.console import Console

    import safescreen as ss

    X, y, names = ss.datasets.load_breast_cancer_interactions()
    problem = _named_problem(X, y, names, k, gamma)
    console = Console(record=svg is not None, width=None if svg is None else 80)
    console.print(
        f"[bold]Breast cancer[/bold]: {problem.n_samples} samples, {problem.n_features} features "
        "(30 and their products)",
        highlight=False,
    )
    console.print(
        f"Standardised, with intercept, at most k={problem.k} features, gamma={problem.gamma:g}",
        highlight=False,
    )
    screening = ss.screen(problem)
    console.print(_screening_line(screening), highlight=False)
    solution = ss.solve(problem, rel_gap=1e-4)
    console.print(_feature_table(problem, solution))
    console.print(_result_table(solution))
    if svg is not None:
        temporary = svg.with_name(svg.name + ".part")
        console.save_svg(str(temporary), title="safescreen demo")
        temporary.replace(svg)


def _named_problem(X: object, y: object, names: list[str], k: int, gamma: float) -> Problem:
    """The demo's problem; names travel with the data as they would in a frame."""
    import safescreen as ss

    return ss.Problem(X, y, k=k, gamma=gamma, fit_intercept=True, standardize=True, feature_names=names)


def _screening_line(screening: Screening) -> str:
    """What screening proves before any search."""
    return (
        f"Screened in {screening.seconds:.2f} s: [green]{len(screening.excluded)} out[/green], "
        f"[cyan]{len(screening.included)} in[/cyan], {len(screening.undecided)} undecided "
        f"({screening.percent:.1f} % decided)"
    )


def _feature_table(problem: Problem, solution: Solution) -> Table:
    """The chosen features, in the data's units and per standard deviation."""
    from rich.table import Table

    table = Table(title="Chosen features", title_justify="left")
    table.add_column("feature", overflow="fold")
    table.add_column("coefficient", justify="right", no_wrap=True)
    table.add_column("per std. dev.", justify="right", no_wrap=True)
    for j, name in zip(solution.support, problem.names(solution.support), strict=True):
        coefficient = solution.coef[j]
        table.add_row(name, f"{coefficient:.4g}", f"{coefficient * problem.design.scales[j]:+.4f}")
    table.add_row("intercept", f"{solution.intercept:.4g}", "")
    return table


def _result_table(solution: Solution) -> Table:
    """How good the model is, and how far that is proved."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column(justify="right")
    rows = {
        "status": solution.status,
        "objective": f"{solution.objective:.10f}",
        "safe lower bound": f"{solution.lower_bound:.10f}",
        "gap": f"{100.0 * solution.gap:.4f} %",
        "nodes": f"{solution.nodes:,}",
        "seconds": f"{solution.seconds:.2f}",
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def main() -> None:
    """Run the command line; bad input ends in one sentence on stderr, without a traceback."""
    try:
        app()
    except (ValueError, TypeError, FileNotFoundError) as error:
        typer.echo(f"safescreen: {error}", err=True)
        raise SystemExit(BAD_INPUT) from None


if __name__ == "__main__":
    main()
