"""The rows of a model's table: what is known of each chosen feature, as numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from safescreen.arrays import FloatArray
from safescreen.estimation import Estimate
from safescreen.estimation.cautions import separating
from safescreen.estimation.telling import Choice
from safescreen.problem.labels import shown
from safescreen.search.solution import Solution


@dataclass(frozen=True)
class Row:
    """A chosen feature.

    Attributes
    ----------
    feature : str
        Its name.
    index : int
        Its column.
    coefficient : float
        Change in the log-odds per unit of the feature.
    deviation : float
        Standard deviation of the feature, not a number where it is unknown.
    binary : bool
        Whether its values are 0 and 1.
    shrinkage : float
        By what share the ridge made the coefficient smaller; not a number where there is none without a ridge.
    interval : tuple of two floats, optional
        Bootstrap interval of the coefficient per unit.
    frequency : float, optional
        Share of resamples in which the feature was chosen.
    """

    feature: str
    index: int
    coefficient: float
    deviation: float
    binary: bool
    shrinkage: float
    interval: tuple[float, float] | None = None
    frequency: float | None = None

    @property
    def effect(self) -> float:
        """Change in the log-odds per standard deviation."""
        return self.coefficient * self.deviation

    @property
    def odds_ratio(self) -> float:
        """Factor on the odds per unit."""
        return exponential(self.coefficient)

    @property
    def odds_ratio_per_std(self) -> float:
        """Factor on the odds per standard deviation."""
        return exponential(self.effect)

    @property
    def reads_per_unit(self) -> bool:
        """Whether a unit is the step to think in: from 0 to 1 it is the whole effect; other units may be anything."""
        return self.binary or math.isnan(self.deviation)

    @property
    def step(self) -> float:
        """The change of the feature that its odds ratio should be read for."""
        return 1.0 if self.reads_per_unit else self.deviation


@dataclass(frozen=True)
class Table:
    """A model for reading: its rows, largest effect first, and what stands above and below them."""

    positive: str  # the class that is modelled, as a sentence has it
    rows: tuple[Row, ...]
    intercept: float
    gamma: float  # of the estimates
    choice: Choice
    n_resamples: int | None = None  # behind intervals and frequencies
    leaks: tuple[str, ...] = ()  # features that tell the classes apart on their own, where the data are at hand


def make_table(
    estimate: Estimate,
    names: Sequence[str],
    *,
    positive: Any,
    choice: Choice,
    intervals: FloatArray | None = None,
    frequencies: FloatArray | None = None,
    n_resamples: int | None = None,
    leaks: Sequence[str] = (),
) -> Table:
    """The table of a model; `names`, `intervals` and `frequencies` have one entry per chosen feature."""
    rows = [
        Row(
            feature=str(name),
            index=int(estimate.support[i]),
            coefficient=float(estimate.coefficients[i]),
            deviation=float(estimate.deviations[i]),
            binary=bool(estimate.binary[i]),
            shrinkage=float(estimate.shrinkage[i]),
            interval=None if intervals is None else (float(intervals[i, 0]), float(intervals[i, 1])),
            frequency=None if frequencies is None else float(frequencies[i]),
        )
        for i, name in enumerate(names)
    ]
    return Table(
        positive=shown(positive),
        rows=tuple(sorted(rows, key=_size, reverse=True)),
        intercept=float(estimate.intercept),
        gamma=float(estimate.gamma),
        choice=choice,
        n_resamples=n_resamples,
        leaks=tuple(leaks),
    )


def table_of(solution: Solution, estimate: Estimate) -> Table:
    """The table of a solution's features with their estimates."""
    problem = solution.problem
    return make_table(
        estimate,
        problem.names(estimate.support),
        positive=problem.positive_class,
        choice=Choice.of(solution),
        leaks=problem.names(separating(problem, estimate.support)),
    )


def exponential(value: float) -> float:
    """``exp``, infinite where it overflows."""
    return math.exp(value) if value < 709.0 else math.nan if math.isnan(value) else math.inf


def _size(row: Row) -> tuple[float, float]:
    return (0.0 if math.isnan(row.effect) else abs(row.effect), abs(row.coefficient))
