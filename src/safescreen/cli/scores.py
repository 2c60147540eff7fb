"""How well a model separates two classes, in the two numbers that people ask for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from safescreen.prediction import accuracy, auc


class Scores(NamedTuple):
    """Share of labels predicted correctly, and area under the ROC curve (NaN with one class)."""

    accuracy: float
    auc: float


def score(
    log_odds: npt.NDArray[np.float64], positive: npt.NDArray[np.bool_], weights: npt.NDArray[np.float64] | None = None
) -> Scores:
    """Accuracy and AUC of predictions, with sample weights if there are any."""
    return Scores(accuracy(log_odds, positive, weights), auc(log_odds, positive, weights))
