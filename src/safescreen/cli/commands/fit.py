"""``safescreen fit``: the best sparse model of a file, with its proof."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import safescreen as ss
from safescreen.cli.failures import finish, is_enough
from safescreen.cli.grouping import expand, only
from safescreen.cli.options import (
    CheckpointOptions,
    DataOptions,
    EstimateOptions,
    OutputOptions,
    SearchOptions,
    TermOptions,
)
from safescreen.cli.output.files import (
    check_files,
    check_outputs,
    keeping_proof_failures,
    print_json,
    problem_opening,
    write_files,
)
from safescreen.cli.output.show import introduce, make_console


@expand
def fit(
    source: DataOptions,
    terms: TermOptions,
    estimation: EstimateOptions,
    search: SearchOptions,
    kept: CheckpointOptions,
    outputs: Annotated[OutputOptions, only("model", "proof", "report", "json", "quiet", "accept_limit")],
) -> None:
    """Find the provably best sparse logistic model of a file.

    Features are chosen, with a proof, at the ridge --gamma; their coefficients are then estimated at --refit-gamma.
    Ctrl-C ends the search and keeps the best model so far. With --checkpoint and --resume the same command goes on from
    where it was, also after it was killed.
    """
    from safescreen.cli.inputs import load, load_test, make_problem, noted
    from safescreen.cli.output.about import about, show_check
    from safescreen.cli.output.results import Result, warn_of_scales
    from safescreen.estimation import estimate

    check_outputs(outputs, source.data, source.test)
    check_files(outputs.files | kept.files, source.data, source.test)
    data = load(source.data, source.reading(), terms.include)
    problem = make_problem(data, terms.asdict(), source.copies)
    held_out = load_test(source.test, data)
    console = make_console(outputs.silent)
    data = noted(data, problem)
    introduce(console, data, problem)
    warnings = make_console(outputs.quiet, stderr=True)
    warn_of_scales(warnings, problem)
    with keeping_proof_failures() as failures:
        solution = ss.solve(problem, **vars(search), **vars(kept), progress=not outputs.quiet, proof=outputs.proof)
    outputs = replace(outputs, proof=None) if failures else outputs
    result = Result(data, solution, estimate(solution, estimation.ridge), held_out)
    result.show(console)
    result.warn(warnings)
    complete = write_files(
        console,
        outputs,
        model=lambda path: result.write_model(path, estimation.ridge, vars(search)),
        report=lambda path: ss.report(
            solution, path, estimate=result.estimate, test=held_out, proof=outputs.proof, **about(source, data, outputs)
        ),
    )
    show_check(console, source, outputs)
    if outputs.json:
        files = {name: getattr(outputs, name) for name in ("model", "proof", "report")}
        opened = problem_opening(source, data, problem, refit_gamma=estimation.ridge)
        print_json({**opened, **result.document(), "files": files, "notes": data.notes})
    finish(proved=is_enough([solution.status], outputs.accept_limit) and complete and not failures)
