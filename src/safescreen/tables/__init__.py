"""Tables from files: delimited text, Excel, SVMlight, NumPy archives, Parquet, Arrow and Feather.

Formats are recognised by content, each reader loads only what it needs, and wrong files end in one sentence. What
turns a table into numbers, and does so again with new data, is an `Encoding`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from safescreen.tables.archives import read_archive
from safescreen.tables.arrow import read_arrow
from safescreen.tables.encoding import Encoding, Input, Reading
from safescreen.tables.excel import read_excel
from safescreen.tables.layout import Form, find_layout
from safescreen.tables.preparing import Prepared, check_classes, prepare, prepare_test, target_labels
from safescreen.tables.source import Source, kind_of
from safescreen.tables.svmlight import read_svmlight
from safescreen.tables.table import Table, default_names
from safescreen.tables.text import read_text

__all__ = [
    "Encoding",
    "Input",
    "Prepared",
    "Reading",
    "Table",
    "check_classes",
    "column_names",
    "default_names",
    "prepare",
    "prepare_test",
    "read_table",
    "target_labels",
]


def read_table(path: str, *, labels: Collection[str] = (), first_index: int | None = None, **form: Any) -> Table:
    """Read a table from a file or, for ``"-"``, from standard input.

    Parameters
    ----------
    path : str
        The file.
    labels : collection of str
        Columns of text, by name or index, that are kept as text even if they look like numbers.
    first_index : {0, 1}, optional
        What an SVMlight file calls its first column; by default that is found out.
    **form : bool or str, optional
        How the file is written, where it has to be said: `header` (whether the first row has names), `delimiter`,
        `decimal` and `encoding` of text, and the `sheet` of a workbook.

    Returns
    -------
    Table
        The columns as they are.
    """
    said = Form(**form)
    source = Source(path)
    kind = kind_of(source, said.encoding)
    if kind == "text":
        return read_text(source, said, labels)
    if kind == "excel":
        return read_excel(source, said, labels)
    if kind == "svmlight":
        return read_svmlight(source, first_index)
    return read_archive(source) if kind == "npz" else read_arrow(source, kind, labels, said.decimal or ".")


def column_names(path: str) -> list[str]:
    """The column names of a file; of a text file, without reading the rest."""
    source = Source(path)
    if kind_of(source) == "text":
        return find_layout(source, Form()).names or []
    table = read_table(path)
    return table.names if table.named else []
