"""A model's table as plain text, columns aligned."""

from __future__ import annotations

import textwrap
from unicodedata import combining, east_asian_width

from safescreen.formatting.escaping import shortened
from safescreen.summary.cells import cells, heads, notes, provenance, size, title
from safescreen.summary.table import Table

_LONGEST_NAME = 40
_GAP = "  "
_NARROWEST = 72


def as_text(table: Table) -> str:
    """The table with what stands above and below it."""
    columns = heads(table)
    lines = [tuple(shortened(printable(cell), _LONGEST_NAME) for cell in line) for line in cells(table)]
    head = [tuple(column.title for column in columns), tuple(column.remark for column in columns)]
    widths = [max(width(line[place]) for line in (*head, *lines)) for place in range(len(columns))]
    ruled = "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    body = [_line(line, widths) for line in lines]
    wide = max(len(ruled), _NARROWEST)
    above = [f"{printable(title(table))}: {size(table)}.", provenance(table)]
    return "\n".join(
        [
            *(part for line in above for part in textwrap.wrap(line, wide)),
            "",
            *(_line(line, widths) for line in head),
            ruled,
            *body,
            ruled,
            *(part for note in notes(table) for part in textwrap.wrap(note, wide, subsequent_indent=_GAP)),
        ]
    )


def printable(text: str) -> str:
    """Text that keeps to its line: names may hold line breaks and whatever else a terminal would obey."""
    return "".join(letter if letter.isprintable() or letter == "\u00a0" else "\ufffd" for letter in text)


def width(text: str) -> int:
    """Columns that a text takes up in a terminal."""
    return sum(0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def _line(line: tuple[str, ...], widths: list[int]) -> str:
    """Names to the left, numbers to the right."""
    first = line[0] + " " * (widths[0] - width(line[0]))
    rest = (" " * (size - width(cell)) + cell for cell, size in zip(line[1:], widths[1:], strict=True))
    return _GAP.join((first, *rest)).rstrip()
