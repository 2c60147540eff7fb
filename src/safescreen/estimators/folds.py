"""One fold of a cross-validation: every candidate is fitted to one part of the data and scored on the other.

The candidates share one design; each search starts from the model of a neighbour, and the ridges of the estimates share
a search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import RepeatedStratifiedKFold

from safescreen.arrays import FloatArray, IndexArray
from safescreen.estimation import Model, models_at
from safescreen.estimators.candidates import Candidates
from safescreen.estimators.classifier import SEARCH, L0LogisticRegression
from safescreen.estimators.clock import Clock
from safescreen.estimators.labels import adopt_classes
from safescreen.estimators.shared import make_problem
from safescreen.path import solve_along
from safescreen.prediction import linear_predictor, log_loss
from safescreen.problem import Problem
from safescreen.search import Settings, Solution, compile_now
from safescreen.search.interrupts import raising_interrupts

Scorer = Callable[..., float]
PartMaker = Callable[[Any, IndexArray, IndexArray], tuple[Any, Any]]
Split = tuple[IndexArray, IndexArray]


_FOLDS = 5
_REPEATS = ((200, 4), (1000, 2))
"""Up to how many samples the folds are drawn how often: scores of few samples are noisy, and their fits quick."""


class Data(NamedTuple):
    """Checked training data."""

    X: Any
    y: npt.NDArray[Any]
    weights: FloatArray | None

    def parts(self, split: Split, make_parts: PartMaker) -> list[Data]:
        """The training and the test part."""
        return [
            Data(X, self.y[rows], None if self.weights is None else self.weights[rows])
            for X, rows in zip(make_parts(self.X, *split), split, strict=True)
        ]


class Fold(NamedTuple):
    """One number per candidate."""

    scores: FloatArray
    gaps: FloatArray
    seconds: FloatArray
    sizes: FloatArray


class Job(NamedTuple):
    """What all folds have in common."""

    template: L0LogisticRegression
    candidates: Candidates
    data: Data
    make_parts: PartMaker
    scorer: Scorer | None


def plain_rows(X: Any, train: IndexArray, test: IndexArray) -> tuple[Any, Any]:
    """A fold's training and test part, as they are."""
    return X[train], X[test]


def usual_folds(y: npt.NDArray[Any]) -> RepeatedStratifiedKFold:
    """Five stratified folds, drawn several times where samples are few; fewer where a class has fewer rows."""
    smallest = int(np.unique(y, return_counts=True)[1].min())
    if smallest < 2:
        raise ValueError(
            "y has a class with one row, which cannot be in a fold and outside of it: choose by criterion='ebic' "
            "instead of folds, or pass folds of your own as cv."
        )
    repeats = next((times for most, times in _REPEATS if y.size <= most), 1)
    return RepeatedStratifiedKFold(n_splits=min(_FOLDS, smallest), n_repeats=repeats, random_state=0)


def run_fold(job: Job, split: Split, seconds: float | None) -> Fold:
    """Fit all candidates to one part of the data and score them on the other, in about so many seconds."""
    compile_now()  # in a process of its own this takes a second, which is not to be charged to the searches
    training, held_out = job.data.parts(split, job.make_parts)
    if held_out.weights is not None and not (held_out.weights > 0.0).any():
        raise ValueError("The held-out rows of a fold all have weight zero, so that there is nothing to score by.")
    compile_now()  # in another process: before any clock starts
    problem = make_problem(job.template, *training)
    solutions = solve_candidates(problem, job.template, job.candidates, seconds)
    score = _log_loss_of if job.scorer is None else _Scored(job, problem)
    scores = [
        score(solution, model, held_out)
        for solution in solutions
        for model in models_at(solution, job.candidates.refits)
    ]
    return recorded(scores, solutions, len(job.candidates.refits))


def recorded(scores: list[float], solutions: list[Solution], times: int) -> Fold:
    """Scores of all candidates, with what is known of the searches that several of them share."""
    known = [[solution.gap, solution.seconds, solution.support.size] for solution in solutions]
    return Fold(np.array(scores), *np.repeat(np.array(known, dtype=np.float64), times, axis=0).T)


def solve_candidates(
    problem: Problem, template: L0LogisticRegression, candidates: Candidates, seconds: float | None
) -> list[Solution]:
    """A path per ridge of the choice, from strong to weak, each starting from the one before.

    What one path leaves of the time goes to the others: the weakest ridge, whose searches take longest, comes last.
    """
    clock = Clock(seconds)
    settings = Settings(**{name: getattr(template, name) for name in SEARCH})
    order = sorted(range(len(candidates.gammas)), key=lambda place: candidates.gammas[place])
    paths: dict[int, list[Solution]] = {}
    previous: list[Solution] | None = None
    for done, place in enumerate(order):
        remaining = clock.remaining
        share = None if remaining is None else remaining / ((len(order) - done) * len(candidates.values))
        with raising_interrupts():  # in another thread: what Ctrl-C cut short is no result, and nothing comes after it
            previous = paths[place] = solve_along(
                problem.with_parameters(gamma=candidates.gammas[place]),
                candidates.name,
                candidates.values,
                replace(settings, time_limit=share),
                starts=previous,
            )
    return [solution for place in range(len(order)) for solution in paths[place]]


def _log_loss_of(solution: Solution, model: Model, data: Data) -> float:
    """The mean log-likelihood: defined for folds with one class, and finite for confident mistakes."""
    problem = solution.problem
    coef = np.zeros(problem.n_features)
    coef[solution.support] = model.coefficients
    log_odds = linear_predictor(data.X, coef, model.intercept)
    return -log_loss(log_odds, np.asarray(data.y == problem.classes[1]), data.weights)


class _Scored:
    """A user's scorer, which wants an estimator.

    Weights are passed on only if there are any, since not every scorer takes them.
    """

    def __init__(self, job: Job, problem: Problem) -> None:
        assert job.scorer is not None
        self._scorer = job.scorer
        self._model = L0LogisticRegression(**job.template.get_params())
        self._model.n_features_in_ = problem.n_features
        adopt_classes(self._model, problem)

    def __call__(self, solution: Solution, model: Model, data: Data) -> float:
        coef = np.zeros((1, solution.problem.n_features))
        coef[0, solution.support] = model.coefficients
        self._model.coef_, self._model.intercept_ = coef, np.array([model.intercept])
        self._model.support_ = solution.support
        weights = {} if data.weights is None else {"sample_weight": data.weights}
        return float(self._scorer(self._model, data.X, data.y, **weights))
