"""``safescreen fit``: the best sparse model of a file, with its proof."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import safescreen.cli.options as o
from safescreen.status import Status

if TYPE_CHECKING:
    from .inputs import Loaded


def fit(
    data: o.DataFile,
    target: o.Target = None,
    k: o.K = None,
    mu: o.Mu = None,
    gamma: o.Gamma = 1.0,
    no_intercept: o.NoIntercept = False,
    no_standardize: o.NoStandardize = False,
    include: o.Include = None,
    exclude: o.Exclude = None,
    weights: o.Weights = None,
    impute: o.Impute = None,
    one_hot: o.OneHot = False,
    drop_missing: o.DropMissing = False,
    header: o.Header = None,
    test: o.TestFile = None,
    gap: o.Gap = 1e-4,
    time_limit: o.TimeLimit = None,
    node_limit: o.NodeLimit = None,
    threads: o.Threads = 1,
    screening: o.Screening = "nodes",
    model: o.ModelOutput = None,
    proof: Annotated[
        Path | None,
        typer.Option(metavar="NPZ", help="Write the proof.", show_default=False, rich_help_panel="Output"),
    ] = None,
    report: o.Report = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Find the provably best sparse logistic model of a file.

    Ctrl-C ends the search and keeps the best model so far.
    """
    import safescreen as ss

    from ..search import Settings
    from .failures import LIMIT_HIT
    from .inputs import check_parameters, load, load_test, make_problem, reading_from
    from .outputs import check_outputs, print_json
    from .results import Result
    from .show import make_console, plain, question, settings_line, show_files, show_notes

    check_parameters(k, mu, gamma)
    Settings(gap, time_limit, node_limit, screening, threads).checked()
    check_outputs((data, test), model=model, proof=proof, report=report)
    loaded = load(data, reading_from(target, weights, exclude, impute, one_hot, drop_missing, header), include)
    problem = make_problem(
        loaded, k, mu, gamma, include=include, fit_intercept=not no_intercept, standardize=not no_standardize
    )
    held_out = None if test is None else load_test(test, loaded)
    console = make_console(quiet or json)
    show_notes(console, loaded.data.notes)
    console.print(question(loaded, problem))
    console.print(settings_line(problem))
    solution = ss.solve(
        problem,
        rel_gap=gap,
        time_limit=time_limit,
        node_limit=node_limit,
        screening=screening,
        n_threads=threads,
        progress=not quiet,
        proof=proof,
    )
    result = Result(loaded, solution, held_out)
    result.show(console)
    if model is not None:
        result.write_model(model, rel_gap=gap, time_limit=time_limit, n_threads=threads)
    if report is not None:
        ss.report(solution, report, test=held_out, proof=proof, title=f"{loaded.target} in {loaded.table.source}")
    show_files(console, model=model, proof=proof, report=report)
    if proof is not None:
        console.print(
            f"[dim]Check the proof with[/dim] {plain(_check_command(proof, data, loaded, model))}", soft_wrap=True
        )
    if json:
        files = {"model": model, "proof": proof, "report": report}
        print_json({"data": data, **result.document(), "files": files, "notes": loaded.data.notes})
    if solution.status != Status.OPTIMAL:
        raise typer.Exit(LIMIT_HIT)


def _check_command(proof: Path, data: str, loaded: Loaded, model: Path | None) -> str:
    """The command that checks the proof: it has to read the data in the same way."""
    import shlex

    reading = loaded.data.encoding.reading
    words = ["safescreen", "verify", str(proof), data]
    if model is not None:
        return shlex.join([*words, "--model", str(model)])
    words += [] if reading.target is None else ["--target", reading.target]
    words += [] if reading.weights is None else ["--weights", reading.weights]
    words += [word for name in reading.exclude for word in ("--exclude", name)]
    words += [] if reading.impute is None else ["--impute", reading.impute]
    flags = {"--one-hot": reading.one_hot, "--drop-missing": reading.drop_missing}
    flags |= {"--header": reading.header is True, "--no-header": reading.header is False}
    return shlex.join([*words, *(flag for flag, given in flags.items() if given)])
