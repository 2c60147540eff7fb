"""MOSEK as the baseline's solver, for those who have a licence: the paper's mixed-integer conic model, as stated.

The root relaxation is solved, rounded and screened first; what is left goes to the solver as one model. Options follow
the paper: pseudo-cost branching, best bound first, no presolve, no heuristics.
"""

from __future__ import annotations

import math
from contextlib import suppress
from time import perf_counter
from typing import Any

import numpy as np

import safescreen as ss
from safescreen.reproduction.baseline.conic import BaselineSolution, Pipeline, refit
from safescreen.testing.conic import ConicModel, conic_model, import_cvxpy

_OPTIONS = {
    "MSK_IPAR_MIO_VAR_SELECTION": "MSK_MIO_VAR_SELECTION_PSEUDOCOST",
    "MSK_IPAR_MIO_NODE_SELECTION": "MSK_MIO_NODE_SELECTION_BEST",
    "MSK_IPAR_PRESOLVE_USE": "MSK_PRESOLVE_MODE_OFF",
    "MSK_IPAR_MIO_HEURISTIC_LEVEL": 0,
    "MSK_IPAR_MIO_FEASPUMP_LEVEL": 0,
    "MSK_IPAR_MIO_RINS_MAX_NODES": 0,
    "MSK_IPAR_NUM_THREADS": 1,
}


def check_mosek() -> None:
    """Say in one sentence why MOSEK cannot be used here, if it cannot."""
    import_cvxpy()
    try:
        import mosek
    except ImportError as error:
        raise ImportError("MOSEK is not installed: pip install mosek, and get a licence from mosek.com.") from error
    try:
        with mosek.Env() as environment:
            environment.checkoutlicense(mosek.feature.pton)
    except mosek.Error as error:
        raise ImportError(
            f"MOSEK has no licence here ({error.errno}): put mosek.lic where MOSEK looks for it or set "
            "MOSEKLM_LICENSE_FILE."
        ) from error


def mosek_search(
    problem: ss.Problem,
    screening: bool,
    rel_gap: float = 1e-4,
    time_limit: float = math.inf,
    solver: str = "MOSEK",
) -> BaselineSolution:
    """Solve a problem, without intercept, with a mixed-integer conic solver, after screening at the root if asked.

    ``solver`` is CVXPY's name of one for mixed-integer models with second-order and exponential cones.
    """
    if solver == "MOSEK":
        check_mosek()
    start = perf_counter()
    pipeline = Pipeline(problem)
    relaxed = conic_model(problem, *pipeline.start)
    solve_model(relaxed, solver if solver == "MOSEK" else "CLARABEL", rel_gap, time_limit)
    bound, best, fixed, percent = pipeline.root(relaxed.coefficients, relaxed.choice, screening)
    whole = conic_model(problem, *fixed, integer=True)
    proved, nodes = solve_model(whole, solver, rel_gap, max(time_limit - (perf_counter() - start), 1e-3))
    if whole.z.value is not None:
        found = refit(problem, np.flatnonzero(whole.choice > 0.5))
        best = min(best, found, key=lambda model: model.objective)
    if proved is not None:
        bound = proved
    elif whole.model.status == "optimal":
        bound = best.objective * (1.0 - rel_gap)  # what the status claims
    bound = min(bound, best.objective)
    status = "optimal" if best.objective - bound <= 1.0001 * rel_gap * best.objective else "time_limit"
    return BaselineSolution(best.objective, bound, status, nodes, perf_counter() - start, percent, best.support)


def solve_model(model: ConicModel, solver: str, rel_gap: float, time_limit: float) -> tuple[float | None, int]:
    """Solve a model and read off bound and nodes, which CVXPY itself does not pass on."""
    options: dict[str, Any] = {}
    if solver == "MOSEK":
        limit = {"MSK_DPAR_OPTIMIZER_MAX_TIME": time_limit} if math.isfinite(time_limit) else {}
        options["mosek_params"] = {**_OPTIONS, "MSK_DPAR_MIO_TOL_REL_GAP": rel_gap, **limit}
    elif solver == "ECOS_BB":
        options = {"mi_rel_eps": rel_gap, "mi_max_iters": 100_000}
    data, chain, inverse = model.model.get_problem_data(solver, solver_opts=options)
    answer = chain.solve_via_data(model.model, data, solver_opts=options)
    work = _mosek_work(answer["task"]) if solver == "MOSEK" else (None, 0)
    with suppress(import_cvxpy().SolverError):  # stopped by the time limit without a model: the variables stay empty
        model.model.unpack_results(answer, chain, inverse)
    return work


def _mosek_work(task: Any) -> tuple[float | None, int]:
    """Bound and nodes of a search; a task without integers has neither."""
    import mosek

    if task.getnumintvar() == 0:
        return None, 0
    return float(task.getdouinf(mosek.dinfitem.mio_obj_bound)), int(task.getintinf(mosek.iinfitem.mio_num_branch))
