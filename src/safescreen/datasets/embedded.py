"""A real data set that comes with scikit-learn, made wider."""

from __future__ import annotations

import numpy as np

from safescreen.arrays import FloatArray, IndexArray


def load_breast_cancer_interactions() -> tuple[FloatArray, IndexArray, list[str]]:
    """Breast cancer (Wisconsin, diagnostic) with all squares and pairwise products of its 30 features.

    Returns
    -------
    X : ndarray of shape (569, 495)
        The 30 measurements, then their 465 squares and products.
    y : ndarray of shape (569,)
        0 for malignant, 1 for benign.
    feature_names : list of str
        Such as ``mean radius``, ``mean radius²`` and ``mean radius × mean texture``.
    """
    from sklearn.datasets import load_breast_cancer  # here, because importing scikit-learn takes a while

    bunch = load_breast_cancer()
    base, names = np.asarray(bunch.data, dtype=np.float64), [str(name) for name in bunch.feature_names]
    first, second = np.triu_indices(len(names))
    X = np.hstack((base, base[:, first] * base[:, second]))
    products = [_product_name(names[i], names[j]) for i, j in zip(first, second, strict=True)]
    return X, np.asarray(bunch.target, dtype=np.int64), names + products


def _product_name(first: str, second: str) -> str:
    return f"{first}²" if first == second else f"{first} × {second}"
