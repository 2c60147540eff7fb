"""``safescreen demo``: what the library does, on data everybody has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from ..problem import Problem
    from ..solution import Solution


def demo(
    k: Annotated[int, typer.Option(help="Budget of features.")] = 5,
    gamma: Annotated[float, typer.Option(help="Ridge parameter: small values shrink more.")] = 10.0,
    svg: Annotated[Path | None, typer.Option(help="Save what is shown as a picture, too.")] = None,
) -> None:
    """Screen and solve an embedded real data set, and show what is proved."""
    from rich.console import Console

    import safescreen as ss

    from .outputs import check_outputs, write_whole
    from .show import grid, result_rows, screening_line

    check_outputs((), svg=svg)
    X, y, names = ss.datasets.load_breast_cancer_interactions()
    problem = ss.Problem(X, y, k=k, gamma=gamma, feature_names=names)
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
    console.print(screening_line(screening), highlight=False)
    solution = ss.solve(problem, rel_gap=1e-4)
    console.print(_feature_table(problem, solution))
    console.print(grid(result_rows(solution)))
    if svg is not None:
        write_whole(svg, lambda temporary: console.save_svg(str(temporary), title="safescreen demo"))


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
