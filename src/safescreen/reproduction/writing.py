"""Tables as CSV, Markdown and on screen; every file is written under a temporary name and renamed."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safescreen.reproduction.cells import Table
from safescreen.reproduction.display import clock

if TYPE_CHECKING:
    from rich.table import Table as RichTable


def replace_text(path: Path, text: str) -> None:
    """Write a text file at once or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    temporary.write_text(text, encoding="utf-8", newline="\n")
    temporary.replace(path)


def as_csv(table: Table) -> str:
    """All numbers of the rows, more than the columns show."""
    buffer = io.StringIO()
    names = list(dict.fromkeys(name for row in table.rows for name in row))
    writer = csv.DictWriter(buffer, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _blank(value) for name, value in row.items()} for row in table.rows)
    return buffer.getvalue()


def _blank(value: Any) -> Any:
    unknown = value is None or (isinstance(value, float) and math.isnan(value))
    return "" if unknown else value


def as_markdown(table: Table) -> str:
    """The table with its notes."""
    headings = [column.heading.replace("\n", " ") for column in table.columns]
    lines = [f"## {table.title}", "", _line(headings), "|" + "---:|" * len(headings)]
    lines += [_line([column.text(row) for column in table.columns]) for row in table.rows]
    return "\n".join([*lines, "", *(f"- {note}" for note in table.notes)]) + "\n"


def as_report(tables: Sequence[Table], command: str, machines: Sequence[str], seconds: float, pictures: bool) -> str:
    """Everything on one page: command, machine, tables and pictures."""
    parts = [
        "# Reproduction of Deza and Atamtürk (2022)\n",
        f"Written by `{command}`. Measured on {' and '.join(machines) or 'nothing yet'}; one thread a solve. All "
        f"measurements together took {clock(seconds)} of one core.\n",
    ]
    for table in tables:
        parts.append(as_markdown(table))
        if pictures:
            parts.append(f"![{table.title.partition(', relative gap')[0]}]({table.name}.png)\n")
    return "\n".join(parts)


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def as_rich(table: Table) -> RichTable:
    """The table for the screen."""
    from rich import box
    from rich.table import Table as RichTable

    shown = [column for column in table.columns if column.on_screen]
    rich = RichTable(title=table.title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for number, column in enumerate(shown):
        rich.add_column(column.heading, justify="right", overflow="fold", no_wrap=number == 0)
    for row in table.rows:
        limited = any(value for name, value in row.items() if name.endswith(("_at_limit", "_failed")))
        rich.add_row(*(column.text(row) for column in shown), style="yellow" if limited else None)
    return rich
