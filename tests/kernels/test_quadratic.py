"""The quadratic model of a node: levels, penalties and minimisers against general solvers, Hessians against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from calling import compiled
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_cases import sparse_columns
from scipy.optimize import brentq, minimize

from safescreen.design.columns import Columns
from safescreen.kernels import quadratic as kernel
from safescreen.kernels.columns import make_dense
from safescreen.kernels.node import PROGRESS
from safescreen.kernels.quadratic import INTERCEPT, RIDGE, Penalty, make_gram, make_quadratic
from safescreen.kernels.subproblem import FREE
from safescreen.tuning import BLOCKED_PRODUCTS, GRAM_INFLATION, GRAM_ROOM, GRAM_TRIAL_PERIOD


def penalty_of(gamma, mu, kappa):
    return Penalty(gamma, mu, float(np.sqrt(gamma * mu)), kappa)


def model_at(x, kinds, hessian=None, gradient=None):
    """A model whose iterate is ``x``; one coordinate more than it has must never be touched."""
    size = len(x)
    model = make_quadratic(size, 3)
    for array in model[:6]:
        array.fill(np.nan)
    model.x[:size] = model.start[:size] = x
    model.kind[:size] = kinds
    model.feature[:size] = np.arange(size)
    if hessian is not None:
        model.hessian[:size, :size] = hessian
        model.gradient[:size] = gradient
    return model


def prepared(model, size, gamma):
    """The same model, ready to be minimised."""
    kernel.prepare_sweeps(model, size, gamma)
    return model


def progress_of(size, level=0.0):
    """Where a relaxation stands that is about to minimise a model of this size, beginning at this level."""
    progress = np.zeros(1, PROGRESS)
    progress["working"], progress["level"] = size, level
    return progress[0]


# -- the level and the penalty ---------------------------------------------------------------------------


def used(x, level):
    """Of the budget."""
    return float(np.minimum(1.0, np.abs(x) / level).sum()) if level > 0.0 else np.count_nonzero(x)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(-5.0, 5.0).map(lambda v: round(v, 3)), min_size=1, max_size=9),
    st.integers(1, 9),
    st.sampled_from([0.0, 0.01, 3.0]),
)
def test_water_level_uses_the_budget(x, kappa, mu):
    x, penalty = np.array(x), penalty_of(2.0, mu, kappa)
    model = model_at(x, FREE)
    level = kernel.water_level(model, x.size, penalty)
    if np.count_nonzero(x) <= kappa:
        assert level == penalty.lowest
        return
    sizes = np.sort(np.abs(x[x != 0.0]))
    solved = brentq(lambda t: used(x, t) - kappa, 0.5 * sizes[0], sizes.sum() + 1.0, xtol=1e-13)
    assert level >= penalty.lowest
    assert used(x, level) <= kappa * (1.0 + 1e-12)
    if level > penalty.lowest:
        assert used(x, level) == pytest.approx(kappa, rel=1e-12)
    else:
        assert solved <= level * (1.0 + 1e-10)


def test_level_is_about_free_coordinates_only():
    x = np.array([1.0, 100.0, 2.0, -50.0, -3.0])
    kinds = [FREE, RIDGE, FREE, INTERCEPT, FREE]
    level = kernel.water_level(model_at(x, kinds), 5, penalty_of(1.0, 0.0, 1))
    assert level == pytest.approx(6.0)


def cheapest(x, gamma, mu, kappa):
    """``min_z Σ x²/(γ z) + μ z`` with ``Σ z ≤ κ``, ``0 < z ≤ 1``: by a general solver."""
    x = np.abs(x[x != 0.0])
    if x.size == 0:
        return 0.0
    start = np.full(x.size, min(1.0, 0.99 * kappa / x.size))
    found = minimize(
        lambda z: float(np.sum(x**2 / (gamma * z) + mu * z)),
        start,
        jac=lambda z: -(x**2) / (gamma * z**2) + mu,
        bounds=[(1e-9, 1.0)] * x.size,
        constraints={"type": "ineq", "fun": lambda z: kappa - z.sum(), "jac": lambda z: -np.ones(z.size)},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return float(found.fun)


@pytest.mark.parametrize(("mu", "kappa"), [(0.05, 9), (0.0, 2), (0.02, 2), (0.5, 3)])
def test_penalty_is_the_cheapest_fractional_choice(mu, kappa):
    rng = np.random.default_rng(7)
    for _ in range(5):
        x = np.round(rng.standard_normal(6), 2) * (rng.random(6) < 0.8)
        model, penalty = model_at(x, FREE), penalty_of(3.0, mu, kappa)
        level = kernel.water_level(model, 6, penalty)
        found = kernel.penalty_value(model, 6, level, penalty)
        assert found == pytest.approx(cheapest(x, 3.0, mu, kappa), rel=1e-6, abs=1e-9)


def test_penalty_of_decided_coordinates():
    model = model_at([0.0, 2.0, 7.0], [RIDGE, RIDGE, INTERCEPT])
    value = kernel.penalty_value(model, 3, 1.0, penalty_of(4.0, 0.1, 0))
    assert value == pytest.approx(0.1 + (1.0 + 0.1))  # a price each, a ridge; the intercept is free of both


# -- the minimiser ---------------------------------------------------------------------------------------

MODELS = {
    "price": ("independent", 0.02, 99, "free"),
    "no price": ("independent", 0.0, 99, "free"),
    "budget": ("independent", 0.0, 2, "free"),
    "price and budget": ("independent", 0.01, 3, "free"),
    "correlated, price": ("correlated", 0.02, 99, "free"),
    "correlated, budget": ("correlated", 0.0, 2, "free"),
    "duplicated, budget": ("duplicated", 0.001, 2, "free"),
    "decided": ("independent", 0.02, 99, "mixed"),
    "decided, budget": ("correlated", 0.0, 1, "mixed"),
    "nothing free": ("correlated", 0.02, 0, "decided"),
}


class Random:
    """A random quadratic model around a random iterate, with its penalty."""

    def __init__(self, name, seed, size=7):
        columns, mu, kappa, kinds = MODELS[name]
        rng = np.random.default_rng(seed)
        root = rng.standard_normal((12, size))
        if columns == "correlated":
            root = 0.2 * root + rng.standard_normal((12, 1))
        if columns == "duplicated":
            root[:, 3:] = root[:, : size - 3]
        self.kinds = np.zeros(size, np.int8)
        if kinds != "free":
            self.kinds[:] = RIDGE if kinds == "decided" else FREE
            self.kinds[1] = RIDGE
            self.kinds[size - 1] = INTERCEPT
            root[:, size - 1] = 1.0
        self.hessian = root.T @ root / 12.0
        self.gradient = root.T @ (2.0 * rng.standard_normal(12)) / 12.0
        self.start = rng.standard_normal(size) * (rng.random(size) < 0.5)
        self.penalty = penalty_of(5.0, mu, kappa)
        self.size = size

    def model(self):
        return model_at(self.start, self.kinds, self.hessian, self.gradient)

    def value(self, model):
        """The model's objective at its iterate."""
        level = kernel.water_level(model, self.size, self.penalty)
        move = model.x[: self.size] - self.start
        smooth = float(self.gradient @ move + 0.5 * move @ self.hessian @ move)
        return smooth + kernel.penalty_value(model, self.size, level, self.penalty)

    def optimum(self):
        """The same minimum by an interior-point method."""
        cp = pytest.importorskip("cvxpy")
        gamma, mu, _, kappa = self.penalty
        x, z = cp.Variable(self.size), cp.Variable(self.size)
        eigenvalues, vectors = np.linalg.eigh(self.hessian)
        root = np.sqrt(np.maximum(eigenvalues, 0.0))[:, None] * vectors.T
        move = x - self.start
        free, decided = np.flatnonzero(self.kinds == FREE), np.flatnonzero(self.kinds == RIDGE)
        terms = [self.gradient @ move, 0.5 * cp.sum_squares(root @ move), mu * decided.size]
        terms += [cp.quad_over_lin(x[j], z[j]) / gamma + mu * z[j] for j in free]
        terms += [cp.square(x[j]) / gamma for j in decided]
        limits = [z >= 0, z <= 1, cp.sum(z[free]) <= min(kappa, free.size)] if free.size else [z == 0]
        return float(cp.Problem(cp.Minimize(sum(terms)), limits).solve(solver="CLARABEL"))


