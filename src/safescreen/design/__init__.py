"""The matrix behind two questions: all correlations, and a few columns, dense."""

from __future__ import annotations

from typing import Any

from scipy.sparse import issparse

from safescreen.arrays import FloatArray
from safescreen.design.base import Design
from safescreen.design.columns import Columns
from safescreen.design.dense import DenseDesign
from safescreen.design.sparse import SparseDesign

__all__ = ["Columns", "DenseDesign", "Design", "SparseDesign", "make_design"]


def make_design(X: Any, weights: FloatArray, standardize: bool = False) -> Design:
    """Wrap a validated dense array or SciPy sparse matrix.

    Parameters
    ----------
    X : ndarray or SciPy sparse matrix of shape (n_samples, n_features)
        Finite, real, two-dimensional, not empty. Dense arrays and canonical CSC matrices are referenced, not
        copied.
    weights : ndarray of shape (n_samples,)
        Sample weights summing to one.
    standardize : bool
        Whether to centre and scale the columns.

    Returns
    -------
    Design
        A `SparseDesign` or a `DenseDesign`.
    """
    if issparse(X):
        return SparseDesign(X, weights, standardize)
    return DenseDesign(X, weights, standardize)
