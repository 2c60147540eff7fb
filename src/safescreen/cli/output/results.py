"""A fitted model for those who asked: on the screen, as JSON, as a model file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import safescreen as ss
from safescreen.arrays import AnyArray, FloatArray
from safescreen.cli.output.files import attributes, screening_document
from safescreen.cli.output.show import copies_line, grid, result_rows, screening_line, show_features, warn
from safescreen.cli.scoring import Scores
from safescreen.estimation.cautions import only_class, scale_ratio
from safescreen.estimation.telling import which_is_which
from safescreen.prediction import linear_predictor
from safescreen.saving.record import Record
from safescreen.status import Status
from safescreen.summary import Table, table_of
from safescreen.tables import Prepared


def score(solution: ss.Solution, estimate: ss.Estimate, X: Any, y: Any, weights: FloatArray | None = None) -> Scores:
    """How well the estimates predict."""
    log_odds = linear_predictor(X, estimate.coef(solution.problem.n_features), estimate.intercept)
    positive = np.asarray(y == solution.problem.positive_class)
    return Scores.of(log_odds, positive, weights)


def chosen_features(table: Table) -> list[dict[str, Any]]:
    """The chosen features for other programs, in the order of their columns."""
    return [
        {
            "name": row.feature,
            "index": row.index,
            "coefficient": row.coefficient,
            "odds_ratio": row.odds_ratio,
            "odds_ratio_per_std": row.odds_ratio_per_std,
            "log_odds_ratio_per_std": row.effect,
            "binary": row.binary,
            "shrinkage": row.shrinkage,
        }
        for row in sorted(table.rows, key=lambda row: row.index)
    ]


def warn_of_scales(console: Console, problem: ss.Problem) -> None:
    """Say so where units of measurement decide what is chosen."""
    ratio = scale_ratio(problem)
    if ratio is not None:
        warn(
            console,
            f"The columns have very different scales (by a factor of {ratio:.2g}), so that with --no-standardize their "
            "units decide which are chosen: leave it out, or bring the columns to one scale.",
        )


@dataclass(frozen=True)
class Result:
    """A solution and its estimates with the data they come from, and held-out data if there are any."""

    data: Prepared
    solution: ss.Solution
    estimate: ss.Estimate
    held_out: tuple[Any, AnyArray] | None = None  # features and labels

    @cached_property
    def scores(self) -> dict[str, Scores]:
        """How well the model predicts, on each set of data."""
        found = self.solution, self.estimate
        scores = {"training": score(*found, self.data.X, self.data.y, self.data.weights)}
        if self.held_out is not None:
            scores["held_out"] = score(*found, *self.held_out)
        return scores

    @cached_property
    def table(self) -> Table:
        """The model for reading."""
        return table_of(self.solution, self.estimate)

    def warn(self, console: Console) -> None:
        """Say so where a model that is proved optimal tells no row from another."""
        label = only_class(self.solution, self.estimate)
        if label is not None:
            warn(
                console,
                f"The model is optimal for its problem, but predicts {label} for every training row: try a larger "
                "--gamma or --refit-gamma, which shrink less, or more features.",
            )

    def show(self, console: Console) -> None:
        """The model, how far it is proved, and how well it predicts."""
        solution = self.solution
        if solution.screening is not None:
            console.print(screening_line(solution.screening, seconds=False))
        show_features(console, self.table)
        if copies_line(solution):
            console.print(copies_line(solution))
        scores = {what.replace("_", " "): str(found) for what, found in self.scores.items()}
        console.print(grid({"status": solution.status, **result_rows(solution), **scores}, align="left"))
        if solution.status != Status.OPTIMAL:
            console.print(f"[yellow]{solution.status.sentence}[/yellow]")
        if solution.neighbourhood:
            console.print(f"Proved: {solution.neighbourhood}")
        console.print(which_is_which(solution, self.estimate.gamma))

    def write_model(self, path: Path, refit_gamma: float | str, search: dict[str, Any]) -> None:
        """Write the model file; of the encoding only what the chosen features need."""
        encoding = self.data.encoding.restricted(self.solution.support.tolist()).to_json()
        record = Record.from_solution(
            self.solution, self.estimate, refit_gamma=refit_gamma, **search, encoding=encoding
        )
        record.write(path)

    def document(self) -> dict[str, Any]:
        """Everything, for other programs."""
        solution, problem = self.solution, self.solution.problem
        return {
            **attributes(solution, "status", "objective", "lower_bound", "gap", "proved_exchanges", "nodes", "seconds"),
            "screening": None if solution.screening is None else screening_document(solution.screening),
            "refit_gamma": self.estimate.gamma,
            "features": chosen_features(self.table),
            "leaks": self.table.leaks,
            "intercept": self.estimate.intercept,
            "copies": [problem.names(group) for group in problem.copies_of(solution.support)],
            "selection": {"coefficients": solution.coef[solution.support], "intercept": solution.intercept},
            "scores": {what: found._asdict() for what, found in self.scores.items()},
        }
