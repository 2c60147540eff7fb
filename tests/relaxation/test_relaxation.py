"""The relaxation: a duality gap near rounding on easy and on nasty data, and numbers that fit together."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

import safescreen as ss
from problems import plain
from safescreen.relaxation import big_m
from safescreen.relaxation.bounds import Bound, Fixings, bound_at, sharp_bound_at

ACCURACY = 1e-9
ENTROPY = 5e-14
"""What rounding the entropy, a number of order one, may cost: visible where the objective is tiny."""

TERMS = {"price": {"mu": 2e-3}, "budget": {"k": 6}, "both": {"mu": 5e-4, "k": 10}}
GAMMAS = (1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6)
KINDS = ("plain", "correlated", "separable", "duplicated", "mirrored", "scaled", "shifted", "thin")


def make_data(kind: str, m: int, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Data with one trouble."""
    rng = np.random.default_rng([seed, m, n])
    X = rng.standard_normal((m, n))
    if kind == "correlated":
        X += 3.0 * rng.standard_normal((m, 1))
    score = X[:, :4].sum(axis=1)
    if kind == "duplicated":
        X[:, n // 2 :] = X[:, : n - n // 2]
    if kind == "mirrored":
        X[:, 1::2] = -X[:, 0 : 2 * (n // 2) : 2]
    if kind == "scaled":
        X *= 10.0 ** np.linspace(-6.0, 6.0, n)[rng.permutation(n)]
    if kind == "shifted":
        X += 100.0
    if kind == "thin":
        X *= rng.random((m, n)) < 0.1
    if kind != "separable":
        score = score + rng.logistic(size=m)
    return X, np.where(score > np.median(score), 1, -1)


def relaxed_objective(problem: ss.Problem, relaxation: ss.Relaxation) -> float:
    """The relaxation's objective at its own point, from the definition."""
    A = problem.design.columns(np.arange(problem.n_features))
    x = relaxation.coef * problem.design.scales
    b = relaxation.intercept + float(relaxation.coef @ problem.design.means)
    loss = problem.weights @ np.logaddexp(0.0, -problem.y * (A @ x + b))
    used = x != 0.0
    assert (relaxation.z[used] > 0.0).all()
    ridge = np.sum(x[used] ** 2 / relaxation.z[used]) / problem.gamma
    return float(loss + ridge + problem.mu * relaxation.z.sum())


def rounding(problem: ss.Problem, bound: Bound) -> float:
    """How far rounding lowers the bound: a solver in double precision cannot close this gap.

    Correlations are widened by their error, and optimality is enforced on correlations that carry one.
    """
    exact = 0.25 * problem.gamma * bound.correlation**2 - problem.mu
    free = ~(problem.included | problem.excluded)
    kappa = problem.k - problem.include.size
    lost = 0.0
    for gain, sign in ((bound.gain, 1.0), (exact, -1.0)):
        best = np.sort(np.maximum(gain[free], 0.0))[::-1][:kappa]
        lost += sign * float(best.sum() + gain[problem.included].sum())
    alpha = problem.weights * bound.dual
    noise = problem.design.error * float(np.linalg.norm(alpha))
    counted = problem.included | (free & (bound.gain > -1e-3 * problem.mu))
    return lost + float(np.sum(0.5 * problem.gamma * np.abs(bound.correlation[counted]) * noise[counted]))


def complaints(problem: ss.Problem, relaxation: ss.Relaxation) -> list[str]:
    """Everything that does not hold for a solved relaxation but must."""
    value, lower, z, p = relaxation.value, relaxation.lower_bound, relaxation.z, relaxation.dual
    found = []
    if not lower <= value:
        found.append(f"lower bound {lower!r} above the value {value!r}")
    bound = bound_at(problem, Fixings(problem.included, problem.excluded), p)
    if not value - lower <= ACCURACY * value + 2.0 * rounding(problem, bound) + ENTROPY:
        found.append(f"relative gap {(value - lower) / value:.3g} at the value {value:.6g}")
    if not ((z >= 0.0) & (z <= 1.0)).all():
        found.append("z outside [0, 1]")
    if not z.sum() <= problem.k * (1.0 + 1e-9):
        found.append(f"sum of z is {z.sum():.12g} on a budget of {problem.k}")
    if not ((z[problem.included] == 1.0).all() and (relaxation.coef[problem.excluded] == 0.0).all()):
        found.append("a decision of the user is not respected")
    if not ((p >= 0.0) & (p <= 1.0)).all():
        found.append("dual point outside [0, 1]")
    sharp = sharp_bound_at(problem, Fixings(problem.included, problem.excluded), p)
    if min(abs(bound.value - lower), abs(sharp.value - lower)) > 1e-12 * abs(lower) + ENTROPY:
        found.append(f"the dual point proves {bound.value!r}, not {lower!r}")
    recomputed = relaxed_objective(problem, relaxation)
    if not abs(recomputed - value) <= 1e-9 * value + 1e-14:
        found.append(f"the objective at the point is {recomputed!r}, not {value!r}")
    return found


def check(problem: ss.Problem, relaxation: ss.Relaxation) -> None:
    found = complaints(problem, relaxation)
    assert not found, "; ".join(found)


@pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])
@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gamma", GAMMAS)
def test_gap_on_the_grid(gamma, kind, terms, intercept):
    X, y = make_data(kind, 60, 80)
    problem = ss.Problem(X, y, gamma=gamma, fit_intercept=intercept, standardize=False, **TERMS[terms])
    check(problem, ss.relax(problem))


@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("kind", ["plain", "separable", "scaled", "duplicated"])
@pytest.mark.parametrize("gamma", [1e-2, 1.0, 1e3, 1e6])
def test_gap_on_wider_problems(gamma, kind, terms):
    X, y = make_data(kind, 100, 300)
    problem = ss.Problem(X, y, gamma=gamma, standardize=kind == "scaled", fit_intercept=True, **TERMS[terms])
    check(problem, ss.relax(problem))


@pytest.mark.interpreted
@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("gamma", [0.1, 10.0, 1e4])
def test_gap_with_few_features(gamma, terms):
    X, y = make_data("plain", 100, 5)
    problem = plain(X, y, gamma=gamma, **TERMS[terms])
    check(problem, ss.relax(problem))


@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("stored", ["dense", "csr"])
def test_gap_with_every_option(terms, stored):
    X, y = make_data("thin", 80, 100)
    X[:, 7] = 3.0
    weights = np.random.default_rng(1).exponential(size=80)
    weights[::9] = 0.0
    problem = ss.Problem(
        X if stored == "dense" else sparse.csr_array(X),
        y,
        gamma=5.0,
        sample_weight=weights,
        fit_intercept=True,
        standardize=True,
        include=[50, 3],
        exclude=[0, 1],
        **TERMS[terms],
    )
    relaxation = ss.relax(problem)
    check(problem, relaxation)
    assert relaxation.coef[7] == 0.0


@pytest.mark.interpreted
@pytest.mark.parametrize("options", [{"k": 5}, {"mu": 0.0}, {"mu": 0.0, "k": 5}, {"mu": 1e-9}, {"mu": 10.0}])
@pytest.mark.parametrize("gamma", [1.0, 1e3])
def test_gap_at_the_ends(options, gamma):
    """All features free of charge, a price of next to nothing, a price nobody pays."""
    X, y = make_data("plain", 40, 5)
    problem = plain(X, y, gamma=gamma, **options)
    relaxation = ss.relax(problem)
    check(problem, relaxation)
    if options.get("mu") == 10.0:
        assert not relaxation.coef.any()
        assert relaxation.value == pytest.approx(np.log(2.0), rel=1e-12)
    else:
        assert relaxation.coef.all()


@pytest.mark.interpreted
@pytest.mark.parametrize("options", [{"include": [0, 1, 2], "k": 3}, {"exclude": range(10), "mu": 0.01}])
@pytest.mark.parametrize("intercept", [False, True])
def test_gap_when_nothing_is_free(options, intercept):
    X, y = make_data("plain", 40, 10)
    problem = ss.Problem(X, y, gamma=3.0, fit_intercept=intercept, standardize=False, **options)
    check(problem, ss.relax(problem))


def test_relaxation_is_below_the_optimum():
    X, y = make_data("correlated", 60, 30)
    problem = plain(X, y, k=3, gamma=100.0)
    assert ss.relax(problem).lower_bound < ss.solve(problem).objective


def test_more_budget_or_a_lower_price_never_costs():
    X, y = make_data("plain", 60, 80)
    by_budget = [ss.relax(plain(X, y, k=k, gamma=10.0)).value for k in (1, 2, 4, 8, 16, 80)]
    by_price = [ss.relax(plain(X, y, mu=mu, gamma=10.0)).value for mu in (1e-1, 1e-2, 1e-3, 1e-4, 0.0)]
    for values in (by_budget, by_price):
        assert all(later < earlier for earlier, later in pairwise(values))
    assert by_budget[-1] == pytest.approx(by_price[-1], rel=1e-9)


def test_same_answer_for_every_storage():
    X, y = make_data("thin", 60, 80)
    values = [
        ss.relax(ss.Problem(form, y, k=6, gamma=10.0, standardize=True, fit_intercept=False)).value
        for form in (X, np.asfortranarray(X), sparse.csr_array(X), sparse.csc_array(X), sparse.coo_array(X))
    ]
    assert np.ptp(values) <= 1e-9 * values[0]


@pytest.mark.interpreted
def test_relaxation_is_frozen():
    X, y = make_data("plain", 20, 5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        ss.relax(plain(X, y, k=2)).value = 0.0


# -- big-M -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("gamma", [0.5, 2.0])
@pytest.mark.parametrize("intercept", [False, True])
def test_big_m_is_the_weaker_relaxation(terms, gamma, intercept):
    X, y = make_data("plain", 60, 40)
    problem = ss.Problem(X, y, gamma=gamma, fit_intercept=intercept, standardize=False, **TERMS[terms])
    strong = ss.relax(problem)
    M = 2.0 * max(np.abs(strong.coef).max(), np.abs(ss.solve(problem).coef).max())
    weak = ss.relax(problem, formulation="big-m", M=M)
    assert weak.lower_bound <= weak.value
    assert weak.value - weak.lower_bound <= 1e-8 * weak.value
    assert weak.value <= strong.value * (1.0 + 1e-9)
    assert weak.lower_bound < strong.lower_bound


@pytest.mark.parametrize("kind", ["plain", "correlated", "duplicated"])
def test_big_m_of_a_matrix_too_large_to_decompose(kind, monkeypatch):
    X, y = make_data(kind, 60, 40)
    problem = ss.Problem(X, y, k=4, gamma=2.0)
    whole = ss.relax(problem, formulation="big-m", M=0.5)
    monkeypatch.setattr(big_m, "LARGEST_DECOMPOSITION", 0)
    monkeypatch.setattr(np.linalg, "norm", only_of_vectors(np.linalg.norm))
    assert ss.relax(problem, formulation="big-m", M=0.5).value == pytest.approx(whole.value, rel=1e-8)


def only_of_vectors(norm):
    """The norm of a matrix is a decomposition, in the middle of which nobody sees Ctrl-C."""

    def of_vector(vector):
        assert vector.ndim == 1
        return norm(vector)

    return of_vector


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("terms", [{"mu": 0.03}, {"k": 2}, {"k": 4, "mu": 1e-2, "include": [30, 31]}])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csc_array])
def test_big_m_in_blocks(kind, terms, intercept, monkeypatch):
    """Columns that do not fit are looked at through their correlations alone."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((60, 40)) + 0.5 * rng.standard_normal((60, 1))
    y = np.where(X[:, :3].sum(axis=1) + rng.logistic(size=60) > 0.0, 1, -1)
    options = {"gamma": 5.0, "fit_intercept": intercept, "standardize": True}
    problem = ss.Problem(kind(X), y, **terms, **options)
    whole = ss.relax(problem, formulation="big-m", M=0.4)
    assert np.count_nonzero(whole.coef) < 24
    sizes, restricted = [], big_m._restricted
    monkeypatch.setattr(big_m, "_restricted", lambda *args: sizes.append(args[1].size) or restricted(*args))
    monkeypatch.setattr(big_m, "FIRST_BLOCK", 3)
    monkeypatch.setattr(big_m, "LEAST_BLOCK", 3)
    monkeypatch.setattr(type(problem.design), "columns_at_a_time", 36)
    blocks = ss.relax(problem, formulation="big-m", M=0.4)
    assert 2 <= len(sizes) < 20
    assert sizes[0] == 3 + problem.include.size
    assert max(sizes) <= 24
    assert blocks.value == pytest.approx(whole.value, rel=1e-7)
    assert blocks.lower_bound == pytest.approx(whole.lower_bound, rel=1e-7)
    assert blocks.lower_bound <= whole.value


@pytest.mark.parametrize("terms", [{"mu": 5e-3}, {"k": 4}, {"k": 40}])
@pytest.mark.parametrize("room", [0, 9, 36])
def test_big_m_without_room_for_its_solution(room, terms, monkeypatch):
    """Value and bound then lie apart, on both sides of what they would be."""
    X, y = make_data("plain", 60, 40)
    problem = ss.Problem(X, y, gamma=5.0, **terms)
    whole = ss.relax(problem, formulation="big-m", M=0.7)
    assert np.count_nonzero(whole.coef) > 24
    monkeypatch.setattr(big_m, "FIRST_BLOCK", 3)
    monkeypatch.setattr(big_m, "LEAST_BLOCK", 3)
    monkeypatch.setattr(type(problem.design), "columns_at_a_time", room)
    blocks = ss.relax(problem, formulation="big-m", M=0.7)
    assert blocks.lower_bound <= whole.value <= blocks.value * (1.0 + 1e-9)
    assert np.count_nonzero(blocks.coef) <= max(2 * room // 3, 3)
    assert (np.abs(blocks.coef * problem.design.scales) <= 0.7 * (1.0 + 1e-12)).all()


@pytest.mark.interpreted
def test_big_m_point_is_feasible_and_has_its_value():
    X, y = make_data("plain", 60, 40)
    problem = plain(X, y, mu=1e-3, k=3, gamma=5.0, include=[2], exclude=[0])
    M = 0.3
    weak = ss.relax(problem, formulation="big-m", M=M)
    assert (np.abs(weak.coef) <= M * weak.z + 1e-12).all()
    assert weak.z.sum() <= 3.0 + 1e-9
    assert weak.z[2] == 1.0
    assert weak.coef[0] == 0.0
    loss = np.mean(np.logaddexp(0.0, -y * (X @ weak.coef)))
    assert weak.value == pytest.approx(loss + weak.coef @ weak.coef / 5.0 + 1e-3 * weak.z.sum(), rel=1e-9)


@pytest.mark.interpreted
@pytest.mark.parametrize("M", [0.0, -1.0, np.nan, np.inf])
def test_bad_m_is_refused(M):
    X, y = make_data("plain", 20, 5)
    with pytest.raises(ValueError, match=r"M is .*, but must be a finite number > 0"):
        ss.relax(plain(X, y, k=2), formulation="big-m", M=M)


@pytest.mark.interpreted
@pytest.mark.parametrize("formulation", ["hull", "Perspective", "", None])
def test_bad_formulation_is_refused(formulation):
    X, y = make_data("plain", 20, 5)
    with pytest.raises(ValueError, match=r"formulation is .*, but must be 'perspective' or 'big-m'"):
        ss.relax(plain(X, y, k=2), formulation=formulation)
