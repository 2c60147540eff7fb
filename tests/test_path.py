"""Paths: every point as good as a solve of its own, and every bound carried over still a bound."""

from __future__ import annotations

import re
import signal
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import safescreen as ss
from problems import plain
from safescreen import path as path_module
from safescreen.path import implied_bounds
from safescreen.testing.reference import brute_force

GRIDS = {
    "k": [3, 1, 5, 2, 8],
    "mu": [0.02, 1e-4, 0.3, 0.005, 0.0],
    "gamma": [1.0, 30.0, 0.05, 0.3],
}
FIXED = {"k": {"gamma": 2.0}, "mu": {"k": 6, "gamma": 2.0}, "gamma": {"k": 3, "mu": 1e-3}}


def data(seed: int = 0, m: int = 40, n: int = 8) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) + 0.7 * rng.standard_normal((m, 1))
    return X, np.where(X[:, :3] @ [2.0, -1.0, 1.0] + rng.logistic(size=m) > 0, 1, -1)


def variant(X, y, name, value):
    return ss.Problem(X, y, **{**FIXED[name], name: value}, fit_intercept=True, standardize=True)


@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("seed", range(4))
def test_against_brute_force(name, seed):
    X, y = data(seed)
    path = ss.l0_path(X, y, **{**FIXED[name], name: GRIDS[name]}, rel_gap=1e-8)
    assert path.parameter == name
    assert path.values.tolist() == GRIDS[name]
    for value, solution in zip(GRIDS[name], path, strict=True):
        optimum = brute_force(variant(X, y, name, value)).value
        assert solution.status == "optimal"
        assert solution.objective == pytest.approx(optimum, rel=1e-7)
        assert solution.lower_bound <= optimum * (1.0 + 1e-13)


@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("seed", range(10))
def test_bounds_carried_over_are_bounds(name, seed):
    """Even exact optima, the best bounds there are, must imply nothing above the optima elsewhere."""
    X, y = data(seed, m=30, n=6)
    rng = np.random.default_rng(seed)
    lowest, highest = {"k": (1, 6), "mu": (-4, 0), "gamma": (-2, 3)}[name]
    drawn = rng.integers(lowest, highest, 5) if name == "k" else 10.0 ** rng.uniform(lowest, highest, 5)
    values = drawn.tolist()
    optima = [brute_force(variant(X, y, name, value)).value for value in values]
    solution = ss.solve(variant(X, y, name, values[0]))
    for i in range(5):
        others = [j for j in range(5) if j != i]
        known = [replace(solution, lower_bound=optima[j]) for j in others]
        implied = implied_bounds(name, known, [values[j] for j in others], [values[i]])[0]
        assert 0.0 <= implied <= optima[i] * (1.0 + 1e-12)


def test_bounds_carried_over_are_used():
    X, y = data(1, m=30, n=6)
    solution = ss.solve(variant(X, y, "mu", 0.1))
    low, high = replace(solution, lower_bound=0.2), replace(solution, lower_bound=0.6)
    assert implied_bounds("mu", [low, high], [0.1, 0.5], [0.05, 0.1, 0.3, 0.5, 2.0]) == pytest.approx(
        [0.1, 0.2, 0.4, 0.6, 0.6]
    )
    assert implied_bounds("gamma", [low, high], [10.0, 2.0], [20.0, 10.0 / 3.0, 1.0]) == pytest.approx([0.1, 0.4, 0.6])
    assert implied_bounds("k", [high, low], [2, 4], [1, 2, 3, 4, 5]) == [0.6, 0.6, 0.2, 0.2, 0.0]
    assert implied_bounds("mu", [high, low], [0.1, 0.5], [0.05, 0.1, 0.5]) == pytest.approx([0.3, 0.6, 0.6])
    assert implied_bounds("mu", [], [], [0.1]) == [0.0]


