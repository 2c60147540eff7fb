"""``safescreen cv``: budget or price and ridge by cross-validation, the final model with its proof."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

import safescreen.cli.options as o
from safescreen.status import Status

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..cv import L0LogisticRegressionCV
    from .inputs import Loaded


def cv(
    data: o.DataFile,
    target: o.Target = None,
    k: Annotated[
        str | None,
        typer.Option("--k", "-k", help="Budgets to try: 1:10 or 1,2,5.", show_default=False, rich_help_panel="Problem"),
    ] = None,
    mu: Annotated[
        str | None,
        typer.Option(help="Prices to try, as in 0.1,0.01.", show_default=False, rich_help_panel="Problem"),
    ] = None,
    gamma: Annotated[
        str, typer.Option(help="Ridge parameters to try, as in 1,10,100.", rich_help_panel="Problem")
    ] = "1.0",
    no_intercept: o.NoIntercept = False,
    no_standardize: o.NoStandardize = False,
    exclude: o.Exclude = None,
    weights: o.Weights = None,
    impute: o.Impute = None,
    one_hot: o.OneHot = False,
    drop_missing: o.DropMissing = False,
    header: o.Header = None,
    folds: Annotated[int, typer.Option(help="Number of folds.", rich_help_panel="Search")] = 5,
    scoring: Annotated[
        str, typer.Option(help="What to maximise, in scikit-learn's words.", rich_help_panel="Search")
    ] = "neg_log_loss",
    one_standard_error: Annotated[
        bool,
        typer.Option(
            "--one-standard-error",
            help="The simplest model within one standard error of the best.",
            rich_help_panel="Search",
        ),
    ] = False,
    jobs: Annotated[int, typer.Option(help="Folds at the same time.", rich_help_panel="Search")] = 1,
    gap: o.Gap = 1e-4,
    time_limit: o.TimeLimit = None,
    threads: o.Threads = 1,
    model: o.ModelOutput = None,
    output: o.TableOutput = None,
    plot: o.Plot = None,
    report: o.Report = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Choose the budget (or price) and the ridge by cross-validation, and prove the final model.

    The time limit holds for each fit. With --impute, each fold fills gaps from its own training rows.
    """
    import safescreen as ss

    from ..search import Settings
    from .failures import LIMIT_HIT
    from .inputs import load, make_problem, reading_from
    from .outputs import check_outputs, check_plot, print_json, write_csv, write_plot
    from .ranges import clipped, parse_lists
    from .results import Result
    from .show import make_console, show_files, show_notes

    grid = parse_lists(k, mu, gamma)
    Settings(gap, time_limit, n_threads=threads).checked()
    _check_validation(folds, scoring, jobs, grid)
    check_outputs((data,), model=model, output=output, plot=plot, report=report)
    check_plot(plot)
    loaded = load(data, reading_from(target, weights, exclude, impute, one_hot, drop_missing, header))
    notes = list(loaded.data.notes)
    if grid["k"] is not None:
        grid["k"], clipping = clipped("k", grid["k"], len(loaded.data.encoding.inputs))
        notes += clipping
    console = make_console(quiet or json)
    show_notes(console, notes)
    candidates: dict[str, Any] = {**grid, **_fixed(grid)}
    chooser = ss.L0LogisticRegressionCV(
        **candidates,
        cv=folds,
        scoring=None if scoring == "neg_log_loss" else scoring,
        one_standard_error=one_standard_error,
        refit=False,
        n_jobs=jobs,
        make_parts=None if loaded.data.gaps is None else loaded.data.gaps.refill,
        fit_intercept=not no_intercept,
        standardize=not no_standardize,
        rel_gap=gap,
        time_limit=time_limit,
        n_threads=threads,
    )
    shortfall = _cross_validate(chooser, loaded, quiet)
    best = {"k": None, "mu": None, **_fixed(grid), **chooser.best_params_}
    problem = make_problem(loaded, **best, include=None, fit_intercept=not no_intercept, standardize=not no_standardize)
    solution = ss.solve(problem, rel_gap=gap, time_limit=time_limit, n_threads=threads, progress=not quiet)
    result = Result(loaded, solution)
    rows = _rows(chooser)
    _show(console, chooser, scoring)
    result.show(console)
    if shortfall:
        console.print(f"[yellow]{shortfall}[/yellow]")
    if model is not None:
        result.write_model(model, rel_gap=gap, time_limit=time_limit, n_threads=threads)
    if output is not None:
        write_csv(output, list(rows[0]), [list(row.values()) for row in rows])
    if plot is not None:
        write_plot(plot, lambda: ss.CVDisplay.from_estimator(chooser))
    if report is not None:
        ss.report(chooser.adopt(solution), report, title=f"{loaded.target} in {loaded.table.source}")
    show_files(console, model=model, table=output, picture=plot, report=report)
    if json:
        print_json({"best": best, "candidates": rows, "model": result.document(), "notes": notes})
    if shortfall or solution.status != Status.OPTIMAL:
        raise typer.Exit(LIMIT_HIT)


