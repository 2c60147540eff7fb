"""What is measured on one instance: its relaxations and screening, one of our solves, or one of the yardstick's."""

from __future__ import annotations

from statistics import median

import numpy as np
import numpy.typing as npt

import safescreen as ss
from safescreen.problem import Problem
from safescreen.reproduction.conic_search import conic_search, nearest_choice
from safescreen.reproduction.data import make_problem
from safescreen.reproduction.experiments import MODES, SYNTHETIC, Task
from safescreen.reproduction.mixed_integer import mixed_integer_search
from safescreen.reproduction.results import OPTIMAL, Result

BIG_M = 1.0
"""The paper does not state its M; from 1 up, the gap hardly depends on it."""

_REPETITIONS, _LONG = 5, 0.5
"""Short solves are repeated (at most so often, at most so many seconds in all) and the median time is kept."""


def measure(task: Task, genomic: str | None = None) -> Result:
    """Carry out a task; the result holds numbers and strings only."""
    if task.kind == "roots":
        return _roots(make_problem(task.instance, genomic), big_m=task.instance.data == SYNTHETIC)
    if task.kind in MODES:
        return _solve(task, genomic)
    return _yardstick(task, make_problem(task.instance, genomic))


def warm_up() -> None:
    """Have the kernels ready before anything is timed."""
    X, y, _ = ss.datasets.make_sparse_logistic(40, 20, 3, 1.0, random_state=0)
    for screening in MODES:
        ss.solve(ss.Problem(X, y, k=3, fit_intercept=False, standardize=False), screening=screening)
    ss.relax(ss.Problem(X, y, mu=1e-3, fit_intercept=False, standardize=False), formulation="big-m")


def rounded_upper_bound(problem: Problem, z: npt.NDArray[np.float64]) -> float:
    """The paper's upper bound: the relaxation's choice rounded to the nearest feasible one and refitted."""
    support = nearest_choice(z, problem.k)
    x = np.zeros(problem.n_features)
    if support.size:
        columns = problem.design.columns(support)
        chosen = Problem(
            columns,
            problem.y,
            mu=problem.mu,
            gamma=problem.gamma,
            include=range(support.size),
            fit_intercept=False,
            standardize=False,
        )
        x[support] = ss.relax(chosen).coef
    return problem.objective(*problem.to_data_units(x))


def _roots(problem: Problem, big_m: bool) -> Result:
    """Both relaxations, and what is screened with the paper's upper bound and with the best one found quickly."""
    relaxation = ss.relax(problem)
    upper = rounded_upper_bound(problem, relaxation.z)
    theirs, ours = ss.screen(problem, upper_bound=max(upper, relaxation.lower_bound)), ss.screen(problem)
    result = {
        "status": OPTIMAL,
        "n": problem.n_features,
        "m": problem.n_samples,
        "conic_bound": relaxation.lower_bound,
        "rounded_objective": upper,
        "screened_percent": theirs.percent,
        "screened_percent_best": ours.percent,
        "screening_seconds": ours.seconds,
    }
    if big_m:
        result["big_m_bound"] = ss.relax(problem, formulation="big-m", M=BIG_M).lower_bound
    return result


def _solve(task: Task, genomic: str | None) -> Result:
    """One of our solves; the problem is made afresh for every repetition, so that none profits from the last."""
    seconds: list[float] = []
    while True:
        problem = make_problem(task.instance, genomic)
        solution = ss.solve(problem, rel_gap=task.gap, time_limit=task.time_limit, screening=task.kind)
        seconds.append(solution.seconds)
        if len(seconds) == _REPETITIONS or sum(seconds) >= _LONG or solution.status != OPTIMAL:
            break
    return {
        "status": solution.status,
        "n": problem.n_features,
        "m": problem.n_samples,
        "objective": solution.objective,
        "lower_bound": solution.lower_bound,
        "features": int(solution.support.size),
        "nodes": solution.nodes,
        "seconds": median(seconds),
        "repetitions": len(seconds),
    }


def _yardstick(task: Task, problem: Problem) -> Result:
    """The paper's pipeline, with or without screening at the root."""
    backend, _, screening = task.kind.partition("+")
    search = mixed_integer_search if backend == "mosek" else conic_search
    solution = search(problem, bool(screening), task.gap, task.time_limit)
    return {
        "status": solution.status,
        "n": problem.n_features,
        "m": problem.n_samples,
        "objective": solution.objective,
        "lower_bound": solution.lower_bound,
        "features": int(solution.support.size),
        "nodes": solution.nodes,
        "seconds": solution.seconds,
        "screened_percent": solution.screened_percent,
    }
