"""Outward from the best model: whatever a search says of models near it holds, in whatever order it explored."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import safescreen as ss
from safescreen.kernels.open_nodes import add_root, make_open_nodes
from safescreen.kernels.outward import count_inside, layers_of
from safescreen.relaxation import perspective
from safescreen.search import first_look, outward, tree_search
from safescreen.search.solution import near_sentence
from safescreen.testing.hard_neighbourhoods import neighbourhood_failures, stopped_search
from safescreen.testing.reference import brute_force

CHUNK = 20


@pytest.fixture
def at_once(monkeypatch):
    """Even small trees go outward, and change their order all the time."""
    monkeypatch.setattr(outward, "OUTWARD_ROUNDS", 1)
    monkeypatch.setattr(outward, "OUTWARD_GAP", -1.0)
    monkeypatch.setattr(outward, "ROUNDS_OF_A_CREW", 1)
    monkeypatch.setattr(outward, "FIRST_OUTWARD_ROUNDS", 30)
    monkeypatch.setattr(outward, "EARLY_OUTWARD_SHARE", 0.7)
    monkeypatch.setattr(outward, "OUTWARD_SHARE", 0.7)
    monkeypatch.setattr(tree_search, "ALLOWANCE", 2000)


@pytest.fixture
def dear_root(monkeypatch):
    """Even the roots of small problems are solved in stages."""
    monkeypatch.setattr(perspective, "FIRST_BLOCK", 1)
    monkeypatch.setattr(perspective, "FIRST_SHARE", 1.0)
    monkeypatch.setattr(perspective, "CHEAP_ROOT", 0)


def make(seed=0, m=40, n=10, **terms):
    X, y, _ = ss.datasets.make_sparse_logistic(m, n, 3, 1.0, rho=0.5, random_state=seed)
    return ss.Problem(X, y, **{"gamma": 1000.0, **terms})


@pytest.mark.parametrize("first", range(0, 160, CHUNK))
def test_against_brute_force(first, at_once):
    found = [text for seed in range(first, first + CHUNK) for text in neighbourhood_failures(stopped_search(seed))[1]]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("first", range(0, 80, CHUNK))
def test_a_first_look_against_brute_force(first, at_once, dear_root):
    test_against_brute_force(first, at_once)


def test_the_first_look_comes_before_the_root(at_once, dear_root, monkeypatch):
    looks, monitored = [], first_look.FirstLook.look
    monkeypatch.setattr(first_look.FirstLook, "look", lambda search: (looks.append(search), monitored(search)))
    for seed in range(10):
        looks.clear()
        problem, moments = make(seed, n=40, k=4, gamma=100.0), []
        solution = ss.solve(problem, callback=moments.append)
        (look,) = looks
        assert look.outward.proved(look.incumbent) >= 1
        assert look.crew is None
        assert solution.status == "optimal"
        assert solution.objective <= look.incumbent.objective
        assert solution.nodes >= look.nodes > 0
        bounds, counts = [moment.lower_bound for moment in moments], [moment.nodes for moment in moments]
        assert bounds == sorted(bounds)
        assert counts == sorted(counts)


def test_a_stop_in_the_first_look_ends_the_search(at_once, dear_root):
    asked = []

    def stop_once(moment):
        asked.append(moment)
        return len(asked) == 1

    solution = ss.solve(make(0, n=40, k=4, gamma=100.0), callback=stop_once)
    assert solution.status == "interrupted"
    assert len(asked) == 2
    assert solution.lower_bound <= solution.objective


def test_a_proof_holds_what_is_said_beside_it(at_once, dear_root, tmp_path):
    for seed in range(4):
        problem = make(seed, n=20, k=4)
        for limit in (10, 40, 160):
            solution = ss.solve(problem, node_limit=limit, proof=tmp_path / "proof.npz")
            checked = ss.verify(tmp_path / "proof.npz", problem.design.matrix, problem.y)
            assert checked.valid, checked.reason
            assert checked.proved_exchanges >= solution.proved_exchanges


def test_a_tree_of_its_own_leaves_the_path_of_a_search_alone(monkeypatch):
    """The nodes of a model's neighbours are explored aside, and counted; but for them nothing changes."""
    monkeypatch.setattr(tree_search, "ALLOWANCE", 100_000)
    problem = make(1, m=80, n=30, k=4)
    aside = ss.solve(problem, node_limit=10**6)
    monkeypatch.setattr("safescreen.search.lone.LoneWorker.next_door", lambda *_: None)
    alone = ss.solve(problem, node_limit=10**6)
    assert aside.objective == alone.objective
    assert aside.lower_bound == pytest.approx(alone.lower_bound, rel=1e-6)
    assert aside.nodes > alone.nodes


def test_stopped_searches_cover_something(at_once):
    covered = [neighbourhood_failures(stopped_search(seed))[0] for seed in range(60)]
    assert covered.count("part") >= 5
    assert covered.count("all") >= 5


