"""``safescreen demo``: what the library does, on data everybody has."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import safescreen as ss
from safescreen.cli.output.files import check_files
from safescreen.cli.output.show import features_table, grid, result_rows, screening_line
from safescreen.files import write_whole


def demo(
    k: Annotated[int, typer.Option(help="Budget of features.")] = 5,
    gamma: Annotated[float, typer.Option(help="Ridge parameter: small values shrink more.")] = 10.0,
    svg: Annotated[Path | None, typer.Option(help="Save what is shown as a picture, too.")] = None,
) -> None:
    """Screen and solve an embedded real data set, and show what is proved."""
    from safescreen.cli.output.results import chosen_features

    check_files({} if svg is None else {"svg": svg})
    X, y, names = ss.datasets.load_breast_cancer_interactions()
    problem = ss.Problem(X, y, k=k, gamma=gamma, feature_names=names)
    console = Console(record=svg is not None, width=None if svg is None else 80, highlight=False)
    size = f"{problem.n_samples} samples, {problem.n_features} features (30 and their products)"
    console.print(f"[bold]Breast cancer[/bold]: {size}")
    console.print(f"Standardised, with intercept, at most k={problem.k} features, gamma={problem.gamma:g}")
    console.print(f"Modelled: {problem.modelled}")
    console.print(screening_line(ss.screen(problem)))
    solution = ss.solve(problem, rel_gap=1e-4)
    console.print(features_table(chosen_features(solution), solution.intercept))
    console.print(grid({"status": solution.status, **result_rows(solution)}))
    if svg is not None:
        with write_whole(svg) as temporary:
            console.save_svg(str(temporary), title="safescreen demo")
