"""From an instance to its result: the data, and what is measured on them.

A measurement is one instance's relaxations and screening, one of our solves, or one of the baseline's.
"""

from __future__ import annotations

from functools import cache, lru_cache
from statistics import median
from typing import Any

import safescreen as ss
from safescreen.reproduction.baseline.conic import conic_search, rounded_model
from safescreen.reproduction.baseline.mosek import mosek_search
from safescreen.reproduction.experiments import (
    INFORMATIVE,
    MODES,
    REAL_RIDGES,
    SNR,
    STAND_INS,
    SYNTHETIC,
    Instance,
    Task,
)
from safescreen.reproduction.results import OPTIMAL, Result

BIG_M = 1.0
"""The paper does not state its M; from 1 up, the gap hardly depends on it."""

_REPETITIONS, _LONG = 5, 0.5
"""Short solves are repeated (at most so often, at most so many seconds in all) and the median time is kept."""


def make_problem(instance: Instance, genomic: str | None = None) -> ss.Problem:
    """The problem of an instance; real data are standardised, as they must have been in the paper."""
    synthetic = instance.data == SYNTHETIC
    if synthetic:
        X, y = _synthetic(instance.m, instance.n, instance.seed)
    else:
        X, y = _real(instance.data, genomic)
    price, budget, ridge = instance.mu, instance.k, instance.gamma
    return ss.Problem(X, y, mu=price, k=budget, gamma=ridge, standardize=not synthetic, fit_intercept=False)


@lru_cache(maxsize=1)
def _synthetic(m: int, n: int, seed: int) -> tuple[Any, Any]:
    X, y, _ = ss.datasets.make_sparse_logistic(m, n, min(INFORMATIVE, n), SNR, random_state=seed)
    return X, y


@lru_cache(maxsize=1)
def _real(name: str, genomic: str | None) -> tuple[Any, Any]:
    """A real data set, from this computer or its public source."""
    if name not in REAL_RIDGES:
        raise ValueError(f"the data set is {name!r}, but must be one of {', '.join(REAL_RIDGES)}.")
    if name in STAND_INS:
        return ss.datasets.load_local(name)
    if name == "genomic":
        found = ss.datasets.fetch_genomic(genomic)
    else:
        found = ss.datasets.fetch_arcene() if name == "arcene" else ss.datasets.fetch_newsgroups()
    return found.data, found.target


def missing_data(names: set[str], genomic: str | None = None) -> dict[str, str]:
    """The data sets that cannot be had here, each with one sentence that says why."""
    missing = {}
    for name in sorted(names):
        try:
            _real(name, genomic)
        except (FileNotFoundError, ValueError) as error:
            if name == "genomic" and genomic is not None:
                raise  # the user named a file: say what is wrong with it
            missing[name] = str(error)
    _real.cache_clear()
    return missing


def measure(task: Task, genomic: str | None = None) -> Result:
    """Carry out a task; the result holds numbers and strings only."""
    if task.kind == "roots":
        return _roots(make_problem(task.instance, genomic), big_m=task.instance.data == SYNTHETIC)
    if task.kind in MODES:
        return _solve(task, genomic)
    return _solve_baseline(task, make_problem(task.instance, genomic))


@cache
def warm_up() -> None:
    """Have the kernels ready before anything is timed, once per process."""
    X, y, _ = ss.datasets.make_sparse_logistic(40, 20, 3, 1.0, random_state=0)
    for screening in MODES:
        ss.solve(ss.Problem(X, y, k=3, fit_intercept=False, standardize=False), screening=screening)
    ss.relax(ss.Problem(X, y, mu=1e-3, fit_intercept=False, standardize=False), formulation="big-m")


def _roots(problem: ss.Problem, big_m: bool) -> Result:
    """Both relaxations, and what is screened with the paper's upper bound and with the best one found quickly."""
    relaxation = ss.relax(problem)
    upper = rounded_model(problem, relaxation.z).objective
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
    return _solved(problem, solution) | {"seconds": median(seconds), "repetitions": len(seconds)}


def _solve_baseline(task: Task, problem: ss.Problem) -> Result:
    """The paper's pipeline, with or without screening at the root."""
    backend, _, screening = task.kind.partition("+")
    search = mosek_search if backend == "mosek" else conic_search
    solution = search(problem, bool(screening), task.gap, task.time_limit)
    return _solved(problem, solution) | {"seconds": solution.seconds, "screened_percent": solution.screened_percent}


def _solved(problem: ss.Problem, solution: Any) -> Result:
    """What every solver tells."""
    return {
        "status": solution.status,
        "n": problem.n_features,
        "m": problem.n_samples,
        "objective": solution.objective,
        "lower_bound": solution.lower_bound,
        "features": int(solution.support.size),
        "nodes": solution.nodes,
    }
