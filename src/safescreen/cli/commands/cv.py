"""``safescreen cv``: size and ridges by cross-validation or a criterion, the final model with its proof."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from rich.console import Console

import safescreen as ss
from safescreen.cli.failures import finish, is_enough
from safescreen.cli.grouping import expand
from safescreen.cli.options import CandidateOptions, DataOptions, OutputOptions, SearchOptions
from safescreen.cli.output.files import (
    check_outputs,
    keeping_proof_failures,
    print_json,
    problem_opening,
    write_files,
    write_plot,
    write_records,
)
from safescreen.cli.output.show import make_console, make_table, plain, show_modelled, show_notes, warn
from safescreen.cli.ranges import clipped, parse_candidates
from safescreen.defaults import TOTAL_TIME
from safescreen.text import suggestion

if TYPE_CHECKING:
    from safescreen.cli.ranges import Lists
    from safescreen.tables import Prepared


@dataclass(frozen=True)
class ValidationOptions:
    """How candidates are compared and how far that goes, under the names that the estimator has for it."""

    panel: ClassVar[str] = SearchOptions.panel

    cv: Annotated[int | None, typer.Option("--folds", help="Folds; by default 5, drawn anew where rows are few.")] = (
        None
    )
    repeats: Annotated[int | None, typer.Option(help="Draw the --folds so many times.")] = None
    scoring: Annotated[
        str | None, typer.Option(help="What to maximise, in scikit-learn's words; by default neg_log_loss.")
    ] = None
    criterion: Annotated[
        str | None,
        typer.Option(
            metavar="bic|ebic|gic",
            help="Choose by an information criterion instead of folds: much quicker.",
            autocompletion=lambda: ["bic", "ebic", "gic"],
        ),
    ] = None
    one_standard_error: Annotated[
        bool,
        typer.Option("--one-se", help="The simplest model within one standard error of the best."),
    ] = False
    time_limit: Annotated[
        str, typer.Option(metavar="SECONDS|none", help="For everything, the final model included.")
    ] = f"{TOTAL_TIME:g}"
    fold_gap: Annotated[float, typer.Option(help="Stop searches in folds at this relative gap.")] = 1e-2
    rel_gap: Annotated[float, typer.Option("--gap", help="Stop that of the final model at this one.")] = 1e-4
    n_jobs: Annotated[int | None, typer.Option("--jobs", help="Folds at the same time; -1 for all processors.")] = None
    n_threads: Annotated[int, typer.Option("--threads", help="Threads of each search.")] = 1
    memory_limit: Annotated[
        float | None,
        typer.Option(
            metavar="GB", help="Memory of each search; by default 1 and a quarter of the data.", show_default=False
        ),
    ] = None

    def __post_init__(self) -> None:
        """Refuse what cross-validation would refuse, before any file is read."""
        from safescreen.search import Settings

        Settings(self.rel_gap, self.seconds, n_threads=self.n_threads, memory_limit=self.memory_limit).checked()
        if not 0.0 <= self.fold_gap < 1.0:
            raise ValueError(f"--fold-gap is {self.fold_gap!r}, but must be a number >= 0 and < 1.")
        if self.cv is not None and self.cv < 2:
            raise ValueError(f"--folds is {self.cv}, but must be an integer >= 2.")
        if self.repeats is not None and (self.repeats < 1 or self.cv is None):
            raise ValueError(f"--repeats is {self.repeats}, but must be an integer >= 1, with --folds beside it.")
        if self.n_jobs == 0:
            raise ValueError("--jobs is 0, but must be a number of processes, or -1 for all processors.")
        self._check_scoring()

    def _check_scoring(self) -> None:
        if self.scoring is None:
            return
        from sklearn.metrics import get_scorer_names

        if self.scoring not in get_scorer_names():
            hint = suggestion(self.scoring, get_scorer_names())
            raise ValueError(f"--scoring is {self.scoring!r}, which is unknown: {hint}")

    @property
    def seconds(self) -> float | None:
        """The time for everything, None for no limit."""
        try:
            return None if self.time_limit.lower() == "none" else float(self.time_limit)
        except ValueError:
            raise ValueError(
                f"--time-limit is {self.time_limit!r}, but must be a number of seconds >= 0, or none."
            ) from None

    def asdict(self) -> dict[str, Any]:
        """The same for the estimator."""
        options = {**vars(self), "time_limit": self.seconds}
        if options.pop("repeats") is not None:
            from sklearn.model_selection import RepeatedStratifiedKFold

            options["cv"] = RepeatedStratifiedKFold(n_splits=self.cv, n_repeats=self.repeats, random_state=0)
        return options


@expand
def cv(
    source: DataOptions,
    terms: CandidateOptions,
    validation: ValidationOptions,
    outputs: OutputOptions,
) -> None:
    """Find a good small model: size and ridges by cross-validation, the final choice proved.

    What is not said is as for L0LogisticRegressionCV in Python. With --impute, each fold fills gaps from its own
    training rows. Ctrl-C keeps what is finished.
    """
    from safescreen.cli.inputs import load, load_test, noted
    from safescreen.cli.output.about import about, show_check
    from safescreen.cli.output.results import Result, warn_of_scales

    candidates = parse_candidates(terms)
    check_outputs(outputs, source.data, source.test)
    candidates, data = clipped(candidates, load(source.data, source.reading(), terms.include))
    held_out = load_test(source.test, data)
    console, aside = make_console(outputs.silent), make_console(outputs.quiet, stderr=True)
    show_notes(console, data.notes)
    chooser = _chooser(source, terms, validation, candidates, data).set_params(
        proof=outputs.proof, verbose=int(not outputs.quiet)
    )
    with keeping_proof_failures() as failures:
        finished, undone = _fit(chooser, data)
    outputs = replace(outputs, proof=None) if failures else outputs
    model = chooser.best_estimator_
    solution = model.solution_
    assert solution is not None
    known, data = data.notes, noted(data, solution.problem)
    show_notes(console, data.notes[len(known) :])
    result = Result(data, solution, model.estimate_, held_out)
    rows = _rows(chooser)
    show_modelled(console, solution.problem)
    _show(console, chooser)
    result.show(console)
    for line in undone:
        warn(aside, line)
    warn_of_scales(aside, solution.problem)
    result.warn(aside)
    search = {name: getattr(model, name) for name in ("rel_gap", "time_limit", "n_threads", "memory_limit")}
    complete = write_files(
        console,
        outputs,
        model=lambda path: result.write_model(path, model.refit_gamma, search),
        output=lambda path: write_records(path, rows),
        plot=lambda path: write_plot(path, ss.CVDisplay.from_estimator, chooser),
        report=lambda path: ss.report(
            chooser, path, test=held_out, proof=outputs.proof, **about(source, data, outputs)
        ),
    )
    show_check(console, source, outputs)
    if outputs.json:
        found = problem_opening(source, data, solution.problem, **_tried(rows))
        found["best"] = {name: getattr(model, name) for name in ("k", "mu", "gamma", "refit_gamma")}
        found |= {"edges": chooser.edges_, "undone": undone, "candidates": rows, "model": result.document()}
        print_json({**found, "notes": data.notes})
    enough = is_enough([solution.status], outputs.accept_limit)
    finish(proved=finished and enough and complete and not failures)


def _chooser(
    source: DataOptions, terms: CandidateOptions, validation: ValidationOptions, candidates: Lists, data: Prepared
) -> ss.L0LogisticRegressionCV:
    """The estimator, which is told only what the user says."""
    from safescreen.cli.inputs import features

    tried: dict[str, Any] = {name: values if len(values) > 1 else values[0] for name, values in candidates.items()}
    return ss.L0LogisticRegressionCV(
        **tried,
        **validation.asdict(),
        fit_intercept=terms.fit_intercept,
        standardize=terms.standardize,
        include=features(data, terms.include or ()),
        positive_class=data.positive,
        copies=source.copies,
        make_parts=None if data.gaps is None else data.gaps.refill,
    )


def _fit(chooser: ss.L0LogisticRegressionCV, data: Prepared) -> tuple[bool, list[str]]:
    """Choose and prove; returns whether nobody pressed Ctrl-C, and what is left undone."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            chooser.fit(data.frame(), data.y, sample_weight=data.weights)
            finished = True
        except KeyboardInterrupt:
            if not hasattr(chooser, "best_estimator_"):
                raise
            finished = False
    for one in caught:
        if issubclass(one.category, ss.ProofNotWrittenWarning):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    early = [_in_options(str(one.message)) for one in caught if issubclass(one.category, ss.EndedEarlyWarning)]
    return finished, list(dict.fromkeys(early)) if finished else [chooser.undone_]


