"""Tables as data, and how they are written: numbers, CSV, Markdown, on screen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from safescreen.formatting.digits import duration
from safescreen.reproduction.results import Row

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table as RichTable

OPEN = "-"
"""How a number is written that the paper, or we, do not have."""


@dataclass(frozen=True)
class Column:
    """A heading (in lines, for the screen), the number it shows and how, and whether a screen has room for it.

    ``form`` is a format specification, also used for the standard deviation if the row has one, or a function of the
    row and the name.
    """

    heading: str
    name: str
    form: str | Callable[[Row, str], str]
    on_screen: bool = True

    def text(self, row: Row) -> str:
        """The cell of a row."""
        if callable(self.form):
            return self.form(row, self.name)
        if _unknown(row.get(self.name)):
            return OPEN
        deviation = row.get(f"{self.name}_std")
        return format(row[self.name], self.form) + (f" ± {deviation:{self.form}}" if deviation else "")


@dataclass(frozen=True)
class Table:
    """Rows of plain numbers, the columns that show them, and what there is to say about them."""

    name: str
    title: str
    columns: list[Column]
    rows: list[Row]
    notes: list[str]


def _unknown(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def as_frame(rows: list[Row]) -> pd.DataFrame:
    """The rows as columns of numbers, NaN where there is none."""
    import pandas as pd

    return pd.DataFrame(rows).replace({None: math.nan}).infer_objects()


def geometric_mean(ratios: pd.Series) -> float:
    """Over the ratios that are known, positive and finite."""
    usable = ratios[(ratios > 0.0) & (ratios < math.inf)]
    return math.exp(usable.map(math.log).mean())


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


def solve_seconds(row: Row, kind: str) -> str:
    """Seconds, with a sign that they are a lower bound, and how many instances were not finished."""
    if row.get("missing"):
        return "no data"
    shown = number(row.get(f"{kind}_seconds"))
    limits, failed = row.get(f"{kind}_at_limit", 0), row.get(f"{kind}_failed", 0)
    total = row.get(f"{kind}_instances", 0) + failed
    if limits:
        shown = f"≥ {shown} ({limits}/{total})"
    return f"{shown} ({failed}/{total} failed)" if failed else shown


def mean_ratio(row: Row, name: str) -> str:
    """A mean ratio; a limit on either side makes it a bound."""
    at_least, at_most = row.get(f"{name}_at_least"), row.get(f"{name}_at_most")
    sign = "~ " if at_least and at_most else "≥ " if at_least else "≤ " if at_most else ""
    shown = number(row.get(name))
    return shown if shown == OPEN else sign + shown


def as_csv(table: Table) -> str:
    """All numbers of the rows, more than the columns show."""
    import pandas as pd

    text: str = pd.DataFrame(table.rows, dtype=object).to_csv(index=False, lineterminator="\n")
    return text


def as_markdown(table: Table) -> str:
    """The table with its notes."""
    headings = [column.heading.replace("\n", " ") for column in table.columns]
    lines = [f"## {table.title}", "", _line(headings), "|" + "---:|" * len(headings)]
    lines += [_line([column.text(row) for column in table.columns]) for row in table.rows]
    return "\n".join([*lines, "", *(f"- {note}" for note in table.notes)]) + "\n"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def as_report(tables: Sequence[Table], command: str, machines: Sequence[str], seconds: float, pictures: bool) -> str:
    """Everything on one page: command, machine, tables and pictures."""
    parts = [
        "# Reproduction of Deza and Atamtürk (2022)\n",
        f"Written by `{command}`. Measured on {' and '.join(machines) or 'nothing yet'}; one thread a solve. All "
        f"measurements together took {duration(seconds)} of one core.\n",
    ]
    for table in tables:
        parts.append(as_markdown(table))
        if pictures:
            parts.append(f"![{table.title.partition(', relative gap')[0]}]({table.name}.svg)\n")
    return "\n".join(parts)


def as_rich(table: Table) -> RichTable:
    """The table for the screen."""
    from rich import box
    from rich.table import Table as RichTable

    shown = [column for column in table.columns if column.on_screen]
    rich = RichTable(title=table.title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for place, column in enumerate(shown):
        rich.add_column(column.heading, justify="right", overflow="fold", no_wrap=place == 0)
    for row in table.rows:
        limited = any(value for name, value in row.items() if name.endswith(("_at_limit", "_failed")))
        rich.add_row(*(column.text(row) for column in shown), style="yellow" if limited else None)
    return rich
