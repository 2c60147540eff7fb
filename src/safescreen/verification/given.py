"""What the caller gives, checked: a proof about other data than those is none, so nothing is guessed or cut off.

NumPy would silently drop what is imaginary, look through masks, and read text as numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from numbers import Integral, Real
from threading import Thread
from typing import Any

import numpy as np

from safescreen.verification.arithmetic import Array, passes

NUMBERS = {"k": Integral, "mu": Real, "gamma": Real, "fit_intercept": bool, "standardize": bool}
"""What a caller may say about the problem, but for features, and as what."""

FEATURES = ("include", "exclude")
"""Features decided by the user."""


def given_matrix(X: Any) -> Any:
    """The data as doubles: dense, or sparse in compressed columns without zeros, by its own methods."""
    if hasattr(X, "tocsc"):
        check_parts(X)
        check_dtype("X", X.dtype)
        X = aside(canonical_columns, X)
    else:
        X = real_numbers("X", X.to_numpy() if hasattr(X, "to_numpy") else X)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"X has shape {X.shape}, but a matrix with rows and columns is needed.")
    return X


def given_labels(y: Any, n_samples: int) -> Array:
    """One label per sample; a single column will do."""
    check_unmasked("y", y)
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.ravel()
    if labels.shape != (n_samples,):
        raise ValueError(f"y has shape {labels.shape}, but must have one label for each of the {n_samples} rows.")
    if labels.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: y has dtype {labels.dtype}, but must have real labels.")
    return labels


def given_weights(sample_weight: Any, labels: Array) -> Array | None:
    """One weight per label, if any are given; not normalised."""
    if sample_weight is None:
        return None
    weights = real_numbers("sample_weight", sample_weight)
    if weights.ndim == 2 and weights.shape[1] == 1:
        weights = weights.ravel()
    if weights.shape != labels.shape:
        raise ValueError(f"sample_weight has shape {weights.shape}, but must have one number for each label.")
    if not (np.isfinite(weights).all() and weights.min() >= 0.0 and weights.max() > 0.0):
        raise ValueError("sample_weight must have finite numbers >= 0 and at least one that is positive.")
    return weights


def given_terms(X: Any, said: dict[str, Any]) -> dict[str, Any]:
    """What the proof must be about, as far as the caller says so; features as sorted indices."""
    asked = {name: value for name, value in said.items() if value is not None}
    for name, value in asked.items():
        if name in FEATURES:
            asked[name] = feature_indices(name, value, X)
            continue
        truth = isinstance(value, bool | np.bool_)
        if not (truth if NUMBERS[name] is bool else isinstance(value, NUMBERS[name]) and not truth):
            wanted = {Integral: "an integer", Real: "a number", bool: "True or False"}[NUMBERS[name]]
            raise TypeError(f"{name} is {value!r} of type {type(value).__name__}, but must be None or {wanted}.")
    return asked


def feature_indices(name: str, value: Any, X: Any) -> list[int]:
    """Features given by index, or by name if the data have names."""
    items: list[Any] = [value] if isinstance(value, str | Integral) or not isinstance(value, Iterable) else list(value)
    names = [str(column) for column in X.columns] if hasattr(X, "columns") else []
    found = set()
    for item in items:
        if isinstance(item, str) and names.count(item) == 1:
            found.add(names.index(item))
        elif not isinstance(item, bool) and isinstance(item, Integral):
            found.add(int(item))
        else:
            raise ValueError(f"{name} contains {item!r}, but only indices, and names of columns of X, are allowed.")
    return sorted(found)


def real_numbers(name: str, values: Any) -> Array:
    """An array of doubles; what is neither number nor truth value is refused rather than converted."""
    check_unmasked(name, values)
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        raise ValueError(f"{name} cannot be made an array: its rows have different lengths.") from None
    if array.dtype.kind == "O":  # such as columns of numbers and of truth values in one frame
        real = all(isinstance(value, Real | np.bool_) for value in array.flat)
        try:
            array = array.astype(np.float64) if real else array
        except OverflowError:
            raise ValueError(f"{name} has an integer that is too large for a double.") from None
    check_dtype(name, array.dtype)
    return as_doubles(array)


def as_doubles(array: Array) -> Array:
    """The same numbers in double precision, converted piece by piece, so that Ctrl-C is answered in between."""
    if array.dtype == np.float64 or not array.ndim:
        return array.astype(np.float64, copy=False)
    doubles = np.empty_like(array, np.float64)
    lines, source = (doubles.T, array.T) if array.flags.f_contiguous else (doubles, array)
    for part in passes(len(lines), max(lines.size // max(len(lines), 1), 1)):
        lines[part] = source[part]
    return doubles


def check_unmasked(name: str, values: Any) -> None:
    """No entry is masked: what is behind a mask is not part of the data."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} is a masked array with masked entries, but missing values are not allowed.")


def check_dtype(name: str, dtype: np.dtype[Any]) -> None:
    """Truth values, integers or real floating-point numbers."""
    if dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has dtype {dtype}, but real numbers are needed.")
    if dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {dtype}, but real numbers are needed.")


def check_parts(X: Any) -> None:
    """A sparse matrix has parts that fit together: compiled code would follow any others out of memory."""
    try:
        sound = parts_fit(X)
    except (ArithmeticError, AttributeError, IndexError, TypeError, ValueError):
        sound = False
    if not sound:
        raise ValueError("X is a damaged sparse matrix: its indices do not fit its shape, or one another.")


def parts_fit(X: Any) -> bool:
    """Whether all indices are in range, and as many as there are values."""
    if X.format == "lil":  # SciPy's conversion does not look at these, nor at the next
        lists = zip(range(X.shape[0]), X.rows, X.data, strict=True)
        if not all(len(indices) == len(values) for _, indices, values in lists):
            return False
    if X.format == "dia" and X.offsets.shape != X.data.shape[:1]:
        return False
    if X.format in ("csc", "csr"):
        lines, width = X.shape if X.format == "csr" else X.shape[::-1]
        starts, places = X.indptr, [(X.indices, width)]
        if starts.dtype.kind not in "iu" or starts.shape != (lines + 1,) or starts[0] or starts[-1] > X.data.size:
            return False
        if (starts[1:] < starts[:-1]).any():
            return False
    else:
        X = X.tocoo()
        places = [(X.row, X.shape[0]), (X.col, X.shape[1])]
    return not np.ma.is_masked(X.data) and all(in_range(indices, X.data.shape, length) for indices, length in places)


def in_range(indices: Array, shape: tuple[int, ...], length: int) -> bool:
    """Whether indices are a vector of this shape, each from 0 to the length, which does not belong to them."""
    whole = indices.ndim == 1 and indices.shape == shape and indices.dtype.kind in "iu"
    return whole and (not indices.size or bool(indices.min() >= 0 and indices.max() < length))


def canonical_columns(X: Any) -> Any:
    """A copy of a sparse matrix with sorted rows and neither duplicates nor zeros."""
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    X = X.tocsc(copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    return X.astype(np.float64)


def aside(function: Callable[[Any], Any], argument: Any) -> Any:
    """Call in another thread what takes long and has no pieces, so that Ctrl-C is answered; it then ends alone."""
    task: Future[Any] = Future()

    def carry_out() -> None:
        try:
            task.set_result(function(argument))
        except BaseException as error:
            task.set_exception(error)

    Thread(target=carry_out, daemon=True).start()
    while not task.done():
        wait([task], timeout=0.1)
    return task.result()
