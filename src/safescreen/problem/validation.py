"""Input checks: each wrong input gets one sentence naming the argument, the value and what is allowed.

Wording follows scikit-learn where it has a sentence of its own, since that is what users search for.
"""

from __future__ import annotations

import math
import numbers
import os
import sys
from collections.abc import Iterable
from os import PathLike
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from safescreen.arrays import FloatArray, IndexArray
from safescreen.design.elsewhere import (
    DISK,
    LARGEST_VALUE,
    check_known_shape,
    entry_type,
    is_arrow,
    is_loaded,
    on_host,
    place_of,
)
from safescreen.design.memory import CHUNK_ENTRIES
from safescreen.design.reading import ColumnSums, column_sums, is_large
from safescreen.design.sources import Source, open_source
from safescreen.design.threads import threads_at_hand
from safescreen.exact_sums import exact_sum
from safescreen.problem.frames import Names, frame_to_matrix, is_frame
from safescreen.problem.labels import Classes, has_label, two_classes
from safescreen.sparsity import check_parts
from safescreen.text import brief, suggestion

Error = TypeVar("Error", bound=Exception)


def about(argument: str, error: Error) -> Error:
    """The error with the argument it is about and begins with, for those whose users call the argument otherwise."""
    vars(error)["argument"] = argument
    return error


def check_price(mu: Any) -> float:
    """The price of a feature, 0.0 for None."""
    return 0.0 if mu is None else _check_real("mu", mu, "a finite number >= 0", lambda value: value >= 0.0)


def check_gamma(gamma: Any) -> float:
    """The ridge parameter."""
    return check_positive("gamma", gamma)


def check_positive(name: str, value: Any) -> float:
    """A positive finite number."""
    return _check_real(name, value, "a finite number > 0", lambda number: number > 0.0)


def check_finite(name: str, value: Any) -> float:
    """Any finite number."""
    return _check_real(name, value, "a finite number", lambda _: True)


def check_memory_limit(memory_limit: Any) -> float | None:
    """Gigabytes of working memory, None for the default."""
    if memory_limit is None:
        return None
    allowed = "None or a finite number of gigabytes > 0"
    return _check_real("memory_limit", memory_limit, allowed, lambda value: value > 0.0)


def _check_real(name: str, value: Any, allowed: str, accepts: Any) -> float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise about(name, TypeError(f"{name} is {brief(value)} of type {type(value).__name__}, but must be {allowed}."))
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not (math.isfinite(number) and accepts(number)):
        raise about(name, ValueError(f"{name} is {number!r}, but must be {allowed}."))
    return number


def check_numbers(name: str, values: Any, count: int) -> FloatArray:
    """So many finite numbers."""
    try:
        numbers_given = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise about(name, TypeError(f"{name} is {brief(values)}, but {count} finite numbers are needed.")) from None
    if numbers_given.shape != (count,):
        raise about(name, ValueError(f"{name} has shape {numbers_given.shape}, but ({count},) is needed."))
    if not np.isfinite(numbers_given).all():
        raise about(name, ValueError(f"{name} contains NaN or infinity, but finite numbers are needed."))
    return numbers_given


def check_budget(k: Any) -> int | None:
    """The budget of features, None for no limit."""
    if k is None:
        return None
    if isinstance(k, bool | np.bool_) or not isinstance(k, numbers.Integral):
        raise about("k", TypeError(f"k is {brief(k)} of type {type(k).__name__}, but must be an integer >= 1."))
    if k < 1:
        raise about("k", ValueError(f"k is {brief(int(k))}, but must be an integer >= 1."))
    return min(int(k), sys.maxsize)  # more is no less, and no float


def check_target(name: str, path: Any) -> None:
    """Where a file is to be written: better known before a long search than after it."""
    if not isinstance(path, str | PathLike):
        raise about(name, TypeError(f"{name} is {brief(path)}, but must be None or the path of a file to write."))
    folder, file = os.path.split(path)
    if not file or "\0" in os.fsdecode(path) or os.path.isdir(path) or not os.path.isdir(folder or os.curdir):
        raise about(name, ValueError(f"{name} is {str(path)!r}, but must name a file in a folder that exists."))


def check_flag(name: str, value: Any) -> bool:
    """A boolean option."""
    if not isinstance(value, bool | np.bool_):
        raise about(
            name, TypeError(f"{name} is {brief(value)} of type {type(value).__name__}, but must be True or False.")
        )
    return bool(value)


def check_matrix(X: Any) -> tuple[Any, Names | None]:
    """The matrix as a real dense array or SciPy sparse matrix with finite entries, and its column names.

    One that is held elsewhere is passed on as it is: its design looks at the entries.
    """
    matrix, names, _ = check_and_sum(X)
    return matrix, names


