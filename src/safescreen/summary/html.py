"""A model's table for notebooks."""

from __future__ import annotations

from safescreen.formatting.cards import table_card
from safescreen.summary.cells import cells, heads, notes, provenance, size, title
from safescreen.summary.table import Table


def as_html(table: Table) -> str:
    """The table as a card."""
    columns = tuple(str(head) for head in heads(table))
    return table_card(title(table), size(table), provenance(table), columns, cells(table), notes(table))