def test_the_order_does_not_change_the_answer(at_once, monkeypatch):
    for seed in range(20):
        problem = make(seed, k=4)
        outwards = ss.solve(problem, rel_gap=1e-9)
        monkeypatch.setattr(outward, "OUTWARD_GAP", np.inf)
        monkeypatch.setattr(outward, "LATE_OUTWARD_GAP", np.inf)
        usual = ss.solve(problem, rel_gap=1e-9)
        monkeypatch.setattr(outward, "OUTWARD_GAP", -1.0)
        assert outwards.status == usual.status == "optimal"
        assert outwards.objective == pytest.approx(usual.objective, rel=1e-8)


@pytest.mark.parametrize("threads", [1, 2])
def test_more_nodes_cover_no_less_of_a_model(at_once, threads):
    problem, known = make(3, k=4), {}
    for limit in range(0, 80, 4):
        solution = ss.solve(problem, node_limit=limit, n_threads=threads)
        support = tuple(solution.support)
        if threads == 1:
            assert solution.proved_exchanges >= known.get(support, 0)
        known[support] = solution.proved_exchanges
    assert ss.solve(problem).proved_exchanges == 4


def test_a_callback_sees_what_is_covered(at_once):
    seen = []
    for seed in range(10):
        ss.solve(make(seed, k=4), callback=lambda moment: seen.append(moment.proved_exchanges))
    assert {0, 1, 4} <= set(seen)


def test_an_easy_search_goes_nowhere(monkeypatch):
    """Its path is that of the golden master."""

    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(outward.Outward, "_begin", refuse)
    X, y, _ = ss.datasets.make_sparse_logistic(200, 300, 20, 1000.0, random_state=0)
    assert ss.solve(ss.Problem(X, y, k=20, gamma=1.0)).status == "optimal"


def test_layers_are_what_models_exchange_at_least():
    rng = np.random.default_rng(0)
    for _ in range(300):
        n, size = int(rng.integers(1, 9)), int(rng.integers(0, 5))
        model = rng.choice(n, min(size, n), replace=False)
        places = int(rng.integers(max(model.size, 1), n + 1))
        status = rng.integers(0, 3, n)
        if np.count_nonzero(status == 1) > places:
            continue
        sets = [[j for j in range(n) if number >> j & 1] for number in range(1 << n)]
        inside, outside = set(np.flatnonzero(status == 1)), set(np.flatnonzero(status == 2))
        possible = [each for each in sets if inside <= set(each) and not outside & set(each) and len(each) <= places]
        codes = np.concatenate([status, np.zeros(-n % 4, np.int64)]).reshape(-1, 4)
        bits = (codes * [1, 4, 16, 64]).sum(axis=1).astype(np.uint8)
        least = min(len(set(model.tolist()).difference(each)) for each in possible)
        inside = count_inside(bits[None])
        assert inside[0] == np.count_nonzero(status == 1)
        assert layers_of(bits[None, model >> 2], inside, model, places)[0] == least


def test_open_nodes_are_looked_at_where_they_are():
    """Their bits may be gigabytes when a limit comes, and only those of the model are needed."""
    nodes = make_open_nodes(4, 9, 2, 4)
    add_root(nodes, np.array([1, 0, -1, 0, 1, 0, 0, 0, -1], np.int8), np.zeros(9), (0.5, 0.1, 0.0))
    opened = next(outward.opened_in(SimpleNamespace(open_sets=[nodes])))
    assert opened.bits is nodes.bits
    assert opened.inside[opened.rows].tolist() == [2]
    assert outward.first_layer_below(0.6, opened, np.array([0, 1, 2]), 3) == 1.0
    assert outward.first_layer_below(0.5, opened, np.array([0, 1, 2]), 3) == np.inf


def test_the_sentence_says_what_is_left_to_say():
    assert near_sentence(5, 0, 1e-4) == near_sentence(5, 5, 1e-4) == near_sentence(0, 0, 1e-4) == ""
    assert near_sentence(5, 2, 0.0) == "No model that shares at least 3 of these 5 features is better."
    sentence = near_sentence(1500, 2, 1e-4).replace("\u00a0", " ")
    assert sentence == "No model that shares at least 1,498 of these 1,500 features is better by more than 0.01 %."


def test_every_surface_says_it(at_once):
    problems = [make(seed, k=4) for seed in range(10)]
    stopped = (ss.solve(problem, node_limit=limit) for problem in problems for limit in range(20, 80, 4))
    solution = next(solution for solution in stopped if solution.neighbourhood)
    problem = solution.problem
    exchanges = solution.proved_exchanges
    table = brute_force(problem).table
    shared = {support: len(set(support) & set(solution.support.tolist())) for support in table}
    least = min(value for support, value in table.items() if shared[support] >= 4 - exchanges)
    assert least >= solution.objective * (1.0 - 2e-4)
    assert f"{exchanges} exchange" in repr(solution)
    assert solution.neighbourhood in solution._repr_html_()
    assert solution.neighbourhood in ss.report(solution)
    assert "exchange" not in repr(ss.solve(problem))