def check_and_sum(X: Any) -> tuple[Any, Names | None, ColumnSums | None]:
    """The same, and sums over the columns where a large array had to be read for the check: once is enough."""
    names: Names | None = None
    if place_of(X) == DISK:
        X, names = _from_disk(X)
        if isinstance(X, Source) or place_of(X) == DISK:
            return X, names, None
    elif place_of(X) is not None:
        check_known_shape(X)
        _check_dtype(entry_type(X))
        _check_shape(tuple(X.shape))
        return X, names, None
    if is_frame(X):
        X, names = frame_to_matrix(X)
    check_sparse(X)
    matrix = X if sparse.issparse(X) else _as_dense(X)
    _check_dtype(matrix.dtype)
    _check_shape(matrix.shape)
    if matrix.dtype.itemsize > 8:  # longdouble, or a platform's own extended type
        matrix = matrix.astype(np.float64)
    if not sparse.issparse(matrix) and is_large(matrix):
        sums = column_sums(matrix, threads_at_hand())
        if not _are_tame(sums):
            _check_finite(matrix)
        return matrix, names, sums
    _check_finite(_stored_values(matrix))
    return matrix, names, None


def _are_tame(sums: ColumnSums) -> bool:
    """Whether all entries behind these sums are finite, and none is too large."""
    return bool(np.isfinite(sums.squares).all() and np.abs(sums.shift).max() <= LARGEST_VALUE)


def _from_disk(X: Any) -> tuple[Any, Names | None]:
    """A matrix on disk as it can be read, or as an array if it is small, and its column names."""
    if not is_arrow(X):
        _check_dtype(entry_type(X))
        _check_shape(tuple(X.shape))
    source = open_source(X)
    _check_shape(source.shape)
    if is_loaded(source.nbytes):
        return source.whole(), source.feature_names
    return X if isinstance(X, np.ndarray) else source, source.feature_names


def check_sparse(X: Any) -> None:
    """A sparse matrix has parts that fit together: to be known before anybody, SciPy included, looks into it."""
    try:
        check_parts("X", X)
    except ValueError as error:
        raise about("X", error) from None


def _as_dense(X: Any) -> npt.NDArray[Any]:
    _check_unmasked("X", X)
    try:
        return np.asarray(X)
    except ValueError as error:
        raise about("X", ValueError(f"X cannot be read as a two-dimensional array of numbers ({error}).")) from None


def _check_unmasked(name: str, values: Any) -> None:
    """No entry is masked: NumPy would look through the mask."""
    if np.ma.is_masked(values):
        complaint = f"{name} is a masked array with masked entries, but missing values are not allowed."
        raise about(name, ValueError(complaint))


def _objects(values: npt.NDArray[Any]) -> Iterable[Any]:
    """The entries of an array of objects; of any other, none."""
    return values.flat if values.dtype.kind == "O" else ()


