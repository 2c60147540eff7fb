"""A fitted model for those who asked: on the screen, as JSON, as a model file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

import safescreen as ss
from safescreen.arrays import AnyArray, FloatArray
from safescreen.cli.output.files import attributes, screening_document
from safescreen.cli.output.show import copies_line, features_table, grid, result_rows, screening_line
from safescreen.prediction import accuracy, auc, linear_predictor
from safescreen.problem.terms import Terms
from safescreen.reporting.content.features import deviations
from safescreen.saving.record import Record
from safescreen.status import Status
from safescreen.tables import Prepared


class Scores(NamedTuple):
    """Share of labels predicted correctly, and area under the ROC curve (NaN with one class)."""

    accuracy: float
    auc: float

    def __str__(self) -> str:
        area = "undefined" if math.isnan(self.auc) else f"{self.auc:.4f}"
        return f"accuracy {100.0 * self.accuracy:.1f} %, AUC {area}"


def chosen_features(solution: ss.Solution) -> list[dict[str, Any]]:
    """The chosen features, and their effects per standard deviation, weighted as the samples are."""
    support = solution.support
    effects = solution.coef[support] * deviations(solution.problem, support)
    return [
        {
            "name": name,
            "index": j,
            "coefficient": solution.coef[j],
            "odds_ratio_per_std": math.exp(min(effect, 709.0)),
            "log_odds_ratio_per_std": effect,
        }
        for name, j, effect in zip(solution.feature_names, support, effects.tolist(), strict=True)
    ]


@dataclass(frozen=True)
class Result:
    """A solution with the data it comes from, and held-out data if there are any."""

    data: Prepared
    solution: ss.Solution
    held_out: tuple[Any, AnyArray] | None = None  # features and labels

    @cached_property
    def scores(self) -> dict[str, Scores]:
        """How well the model predicts, on each set of data."""
        scores = {"training": self._score(self.data.X, self.data.y, self.data.weights)}
        if self.held_out is not None:
            scores["held_out"] = self._score(*self.held_out)
        return scores

    def _score(self, X: Any, y: AnyArray, weights: FloatArray | None = None) -> Scores:
        log_odds = linear_predictor(X, self.solution.coef, self.solution.intercept)
        positive = np.asarray(y == self.solution.problem.positive_class)
        return Scores(accuracy(log_odds, positive, weights), auc(log_odds, positive, weights))

    def show(self, console: Console) -> None:
        """The model, how far it is proved, and how well it predicts."""
        solution = self.solution
        if solution.screening is not None:
            console.print(screening_line(solution.screening, seconds=False))
        console.print(features_table(chosen_features(solution), solution.intercept))
        if copies_line(solution):
            console.print(copies_line(solution))
        scores = {what.replace("_", " "): str(found) for what, found in self.scores.items()}
        console.print(grid({"status": solution.status, **result_rows(solution), **scores}, align="left"))
        if solution.status != Status.OPTIMAL:
            console.print(
                f"[yellow]{solution.status.sentence}[/yellow] This is the best model found, and no model has an "
                "objective below the lower bound."
            )

    def write_model(self, path: Path, search: dict[str, Any]) -> None:
        """Write the model file; of the encoding only what the chosen features need."""
        encoding = self.data.encoding.restricted(self.solution.support.tolist()).to_json()
        Record.from_solution(self.solution, **search, encoding=encoding).write(path)

    def document(self) -> dict[str, Any]:
        """Everything, for other programs."""
        solution, problem = self.solution, self.solution.problem
        return {
            "target": self.data.target,
            **attributes(problem, "classes", "positive_class", "n_samples", "n_features", *Terms.names()),
            **attributes(solution, "status", "objective", "lower_bound", "gap", "nodes", "seconds"),
            "screening": None if solution.screening is None else screening_document(solution.screening),
            "features": chosen_features(solution),
            "intercept": solution.intercept,
            "copies": [problem.names(group) for group in problem.copies_of(solution.support)],
            "scores": {what: found._asdict() for what, found in self.scores.items()},
        }
