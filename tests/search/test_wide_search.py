"""The search for columns that are too many to be held: the right answer, few passes, and a proof of it."""

from __future__ import annotations

import numpy as np
import pytest

import safescreen as ss
from problems import synthetic
from safescreen.design import DenseDesign, SparseDesign
from safescreen.expiry import ExpiredError
from safescreen.incumbents import without_features
from safescreen.problem import problem as problem_module
from safescreen.relaxation import solve_root
from safescreen.search import proof_writer, wide_search, wide_tree
from safescreen.search.proof_writer import ProofWriter
from safescreen.testing.hard_problems import failures, hard_problem
from safescreen.tuning import LOCAL_SEARCH_COLUMNS, PROOF_PIECE_BYTES
from safescreen.working_memory import within

CHUNK = 20


class Elsewhere(DenseDesign):
    """An array that is held elsewhere: it answers questions about it, and counts them."""

    readable_in_place = False

    def __init__(self, *args):
        super().__init__(*args)
        self.batches, self.gathered, self.searched = [], [], []

    def strongest(self, alphas, drifts, count):
        self.batches.append(len(alphas))
        return super().strongest(alphas, drifts, count)

    def columns(self, indices):
        self.gathered.append(np.size(indices))
        return super().columns(indices)

    def search_columns(self, indices, urgency, slots):
        assert self.has_room_for(indices.size, slots), "too many columns were gathered"
        self.searched.append(indices.size)
        return super().search_columns(indices, urgency, slots)


@pytest.fixture
def searches(monkeypatch):
    """The wide searches that are made."""
    made = []

    class Noted(wide_search.WideSearch):
        def __init__(self, *args):
            super().__init__(*args)
            made.append(self)

    monkeypatch.setattr(wide_search, "WideSearch", Noted)
    return made


@pytest.fixture
def never_held(monkeypatch):
    """No design ever has room for what the root leaves."""
    for design in (DenseDesign, SparseDesign):
        monkeypatch.setattr(design, "readable_in_place", False)
        monkeypatch.setattr(design, "has_room_for", lambda self, columns, slots: False)


@pytest.fixture
def elsewhere(monkeypatch):
    """Makes problems whose matrix is held elsewhere, with room for so many of its columns."""

    def make(m, n, room, **terms):
        monkeypatch.setattr(problem_module, "make_design", Elsewhere)
        monkeypatch.setattr(Elsewhere, "has_room_for", lambda self, columns, slots: columns <= room)
        return synthetic(m, n, **terms)

    return make


def hold_few(monkeypatch):
    """Have the tree hold no more columns than a model has, and ask for lists that are too short at first."""
    room_of = wide_search._room

    def least(problem, root, workers):
        features = problem.n_features
        return room_of(problem, root, workers)._replace(slots=min(problem.k, features))

    monkeypatch.setattr(wide_search, "_room", least)
    monkeypatch.setattr(wide_tree.WideTree, "_count", lambda self, start, decided: 1)