def _check_validation(folds: int, scoring: str, jobs: int, grid: dict[str, list[Any] | None]) -> None:
    """Refuse what cross-validation would refuse, before any file is read."""
    from sklearn.metrics import get_scorer_names

    from ..tables import nearest

    if folds < 2:
        raise ValueError(f"--folds is {folds}, but must be an integer >= 2.")
    if jobs == 0:
        raise ValueError("--jobs is 0, but must be a number of processes, or -1 for all processors.")
    if scoring not in get_scorer_names():
        suggestion = nearest(scoring, get_scorer_names())
        raise ValueError(f"--scoring is {scoring!r}, which is unknown: did you mean {suggestion!r}?")
    if all(values is not None and len(values) > 1 for values in (grid["k"], grid["mu"])):
        raise ValueError("--k and --mu both have several values, but only one of them may.")


def _fixed(grid: dict[str, list[Any] | None]) -> dict[str, Any]:
    """Parameters with a single value."""
    return {name: values[0] for name, values in grid.items() if values is not None and len(values) == 1}


def _cross_validate(chooser: L0LogisticRegressionCV, loaded: Loaded, quiet: bool) -> str:
    """Score all candidates; returns what to say about searches that ended early."""
    import contextlib
    import warnings

    from ..estimators import EndedEarlyWarning
    from .show import make_console

    data = loaded.data
    errors = make_console(quiet, stderr=True)
    busy = errors.status("cross-validating") if errors.is_terminal and not quiet else contextlib.nullcontext()
    with busy, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        chooser.fit(data.X, data.y, sample_weight=data.weights)
    return next((str(one.message) for one in caught if issubclass(one.category, EndedEarlyWarning)), "")


def _rows(chooser: L0LogisticRegressionCV) -> list[dict[str, Any]]:
    """One record per candidate."""
    results: dict[str, npt.NDArray[Any]] = chooser.cv_results_
    names = [*(name for name in results if name.startswith("param_")), "mean_test_score", "std_test_score"]
    names += [name for name in results if name not in (*names, "params")]
    shown = {name: name.removeprefix("param_") for name in names}
    return [{shown[name]: results[name][i].item() for name in names} for i in range(len(results["params"]))]


def _show(console: Any, chooser: L0LogisticRegressionCV, scoring: str) -> None:
    """One line per candidate, the chosen one in bold."""
    from rich import box
    from rich.table import Table

    results = chooser.cv_results_
    names = list(results["params"][0])
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(scoring, justify="right", overflow="fold")
    table.add_column("std. error", justify="right", no_wrap=True)
    table.add_column("largest gap %", justify="right", no_wrap=True)
    table.add_column("seconds", justify="right", no_wrap=True)
    for i, params in enumerate(results["params"]):
        chosen = i == chooser.best_index_
        error = results["std_test_score"][i] / chooser.n_splits_**0.5
        row = [f"{params[name]:g}" for name in names]
        row += [f"{results['mean_test_score'][i]:.5f}", f"{error:.5f}"]
        row += [f"{100.0 * results['max_gap'][i]:.3f}", f"{results['mean_fit_time'][i]:.2f}"]
        table.add_row(*row, style="bold green" if chosen else None)
    console.print(table)
    best = ", ".join(f"{name} = {value:g}" for name, value in chooser.best_params_.items())
    console.print(f"Chosen by {chooser.n_splits_}-fold cross-validation: [bold green]{best}[/bold green]")
