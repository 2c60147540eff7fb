"""The logistic terms to the last digits, and dual points whose entropy is never above the truth.

The truth is computed with sixty decimal digits.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from calling import interpreted
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_cases import as_case, empty_point, random_problem
from scipy.optimize import brentq
from scipy.special import expit

from safescreen.kernels import losses
from safescreen.problem.loss import LOGISTIC
from safescreen.rounding import UNIT


def with_digits(function):
    """Run with sixty digits, and exponents for which nothing overflows."""

    def run(*arguments):
        with localcontext() as context:
            context.prec, context.Emax, context.Emin = 60, 10**9, -(10**9)
            return function(*arguments)

    return run


@with_digits
def exact_terms(a: float) -> tuple[float, float, float, float]:
    """``p``, ``p (1 - p)``, ``log(1 + exp(-a))`` and ``p a``."""
    a = Decimal(float(a))
    small = (-min(abs(a), Decimal(10**5))).exp()
    p = small / (1 + small) if a > 0 else 1 / (1 + small)
    log = (1 + small).ln() if small > Decimal("1e-25") else small - small * small / 2
    loss = log + max(-a, Decimal(0))
    return float(p), float(small / (1 + small) ** 2), float(loss), float(p * a)


@with_digits
def exact_entropy(w: list[float], p: list[Decimal]) -> Decimal:
    """``Σ w H(p)``."""
    return sum((-Decimal(v) * (_xlogx(q) + _one_less(q)) for v, q in zip(w, p, strict=True)), Decimal(0))


def _one_less(q: Decimal) -> Decimal:
    """``(1-q) log(1-q)``, by its series where one less ``q`` would take more digits than there are."""
    return q * (-1 + q / 2 + q * q / 6) if q < Decimal("1e-25") else _xlogx(1 - q)


def _xlogx(q: Decimal) -> Decimal:
    assert 0 <= q <= 1
    return q * q.ln() if q > 0 else Decimal(0)


@with_digits
def dual_of(y, w, alpha) -> list[Decimal]:
    """The dual points that the floats in ``alpha`` stand for, exactly; rounding may have put them an ulp above one."""
    found = [Decimal(float(a)) * int(s) / Decimal(float(v)) for s, v, a in zip(y, w, alpha, strict=True)]
    assert all(q <= 1 + Decimal("3e-16") for q in found)
    return [min(q, Decimal(1)) for q in found]


def units(found: np.ndarray, exact: np.ndarray) -> float:
    """The largest distance in units of the last place."""
    return float(np.max(np.abs(found - exact) / np.spacing(np.abs(exact))))


# -- terms of a sample -----------------------------------------------------------------------------------


MODERATE = [0.0, -0.0, 5e-324, 1e-300, 1e-16, 1e-8, 1.0, 36.7, 707.9, 708.0]
HUGE = [708.1, 709.8, 745.0, 1e3, 1e10, 1e300]


def logistic(call, u, label):
    """Terms of samples of weight one, found and exact: ``p``, ``α``, curvature, loss, and what makes it the entropy."""
    u = np.concatenate([u, np.negative(u)])
    y, w, point = np.full(u.size, label), np.ones(u.size), empty_point(u.size)
    call(losses.logistic_terms, u, y, w, point)
    p, curvature, loss, cross = np.array([exact_terms(a) for a in y * u]).T
    return list(zip(point[:5], (p, y * p, curvature, loss, cross), strict=True))


@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_logistic_terms_to_the_last_digits(call, label):
    rng = np.random.default_rng(0)
    u = np.concatenate([MODERATE, *(rng.uniform(0.0, most, 300) for most in (0.1, 1.0, 50.0, 708.0))])
    distances = [units(found, exact) for found, exact in logistic(call, u, label)]
    p, alpha, curvature, loss, cross = distances
    assert max(p, alpha, loss) <= 2.0
    assert cross <= 3.0  # a product of one of them
    assert curvature <= 4.0  # and of two


@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_huge_predictors_neither_overflow_nor_lose_the_loss(call, label):
    for found, exact in logistic(call, HUGE, label):
        assert found == pytest.approx(exact, rel=2e-16, abs=1e-304)  # what exp(-708) amounts to


def test_weights_scale_the_terms():
    rng = np.random.default_rng(1)
    u, y, w = rng.standard_normal(20), np.where(rng.random(20) < 0.5, 1.0, -1.0), rng.exponential(size=20)
    weighted, plain = empty_point(20), empty_point(20)
    losses.terms(losses.LOGISTIC, u, y, w, weighted)
    losses.terms(losses.LOGISTIC, u, y, np.ones(20), plain)
    assert np.array_equal(weighted.p, plain.p)
    for name in ("alpha", "curvature", "loss", "cross"):
        assert getattr(weighted, name) == pytest.approx(w * getattr(plain, name), rel=1e-15)


def test_curvature_is_nowhere_larger_than_said():
    u, point = np.linspace(-3.0, 3.0, 1001), empty_point(1001)
    losses.terms(losses.LOGISTIC, u, np.ones(1001), np.ones(1001), point)
    assert point.curvature.max() == losses.largest_curvature(losses.LOGISTIC) == LOGISTIC.max_curvature


def test_loss_of_no_model_is_rounded_up():
    assert math.log(2.0) < losses.loss_without_model(losses.LOGISTIC) < math.log(2.0) * 1.001


def test_the_two_sides_mean_the_same_loss():
    assert LOGISTIC.code == losses.LOGISTIC


def test_unknown_losses_prove_nothing():
    y = np.ones(2)
    assert losses.balance(99, y, empty_point(2)) == -np.inf
    assert losses.largest_curvature(99) == losses.loss_without_model(99) == np.inf


# -- dual points -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [0.1, 3.0, 100.0])
@pytest.mark.parametrize("seed", range(3))
def test_entropy_is_below_the_truth_and_close(call, seed, spread):
    case = as_case(random_problem(seed, m=25, weighted=True))
    y, w = case.subproblem.y, case.subproblem.w
    u = spread * np.random.default_rng(seed).standard_normal(25)
    kept, point = u.copy(), empty_point(25)
    dual = call(losses.dual_point, case.subproblem, u, 0.0, point, losses.INTERCEPT_AT_BEST)
    assert np.array_equal(u, kept)
    assert dual.shift == 0.0
    assert dual.loss == pytest.approx(float(w @ np.logaddexp(0.0, -y * u)), rel=1e-13)
    truth = float(exact_entropy(w, dual_of(y, w, point.alpha)))
    assert dual.entropy <= truth
    assert dual.entropy == pytest.approx(truth, abs=4 * (25 + 24) * UNIT * dual.loss)
    assert dual.error_scale == pytest.approx(np.linalg.norm(point.alpha), rel=1e-8)
    assert dual.error_scale >= np.linalg.norm(point.alpha)


@with_digits
def balanced_exactly(y, w, alpha) -> list[Decimal]:
    """The dual point next to ``alpha`` that sums to zero exactly: the heavier class scaled down."""
    p = dual_of(y, w, alpha)
    mass = {
        side: sum(Decimal(float(v)) * q for s, v, q in zip(y, w, p, strict=True) if s == side) for side in (-1.0, 1.0)
    }
    least = min(mass.values())
    return [q * least / mass[s] if mass[s] > 0 else q for s, q in zip(y, p, strict=True)]


def check_balanced(call, y, w, u):
    """Balance the dual point at ``u``."""
    m, point = u.size, empty_point(u.size)
    losses.terms(losses.LOGISTIC, u, y, w, point)
    before = point.alpha.copy()
    magnitude, whole = math.fsum(point.loss + np.abs(point.cross)), math.fsum(point.loss + point.cross)
    entropy, slack = call(losses.balance_logistic, y, point), (9.0 * m + 88.0) * UNIT * magnitude + losses.TINY
    assert abs(math.fsum(point.alpha)) <= 3 * m * UNIT * math.fsum(np.abs(point.alpha))
    assert np.all(np.abs(point.alpha) <= np.abs(before))  # scaled down, hence p stays in [0, 1]
    assert np.all(point.alpha * y >= 0.0)
    scaled = {float(s) for s, old, new in zip(y, before, point.alpha, strict=True) if old != new}
    assert len(scaled) <= 1
    truth = exact_entropy(w, balanced_exactly(y, w, point.alpha))
    assert Decimal(entropy - slack) <= truth
    kept = min((new / old for new, old in zip(point.alpha, before, strict=True) if old != 0.0), default=1.0)
    assert entropy >= kept * whole - slack  # no more is lost than one class being scaled down must lose
    if 1.0 - kept < 1e-9:
        assert entropy == pytest.approx(float(truth), abs=slack)


@pytest.mark.parametrize("spread", [0.1, 3.0, 100.0])
@pytest.mark.parametrize("seed", range(3))
def test_balanced_point_sums_to_zero_and_its_entropy_is_below_the_truth(call, seed, spread):
    problem = random_problem(seed, m=25, weighted=True)
    u = spread * np.random.default_rng(seed).standard_normal(25)
    check_balanced(call, problem.y, problem.weights, u)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 30), st.floats(-4.0, 3.0), st.floats(-30.0, 30.0))
def test_balance_anywhere(seed, m, scale, shift):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(m) < 0.3, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    w = rng.exponential(size=m)
    u = 10.0**scale * rng.standard_normal(m) + shift
    check_balanced(interpreted, y, w / w.sum(), u)


@pytest.mark.parametrize("margins", [(480.7, 537.6), (300.0, 301.0), (20.0, 700.0), (600.0, 700.0), (720.0, 740.0)])
def test_balance_of_tiny_dual_points(call, margins):
    """The square of a dual point may be too small for a float, the dual point itself is not."""
    y, w = np.array([1.0, -1.0]), np.array([0.7, 0.3])
    check_balanced(call, y, w, y * np.array(margins))
    check_balanced(call, y, w, -y * np.array(margins))
    check_balanced(call, y, w, np.array(margins))


def test_one_class_alone_has_no_entropy():
    """Nothing balances it: its dual point is zero."""
    u, point = np.array([0.5, -1.0, 2.0]), empty_point(3)
    losses.terms(losses.LOGISTIC, u, np.ones(3), np.ones(3) / 3.0, point)
    assert losses.balance_logistic(np.ones(3), point) == 0.0
    assert point.alpha.tolist() == [0.0] * 3


@pytest.mark.parametrize("start", [-60.0, -3.0, 0.0, 0.2, 40.0])
def test_the_intercept_is_moved_to_its_best_value(start):
    problem = random_problem(3, m=40, weighted=True, fit_intercept=True)
    case = as_case(problem)
    y, w = problem.y, problem.weights
    signal = np.random.default_rng(4).standard_normal(40)
    best = brentq(lambda b: float(np.sum(w * y * expit(-y * (signal + b)))), -20.0, 20.0, xtol=1e-14)
    u, point = signal + start, empty_point(40)
    dual = losses.dual_point(case.subproblem, u, start, point, losses.INTERCEPT_AT_BEST)
    assert start + dual.shift == pytest.approx(best, abs=1e-9)
    assert u == pytest.approx(signal + best, abs=1e-9)
    assert dual.loss == pytest.approx(float(w @ np.logaddexp(0.0, -y * (signal + best))), rel=1e-12)
    assert dual.entropy <= float(exact_entropy(w, balanced_exactly(y, w, point.alpha)))


# -- dual points near the best intercept -----------------------------------------------------------------


def check_near(call, problem, u, nearness):
    """The entropy of the balanced point is below the truth, and not above that of the point at the best intercept."""
    case, m = as_case(problem), u.size
    y, w, point, moved = problem.y, problem.weights, empty_point(u.size), u.copy()
    near = call(losses.dual_point, case.subproblem, moved, 0.5, point, nearness)
    assert moved == pytest.approx(u + near.shift, rel=1e-12, abs=1e-12)
    loss = math.fsum(w * np.logaddexp(0.0, -y * moved))
    assert near.loss == pytest.approx(loss, rel=1e-12)
    if problem.fit_intercept:
        assert abs(math.fsum(point.alpha)) <= 3 * m * UNIT * math.fsum(np.abs(point.alpha))
        dual = balanced_exactly(y, w, point.alpha)
    else:
        dual = dual_of(y, w, point.alpha)
    assert Decimal(near.entropy) <= exact_entropy(w, dual)
    assert near.error_scale >= np.linalg.norm(point.alpha)
    return near, point


@pytest.mark.parametrize("nearness", [losses.INTERCEPT_NEARNESS, losses.INTERCEPT_AT_BEST])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("spread", [0.1, 3.0, 100.0])
def test_near_points_are_safe(call, spread, intercept, nearness):
    for seed in range(3):
        problem = random_problem(seed, m=25, weighted=True, fit_intercept=intercept)
        check_near(call, problem, spread * np.random.default_rng(seed).standard_normal(25), nearness)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 30), st.floats(-4.0, 3.0), st.floats(-30.0, 30.0), st.floats(-14.0, 0.0))
def test_near_points_anywhere(seed, m, scale, shift, nearness):
    rng = np.random.default_rng(seed)
    problem = random_problem(seed, m=m, weighted=True, fit_intercept=True)
    check_near(interpreted, problem, 10.0**scale * rng.standard_normal(m) + shift, 10.0**nearness)


@pytest.mark.parametrize("seed", range(5))
def test_near_points_are_nearly_as_good_as_the_point_at_the_best_intercept(seed):
    problem = random_problem(seed, m=40, weighted=True, fit_intercept=True)
    case, signal = as_case(problem), 2.0 * np.random.default_rng(seed).standard_normal(40)
    best = losses.dual_point(case.subproblem, signal + 0.5, 0.5, empty_point(40), losses.INTERCEPT_AT_BEST)
    near, _ = check_near(interpreted, problem, signal + 0.5, losses.INTERCEPT_NEARNESS)
    exact, _ = check_near(interpreted, problem, signal + 0.5, losses.INTERCEPT_AT_BEST)
    assert near.entropy == pytest.approx(best.entropy, rel=5e-3)
    assert exact.entropy == pytest.approx(best.entropy, rel=1e-11)
    assert exact.shift == pytest.approx(best.shift, abs=1e-9)
    assert best.loss * (1.0 - 1e-12) <= near.loss <= best.loss * (1.0 + losses.INTERCEPT_NEARNESS)
    assert abs(near.slope * (0.5 + near.shift)) <= losses.INTERCEPT_NEARNESS * near.loss
