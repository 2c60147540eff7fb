"""Bootstrap resamples of a fit: rows count as often as they were drawn, so that no matrix is copied."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from safescreen.arrays import FloatArray, IndexArray
from safescreen.estimation import refit
from safescreen.problem import Problem
from safescreen.search import Settings, solve
from safescreen.search.settings import check_jobs
from safescreen.stability.counter import Counter
from safescreen.status import Status

_LARGEST_SHARE = 0.1
"""Of the time for everything, the part that one resample may take: a hard one must not cost all others."""


class Resample(NamedTuple):
    """What one resample says: the features it chooses, and its coefficients of the model's features."""

    support: IndexArray
    coefficients: FloatArray
    proved: bool  # the choice, as far as was asked for


@dataclass(frozen=True)
class Resampling:
    """A fit that can be done again on resamples.

    Attributes
    ----------
    make_problem : callable
        The problem with each row counted so many times.
    groups : ndarray
        The class of each row; a resample has as many rows of each as the data.
    settings : Settings
        How far to search.
    refit_gamma : float or str
        Ridge of the estimates.
    support : ndarray of int
        The model's features.
    start : ndarray
        Coefficients whose features are tried first.
    """

    make_problem: Callable[[FloatArray], Problem]
    groups: npt.NDArray[Any]
    settings: Settings
    refit_gamma: float | str
    support: IndexArray
    start: FloatArray

    def once(self, seed: int, share: float, deadline: float) -> Resample | None:
        """One resample; None if it was interrupted or the deadline came first."""
        left = deadline - time.time()
        if left <= 0.0:
            return None
        limits = (math.inf if self.settings.time_limit is None else self.settings.time_limit, share, left)
        limit = None if min(limits) == math.inf else min(limits)
        problem = self.make_problem(draw(self.groups, np.random.default_rng(seed)))
        solution = solve(problem, **vars(replace(self.settings, time_limit=limit)), warm_start=self.start)
        out_of_time = solution.status == Status.TIME_LIMIT and limit == left
        if out_of_time or solution.status == Status.INTERRUPTED:
            return None
        coefficients = refit(problem, self.support, self.refit_gamma)
        return Resample(np.array(solution.support), coefficients, solution.status == Status.OPTIMAL)


def draw(groups: npt.NDArray[Any], random: np.random.Generator) -> FloatArray:
    """How often each row is drawn, with replacement, as many of each group as there are."""
    counts = np.zeros(groups.size)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        counts[rows] = np.bincount(random.integers(rows.size, size=rows.size), minlength=rows.size)
    return counts


def run(
    resampling: Resampling, seeds: list[int], *, n_jobs: int | None, time_limit: float | None, progress: bool
) -> tuple[list[Resample], str]:
    """All resamples that could be done, and how it ended: "finished", "time_limit" or "interrupted"."""
    done: list[Resample] = []
    seconds = math.inf if time_limit is None else time_limit
    deadline = time.time() + seconds  # a clock that processes share
    share = _LARGEST_SHARE * seconds
    with Counter(len(seeds), progress) as counter:
        try:
            for results in _batches(resampling, seeds, share, deadline, n_jobs):
                done += [result for result in results if result is not None]
                counter.show(len(done))
                if len(done) < len(seeds) and any(result is None for result in results):
                    return done, "time_limit" if time.time() >= deadline else "interrupted"
        except KeyboardInterrupt:
            return done, "interrupted"
    return done, "finished"


def _batches(
    resampling: Resampling, seeds: list[int], share: float, deadline: float, n_jobs: int | None
) -> Iterator[list[Resample | None]]:
    """A few resamples at a time, in whatever backend of joblib is active: what has been done cannot be lost."""
    from joblib import effective_n_jobs
    from sklearn.utils.parallel import Parallel, delayed

    workers = max(min(effective_n_jobs(check_jobs(n_jobs)), len(seeds)), 1)  # none without work
    size = 1 if workers == 1 else 2 * workers
    with Parallel(n_jobs=workers) as parallel:
        for first in range(0, len(seeds), size):
            batch = seeds[first : first + size]
            yield list(parallel(delayed(_once)(resampling, seed, share, deadline) for seed in batch))


def _once(resampling: Resampling, seed: int, share: float, deadline: float) -> Resample | None:
    return resampling.once(seed, share, deadline)
