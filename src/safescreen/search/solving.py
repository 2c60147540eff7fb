"""`solve`: root, first model, search, proof."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from typing import Any

import numpy as np

from safescreen import kernels
from safescreen.arrays import FloatArray
from safescreen.expiry import ExpiredError, expiring, grace
from safescreen.files import write_whole
from safescreen.incumbents import Incumbent, first_incumbent, polish_in_time, with_users_features
from safescreen.problem import Problem, check_problem
from safescreen.problem.validation import check_numbers, check_target
from safescreen.relaxation import solve_root
from safescreen.search.branch_and_bound import Search
from safescreen.search.interrupts import Interrupts
from safescreen.search.progress import Progress
from safescreen.search.proof_writer import ProofNotWrittenWarning, ProofWriter
from safescreen.search.settings import Settings
from safescreen.search.solution import Solution
from safescreen.search.watch import Callback, Watch
from safescreen.working_memory import within

LARGEST_START = 1e6
"""Coefficients of standardised features beyond that are nothing to start from: the loss is flat there."""


def solve(
    problem: Problem,
    *,
    rel_gap: float = 1e-4,
    time_limit: float | None = None,
    node_limit: int | None = None,
    screening: str = "nodes",
    n_threads: int = 1,
    memory_limit: float | None = None,
    warm_start: Any = None,
    progress: bool = False,
    proof: str | PathLike[str] | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Find a provably optimal model, or the best one within the limits and how far from optimal it can be.

    Parameters
    ----------
    problem : Problem
        The problem.
    rel_gap : float, default 1e-4
        Stop once ``(objective - lower_bound) / |objective|`` is at most this.
    time_limit : float, optional
        Seconds, compilation excluded.
    node_limit : int, optional
        Nodes of the search tree.
    screening : {"nodes", "root", "none"}
        Screen at the root and in every node, at the root only (the paper's method), or not at all.
    n_threads : int, default 1
        Threads that explore the tree. One thread takes the same path every time.
    memory_limit : float, optional
        Gigabytes of memory to work with beside the data; by default one, and a quarter of the size of the data. With
        less, fewer columns and open nodes are held at a time: it takes longer, and the answer is as safe.
    warm_start : Solution or array of shape (n_features,), optional
        A model whose support is tried first.
    progress : bool, default False
        Show on standard error where the search stands: in a terminal a status line; in a notebook, a log file or a
        pipe a line every five seconds, the first one after two.
    proof : str or path-like, optional
        Write a proof to this file, for :func:`safescreen.verify` or any other checker. A search that ends early leaves
        a valid proof of the gap it reached. If the file cannot be completed, say because the disk is full, a
        :class:`ProofNotWrittenWarning` says why, nothing of it is left, and the solution is returned all the same.
        The matrix is hashed beside the search, some two seconds per gigabyte of double precision. A search that meets
        its time limit earlier waits for that, since a proof was asked for; Ctrl-C does without the proof then.
    callback : callable, optional
        Called with a :class:`Moment` a few dozen times a second; returning True ends the search.

    Returns
    -------
    Solution
        The model with its objective, a safe lower bound, the status and a trace of the search. Ctrl-C ends the search
        early and returns the best model so far; a second one within two seconds raises ``KeyboardInterrupt``, even if
        another search runs by then.

    Examples
    --------
    >>> import safescreen as ss
    >>> X, y, _ = ss.datasets.make_sparse_logistic(100, 50, 3, 1.0, random_state=0)
    >>> ss.solve(ss.Problem(X, y, k=3)).status
    'optimal'
    """
    settings = Settings(rel_gap, time_limit, node_limit, screening, n_threads, memory_limit).checked()
    check_problem(problem)
    start = _checked_start(problem, warm_start)
    kernels.warm_up()
    with Interrupts() as interrupts, Progress(progress) as display, open_proof(proof, problem, interrupts) as writer:
        watch = Watch(settings, interrupts, display, callback)
        with expiring(watch.expired), within(settings.memory_limit):
            root = solve_root(problem, max(1e-10, 1e-3 * settings.rel_gap))
            incumbent = first_incumbent(problem, root, watch.expired)
            proposed = None if start is None else _proposed(problem, start)
            incumbent = min(incumbent, proposed or incumbent, key=lambda model: model.objective)
            with suppress(ExpiredError):
                incumbent = with_users_features(problem, incumbent)
            search = Search(problem, root, incumbent, watch, writer)
            status = search.run()
        solution = search.solution(status)
        if writer is not None:
            writer.finish(solution, root.bound, search.screened, settings.rel_gap)
    return solution


@contextmanager
def open_proof(
    path: str | PathLike[str] | None, problem: Problem, interrupts: Interrupts
) -> Iterator[ProofWriter | None]:
    """The proof to write, if any; whatever goes wrong, no unfinished file is left behind.

    If it cannot be opened, nothing is lost yet. If it fails later, there is a solution by then, which is worth more
    than a proof that can be had again: a warning does.
    """
    if path is None:
        yield None
        return
    check_target("proof", path)
    solved = False
    try:
        with write_whole(path) as temporary:
            with ProofWriter(temporary, problem, lambda: interrupts.requested) as writer:
                yield writer
            solved = True
            if writer.failure is not None:
                raise writer.failure
    except OSError as error:
        if not solved:
            raise
        reason = (error.strerror or str(error)).rstrip(".")
        reason = reason[:1].lower() + reason[1:]
        warnings.warn(
            f"The proof {os.fspath(path)!r} was not written ({reason}); the solution is complete. "
            "A file of that name, if there is one, is older.",
            ProofNotWrittenWarning,
            stacklevel=4,
        )


def _checked_start(problem: Problem, warm_start: Any) -> FloatArray | None:
    """The coefficients of a warm start, in the units of the data."""
    if warm_start is None:
        return None
    return check_numbers("warm_start", getattr(warm_start, "coef", warm_start), problem.n_features)


def _proposed(problem: Problem, coef: FloatArray) -> Incumbent | None:
    """The model a warm start proposes, made to respect what the user decided; None if there is no time for it."""
    try:
        with grace():
            with np.errstate(over="ignore"):
                x = np.nan_to_num(coef * problem.design.scales)  # products that overflow are the largest numbers
            size = np.abs(x)
            if size.max() > LARGEST_START:
                x = x * (LARGEST_START / size.max())
            size[problem.excluded] = 0.0
    except ExpiredError:
        return None
    size[problem.included] = np.inf
    order = np.argsort(-size, kind="stable")[: problem.k]
    return polish_in_time(problem, np.sort(order[size[order] > 0.0]), x, 0.0)
