"""From measurements to the numbers of a row: means over seeds, with every instance accounted for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, geometric_mean, stdev
from typing import Any

from safescreen.reproduction.experiments import Choice, Instance, Task, seeds_of
from safescreen.reproduction.results import FAILED, LIMIT, Result, Results

Row = dict[str, Any]


class Measured:
    """The results of one setting, seed by seed."""

    def __init__(self, results: Results, choice: Choice, setting: Instance, few: bool = False) -> None:
        self._results = results
        self._choice = choice
        self.instances = seeds_of(setting, choice, few)

    def of(self, kind: str) -> list[Result | None]:
        """One result per seed, None where there is none."""
        choice = self._choice
        return [self._results.shown(Task(i, kind, choice.gap, choice.time_limit)) for i in self.instances]

    def usable(self, kind: str) -> list[Result | None]:
        """The same without failures."""
        return [None if result is None or result["status"] == FAILED else result for result in self.of(kind)]

    def gaps(self, bound: str) -> list[float]:
        """Integrality gaps in per cent: between the best model found and a relaxation's bound."""
        pairs = zip(self.usable("nodes"), self.usable("roots"), strict=True)
        return [100.0 * (1.0 - root[bound] / best["objective"]) for best, root in pairs if best and root]

    def values(self, kind: str, name: str) -> list[float]:
        """One number per instance that has it."""
        return [float(result[name]) for result in self.usable(kind) if result is not None and name in result]

    def timing(self, kind: str) -> Row:
        """Mean seconds and nodes of a solver, and how many instances it did not finish."""
        results = self.of(kind)
        usable = [result for result in results if result is not None and result["status"] != FAILED]
        limits = sum(result["status"] == LIMIT for result in usable)
        return {
            f"{kind}_seconds": mean(result["seconds"] for result in usable),
            f"{kind}_nodes": mean(result["nodes"] for result in usable),
            f"{kind}_instances": len(usable),
            f"{kind}_at_limit": limits,
            f"{kind}_failed": sum(result is not None and result["status"] == FAILED for result in results),
            f"{kind}_worst_gap": max((_gap(result) for result in usable), default=math.nan),
        }

    def speedup(self, slow: str, fast: str) -> Row:
        """Mean over the instances of the ratio of seconds, as in the paper; ``at_least`` if ``slow`` hit its limit."""
        pairs = [(a, b) for a, b in zip(self.usable(slow), self.usable(fast), strict=True) if a and b]
        name = f"speedup_{slow}_{fast}"
        return {
            name: mean(a["seconds"] / max(b["seconds"], 1e-9) for a, b in pairs),
            f"{name}_at_least": any(a["status"] == LIMIT for a, _ in pairs),
            f"{name}_at_most": any(b["status"] == LIMIT for _, b in pairs),
        }


def _gap(result: Result) -> float:
    return float(max(result["objective"] - result["lower_bound"], 0.0) / abs(result["objective"]))


def mean(values: Iterable[float]) -> float:
    """Arithmetic mean, NaN of nothing."""
    found = list(values)
    return fmean(found) if found else math.nan


def spread(values: Sequence[float]) -> float:
    """Standard deviation over seeds, 0 of a single one."""
    if not values:
        return math.nan
    return stdev(values) if len(values) > 1 else 0.0


def geomean(values: Iterable[float | None]) -> float:
    """Geometric mean of what is positive and known, NaN of nothing."""
    found = [value for value in values if value is not None and math.isfinite(value) and value > 0.0]
    return geometric_mean(found) if found else math.nan
