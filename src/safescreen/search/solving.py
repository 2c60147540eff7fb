"""`solve`: root, first model, search, proof."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
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
from safescreen.relaxation import RootInStages
from safescreen.search.branch_and_bound import Search
from safescreen.search.first_look import look_next_door
from safescreen.search.interrupts import Interrupts
from safescreen.search.keeping import Resumed, check_checkpoint, kept, resumed
from safescreen.search.progress import Progress
from safescreen.search.proof_writer import ProofNotWrittenWarning, ProofWriter
from safescreen.search.resuming import ResumedSearch
from safescreen.search.settings import MOST_NODES, Settings
from safescreen.search.solution import Solution
from safescreen.search.tree_search import Recruit, crew_here
from safescreen.search.watch import Callback, Watch
from safescreen.search.wide_search import make_search
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
    checkpoint: str | PathLike[str] | None = None,
    checkpoint_every: float = 60.0,
    resume: bool = False,
    client: Any = None,
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
        pipe a line every five seconds, the first one after two. Where the gap is wide by then, a sentence says how many
        columns must be told apart, if they are many.
    proof : str or path-like, optional
        Write a proof to this file, for :func:`safescreen.verify` or any other checker. A search that ends early leaves
        a valid proof of the gap it reached. If the file cannot be completed, say because the disk is full, a
        :class:`ProofNotWrittenWarning` says why, nothing of it is left, and the solution is returned all the same.
        The matrix is hashed beside the search, some two seconds per gigabyte of double precision. If a time limit or
        Ctrl-C comes earlier, the proof has no fingerprint of the matrix: it is complete all the same, since whoever
        checks it computes every bound from the data at hand.
    callback : callable, optional
        Called with a :class:`Moment` a few dozen times a second; returning True ends the search.
    checkpoint : str or path-like, optional
        Keep the search in this file, so that another run can go on with it: now and then, and at its end, be that a
        limit, Ctrl-C or the proof of optimality. If it cannot be written, a :class:`CheckpointNotWrittenWarning` says
        so once, and the search goes on. An existing file is replaced.
    checkpoint_every : float, default 60.0
        Seconds between two checkpoints; more where writing one takes over a tenth of them.
    resume : bool, default False
        Go on from the checkpoint: to the same result as if nothing had happened, the proof included. Without such a
        file the search begins anew, so that one command can be repeated until it is done. One that is damaged, belongs
        to another problem or `screening`, was pruned at a larger `rel_gap`, or lacks the `proof` that is asked for now,
        is refused. `n_threads` and `memory_limit` may differ. Limits count for this run; ``nodes``, ``seconds`` and
        ``trace`` of the solution for all of them.
    client : distributed.Client, optional
        Explore the tree on the workers of this client of `dask.distributed`, once it is large enough. Workers may come,
        go and be killed meanwhile, which costs time and nothing else. ``n_threads`` has no say then.

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
    keeping = check_checkpoint(checkpoint, checkpoint_every, resume, proof)
    recruit = _recruiting(client)
    if client is not None:
        settings = replace(settings, n_threads=1)  # one explorer here, whose log has the numbers of all nodes
    kernels.warm_up()
    with (
        Interrupts() as interrupts,
        Progress(progress) as display,
        resumed(keeping, problem, settings, proof is not None, interrupts) as earlier,
        open_proof(proof, problem) as writer,
        kept(keeping, problem, settings, writer, earlier) as keeper,
    ):
        watch = _watch(settings, interrupts, display, callback, earlier)
        with expiring(watch.expired), within(settings.memory_limit):
            if earlier is None:
                search = _begun(problem, start, watch, writer)
            else:
                search = _continued(problem, start, watch, writer, earlier)
            search.keeper, search.recruit = keeper, recruit
            solution = search.solution(search.run())
            if writer is not None:
                writer.finish(solution, search.root.bound, search.screened, settings.rel_gap)
    return solution


def _recruiting(client: Any) -> Recruit:
    """Who explores the tree: this process, or the workers of a cluster."""
    if client is None:
        return crew_here
    from safescreen.search.cluster import crew_on

    return crew_on(client)


def _watch(
    settings: Settings, interrupts: Interrupts, display: Progress, callback: Callback | None, earlier: Resumed | None
) -> Watch:
    """Clock and limits, which count for this run alone."""
    if earlier is None:
        return Watch(settings, interrupts, display, callback)
    if settings.node_limit is not None:
        settings = replace(settings, node_limit=min(settings.node_limit + earlier.snapshot.nodes, MOST_NODES))
    return Watch(settings, interrupts, display, callback, before=earlier.snapshot.seconds)


def _begun(problem: Problem, start: FloatArray | None, watch: Watch, writer: ProofWriter | None) -> Search:
    """A search with its root and a first model."""
    stages = RootInStages(problem, max(1e-10, 1e-3 * watch.settings.rel_gap))
    root = stages.begun()
    first = None if stages.is_finished else look_next_door(problem, root, watch)
    if first is None or not first.is_over:
        root = stages.finished()
    model = first.incumbent if first is not None else first_incumbent(problem, root, watch.expired)
    incumbent = _better(problem, model, start)
    with suppress(ExpiredError):
        incumbent = with_users_features(problem, incumbent)
    search = make_search(problem, root, incumbent, watch, writer)
    if first is not None:
        search.follow(first)
    return search


def _continued(
    problem: Problem, start: FloatArray | None, watch: Watch, writer: ProofWriter | None, earlier: Resumed
) -> Search:
    """A search from where an earlier run had come."""
    snapshot, file = earlier
    incumbent = _better(problem, snapshot.incumbent, start)
    return ResumedSearch(problem, snapshot, incumbent, watch, writer, file.chunks())


@contextmanager
def open_proof(path: str | PathLike[str] | None, problem: Problem) -> Iterator[ProofWriter | None]:
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
            with ProofWriter(temporary, problem) as writer:
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


def _better(problem: Problem, model: Incumbent, start: FloatArray | None) -> Incumbent:
    """The model at hand, or the one that a warm start proposes, if that is better."""
    proposed = None if start is None else _proposed(problem, start)
    return min(model, proposed or model, key=lambda one: one.objective)


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