def _in_options(sentence: str) -> str:
    """A sentence of the library in the words of the command line."""
    return sentence.replace("(time_limit)", "(--time-limit)").replace("rel_gap=", "--gap ")


def _rows(chooser: ss.L0LogisticRegressionCV) -> list[dict[str, Any]]:
    """One record per candidate."""
    results = chooser.cv_results_
    names = [*(name for name in results if name.startswith("param_")), "mean_test_score", "std_test_score"]
    names += [name for name in results if name not in (*names, "params")]
    columns = {name.removeprefix("param_"): results[name].tolist() for name in names}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _tried(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """The values that were compared, by name."""
    names = [name for name in ("k", "mu", "gamma", "refit_gamma") if name in rows[0]]
    return {name: list(dict.fromkeys(row[name] for row in rows)) for name in names}


def _show(console: Console, chooser: ss.L0LogisticRegressionCV) -> None:
    """One line per size, each with the ridges that suit it best; then the choice."""
    from safescreen.estimators.choosing import account, leaders, shown_score, told

    results, best = chooser.cv_results_, chooser.best_index_
    size = next(iter(chooser.best_params_))
    name, sign = shown_score(chooser)
    sized = [] if size == "k" else ["features"]
    erring = [] if chooser.criterion else ["std. error"]
    heads = dict.fromkeys((size, "gamma", "refit_gamma", *sized), "number")
    table = make_table({**heads, name: "long number", **dict.fromkeys((*erring, "largest gap"), "number"), "": "word"})
    for i in leaders(results, (size,), best):
        row = [told(value) for value in results["params"][i].values()]
        row += [f"{results['mean_n_features'][i]:.3g}" for _ in sized] + [f"{sign * results['mean_test_score'][i]:.4f}"]
        row += [f"{results['std_test_score'][i] / chooser.n_splits_**0.5:.4f}" for _ in erring]
        row += [f"{100.0 * results['max_gap'][i]:.2f} %", "chosen" if i == best else ""]
        table.add_row(*row, style="bold green" if i == best else None)
    console.print(table)
    console.print(plain(account(chooser)))
    for sentence in chooser.edges_:
        console.print(f"[yellow]At the edge of the grid:[/yellow] {plain(sentence)}.")
