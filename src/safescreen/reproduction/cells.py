"""Tables as data, and how their numbers are written."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from safescreen.reproduction.summary import Row

Text = Callable[[Row], str]

OPEN = "-"
"""How a number is written that the paper, or we, do not have."""


@dataclass(frozen=True)
class Column:
    """A heading (in lines, for the screen), the text of a row's cell, and whether a screen has room for it."""

    heading: str
    text: Text
    on_screen: bool = True


@dataclass(frozen=True)
class Table:
    """Rows of plain numbers, the columns that show them, and what there is to say about them."""

    name: str
    title: str
    columns: list[Column]
    rows: list[Row]
    notes: list[str] = field(default_factory=list)


def number(value: float | None, digits: int = 3) -> str:
    """So many significant digits, without exponents for ordinary sizes."""
    if value is None or math.isnan(value):
        return OPEN
    if value == 0.0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    if magnitude < -5:
        return f"{value:.{digits - 1}e}"
    return f"{value:,.{max(digits - 1 - magnitude, 0)}f}"


def as_printed(name: str) -> Text:
    """A number of the row with the digits it has."""
    return lambda row: OPEN if row.get(name) is None else f"{row[name]:g}"


def fixed(name: str, decimals: int) -> Text:
    """A number of the row with so many decimals."""

    def text(row: Row) -> str:
        value = row.get(name)
        return OPEN if value is None or math.isnan(value) else f"{value:,.{decimals}f}"

    return text


def with_spread(name: str, decimals: int) -> Text:
    """A mean with its standard deviation."""

    def text(row: Row) -> str:
        value, deviation = row.get(name), row.get(f"{name}_std")
        if value is None or math.isnan(value):
            return OPEN
        return f"{value:.{decimals}f}" + (f" ± {deviation:.{decimals}f}" if deviation else "")

    return text


def seconds(kind: str) -> Text:
    """Seconds, with a sign that they are a lower bound, and how many instances were not finished."""

    def text(row: Row) -> str:
        if row.get("missing"):
            return "no data"
        shown = number(row.get(f"{kind}_seconds"))
        total = row.get(f"{kind}_instances", 0) + row.get(f"{kind}_failed", 0)
        limits, failed = row.get(f"{kind}_at_limit", 0), row.get(f"{kind}_failed", 0)
        if limits:
            shown = f"≥ {shown} ({limits}/{total})"
        return f"{shown} ({failed}/{total} failed)" if failed else shown

    return text


def speedup(slow: str, fast: str) -> Text:
    """A mean ratio; a limit on either side makes it a bound."""
    name = f"speedup_{slow}_{fast}"

    def text(row: Row) -> str:
        at_least, at_most = row.get(f"{name}_at_least"), row.get(f"{name}_at_most")
        sign = "~ " if at_least and at_most else "≥ " if at_least else "≤ " if at_most else ""
        shown = number(row.get(name))
        return shown if shown == OPEN else sign + shown

    return text


def count(name: str) -> Text:
    """A whole number."""
    return lambda row: OPEN if row.get(name) is None else f"{row[name]:,}"


def parameter(name: str) -> Text:
    """A parameter as one would type it."""
    return lambda row: f"{row[name]:g}"
