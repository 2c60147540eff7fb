"""One more feature for a fitted model: bounds against exact arithmetic and the truth, from all kinds of columns."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from kernel_cases import as_case, columns_in_place, random_problem, sparse_columns

from safescreen.kernels.completions import (
    LARGEST_REACH,
    bound_along,
    bound_at_rest,
    bound_moved,
    bound_stepped,
    fall_of_entropy,
    find_step,
    largest_share,
    make_completions,
    move_short,
    prepare_completions,
    remainder_factor,
)
from safescreen.kernels.losses import Point
from safescreen.problem import Problem
from safescreen.testing.reference import fit_support

pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning")


def prepared(call, case, features, x, b):
    """The model of these features as the one to be completed."""
    node, size = case.node, len(features)
    completions = make_completions(node.x.size, node.u.size)
    node.x[:] = 0.0
    node.x[list(features)] = x
    node.progress["intercept"] = b
    listed = np.array([*features, 0], np.int64)
    base = call(prepare_completions, case.subproblem, node, case.workspace, completions, listed, size)
    return completions, base


def fitted(problem, features):
    columns = problem.design.columns(np.asarray(features, int))
    return fit_support(columns, problem.y, problem.weights, problem.gamma, problem.fit_intercept)


def exact_bound(problem, u, features, t, direction):
    """The dual bound of the support at ``α - t C d``, exactly balanced, with sixty digits."""
    with localcontext(prec=60):
        one, y = Decimal(1), [Decimal(float(v)) for v in problem.y]
        w = [Decimal(float(v)) for v in problem.weights]
        p = [one / (one + (s * Decimal(float(z))).exp()) for s, z in zip(y, u, strict=True)]
        p = [v - t * s * v * (one - v) * d for v, s, d in zip(p, y, direction, strict=True)]
        assert all(0 <= v <= 1 for v in p)
        if problem.fit_intercept:
            mass = {side: sum(a * v for a, v, s in zip(w, p, y, strict=True) if s == side) for side in (1, -1)}
            heavy = max(mass, key=mass.get)
            p = [v * mass[-heavy] / mass[heavy] if s == heavy else v for v, s in zip(p, y, strict=True)]
        entropy = -sum(a * v * v.ln() for a, q in zip(w, p, strict=True) for v in (q, one - q) if v > 0)
        bound = entropy
        for j in features:
            column = problem.design.columns([int(j)])[:, 0]
            c = sum(a * s * v * Decimal(float(e)) for a, s, v, e in zip(w, y, p, column, strict=True))
            bound += Decimal(float(problem.mu)) - Decimal(float(problem.gamma)) * c * c / 4
        return bound


def direction_of(problem, completions, base, features, j):
    """``d = a - B h``, exactly."""
    with localcontext(prec=60):
        columns = [problem.design.columns([int(f)])[:, 0] for f in (j, *features)]
        h = [Decimal(float(v)) for v in completions.step[: base.working]]
        rows = [[Decimal(float(v)) for v in column] for column in columns]
        shift = h[base.size] if problem.fit_intercept else Decimal(0)
        return [
            row[0] - shift - sum(a * b for a, b in zip(h[: base.size], row[1:], strict=True))
            for row in zip(*rows, strict=True)
        ]


def limited(case, d, newton):
    """The step that was taken, which may be shorter than Newton's: nothing shrinks by more than a part of itself."""
    p = case.workspace.point.p
    reach = max(abs(float(e)) * max(v, 1.0 - v) for e, v in zip(d, p, strict=True)) * (1.0 + 1e-6)
    return newton if abs(newton) * reach <= LARGEST_REACH else np.sign(newton) * LARGEST_REACH / reach


PROBLEMS = {
    "plain": {},
    "weights": {"weighted": True},
    "intercept": {"fit_intercept": True},
    "weak ridge": {"gamma": 1e4, "fit_intercept": True},
    "price": {"mu": 0.01, "k": 3, "fit_intercept": True, "weighted": True},
}


@pytest.mark.parametrize("features", [[], [3], [1, 4, 0]])
@pytest.mark.parametrize("name", PROBLEMS)
def test_bounds_hold_in_exact_arithmetic(call, name, features):
    """Whatever the coefficients, be they a fit or far from it, and however far the point is moved."""
    rng = np.random.default_rng(len(features))
    problem = random_problem(7, **PROBLEMS[name])
    case = as_case(problem)
    fit = fitted(problem, features)
    for noise in (0.0, 1e-3, 1.0):
        x = fit.x + noise * rng.standard_normal(len(features))
        completions, base = prepared(call, case, features, x, fit.b + noise * problem.fit_intercept)
        u = case.node.u.copy()
        zero = [Decimal(0)] * u.size
        assert base.alone <= exact_bound(problem, u, features, Decimal(0), zero)
        for j in set(range(6)) - set(features):
            c = float(problem.design.columns([j])[:, 0] @ case.workspace.point.alpha)
            rest = call(bound_at_rest, case.subproblem, base, j, c)
            quick, newton = call(bound_moved, case.subproblem, case.workspace, completions, base, j, c, -np.inf)
            bound, newton = call(bound_moved, case.subproblem, case.workspace, completions, base, j, c, np.inf)
            d = direction_of(problem, completions, base, features, j)
            t = Decimal(float(limited(case, d, newton)))
            assert rest <= exact_bound(problem, u, [*features, j], Decimal(0), zero)
            assert quick <= bound + 1e-9 * abs(bound)
            assert bound <= exact_bound(problem, u, [*features, j], t, d)


