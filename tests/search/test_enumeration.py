"""Lists of all good models against brute force; ``benchmarks/alternatives_bruteforce.py`` checks thousands."""

from __future__ import annotations

import signal

import numpy as np
import pytest

import safescreen as ss
from problems import synthetic
from safescreen.relaxation import solve_root
from safescreen.search.enumeration import TIES, Enumeration, Wanted, within_of
from safescreen.search.listing import Wish, list_below, list_models
from safescreen.search.settings import Settings
from safescreen.search.watch import Watch
from safescreen.status import Status
from safescreen.testing.hard_lists import contradictions, hard_list, list_failures
from safescreen.testing.reference import brute_force

CHUNK = 10


@pytest.mark.parametrize("first", range(0, 250, CHUNK))
def test_against_brute_force(first):
    found = [text for seed in range(first, first + CHUNK) for text in list_failures(hard_list(seed))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("first", range(1000, 1040, CHUNK))
def test_two_threads_against_brute_force(first):
    found = [text for seed in range(first, first + CHUNK) for text in list_failures(hard_list(seed), n_threads=2)]
    assert not found, "\n".join(found)


def set_allowance(monkeypatch, allowance):
    monkeypatch.setattr("safescreen.search.tree_search.ALLOWANCE", allowance)


def small(seed, **terms):
    """Ten correlated features, one of them twice."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 10)) + rng.standard_normal((40, 1))
    X[:, 9] = X[:, 0]
    y = np.where(X[:, 0] - X[:, 1] + rng.logistic(size=40) > 0.0, 1, -1)
    return ss.Problem(X, y, gamma=10.0, **terms)


KINDS = {"price": {"mu": 0.004}, "budget": {"k": 4}, "both": {"mu": 0.002, "k": 4}}


def supports(listed):
    return {tuple(s.tolist()) for s in listed.supports}


@pytest.fixture(scope="module")
def many():
    """A problem with thousands of models within a few per cent."""
    return {name: synthetic(80, 30, snr=1.0, gamma=10.0, **terms) for name, terms in KINDS.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_threads_list_the_same_models(many, kind, monkeypatch):
    set_allowance(monkeypatch, 2_000_000)  # nodes are shared out often
    one, two = (ss.alternatives(many[kind], within=0.02, n_threads=n, max_models=10**6) for n in (1, 2))
    assert one.complete
    assert two.complete
    assert len(one) > 10
    assert supports(one) == supports(two)
    assert one.objectives == pytest.approx(two.objectives, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_little_room_for_lists_changes_nothing(many, kind, monkeypatch, tmp_path):
    usual = ss.alternatives(many[kind], within=0.02, max_models=10**6)
    for name in ("LISTED_MODELS", "LISTED_ENTRIES"):
        monkeypatch.setattr(f"safescreen.search.workers.{name}", 1)
    monkeypatch.setattr("safescreen.search.workers.MOST_COMMON_SIZE", 1)
    path = tmp_path / "list.proof"
    narrow = ss.alternatives(many[kind], within=0.02, max_models=10**6, proof=path)
    assert narrow.complete
    assert supports(narrow) == supports(usual)
    assert narrow.objectives == pytest.approx(usual.objectives, rel=1e-9)
    problem = many[kind]
    assert ss.verify(path, problem.design.columns(np.arange(problem.n_features)), problem.y).valid


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_missing_is_bounded_wherever_the_search_stops(kind, monkeypatch):
    set_allowance(monkeypatch, 1)
    early = 0
    for seed in range(3):
        problem = small(seed, **KINDS[kind])
        truth = brute_force(problem)
        for wish in ({"within": 0.05}, {"within": 1.0}, {"n_best": 30}):
            for rounds in (1, 2, 3, 5, 8, 13, 21, 34, 55):
                left = iter(range(rounds - 1))
                listed = ss.alternatives(problem, **wish, callback=lambda _, left=left: next(left, None) is None)
                found = contradictions(listed, problem, truth)
                assert not found, "\n".join(found)
                assert listed.complete == (listed.status is Status.OPTIMAL)
                early += not listed.complete
    assert early > 5


@pytest.mark.parametrize("kind", KINDS)
def test_no_time_at_all(kind):
    problem = small(1, **KINDS[kind])
    listed = ss.alternatives(problem, time_limit=0)
    assert listed.status is Status.TIME_LIMIT
    assert not listed.complete
    assert not contradictions(listed, problem, brute_force(problem))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("most", [1, 3, 20])
def test_more_models_than_wanted(kind, most, monkeypatch):
    set_allowance(monkeypatch, 1)
    problem = small(2, **KINDS[kind])
    listed = ss.alternatives(problem, within=1.0, max_models=most)
    assert len(listed) <= most
    assert not contradictions(listed, problem, brute_force(problem))
    if not listed.complete:
        assert listed.status in {Status.MODEL_LIMIT, Status.OPTIMAL}


def test_too_many_models_end_the_search(many):
    listed = ss.alternatives(many["price"], within=0.3, max_models=100)
    assert listed.status is Status.MODEL_LIMIT
    assert len(listed) == 100
    assert listed.missing_bound < listed.threshold


@pytest.mark.parametrize("n_best", [1, 7, 400])
def test_max_models_is_no_limit_of_the_best(n_best):
    problem = small(3, k=4)
    listed = ss.alternatives(problem, n_best=n_best, max_models=5)
    values = np.sort(list(brute_force(problem).table.values()))[:n_best]
    assert listed.complete
    assert listed.objectives == pytest.approx(values, rel=1e-8)


def test_ctrl_c_returns_what_was_found(keyboard, monkeypatch):
    set_allowance(monkeypatch, 1)
    problem = small(4, mu=0.001)
    rounds = []

    def press(moment):
        rounds.append(moment)
        if len(rounds) == 3:
            signal.raise_signal(signal.SIGINT)

    listed = ss.alternatives(problem, within=1.0, callback=press)
    assert listed.status is Status.INTERRUPTED
    assert len(rounds) == 3
    assert not listed.complete
    assert not contradictions(listed, problem, brute_force(problem))


def test_moments_tell_how_many_models_there_are(many, monkeypatch):
    set_allowance(monkeypatch, 2_000_000)
    moments = []
    listed = ss.alternatives(many["price"], within=0.02, max_models=10**6, callback=moments.append)
    bounds = [moment.lower_bound for moment in moments]
    assert len(moments) > 3
    assert bounds == sorted(bounds)
    assert moments[-1].open_nodes == 0
    assert listed.complete


def test_little_memory_changes_nothing(many):
    usual = ss.alternatives(many["both"], within=0.02, max_models=10**6)
    narrow = ss.alternatives(many["both"], within=0.02, max_models=10**6, memory_limit=0.001)
    assert narrow.complete
    assert supports(narrow) == supports(usual)


@pytest.mark.interpreted
def test_models_below_a_number():
    problem = small(5, mu=0.01, exclude=[4, 5, 6, 7, 8])
    truth = brute_force(problem)
    cutoff = truth.value * 1.1
    found, complete = list_below(problem, cutoff, Settings().checked())
    assert complete
    expected = {s for s, value in truth.table.items() if value <= cutoff}
    assert {tuple(s.tolist()) for s in found.supports()} == expected
    found, complete = list_below(problem, cutoff, Settings(time_limit=0.0).checked())
    assert (len(found), complete) == (0, False)


@pytest.mark.interpreted
@pytest.mark.parametrize("kind", KINDS)
def test_a_small_list(kind, tmp_path):
    problem = small(6, **KINDS[kind], include=[2], exclude=[4, 5, 6, 7])
    path = tmp_path / "list.proof"
    listed = list_models(problem, Wish(0.1), Settings(rel_gap=1e-8).checked(), path)
    truth = brute_force(problem)
    assert listed.complete
    assert listed.minimal == (kind == "budget")
    assert listed.best.objective == pytest.approx(truth.value, rel=1e-8)
    assert listed.threshold == pytest.approx(within_of(truth.value, 0.1), rel=1e-8)
    models = {s for s, value in truth.table.items() if value <= listed.threshold}
    if listed.minimal:
        models = {s for s in models if not any(tuple(i for i in s if i != j) in models for j in s if j != 2)}
    assert {tuple(s.tolist()) for s in listed.models.supports()} == models


@pytest.mark.interpreted
def test_the_threshold_falls_with_the_models_found():
    wanted = Wanted(10.0, within=0.5, n_best=2)
    objectives = np.array([3.0, 1.0, 2.0])
    assert wanted.lowered(10.0, 4.0, lambda: objectives[:1]) == pytest.approx(6.0 * (1.0 + TIES))
    assert wanted.lowered(10.0, 1.0, lambda: objectives) == pytest.approx(1.5 * (1.0 + TIES))
    assert Wanted(10.0, n_best=2).lowered(10.0, 1.0, lambda: objectives) == 2.0
    assert Wanted(10.0).lowered(10.0, 1.0, lambda: objectives) == 10.0
    assert Wanted(10.0, minimal=True, within=0.0).lowered(10.0, 1.0, lambda: objectives) == 10.0


@pytest.mark.interpreted
def test_models_with_features_to_spare_are_missing_until_their_part_is_found():
    from test_found import models

    problem = small(7, k=3)
    search = Enumeration(problem, solve_root(problem), Watch(Settings()), Wanted(0.6, minimal=True))
    search.lower_bound = 5.0
    search.spare = [models((1, 2), (3, 4), objective=[3.0, 4.0])]
    search._account_for_spare()
    assert search.lower_bound == 2.75
    search.lower_bound, search._parts = 5.0, [models((2,))]
    search._account_for_spare()
    assert search.lower_bound == 3.75
