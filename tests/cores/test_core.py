"""Cores: what every good model uses; ``benchmarks/cores_bruteforce.py`` checks thousands against brute force."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import safescreen as ss
from safescreen.relaxation import Fixings, Group, bound_at, group_bound_at, regrouped
from safescreen.testing.hard_cores import core_failures, hard_core
from safescreen.testing.reference import brute_force

CHUNK = 20


def make(seed=0, n=12, **terms):
    X, y, _ = ss.datasets.make_sparse_logistic(60, n, 3, 1.0, random_state=seed)
    return ss.Problem(X, y, **{"gamma": 10.0, **terms})


@pytest.mark.parametrize("first", range(0, 320, CHUNK))
def test_against_brute_force(first):
    found = [text for seed in range(first, first + CHUNK) for text in core_failures(hard_core(seed))[1]]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("seed", [41_947])
def test_cores_where_the_relaxation_begins_with_nothing(seed):
    assert not core_failures(hard_core(seed))[1]


def test_hard_problems_have_cores():
    ends = [core_failures(hard_core(seed))[0] for seed in range(40)]
    assert ends.count("proved") >= 10


@pytest.mark.parametrize("most", [0, 1, 2])
@pytest.mark.parametrize("terms", [{"k": 3}, {"mu": 0.01}, {"k": 4, "mu": 0.005, "include": [2]}])
def test_any_point_bounds_the_models_that_use_few(terms, most):
    problem, rng = make(n=8, **terms), np.random.default_rng(0)
    table = brute_force(problem).table
    for _ in range(20):
        members = (rng.random(8) < 0.5) & ~problem.included
        bound = group_bound_at(problem, Group(members, most), rng.random(60) ** 3)
        allowed = [value for support, value in table.items() if members[list(support)].sum() <= most]
        assert bound.value <= min(allowed)


def test_a_group_that_is_out_is_the_ordinary_bound():
    problem = make(k=3)
    dual, members = np.full(60, 0.4), np.arange(12) < 5
    ordinary = bound_at(problem, Fixings(problem.included, problem.excluded | members), dual)
    assert group_bound_at(problem, Group(members, 0), dual).value == pytest.approx(ordinary.value, rel=1e-13)
    anything = bound_at(problem, Fixings.given(problem), dual)
    assert regrouped(problem, Group(members, 3), anything).value == pytest.approx(anything.value, rel=1e-13)


def test_what_it_says():
    rng = np.random.default_rng(0)
    core = ss.core(ss.Problem(rng.normal(size=(60, 12)), rng.random(60) < 0.5, k=3, gamma=100.0), within=0.01)
    assert len(core) > 1
    assert core.sentence == f"Every model within 1 % of the best uses at least one of these {len(core)} features."
    assert "selected" not in core._repr_html_()
    assert core.names == [f"x{j}" for j in core.features]
    assert np.all(np.diff(core.gain) <= 0.0)
    assert core.lower_bound > core.threshold >= 1.01 * core.objective
    frame = core.to_frame()
    assert frame["index"].tolist() == core.features.tolist()
    assert repr(core).startswith(f"Core({len(core)} features of 12")
    assert core.dual.shape == (60,)


def test_larger_tolerances_need_more_features_until_there_is_none():
    core = ss.core(make(k=3), within=0.0)
    curve = core.curve((0.05, 0.0, 100.0))
    assert curve.within.tolist() == [0.0, 0.05, 100.0]
    assert curve.size[0] == len(core) <= curve.size[1]
    assert np.isnan(curve.size[2])


def test_two_of_a_longer_list():
    problem = make(k=3)
    one, two = ss.core(problem, within=0.01), ss.core(problem, within=0.01, at_least=2)
    assert len(two) > len(one)
    assert "two of these" in two.sentence or "all of these" in two.sentence


@pytest.mark.parametrize("terms", [{"k": 1}, {"mu": 0.01}, {"k": 3, "fit_intercept": False}])
def test_other_questions(terms):
    problem = make(**terms)
    core = ss.core(problem, within=0.0)
    best = ss.solve(problem)
    assert np.isin(best.support, core.features).any()


def test_separable_data():
    X = np.column_stack([np.repeat([-1.0, 1.0], 20), np.random.default_rng(0).normal(size=(40, 5))])
    core = ss.core(ss.Problem(X, X[:, 0] > 0.0, k=2, gamma=100.0))
    assert core.features.tolist() == [0]
    assert core.sentence == "Every model within 5 % of the best uses this feature."


def test_included_features_are_never_listed():
    core = ss.core(make(k=3, include=[0, 5]), within=0.0)
    assert not np.isin([0, 5], core.features).any()
    assert "beside those included" in core.sentence


def test_a_better_model_makes_a_smaller_or_equal_core(tmp_path):
    problem = make(k=3)
    best = ss.solve(problem)
    core = ss.core(problem, upper_bound=best, proof=tmp_path / "core.npz")
    assert core.objective == best.objective
    assert len(ss.core(problem, upper_bound=1.02 * best.objective)) >= len(core)
    assert (tmp_path / "core.npz").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"within": 100.0}, "a model without any feature"),
        ({"within": -0.1}, "must be a number >= 0"),
        ({"within": True}, "must be a number >= 0"),
        ({"at_least": 0}, "must be an integer >= 1"),
        ({"at_least": 4}, "room for 3 features"),
        ({"at_least": 3, "within": 50.0}, "cannot be proved"),
        ({"upper_bound": 1e-9}, "every model has an objective of at least"),
        ({"upper_bound": 0.7, "proof": "core.npz"}, "a proof needs a model"),
    ],
)
def test_questions_that_have_no_answer(options, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=words):
        ss.core(make(k=3), **options)
    assert not list(tmp_path.iterdir())


def test_the_solution_of_another_problem():
    other = ss.solve(make(k=5))
    with pytest.raises(ValueError, match="another problem"):
        ss.core(make(k=2), upper_bound=other)


def test_copies():
    core = ss.core(make(k=3), within=0.01)
    again = pickle.loads(pickle.dumps(core))
    assert again.sentence == core.sentence
    assert again.features.tolist() == core.features.tolist()
    assert again.curve((0.0,)).size[0] == core.curve((0.0,)).size[0]
    assert again._repr_html_() == core._repr_html_()


def test_the_model_that_everything_is_measured_against():
    problem = make(k=3)
    core = ss.core(problem, within=0.0)
    assert core.best.objective == core.objective == problem.objective(core.best.coef, core.best.intercept)
    assert core.best.lower_bound <= ss.solve(problem).objective
    assert core.best.status == ("optimal" if core.best.gap <= 1e-4 else "node_limit")
    assert not core.is_searched
    assert ss.core(problem, upper_bound=1.01 * core.objective).best is None


def test_screener():
    X, y, _ = ss.datasets.make_sparse_logistic(60, 12, 3, 1.0, random_state=0)
    screener = ss.SafeScreener(k=3, gamma=10.0)
    core = screener.core(X, y, within=0.01)
    assert core.features.tolist() == ss.core(make(k=3), within=0.01).features.tolist()
    assert not hasattr(screener, "screening_")
    assert not hasattr(screener, "n_features_in_")
