"""`core`: a good model, a threshold, and features that every model below it uses."""

from __future__ import annotations

from numbers import Real
from os import PathLike
from time import perf_counter
from typing import Any

import numpy as np

from safescreen.cores.question import Known, check_count, check_within
from safescreen.cores.result import Core
from safescreen.incumbents import Incumbent, restart_and_improve
from safescreen.problem import Problem, check_problem
from safescreen.problem.validation import about, check_memory_limit
from safescreen.relaxation import Root, solve_root, trivial_bound
from safescreen.screening import CoreFinder, importance
from safescreen.search import (
    ProvedCore,
    Solution,
    checked_upper_bound,
    compile_now,
    model_before_search,
    open_proof,
)
from safescreen.working_memory import within as working_within

RESTARTS = 12
"""Local searches from a part of the best model so far, each with one from elsewhere: a better model, a smaller core."""

CLOSE = 1e-3
"""Relative distance to the bound of the relaxation at which a better model is not worth the time."""


def core(
    problem: Problem,
    *,
    within: float = 0.05,
    at_least: int = 1,
    upper_bound: float | Solution | None = None,
    memory_limit: float | None = None,
    proof: str | PathLike[str] | None = None,
) -> Core:
    """Find features of which *every* model within a tolerance of the best uses at least one (or two, ...).

    Where screening cannot decide single features, because many stand for one another, it still proves something about
    groups of them. One dual point is the proof, there is no search. That does not mean that any one of the features is
    in a good model: only that no good model does without all of them.

    Parameters
    ----------
    problem : Problem
        The problem.
    within : float, default 0.05
        How much worse than the best a model may be, relative to the best objective: 0.05 is five per cent.
    at_least : int, default 1
        How many of the features every such model uses.
    upper_bound : float or Solution, optional
        A solution, the objective of a model you have, or any other proved upper bound on the optimum. By default a
        local search looks for a good model. The better it is, the fewer features there are.
    memory_limit : float, optional
        Gigabytes of memory to work with beside the data; by default one, and a quarter of the size of the data.
    proof : str or path-like, optional
        Write a proof to this file, for :func:`safescreen.verify`. It needs a model, so that `upper_bound` must not be
        a number then.

    Returns
    -------
    Core
        The features, the most important first. None of them can be left out by the means of the proof, but another list
        may be shorter.

    Raises
    ------
    ValueError
        If there is no such list, or none that can be proved: say, because the model without any feature is within the
        tolerance.

    Examples
    --------
    >>> import safescreen as ss
    >>> X, y, _ = ss.datasets.make_sparse_logistic(100, 20, 3, 1.0, random_state=0)
    >>> ss.core(ss.Problem(X, y, k=3, gamma=10.0), within=0.02).sentence
    'Every model within 2 % of the best uses at least one of ...'
    """
    check_problem(problem)
    share, count = check_within(within), _check_at_least(problem, at_least)
    limit = check_memory_limit(memory_limit)
    if proof is not None and isinstance(upper_bound, Real):
        raise ValueError("upper_bound is a number, but a proof needs a model: give a Solution, or nothing.")
    compile_now()
    start = perf_counter()
    with working_within(limit), open_proof(proof, problem) as writer:
        root = solve_root(problem)
        known = _known(problem, root, upper_bound)
        result = CoreFinder(problem, root, count - 1).find(known.cutoff(share))
        if result is None:
            raise about("within", ValueError(_impossible(known, share, count)))
        features, gains = importance(problem, *result)
        seconds = perf_counter() - start
        found = Core(features, gains, share, count, known, result[1], seconds)
        if writer is not None and known.model is not None:
            proved = ProvedCore(known.model, known.objective, found.features, count, share, found.bound)
            writer.finish_core(proved)
    return found


def _check_at_least(problem: Problem, at_least: Any) -> int:
    count = check_count(at_least)
    places = min(problem.k, int(np.count_nonzero(~problem.excluded))) - problem.include.size
    if count > places:
        raise about(
            "at_least",
            ValueError(
                f"at_least is {count:,}, but a model has room for {places:,} features beside those included: "
                "no model uses more."
            ),
        )
    return count


def _known(problem: Problem, root: Root, upper_bound: float | Solution | None) -> Known:
    """The upper bound that everything is measured against, and the model behind it."""
    if upper_bound is None:
        model = _good_model(problem, root)
        return Known(problem, root, model.objective, model)
    lowest = max(trivial_bound(problem), root.bound.value)
    if not isinstance(upper_bound, Solution):
        return Known(problem, root, checked_upper_bound(upper_bound, lowest), None)
    used = np.union1d(np.flatnonzero(upper_bound.coef), problem.include)
    if upper_bound.coef.size != problem.n_features or used.size > problem.k or problem.excluded[used].any():
        raise ValueError("upper_bound is a solution of another problem: it has features that this one does not allow.")
    return Known(problem, root, problem.objective(upper_bound.coef, upper_bound.intercept), upper_bound)


def _good_model(problem: Problem, root: Root) -> Incumbent:
    """The best model found by local searches; the same ones every time."""
    model = model_before_search(problem, root)
    return restart_and_improve(problem, model, root, RESTARTS, CLOSE, np.random.default_rng(0))


def _impossible(known: Known, within: float, at_least: int) -> str:
    """Why there is no core."""
    said = f"within is {within:g}, but "
    features = "any feature" if at_least == 1 else f"{at_least:,} features"
    beside = " beside those included" if known.problem.include.size else ""
    if at_least == 1:
        return (
            f"{said}a model without {features}{beside} is as good as that, up to rounding: no list of features is "
            f"needed by all. The best objective known is {known.objective:.6g}; give a smaller tolerance."
        )
    return (
        f"{said}it cannot be proved that models with fewer than {features}{beside} are worse than that: give a smaller "
        "tolerance, or a smaller at_least."
    )
