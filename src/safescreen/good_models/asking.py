"""`alternatives`: the best model, a threshold, and the list of all models below it."""

from __future__ import annotations

import math
from numbers import Integral, Real
from os import PathLike
from typing import Any

from safescreen.good_models.showing import Alternatives
from safescreen.problem import Problem
from safescreen.problem.validation import about
from safescreen.search import BEST_GAP, Callback, Settings, Wish, list_models

WITHIN = 0.01
"""How much worse than the best a model may be, where nothing is said."""


def alternatives(
    problem: Problem,
    *,
    within: float | None = None,
    n_best: int | None = None,
    max_models: int = 10_000,
    time_limit: float | None = None,
    n_threads: int = 1,
    memory_limit: float | None = None,
    proof: str | PathLike[str] | None = None,
    progress: bool = False,
    callback: Callback | None = None,
) -> Alternatives:
    """List every model that is as good as the best one, up to a tolerance, and prove that none is missing.

    With a price these are all supports whose objective is at most ``(1 + within)`` times the best. With a budget alone
    more features never hurt, so that every good model has countless useless supersets; then the *minimal* models are
    listed: those none of whose features can be left out without leaving the set. Every model of the set contains one of
    them.

    Parameters
    ----------
    problem : Problem
        The problem.
    within : float, default 0.01
        How much worse than the best a model may be, relative to the best objective: 0.01 is one per cent.
    n_best : int, optional
        List so many models, the best ones, supersets included; instead of ``within``, or at most so many within it.
    max_models : int, default 10,000
        Stop once there are more models than that. What is listed then are the best of those found.
    time_limit : float, optional
        Seconds for the list, compilation excluded, and once more for prices and for exchanges when they are asked for.
    n_threads : int, default 1
        Threads that explore the tree.
    memory_limit : float, optional
        Gigabytes of working memory, as for :func:`solve`.
    proof : str or path-like, optional
        Write a proof to this file, for :func:`safescreen.verify`: that nothing is missing, and every objective is true.
    progress : bool, default False
        Show on standard error where the search stands, also that for prices when they are asked for.
    callback : callable, optional
        Called with a :class:`Moment` a few dozen times a second; returning True ends the search.

    Returns
    -------
    Alternatives
        The models, best first, and what they say about each feature. ``complete`` is true only if it is proved that
        nothing is missing. A limit, or Ctrl-C, returns what was found with what is proved by then.

    Examples
    --------
    >>> import safescreen as ss
    >>> X, y, _ = ss.datasets.make_sparse_logistic(100, 20, 3, 1.0, random_state=0)
    >>> others = ss.alternatives(ss.Problem(X, y, k=3), within=0.05)
    >>> others.complete
    True
    """
    wish = checked_wish(within, n_best, max_models)
    settings = Settings(
        rel_gap=BEST_GAP, time_limit=time_limit, n_threads=n_threads, memory_limit=memory_limit
    ).checked()
    listed = list_models(problem, wish, settings, proof, progress, callback)
    return Alternatives(problem, wish, settings, listed, progress)


def checked_wish(within: Any = None, n_best: Any = None, max_models: Any = 10_000) -> Wish:
    """How good, how many, and how many are too many; within one per cent if nothing is said."""
    most = _checked_count("max_models", max_models)
    if n_best is not None:
        n_best = _checked_count("n_best", n_best)
    elif within is None:
        within = WITHIN
    if within is None:
        return Wish(None, n_best, most)
    sensible = not isinstance(within, bool) and isinstance(within, Real) and 0.0 <= float(within) < math.inf
    if not sensible:
        raise about(
            "within",
            ValueError(f"within is {within!r}, but must be a number >= 0, such as 0.01 for one per cent."),
        )
    return Wish(float(within), n_best, most)


def _checked_count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise about(name, ValueError(f"{name} is {value!r}, but must be an integer >= 1."))
    return min(int(value), 2**62)
