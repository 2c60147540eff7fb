"""NumPy archives: ``X`` and ``y``, or the parts of a SciPy sparse matrix and ``y``."""

from __future__ import annotations

import zipfile
import zlib
from typing import Any

import numpy as np

from safescreen.sparsity import check_parts
from safescreen.tables.room import check_room
from safescreen.tables.source import Source
from safescreen.tables.table import Table, default_names, most_columns

_MATRIX_NAMES = ("X", "x", "data", "arr_0")
_ABOUT_COLUMNS = ("feature_names", "classes")
_WIDEST_TEXT = 1 << 18  # bytes
_SPARSE_PARTS = {"data", "shape"}


def read_archive(source: Source) -> Table:
    """Read the matrix of an archive, and the vectors beside it."""
    with source.open() as stream:
        try:
            with np.load(stream, allow_pickle=False) as archive:
                check_room(source.name, "takes", sum(part.file_size for part in archive.zip.infolist()))
                _check_texts(archive)
                arrays = {name: np.asarray(archive[name]) for name in archive.files}
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, KeyError, ValueError) as error:
            if "pickle" in str(error):
                raise ValueError(
                    f"{source.name} holds pickled Python objects, which can run code when opened and are refused: save "
                    "plain arrays of numbers and strings."
                ) from None
            raise ValueError(f"{source.name} is truncated, damaged or no NumPy archive ({error}).") from None
    matrix = _find_matrix(source, arrays)
    named = "feature_names" in arrays and arrays["feature_names"].shape == (matrix.shape[1],)
    names = [_printable(str(name)) for name in arrays["feature_names"]] if named else default_names(matrix.shape[1])
    vectors = {
        name: _as_vector(values)
        for name, values in arrays.items()
        if name not in _ABOUT_COLUMNS and values.shape in ((matrix.shape[0],), (matrix.shape[0], 1))
    }
    return Table(source.name, names, named, matrix, arrays=vectors)


def _check_texts(archive: Any) -> None:
    """Refuse texts of a width that nobody writes: zeros compress so well that a small file can fill the memory."""
    for name in archive.zip.namelist():
        with archive.zip.open(name) as member:
            try:
                version = np.lib.format.read_magic(member)
            except ValueError:
                continue  # no array: somebody else's business
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            dtype = read(member)[2]
        if dtype.kind in "SU" and dtype.itemsize > _WIDEST_TEXT:
            raise ValueError(f"the array {name.removesuffix('.npy')!r} has texts of {dtype.itemsize:,} bytes each")


def _find_matrix(source: Source, arrays: dict[str, Any]) -> Any:
    if set(arrays) >= _SPARSE_PARTS and arrays["data"].ndim == 1:
        matrix = _sparse(source, arrays)
    else:
        named = [name for name in _MATRIX_NAMES if name in arrays and arrays[name].ndim == 2]
        found = named or [name for name, values in arrays.items() if values.ndim == 2]
        if not found:
            raise ValueError(
                f"{source.name} has no matrix, only {', '.join(sorted(arrays)) or 'nothing'}: an array 'X' with one "
                "row per sample, or the parts of a SciPy sparse matrix, is needed."
            )
        matrix = arrays[found[0]]
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"{source.name} has a matrix of dtype {matrix.dtype}, but numbers are needed.")
    return matrix


def _sparse(source: Source, arrays: dict[str, Any]) -> Any:
    """A matrix in the layout of scipy.sparse.save_npz; CSR if the archive does not say."""
    from scipy import sparse

    values = arrays["data"]
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{source.name} has a matrix of dtype {values.dtype}, but numbers are needed.")
    layout = next(iter(arrays["format"].reshape(-1).tolist()), "") if "format" in arrays else "csr"
    layout = layout.decode(errors="replace") if isinstance(layout, bytes) else str(layout)
    makers = {"csr": sparse.csr_array, "csc": sparse.csc_array, "coo": sparse.coo_array}
    if layout not in makers:
        raise ValueError(f"{source.name} has a sparse matrix of format {layout!r}, but csr, csc or coo is needed.")
    try:
        shape = _shape(arrays["shape"], values.size)
        coordinates = layout == "coo"
        places = ((arrays["row"], arrays["col"]),) if coordinates else (arrays["indices"], arrays["indptr"])
        _check_places(*(places[0] if coordinates else places))
        values = values if values.dtype.kind == "f" else values.astype(np.float64)
        matrix = makers[layout]((values, *places), shape=shape)
    except (KeyError, ValueError, TypeError, IndexError, OverflowError) as error:
        raise ValueError(f"{source.name} has a damaged sparse matrix ({error}).") from None
    check_parts(f"The matrix of {source.name}", matrix)
    return matrix.tocsr() if coordinates else matrix


def _check_places(*parts: Any) -> None:
    """Indices are integers; SciPy would cut off what is behind the point."""
    wrong = [part.dtype for part in parts if part.dtype.kind not in "iu"]
    if wrong:
        raise ValueError(f"its indices are {wrong[0]}, but must be integers")


def _shape(stated: Any, n_entries: int) -> tuple[int, int]:
    """Rows and columns, no more than so many entries make believable."""
    shape = stated.reshape(-1)[:5].tolist()
    columns = most_columns(n_entries)
    rows = max(columns, 100 * n_entries)
    if stated.dtype.kind not in "iu" or len(shape) != 2 or not (0 <= shape[0] <= rows and 0 <= shape[1] <= columns):
        raise ValueError(f"its shape is {' x '.join(map(str, shape))}, and it has {n_entries:,} entries")
    return shape[0], shape[1]


def _as_vector(values: Any) -> Any:
    """One entry per row; bytes become strings, since labels are text or numbers."""
    flat = values.reshape(-1)
    if flat.dtype.kind == "U" and any(not text.isascii() for text in flat.tolist()):
        return np.array([_printable(text) for text in flat.tolist()])
    return np.char.decode(flat, "utf-8", "replace") if flat.dtype.kind == "S" else flat


def _printable(text: str) -> str:
    """The text with a question mark for half of a surrogate pair, which no file or terminal takes."""
    return text.encode("utf-8", "replace").decode("utf-8")
