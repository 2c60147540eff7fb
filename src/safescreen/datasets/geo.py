"""Series-matrix files of the Gene Expression Omnibus (GEO): expression values, and labels from what samples are called.

The format: lines ``!Sample_...`` with one quoted cell per sample, then a tab-separated table between
``!series_matrix_table_begin`` and ``!series_matrix_table_end`` with one row per probe.
"""

from __future__ import annotations

import csv
import gzip
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

_MISSING = {"", "na", "nan", "null", "none", "n/a"}
_BEGIN, _END = "!series_matrix_table_begin", "!series_matrix_table_end"
_GZIP = b"\x1f\x8b"

_NORMAL = re.compile(
    r"\b(normal|healthy|non[- _]?(tumou?r|cancer(ous)?|malignant|neoplastic)|control|adjacent)", re.IGNORECASE
)
_TUMOUR = re.compile(r"(tumou?r|cancer|carcinoma|neoplas|malignan)", re.IGNORECASE)
_LABEL_LINES = ("!sample_characteristics", "!sample_source_name", "!sample_title", "!sample_description")
"""Where labels are looked for, the most telling first."""


@dataclass(frozen=True)
class SeriesMatrix:
    """The content of a series-matrix file.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_probes)
        Expression values; missing ones are NaN.
    probes : ndarray of str
        Probe identifiers.
    samples : ndarray of str
        Sample accessions.
    annotations : list of (str, list of str)
        The ``!Sample_...`` lines: name, and one cell per sample.
    """

    values: npt.NDArray[np.float64]
    probes: npt.NDArray[np.str_]
    samples: npt.NDArray[np.str_]
    annotations: list[tuple[str, list[str]]]

    def tumour_labels(self) -> npt.NDArray[np.int8]:
        """1 for tumours, -1 for normal tissue, from the first annotation that tells one from the other everywhere."""
        for wanted in _LABEL_LINES:
            for name, cells in self.annotations:
                if name.lower().startswith(wanted) and len(cells) == self.samples.size:
                    labels = np.array([_label(cell) for cell in cells], dtype=np.int8)
                    if labels.all() and labels.min() != labels.max():
                        return labels
        raise ValueError(
            f"none of the {len(self.annotations)} sample annotations tells tumours from normal tissue for all "
            f"{self.samples.size} samples: give a series matrix with such samples, e.g. that of GSE10072."
        )

    def filled(self) -> npt.NDArray[np.float64]:
        """The values with missing ones replaced by the mean of their probe (0 where a probe has no value at all)."""
        values = self.values.copy()
        unknown = np.isnan(values)
        if unknown.any():
            known = np.maximum((~unknown).sum(axis=0), 1)
            means = np.where(unknown, 0.0, values).sum(axis=0) / known
            values[unknown] = np.broadcast_to(means, values.shape)[unknown]
        return values


def _label(cell: str) -> int:
    """1, -1, or 0 where a cell does not tell; 'non-tumor' and 'adjacent to tumor' are normal tissue."""
    if _NORMAL.search(cell):
        return -1
    return 1 if _TUMOUR.search(cell) else 0


def read_series_matrix(path: str | os.PathLike[str]) -> SeriesMatrix:
    """Read a series-matrix file, plain or compressed.

    Parameters
    ----------
    path : path-like
        The file as GEO offers it (``..._series_matrix.txt.gz``) or unpacked.

    Returns
    -------
    SeriesMatrix
        Values, identifiers and annotations.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is damaged or no series matrix: one sentence that names the line.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}: name a GEO series matrix (.txt or .txt.gz).")
    return _parse(_lines(path), path.name)


def _lines(path: Path) -> Iterator[str]:
    """The lines of the file, unpacked if its first bytes say that it is compressed."""
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
    try:
        with gzip.open(path, "rt", encoding="utf-8") if packed else path.open(encoding="utf-8") as text:
            yield from text
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path.name} is a damaged archive ({error}): download it again.") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path.name} is not a text file, but a GEO series matrix is needed.") from None


def _parse(lines: Iterator[str], name: str) -> SeriesMatrix:
    annotations: list[tuple[str, list[str]]] = []
    rows: list[tuple[int, list[str]]] = []
    state = "before"
    reader = csv.reader(lines, delimiter="\t", quotechar='"')
    for cells in reader:
        start = cells[0].strip().lower() if cells else ""
        if state == "before" and start.startswith("!sample_"):
            annotations.append((cells[0].strip(), [cell.strip() for cell in cells[1:]]))
        elif state == "before" and start == _BEGIN:
            state = "table"
        elif state == "table" and start == _END:
            state = "after"
            break
        elif state == "table" and any(cell.strip() for cell in cells):
            rows.append((reader.line_num, cells))
    if state == "before":
        raise ValueError(f"{name} has no line {_BEGIN}: it is not a GEO series matrix.")
    if state == "table":
        raise ValueError(f"{name} ends before {_END}: the download was cut off, so get it again.")
    return _table(rows, annotations, name)


def _table(rows: list[tuple[int, list[str]]], annotations: list[tuple[str, list[str]]], name: str) -> SeriesMatrix:
    """The numbers between begin and end; every row comes with the number of its line."""
    if len(rows) < 2 or len(rows[0][1]) < 2:
        raise ValueError(f"{name} has a table without probes or without samples.")
    samples = np.array([cell.strip() for cell in rows[0][1][1:]], dtype=np.str_)
    values = np.empty((len(rows) - 1, samples.size))
    for target, (line, row) in zip(values, rows[1:], strict=True):
        if len(row) != samples.size + 1:
            raise ValueError(f"{name} has {len(row) - 1} values in line {line}, but {samples.size} samples.")
        target[:] = _numbers(row[1:], name, line)
    probes = np.array([row[0].strip() for _, row in rows[1:]], dtype=np.str_)
    if np.unique(probes).size != probes.size:
        raise ValueError(f"{name} has the same probe in several lines, but every probe must appear once.")
    return SeriesMatrix(np.ascontiguousarray(values.T), probes, samples, annotations)


def _numbers(cells: list[str], name: str, line: int) -> list[float]:
    """The values of a probe; what counts as missing is NaN, and nothing else may be."""
    found = []
    for cell in cells:
        text = cell.strip()
        if text.lower() in _MISSING:
            found.append(float("nan"))
            continue
        try:
            value = float(text)
        except ValueError:
            raise ValueError(f"{name} has {text!r} in line {line}, where a number is needed.") from None
        if not np.isfinite(value):
            raise ValueError(f"{name} has {text!r} in line {line}, where a finite number is needed.")
        found.append(value)
    return found
