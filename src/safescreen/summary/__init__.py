"""What a statistician expects to read of a model: one table for every surface, and the equation for other programs."""

from safescreen.summary.equation import equation
from safescreen.summary.result import Summary
from safescreen.summary.table import Row, Table, make_table, table_of

__all__ = ["Row", "Summary", "Table", "equation", "make_table", "table_of"]
