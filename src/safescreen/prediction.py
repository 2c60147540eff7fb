"""What a linear model predicts, and how well: the formulas that estimators, commands and reports share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_LARGEST = np.finfo(np.float64).max
_NEWTON_STEPS = 100


def linear_predictor(X: Any, coef: FloatArray, intercept: float) -> FloatArray:
    """Log-odds of the positive class; of a dense ``X`` only the columns with a coefficient are read."""
    if not isinstance(X, np.ndarray):
        return np.asarray(X @ coef + intercept, dtype=np.float64)
    support = np.flatnonzero(coef)
    return np.asarray(X[:, support] @ coef[support] + intercept, dtype=np.float64)


def probabilities(log_odds: FloatArray) -> FloatArray:
    """Probabilities of the negative and the positive class, in two columns, each accurate even when it is tiny."""
    return np.column_stack((expit(-log_odds), expit(log_odds)))


def log_loss(log_odds: FloatArray, positive: BoolArray, weights: FloatArray | None = None) -> float:
    """Mean log-loss, finite even for confident mistakes."""
    return float(np.average(np.logaddexp(0.0, np.where(positive, -log_odds, log_odds)), weights=weights))


def accuracy(log_odds: FloatArray, positive: BoolArray, weights: FloatArray | None = None) -> float:
    """Share of samples whose more probable class is the true one."""
    return float(np.average((log_odds > 0.0) == positive, weights=weights))


def auc(log_odds: FloatArray, positive: BoolArray, weights: FloatArray | None = None) -> float:
    """Area under the ROC curve: the share of pairs in the right order, ties counting half; NaN with one class.

    Not scikit-learn's, since loading that takes a second and would be the longest part of many a ``safescreen fit``.
    """
    values, place = np.unique(log_odds, return_inverse=True)
    weight = np.ones(positive.size) if weights is None else weights
    good = np.bincount(place, np.where(positive, weight, 0.0), values.size)
    bad = np.bincount(place, np.where(positive, 0.0, weight), values.size)
    pairs = float(good.sum() * bad.sum())
    below = np.cumsum(bad) - bad
    return float(good @ (below + 0.5 * bad)) / pairs if pairs > 0.0 else float("nan")


def roc(log_odds: FloatArray, positive: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Rates of false and true positives as the threshold falls, one point per distinct prediction."""
    from sklearn.metrics import roc_curve

    finite = np.clip(log_odds, -_LARGEST, _LARGEST)  # scikit-learn refuses infinite scores, which have their place too
    false, true, _ = roc_curve(positive, finite, drop_intermediate=False)
    return false, true


def calibration_line(log_odds: FloatArray, positive: BoolArray) -> tuple[float, float]:
    """Intercept and slope of a logistic regression of what came true on the log-odds; (0, 1) is perfect.

    NaN where there is no such line: with one class, one prediction for all, or classes that the log-odds separate.
    """
    low, high = log_odds[~positive], log_odds[positive]
    if not low.size or not high.size or low.max() <= high.min() or high.max() <= low.min():
        return float("nan"), float("nan")
    centre, scale = log_odds.mean(), log_odds.std()
    columns = np.column_stack((np.ones(log_odds.size), (log_odds - centre) / scale))
    line, loss = np.zeros(2), np.inf
    for _ in range(_NEWTON_STEPS):
        share = expit(columns @ line)
        slope = columns.T @ (share - positive)
        step = np.linalg.solve((columns.T * (share * (1.0 - share))) @ columns + 1e-12 * np.eye(2), slope)
        while log_loss(columns @ (line - step), positive) > loss and np.abs(step).max() > 1e-12:
            step = 0.5 * step
        line = line - step
        loss = log_loss(columns @ line, positive)
        if np.abs(step).max() < 1e-10:
            break
    return float(line[0] - line[1] * centre / scale), float(line[1] / scale)


def similar_groups(log_odds: FloatArray, smallest: int = 15, most: int = 10) -> list[npt.NDArray[np.int64]]:
    """Samples in groups of similar prediction, as equal in size as ties allow."""
    count = int(np.clip(log_odds.size // smallest, 1, most))
    order = np.argsort(log_odds, kind="stable")
    score = log_odds[order]
    cuts = [round(i * score.size / count) for i in range(1, count)]
    cuts = sorted({int(np.searchsorted(score, score[cut], side="left")) for cut in cuts} - {0})
    return np.split(order, cuts)
