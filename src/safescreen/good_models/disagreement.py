"""How much equally good models disagree about each sample."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from safescreen.arrays import FloatArray

MODELS_AT_A_TIME = 256
"""Predictors of so many models lie in memory at the same time."""


class Disagreement(NamedTuple):
    """What a set of models says of each sample, one entry per sample."""

    probability: FloatArray  # by the best model, of the positive class
    share: FloatArray  # of the models that predict the other class than the best one does
    lowest: FloatArray  # probability by any of the models
    highest: FloatArray


def disagreement(
    X: Any, coefs: sparse.csr_array, intercepts: FloatArray, best: tuple[FloatArray, float]
) -> Disagreement:
    """Compare the predictions of all models with those of the best one, given as coefficients and intercept."""
    reference = _probability(np.asarray(X @ best[0]).ravel() + best[1])
    lowest, highest, other = reference.copy(), reference.copy(), np.zeros(reference.size)
    for start in range(0, intercepts.size, MODELS_AT_A_TIME):
        part = slice(start, start + MODELS_AT_A_TIME)
        used = np.unique(coefs[part].indices)
        block = X[:, used]
        weights = coefs[part][:, used].toarray().T
        probability = _probability(np.asarray(block @ weights) + intercepts[part])
        np.minimum(lowest, probability.min(axis=1), out=lowest)
        np.maximum(highest, probability.max(axis=1), out=highest)
        other += ((probability > 0.5) != (reference > 0.5)[:, None]).sum(axis=1)
    return Disagreement(reference, other / max(intercepts.size, 1), lowest, highest)


def _probability(predictor: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-predictor)))
