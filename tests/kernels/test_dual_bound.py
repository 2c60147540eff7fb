"""The bound of a node: the one NumPy computes for the whole problem, and never above what brute force finds."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import as_case, empty_point, random_problem

from safescreen.kernels.columns import correlate
from safescreen.kernels.dual_bound import NodeBound, dual_bound, flipped
from safescreen.kernels.losses import INTERCEPT_AT_BEST, DualPoint, dual_point
from safescreen.kernels.node_relaxation import split
from safescreen.kernels.subproblem import FREE, IN, OUT
from safescreen.relaxation.bounds import Fixings, bound_at
from safescreen.screening import rule
from safescreen.testing.reference import brute_force

PROBLEMS = {
    "price": {"mu": 0.01},
    "budget": {"k": 2},
    "price and budget": {"mu": 0.005, "k": 3},
    "loose budget": {"k": 6},
    "intercept": {"mu": 0.01, "fit_intercept": True, "weighted": True},
    "budget and intercept": {"k": 2, "fit_intercept": True, "standardize": True},
    "weights": {"k": 1, "weighted": True},
    "decided": {"k": 3, "include": (4,), "exclude": (0,)},
    "decided, with a price": {"mu": 0.02, "include": (4, 5), "exclude": (2,), "fit_intercept": True},
}


def evaluated(problem, x, b=0.0, call=None):
    """The node's bound at the dual point of the iterate ``(x, b)``, and the dual point ``p``."""
    case = as_case(problem)
    decided = split(case.node)
    count = int(case.progress.hot)
    assert case.progress.cold == 0
    u, point = x @ case.subproblem.columns.dense + b, empty_point(problem.n_samples)
    dual = dual_point(case.subproblem, u, 0.0, point, INTERCEPT_AT_BEST)
    correlate(case.subproblem.columns, case.node.features, count, point.alpha, case.node.c, case.node.progress[0])
    arguments = case.subproblem, case.node, count, dual, problem.k - decided
    bound = call(dual_bound, *arguments) if call else dual_bound(*arguments)
    return bound, case.node, problem.y * point.alpha / problem.weights


def iterates(seed):
    rng = np.random.default_rng(seed)
    return [np.zeros(6), 0.3 * rng.standard_normal(6), 3.0 * rng.standard_normal(6)]


@pytest.mark.parametrize("name", PROBLEMS)
def test_same_as_for_the_whole_problem(call, name):
    problem = random_problem(1, **PROBLEMS[name])
    for x in iterates(1):
        bound, node, p = evaluated(problem, x, 0.1, call)
        twin = bound_at(problem, Fixings.given(problem), p)
        there = node.status != OUT
        assert bound.value == pytest.approx(twin.value, rel=1e-11)
        assert bound.kth_gain == pytest.approx(twin.kth_gain, rel=1e-10)
        assert bound.next_gain == pytest.approx(twin.next_gain, rel=1e-10)
        assert node.q[there] - problem.mu == pytest.approx(twin.gain[there], rel=1e-10, abs=1e-13)


@pytest.mark.parametrize("name", PROBLEMS)
def test_same_screening_rule(name):
    problem = random_problem(2, **PROBLEMS[name])
    fixings = Fixings.given(problem)
    for x in iterates(2):
        bound, node, p = evaluated(problem, x)
        twin = bound_at(problem, fixings, p)
        chosen, raised = rule.flipped(twin, fixings)
        for j in np.flatnonzero(node.status == FREE):
            choice, value = flipped(bound, node.q[j] - problem.mu)
            assert choice == (IN if chosen[j] else OUT)
            assert value == pytest.approx(raised[j], rel=1e-10)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("seed", range(3))
def test_never_above_brute_force(name, seed):
    """Neither the bound nor, for any feature, the bound of the branch against the relaxation's own choice."""
    problem = random_problem(seed, **PROBLEMS[name])
    truth = brute_force(problem)
    for x in [*iterates(seed), truth.best_x]:
        bound, node, _ = evaluated(problem, x, truth.best_b)
        assert bound.value <= truth.value
        for j in np.flatnonzero(node.status == FREE):
            choice, raised = flipped(bound, node.q[j] - problem.mu)
            other = [value for support, value in truth.table.items() if (j in support) == (choice == OUT)]
            assert raised <= min(other, default=np.inf)


