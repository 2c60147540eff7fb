"""scikit-learn's checks of the data, with the column where text is the trouble."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from safescreen.problem.validation import check_sparse


def checked(estimator: Any, X: Any, *y: Any, **options: Any) -> Any:
    """What `validate_data` returns; text in X is told with its column and row."""
    check_sparse(X)
    _refuse_misread(X)
    try:
        return validate_data(estimator, X, *y, dtype="numeric", **options)
    except TypeError as error:
        if not str(error).startswith("float() argument"):
            raise
        raise TypeError(f"X has objects that are no numbers ({error}).") from None
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


def _refuse_misread(X: Any) -> None:
    """Refuse what scikit-learn would read as something else, or in words that do not name the matrix."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.getmaskarray(X).any():
        raise ValueError(
            "X is a masked array with masked entries, whose values would count: fill them (X.filled(...)) or leave out "
            "their rows."
        )
    for name, dtype in zip(getattr(X, "columns", ()), getattr(X, "dtypes", ()), strict=False):
        if getattr(dtype, "kind", "") in ("m", "M"):
            raise TypeError(f"X has dtype {dtype} in column {name!r}, but numbers are needed: convert it.")
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind in ("m", "M"):
        raise TypeError(f"X has dtype {X.dtype}, but numbers are needed: convert it.")
    if kind == "c":
        raise ValueError(f"Complex data not supported: X has dtype {X.dtype}, but real numbers are needed.")
    if isinstance(X, list | tuple) and len({np.shape(row) for row in X}) > 1:
        raise ValueError("X is a list of rows of different lengths, but all rows need one number per feature.")


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
