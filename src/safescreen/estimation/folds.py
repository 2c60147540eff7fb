"""Stratified folds without scikit-learn, whose import would be the longest part of a short command."""

from __future__ import annotations

import numpy as np

from safescreen.arrays import BoolArray, FloatArray

_SEED = 0
"""The folds are the same every time: an estimate must not change from one call to the next."""


def held_out_masks(y: FloatArray, weights: FloatArray, n_folds: int) -> list[BoolArray]:
    """Which rows each fold holds out: classes dealt out evenly, rows of weight zero left aside.

    There are fewer folds than asked for where a class has fewer rows, and none where folds would lack a class.
    """
    counted = weights > 0.0
    classes = [np.flatnonzero(counted & (y > 0.0)), np.flatnonzero(counted & (y <= 0.0))]
    n_folds = min(n_folds, *(rows.size for rows in classes))
    if n_folds < 2:
        return []
    random = np.random.default_rng(_SEED)
    fold_of = np.full(y.size, -1)
    dealt = 0
    for rows in classes:
        fold_of[random.permutation(rows)] = (dealt + np.arange(rows.size)) % n_folds
        dealt += rows.size
    return [fold_of == fold for fold in range(n_folds)]
