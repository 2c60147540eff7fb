"""Searches that would gather more open nodes than memory holds go deep instead, and stay exact."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import safescreen as ss
from problems import data_of, plain
from safescreen.design import sparse as sparse_design
from safescreen.kernels.node_relaxation import make_workspace
from safescreen.kernels.open_nodes import enlarged, make_open_nodes
from safescreen.search import workers
from safescreen.search.room import PRODUCTS_BYTES, Extent, shared_out

FEATURES = 40


@pytest.fixture
def problem():
    """Correlated noise under a weak ridge: best-first search would keep hundreds of nodes open."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, FEATURES)) + rng.standard_normal((60, 1))
    y = np.where(X[:, :4].sum(axis=1) - X[:, 4:8].sum(axis=1) + 4.0 * rng.logistic(size=60) > 0.0, 1, -1)
    return plain(X, y, k=6, gamma=300.0)


def set_allowance(monkeypatch, allowance):
    for module in ("tree_search", "improving"):
        monkeypatch.setattr(f"safescreen.search.{module}.ALLOWANCE", allowance)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_full_memory_changes_the_order_but_not_the_answer(problem, n_threads, monkeypatch, tmp_path):
    set_allowance(monkeypatch, 200_000)  # many looks at the search
    seen = []

    def look(moment):
        seen.append(moment.open_nodes)

    usual = ss.solve(problem, rel_gap=1e-7, n_threads=n_threads, callback=look)
    widest = max(seen)
    seen.clear()
    most = 20
    usual_room = workers.shared_out
    monkeypatch.setattr(workers, "shared_out", lambda *sizes: usual_room(*sizes)._replace(most_open=most))
    path = tmp_path / "proof.npz"
    narrow = ss.solve(problem, rel_gap=1e-7, n_threads=n_threads, callback=look, proof=path)
    assert narrow.status == usual.status == "optimal"
    assert narrow.objective == pytest.approx(usual.objective, rel=1e-7)
    assert max(seen) <= n_threads * (most + FEATURES) < widest
    assert ss.verify(path, *data_of(problem)).valid


def test_every_round_makes_progress(problem, monkeypatch):
    """However little may be done between two looks at the clock: less than it takes to load a node."""
    set_allowance(monkeypatch, 100)
    solution = ss.solve(problem, rel_gap=1e-4, n_threads=2, node_limit=200, time_limit=60.0)
    assert solution.status == "node_limit"


def test_the_limit_counts_all_that_is_stored():
    store = make_open_nodes(4096, 1000, 50, 7)  # so many that what there is once counts for little
    used = sum(array.nbytes for array in store) / 4096
    extent = Extent(samples=100, features=1000, workers=1, capacity=256, least=10, width=50)
    room = shared_out(extent, 10**9)
    assert (room.slots, room.capacity) == (1000, 256)
    assert 0.7e9 < room.most_open * used <= 0.8e9
    assert shared_out(extent._replace(workers=4), 10**9).most_open == pytest.approx(room.most_open / 4, rel=0.02)


@pytest.mark.parametrize("workers", [1, 2, 8])
@pytest.mark.parametrize(("samples", "features"), [(10**6, 500), (10**5, 2_000), (100, 20_000), (1_000, 10**6)])
def test_all_parts_fit_together(samples, features, workers):
    allowed = 2 * 10**9
    for capacity in (256, 3_000):
        extent = Extent(samples, features, workers, min(capacity, features), 5, 50)
        room = shared_out(extent, allowed)
        sets = 1 if room.slots == features else room.workers
        models = room.workers * room.capacity * (8 * samples + PRODUCTS_BYTES * room.capacity)
        nodes = room.workers * room.most_open * (features // 4 + 8 * 50 + 64)
        assert 1 <= room.workers <= workers
        assert room.workers == workers or samples == 10**6
        assert 8 * samples * room.slots * sets + models + nodes <= 0.76 * allowed
        assert room.slots >= 20 or room.slots == features
        assert room.most_open > 100


def test_the_matrices_of_a_model_are_counted():
    capacity, samples = 300, 50
    workspace = make_workspace(10 * capacity, np.ones(samples), capacity)
    matrices = (workspace.quadratic.hessian, workspace.quadratic.factor, workspace.gram.matrix)
    assert sum(matrix.nbytes for matrix in matrices) == pytest.approx(PRODUCTS_BYTES * capacity**2, rel=0.02)


def test_large_stores_are_not_doubled(monkeypatch):
    """A second set of slots beside the first would take as much memory again."""
    store = make_open_nodes(8, 100, 10, 30)
    store.counts["vacant"] = 0
    assert enlarged(store).bound.size == 16
    monkeypatch.setattr("safescreen.kernels.open_nodes.SMALL_STORE", 1)
    larger = enlarged(store)
    assert larger.bound.size == 230
    assert sorted(larger.vacant[: int(larger.counts["vacant"][0])].tolist()) == list(range(8, 230))
    assert enlarged(larger).bound.size == 460


# -- few dense columns -------------------------------------------------------------------------------------


FORMS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "float32 by columns": lambda X: np.asfortranarray(X, dtype=np.float32),
    "int64": lambda X: np.rint(4.0 * X).astype(np.int64),
    "int8": lambda X: np.rint(4.0 * X).astype(np.int8),
    "uint8 by columns": lambda X: np.asfortranarray(np.rint(np.abs(4.0 * X)), dtype=np.uint8),
    "bool": lambda X: X > 0.3,
    "part of a larger one": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, 1::3],
    "read-only": lambda X: np.frombuffer(X.tobytes()).reshape(X.shape),
    "int16": lambda X: np.rint(4.0 * X).astype(np.int16),
    "float16 backwards": lambda X: X.astype(np.float16)[::-1, ::-1],
    "swapped bytes": lambda X: X.astype(X.dtype.newbyteorder()),
    "sparse": lambda X: sparse.csc_array(np.where(np.abs(X) > 0.8, X, 0.0)),
    "sparse float32": lambda X: sparse.csc_array(np.where(np.abs(X) > 0.8, X, 0.0), dtype=np.float32),
}