def test_bound_of_a_larger_budget_closes_the_gap_of_a_smaller_one(monkeypatch):
    """A point that hits its limit is certified by a neighbour, and keeps a trace that ends where it ends."""
    X, y = data()
    statuses = ["time_limit", "optimal"]

    def solve(problem, **kwargs):
        solution = ss.solve(problem, **kwargs)
        status = statuses.pop(0)
        return replace(solution, lower_bound=solution.lower_bound if status == "optimal" else 0.0, status=status)

    monkeypatch.setattr(path_module, "solve", solve)
    path = ss.l0_path(X, y, k=[8, 100])
    assert path.statuses == ["optimal", "optimal"]
    assert path[0].lower_bound == path[1].lower_bound
    assert path[0].trace[-1].lower_bound == path[0].lower_bound


def test_known_bound_ends_a_search_early():
    """Nearly the same price again: the model and the bound of the first point settle the second without a search."""
    X, y, _ = ss.datasets.make_sparse_logistic(60, 40, 5, 1.0, rho=0.5, random_state=3)
    path = ss.l0_path(X, y, k=5, mu=[1e-3, 1e-3 * (1 - 1e-7)], gamma=30.0, rel_gap=1e-3)
    assert path.statuses == ["optimal", "optimal"]
    assert path.nodes[0] > 10
    assert path.nodes[1] == 0
    assert path[1].lower_bound < path[0].lower_bound


@pytest.mark.parametrize("name", GRIDS)
def test_repeated_values(name):
    X, y = data()
    value = GRIDS[name][0]
    path = ss.l0_path(X, y, **{**FIXED[name], name: [value] * 3})
    assert path.statuses == ["optimal"] * 3
    assert np.unique(path.lower_bounds).size == 1


@pytest.mark.parametrize("name", GRIDS)
def test_path_of_a_problem(name):
    X, y = data()
    weights = np.linspace(1.0, 2.0, 40)
    options = {"sample_weight": weights, "fit_intercept": False, "include": [2], "exclude": [0]}
    problem = ss.Problem(X, y, k=3, mu=1e-3, gamma=2.0, **options)
    ours = ss.l0_path(problem, **{name: GRIDS[name]})
    theirs = ss.l0_path(X, y, **{"k": 3, "mu": 1e-3, "gamma": 2.0, name: GRIDS[name]}, **options)
    np.testing.assert_array_equal(ours.coefs, theirs.coefs)
    np.testing.assert_array_equal(ours.lower_bounds, theirs.lower_bounds)
    assert all(2 in support and 0 not in support for support in ours.supports)
    assert ours[0].problem.design is problem.design


def test_path_of_a_problem_with_another_ridge():
    X, y = data()
    problem = ss.Problem(X, y, k=3)
    assert ss.l0_path(problem, k=[1, 2], gamma=5.0)[0].problem.gamma == 5.0


@pytest.mark.parametrize(
    "details", [{"y": [1]}, {"sample_weight": [1.0]}, {"fit_intercept": True}, {"include": ()}, {"feature_names": "a"}]
)
def test_a_problem_has_its_own_data(details):
    X, y = data()
    with pytest.raises(ValueError, match=f"{next(iter(details))} cannot be given together with a Problem"):
        ss.l0_path(ss.Problem(X, y, k=3), k=[1, 2], **details)


def test_limits_hold_for_each_point():
    X, y, _ = ss.datasets.make_sparse_logistic(60, 40, 8, 1.0, random_state=0)
    path = ss.l0_path(X, y, k=[5, 6], gamma=100.0, node_limit=2, screening="none")
    assert path.statuses == ["node_limit", "node_limit"]
    assert path[0].screening is None


def test_order_given_is_the_order_returned():
    X, y = data()
    forward = ss.l0_path(X, y, k=[1, 2, 3])
    backward = ss.l0_path(X, y, k=np.array([3, 2, 1]))
    np.testing.assert_allclose(forward.objectives, backward.objectives[::-1], rtol=1e-12)


def test_larger_budgets_are_never_worse():
    X, y, _ = ss.datasets.make_sparse_logistic(60, 200, 5, 1.0, rho=0.5, random_state=1)
    path = ss.l0_path(X, y, k=range(1, 9), gamma=10.0, time_limit=0.5)
    assert (np.diff(path.objectives) <= 1e-12).all()
    assert (np.diff(path.lower_bounds) <= 0.0).all()
    assert (path.lower_bounds <= path.objectives).all()


