"""What a report is about: the model described in detail, and the path or cross-validation it comes from."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from safescreen.cores import Core
from safescreen.estimation import Estimate
from safescreen.estimation import estimate as estimated
from safescreen.estimators import L0LogisticRegression
from safescreen.good_models import Alternatives
from safescreen.path import L0Path
from safescreen.problem import Problem
from safescreen.reporting.content.held_out import HeldOut, Model, evaluated, seen_before
from safescreen.search.solution import Solution
from safescreen.summary import Table, table_of


@dataclass(frozen=True)
class Subject:
    """The model described in detail, and whatever else the page shows of a result."""

    solution: Solution
    models: tuple[Model, ...]  # what predicts, of all solutions
    path: L0Path | None = None
    estimator: L0LogisticRegression | None = None
    scores: tuple[HeldOut, ...] = ()  # of all solutions; empty without held-out data
    proof: str | os.PathLike[str] | None = None  # a file
    estimate: Estimate | None = None  # of the model described in detail, where it has been made
    seen: int = 0  # held-out samples that are training samples, too
    notes: tuple[str, ...] = ()  # what was done to the data, in sentences
    check: str | None = None  # the command that checks the proof
    alternatives: Alternatives | None = None  # all models as good as the one described
    core: Core | None = None  # what all good models use
    searched: bool = True  # whether anybody looked for a better model by more than local search

    @property
    def problem(self) -> Problem:
        """The problem of the model described in detail."""
        return self.solution.problem

    @property
    def solutions(self) -> tuple[Solution, ...]:
        """All models of the path, or the only one."""
        return (self.solution,) if self.path is None else self.path.solutions

    @property
    def model(self) -> Model:
        """What predicts, of the model described in detail."""
        return next(model for solution, model in self.pairs if solution is self.solution)

    @cached_property
    def table(self) -> Table:
        """The model described in detail, for reading."""
        return table_of(self.solution, self.estimate or estimated(self.solution, "same"))

    @property
    def two_ridges(self) -> bool:
        """Whether the model is estimated at another ridge than that of the choice."""
        return self.model.gamma != self.problem.gamma

    @property
    def pairs(self) -> list[tuple[Solution, Model]]:
        """What is proved and what predicts, for all models."""
        return list(zip(self.solutions, self.models, strict=True))

    @property
    def place(self) -> tuple[str, float] | None:
        """Where on the path the model lies: the parameter and its value."""
        return None if self.path is None else (self.path.parameter, getattr(self.problem, self.path.parameter))

    @property
    def score(self) -> HeldOut | None:
        """How the model described in detail does on held-out data."""
        pairs = zip(self.solutions, self.scores, strict=False)
        return next((score for solution, score in pairs if solution is self.solution), None)


def subject_of(
    result: Any,
    test: Any = None,
    proof: str | os.PathLike[str] | None = None,
    estimate: Estimate | None = None,
    core: Core | None = None,
) -> Subject:
    """The subject of any result a report can be made of, with held-out data ``(X, y)``, a proof file and a core."""
    if estimate is not None and not isinstance(result, Solution):
        raise ValueError(
            f"estimate is given with a {type(result).__name__}, which has its own: only a Solution needs one."
        )
    subject = _without_extras(result, estimate)
    if core is not None:
        subject = replace(subject, core=_fitting(core, subject))
    scores = () if test is None else tuple(evaluated(*pair, test) for pair in subject.pairs)
    return replace(subject, scores=scores, proof=proof, seen=0 if test is None else seen_before(subject.solution, test))


def _without_extras(result: Any, estimate: Estimate | None) -> Subject:
    if isinstance(result, Solution):
        return Subject(result, (Model.of(result, estimate),), estimate=estimate)
    if isinstance(result, Alternatives):
        return Subject(result.best, (Model.of(result.best, None),), alternatives=result)
    if isinstance(result, Core):
        return _of_core(result)
    if isinstance(result, L0Path):
        models = map(Model, result.coefs.T, result.intercepts.tolist(), result.refit_gammas.tolist())
        place = most_permissive(result)
        detailed = None if result.refit_gamma == "same" else result.estimates[place]
        return Subject(result[place], tuple(models), path=result, estimate=detailed)
    if isinstance(result, L0LogisticRegression):
        solution = _solution_of(result)
        return Subject(solution, (Model.of(solution, result.estimate_),), estimator=result, estimate=result.estimate_)
    raise TypeError(
        f"result is a {type(result).__name__}, but must be a Solution, a fitted L0LogisticRegression or "
        "L0LogisticRegressionCV, an L0Path, Alternatives or a Core."
    )


def _of_core(core: Core) -> Subject:
    """A core, and the model that it was measured against."""
    best = core.best
    if best is None:
        raise ValueError(
            "result is a Core that was measured against a number, so that there is no model to report: give core() a "
            "Solution as upper_bound, or nothing."
        )
    return Subject(best, (Model.of(best, None),), core=core, searched=core.is_searched)


def _fitting(core: Any, subject: Subject) -> Core:
    """A core of the problem whose model is described in detail."""
    if not isinstance(core, Core):
        raise TypeError(f"core is a {type(core).__name__}, but must be a Core, as safescreen.core() returns it.")
    if subject.core is not None:
        raise ValueError("core is given with a Core as the result: give a Solution with it, or the Core alone.")
    if not _ask_the_same(core.problem, subject.problem):
        raise ValueError(
            f"core is that of another problem ({core.problem.describe()}), not of the model on the page "
            f"({subject.problem.describe()}): give core() the problem of that model."
        )
    return core


def _ask_the_same(one: Problem, other: Problem) -> bool:
    """Whether two problems are about the same samples and terms, as far as can be told without a look at the matrix."""
    samples = zip((one.y, one.weights), (other.y, other.weights), strict=True)
    alike = one.n_features == other.n_features and one.asked == other.asked
    return alike and all(np.array_equal(*pair) for pair in samples)


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