def test_bound_at_the_optimum_of_a_ridge_regression_is_the_optimum():
    """Nothing is free: there is no gap but for rounding."""
    problem = random_problem(3, mu=0.01, include=(0, 1, 2), exclude=(3, 4, 5))
    truth = brute_force(problem)
    bound, _, _ = evaluated(problem, truth.best_x)
    assert bound.value == pytest.approx(truth.value, rel=1e-9)
    assert bound.value <= truth.value


def by_hand(gains, kappa, status=None):
    """The bound of features with these values of ``q``, at entropy one and price one."""
    case = as_case(random_problem(0, n=len(gains), mu=1.0, gamma=4.0))
    case.node.c[:] = np.sqrt(gains)
    case.node.features[:] = np.arange(len(gains))
    if status is not None:
        case.node.status[:] = status
    return dual_bound(case.subproblem, case.node, len(gains), DualPoint(0.0, 1.0, 0.0, 0.0, 0.0), kappa)


@pytest.mark.parametrize(
    ("q", "kappa", "expected"),
    [
        ([1.5, 3.0, 2.0, 0.5], 4, (1.0 - 3.5, 0.0, 0.0)),  # more places than gains
        ([1.5, 3.0, 2.0, 0.5], 3, (1.0 - 3.5, 0.5, 0.0)),  # as many: the last of them would be displaced
        ([1.5, 3.0, 2.0, 0.5], 2, (1.0 - 3.0, 1.0, 0.5)),
        ([1.5, 3.0, 2.0, 0.5], 1, (1.0 - 2.0, 2.0, 1.0)),
        ([2.0, 2.0, 2.0, 2.0], 2, (1.0 - 2.0, 1.0, 1.0)),  # ties
        ([0.5, 0.1, 0.0, 1.0], 2, (1.0, 0.0, 0.0)),  # nothing is worth its price
    ],
)
def test_gains_by_hand(q, kappa, expected):
    assert by_hand(np.array(q), kappa) == pytest.approx(expected, rel=1e-13)
    assert by_hand(np.array(q), kappa).value < expected[0]  # rounded down


def test_features_in_pay_their_price_and_take_no_place():
    found = by_hand(np.array([1.5, 3.0, 2.0, 0.5]), 1, [FREE, IN, FREE, IN])
    assert found == pytest.approx((1.0 + (1.0 - 3.0) + (1.0 - 0.5) - 1.0, 1.0, 0.5), rel=1e-13)


def test_flipping_by_hand():
    bound = NodeBound(10.0, 2.0, 1.0)
    for gain, choice, raised in (
        (3.0, IN, 12.0),
        (2.0, IN, 11.0),
        (1.5, OUT, 10.5),
        (0.0, OUT, 12.0),
        (-1.0, OUT, 13.0),
    ):
        assert flipped(bound, gain) == (choice, pytest.approx(raised, rel=1e-14))
        assert flipped(bound, gain)[1] < raised
    assert flipped(NodeBound(10.0, 0.0, 0.0), 0.0)[0] == OUT  # worth nothing: out, even where there are places left


def test_rounding_of_correlations_is_covered():
    """The larger the error of a column, the smaller the bound."""
    problem = random_problem(5, mu=0.001)
    case = as_case(problem)
    careless = case.subproblem.columns._replace(error=np.full(6, 1e-3))
    split(case.node)
    point, u = empty_point(problem.n_samples), np.zeros(problem.n_samples)
    dual = dual_point(case.subproblem, u, 0.0, point, INTERCEPT_AT_BEST)
    correlate(careless, case.node.features, 6, point.alpha, case.node.c, case.node.progress[0])
    exact = dual_bound(case.subproblem, case.node, 6, dual, 6)
    wide = dual_bound(case.subproblem._replace(columns=careless), case.node, 6, dual, 6)
    size = np.abs(case.node.c) + 1e-3 * dual.error_scale
    gains = np.maximum(0.25 * problem.gamma * size**2 - problem.mu, 0.0)
    assert wide.value == pytest.approx(dual.entropy - gains.sum(), rel=1e-12)
    assert wide.value < exact.value
