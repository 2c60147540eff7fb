"""Fitted models to and from JSON files: the scikit-learn side of `safescreen.saving.record`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from safescreen import __version__
from safescreen.estimation import estimate
from safescreen.estimators import L0LogisticRegression, Selection
from safescreen.estimators.labels import class_pair, set_classes
from safescreen.problem.copies import touching
from safescreen.saving.record import FORMAT, VERSION, Chosen, Record, UnusableError
from safescreen.search.solution import Solution

__all__ = ["FORMAT", "VERSION", "load_model", "save_model"]


_OF_ONE_FIT = ("proof", "callback")
"""Parameters that belong to a fit rather than to the model: where its proof went and who watched it."""


def save_model(model: L0LogisticRegression | Solution, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a JSON file.

    The file has the coefficients that predict and, beside them, those that the proof is about. It appears complete or
    not at all: it is written under a temporary name in the same folder and then renamed.

    Parameters
    ----------
    model : L0LogisticRegression, L0LogisticRegressionCV or Solution
        A fitted estimator, of a cross-validation the model it chose, or what `solve` returned. All terms of the
        problem are kept; the data, sample weights among them, are not.
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
    _as_record(model).write(Path(path))


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
    record = Record.read(path)
    try:
        return _restore(record)
    except UnusableError as problem:
        raise ValueError(f"{path} cannot be loaded: {problem}.") from None


def _as_record(model: Any) -> Record:
    """What to store of a solution or a fitted estimator."""
    if isinstance(model, Solution):
        return Record.from_solution(model, estimate(model, "same"))
    if not isinstance(model, L0LogisticRegression):
        raise TypeError(f"model is a {type(model).__name__}, but must be an L0LogisticRegression or a Solution.")
    check_is_fitted(model)
    model = getattr(model, "best_estimator_", model)  # of a cross-validation the model it chose
    parameters = model.get_params(deep=False)
    return Record(
        parameters={name: value for name, value in parameters.items() if name not in _OF_ONE_FIT},
        n_features=model.n_features_in_,
        feature_names=getattr(model, "feature_names_in_", None),
        classes=class_pair(model),
        estimate=model.estimate_,
        selection=_chosen(model.selection_),
        objective=model.objective_,
        lower_bound=model.lower_bound_,
        gap=model.gap_,
        status=model.status_,
        n_iter=model.n_iter_,
        positive_class=model._positive_label,
        copies=touching(model.copies_, model.support_),
        encoding=getattr(model, "_encoding", None) if model.solution_ is None else None,  # a new fit has none
    )


def _chosen(selection: Selection) -> Chosen:
    names = (name for name in Chosen._fields if name != "coefficients")
    return Chosen(coefficients=selection.coef[selection.support], **{name: getattr(selection, name) for name in names})


def _restore(record: Record) -> L0LogisticRegression:
    """The fitted estimator."""
    unknown = sorted(set(record.parameters) - set(L0LogisticRegression._get_param_names()))
    if unknown:
        raise UnusableError(
            f"its parameter{'s' if len(unknown) > 1 else ''} {', '.join(unknown)} came after this safescreen "
            f"({__version__}): update safescreen"
        )
    estimator = L0LogisticRegression(**record.parameters)  # what an older file does not name has its default
    estimator.n_features_in_ = record.n_features
    if record.feature_names is not None:
        estimator.feature_names_in_ = record.feature_names
    set_classes(estimator, record.classes, record.positive_class)
    estimator.support_ = record.support
    estimator.coef_ = record.estimate.coef(record.n_features)[None, :]
    estimator.estimate_ = record.estimate
    estimator.selection_ = _selection(record)
    estimator.copies_ = list(record.copies)
    estimator.intercept_ = np.array([record.intercept])
    estimator.objective_ = record.objective
    estimator.lower_bound_ = record.lower_bound
    estimator.gap_ = record.gap
    estimator.status_ = record.status
    estimator.n_iter_ = record.n_iter
    estimator.solution_ = None
    estimator._encoding = record.encoding
    return estimator


def _selection(record: Record) -> Selection:
    """The model that the proof is about."""
    coef = np.zeros(record.n_features)
    coef[record.support] = record.selection.coefficients
    kept = record.selection._asdict()
    del kept["coefficients"]
    return Selection(
        **kept,
        coef=coef,
        support=record.support,
        objective=record.objective,
        lower_bound=record.lower_bound,
        gap=record.gap,
        status=record.status,
    )
