"""Results to report, solved once."""

from __future__ import annotations

import numpy as np
import pytest

import safescreen as ss
from pages import NASTY, Page, data, solved
from problems import plain


@pytest.fixture(scope="session")
def solution() -> ss.Solution:
    return solved()


@pytest.fixture(scope="session")
def page(solution) -> Page:
    return Page(ss.report(solution))


@pytest.fixture(scope="session")
def path() -> ss.L0Path:
    X, y = data()
    return ss.l0_path(X, y, k=range(1, 6), gamma=5.0)


@pytest.fixture(scope="session")
def nasty() -> str:
    """A page whose names, labels and title are hostile."""
    X, y = data(n=len(NASTY))
    labels = np.where(y == "ill", NASTY[0], NASTY[1])
    problem = ss.Problem(X, labels, k=9, gamma=5.0, fit_intercept=True, feature_names=NASTY, standardize=False)
    return ss.report(ss.solve(problem), title=NASTY[0] + NASTY[5], test=(X, labels))


@pytest.fixture(scope="session")
def large() -> ss.Solution:
    """30,000 features with names as in genomics."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 30_000))
    y = np.where(X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(40) > 0, 1, 0)
    names = [f"ENSG{rng.integers(10**10):011d}_{j}_at" for j in range(30_000)]
    return ss.solve(
        plain(X, y, mu=0.02, gamma=2.0, feature_names=names),
        node_limit=200,
    )
