"""SVMlight (LIBSVM) files: one row per line, ``label index:value index:value ... # comment``."""

from __future__ import annotations

import io
import re

import numpy as np

from safescreen.tables.source import Source
from safescreen.tables.table import Table, default_names

LABELS = "y"
SUFFIXES = (".svm", ".svmlight", ".libsvm")

_FIRST_LINE = re.compile(r"\s*[-+\w.]+(\s+qid:\d+)?(\s+\d+:[^\s,;]+)+\s*(#.*)?$")
_QUERY = re.compile(r"\bqid:\S+")
_ENTRIES_AT_ONCE = 1_000_000


def looks_like_svmlight(source: Source) -> bool:
    """Whether the name or the first line says so."""
    if source.suffix in SUFFIXES:
        return True
    lines = source.head.decode("utf-8", errors="replace").splitlines()
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    return _FIRST_LINE.match(first) is not None


def read_svmlight(source: Source, first_index: int | None = None) -> Table:
    """Read a sparse matrix and its labels.

    Parameters
    ----------
    source : Source
        The file.
    first_index : {0, 1}, optional
        What the first column is called. By default it is 0 if the file has that index anywhere, else 1.
    """
    from scipy import sparse

    columns, values, starts, labels = _read_entries(source)
    smallest = int(columns.min()) if columns.size else 1
    if first_index is None:
        first_index = 0 if smallest == 0 else 1
    if smallest < first_index:
        raise ValueError(f"{source.name} has the index {smallest}, but the model's data began with {first_index}.")
    width = int(columns.max()) - first_index + 1 if columns.size else 1
    matrix = sparse.csr_array((values, columns - first_index, starts), shape=(labels.size, width))
    matrix.sum_duplicates()
    names = default_names(width, first_index)
    return Table(source.name, names, False, matrix, arrays={LABELS: labels}, first_index=first_index)


def _read_entries(source: Source) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Column indices, values, where each row starts, and the labels."""
    pieces: list[np.ndarray] = []
    lengths: list[int] = []
    tokens: list[str] = []
    with source.open() as raw, io.TextIOWrapper(raw, encoding="utf-8", errors="replace") as text:
        for number, line in enumerate(text, 1):
            row = line.partition("#")[0].strip()
            if not row:
                continue
            if "qid:" in row:
                row = _QUERY.sub("", row)
            fields = row.replace(":", " ").split()
            entries = row.count(":")
            if len(fields) != 2 * entries + 1:
                raise _wrong(source, number, "'label index:value index:value ...' is needed")
            lengths.append(entries)
            tokens += fields
            if len(tokens) > _ENTRIES_AT_ONCE:
                pieces.append(_numbers(source, tokens))
                tokens = []
    pieces.append(_numbers(source, tokens))
    if not lengths:
        raise ValueError(f"{source.name} is empty, but rows with a label and features are needed.")
    return _split(source, np.concatenate(pieces), np.array(lengths))


def _numbers(source: Source, tokens: list[str]) -> np.ndarray:
    try:
        return np.fromiter(map(float, tokens), np.float64, count=len(tokens))
    except ValueError:
        raise _find_wrong_number(source) from None


def _split(
    source: Source, numbers: np.ndarray, lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Labels, indices and values from the numbers in their order."""
    starts = np.concatenate(([0], np.cumsum(lengths)))
    is_label = np.zeros(numbers.size, dtype=bool)
    is_label[2 * starts[:-1] + np.arange(lengths.size)] = True
    rest = numbers[~is_label]
    indices, values = rest[0::2], rest[1::2]
    if not ((indices >= 0) & (indices == np.floor(indices)) & (indices < 2**31)).all():
        wrong = indices[~((indices >= 0) & (indices == np.floor(indices)) & (indices < 2**31))][0]
        raise ValueError(f"{source.name} has the index {wrong:g}, but indices must be integers >= 0.")
    labels = numbers[is_label]
    if (labels == np.floor(labels)).all() and np.abs(labels).max() < 2**53:
        labels = labels.astype(np.int64)
    return indices.astype(np.int64), values, starts, labels


def _find_wrong_number(source: Source) -> ValueError:
    """The sentence about the first field that is not a number."""
    with source.open() as raw, io.TextIOWrapper(raw, encoding="utf-8", errors="replace") as text:
        for number, line in enumerate(text, 1):
            for field in _QUERY.sub("", line.partition("#")[0]).replace(":", " ").split():
                try:
                    float(field)
                except ValueError:
                    return _wrong(source, number, f"{field!r} is not a number")
    raise AssertionError("All fields are numbers after all.")


def _wrong(source: Source, line: int, what: str) -> ValueError:
    return ValueError(f"{source.name} is not in SVMlight format in line {line}: {what}.")
