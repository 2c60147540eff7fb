"""`screen`: what is proved before any search."""

from __future__ import annotations

import math
from time import perf_counter

from safescreen import kernels
from safescreen.incumbents import Incumbent, first_incumbent, improve, with_users_features
from safescreen.problem import Problem, check_problem
from safescreen.problem.validation import check_memory_limit
from safescreen.relaxation import Root, solve_root, trivial_bound
from safescreen.screening import Screening, record_of
from safescreen.text import brief
from safescreen.working_memory import within


def screen(problem: Problem, *, upper_bound: float | None = None, memory_limit: float | None = None) -> Screening:
    """Prove which features are in no, and which in every optimal model.

    Parameters
    ----------
    problem : Problem
        The problem.
    upper_bound : float, optional
        The objective of a model you have, or any other proved upper bound on the optimum. By default the relaxation
        is rounded, refitted and improved by local search.
    memory_limit : float, optional
        Gigabytes of memory to work with beside the data; by default one, and a quarter of the size of the data. With
        less, fewer columns are held at a time: it takes longer, and what is proved is as safe.

    Returns
    -------
    Screening
        The decisions, the bounds behind them and the margin of each proof.

    Examples
    --------
    >>> import safescreen as ss
    >>> X, y, _ = ss.datasets.make_sparse_logistic(200, 100, 5, 1.0, random_state=0)
    >>> ss.screen(ss.Problem(X, y, mu=1e-2, gamma=1.0)).percent > 50
    True
    """
    check_problem(problem)
    limit = check_memory_limit(memory_limit)
    kernels.warm_up()
    start = perf_counter()
    with within(limit):
        root = solve_root(problem)
        lowest = max(trivial_bound(problem), root.bound.value)
        upper = (
            checked_upper_bound(upper_bound, lowest)
            if upper_bound is not None
            else model_before_search(problem, root).objective
        )
    return record_of(problem, root.bound, upper, perf_counter() - start)


def model_before_search(problem: Problem, root: Root) -> Incumbent:
    """The best model found without a search: here every bit of it decides features."""
    return with_users_features(problem, improve(problem, first_incumbent(problem, root), root, lambda: False))


def checked_upper_bound(upper_bound: float, lowest: float) -> float:
    """An upper bound that users give, if it is possible at all."""
    try:
        upper = float(upper_bound)
    except OverflowError:
        upper = math.inf
    if math.isnan(upper) or upper < lowest:
        raise ValueError(
            f"upper_bound is {brief(upper_bound)}, but every model has an objective of at least {lowest:.9g}: "
            "give the objective of a model that exists."
        )
    return upper