@pytest.mark.parametrize("gamma", [3.0, 300.0])
def test_bounds_are_those_of_newtons_step(call, gamma):
    """Below the truth, by no more than a part of what the column gains, and better than the model's own point."""
    problem = random_problem(3, m=60, n=12, gamma=gamma, fit_intercept=True, standardize=True)
    case, features = as_case(problem), [0, 1, 2]
    fit = fitted(problem, features)
    completions, base = prepared(call, case, features, fit.x, fit.b)
    assert base.alone == pytest.approx(fit.value + 3 * problem.mu, rel=1e-8)
    for j in range(3, 12):
        truth = fitted(problem, [*features, j]).value + 4 * problem.mu
        c = float(problem.design.columns([j])[:, 0] @ case.workspace.point.alpha)
        rest = call(bound_at_rest, case.subproblem, base, j, c)
        bound, newton = call(bound_moved, case.subproblem, case.workspace, completions, base, j, c, np.inf)
        d = direction_of(problem, completions, base, features, j)
        stepped = call(bound_stepped, case.subproblem, case.node, case.workspace, completions, base, j, newton)
        assert rest <= bound + 1e-9 <= truth + 2e-9
        assert stepped <= truth * (1.0 + 1e-12)
        gain = base.alone + problem.mu - truth
        assert truth - stepped <= 0.5 * gain + 1e-6
        if limited(case, d, newton) == newton:  # a step that is cut off may miss most of it
            assert truth - bound <= 0.5 * gain + 1e-6


def compressed_case(case, X, features):
    """The same problem, its columns held compressed, with dense copies of what is fitted."""
    design = case.problem.design
    columns = sparse_columns(X, max(len(features), 1), moments=(design.means, design.scales))
    for slot, j in enumerate(features):
        columns.dense[slot] = case.problem.design.columns([j])[:, 0]
        columns.slot[j] = slot
    columns.in_use[0] = len(features)
    return case._replace(subproblem=case.subproblem._replace(columns=columns))


@pytest.mark.parametrize("features", [[], [3], [1, 4, 0]])
@pytest.mark.parametrize("name", PROBLEMS)
def test_bounds_from_few_entries_hold_in_exact_arithmetic(call, name, features):
    """A column of which few entries are stored: what is known of all others suffices for a bound, and a good one."""
    rng = np.random.default_rng(11)
    dense = random_problem(7, m=40, **PROBLEMS[name])
    X = np.where(rng.random((40, 6)) < 0.85, 0.0, rng.exponential(size=(40, 6)))
    X[:2] = [[1.0], [0.0]]
    problem = Problem(
        X,
        dense.y,
        gamma=dense.gamma,
        fit_intercept=dense.fit_intercept,
        standardize=name != "plain",
        sample_weight=dense.weights,
        **({"k": 3, "mu": dense.mu} if "k" in PROBLEMS[name] else {"mu": dense.mu}),
    )
    case = compressed_case(as_case(problem), X, features)
    fit, lost = fitted(problem, features), []
    for noise in (0.0, 1e-3, 1.0):
        x = fit.x + noise * rng.standard_normal(len(features))
        completions, base = prepared(call, case, features, x, fit.b + noise * problem.fit_intercept)
        u = case.node.u.copy()
        for j in set(range(6)) - set(features):
            c = float(problem.design.columns([j])[:, 0] @ case.workspace.point.alpha)
            step = call(find_step, case.subproblem, case.workspace, completions, base, j, c)
            move = call(move_short, case.subproblem, case.workspace, completions, base, step, j)
            bound = call(bound_along, case.subproblem, completions, base, step, j, c, move)
            assert 0.0 < abs(move.t) <= abs(step.newton)
            assert move.t == step.newton or move.rho == pytest.approx(LARGEST_REACH, rel=1e-5)
            d = direction_of(problem, completions, base, features, j)
            assert bound <= exact_bound(problem, u, [*features, j], Decimal(float(move.t)), d)
            full, newton = call(bound_moved, case.subproblem, case.workspace, completions, base, j, c, np.inf)
            if limited(case, d, newton) == move.t:
                assert bound <= full + 1e-9 * abs(full)
                lost.append(full - bound)
            quick, _ = call(bound_moved, case.subproblem, case.workspace, completions, base, j, c, bound)
            assert quick >= bound
    assert np.median(lost or [0.0]) < 1e-3


