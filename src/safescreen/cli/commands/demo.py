"""``safescreen demo``: what the library does, on data everybody has."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import safescreen as ss
from safescreen.cli.grouping import expand
from safescreen.cli.options import EstimateOptions
from safescreen.cli.output.files import check_files
from safescreen.cli.output.show import grid, result_rows, screening_line, show_features
from safescreen.defaults import BUDGET, GAMMA
from safescreen.files import write_whole

_HELD_OUT = 4
"""Every so many rows one is kept aside, to see how the model predicts."""


@expand
def demo(
    *,
    k: Annotated[int, typer.Option(help="Budget of features.")] = BUDGET,
    gamma: Annotated[float, typer.Option(help="Ridge of the choice: small values shrink more.")] = GAMMA,
    estimation: EstimateOptions,
    svg: Annotated[Path | None, typer.Option(help="Save what is shown as a picture, too.")] = None,
) -> None:
    """Screen and solve an embedded real data set, and show what is proved and how well it predicts."""
    from safescreen.cli.output.results import score
    from safescreen.estimation import estimate
    from safescreen.estimation.telling import which_is_which
    from safescreen.summary import table_of

    check_files({} if svg is None else {"svg": svg})
    X, y, names = ss.datasets.load_breast_cancer_interactions()
    seen = [i % _HELD_OUT > 0 for i in range(len(y))]
    problem = ss.Problem(X[seen], y[seen], k=k, gamma=gamma, feature_names=names)
    console = Console(record=svg is not None, width=None if svg is None else 80, highlight=False)
    console.print(
        f"[bold]Breast cancer[/bold]: {problem.n_features:,} features (30 and their products), {problem.n_samples} "
        f"rows, {len(y) - problem.n_samples} held out"
    )
    console.print(f"Standardised, with intercept, at most k={problem.k} features, gamma={problem.gamma:g}")
    console.print(f"Modelled: {problem.modelled}")
    console.print(screening_line(ss.screen(problem)))
    solution = ss.solve(problem, rel_gap=1e-4)
    estimated = estimate(solution, estimation.ridge)
    show_features(console, table_of(solution, estimated))
    held_out = score(solution, estimated, X[::_HELD_OUT], y[::_HELD_OUT])
    rows = {"status": solution.status, **result_rows(solution), "held out": str(held_out)}
    console.print(grid(rows, align="left"))
    console.print(which_is_which(solution, estimated.gamma))
    if svg is not None:
        with write_whole(svg) as temporary:
            console.save_svg(str(temporary), title="safescreen demo")
