"""Every branch of the search on problems so small that brute force knows the answer, and a proof is checked as well.

They are quick even if the kernels are interpreted, so that a coverage report sees the lines of the kernels.
"""

from __future__ import annotations

import signal
import sys

import numpy as np
import pytest
from scipy import sparse

import safescreen as ss
from problems import plain
from safescreen.design import Design
from safescreen.incumbents import polish
from safescreen.search import workers
from safescreen.search.improving import Improver
from safescreen.search.workers import Worker
from safescreen.testing.reference import brute_force
from safescreen.tuning import LATE_OUTWARD_GAP

pytestmark = pytest.mark.interpreted


def weak_data(m: int = 24, n: int = 9, seed: int = 0, correlation: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
    """Weak, correlated signal: under a weak ridge a tree of some dozen nodes."""
    rng = np.random.default_rng([seed, m, n])
    X = rng.standard_normal((m, n)) + correlation * rng.standard_normal((m, 1))
    y = np.where(X[:, :3].sum(axis=1) - X[:, 3:5].sum(axis=1) + 2.0 * rng.logistic(size=m) > 0.0, 1, -1)
    return X, y


def check(tmp_path, X, y, options=None, **terms) -> ss.Solution:
    """Solve, compare with brute force, and check the proof."""
    problem = plain(X, y, gamma=terms.pop("gamma", 50.0), **terms)
    path = tmp_path / "proof.npz"
    solution = ss.solve(problem, rel_gap=1e-6, proof=path, **(options or {}))
    truth = brute_force(problem)
    assert solution.status == "optimal"
    assert solution.objective == pytest.approx(truth.value, rel=1.1e-6)
    assert solution.lower_bound <= truth.value * (1.0 + 1e-13)
    checked = ss.verify(path, X, y)
    assert checked.valid, checked.reason
    wide = 1.0 - solution.trace[0].lower_bound / solution.trace[0].upper_bound > LATE_OUTWARD_GAP
    assert checked.nodes >= solution.nodes or wide  # a search with a wide gap may begin again, and proves its last tree
    return solution


def set_allowance(monkeypatch, allowance: int) -> None:
    """How much is done between two looks at the search."""
    for module in ("tree_search", "improving"):
        monkeypatch.setattr(f"safescreen.search.{module}.ALLOWANCE", allowance)


TERMS = {"price": {"mu": 0.02}, "budget": {"k": 3}, "both": {"mu": 0.004, "k": 4}}


@pytest.mark.parametrize("screening", ["none", "root", "nodes"])
@pytest.mark.parametrize("terms", TERMS)
def test_terms_and_screening(terms, screening, tmp_path):
    solution = check(tmp_path, *weak_data(), {"screening": screening}, **TERMS[terms])
    assert solution.nodes > 0
    assert (solution.screening is None) == (screening == "none")


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("terms", TERMS)
def test_intercept_standardisation_and_decided_features(terms, stored, tmp_path):
    X, y = weak_data(30, 9, 1)
    X[np.abs(X) < 0.4] = 0.0
    X[:, 8] = 1.0
    options = {"fit_intercept": True, "standardize": True, "include": [5], "exclude": [0]}
    check(tmp_path, stored(X), y, **TERMS[terms], **options)


def test_sample_weights(tmp_path):
    X, y = weak_data(30, 8, 2)
    check(tmp_path, X, y, k=3, sample_weight=np.arange(30) % 4, fit_intercept=True)


@pytest.mark.parametrize("seed", range(3))
def test_badly_scaled_columns(seed, tmp_path):
    """Nodes that need exact Hessians, and columns that are summed exactly."""
    X, y = weak_data(30, 6, seed)
    X = X * 10.0 ** np.linspace(-5.0, 5.0, 6)
    check(tmp_path, X, y, k=3, gamma=1e3)


def test_nearly_separable_classes(tmp_path):
    X, _ = weak_data(20, 6, 3)
    check(tmp_path, X, np.where(X[:, :2].sum(axis=1) > 0.0, 1, -1), k=2, gamma=1e5)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("standardize", [False, True])
def test_columns_held_sparse(monkeypatch, standardize, n_threads, tmp_path):
    X, y = weak_data(40, 10, 4, 0.0)
    X[np.random.default_rng(0).random(X.shape) < 0.7] = 0.0
    monkeypatch.setattr("safescreen.design.base.DENSE_BYTES", 1)
    monkeypatch.setattr("safescreen.search.workers.HOT_FEATURES", 2)
    options = {"n_threads": n_threads, "screening": "none"}
    check(tmp_path, sparse.csc_array(X), y, options, k=3, standardize=standardize)


@pytest.mark.parametrize("spare", [1, 3])
def test_hardly_any_room_for_dense_copies(monkeypatch, spare, tmp_path):
    """Sparse columns share few dense slots, and give them back."""
    plenty = Design.search_columns

    def starved(self, indices, urgency, slots):
        columns = plenty(self, indices, 0 * urgency, slots)
        return columns._replace(dense=columns.dense[: spare + 4].copy())

    X, y = weak_data(40, 12, 4, 0.0)
    X[np.random.default_rng(0).random(X.shape) < 0.7] = 0.0
    monkeypatch.setattr("safescreen.design.base.DENSE_BYTES", 1)
    monkeypatch.setattr("safescreen.search.workers.HOT_FEATURES", 2)
    monkeypatch.setattr(Design, "search_columns", starved)
    problem = plain(sparse.csc_array(X), y, k=3, gamma=50.0)
    path = tmp_path / "proof.npz"
    solution = ss.solve(problem, rel_gap=1e-6, node_limit=150, proof=path, screening="none")
    truth = brute_force(problem).value
    assert solution.status in ("optimal", "node_limit")
    assert solution.lower_bound <= truth * (1.0 + 1e-13)
    assert truth * (1.0 - 1e-13) <= solution.objective
    assert ss.verify(path, X, y).valid


@pytest.mark.parametrize("n_threads", [1, 2])
def test_little_room_for_nodes_and_their_log(monkeypatch, n_threads, tmp_path):
    monkeypatch.setattr("safescreen.search.workers.NODE_SLOTS", 4)
    monkeypatch.setattr("safescreen.search.workers.LOGGED_NODES", 4)
    monkeypatch.setattr("safescreen.search.proof_writer.PROOF_PIECE_BYTES", 256)
    monkeypatch.setattr("safescreen.search.proof_writer._PLACES", 2)
    set_allowance(monkeypatch, 30_000)
    check(tmp_path, *weak_data(24, 10), {"n_threads": n_threads, "screening": "none"}, k=4, gamma=200.0)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_no_memory_for_open_nodes(monkeypatch, n_threads, tmp_path):
    """Depth comes first, and the answer stays the same."""
    usual = workers.shared_out
    monkeypatch.setattr(workers, "shared_out", lambda *sizes: usual(*sizes)._replace(most_open=2))
    set_allowance(monkeypatch, 20_000)
    check(tmp_path, *weak_data(24, 10), {"n_threads": n_threads, "screening": "none"}, k=4, gamma=200.0)


def test_idle_workers_get_nodes_of_the_busiest(monkeypatch, tmp_path):
    monkeypatch.setattr("safescreen.search.threads.ALONE_SECONDS", 0.0)
    set_allowance(monkeypatch, 20_000)
    split = []
    original = Worker.split_with

    def split_with(worker, idle, *share):
        split.append((worker.waiting, idle.waiting))
        original(worker, idle, *share)

    monkeypatch.setattr(Worker, "split_with", split_with)
    for _ in range(20):  # whether a thread is quick enough to run dry depends on the moment
        check(tmp_path, *weak_data(200, 12, 1), {"n_threads": 2, "screening": "none"}, k=6, gamma=1e4)
        if split:
            break
    assert split
    assert all(busy >= 2 and idle == 0 for busy, idle in split)


def test_local_searches_on_the_way(monkeypatch, tmp_path):
    """A long search looks next door and starts again from perturbed models; here every search is long."""
    for name, value in {"LONG_SEARCH_NODES": 2, "LOCAL_SEARCH_NODES": 2, "PERTURBATION_GAP": 1e-4}.items():
        monkeypatch.setattr(f"safescreen.search.improving.{name}", value)
    monkeypatch.setattr("safescreen.search.improving.FIRST_PERTURBATION", 0)
    set_allowance(monkeypatch, 50_000)
    used = []
    for name in ("next_door", "perturbed"):
        original = getattr(Improver, name)
        monkeypatch.setattr(
            Improver, name, lambda *args, name=name, original=original: used.append(name) or original(*args)
        )
    check(tmp_path, *weak_data(24, 10), {"screening": "none"}, k=4, gamma=200.0)
    assert set(used) == {"next_door", "perturbed"}


@pytest.mark.parametrize("local_search", [True, False])
@pytest.mark.parametrize("gamma", [2.0, 200.0])
def test_a_poor_first_model(monkeypatch, gamma, local_search, tmp_path):
    """The search finds better ones by itself; against them the root proves more than it did at first."""
    X, y = weak_data(24, 9)
    poor = ss.solve(plain(X, y, k=4, gamma=gamma, exclude=range(4)), node_limit=0)
    if not local_search:
        monkeypatch.setattr("safescreen.search.improving.improve", lambda problem, model, *args, **options: model)
    original = polish
    monkeypatch.setattr(
        "safescreen.search.solving.first_incumbent",
        lambda problem, root, expired: original(problem, poor.support, poor.coef, 0.0),
    )
    solution = check(tmp_path, X, y, k=4, gamma=gamma)
    assert solution.trace[0].upper_bound > solution.objective


@pytest.mark.parametrize("options", [{"node_limit": 0}, {"node_limit": 3}, {"time_limit": 0.0}])
def test_limits(options, tmp_path):
    X, y = weak_data()
    path = tmp_path / "proof.npz"
    problem = plain(X, y, k=4, gamma=200.0)
    solution = ss.solve(problem, rel_gap=1e-9, proof=path, **options)
    assert solution.status == next(iter(options))
    assert solution.lower_bound <= brute_force(problem).value * (1.0 + 1e-13)
    checked = ss.verify(path, X, y)
    assert checked.valid
    assert checked.gap == pytest.approx(solution.gap, rel=1e-9)


def test_more_than_can_be_asked_of_floating_point_numbers():
    X, y = weak_data(24, 7)
    solution = ss.solve(plain(X, y, k=3, gamma=200.0), rel_gap=0.0)
    assert solution.status in ("optimal", "numerical_limit")
    assert solution.gap < 1e-9


def test_warm_start_is_as_good_as_what_it_starts_from():
    X, y = weak_data()
    problem = plain(X, y, k=4, gamma=200.0, include=[2], exclude=[7])
    best = ss.solve(problem, rel_gap=1e-6)
    assert ss.solve(problem, node_limit=0, warm_start=best).objective <= best.objective * (1.0 + 1e-12)
    assert ss.solve(problem, node_limit=0, warm_start=best.coef).objective <= best.objective * (1.0 + 1e-12)


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C reaches a process by other ways there")
def test_interrupts_and_callbacks(tmp_path, keyboard):
    X, y = weak_data()
    problem = plain(X, y, k=4, gamma=200.0)
    path = tmp_path / "proof.npz"
    asked = ss.solve(problem, proof=path, callback=lambda moment: True)
    assert asked.status == "interrupted"
    assert ss.verify(path, X, y).valid
    pressed = ss.solve(problem, callback=lambda moment: signal.raise_signal(signal.SIGINT))
    assert pressed.status == "interrupted"

    def impatient(moment):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        ss.solve(problem, callback=impatient, proof=tmp_path / "none.npz")
    assert [file.name for file in tmp_path.iterdir()] == ["proof.npz"]


def test_screening_before_any_search():
    X, y = weak_data(60, 8, 5, 0.0)
    problem = plain(X, y, k=3, gamma=2.0)
    truth = brute_force(problem)
    for upper_bound in (None, truth.value * (1.0 + 1e-9)):
        screening = ss.screen(problem, upper_bound=upper_bound)
        assert screening.excluded.size
        assert not np.isin(screening.excluded, truth.supports[0]).any()
        assert np.isin(screening.included, truth.supports[0]).all()
    with pytest.raises(ValueError, match=r"upper_bound is 0\.0, but every model has an objective of at least"):
        ss.screen(problem, upper_bound=0.0)