@pytest.mark.parametrize("form", ["dense", "compressed"])
def test_columns_of_which_little_is_known_prove_nothing_false(call, form):
    """Errors larger than the entries themselves: no step leaves the domain, and no bound is above the truth."""
    problem = random_problem(2, m=20, fit_intercept=True, gamma=100.0)
    X = problem.design.columns(np.arange(6))
    for error in (1e-3, 0.1, 10.0, 1e6):
        case = as_case(problem)
        case = compressed_case(case, X, [0]) if form == "compressed" else case
        case.subproblem.columns.error[:] = error
        fit = fitted(problem, [0])
        completions, base = prepared(call, case, [0], fit.x, fit.b)
        for j in range(1, 6):
            c = float(X[:, j] @ case.workspace.point.alpha)
            truth = fitted(problem, [0, j]).value + 2.0 * problem.mu
            for enough in (-np.inf, np.inf):
                bound, _ = call(bound_moved, case.subproblem, case.workspace, completions, base, j, c, enough)
                assert not bound > truth
            step = call(find_step, case.subproblem, case.workspace, completions, base, j, c)
            if form == "compressed":
                move = call(move_short, case.subproblem, case.workspace, completions, base, step, j)
                assert move.rho < 1.0
                assert move.bent >= 0.0


@pytest.mark.parametrize("form", ["compressed", "in place"])
def test_columns_in_any_form(call, form):
    """Columns that are not held dense give the same bounds, but for rounding."""
    rng = np.random.default_rng(5)
    X = np.where(rng.random((40, 8)) < 0.6, 0.0, rng.standard_normal((40, 8)))
    y = np.where(X[:, 0] + rng.logistic(size=40) > 0.0, 1, -1)
    problem = Problem(X, y, k=3, gamma=50.0, standardize=True, fit_intercept=True)
    case, features = as_case(problem), [0, 1]
    columns = sparse_columns(X, 2) if form == "compressed" else columns_in_place(X, 2, np.arange(8))
    for slot, j in enumerate(features):
        columns.dense[slot] = problem.design.columns([j])[:, 0]
        columns.slot[j] = slot
    columns.in_use[0] = 2
    other = case._replace(subproblem=case.subproblem._replace(columns=columns))
    fit, found = fitted(problem, features), []
    for each in (case, other):
        completions, base = prepared(call, each, features, fit.x, fit.b)
        bounds = []
        for j in range(2, 8):
            c = float(problem.design.columns([j])[:, 0] @ each.workspace.point.alpha)
            bound, newton = call(bound_moved, each.subproblem, each.workspace, completions, base, j, c, np.inf)
            stepped = call(bound_stepped, each.subproblem, each.node, each.workspace, completions, base, j, newton)
            bounds.append((bound, stepped, newton))
        found.append(bounds)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)


def test_remainder_of_the_entropy_is_rounded_up():
    for rho in np.concatenate([np.linspace(0.0, 0.9, 91), 10.0 ** -np.arange(1.0, 12.0)]):
        with localcontext(prec=60):
            r = Decimal(float(rho))
            exact = Decimal(1) if rho == 0.0 else 2 / r + 2 * (1 - r) * (1 - r).ln() / r**2
        assert exact <= Decimal(remainder_factor(float(rho))) <= exact * Decimal("1.04")


def test_what_the_entropy_falls_below_its_tangent_is_never_more(call):
    """Entry by entry, against sixty digits; and not much less, where errors are negligible."""
    rng = np.random.default_rng(11)
    m = 40
    y = np.where(rng.random(m) < 0.5, 1.0, -1.0)
    for _ in range(20):
        u, w = 4.0 * rng.standard_normal(m), rng.exponential(size=m)
        p = 1.0 / (1.0 + np.exp(y * u))
        point = Point(p, w * y * p, w * p * (1.0 - p), *np.zeros((3, m)))
        d = rng.standard_normal(m) * 10.0 ** rng.uniform(-6.0, 2.0)
        reach = call(largest_share, p, d, point.scratch)
        assert reach == (np.abs(d) * np.maximum(p, 1.0 - p)).max()
        t = rng.choice([-1.0, 1.0]) * rng.uniform(0.01, LARGEST_REACH) / reach
        found = 0.5 * call(fall_of_entropy, y, point, d, t, 1e-12 * np.abs(d).max())
        with localcontext(prec=60):
            truth = Decimal(0)
            for i in range(m):
                before, one = Decimal(float(p[i])), Decimal(1)
                after = before - Decimal(float(t)) * Decimal(float(d[i])) * Decimal(float(y[i])) * before * (
                    one - before
                )
                parts = ((after, before), (one - after, one - before))
                truth += Decimal(float(w[i])) * sum(a * (a / b).ln() for a, b in parts)
        assert truth <= Decimal(found) * (1 + Decimal("1e-9")) <= truth * Decimal("1.3")


def test_what_is_not_finite_closes_nothing(call):
    problem = random_problem(2, fit_intercept=True)
    case = as_case(problem)
    completions, base = prepared(call, case, [0], [np.inf], 0.0)
    assert not base.alone > -np.inf
    completions, base = prepared(call, case, [0], [0.1], 0.0)
    for c in (np.nan, np.inf):
        assert not call(bound_moved, case.subproblem, case.workspace, completions, base, 3, c, 0.0)[0] > -np.inf
        assert not call(bound_at_rest, case.subproblem, base, 3, c) > -np.inf
