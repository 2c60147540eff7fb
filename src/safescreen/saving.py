"""Fitted models as JSON files: readable by people and other programs, and safe to open, unlike pickles.

Only what prediction and an honest account need is written: the coefficients of the chosen features, labels, names,
parameters and the proof in numbers. Floating-point numbers are written so that they come back bit for bit.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from . import __version__
from .estimators import L0LogisticRegression
from .solution import Solution

FORMAT = "safescreen-model"
VERSION = 1
"""Raised whenever a reader of the previous version would misread a file."""

_LABEL_KINDS = "biufUO"
_ENTRIES: dict[str, tuple[type, ...]] = {
    "parameters": (dict,),
    "n_features": (int,),
    "feature_names": (list, type(None)),
    "classes": (dict,),
    "support": (list,),
    "coefficients": (list,),
    "intercept": (float,),
    "objective": (float,),
    "lower_bound": (float,),
    "gap": (float,),
    "status": (str,),
    "n_iter": (int,),
}


def save_model(model: L0LogisticRegression | Solution, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a JSON file.

    The file appears complete or not at all: it is written under a temporary name in the same folder and then renamed.

    Parameters
    ----------
    model : L0LogisticRegression or Solution
        A fitted estimator, or what `solve` returned. Of a solution's problem the price, budget, ridge, intercept and
        standardisation are kept; sample weights and features decided beforehand are not.
    path : str or path-like
        Where to write; an existing file is replaced.

    Raises
    ------
    TypeError
        If `model` is something else.
    ValueError
        If the labels are neither numbers, booleans nor strings, so that JSON cannot hold them.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.

    Examples
    --------
    >>> import os, tempfile
    >>> import safescreen as ss
    >>> X, y, _ = ss.datasets.make_sparse_logistic(50, 20, 3, 1.0, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ss.save_model(ss.solve(ss.Problem(X, y, k=3)), os.path.join(folder, "model.json"))
    ...     ss.load_model(os.path.join(folder, "model.json")).support_.size
    3
    """
    estimator = _as_estimator(model)
    content = _content(estimator)
    document = {"format": FORMAT, "version": VERSION, "sha256": _digest(content), **content}
    _write(Path(path), json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def load_model(path: str | os.PathLike[str]) -> L0LogisticRegression:
    """Read a model written by `save_model`.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    L0LogisticRegression
        A fitted estimator whose predictions equal those of the saved one bit for bit. Its ``solution_`` is None.

    Raises
    ------
    ValueError
        If the file is damaged, truncated, of another kind or from a newer version; the message says which.
    OSError
        If the file cannot be read.
    """
    path = Path(path)
    try:
        return _restore(_checked(_read(path)))
    except _UnusableError as problem:
        raise ValueError(f"{path} cannot be loaded: {problem}.") from None


class _UnusableError(Exception):
    """Why a file cannot be used, as the end of a sentence."""


def _as_estimator(model: Any) -> L0LogisticRegression:
    """The model as a fitted estimator."""
    if isinstance(model, L0LogisticRegression):
        check_is_fitted(model)
        return model
    if not isinstance(model, Solution):
        raise TypeError(f"model is a {type(model).__name__}, but must be an L0LogisticRegression or a Solution.")
    problem = model.problem
    estimator = L0LogisticRegression(
        k=problem.k,
        mu=problem.mu if problem.mu > 0.0 else None,
        gamma=problem.gamma,
        fit_intercept=problem.fit_intercept,
        standardize=problem.standardize,
    )
    estimator.n_features_in_ = problem.n_features
    if problem.feature_names is not None:
        estimator.feature_names_in_ = problem.feature_names
    return estimator._adopt(model)


def _content(estimator: L0LogisticRegression) -> dict[str, Any]:
    """All that is stored, in types that JSON has."""
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "safescreen": __version__,
        "parameters": _plain_parameters(estimator.get_params(deep=False)),
        "n_features": int(estimator.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "classes": _plain_labels(estimator.classes_),
        "support": estimator.support_.tolist(),
        "coefficients": estimator.coef_[0, estimator.support_].tolist(),
        "intercept": float(estimator.intercept_[0]),
        "objective": float(estimator.objective_),
        "lower_bound": float(estimator.lower_bound_),
        "gap": float(estimator.gap_),
        "status": str(estimator.status_),
        "n_iter": int(estimator.n_iter_),
    }


def _plain_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters without NumPy scalars; a dict of class weights becomes pairs, since JSON keys are strings."""
    plain = {name: _plain(value) for name, value in parameters.items()}
    if isinstance(plain["class_weight"], dict):
        plain["class_weight"] = [[_plain(key), _plain(value)] for key, value in plain["class_weight"].items()]
    return plain


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _plain_labels(classes: npt.NDArray[Any]) -> dict[str, Any]:
    """Labels with their dtype, so that predictions have the same type after loading."""
    labels = [_plain(label) for label in classes.tolist()]
    if classes.dtype.kind not in _LABEL_KINDS or not all(
        isinstance(label, bool | int | float | str) for label in labels
    ):
        raise ValueError(
            f"The labels {labels} of dtype {classes.dtype} cannot be written as JSON: fit with numbers, booleans or "
            "strings as labels."
        )
    return {"dtype": classes.dtype.str, "labels": labels}


def _digest(content: dict[str, Any]) -> str:
    """A checksum of the values rather than the text, so that reformatting a file does no harm."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _write(path: Path, text: str) -> None:
    """Write next to the target and rename, so that no reader ever sees half a file."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _read(path: Path) -> Any:
    """The file as JSON."""
    try:
        return json.loads(path.read_bytes().decode("utf-8"))
    except UnicodeDecodeError:
        raise _UnusableError("it is not a text file, let alone a safescreen model") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise _UnusableError(f"it is not JSON, or truncated ({error})") from None


def _checked(document: Any) -> dict[str, Any]:
    """The content of a document of our kind, version and checksum, with entries of the right types."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise _UnusableError(f'it is not a safescreen model (no "format": "{FORMAT}")')
    version = document.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise _UnusableError(f"it is damaged (version {version!r})")
    if version > VERSION:
        raise _UnusableError(
            f"it has format version {version}, but this safescreen ({__version__}) reads versions up to {VERSION}: "
            "update safescreen"
        )
    for name, types in _ENTRIES.items():
        if name not in document:
            raise _UnusableError(f"it is damaged (no entry {name!r})")
        if not isinstance(document[name], types) or isinstance(document[name], bool):
            raise _UnusableError(f"it is damaged (entry {name!r} is a {type(document[name]).__name__})")
    content = {name: value for name, value in document.items() if name not in ("format", "version", "sha256")}
    try:
        digest = _digest(content)
    except ValueError:
        raise _UnusableError("it is damaged (a number is not finite)") from None
    if document.get("sha256") != digest:
        raise _UnusableError("it is damaged (its checksum does not match)")
    return content


def _restore(content: dict[str, Any]) -> L0LogisticRegression:
    """The fitted estimator."""
    estimator = L0LogisticRegression(**_parameters(content["parameters"]))
    estimator.n_features_in_ = content["n_features"]
    if content["feature_names"] is not None:
        estimator.feature_names_in_ = _names(content)
    estimator.classes_ = _labels(content["classes"])
    estimator.support_, estimator.coef_ = _coefficients(content)
    estimator.intercept_ = np.array([content["intercept"]])
    estimator.objective_ = content["objective"]
    estimator.lower_bound_ = content["lower_bound"]
    estimator.gap_ = content["gap"]
    estimator.status_ = content["status"]
    estimator.n_iter_ = content["n_iter"]
    estimator.solution_ = None
    return estimator


def _parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """The estimator's parameters, class weights as a dict again."""
    known = set(L0LogisticRegression._get_param_names())
    if set(parameters) != known:
        wrong = ", ".join(sorted(known ^ set(parameters)))
        raise _UnusableError(f"it is damaged (missing or unknown parameters: {wrong})")
    if not isinstance(parameters["class_weight"], list):
        return parameters
    try:
        return {**parameters, "class_weight": dict(parameters["class_weight"])}
    except (TypeError, ValueError):
        raise _UnusableError("it is damaged (class_weight is no list of pairs)") from None


def _names(content: dict[str, Any]) -> npt.NDArray[np.object_]:
    names = content["feature_names"]
    if len(names) != content["n_features"] or not all(isinstance(name, str) for name in names):
        raise _UnusableError(f"it is damaged ({content['n_features']} feature names are needed)")
    return np.array(names, dtype=object)


def _labels(classes: dict[str, Any]) -> npt.NDArray[Any]:
    """The two labels in their own dtype."""
    try:
        dtype = np.dtype(classes["dtype"])
        labels = np.array(classes["labels"], dtype=dtype)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise _UnusableError("it is damaged (the labels cannot be read)") from None
    if dtype.kind not in _LABEL_KINDS or labels.shape != (2,):
        raise _UnusableError("it is damaged (two labels are needed)")
    return labels


def _coefficients(content: dict[str, Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """The chosen features, and the coefficients of all features."""
    support, values, size = content["support"], content["coefficients"], content["n_features"]
    if size < 1:
        raise _UnusableError(f"it is damaged ({size} features)")
    if len(support) != len(values) or not all(type(j) is int and 0 <= j < size for j in support):
        raise _UnusableError(f"it is damaged (support needs one index from 0 to {size - 1} per coefficient)")
    if not all(type(value) is float and math.isfinite(value) for value in values):
        raise _UnusableError("it is damaged (coefficients must be finite numbers)")
    coef = np.zeros((1, size))
    indices = np.array(support, dtype=np.int64)
    coef[0, indices] = values
    return indices, coef