def _check_dtype(dtype: np.dtype[Any]) -> None:
    allowed = f"X has dtype {dtype}, but only boolean, integer and real floating-point dtypes are allowed."
    if dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {allowed}")
    if dtype.kind not in "biuf":
        raise TypeError(allowed)


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise ValueError(
            f"Expected 2D array, got {len(shape)}D array instead: X has shape {shape}, reshape it with "
            "X.reshape(-1, 1) if it is a single feature or X.reshape(1, -1) if it is a single sample."
        )
    for count, what in zip(shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise ValueError(f"Found array with 0 {what}(s) (shape={shape}) in X while a minimum of 1 is required.")


def _stored_values(matrix: Any) -> npt.NDArray[Any]:
    """All values of a dense array, or the stored ones of a sparse matrix."""
    if not sparse.issparse(matrix):
        return np.asarray(matrix)
    return np.asarray(matrix.data if matrix.format in ("csc", "csr", "coo", "bsr") else matrix.tocoo().data)


def _check_finite(values: npt.NDArray[Any]) -> None:
    """Look for NaN, infinity and overflow in one cheap pass, and for which of them only if there is any.

    A sum of squares is finite only if all its terms are: one number instead of a mask of the matrix. It is not left to
    BLAS, which would wake all threads for every piece, and wait for them where the machine is busy.
    """
    if values.dtype.kind != "f":
        return
    with np.errstate(over="ignore", invalid="ignore"):
        finite = all(math.isfinite(np.einsum("i,i->", piece, piece)) for piece in _pieces(values))
    if finite:
        return
    if any(np.isnan(piece).any() for piece in _pieces(values)):
        raise ValueError("Input X contains NaN.")
    largest = max(float(np.abs(piece).max()) for piece in _pieces(values))
    if not math.isfinite(largest):
        raise ValueError("Input X contains infinity or a value too large for dtype('float64').")
    raise about("X", ValueError(f"X has an entry of magnitude {largest:g}, but at most {LARGEST_VALUE:g} is allowed."))


def _pieces(values: npt.NDArray[Any]) -> Iterable[FloatArray]:
    """The values in pieces, as flat float64 arrays; views for contiguous float64, small copies for the rest."""
    if values.flags.c_contiguous or values.flags.f_contiguous:
        flat = values.ravel(order="K")
        step = CHUNK_ENTRIES
        return (flat[i : i + step].astype(np.float64, copy=False) for i in range(0, flat.size, step))
    lines = values if abs(values.strides[0]) >= abs(values.strides[-1]) else values.T
    step = max(CHUNK_ENTRIES // max(lines[0].size, 1), 1)
    return (lines[i : i + step].astype(np.float64).ravel() for i in range(0, len(lines), step))


def check_weights(sample_weight: Any, n_samples: int) -> FloatArray:
    """Sample weights normalised to sum to one, equal if there are none."""
    if sample_weight is None:
        return np.full(n_samples, 1.0 / n_samples)
    _check_unmasked("sample_weight", sample_weight)
    try:
        weights = np.asarray(on_host(sample_weight))
        if weights.dtype.kind not in "biufO" or any(isinstance(weight, str | bytes) for weight in _objects(weights)):
            raise TypeError(weights.dtype)  # NumPy would read text, durations and the real part of what is complex
        weights = weights.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(
            f"sample_weight of type {type(sample_weight).__name__} cannot be read as numbers, but must be a "
            "one-dimensional array of non-negative numbers."
        ) from None
    weights = _check_vector("sample_weight", weights, n_samples)
    if np.isnan(weights).any():
        raise ValueError("Input sample_weight contains NaN.")
    if np.isinf(weights).any():
        raise ValueError("Input sample_weight contains infinity or a value too large for dtype('float64').")
    smallest, largest = weights.min(), weights.max()
    if smallest < 0.0:
        raise about(
            "sample_weight", ValueError(f"sample_weight has the negative value {smallest:g}, but weights must be >= 0.")
        )
    if largest == 0.0:
        raise about(
            "sample_weight",
            ValueError("sample_weight is zero for all samples, but at least one weight must be positive."),
        )
    weights = weights / largest  # first, so that no sum overflows or vanishes
    return np.asarray(weights / exact_sum(weights))


def _check_vector(name: str, values: npt.NDArray[Any], n_samples: int) -> npt.NDArray[Any]:
    """One entry per sample; a single column is as good as a vector."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values.ravel()
    if values.ndim != 1:
        raise about(
            name, ValueError(f"{name} has shape {values.shape}, but must be a 1d array of shape ({n_samples},).")
        )
    if values.size != n_samples:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"X has {n_samples}, but {name} has {values.size}."
        )
    return values


def check_labels(y: Any, weights: FloatArray, positive_class: Any = None) -> tuple[FloatArray, Classes]:
    """Labels as -1.0 and 1.0, and the classes they stand for; rows of weight zero have no say."""
    labels = _check_vector("y", _label_array(y), weights.size)
    _check_no_missing(labels)
    _check_label_types(labels)
    found = _sorted_classes(labels if weights.min() > 0.0 else labels[weights > 0.0])
    if found.size == 1:
        raise ValueError(
            "y must have samples of two classes, but the data contains only one class "
            f"(counting rows of positive weight): {found[0]!s}."
        )
    try:
        classes = two_classes(found, positive_class)
    except ValueError as error:
        raise about("positive_class", error) from None
    if classes is None:
        some = ", ".join(str(label) for label in found[:5]) + (", ..." if found.size > 5 else "")
        raise ValueError(
            f"y has {found.size} classes ({some}), but exactly two are allowed; for more, name the one to tell from "
            "the rest with positive_class=, or wrap an estimator in sklearn.multiclass.OneVsRestClassifier."
        )
    return np.where(has_label(labels, classes.positive), 1.0, -1.0), classes


def _label_array(y: Any) -> npt.NDArray[Any]:
    if y is None:
        raise about("y", ValueError("y is None, but must be an array with one of two labels per sample."))
    _check_unmasked("y", y)
    if isinstance(y, list | tuple) and any(isinstance(label, str) for label in y):
        y = np.array(y, dtype=object)  # else NumPy would turn numbers among strings into strings
    try:
        labels = np.asarray(on_host(y))
    except ValueError as error:
        raise about("y", ValueError(f"y cannot be read as an array of labels ({error}).")) from None
    if labels.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: y has dtype {labels.dtype}, but must have two real labels.")
    return labels


def _check_no_missing(labels: npt.NDArray[Any]) -> None:
    """NaN, None, NaT and the like; all of them but None differ from themselves or refuse to be compared."""
    if labels.dtype.kind in "biuUS":
        return
    if labels.dtype.kind == "O":
        missing = any(label is None or type(label).__name__ == "NAType" or label != label for label in labels)
    else:
        missing = bool((labels != labels).any())
    if missing:
        raise ValueError("Input y contains NaN.")
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise ValueError("Input y contains infinity or a value too large for dtype('float64').")


def _check_label_types(labels: npt.NDArray[Any]) -> None:
    """Numbers, truth values and strings: what files of models and proofs can hold, and give back as it was."""
    if labels.dtype.kind in "biufU":
        return
    kinds: set[type] = {labels.dtype.type}
    if labels.dtype.kind == "O":
        kinds = {type(label) for label in labels if not isinstance(label, str | numbers.Real | np.bool_)}
    wrong = sorted(kind.__name__ for kind in kinds)
    if wrong:
        raise about(
            "y",
            TypeError(f"y has labels of type {wrong[0]}, but must have numbers, booleans or strings: convert them."),
        )


def _sorted_classes(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    try:
        return np.unique(labels)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels})
        raise about(
            "y", TypeError(f"y mixes labels of types {', '.join(kinds)}, but two labels of one type are needed.")
        ) from None


def check_names(feature_names: Any, n_features: int) -> Names:
    """One string per feature."""
    if isinstance(feature_names, str) or not isinstance(feature_names, Iterable):
        raise about(
            "feature_names",
            TypeError(f"feature_names is {brief(feature_names)}, but must be an iterable of {n_features} names."),
        )
    names = np.array([str(name) for name in feature_names], dtype=object)
    if names.size != n_features:
        raise about(
            "feature_names", ValueError(f"feature_names has {names.size} names, but X has {n_features} features.")
        )
    return names


def check_selection(name: str, value: Any) -> tuple[Any, ...]:
    """One feature or several, not yet looked up."""
    if isinstance(value, str | numbers.Integral):
        return (value,)
    if not isinstance(value, Iterable):
        raise about(name, TypeError(f"{name} is {brief(value)}, but must be a feature or an iterable of features."))
    return tuple(value)


def check_features(name: str, value: Any, n_features: int, names: Names | None) -> IndexArray:
    """Features given by index or column name, as sorted indices without duplicates."""
    items = check_selection(name, value)
    return np.unique(np.array([_feature_index(name, item, n_features, names) for item in items], dtype=np.int64))


def _feature_index(name: str, item: Any, n_features: int, names: Names | None) -> int:
    if isinstance(item, str):
        return _named_feature(name, item, n_features, names)
    if isinstance(item, bool | np.bool_) or not isinstance(item, numbers.Integral):
        kind = type(item).__name__
        raise about(
            name, TypeError(f"{name} contains {brief(item)} of type {kind}, but only indices and names are allowed.")
        )
    index = int(item)
    if not 0 <= index < n_features:
        raise about(
            name, ValueError(f"{name} contains the index {index}, but indices must be from 0 to {n_features - 1}.")
        )
    return index


def _named_feature(name: str, item: str, n_features: int, names: Names | None) -> int:
    if names is None:
        allowed = f"indices from 0 to {n_features - 1} are allowed"
        complaint = f"{name} contains the name {item!r}, but there are no feature names: {allowed}."
        raise about(name, ValueError(complaint))
    matches = np.flatnonzero(names == item)
    if matches.size == 1:
        return int(matches[0])
    if matches.size > 1:
        raise about(
            name, ValueError(f"{name} contains the name {item!r}, but {matches.size} features have it: use an index.")
        )
    complaint = f"{name} contains the unknown name {item!r}, but only feature names are allowed"
    raise about(name, ValueError(f"{complaint}: {suggestion(item, names.tolist())}"))


def check_decisions(include: IndexArray, exclude: IndexArray, budget: int | None) -> None:
    """The user's decisions must leave at least one feasible model."""
    both = np.intersect1d(include, exclude)
    if both.size:
        shown = ", ".join(map(str, both[:5].tolist())) + (", ..." if both.size > 5 else "")
        raise ValueError(f"include and exclude share the feature(s) {shown}, but must be disjoint.")
    if budget is not None and include.size > budget:
        raise about(
            "include",
            ValueError(f"include has {include.size} features, but the budget k={budget} allows at most {budget}."),
        )
