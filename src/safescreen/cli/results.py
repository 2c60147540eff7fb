"""A fitted model for those who asked: on the screen, as JSON, as a model file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from safescreen.prediction import linear_predictor
from safescreen.reporting.content.features import deviations
from safescreen.status import Status

from ..records import Record
from .inputs import Loaded
from .scores import Scores, score
from .show import features_table, grid, result_rows, score_row, screening_line

if TYPE_CHECKING:
    from rich.console import Console

    from ..solution import Solution


@dataclass(frozen=True)
class Result:
    """A solution with the data it comes from, and held-out data if there are any."""

    loaded: Loaded
    solution: Solution
    held_out: tuple[Any, npt.NDArray[Any]] | None = None

    @cached_property
    def scores(self) -> dict[str, Scores]:
        """How well the model predicts, on each set of data."""
        data = self.loaded.data
        sets = {"training": (data.X, data.y, data.weights)}
        if self.held_out is not None:
            sets["held out"] = (*self.held_out, None)
        return {what: score_of(self.solution, *values) for what, values in sets.items()}

    @cached_property
    def spreads(self) -> npt.NDArray[np.float64]:
        """Standard deviations of the chosen features, weighted as the samples are."""
        return deviations(self.solution.problem, self.solution.support)

    def show(self, console: Console) -> None:
        """The model, how far it is proved, and how well it predicts."""
        solution = self.solution
        if solution.screening is not None:
            console.print(screening_line(solution.screening, seconds=False))
        console.print(features_table(solution, self.spreads))
        rows = result_rows(solution) | {what: score_row(found) for what, found in self.scores.items()}
        console.print(grid(rows, align="left"))
        if solution.status != Status.OPTIMAL:
            console.print(
                f"[yellow]{solution.status.sentence}[/yellow] This is the best model found, and no model has an "
                "objective below the lower bound."
            )

    def write_model(self, path: Path, *, rel_gap: float, time_limit: float | None, n_threads: int) -> None:
        """Write the model file; of the encoding only what the chosen features need."""
        encoding = self.loaded.data.encoding.restricted(self.solution.support.tolist()).to_json()
        Record.from_solution(
            self.solution, rel_gap=rel_gap, time_limit=time_limit, n_threads=n_threads, encoding=encoding
        ).write(path)

    def document(self) -> dict[str, Any]:
        """Everything, for other programs."""
        solution, problem = self.solution, self.solution.problem
        return {
            "target": self.loaded.target,
            "classes": problem.classes,
            "n_samples": problem.n_samples,
            "n_features": problem.n_features,
            "k": problem.k,
            "mu": problem.mu,
            "gamma": problem.gamma,
            "status": solution.status,
            "objective": solution.objective,
            "lower_bound": solution.lower_bound,
            "gap": solution.gap,
            "nodes": solution.nodes,
            "seconds": solution.seconds,
            "screening": self._screening(),
            "features": self._features(),
            "intercept": solution.intercept,
            "scores": {what.replace(" ", "_"): found._asdict() for what, found in self.scores.items()},
        }

    def _screening(self) -> dict[str, Any] | None:
        screening = self.solution.screening
        if screening is None:
            return None
        counts = {name: getattr(screening, name).size for name in ("excluded", "included", "undecided")}
        return {**counts, "percent": screening.percent}

    def _features(self) -> list[dict[str, Any]]:
        solution = self.solution
        chosen = zip(solution.feature_names, solution.support.tolist(), self.spreads.tolist(), strict=True)
        return [
            {
                "name": name,
                "index": j,
                "coefficient": solution.coef[j],
                "odds_ratio_per_std": math.exp(min(float(solution.coef[j]) * spread, 709.0)),
            }
            for name, j, spread in chosen
        ]


def score_of(solution: Solution, X: Any, y: npt.NDArray[Any], weights: npt.NDArray[np.float64] | None = None) -> Scores:
    """How well a solution predicts the labels of some data."""
    log_odds = linear_predictor(X, solution.coef, solution.intercept)
    return score(log_odds, np.asarray(y == solution.problem.classes[1]), weights)
