"""The matrix behind two questions: all correlations, and a few columns, dense."""

from __future__ import annotations

from typing import Any

from scipy.sparse import issparse

from safescreen.arrays import FloatArray
from safescreen.design.base import Design
from safescreen.design.columns import Columns
from safescreen.design.dense import DenseDesign
from safescreen.design.elsewhere import CLUSTER, DEVICE, DISK, place_of
from safescreen.design.reading import ColumnSums
from safescreen.design.sources import Source, open_source
from safescreen.design.sparse import SparseDesign

__all__ = ["ColumnSums", "Columns", "DenseDesign", "Design", "SparseDesign", "make_design"]


def make_design(X: Any, weights: FloatArray, standardize: bool = False, sums: ColumnSums | None = None) -> Design:
    """Wrap a validated dense array or SciPy sparse matrix, or a matrix that is held elsewhere.

    Parameters
    ----------
    X : ndarray, SciPy sparse matrix, CuPy array or torch tensor of shape (n_samples, n_features)
        Finite, real, two-dimensional, not empty. Dense arrays and canonical CSC matrices are referenced, not
        copied.
    weights : ndarray of shape (n_samples,)
        Sample weights summing to one.
    standardize : bool
        Whether to centre and scale the columns.
    sums : ColumnSums, optional
        What a read of a large dense array has already found out.

    Returns
    -------
    Design
        A `SparseDesign` or a `DenseDesign`, or what knows how to read a matrix where it is.
    """
    place = place_of(X)
    if place == DEVICE:
        from safescreen.design.device import DeviceDesign

        return DeviceDesign(X, weights, standardize)
    if place == CLUSTER:
        from safescreen.design.distributed import DistributedDesign

        return DistributedDesign(X, weights, standardize)
    if isinstance(X, Source) or place == DISK:
        from safescreen.design.stored import StoredDesign

        return StoredDesign(open_source(X), weights, standardize)
    if issparse(X):
        return SparseDesign(X, weights, standardize)
    return DenseDesign(X, weights, standardize, sums)
