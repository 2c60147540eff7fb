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
from safescreen.reporting.content.proof import Proof, check_belongs, read_proof
from safescreen.search.solution import Solution


@dataclass(frozen=True)
class Subject:
    """The model described in detail, and whatever else the page shows of a result."""

    solution: Solution
    path: L0Path | None = None
    estimator: L0LogisticRegression | None = None
    scores: tuple[HeldOut, ...] = ()  # of all models of the path, or of the only one; empty without held-out data
    proof: Proof | None = None

    @property
    def problem(self) -> Problem:
        """The problem of the model described in detail."""
        return self.solution.problem

    @property
    def place(self) -> tuple[str, float] | None:
        """Where on the path the model lies: the parameter and its value."""
        return None if self.path is None else (self.path.parameter, getattr(self.problem, self.path.parameter))

    @property
    def score(self) -> HeldOut | None:
        """How the model described in detail does on held-out data."""
        if not self.scores:
            return None
        return self.scores[0 if self.path is None else most_permissive(self.path)]


def subject_of(result: Any, test: Any = None, proof: str | os.PathLike[str] | None = None) -> Subject:
    """The subject of any result a report can be made of, with held-out data ``(X, y)`` and a proof file."""
    subject = _without_extras(result)
    solutions = [subject.solution] if subject.path is None else list(subject.path)
    scores = () if test is None else tuple(evaluated(solution, test) for solution in solutions)
    found = None if proof is None else read_proof(proof)
    if found is not None:
        check_belongs(found, solutions)
    return replace(subject, scores=scores, proof=found)


def _without_extras(result: Any) -> Subject:
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