def starved(monkeypatch, slots):
    """Let every worker have only so many dense columns, and no copy of sparse ones."""
    usual_room = workers.shared_out
    monkeypatch.setattr(workers, "shared_out", lambda *sizes: usual_room(*sizes)._replace(slots=slots))
    monkeypatch.setattr(sparse_design, "allowed", lambda data_bytes: 0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("options", [{}, {"standardize": True, "fit_intercept": True}])
def test_few_dense_columns_find_the_same(form, options, monkeypatch, tmp_path):
    rng = np.random.default_rng(3)
    X = FORMS[form](rng.standard_normal((40, 12)) + 0.5 * rng.standard_normal((40, 1)))
    dense = X.toarray() if sparse.issparse(X) else X
    y = np.where(dense[:, :3].sum(axis=1) + rng.logistic(size=40) > dense[:, :3].sum(axis=1).mean(), 1, -1)
    for terms in ({"k": 3, "gamma": 50.0}, {"mu": 0.01, "gamma": 50.0}):
        problem = plain(X, y, **terms, **options)
        truth = ss.solve(problem, rel_gap=1e-7)
        for slots, n_threads in ((11, 1), (8, 2), (4, 1), (2, 2)):
            starved(monkeypatch, slots)
            path = tmp_path / "proof.npz"
            found = ss.solve(problem, rel_gap=1e-7, node_limit=500, n_threads=n_threads, proof=path)
            assert found.status in ("optimal", "node_limit", "numerical_limit")
            assert found.lower_bound <= truth.objective
            assert truth.lower_bound <= found.objective
            assert ss.verify(path, X, y).valid
            if slots == 11 and "k" in terms:
                assert found.status == "optimal"
            monkeypatch.undo()


@pytest.mark.parametrize("form", ["rows", "columns", "int16", "float16 backwards", "swapped bytes"])
def test_columns_are_read_in_place(form):
    rng = np.random.default_rng(0)
    X = FORMS[form](rng.standard_normal((50, 30)))
    design = plain(X, np.where(X[:, 0] > 0.0, 1, -1), k=3, standardize=True).design
    columns = design.search_columns(np.arange(2, 30), np.arange(28) + 1, 10)
    assert columns.are_in_place
    assert columns.dense.shape[0] == 10
    assert columns.are_held.sum() == 5
    assert np.shares_memory(columns.memory, X)
    assert not design.search_columns(np.arange(2, 30), np.arange(28) + 1, 28).are_in_place


@pytest.mark.parametrize("form", ["sparse", "sparse float32"])
def test_large_sparse_columns_are_read_in_place(form, monkeypatch):
    X = FORMS[form](np.random.default_rng(0).standard_normal((50, 30)))
    design = plain(X, np.arange(50) % 2, k=3).design
    monkeypatch.setattr(sparse_design, "allowed", lambda data_bytes: 0)
    columns = design.search_columns(np.arange(2, 30), np.zeros(28, np.int64), 10)
    assert np.shares_memory(columns.memory if form == "sparse float32" else columns.values, X.data)
    assert np.shares_memory(columns.rows, X.indices)
    assert not columns.are_in_place
    assert not columns.are_all_dense


def test_more_features_in_than_there_is_room_for(monkeypatch, tmp_path):
    """With a price alone any number of features may be decided in: the nodes that cannot be held keep their bound."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((200, 12))
    y = np.where(X @ np.ones(12) + rng.logistic(size=200) > 0.0, 1, -1)
    problem = plain(X, y, mu=1e-3, gamma=50.0)
    truth = ss.solve(problem)
    assert truth.support.size == 12
    starved(monkeypatch, 4)
    path = tmp_path / "proof.npz"
    found = ss.solve(problem, node_limit=500, screening="none", proof=path)
    assert found.lower_bound <= truth.objective
    assert truth.lower_bound <= found.objective
    assert ss.verify(path, X, y).valid
