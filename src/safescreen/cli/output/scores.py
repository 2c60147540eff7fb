"""How well a model separates two classes, without loading scikit-learn for it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


class Scores(NamedTuple):
    """Share of labels predicted correctly, and area under the ROC curve (NaN with one class)."""

    accuracy: float
    auc: float


def linear_predictor(X: Any, coef: FloatArray, support: npt.NDArray[np.int64], intercept: float) -> FloatArray:
    """Log-odds of the positive class, from the chosen columns alone."""
    if isinstance(X, np.ndarray):
        return np.asarray(X[:, support] @ coef + intercept, dtype=np.float64)
    return np.asarray(X.tocsc()[:, support] @ coef + intercept, dtype=np.float64)


def score(log_odds: FloatArray, positive: npt.NDArray[np.bool_], weights: FloatArray | None = None) -> Scores:
    """Accuracy and AUC of predictions.

    Parameters
    ----------
    log_odds : ndarray of shape (n_samples,)
        Predictions.
    positive : ndarray of bool
        Whether a sample has the positive label.
    weights : ndarray, optional
        Sample weights.
    """
    w = np.ones(log_odds.size) if weights is None else np.asarray(weights, dtype=np.float64)
    accuracy = float(np.average((log_odds > 0.0) == positive, weights=w))
    return Scores(accuracy, _auc(log_odds, positive, w))


def _auc(log_odds: FloatArray, positive: npt.NDArray[np.bool_], weights: FloatArray) -> float:
    """The weighted share of pairs in the right order; ties count half."""
    values, place = np.unique(log_odds, return_inverse=True)
    good = np.bincount(place, weights=np.where(positive, weights, 0.0), minlength=values.size)
    bad = np.bincount(place, weights=np.where(positive, 0.0, weights), minlength=values.size)
    total = float(good.sum() * bad.sum())
    if total == 0.0:
        return float("nan")
    below = np.cumsum(bad) - bad
    return float((good * (below + 0.5 * bad)).sum() / total)
