"""A fitted estimator's procedure once more, on resamples of its data."""

from __future__ import annotations

import time
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from safescreen.arrays import AnyArray, FloatArray
from safescreen.estimators.checking import checked
from safescreen.estimators.copies import settle_copies
from safescreen.estimators.shared import make_problem
from safescreen.problem import Problem
from safescreen.problem.validation import check_weights
from safescreen.search import Settings
from safescreen.stability import Resampling, Stability, run
from safescreen.text import brief

_OF_ONE_FIT = {"proof": None, "callback": None, "warm_start": False, "verbose": 0}


@dataclass(frozen=True)
class _Counted:
    """The estimator's problem with rows counted several times; an object rather than a closure, to reach processes."""

    template: Any
    X: Any
    y: AnyArray
    weights: FloatArray

    def __call__(self, counts: FloatArray) -> Problem:
        return make_problem(clone(self.template), self.X, self.y, self.weights * counts)


def resample(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    n_resamples: Any,
    random_state: Any,
    *,
    rel_gap: float,
    time_limit: float | None,
    n_jobs: int | None,
    progress: bool,
) -> Stability:
    """See :meth:`L0LogisticRegression.stability`."""
    if isinstance(n_resamples, bool) or not isinstance(n_resamples, Integral) or n_resamples < 1:
        raise ValueError(f"n_resamples is {brief(n_resamples)}, but must be an integer >= 1.")
    time_limit = Settings(rel_gap=rel_gap, time_limit=time_limit).checked().time_limit
    began = time.monotonic()
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=int(n_resamples)).tolist()
    resampling = _resampling(estimator, X, y, sample_weight, rel_gap)
    done, ended = run(resampling, seeds, n_jobs=n_jobs, time_limit=time_limit, progress=progress)
    if not done:
        if ended == "interrupted":
            raise KeyboardInterrupt
        raise ValueError(f"time_limit is {time_limit!r}, in which not one resample was finished: allow more seconds.")
    return Stability(
        supports=[one.support for one in done],
        coefficients=np.array([one.coefficients for one in done]),
        support=np.array(estimator.estimate_.support),
        estimates=np.array(estimator.estimate_.coefficients),
        n_features=estimator.n_features_in_,
        feature_names=getattr(estimator, "feature_names_in_", None),
        n_asked=int(n_resamples),
        n_unproved=sum(not one.proved for one in done),
        ended=ended,
        seconds=time.monotonic() - began,
    )


def _resampling(estimator: Any, X: Any, y: Any, sample_weight: Any, rel_gap: float) -> Resampling:
    """What to do on each resample; the data are checked here, once, in the words of `fit`."""
    fitted = getattr(estimator, "best_estimator_", estimator)  # of a cross-validation the model it chose
    matrix = checked(estimator, X, accept_sparse="csc", reset=False)
    whole = settle_copies(fitted.copies, make_problem(clone(fitted), X, y, sample_weight))
    template = clone(fitted).set_params(
        **_OF_ONE_FIT, copies="allow", include=tuple(whole.include.tolist()), exclude=tuple(whole.exclude.tolist())
    )
    settings = Settings(
        rel_gap=max(rel_gap, fitted.rel_gap),
        time_limit=fitted.time_limit if fitted is estimator else None,  # what a cross-validation had left says nothing
        node_limit=fitted.node_limit,
        screening=fitted.screening,
        n_threads=fitted.n_threads,
        memory_limit=fitted.memory_limit,
    )
    weights = check_weights(sample_weight, matrix.shape[0])
    return Resampling(
        make_problem=_Counted(template, matrix, np.asarray(y), weights),
        groups=np.where(whole.weights > 0.0, whole.y, 0.0),
        settings=settings,
        refit_gamma=fitted.refit_gamma,
        support=np.array(estimator.estimate_.support),
        start=estimator.selection_.coef,
    )
