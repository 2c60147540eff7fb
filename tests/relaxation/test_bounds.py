"""The dual bound: below every optimum, below the exact dual function, and no further below than rounding."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from safescreen import kernels
from safescreen.kernels import GRAM, IN, OUT, Start, Target
from safescreen.kernels.node import make_node
from safescreen.kernels.node_relaxation import make_workspace
from safescreen.problem import Problem
from safescreen.relaxation import Fixings, bound_at, restricted
from safescreen.screening import flipped
from safescreen.testing.reference import brute_force
from safescreen.tuning import FIRST_NEARNESS

pytestmark = pytest.mark.interpreted

TIGHT = 1e-11


class Case(NamedTuple):
    """A small problem and a dual point; everything random follows from the seed."""

    seed: int
    m: int
    n: int
    kind: str
    gamma: float
    weights: bool
    intercept: bool
    standardize: bool
    stored: str
    include: int
    exclude: int
    scaled: bool
    point: str

    def problem(self) -> Problem:
        rng = np.random.default_rng(self.seed)
        X = rng.standard_normal((self.m, self.n))
        if self.stored != "dense":
            X *= rng.random(X.shape) < 0.6
        if self.scaled:
            X *= 10.0 ** rng.uniform(-4.0, 4.0, self.n)
        y = np.where(X.sum(axis=1) + rng.logistic(size=self.m) > 0.0, 1, -1)
        y[:2] = 1, -1
        options = {} if self.kind == "budget" else {"mu": float(10.0 ** rng.uniform(-4.0, -0.5))}
        if self.kind != "price":
            options["k"] = int(rng.integers(max(self.include, 1), self.n + 1))
        if self.weights:
            options["sample_weight"] = np.append([0.5, 0.5], rng.exponential(size=self.m - 2))
            options["sample_weight"][2:] *= rng.random(self.m - 2) < 0.8
        order = rng.permutation(self.n)
        X = X if self.stored == "dense" else sparse.coo_array(X).asformat(self.stored)
        return Problem(
            X,
            y,
            gamma=self.gamma,
            fit_intercept=self.intercept,
            standardize=self.standardize,
            include=order[: self.include],
            exclude=order[self.include : self.include + self.exclude],
            **options,
        )

    def dual(self, problem: Problem) -> np.ndarray:
        """A dual point: anywhere, at a corner, at the start, or that of some model."""
        rng = np.random.default_rng([self.seed, 1])
        if self.point == "anywhere":
            return rng.random(self.m)
        if self.point == "corner":
            return rng.choice([0.0, 1.0, 0.5, 1e-12, 1.0 - 1e-12], self.m)
        if self.point == "start":
            return np.full(self.m, 0.5)
        A = problem.design.columns(np.arange(self.n))
        x = rng.standard_normal(self.n) / (1.0 + np.abs(A).max(axis=0))
        return 1.0 / (1.0 + np.exp(problem.y * (A @ x)))


CASES = st.builds(
    Case,
    seed=st.integers(0, 10**6),
    m=st.integers(3, 25),
    n=st.integers(2, 6),
    kind=st.sampled_from(["price", "budget", "both"]),
    gamma=st.sampled_from([0.01, 0.3, 1.0, 7.0, 100.0, 1e4]),
    weights=st.booleans(),
    intercept=st.booleans(),
    standardize=st.booleans(),
    stored=st.sampled_from(["dense", "csr", "csc", "coo"]),
    include=st.integers(0, 1),
    exclude=st.integers(0, 1),
    scaled=st.booleans(),
    point=st.sampled_from(["anywhere", "corner", "start", "model"]),
)
PLAIN = Case(0, 20, 5, "price", 1.0, False, False, False, "dense", 0, 0, False, "model")
BOTH = PLAIN._replace(kind="both", weights=True, intercept=True, standardize=True, include=1, exclude=1)
several = settings(max_examples=300, deadline=None, derandomize=True)


def given_by_user(problem: Problem) -> Fixings:
    return Fixings(problem.included, problem.excluded)


def entropy(p: Decimal) -> Decimal:
    return sum((-q * q.ln() for q in (p, 1 - p) if q > 0), Decimal(0))


def exactly_balanced(problem: Problem, p: list[Decimal], w: list[Decimal]) -> list[Decimal]:
    """The heavier class scaled down in (nearly) exact arithmetic."""
    mass = {side: sum(w[i] * p[i] for i in range(len(p)) if problem.y[i] == side) for side in (1.0, -1.0)}
    lighter = min(mass.values())
    return [p[i] * lighter / mass[float(side)] if mass[float(side)] > 0 else p[i] for i, side in enumerate(problem.y)]


def exact_bound(problem: Problem, fixings: Fixings, dual: np.ndarray) -> tuple[float, float]:
    """``D(p)`` written down again in fifty digits, and the sum of the sizes of its terms."""
    with localcontext() as context:
        context.prec = 50
        p, w = [Decimal(float(v)) for v in dual], [Decimal(float(v)) for v in problem.weights]
        p = exactly_balanced(problem, p, w) if problem.fit_intercept else p
        alpha = [w[i] * p[i] * int(problem.y[i]) for i in range(len(p))]
        gains = [exact_gain(problem, j, alpha) for j in range(problem.n_features)]
        kappa = problem.k - int(fixings.included.sum())
        free = sorted((max(gains[j], Decimal(0)) for j in np.flatnonzero(fixings.free)), reverse=True)
        entropies = sum((w[i] * entropy(p[i]) for i in range(len(p))), Decimal(0))
        fixed = [gains[j] for j in np.flatnonzero(fixings.included)]
        chosen = sum(free[:kappa], Decimal(0))
        value = entropies - sum(fixed, Decimal(0)) - chosen
        size = 1 + entropies + chosen + sum((abs(gain) for gain in fixed), Decimal(0))
        return float(value), float(size)


def exact_gain(problem: Problem, j: int, alpha: list[Decimal]) -> Decimal:
    """``q_j - μ`` for the matrix in real arithmetic, means and scales taken as they are."""
    if problem.design.constant[j]:
        return Decimal(0) - Decimal(problem.mu)
    raw = problem.design._gather(np.array([j]))[0]
    mean, scale = Decimal(float(problem.design.means[j])), Decimal(float(problem.design.scales[j]))
    c = sum(((Decimal(float(v)) - mean) * a for v, a in zip(raw, alpha, strict=True)), Decimal(0)) / scale
    return Decimal(problem.gamma) * c * c / 4 - Decimal(problem.mu)


@several
@given(CASES)
@example(PLAIN)
@example(BOTH)
@example(BOTH._replace(stored="csr", scaled=True, gamma=1e4))
def test_bound_never_exceeds_the_optimum(case):
    problem = case.problem()
    bound = bound_at(problem, given_by_user(problem), case.dual(problem))
    optimum = brute_force(problem).value
    assert bound.value <= optimum * (1.0 + 1e-13)


@several
@given(CASES)
@example(PLAIN)
@example(BOTH)
@example(BOTH._replace(stored="csc", scaled=True))
def test_bound_is_just_below_the_exact_dual_function(case):
    problem = case.problem()
    fixings = given_by_user(problem)
    bound = bound_at(problem, fixings, case.dual(problem))
    exact, size = exact_bound(problem, fixings, bound.dual)
    assert bound.value <= exact
    assert exact - bound.value <= TIGHT * size * (1.0 + np.abs(problem.design.means / problem.design.scales).max())


@several
@given(CASES)
@example(PLAIN)
@example(PLAIN._replace(kind="budget"))
@example(BOTH)
def test_raised_bounds_are_those_of_the_flipped_branches(case):
    problem = case.problem()
    fixings = given_by_user(problem)
    bound = bound_at(problem, fixings, case.dual(problem))
    chosen, raised = flipped(bound, fixings)
    full = problem.k == problem.included.sum()
    for j in range(problem.n_features):
        if not fixings.free[j]:
            assert raised[j] == -np.inf
            continue
        if full:
            assert not chosen[j]
            assert raised[j] > 1e299
            continue
        this = np.arange(problem.n_features) == j
        other = Fixings(fixings.included | (this & ~chosen[j]), fixings.excluded | (this & chosen[j]))
        again = bound_at(problem, other, bound.dual).value
        size = 1.0 + abs(bound.value) + np.abs(bound.gain).sum()
        assert abs(raised[j] - again) <= 1e-12 * size
        assert raised[j] >= bound.value - 1e-12 * size


def test_chosen_are_the_best_that_fit_the_budget():
    problem = PLAIN._replace(kind="budget", n=6, seed=3).problem()
    fixings = given_by_user(problem)
    bound = bound_at(problem, fixings, PLAIN._replace(n=6, point="start").dual(problem))
    chosen, _ = flipped(bound, fixings)
    assert chosen.sum() == problem.k
    assert bound.gain[chosen].min() > bound.gain[~chosen].max(initial=-np.inf)


@settings(several, max_examples=120)
@given(CASES, st.sampled_from([1e-12, 1e-6, 1e-1]))
@example(PLAIN, 1e-12)
@example(BOTH, 1e-12)
def test_compiled_bound_agrees(case, tolerance):
    problem = case.problem()
    fixings = given_by_user(problem)
    subproblem = restricted(problem, np.arange(problem.n_features))
    node = make_node(problem.n_features, problem.n_samples, np.ones(problem.n_features))
    workspace = make_workspace(problem.n_features, problem.weights, problem.n_features)
    node.status[fixings.included] = IN
    node.status[fixings.excluded] = OUT
    level = float(np.sqrt(problem.gamma * problem.mu))
    start, target = Start(level, 0.0, GRAM), Target(np.inf, tolerance, 0.0)
    primal, (bound, *_), *_ = kernels.relax(subproblem, node, workspace, start, target)
    p = np.divide(problem.y * node.best_alpha, problem.weights, out=np.zeros(case.m), where=problem.weights > 0.0)
    again = bound_at(problem, fixings, p)
    exact, size = exact_bound(problem, fixings, again.dual)
    assert bound <= exact
    assert bound <= primal * (1.0 + 1e-12)
    ratio = 1.0 + np.abs(problem.design.means / problem.design.scales).max()
    unbalanced = FIRST_NEARNESS * primal if problem.fit_intercept else 0.0
    assert -TIGHT * size * ratio <= again.value - bound <= TIGHT * size * ratio + unbalanced


@pytest.mark.parametrize("seed", range(5))
def test_balancing_makes_the_classes_even(seed):
    problem = PLAIN._replace(seed=seed, intercept=True, weights=True).problem()
    p = np.random.default_rng(seed).random(problem.n_samples)
    even = problem.loss.balanced(problem.y, problem.weights, p)
    assert abs(problem.y @ (problem.weights * even)) < 1e-15
    assert (even <= p).all()
    assert (even >= 0.0).all()
    assert (even[problem.y > 0.0] == p[problem.y > 0.0]).all() or (even[problem.y < 0.0] == p[problem.y < 0.0]).all()


def test_points_outside_the_box_are_clipped():
    problem = PLAIN.problem()
    fixings = given_by_user(problem)
    outside = bound_at(problem, fixings, np.linspace(-1.0, 2.0, problem.n_samples))
    inside = bound_at(problem, fixings, np.clip(np.linspace(-1.0, 2.0, problem.n_samples), 0.0, 1.0))
    assert outside.value == inside.value


@pytest.mark.parametrize("k", [2, 6])
def test_a_correlation_that_is_no_number_leaves_no_bound(k):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 6)), np.tile([1, -1], 10)
    problem = Problem(X, y, k=k)
    strange = np.zeros(6)
    strange[4] = np.nan
    problem.design.correlations = lambda alpha: strange.copy()
    fixings = Fixings.given(problem)
    bound = bound_at(problem, fixings, np.full(20, 0.5))
    assert bound.value == -np.inf  # it may be arbitrarily large
    assert not (flipped(bound, fixings)[1] > -np.inf).any()