@pytest.mark.parametrize("thorough", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_minimum_against_an_interior_point_method(name, thorough):
    for seed in range(3):
        case = Random(name, seed)
        model = case.model()
        level = max(1.0, case.penalty.lowest) if case.penalty.kappa < case.size else case.penalty.lowest
        level = kernel.minimise(model, progress_of(case.size, level), case.penalty, 1e-10, thorough)
        found, optimum = case.value(model), case.optimum()
        assert found == pytest.approx(optimum, rel=1e-6, abs=1e-6)
        x = model.x[: case.size]
        assert model.gradient[: case.size] == pytest.approx(case.gradient + case.hessian @ (x - case.start), abs=1e-8)
        assert np.isnan(model.x[case.size])
        free = case.kinds == FREE
        if free.any():
            assert level >= case.penalty.lowest
            assert used(x[free], level) <= case.penalty.kappa * 1.01 + 1e-9


@pytest.mark.slow
def test_compiled_minimum_is_the_interpreted_one():
    case = Random("correlated, budget", 0)
    model, again = case.model(), case.model()
    progress = progress_of(case.size, 1.0)
    level = compiled(kernel.minimise, model, progress, case.penalty, 1e-12, True)
    assert level == pytest.approx(kernel.minimise(again, progress, case.penalty, 1e-12, True), rel=1e-9)
    assert model.x[: case.size] == pytest.approx(again.x[: case.size], abs=1e-9)


def test_every_sweep_descends():
    case = Random("correlated, price", 1)
    model, level = prepared(case.model(), case.size, case.penalty.gamma), case.penalty.lowest
    values = [case.value(model)]
    for _ in range(30):
        _, usage = kernel.sweep(model, case.size, level, case.penalty.gamma)
        values.append(case.value(model))
        assert usage == pytest.approx(kernel.usage_at(model, case.size, level), rel=1e-12)
    assert np.all(np.diff(values) <= 1e-14)
    assert values[-1] < values[0]
    while kernel.sweep(model, case.size, level, case.penalty.gamma)[0] > 1e-26:
        pass
    assert case.value(model) == pytest.approx(case.optimum(), rel=1e-6, abs=1e-6)


def test_sweep_of_an_intercept_without_curvature_stays():
    model = prepared(model_at([3.0], [INTERCEPT], [[0.0]], [1.0]), 1, 1.0)
    assert kernel.sweep(model, 1, 1.0, 1.0)[0] == 0.0
    assert model.x[0] == 3.0


def test_face_step_solves_a_ridge_regression_at_once():
    case = Random("nothing free", 2)
    model = case.model()
    level, exact = kernel.face_step(model, progress_of(case.size), 0.3, case.penalty)
    assert (level, exact) == (0.3, True)
    ridge = np.diag(np.where(case.kinds == RIDGE, 2.0 / case.penalty.gamma, 0.0))
    solution = np.linalg.solve(case.hessian + ridge, case.hessian @ case.start - case.gradient)
    assert model.x[: case.size] == pytest.approx(solution, rel=1e-9, abs=1e-12)


def test_face_step_stops_at_the_first_sign_change():
    model = model_at([0.5, 0.5], [FREE, FREE], np.eye(2), [2.0, 0.6])  # at the level 1, with γ = 2, both fall
    level, exact = kernel.face_step(model, progress_of(2), 1.0, Penalty(2.0, 0.5, 1.0, 2))
    assert (level, exact) == (1.0, False)
    assert model.x[0] == 0.0
    assert 0.0 < model.x[1] < 0.5
    nothing = model_at([0.0], [FREE], [[1.0]], [9.0])
    assert kernel.face_step(nothing, progress_of(1), 1.0, Penalty(2.0, 0.5, 1.0, 1)) == (1.0, True)


def test_budget_misfit_by_hand():
    model = model_at([3.0, 0.5, 0.0, 9.0], [FREE, FREE, FREE, RIDGE], np.eye(4), [0.0, 0.0, 0.7, 0.0])
    prepared(model, 4, 2.0)

    def misfit_of(kappa):
        return kernel.budget_misfit(model, 4, 1.0, penalty_of(2.0, 0.0, kappa), kernel.usage_at(model, 4, 1.0))

    misfit, proposal = misfit_of(1)
    assert misfit == pytest.approx(0.5)
    assert proposal == pytest.approx(1.0 + 0.5 / 1.5)
    model.x[1] = 0.0
    assert misfit_of(1) == (0.0, 1.0)
    misfit, proposal = misfit_of(2)
    assert (misfit, proposal) == (-1.0, 0.7)  # where the next coordinate enters
    model.x[2] = 2.0
    misfit, proposal = misfit_of(1)
    assert misfit == 1.0
    assert proposal == pytest.approx(2.0)  # where the smallest becomes linear


@pytest.mark.parametrize(
    ("misfit", "level", "tolerance", "met"),
    [
        (0.0, 9.0, 0.0, True),
        (0.03, 1.0, 1.0, False),
        (-0.019, 1.0, 1.0, True),
        (0.01, 10.0, 0.1, False),
        (0.01, 1.0, 0.1, True),
    ],
)
def test_budget_met(misfit, level, tolerance, met):
    assert kernel.budget_met(misfit, level, penalty_of(2.0, 0.0, 2), tolerance) == met


@pytest.mark.parametrize("name", ["budget", "price and budget", "correlated, budget", "duplicated, budget"])
def test_level_is_bracketed_from_anywhere(name):
    """The way out where descent with a moving level fails; it finds the same minimum."""
    case = Random(name, 4)
    for level in (max(case.penalty.lowest, 1e-3), 1.0, 100.0):
        model = prepared(case.model(), case.size, case.penalty.gamma)
        found = kernel.bracket_level(model, progress_of(case.size), level, case.penalty, 1e-10)
        assert found >= case.penalty.lowest
        assert case.value(model) == pytest.approx(case.optimum(), rel=1e-6, abs=1e-6)


class Halting:
    """Progress that is halted from the so-manieth look on."""

    def __init__(self, size, level, looks):
        self.working, self.level, self.looks = size, level, looks

    @property
    def halted(self):
        self.looks -= 1
        return self.looks < 0


@pytest.mark.parametrize("name", MODELS)
def test_a_minimisation_is_halted_at_the_next_look(name):
    case = Random(name, 0)
    for looks in range(60):
        progress = Halting(case.size, max(1.0, case.penalty.lowest), looks)
        level = kernel.minimise(case.model(), progress, case.penalty, 1e-14, True)
        assert level >= case.penalty.lowest
        assert progress.looks >= -4  # every loop around it looks once more
        if progress.looks >= 0:
            break
    assert looks > case.size  # within a factorisation, too


# -- Hessians --------------------------------------------------------------------------------------------


@pytest.fixture
def data():
    rng = np.random.default_rng(11)
    A = rng.standard_normal((15, 8))
    return A, Columns.all_dense(np.ascontiguousarray(A.T), np.zeros(8)), rng.random(15) + 0.1


def working_set(features, capacity, intercept=True):
    """A model over these features, the intercept last."""
    model = make_quadratic(capacity, 15)
    size = len(features) + intercept
    model.kind[:size] = [FREE] * len(features) + [INTERCEPT] * intercept
    model.feature[: len(features)] = features
    return model, size


def working(size, halted=False):
    """The progress of a relaxation, as far as these need it."""
    progress = np.zeros(1, PROGRESS)
    progress["working"], progress["halted"] = size, halted
    return progress.view(np.recarray)[0]


def hessian_of(A, features, weights, intercept=True):
    B = np.column_stack([A[:, features], np.ones((len(A), int(intercept)))])
    return B.T @ (weights[:, None] * B)


@pytest.mark.parametrize("intercept", [False, True])
def test_exact_hessian(data, intercept):
    A, columns, curvature = data
    model, size = working_set([6, 0, 3], 5, intercept)
    kernel.load_hessian(columns, model, working(size), curvature)
    assert model.hessian[:size, :size] == pytest.approx(hessian_of(A, [6, 0, 3], curvature, intercept), rel=1e-12)


def check_gram(gram, data, features):
    """Have the model's Hessian taken from a Gram matrix that serves it."""
    A, columns, weights = data
    model, size = working_set(features, 4)
    kernel.load_gram(columns, model, gram, working(size), 3.0)
    scale = GRAM_INFLATION * 3.0 / weights.sum()
    assert model.hessian[:size, :size] == pytest.approx(scale * hessian_of(A, features, weights), rel=1e-11)
    held = np.flatnonzero(gram.slot_of >= 0)
    assert set(features) <= set(held)
    assert sorted(gram.slot_of[held]) == list(range(1, held.size + 1))
    assert np.array_equal(gram.feature_of[gram.slot_of[held]], held)


def serves(gram, features):
    """Whether a Gram matrix is to serve a model of these features."""
    model, size = working_set(features, 4)
    return kernel.is_shared(model, gram, size)


def test_gram_matrix_grows_with_the_working_sets_and_begins_anew_when_full(data):
    gram = make_gram(2, 8, data[2])
    assert len(gram.matrix) == 2 * GRAM_ROOM + 1
    sizes = []
    for features in ([2], [5, 2], [5, 0], [0, 7], [1, 3], [4, 6, 1], [7, 0, 2, 5]):
        gram.size[kernel.SERVED] = 99  # it has been worth its rows
        assert serves(gram, features)
        check_gram(gram, data, features)
        sizes.append(int(gram.size[0]) - 1)
    assert sizes == [1, 2, 3, 4, 2, 4, 4]


def test_a_full_gram_matrix_that_has_served_few_models_is_seldom_begun_anew(data):
    gram = make_gram(2, 8, data[2])
    assert serves(gram, [0, 1, 2, 3])
    check_gram(gram, data, [0, 1, 2, 3])
    assert [serves(gram, [3, 4]) for _ in range(GRAM_TRIAL_PERIOD)] == [False] * (GRAM_TRIAL_PERIOD - 1) + [True]
    check_gram(gram, data, [3, 4])
    assert gram.size.tolist() == [3, 1, 0]
    assert serves(gram, [3])  # what it holds, it serves
    check_gram(gram, data, [1, 2])
    assert not serves(gram, [0, 7])
    check_gram(gram, data, [4, 3])
    gram.size[kernel.SERVED] = BLOCKED_PRODUCTS * len(gram.matrix) ** 2
    assert serves(gram, [0, 7])


def test_gram_matrix_of_sparse_columns():
    rng = np.random.default_rng(12)
    X = rng.standard_normal((15, 6)) * (rng.random((15, 6)) < 0.5)
    columns, weights = sparse_columns(X, 6), rng.random(15)
    A = (X - X.mean(axis=0)) / X.std(axis=0)
    for j in (4, 1):
        make_dense(columns, j, 0)
    gram = make_gram(3, 6, weights)
    model, size = working_set([1, 4], 3)
    assert kernel.is_shared(model, gram, size)
    kernel.load_gram(columns, model, gram, working(size), float(weights.sum()))
    assert model.hessian[:size, :size] == pytest.approx(GRAM_INFLATION * hessian_of(A, [1, 4], weights), rel=1e-11)
