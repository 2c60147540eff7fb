"""The root relaxation: blocks of columns, enlarged until nothing outside matters, whatever they begin with."""

from __future__ import annotations

import numpy as np
import pytest

from problems import plain
from safescreen import kernels
from safescreen.relaxation import Fixings, bound_at, sharp_bound_at, solve_root

pytestmark = pytest.mark.interpreted


@pytest.fixture(autouse=True, scope="module")
def _ready():
    kernels.warm_up()


def data(m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([m, n])
    X = rng.standard_normal((m, n))
    return X, np.where(X[:, :3].sum(axis=1) + rng.logistic(size=m) > 0.0, 1, -1)


@pytest.mark.parametrize("terms", [{"k": 3}, {"mu": 0.01}, {"mu": 0.002, "k": 4, "include": [11]}])
def test_small_blocks_grow_until_nothing_is_missing(terms, monkeypatch):
    problem = plain(*data(20, 24), gamma=3.0, **terms)
    whole = solve_root(problem)
    monkeypatch.setattr("safescreen.relaxation.perspective.FIRST_BLOCK", 2)
    grown = solve_root(problem)
    assert grown.value == pytest.approx(whole.value, rel=1e-8)
    assert grown.bound.value == pytest.approx(whole.bound.value, rel=1e-8)
    np.testing.assert_allclose(grown.x, whole.x, atol=1e-4)


def test_a_weak_ridge_is_approached_by_falling_prices(monkeypatch):
    """Nearly every column looks promising at the start; few are at a higher price."""
    problem = plain(*data(16, 80), gamma=1e5, mu=1e-9)
    prices = []
    original = kernels.relax

    def relax(subproblem, *arguments):
        prices.append(subproblem.mu)
        return original(subproblem, *arguments)

    monkeypatch.setattr(kernels, "relax", relax)
    root = solve_root(problem, 1e-6)
    assert prices == sorted(prices, reverse=True)
    assert prices[0] > prices[-1] == problem.mu
    assert root.value - root.bound.value <= 1e-4 * root.value


def test_exact_sums_give_the_same_bound_or_a_better_one():
    X, y = data(30, 6)
    problem = plain(X * 10.0 ** np.linspace(-6.0, 6.0, 6), y, k=2, gamma=10.0, standardize=True)
    fixings, dual = Fixings.given(problem), np.full(30, 0.4)
    ordinary, sharp = bound_at(problem, fixings, dual), sharp_bound_at(problem, fixings, dual)
    assert sharp.sharp
    assert not ordinary.sharp
    assert ordinary.value <= sharp.value
    assert sharp.value == pytest.approx(ordinary.value, rel=1e-9)