def test_arrays():
    X, y = data()
    path = ss.l0_path(X, y, k=range(1, 4))
    assert len(path) == 3
    assert path.coefs.shape == (8, 3)
    assert [support.tolist() for support in path.supports] == [np.flatnonzero(c).tolist() for c in path.coefs.T]
    assert path.intercepts.shape == path.gaps.shape == path.seconds.shape == path.screened_percent.shape == (3,)
    assert path.nodes.dtype == np.int64
    assert path[1] is path.solutions[1]
    assert repr(path).startswith("L0Path(k from 1 to 3, 3 points, 3 optimal, largest gap ")


def test_design_is_shared():
    X, y = data()
    path = ss.l0_path(X, y, mu=[0.1, 0.01])
    assert path[0].problem.design is path[1].problem.design
    assert path[0].problem.mu == 0.1


def test_sparse_and_weights():
    X, y = data()
    weights = np.arange(40.0)
    dense = ss.l0_path(X, y, k=[2, 3], sample_weight=weights)
    thin = ss.l0_path(sparse.csr_array(X), y, k=[2, 3], sample_weight=weights)
    np.testing.assert_allclose(dense.objectives, thin.objectives, rtol=1e-10)


def test_to_frame():
    X, y = data()
    frame = ss.l0_path(X, y, k=[2, 1], feature_names=list("abcdefgh")).to_frame()
    assert frame.index.name == "k"
    assert frame.index.tolist() == [2, 1]
    assert frame["n_features"].tolist() == [2, 1]
    assert set(frame["features"][2]) <= set("abcdefgh")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"k": 3}, ValueError, "Exactly one of k, mu and gamma must be a sequence, but none is"),
        ({"k": [1, 2], "gamma": [1.0]}, ValueError, "but k and gamma are"),
        ({"k": []}, ValueError, "k is an empty sequence"),
        ({"k": [1, 0]}, ValueError, "k is 0, but must be an integer >= 1"),
        ({"k": [1.5]}, TypeError, "k is 1.5 of type float"),
        ({"k": [None, 1]}, ValueError, "k contains None"),
        ({"k": "3"}, ValueError, "Exactly one"),
        ({"mu": [0.1, -1.0]}, ValueError, "mu is -1.0"),
        ({"mu": [[0.1]]}, ValueError, "mu has 2 dimensions"),
        ({"k": 2, "gamma": [1.0, 0.0]}, ValueError, "gamma is 0.0"),
        ({"gamma": [1.0]}, ValueError, "mu and k are both None"),
        ({"k": [1], "rel_gap": -1}, ValueError, "rel_gap is -1"),
        ({"k": [1], "time_limit": "1"}, ValueError, "time_limit is '1'"),
    ],
)
def test_bad_input(arguments, error, message):
    X, y = data()
    with pytest.raises(error, match=message):
        ss.l0_path(X, y, **arguments)


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C reaches a process by other ways there")
def test_interrupt_leaves_honest_gaps(monkeypatch, keyboard):
    X, y = data()
    limits = []

    def solve(problem, **kwargs):
        limits.append(kwargs["time_limit"])
        solution = ss.solve(problem, **kwargs)
        if len(limits) == 1:
            signal.raise_signal(signal.SIGINT)  # too late for this point, which is complete
        return solution if len(limits) == 1 else replace(solution, status="time_limit", lower_bound=0.0)

    monkeypatch.setattr(path_module, "solve", solve)
    path = ss.l0_path(X, y, k=[1, 2, 3])
    assert limits == [None, 0.0, 0.0]
    assert path.statuses == ["optimal", "interrupted", "interrupted"]
    assert (path.lower_bounds <= path.objectives).all()


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C reaches a process by other ways there")
def test_second_interrupt_ends_the_path(monkeypatch, keyboard):
    X, y = data()
    solved = []

    def solve(problem, **kwargs):
        signal.raise_signal(signal.SIGINT)
        solved.append(ss.solve(problem, **kwargs))
        return solved[-1]

    monkeypatch.setattr(path_module, "solve", solve)
    with pytest.raises(KeyboardInterrupt):
        ss.l0_path(X, y, k=[1, 2, 3])
    assert len(solved) == 1


