"""Whether the parts of a sparse matrix fit together.

SciPy's compiled code trusts them: an index out of range is read and written where it points to, which ends the process
at best. Its own ``check_format`` looks at two of the formats, and changes the matrix it looks at.
"""

from __future__ import annotations

from itertools import pairwise
from operator import index
from typing import Any

import numpy as np


def check_parts(name: str, matrix: Any) -> None:
    """Refuse a SciPy sparse matrix with parts that do not fit together; whatever is none passes.

    Parameters
    ----------
    name : str
        What to call the matrix.
    matrix : Any
        The matrix, which is not changed.
    """
    if not hasattr(matrix, "tocsr") or not hasattr(matrix, "format"):
        return
    try:
        fault = _fault(matrix)
    except (AttributeError, TypeError, ValueError, IndexError, OverflowError) as error:
        fault = f"its parts cannot be read: {' '.join(str(error).split())}"
    if fault:
        raise ValueError(f"{name} is a damaged sparse matrix ({fault}): make it again from sound parts.")


def _fault(matrix: Any) -> str:
    """What is wrong, empty if nothing is."""
    if len(matrix.shape) != 2:
        return ""  # the shape is somebody else's business
    if np.ma.is_masked(getattr(matrix, "data", None)):
        return "some of its values are masked"
    if matrix.format in ("csr", "csc", "bsr"):
        return _compressed_fault(matrix)
    if matrix.format == "coo":
        coordinates = getattr(matrix, "coords", None) or (matrix.row, matrix.col)
        if len(coordinates) != 2:
            return f"its entries have {len(coordinates)} coordinates"
        sizes = {np.shape(part) for part in (matrix.data, *coordinates)}
        if len(sizes) != 1:
            return "values, rows and columns are not equally many"
        return next(filter(None, map(_range_fault, coordinates, matrix.shape)), "")
    if matrix.format == "lil":
        return _lists_fault(matrix)
    if matrix.format == "dia":
        return _diagonals_fault(matrix)
    if matrix.format == "dok":
        return next((f"there is no place {key}" for key in matrix.keys() if not _inside(key, matrix.shape)), "")  # noqa: SIM118
    return ""


def _compressed_fault(matrix: Any) -> str:
    """What is wrong with compressed rows, columns or blocks."""
    rows, columns = matrix.shape
    if matrix.format == "bsr":
        height, width = matrix.data.shape[1:]
        if height < 1 or width < 1 or rows % height or columns % width:
            return "its blocks do not fit into its shape"
        rows, columns = rows // height, columns // width
    elif np.ndim(matrix.data) != 1:
        return "its values are not a vector"
    lines, width = (columns, rows) if matrix.format == "csc" else (rows, columns)
    starts, indices = matrix.indptr, matrix.indices
    if not all(isinstance(part, np.ndarray) for part in (starts, indices, matrix.data)):
        return "indptr, indices and data must be arrays"
    if starts.dtype.kind not in "iu" or starts.shape != (lines + 1,):
        return f"indptr must have {lines + 1} integers"
    if starts[0] != 0 or any((piece[1:] < piece[:-1]).any() for piece in _overlapping(starts)):
        return "indptr must begin with 0 and never fall"
    if indices.ndim != 1 or len(indices) != len(matrix.data) or starts[-1] > indices.size:
        return "indptr, indices and data must be about equally many entries"
    return _range_fault(indices[: int(starts[-1])], width)


def _overlapping(values: Any, step: int = 1 << 20) -> Any:
    """Pieces of a vector, each with the first entry of the next one, so that no mask is as long as the vector."""
    bounds = [*range(0, values.size - 1, step), values.size - 1]
    return (values[first : last + 1] for first, last in pairwise(bounds))


def _range_fault(indices: Any, length: int) -> str:
    """Indices are integers from 0 to the length, which does not belong to them."""
    indices = np.asarray(indices)
    if indices.dtype.kind not in "iu":
        return f"an index is a {indices.dtype}"
    if not indices.size:
        return ""
    smallest, largest = int(indices.min()), int(indices.max())
    if smallest >= 0 and largest < length:
        return ""
    wrong = smallest if smallest < 0 else largest
    return f"it has the index {wrong}, but indices must be from 0 to {length - 1}"


def _diagonals_fault(matrix: Any) -> str:
    """What is wrong with diagonals."""
    offsets = np.asarray(matrix.offsets)
    if np.ndim(matrix.data) != 2 or offsets.shape != np.shape(matrix.data)[:1]:
        return "there is not one offset per diagonal"
    if offsets.dtype.kind not in "iu":
        return f"an offset is a {offsets.dtype}"
    return "two diagonals have the same offset" if np.unique(offsets).size < offsets.size else ""


def _lists_fault(matrix: Any) -> str:
    """What is wrong with rows that are lists."""
    rows, columns = matrix.shape
    if np.shape(matrix.rows) != (rows,) or np.shape(matrix.data) != (rows,):
        return f"there must be lists for {rows} rows"
    for indices, values in zip(matrix.rows, matrix.data, strict=True):
        if len(indices) != len(values):
            return "a row does not have one value per index"
        if not all(_inside((place,), (columns,)) for place in indices):
            return f"a row has an index that is not from 0 to {columns - 1}"
    return ""


def _inside(place: Any, shape: tuple[int, ...]) -> bool:
    """Whether there is such an entry."""
    return len(place) == len(shape) and all(0 <= index(i) < size for i, size in zip(place, shape, strict=True))
