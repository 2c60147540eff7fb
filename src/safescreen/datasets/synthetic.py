"""The synthetic benchmark of the paper."""

from __future__ import annotations

import numpy as np

from safescreen.arrays import FloatArray


def make_sparse_logistic(
    n_samples: int,
    n_features: int,
    n_informative: int,
    snr: float,
    rho: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Gaussian features with an evenly spread sparse model and logistic labels.

    The recipe is fixed to the letter, so that the same seed gives the same data everywhere.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of the matrix.
    n_informative : int
        Number of true coefficients, all equal to one, at evenly spaced positions.
    snr : float
        Factor on the linear predictor: the larger, the less noise in the labels.
    rho : float, default 0.0
        Features ``i`` and ``j`` have correlation ``rho ** |i - j|``.
    random_state : int or Generator, optional
        Seed.

    Returns
    -------
    A : ndarray of shape (n_samples, n_features)
        Features.
    y : ndarray of shape (n_samples,)
        Labels, -1.0 or 1.0.
    x_true : ndarray of shape (n_features,)
        The true coefficients.
    """
    if not 1 <= n_informative <= n_features:
        raise ValueError(f"n_informative is {n_informative}, but must be from 1 to n_features={n_features}.")
    if not abs(rho) < 1.0:
        raise ValueError(f"rho is {rho}, but must be strictly between -1 and 1.")
    rng = np.random.default_rng(random_state)
    A = rng.standard_normal((n_samples, n_features))
    if rho != 0.0:
        A = A @ _toeplitz_factor(n_features, rho).T
    x_true = np.zeros(n_features)
    x_true[np.linspace(0, n_features - 1, n_informative).astype(int)] = 1.0
    probability = 1.0 / (1.0 + np.exp(-np.clip(snr * (A @ x_true), -500.0, 500.0)))
    y = np.where(rng.random(n_samples) < probability, 1.0, -1.0)
    return A, y, x_true


def _toeplitz_factor(size: int, rho: float) -> FloatArray:
    """Lower Cholesky factor of the matrix ``rho ** |i - j|``."""
    position = np.arange(size)
    return np.linalg.cholesky(rho ** np.abs(position[:, None] - position[None, :]))
