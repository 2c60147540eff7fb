"""Fits that are right and yet of little use: what to look for, for whoever warns in words of their own."""

from __future__ import annotations

import math

import numpy as np

from safescreen.arrays import FloatArray, IndexArray
from safescreen.estimation.estimate import Estimate
from safescreen.problem import Problem
from safescreen.search.solution import Solution
from safescreen.status import Status

SCALE_RATIO = 1e3
"""Columns whose sizes differ by more than this are treated very differently by one ridge."""


def scale_ratio(problem: Problem) -> float | None:
    """By what factor columns that are not standardised differ, where units decide what is chosen."""
    sizes = problem.design.norms[problem.design.norms > 0.0]
    if problem.standardize or sizes.size < 2 or sizes.max() <= SCALE_RATIO * sizes.min():
        return None
    return float(sizes.max() / sizes.min())


def only_class(solution: Solution, estimate: Estimate) -> str | None:
    """The class that a model, proved optimal, predicts for every training row; None where it tells rows apart."""
    problem = solution.problem
    counted = problem.weights > 0.0
    positive = training_log_odds(problem, estimate)[counted] > 0.0
    if solution.status != Status.OPTIMAL or positive.any() != positive.all() or np.unique(problem.y[counted]).size < 2:
        return None
    return problem.class_names[int(positive[0])]


def separating(problem: Problem, features: IndexArray) -> IndexArray:
    """Which of these features tell the classes apart on their own, without a mistake: perhaps they leak the answer."""
    counted = problem.weights > 0.0
    block, positive = problem.design.columns(features)[counted], problem.y[counted] > 0.0
    if positive.all() or not positive.any():
        return features[:0]
    high, low = block[positive], block[~positive]
    apart = (high.min(axis=0) > low.max(axis=0)) | (high.max(axis=0) < low.min(axis=0))
    return np.asarray(features[apart], dtype=np.int64)


def training_log_odds(problem: Problem, estimate: Estimate) -> FloatArray:
    """What the model predicts for its training rows, from centred columns."""
    x = estimate.coefficients * problem.design.scales[estimate.support]
    shifts = problem.design.means[estimate.support] * estimate.coefficients
    b = math.fsum((estimate.intercept, *shifts.tolist()))
    return np.asarray(problem.design.columns(estimate.support) @ x + b)
