"""pandas and polars frames as arrays, recognised by their methods so that neither library is imported."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from safescreen.design.elsewhere import refuse_columns

Names = npt.NDArray[np.object_]


def is_frame(X: Any) -> bool:
    """Whether ``X`` looks like a pandas or polars frame."""
    return all(hasattr(X, name) for name in ("columns", "dtypes", "to_numpy"))


def frame_to_matrix(X: Any) -> tuple[Any, Names]:
    """The values of a frame, missing ones as NaN, and its column names as strings.

    A frame of one NumPy float type is not copied where its library allows it. pandas frames made of sparse
    columns only become a SciPy sparse matrix.
    """
    names = np.array([str(name) for name in X.columns], dtype=object)
    return (_pandas_values(X) if hasattr(X, "iloc") else _polars_values(X)), names


def _pandas_values(X: Any) -> Any:
    dtypes = list(X.dtypes)
    refuse_columns([str(name) for name in X.columns], dtypes, [_pandas_kind(dtype) in "biuf" for dtype in dtypes])
    if dtypes and all(getattr(dtype, "fill_value", None) == 0 for dtype in dtypes):
        return X.sparse.to_coo()
    if all(isinstance(dtype, np.dtype) for dtype in dtypes):
        return X.to_numpy(dtype=np.result_type(*dtypes) if dtypes else np.float64)
    return X.to_numpy(dtype=np.float64, na_value=np.nan)  # nullable columns hold NA, which integers cannot


def _pandas_kind(dtype: Any) -> str:
    """The NumPy kind of a pandas dtype; categories have the kind of objects even when they are numbers."""
    return str(getattr(dtype, "kind", "O"))


def _polars_values(X: Any) -> npt.NDArray[Any]:
    dtypes = list(X.dtypes)
    numeric = [dtype.is_numeric() or str(dtype) == "Boolean" for dtype in dtypes]
    refuse_columns(list(X.columns), dtypes, numeric)
    if len(set(dtypes)) == 1 and dtypes[0].is_float():
        return np.asarray(X.to_numpy())
    columns = [_polars_column(column) for column in X.iter_columns()]
    values = np.empty((X.height, X.width), dtype=np.result_type(*columns) if columns else np.float64, order="F")
    for j, column in enumerate(columns):
        values[:, j] = column
    return values


def _polars_column(column: Any) -> npt.NDArray[Any]:
    """One column; nulls need a float type to become NaN, and decimals have no NumPy type of their own."""
    needs_float = column.null_count() > 0 or column.dtype.is_decimal()
    return np.asarray((column.cast(float) if needs_float else column).to_numpy())
