"""The native relaxations against CVXPY and Clarabel, which share nothing with them."""

from __future__ import annotations

import numpy as np
import pytest

import safescreen as ss

pytest.importorskip("cvxpy")
pytest.importorskip("clarabel")

from safescreen.testing.conic import conic_relaxation

ACCURACY = 1e-6

PRICE, BUDGET, BOTH = {"mu": 2e-3}, {"k": 6}, {"mu": 1e-3, "k": 8}
PROBLEMS = [
    (m, n, gamma, {**terms, "fit_intercept": intercept})
    for m, n, gamma in [(30, 12, 1.0), (60, 100, 10.0), (120, 60, 0.3), (200, 40, 100.0)]
    for terms in (PRICE, BUDGET, BOTH)
    for intercept in (False, True)
] + [
    (200, 500, 1.5, PRICE),
    (200, 500, 1.0, {"k": 10, "fit_intercept": True}),
    (50, 40, 2.0, {**BOTH, "include": [0, 3], "exclude": [1, 2]}),
    (50, 40, 2.0, {**BUDGET, "include": [39], "fit_intercept": True, "standardize": True}),
    (80, 30, 5.0, {**PRICE, "standardize": True, "weights": True}),
    (80, 30, 5.0, {**BOTH, "fit_intercept": True, "weights": True}),
]


PLAIN = {"fit_intercept": False, "standardize": False}


def make(m, n, gamma, options):
    rng = np.random.default_rng([m, n])
    options = dict(options)
    X = rng.standard_normal((m, n))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    y = np.where(X[:, :4].sum(axis=1) + rng.logistic(size=m) > 0.2, "yes", "no")
    if options.pop("weights", False):
        options["sample_weight"] = rng.exponential(size=m) * (rng.random(m) < 0.8)
    return ss.Problem(X, y, gamma=gamma, **{**PLAIN, **options})


def check(relaxation, reference):
    scale = ACCURACY * abs(reference)
    assert abs(relaxation.value - reference) <= scale
    assert reference - scale <= relaxation.lower_bound <= reference + scale
    assert relaxation.lower_bound <= relaxation.value * (1.0 + 1e-12)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize(("m", "n", "gamma", "options"), PROBLEMS)
def test_perspective_relaxation(m, n, gamma, options):
    problem = make(m, n, gamma, options)
    check(ss.relax(problem), conic_relaxation(problem))


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("M", [1.0, 0.2])
@pytest.mark.parametrize(("m", "n", "gamma", "options"), PROBLEMS[::2] + PROBLEMS[1:24:6])
def test_big_m_relaxation(m, n, gamma, options, M):
    problem = make(m, n, gamma, options)
    relaxation = ss.relax(problem, formulation="big-m", M=M)
    check(relaxation, conic_relaxation(problem, formulation="big-m", M=M))


def test_perspective_is_the_stronger_relaxation():
    problem = make(60, 100, 1.0, PRICE)
    assert conic_relaxation(problem) >= conic_relaxation(problem, formulation="big-m", M=10.0)


def test_unknown_formulation_is_refused():
    with pytest.raises(ValueError, match="formulation must be"):
        conic_relaxation(make(30, 12, 1.0, PRICE), formulation="hull")
