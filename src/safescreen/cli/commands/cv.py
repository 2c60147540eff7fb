"""``safescreen cv``: budget or price and ridge by cross-validation, the final model with its proof."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from rich.console import Console

import safescreen as ss
from safescreen.cli.failures import finish
from safescreen.cli.grouping import expand, without
from safescreen.cli.options import DataOptions, EstimateOptions, OutputOptions, RangeOptions, SearchOptions
from safescreen.cli.output.files import check_outputs, print_json, write_files, write_plot, write_records
from safescreen.cli.output.show import make_console, make_table, show_modelled, show_notes
from safescreen.cli.ranges import clipped, parse_candidates
from safescreen.status import Status
from safescreen.text import nearest

if TYPE_CHECKING:
    from safescreen.tables import Prepared


@dataclass(frozen=True)
class CandidateOptions(RangeOptions):
    """What to choose from; where nothing is said, what the estimator tries."""

    gamma: Annotated[str | None, typer.Option(help="Ridges of the choice to try, as in 1,10,100.")] = None


@dataclass(frozen=True)
class CandidateEstimateOptions(EstimateOptions):
    """Likewise for the ridge of the estimates."""

    refit_gamma: Annotated[
        str | None,
        typer.Option(metavar="NUMBER|same|cv", help="Ridge of the coefficients of the features chosen."),
    ] = None


@dataclass(frozen=True)
class ValidationOptions:
    """How candidates are compared, under the names that the estimator has for it."""

    panel: ClassVar[str] = SearchOptions.panel

    cv: Annotated[int, typer.Option("--folds", help="Number of folds.")] = 5
    scoring: Annotated[str, typer.Option(help="What to maximise, in scikit-learn's words.")] = "neg_log_loss"
    one_standard_error: Annotated[
        bool,
        typer.Option("--one-standard-error", help="The simplest model within one standard error of the best."),
    ] = False
    n_jobs: Annotated[int, typer.Option("--jobs", help="Folds at the same time.")] = 1

    def __post_init__(self) -> None:
        """Refuse what cross-validation would refuse, before any file is read."""
        from sklearn.metrics import get_scorer_names

        if self.cv < 2:
            raise ValueError(f"--folds is {self.cv}, but must be an integer >= 2.")
        if self.n_jobs == 0:
            raise ValueError("--jobs is 0, but must be a number of processes, or -1 for all processors.")
        if self.scoring not in get_scorer_names():
            suggestion = nearest(self.scoring, get_scorer_names())
            raise ValueError(f"--scoring is {self.scoring!r}, which is unknown: did you mean {suggestion!r}?")

    def asdict(self) -> dict[str, Any]:
        """The same for the estimator, whose own scores are quicker than scikit-learn's."""
        return {**vars(self), "scoring": None if self.scoring == "neg_log_loss" else self.scoring}


@expand
def cv(
    source: Annotated[DataOptions, without("test")],
    terms: Annotated[CandidateOptions, without("include")],
    estimation: CandidateEstimateOptions,
    validation: ValidationOptions,
    search: Annotated[SearchOptions, without("node_limit", "screening")],
    outputs: Annotated[OutputOptions, without("proof")],
) -> None:
    """Choose the budget (or price) and the ridge by cross-validation, and prove the final model.

    The time limit holds for each fit. With --impute, each fold fills gaps from its own training rows.
    """
    from safescreen.cli.inputs import load, make_problem
    from safescreen.cli.output.results import Result

    candidates = parse_candidates(terms)
    check_outputs(outputs, source.data)
    candidates, data = clipped(candidates, load(source.data, source.reading()))
    fixed = {name: values[0] for name, values in candidates.items() if len(values) == 1}
    console = make_console(outputs.silent)
    show_notes(console, data.notes)
    given = {name: value for name, value in terms.asdict().items() if value is not None}
    if estimation.refit_gamma is not None:
        given["refit_gamma"] = estimation.ridge
    chooser = ss.L0LogisticRegressionCV(
        **given | candidates | fixed,
        **validation.asdict(),
        **vars(search),
        positive_class=data.positive,
        copies=source.copies,
        make_parts=None if data.gaps is None else data.gaps.refill,
        refit=False,
    )
    shortfall = _cross_validate(chooser, data, outputs.quiet)
    best = {"k": None, "mu": None, **fixed, **chooser.best_params_}
    problem = make_problem(data, {**terms.asdict(), **best}, source.copies)
    solution = ss.solve(problem, **vars(search), progress=not outputs.quiet)
    chooser.adopt(solution)
    result = Result(data, solution, chooser.estimate_)
    rows = _rows(chooser)
    show_modelled(console, problem)
    _show(console, chooser, validation.scoring)
    result.show(console)
    if shortfall:
        console.print(f"[yellow]{shortfall}[/yellow]")
    write_files(
        console,
        outputs,
        model=lambda path: result.write_model(path, chooser.best_estimator_.refit_gamma, vars(search)),
        output=lambda path: write_records(path, rows),
        plot=lambda path: write_plot(path, ss.CVDisplay.from_estimator, chooser),
        report=lambda path: ss.report(chooser, path, title=data.title),
    )
    if outputs.json:
        print_json({"best": best, "candidates": rows, "model": result.document(), "notes": data.notes})
    finish(proved=not shortfall and solution.status == Status.OPTIMAL)


def _cross_validate(chooser: ss.L0LogisticRegressionCV, data: Prepared, quiet: bool) -> str:
    """Score all candidates; returns what to say about searches that ended early."""
    busy = make_console(quiet, stderr=True).status("cross-validating")  # seen by nobody but a terminal
    with busy, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        chooser.fit(data.X, data.y, sample_weight=data.weights)
    return next((str(one.message) for one in caught if issubclass(one.category, ss.EndedEarlyWarning)), "")


def _rows(chooser: ss.L0LogisticRegressionCV) -> list[dict[str, Any]]:
    """One record per candidate."""
    results = chooser.cv_results_
    names = [*(name for name in results if name.startswith("param_")), "mean_test_score", "std_test_score"]
    names += [name for name in results if name not in (*names, "params")]
    shown = {name: name.removeprefix("param_") for name in names}
    return [{shown[name]: results[name][i].item() for name in names} for i in range(len(results["params"]))]


def _show(console: Console, chooser: ss.L0LogisticRegressionCV, scoring: str) -> None:
    """One line per candidate, the chosen one in bold."""
    results = chooser.cv_results_
    names = list(results["params"][0])
    numbers = dict.fromkeys((*names, scoring, "std. error", "largest gap %", "seconds"), "number")
    table = make_table({**numbers, scoring: "long number"})
    for i, params in enumerate(results["params"]):
        error = results["std_test_score"][i] / chooser.n_splits_**0.5
        row = [f"{params[name]:g}" for name in names]
        row += [f"{results['mean_test_score'][i]:.5f}", f"{error:.5f}"]
        row += [f"{100.0 * results['max_gap'][i]:.3f}", f"{results['mean_fit_time'][i]:.2f}"]
        table.add_row(*row, style="bold green" if i == chooser.best_index_ else None)
    console.print(table)
    best = ", ".join(f"{name} = {value:g}" for name, value in chooser.best_params_.items())
    console.print(f"Chosen by {chooser.n_splits_}-fold cross-validation: [bold green]{best}[/bold green]")
