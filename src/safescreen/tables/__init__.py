"""Tables from files: delimited text, SVMlight, NumPy archives, Parquet, Arrow and Feather.

Formats are recognised by content, each reader loads only what it needs, and wrong files end in one sentence. What
turns a table into numbers, and does so again with new data, is an `Encoding`.
"""

from __future__ import annotations

from collections.abc import Collection

from safescreen.tables.encoding import Encoding, Input, Reading
from safescreen.tables.preparing import Prepared, prepare, target_labels
from safescreen.tables.source import Source, kind_of
from safescreen.tables.table import Table, default_names, missing

__all__ = [
    "Encoding",
    "Input",
    "Prepared",
    "Reading",
    "Source",
    "Table",
    "column_names",
    "default_names",
    "missing",
    "prepare",
    "read_table",
    "target_labels",
]


def read_table(
    path: str, *, header: bool | None = None, labels: Collection[str] = (), first_index: int | None = None
) -> Table:
    """Read a table from a file or, for ``"-"``, from standard input.

    Parameters
    ----------
    path : str
        The file.
    header : bool, optional
        Whether a text file's first row has names; by default that is found out.
    labels : collection of str
        Columns of a text file, by name or index, that are kept as text even if they look like numbers.
    first_index : {0, 1}, optional
        What an SVMlight file calls its first column; by default that is found out.

    Returns
    -------
    Table
        The columns as they are.
    """
    source = Source(path)
    kind = kind_of(source)
    if kind == "npz":
        from safescreen.tables.archives import read_archive

        return read_archive(source)
    if kind != "text":
        from safescreen.tables.arrow import read_arrow

        return read_arrow(source, kind)
    from safescreen.tables.svmlight import looks_like_svmlight, read_svmlight

    if looks_like_svmlight(source):
        return read_svmlight(source, first_index)
    from safescreen.tables.text import read_text

    return read_text(source, header, labels)


def column_names(path: str) -> list[str]:
    """The column names of a text file, without reading the rest."""
    source = Source(path)
    if kind_of(source) != "text":
        return read_table(path).names
    from safescreen.tables.text import read_names

    return read_names(source)
