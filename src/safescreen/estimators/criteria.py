"""Information criteria: a price on features instead of folds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import gammaln
from sklearn.base import clone

from safescreen.estimation import Model, models_at
from safescreen.estimators.candidates import Candidates
from safescreen.estimators.classifier import L0LogisticRegression
from safescreen.estimators.folds import Data, Fold, recorded, solve_candidates
from safescreen.estimators.shared import make_problem
from safescreen.prediction import log_loss
from safescreen.problem.validation import about
from safescreen.search import Solution
from safescreen.text import brief

CRITERIA = ("bic", "ebic", "gic")


def check_criterion(criterion: Any) -> str | None:
    """The criterion, None for folds."""
    if criterion is None or criterion in CRITERIA:
        return None if criterion is None else str(criterion)
    raise about("criterion", ValueError(f"criterion is {brief(criterion)}, but must be None, 'bic', 'ebic' or 'gic'."))


def information(criterion: str, log_loss: float, *, n_samples: int, n_features: int, chosen: int) -> float:
    """The value of a criterion, smaller is better.

    ``bic`` is ``2 m L + s log m`` for the mean log-loss ``L`` of ``s`` features on ``m`` samples. ``ebic`` adds
    ``2 log C(n, s)``, since one of so many choices of ``s`` features was made. ``gic`` is
    ``2 m L + s log(n) log(log m)``.
    """
    deviance = 2.0 * n_samples * log_loss
    if criterion == "gic":
        return deviance + chosen * math.log(max(n_features, 2)) * math.log(math.log(max(n_samples, 3)))
    value = deviance + chosen * math.log(n_samples)
    if criterion == "ebic":
        value += 2.0 * float(gammaln(n_features + 1) - gammaln(chosen + 1) - gammaln(n_features - chosen + 1))
    return value


def score_by_criterion(
    criterion: str, data: Data, template: L0LogisticRegression, candidates: Candidates, seconds: float | None
) -> Fold:
    """All candidates on all data: as of a fold, the larger the better."""
    problem = make_problem(clone(template), *data)
    solutions = solve_candidates(problem, template, candidates, seconds)
    samples = int(np.count_nonzero(problem.weights))
    values = [
        information(
            criterion,
            _training_loss(solution, model),
            n_samples=samples,
            n_features=problem.n_features,
            chosen=solution.support.size,
        )
        for solution in solutions
        for model in models_at(solution, candidates.refits)
    ]
    return recorded([-value for value in values], solutions, len(candidates.refits))


def _training_loss(solution: Solution, model: Model) -> float:
    """Mean log-loss of a model on the rows it was fitted to."""
    problem, support = solution.problem, solution.support
    shift = math.fsum((model.intercept, *(problem.design.means[support] * model.coefficients).tolist()))
    log_odds = problem.design.columns(support) @ (model.coefficients * problem.design.scales[support]) + shift
    return log_loss(log_odds, problem.y > 0.0, problem.weights)
