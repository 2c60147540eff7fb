"""scikit-learn's checks of the data, with the column where text is the trouble."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from safescreen.problem.frames import is_frame
from safescreen.problem.validation import check_sparse


def checked(estimator: Any, X: Any, *y: Any, **options: Any) -> Any:
    """What `validate_data` returns; text in X is told with its column and row."""
    refuse_misread(X)
    for labels in y:
        _refuse_masked("y", labels)
    try:
        X = np.asarray(X) if isinstance(X, list | tuple) else X  # whose objects scikit-learn makes numbers
        return validate_data(estimator, X, *y, dtype="numeric", **options)
    except TypeError as error:
        if not str(error).startswith("float() argument"):
            raise
        raise TypeError(f"X has objects that are no numbers ({error}).") from None
    except OverflowError:
        raise ValueError("X has an integer that is too large for dtype('float64').") from None
    except ValueError as error:
        found = _first_text(X) if "could not convert string to float" in str(error) else None
        if found is None:
            raise
        row, column, text = found
        names = getattr(X, "columns", None)
        called = column if names is None else repr(names[column])
        raise ValueError(
            f"X has the text {reprlib.repr(text)} in column {called}, row {row}, but only numbers are allowed: encode "
            "categories, for example with sklearn.preprocessing.OneHotEncoder."
        ) from None


def refuse_misread(X: Any) -> None:
    """Refuse what scikit-learn would read as something else, or in words that do not name the matrix."""
    check_sparse(X)
    _refuse_masked("X", X)
    for name, dtype in zip(getattr(X, "columns", ()), getattr(X, "dtypes", ()), strict=False):
        if getattr(dtype, "kind", "") in ("m", "M"):
            raise TypeError(f"X has dtype {dtype} in column {name!r}, but numbers are needed: convert it.")
    for dtype in _dtypes(X):
        kind = getattr(dtype, "kind", "")
        if kind in ("m", "M"):
            raise TypeError(f"X has dtype {dtype}, but numbers are needed: convert it.")
        if kind == "c":
            raise ValueError(f"Complex data not supported: X has dtype {dtype}, but real numbers are needed.")
        if hasattr(dtype, "is_temporal") and dtype.is_temporal():  # polars turns it into a number
            raise TypeError(f"X has a column of type {dtype}, but only numbers are allowed: convert or drop it.")
    if isinstance(X, list | tuple) and len({np.shape(row) for row in X}) > 1:
        raise ValueError("X is a list of rows of different lengths, but all rows need one number per feature.")


def _refuse_masked(name: str, values: Any) -> None:
    """Refuse masked entries, whose values scikit-learn would use."""
    if np.ma.is_masked(values):
        raise ValueError(
            f"{name} is a masked array with masked entries, whose values would count: fill them ({name}.filled(...)) "
            "or leave out their rows."
        )


def _dtypes(X: Any) -> list[Any]:
    """The types of an array, or of the columns of a frame."""
    if is_frame(X):
        return list(X.dtypes)
    return [X.dtype] if hasattr(X, "dtype") else []


def _first_text(X: Any) -> tuple[int, int, str] | None:
    """Row, column and value of the first text that is not a number, column by column."""
    for column, values in enumerate(np.asarray(X, dtype=object).T.tolist()):
        for row, value in enumerate(values):
            try:
                if isinstance(value, str):
                    float(value)
            except ValueError:
                return row, column, value
    return None