@pytest.mark.parametrize("first", range(0, 200, CHUNK))
def test_against_brute_force(first, never_held, monkeypatch):
    found = []
    for seed in range(first, first + CHUNK):
        monkeypatch.setattr(wide_search, "WIDE_BATCH", (1, 3, 16)[seed % 3])
        found += failures(hard_problem(seed), modes=(("nodes", "root", "none")[seed // 3 % 3],))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("first", range(300, 360, CHUNK))
def test_against_brute_force_with_few_columns_at_hand(first, never_held, monkeypatch):
    hold_few(monkeypatch)
    found = []
    for seed in range(first, first + CHUNK):
        monkeypatch.setattr(wide_search, "WIDE_BATCH", (1, 3, 16)[seed % 3])
        found += failures(hard_problem(seed), modes=("nodes",))
    assert not found, "\n".join(found)


def test_the_same_tree_as_the_compiled_one_in_few_passes(elsewhere, searches, monkeypatch):
    compiled = ss.solve(synthetic(100, 2500, k=5, gamma=2.0, seed=2))
    passes = {}
    for batch in (1, 4, 16):
        monkeypatch.setattr(wide_search, "WIDE_BATCH", batch)
        problem = elsewhere(100, 2500, 0, k=5, gamma=2.0, seed=2)
        solution = ss.solve(problem)
        assert solution.status == "optimal"
        assert solution.objective == pytest.approx(compiled.objective, rel=1e-9)
        assert solution.lower_bound <= compiled.objective
        passes[batch] = searches[-1].passes
        assert len(problem.design.batches) == passes[batch]
        assert max(problem.design.batches) <= batch
        assert max(problem.design.gathered) <= LOCAL_SEARCH_COLUMNS
        assert solution.nodes <= 2 * compiled.nodes
    assert compiled.nodes > 40
    assert passes[1] <= 2 * compiled.nodes
    assert passes[16] < passes[4] < passes[1]
    assert passes[16] < compiled.nodes / 4


@pytest.mark.parametrize("piece", [None, 1, PROOF_PIECE_BYTES])
def test_a_better_model_lets_the_compiled_tree_take_over(piece, elsewhere, searches, monkeypatch, tmp_path):
    """The first model is poor, so that the root decides little; the tree finds a better one."""
    monkeypatch.setattr("safescreen.search.solving.first_incumbent", lambda problem, *_: without_features(problem))
    monkeypatch.setattr(proof_writer, "PROOF_PIECE_BYTES", piece)
    proof = tmp_path / "proof.npz" if piece else None
    compiled = ss.solve(synthetic(200, 400, k=5, gamma=3.0, seed=1), rel_gap=1e-6)
    problem = elsewhere(200, 400, 300, k=5, gamma=3.0, seed=1)
    solution = ss.solve(problem, rel_gap=1e-6, proof=proof)
    assert solution.status == "optimal"
    assert searches[-1].passes > 0
    assert len(problem.design.searched) == 1
    assert solution.objective == pytest.approx(compiled.objective, rel=1e-6)
    assert [point.nodes for point in solution.trace] == sorted(point.nodes for point in solution.trace)
    if proof is not None:
        check = ss.verify(proof, problem.design.matrix, problem.y)
        assert check.valid, check.reason


def test_a_proof_on_a_pipe_keeps_the_tree_it_has(elsewhere, monkeypatch, tmp_path):
    problem = elsewhere(20, 10, 10, k=2)
    with ProofWriter(tmp_path / "proof.npz", problem) as writer:
        assert writer.begin_again()
        writer._chunks = 1  # as if a part of the tree were in the file
        monkeypatch.setattr("os.path.isfile", lambda path: False)
        assert not writer.begin_again()
        assert writer._chunks == 1


def test_what_fits_is_searched_as_ever(elsewhere, searches):
    problem = elsewhere(100, 60, 60, k=5, gamma=1.0)
    assert ss.solve(problem).status == "optimal"
    assert problem.design.batches == []


def test_ordinary_matrices_never_have_a_wide_search(searches, monkeypatch):
    monkeypatch.setattr(DenseDesign, "has_room_for", lambda self, columns, slots: False)
    assert ss.solve(synthetic(80, 50, k=4, gamma=5.0), memory_limit=1e-3).status == "optimal"
    assert searches == []


@pytest.mark.parametrize("n_threads", [1, 2])
def test_the_same_path_every_time(elsewhere, n_threads):
    first, second = (ss.solve(elsewhere(100, 200, 0, k=5, gamma=5.0), n_threads=n_threads) for _ in range(2))
    assert first.nodes == second.nodes
    assert first.lower_bound == second.lower_bound


@pytest.mark.parametrize("limit", [{"node_limit": 5}, {"node_limit": 30}, {"time_limit": 1e-9}])
def test_limits_leave_a_valid_proof(elsewhere, limit, tmp_path):
    best = ss.solve(synthetic(120, 300, k=6, gamma=20.0, seed=2))
    problem = elsewhere(120, 300, 0, k=6, gamma=20.0, seed=2)
    solution = ss.solve(problem, proof=tmp_path / "proof.npz", **limit)
    assert solution.status == next(iter(limit))
    assert solution.nodes <= limit.get("node_limit", 0)
    assert solution.lower_bound <= best.objective <= solution.objective * (1.0 + 1e-4)
    check = ss.verify(tmp_path / "proof.npz", problem.design.matrix, problem.y)
    assert check.valid, check.reason
    assert check.lower_bound == pytest.approx(solution.lower_bound, rel=1e-6)


def test_time_that_is_up_in_the_middle_of_a_round(elsewhere, monkeypatch, tmp_path):
    problem = elsewhere(120, 300, 0, k=6, gamma=20.0, seed=2)
    ask = Elsewhere.strongest

    def expire_later(self, *args):
        if len(self.batches) == 3:
            raise ExpiredError
        return ask(self, *args)

    monkeypatch.setattr(Elsewhere, "strongest", expire_later)
    solution = ss.solve(problem, proof=tmp_path / "proof.npz")
    assert solution.status == "interrupted"
    assert solution.nodes > 0
    check = ss.verify(tmp_path / "proof.npz", problem.design.matrix, problem.y)
    assert check.valid, check.reason


def test_a_callback_sees_the_search_and_may_end_it(elsewhere):
    moments = []

    def watch(moment):
        moments.append(moment)
        return moment.nodes >= 20

    solution = ss.solve(elsewhere(120, 300, 0, k=6, gamma=20.0, seed=2), callback=watch)
    assert solution.status == "interrupted"
    assert moments[-1].open_nodes > 0
    assert [point.lower_bound for point in solution.trace] == sorted(point.lower_bound for point in solution.trace)
    assert all(moment.lower_bound <= moment.upper_bound for moment in moments)


def test_little_memory_for_open_nodes_makes_the_search_go_deep(elsewhere, monkeypatch):
    wide = ss.solve(elsewhere(100, 120, 0, k=5, gamma=5.0))
    init = wide_tree.WaitingNodes.__init__
    monkeypatch.setattr(wide_tree.WaitingNodes, "__init__", lambda self, most_bytes: init(self, 0))
    deep = ss.solve(elsewhere(100, 120, 0, k=5, gamma=5.0))
    assert deep.status == "optimal"
    assert deep.objective == pytest.approx(wide.objective, rel=1e-6)


def test_hopeless_columns_end_the_search(never_held):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 8))
    y = np.where(X[:, 0] + 0.5 * rng.logistic(size=40) > 0.0, 1, -1)
    X[:, 3] *= 1e60
    solution = ss.solve(ss.Problem(X, y, mu=1e-2, gamma=1.0, standardize=False), time_limit=20)
    assert solution.status in ("optimal", "numerical_limit")
    assert 0.0 <= solution.lower_bound <= solution.objective


def test_a_root_that_closes_the_gap_needs_no_search_of_any_kind(elsewhere, searches):
    problem = elsewhere(200, 40, 0, k=3, gamma=0.1)
    solution = ss.solve(problem)
    assert solution.status == "optimal"
    assert solution.nodes == 0
    assert searches == []


def test_more_threads_never_mean_fewer_columns():
    problem = synthetic(2000, 3000, k=10, gamma=10.0)
    root = solve_root(problem)
    with within(0.12):
        rooms = [wide_search._room(problem, root, workers) for workers in (1, 2, 16)]
    assert rooms[0].workers == 1
    assert 1 < rooms[2].workers < 16
    assert len({(room.slots, room.capacity) for room in rooms}) == 1


def test_lists_of_models_need_their_columns(elsewhere):
    problem = elsewhere(100, 60, 0, k=5, gamma=50.0)
    with pytest.raises(MemoryError, match=r"60 columns survive screening.*raise memory_limit"):
        ss.alternatives(problem, within=0.05)


def test_a_search_that_holds_no_tree_is_not_kept_and_says_so(elsewhere, tmp_path):
    file = tmp_path / "run.npz"
    with pytest.warns(ss.CheckpointNotWrittenWarning, match="its columns are too many to be held"):
        ss.solve(elsewhere(100, 2500, 0, k=5, gamma=2.0, seed=2), node_limit=5, checkpoint=file)
    assert not file.exists()
