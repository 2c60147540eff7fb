"""Matrices that are held elsewhere: on a device, on disk or on a cluster.

They are recognised by the library they come from, so that none of these libraries is imported for those who do not
have it. What such a matrix cannot be asked without a pass over it, whether its entries are finite, its own design finds
out in a pass that it makes anyway.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from safescreen.tuning import WORKING_BYTES

DEVICE, DISK, CLUSTER = "device", "disk", "cluster"

LARGEST_VALUE = 1e150
"""Entries beyond this would overflow when squared."""

LOADED_BYTES = WORKING_BYTES // 2
"""A matrix on disk up to this size is taken into memory, or left to the system if it is mapped there: passes over a
file against memory that everybody has."""

_PLACES = {"torch": DEVICE, "cupy": DEVICE, "cupyx": DEVICE, "zarr": DISK, "pyarrow": DISK, "dask": CLUSTER}


def place_of(X: Any) -> str | None:
    """Where a matrix is held: on a device, on disk or on a cluster; None if it lies in memory like any other.

    A small memory map is like an array in memory: it is how joblib hands arrays to its workers.
    """
    if isinstance(X, np.memmap):
        return DISK if getattr(X, "_mmap", None) is not None and not is_loaded(X.nbytes) else None
    if is_arrow(X):
        return DISK
    return _PLACES.get(_library(X)) if hasattr(X, "shape") else None


def is_loaded(nbytes: int) -> bool:
    """Whether a matrix on disk is so small that it is treated as one in memory."""
    return nbytes <= LOADED_BYTES


def is_arrow(X: Any) -> bool:
    """Whether this is a table of Arrow: in memory, in a Parquet file, or a dataset of files."""
    return _library(X) == "pyarrow" and hasattr(X, "schema")


def _library(X: Any) -> str:
    return type(X).__module__.partition(".")[0]


def entry_type(X: Any) -> np.dtype[Any]:
    """The type of its entries, as NumPy calls it; a `TypeError` if NumPy has none."""
    name = str(X.dtype).rpartition(".")[2]  # torch.float32
    try:
        return np.dtype(name)
    except TypeError:
        raise TypeError(
            f"X has dtype {X.dtype}, but only boolean, integer and real floating-point dtypes are allowed."
        ) from None


def on_host(values: Any) -> Any:
    """Labels or weights that lie on a device, as a NumPy array; anything else as it is."""
    if place_of(values) != DEVICE:
        return values
    if not hasattr(values, "detach"):
        return values.get()
    tensor = values.detach().cpu()
    return (tensor.double() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()


def check_known_shape(X: Any) -> None:
    """Refuse tables of Dask, and arrays in chunks whose sizes nobody knows yet: whoever has them can find out."""
    if place_of(X) != CLUSTER:
        return
    if not hasattr(X, "dtype"):
        raise TypeError(f"X is a Dask {type(X).__name__}, but an array is needed: pass X.to_dask_array(lengths=True).")
    if any(isinstance(length, float) and math.isnan(length) for length in X.shape):
        raise ValueError("X has chunks of unknown size, but its shape is needed: call X.compute_chunk_sizes() first.")


def check_extremes(has_nan: bool, largest: float) -> None:
    """Refuse a matrix with missing, infinite or huge entries, in the words of those that lie in memory."""
    if has_nan:
        raise ValueError("Input X contains NaN.")
    if not math.isfinite(largest):
        raise ValueError("Input X contains infinity or a value too large for dtype('float64').")
    if largest > LARGEST_VALUE:
        raise ValueError(f"X has an entry of magnitude {largest:g}, but at most {LARGEST_VALUE:g} is allowed.")


def refuse_columns(names: list[str], dtypes: list[Any], numeric: list[bool]) -> None:
    """Name the columns of a table that hold no numbers, at most five of them."""
    wrong = [f"{name!r} ({dtype})" for name, dtype, ok in zip(names, dtypes, numeric, strict=True) if not ok]
    if wrong:
        more = ", ..." if len(wrong) > 5 else ""
        raise TypeError(
            f"X has {len(wrong)} non-numeric column(s), {', '.join(wrong[:5])}{more}, but only boolean, "
            "integer and real floating-point columns are allowed."
        )
