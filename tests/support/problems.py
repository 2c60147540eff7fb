"""Problems for tests: the plain objective of the paper, on data that is easy, hard, wide or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

import safescreen as ss

PLAIN = {"fit_intercept": False, "standardize": False}
"""Neither intercept nor standardisation: what is given is what is solved."""


def plain(X: Any, y: Any, **terms: Any) -> ss.Problem:
    """A problem without intercept and standardisation, unless the terms say otherwise."""
    return ss.Problem(X, y, **{**PLAIN, **terms})


def synthetic(
    m: int, n: int, snr: float = 1.0, seed: int = 0, *, relevant: int = 8, rho: float = 0.0, **terms: Any
) -> ss.Problem:
    """A plain problem on synthetic data, ``relevant`` features of which matter."""
    X, y, _ = ss.datasets.make_sparse_logistic(m, n, min(relevant, n), snr, rho=rho, random_state=seed)
    return plain(X, y, **terms)


def data_of(problem: ss.Problem) -> tuple[np.ndarray, np.ndarray]:
    """Matrix and labels of a plain problem."""
    return problem.design.columns(np.arange(problem.n_features)), problem.y


def thin_data(m: int, n: int, density: float, *seed: int) -> tuple[sparse.csr_array, np.ndarray]:
    """Sparse data with few entries per column."""
    rng = np.random.default_rng([m, n, *seed])
    X = sparse.random_array((m, n), density=density, random_state=rng, format="csr")
    X.data[:] = rng.standard_normal(X.nnz)
    score = np.asarray(X[:, : n // 10].sum(axis=1)).ravel() + 0.3 * rng.logistic(size=m)
    return X, np.where(score > 0.0, 1, -1)
