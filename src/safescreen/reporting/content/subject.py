"""What a report is about: the model described in detail, and the path or cross-validation it comes from."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from safescreen.estimators import L0LogisticRegression
from safescreen.path import L0Path
from safescreen.problem import Problem
from safescreen.reporting.content.held_out import HeldOut, evaluated
from safescreen.search.solution import Solution


@dataclass(frozen=True)
class Subject:
    """The model described in detail, and whatever else the page shows of a result."""

    solution: Solution
    path: L0Path | None = None
    estimator: L0LogisticRegression | None = None
    scores: tuple[HeldOut, ...] = ()  # of all solutions; empty without held-out data
    proof: str | os.PathLike[str] | None = None  # a file

    @property
    def problem(self) -> Problem:
        """The problem of the model described in detail."""
        return self.solution.problem

    @property
    def solutions(self) -> tuple[Solution, ...]:
        """All models of the path, or the only one."""
        return (self.solution,) if self.path is None else self.path.solutions

    @property
    def place(self) -> tuple[str, float] | None:
        """Where on the path the model lies: the parameter and its value."""
        return None if self.path is None else (self.path.parameter, getattr(self.problem, self.path.parameter))

    @property
    def score(self) -> HeldOut | None:
        """How the model described in detail does on held-out data."""
        pairs = zip(self.solutions, self.scores, strict=False)
        return next((score for solution, score in pairs if solution is self.solution), None)


def subject_of(result: Any, test: Any = None, proof: str | os.PathLike[str] | None = None) -> Subject:
    """The subject of any result a report can be made of, with held-out data ``(X, y)`` and a proof file."""
    subject = _without_extras(result)
    scores = () if test is None else tuple(evaluated(solution, test) for solution in subject.solutions)
    return replace(subject, scores=scores, proof=proof)


def _without_extras(result: Any) -> Subject:
    if isinstance(result, Solution):
        return Subject(result)
    if isinstance(result, L0Path):
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