def test_progress_names_the_point(monkeypatch):
    X, y = data()
    said = []
    monkeypatch.setattr(path_module.Progress, "say", lambda self, text: said.append(text))
    ss.l0_path(X, y, mu=[0.5, 0.001], progress=True)
    assert said[0] == "mu = 0.5 (1 of 2): relaxing and screening"
    assert any(re.match(r"mu = 0\.001 \(2 of 2\): \d+ features, (\d+ exchanges? proved, )?gap ", text) for text in said)


def test_with_parameters():
    X, y = data()
    problem = plain(X, y, k=3, include=[0, 1])
    assert problem.with_parameters(k=100).k == 8
    assert problem.with_parameters(mu=0.5, gamma=3.0).gamma == 3.0
    assert (problem.k, problem.mu, problem.gamma) == (3, 0.0, 1.0)
    with pytest.raises(ValueError, match="include has 2 features"):
        problem.with_parameters(k=1)


# --- estimates at a ridge of their own


@pytest.fixture(scope="module")
def two_ridges() -> tuple[ss.L0Path, ss.L0Path]:
    X, y, _ = ss.datasets.make_sparse_logistic(120, 12, 3, 1.0, random_state=1)
    return tuple(ss.l0_path(X, y, k=[3, 1, 2], gamma=2.0, refit_gamma=ridge) for ridge in ("same", 50.0))


def test_the_choices_do_not_depend_on_the_ridge_of_the_estimates(two_ridges):
    same, weak = two_ridges
    assert [one.tolist() for one in same.supports] == [other.tolist() for other in weak.supports]
    np.testing.assert_array_equal(same.objectives, weak.objectives)
    for one, other in zip(same, weak, strict=True):
        np.testing.assert_array_equal(one.coef, other.coef)


def test_without_a_second_ridge_the_estimates_are_the_solutions(two_ridges):
    same, _ = two_ridges
    np.testing.assert_array_equal(same.coefs, np.column_stack([solution.coef for solution in same]))
    for estimated, solution in zip(same.estimates, same, strict=True):
        np.testing.assert_array_equal(estimated.coef(12), solution.coef)
        assert estimated.intercept == solution.intercept
    assert same.refit_gammas.tolist() == [2.0, 2.0, 2.0]


def test_estimates_are_those_of_the_estimator(two_ridges):
    _, weak = two_ridges
    X, y, _ = ss.datasets.make_sparse_logistic(120, 12, 3, 1.0, random_state=1)
    model = ss.L0LogisticRegression(k=3, gamma=2.0, refit_gamma=50.0).fit(X, y)
    np.testing.assert_allclose(weak.coefs[:, 0], model.coef_[0], rtol=1e-6)
    np.testing.assert_allclose(weak.intercepts[0], model.intercept_[0], rtol=1e-6)
    assert weak.refit_gammas.tolist() == [50.0, 50.0, 50.0]
    assert (np.abs(weak.coefs) > np.abs(np.column_stack([solution.coef for solution in weak])))[weak.coefs != 0.0].all()


def test_a_part_of_a_path_keeps_its_estimates(two_ridges):
    _, weak = two_ridges
    part = weak.at([1, 0])
    assert part.values.tolist() == [1, 3]
    assert part.estimates == (weak.estimates[1], weak.estimates[0])
    assert part.refit_gamma == 50.0


def test_frame_names_the_ridge_of_the_estimates(two_ridges):
    pytest.importorskip("pandas")
    _, weak = two_ridges
    frame = weak.to_frame()
    assert frame["refit_gamma"].tolist() == [50.0, 50.0, 50.0]
    assert frame["intercept"].tolist() == weak.intercepts.tolist()


def test_notebooks_say_which_is_which(two_ridges):
    same, weak = two_ridges
    assert "coefficients estimated with refit_gamma=50.0" in weak._repr_html_()
    assert "refit_gamma" not in same._repr_html_()


def test_the_ridge_of_the_estimates_is_checked_first():
    with pytest.raises(ValueError, match="refit_gamma is 'weak'"):
        ss.l0_path(None, None, k=[1], refit_gamma="weak")
