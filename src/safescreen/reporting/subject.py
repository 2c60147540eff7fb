"""What a report is about: the model described in detail, and the path or cross-validation it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from safescreen.estimators.cross_validation import L0LogisticRegressionCV
from safescreen.estimators import L0LogisticRegression
from safescreen.path import L0Path
from safescreen.problem import Problem
from safescreen.search.solution import Solution

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.int64]

_BLOCK = 256  # columns held dense at a time

IN, OUT, OPEN, REQUIRED, FORBIDDEN, CONSTANT, UNKNOWN = "iourfcn"
"""What is known of a feature: in every optimal model, in none, undecided, required or forbidden by the user, constant,
or nothing because there was no screening."""


@dataclass(frozen=True)
class Subject:
    """The parts of a result that the page shows."""

    solution: Solution
    path: L0Path | None = None
    estimator: L0LogisticRegression | None = None

    @property
    def problem(self) -> Problem:
        """The problem of the model described in detail."""
        return self.solution.problem

    @property
    def search(self) -> L0LogisticRegressionCV | None:
        """The cross-validation behind the model, if there was one."""
        return self.estimator if isinstance(self.estimator, L0LogisticRegressionCV) else None


def subject_of(result: Any) -> Subject:
    """The subject of any result a report can be made of."""
    if isinstance(result, Solution):
        return Subject(result)
    if isinstance(result, L0Path):
        if not len(result):
            raise ValueError("result is an L0Path without points, but a report needs at least one.")
        return Subject(result[most_permissive(result)], path=result)
    if isinstance(result, L0LogisticRegression):
        return Subject(_solution_of(result), estimator=result)
    raise TypeError(
        f"result is a {type(result).__name__}, but must be a Solution, a fitted L0LogisticRegression or "
        "L0LogisticRegressionCV, or an L0Path."
    )


def most_permissive(path: L0Path) -> int:
    """The point with the largest budget, the smallest price or the weakest ridge: it has the most to show."""
    return int(np.argmin(path.values) if path.parameter == "mu" else np.argmax(path.values))


def _solution_of(estimator: L0LogisticRegression) -> Solution:
    check_is_fitted(estimator, "solution_")
    if estimator.solution_ is None:
        raise ValueError(
            f"result is a {type(estimator).__name__} that was copied or loaded, which leaves the training data and the "
            "proof's details behind: make the report from the estimator that was fitted."
        )
    return estimator.solution_


def deviations(problem: Problem, features: IndexArray) -> FloatArray:
    """Standard deviations of these features in the data's units, with the problem's sample weights."""
    if problem.standardize:
        return problem.design.scales[features]
    found = []
    for start in range(0, features.size, _BLOCK):
        block = problem.design.columns(features[start : start + _BLOCK])
        centred = block - problem.weights @ block
        found.append(np.sqrt(problem.weights @ (centred * centred)))
    return np.concatenate(found) if found else np.empty(0)


def decisions(solution: Solution) -> str:
    """What is known of each feature, one character per feature."""
    problem, screening = solution.problem, solution.screening
    codes = np.full(problem.n_features, OPEN if screening is not None else UNKNOWN)
    if screening is not None:
        codes[screening.excluded] = OUT
        codes[screening.included] = IN
    codes[problem.excluded] = CONSTANT
    codes[problem.exclude] = FORBIDDEN
    codes[problem.include] = REQUIRED
    return "".join(codes.tolist())


def margins(solution: Solution) -> FloatArray:
    """By how much the proof of each feature's decision passes the model's objective; infinite without need of proof."""
    if solution.screening is None:
        return np.full(solution.problem.n_features, np.inf)
    margin = solution.screening.margin
    return np.where(margin < 1e200, margin, np.inf)  # a budget that is used up leaves no branch to speak of


def reading_order(codes: str, margin: FloatArray, support: IndexArray) -> IndexArray:
    """Features as a reader wants them: the model, what is proved in or open, and then what was hardest to rule out."""
    chosen = np.ones(len(codes), dtype=np.int64)
    chosen[support] = 0
    rank = {code: place for place, code in enumerate((REQUIRED, IN, OPEN, UNKNOWN, OUT, FORBIDDEN, CONSTANT))}
    places = np.array([rank[code] for code in codes])
    return np.lexsort((np.arange(len(codes)), margin, places, chosen))
