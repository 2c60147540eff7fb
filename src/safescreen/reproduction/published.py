"""The tables of the paper, as printed."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources

Cell = float | str | None

FILES = {
    "table1": "table1_reg_gaps.csv",
    "table2": "table2_card_gaps.csv",
    "table3": "table3_reg_times.csv",
    "table4": "table4_card_times.csv",
    "table5": "table5_real.csv",
}

KEYS = {
    "table1": ("mu", "m", "gamma"),
    "table2": ("k_over_n", "m", "gamma"),
    "table3": ("mu", "m", "gamma"),
    "table4": ("k_over_n", "m", "gamma"),
    "table5": ("dataset", "mu", "gamma"),
}


@cache
def published(table: str) -> dict[tuple[Cell, ...], dict[str, Cell]]:
    """A table of the paper by its setting; numbers are floats, and what the paper leaves open is None."""
    source = resources.files(__package__) / "published" / FILES[table]
    rows = csv.DictReader(source.read_text(encoding="utf-8").splitlines())
    cells = [{name: _cell(text) for name, text in row.items()} for row in rows]
    return {tuple(row[name] for name in KEYS[table]): row for row in cells}


def _cell(text: str) -> Cell:
    if text == "":
        return None
    try:
        return float(text)
    except ValueError:
        return text
