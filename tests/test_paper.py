"""The paper's synthetic settings: integrality gaps, optimal objectives and screening, as recorded elsewhere."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import safescreen as ss
from problems import synthetic

FLOOR = Path(__file__).parent.parent / "benchmarks" / "floor"
QUICK = 0.2  # seconds that a setting may have taken when it was recorded, to be solved here


def rows(name: str) -> list[dict[str, str]]:
    with (FLOOR / f"{name}.csv").open(newline="") as lines:
        return list(csv.DictReader(lines))


def problem(row: dict[str, str]) -> ss.Problem:
    features = int(row.get("n", 500))
    terms = {"mu": float(row["mu"])} if "mu" in row else {"k": 50}
    return synthetic(int(row["m"]), features, 1000.0, int(row["seed"]), relevant=50, gamma=float(row["gamma"]), **terms)


def label(row: dict[str, str]) -> str:
    return "-".join(row[key] for key in ("mu", "n", "m", "gamma") if key in row)


@pytest.mark.parametrize("row", rows("reg") + rows("card"), ids=label)
def test_integrality_gap(row):
    """The gap between relaxation and optimum, in per cent, to the four digits on record."""
    relaxation = ss.relax(problem(row))
    assert relaxation.value - relaxation.lower_bound <= 1e-9 * relaxation.value
    gap = 100.0 * (1.0 - relaxation.lower_bound / float(row["objective"]))
    assert gap == pytest.approx(float(row["gap_percent"]), abs=6e-5)


@pytest.mark.parametrize(
    "row",
    [row for row in rows("reg") if float(row["seconds_cached_gram"]) <= QUICK]
    + [row for row in rows("card") if float(row["seconds"]) <= QUICK],
    ids=label,
)
def test_optimum_and_screening(row):
    solution = ss.solve(problem(row), rel_gap=1e-6)
    assert solution.status == "optimal"
    recorded, accuracy = float(row["objective"]), 1e-6 if "mu" in row else 1e-4
    assert recorded * (1.0 - 1.01 * accuracy) <= solution.objective <= recorded * (1.0 + 1.01e-6)
    assert solution.lower_bound <= recorded + 1e-9
    assert solution.screening.percent >= float(row["screened_percent"]) - 0.1
