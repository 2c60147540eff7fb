"""SVMlight (LIBSVM) files through scikit-learn: one row per line, ``label index:value index:value ... # comment``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

from safescreen.tables.layout import parsed_number
from safescreen.tables.room import CHUNK, Watch, bounded, check_room
from safescreen.tables.source import Source
from safescreen.tables.table import LABELS, MOST_COLUMNS, Table, default_names, most_columns, whole

_BYTES_OF_ENTRY = 16  # or of a label and the end of its row


def read_svmlight(source: Source, first_index: int | None = None) -> Table:
    """Read a sparse matrix and its labels; the first column is called 0 if the file has that index anywhere, else 1."""
    from scipy import sparse
    from sklearn.datasets import load_svmlight_file

    try:
        with source.open() as stream, _watched(source, stream) as lines:
            entries, labels = load_svmlight_file(lines, zero_based=True)
    except (OverflowError, ValueError) as error:
        raise _wrong_line(source, str(error)) from None
    if labels.size == 0:
        raise ValueError(f"{source.name} is empty, but rows with a label and features are needed.")
    smallest, largest = (int(entries.indices.min()), int(entries.indices.max())) if entries.nnz else (1, 1)
    most = most_columns(entries.nnz) if first_index is None else MOST_COLUMNS  # a model's data may be few
    if first_index is None:
        first_index = 0 if smallest == 0 else 1
    if smallest < first_index:
        raise ValueError(f"{source.name} has the index {smallest}, but the model's data began with {first_index}.")
    if largest > most:
        raise ValueError(
            f"{source.name} has the index {largest:,}, but at most {most:,} can be used with so few entries."
        )
    width = largest - first_index + 1
    shifted = (entries.data, entries.indices - first_index, entries.indptr)
    matrix = sparse.csr_array(shifted, shape=(labels.size, width))
    names = default_names(width, first_index)
    return Table(source.name, names, False, matrix, arrays={LABELS: whole(labels)}, first_index=first_index)


def _watched(source: Source, stream: BinaryIO) -> BinaryIO:
    """The lines, unless there are more entries than memory for them."""

    def check_whole(available: int) -> None:
        weight = 0
        with source.open() as content:
            while piece := content.read(CHUNK):
                weight += _weight(piece)
                check_room(source.name, "takes", weight, available)

    return bounded(stream, Watch(check_whole), _weight)


def _weight(piece: bytes) -> int:
    return _BYTES_OF_ENTRY * (piece.count(b":") + piece.count(b"\n"))


def _wrong_line(source: Source, reason: str) -> ValueError:
    """The sentence about the first line with a mistake; the reason does where no mistake is found."""
    with source.open() as stream:
        for number, line in enumerate(stream, 1):
            mistake = _mistake(line.partition(b"#")[0].decode("utf-8", errors="replace").split())
            if mistake:
                return ValueError(f"{source.name} is not in SVMlight format in line {number}: {mistake}.")
    return ValueError(f"{source.name} is not in SVMlight format ({reason}).")


def _mistake(words: Sequence[str]) -> str:
    """What is wrong with the words of a line, empty if nothing is."""
    label, *entries = words or ["0"]
    previous = -1
    for entry in (word for word in entries if not word.startswith("qid:")):
        index, colon, value = entry.partition(":")
        if not colon:
            return "'label index:value index:value ...' is needed"
        if not (index.isascii() and index.isdigit()) or int(index) >= 2**31:
            return f"it has the index {index}, but indices must be integers from 0 to {MOST_COLUMNS:,}"
        if int(index) <= previous:
            return f"the index {index} follows {previous}, but indices must increase"
        previous = int(index)
        if parsed_number(value) is None:
            return f"{value!r} is not a number"
    return f"{label!r} is not a number" if parsed_number(label) is None else ""
