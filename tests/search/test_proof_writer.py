"""Writing proofs: every kind of problem, any stopping point, threads, and files that are complete or not there."""

import json
import zipfile

import numpy as np
import pytest
from scipy import sparse

import safescreen as ss
from problems import plain
from safescreen.testing.hard_problems import hard_problem


@pytest.fixture(scope="module")
def data():
    X, y, _ = ss.datasets.make_sparse_logistic(80, 60, 8, 2.0, rho=0.4, random_state=3)
    return X, y


@pytest.fixture(scope="module")
def noise():
    """Weak signal: a tree of some thousand nodes."""
    X, y, _ = ss.datasets.make_sparse_logistic(100, 60, 8, 0.3, random_state=3)
    return X, y


def header(path):
    with np.load(path, allow_pickle=False) as proof:
        return json.loads(bytes(proof["header"]))


def members(path):
    with np.load(path, allow_pickle=False) as proof:
        return set(proof.files)


KINDS = {
    "price": {"mu": 0.01, "gamma": 20.0},
    "budget": {"k": 4, "gamma": 20.0},
    "both": {"mu": 0.005, "k": 5, "gamma": 20.0},
    "intercept": {"k": 4, "gamma": 20.0, "fit_intercept": True},
    "standardised": {"mu": 0.01, "gamma": 20.0, "standardize": True},
    "everything": {"mu": 0.003, "k": 5, "gamma": 20.0, "standardize": True, "fit_intercept": True,
                   "include": [7], "exclude": [0, 9]},
}  # fmt: skip


@pytest.mark.parametrize("form", ["dense", "sparse", "float32"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_problem_has_a_proof(tmp_path, data, kind, weighted, form):
    X, y = data
    X = np.where(np.abs(X) > 0.7, X, 0.0)
    X[:, 5] = X[0, 5]
    stored = {"dense": X, "sparse": sparse.csr_array(X), "float32": X.astype(np.float32)}[form]
    weights = np.random.default_rng(0).integers(0, 4, y.size) if weighted else None
    problem = plain(stored, y, sample_weight=weights, **KINDS[kind])
    solution = ss.solve(problem, rel_gap=1e-6, proof=tmp_path / "proof.npz")
    check = ss.verify(tmp_path / "proof.npz", stored, y)
    assert check.valid, check.reason
    assert check.nodes >= solution.nodes  # nodes given up unexplored are in the proof as well
    assert check.objective == pytest.approx(solution.objective, rel=1e-12)
    assert check.lower_bound == pytest.approx(solution.lower_bound, rel=1e-9)
    assert solution.lower_bound * (1.0 - 1e-12) <= check.lower_bound
    assert solution.lower_bound <= check.enclosure[1]


@pytest.mark.parametrize("screening", ["none", "root", "nodes"])
@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_threads_and_screening_modes(tmp_path, noise, screening, n_threads):
    X, y = noise
    problem = plain(X, y, k=5, gamma=50.0)
    solution = ss.solve(problem, rel_gap=1e-4, screening=screening, n_threads=n_threads, proof=tmp_path / "proof.npz")
    check = ss.verify(tmp_path / "proof.npz", X, y)
    assert check.valid, check.reason
    assert solution.nodes > 100
    assert check.gap <= 1e-4


@pytest.mark.parametrize("limit", [{"node_limit": n} for n in (0, 1, 2, 7, 50)] + [{"time_limit": 0.0}])
def test_a_search_that_ends_early_proves_the_gap_it_reached(tmp_path, data, limit):
    X, y = data
    problem = plain(X, y, k=6, gamma=100.0)
    solution = ss.solve(problem, proof=tmp_path / "proof.npz", **limit)
    check = ss.verify(tmp_path / "proof.npz", X, y)
    assert solution.status != "optimal"
    assert check.valid, check.reason
    assert check.gap == pytest.approx(solution.gap, rel=1e-9)


def test_a_callback_that_ends_the_search_leaves_a_proof(tmp_path, noise):
    X, y = noise
    problem = plain(X, y, k=5, gamma=50.0)
    ss.solve(problem, proof=tmp_path / "proof.npz", callback=lambda moment: True)
    check = ss.verify(tmp_path / "proof.npz", X, y)
    assert check.valid, check.reason
    assert check.claims["status"] == "interrupted"


def test_an_error_leaves_no_file_behind(tmp_path, data):
    X, y = data

    def fail(moment):
        raise RuntimeError("out of luck")

    with pytest.raises(RuntimeError, match="out of luck"):
        ss.solve(
            plain(X, y, k=6, gamma=100.0),
            proof=tmp_path / "proof.npz",
            callback=fail,
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("owner", "failing"), [(np.lib.format, "write_array"), (zipfile.ZipFile, "_write_end_record")])
def test_a_full_disk_leaves_no_file_behind(owner, failing, tmp_path, data, monkeypatch):
    """Whether it is full in the middle of an array or while the archive is closed."""
    X, y = data

    def fail(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(owner, failing, fail)
    with pytest.warns(ss.ProofNotWrittenWarning, match="no space left"):
        ss.solve(
            plain(X, y, k=6, gamma=100.0),
            proof=tmp_path / "proof.npz",
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.interpreted
@pytest.mark.parametrize("name", ["", "absent/proof.npz", "folder", "folder/"])
def test_a_proof_needs_a_file_name_in_a_folder(name, tmp_path, data):
    X, y = data
    (tmp_path / "folder").mkdir()
    with pytest.raises(ValueError, match=r"proof is .* must name a file in a folder that exists"):
        ss.solve(plain(X, y, k=2), proof=f"{tmp_path}/{name}")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.interpreted
@pytest.mark.parametrize(("seed", "status"), [(2006702, "numerical_limit"), (318789, "optimal")])
def test_a_proof_claims_what_ordinary_sums_confirm(seed, status, tmp_path):
    """The solver sums badly scaled columns exactly, a checker does not: a proof may claim less, but no false gap."""
    hard, path = hard_problem(seed), tmp_path / "proof.npz"
    solution = ss.solve(hard.problem(), rel_gap=1e-9, proof=path)
    check = ss.verify(path, hard.kwargs["X"], hard.kwargs["y"])
    assert solution.status == "optimal"
    assert solution.root.sharp
    assert check.valid
    assert check.claims["status"] == status
    assert (check.gap <= 2e-9) == (status == "optimal")
    assert check.claims["lower_bound"] <= check.lower_bound + 1e-9 * check.objective


def test_an_older_proof_survives_a_failure(tmp_path, data):
    X, y = data
    path = tmp_path / "proof.npz"
    path.write_bytes(b"older")
    with pytest.raises(ZeroDivisionError):
        ss.solve(
            plain(X, y, k=6, gamma=100.0),
            proof=path,
            callback=lambda moment: 1 / 0,
        )
    assert path.read_bytes() == b"older"
    assert [file.name for file in tmp_path.iterdir()] == ["proof.npz"]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_the_tree_is_written_in_pieces(tmp_path, noise, monkeypatch, n_threads):
    monkeypatch.setattr("safescreen.search.proof_writer.PROOF_PIECE_BYTES", 1 << 10)
    monkeypatch.setattr("safescreen.search.workers.LOGGED_NODES", 16)
    X, y = noise
    path = tmp_path / "proof.npz"
    ss.solve(plain(X, y, k=5, gamma=50.0), proof=path, n_threads=n_threads)
    assert header(path)["chunks"] > 10
    check = ss.verify(path, X, y)
    assert check.valid, check.reason


def test_one_thread_writes_the_same_proof_every_time(tmp_path, noise):
    X, y = noise
    for name in "ab":
        ss.solve(
            plain(X, y, k=5, gamma=50.0),
            proof=tmp_path / f"{name}.npz",
        )
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_the_proof_is_the_same_for_any_layout_of_the_same_numbers(tmp_path, data):
    X, y = data
    X = X.astype(np.float32)
    prints = set()
    for variant in (X, np.asfortranarray(X), X.astype(np.float64), X[::-1][::-1]):
        ss.solve(plain(variant, y, k=2), proof=tmp_path / "proof.npz")
        prints.add(header(tmp_path / "proof.npz")["fingerprint"]["matrix"])
    assert len(prints) == 1


def test_a_proof_can_be_checked_with_the_other_storage(tmp_path, data):
    X, y = data
    X = np.where(np.abs(X) > 1.0, X, 0.0)
    for stored, other in ((X, sparse.csc_array(X)), (sparse.csr_array(X), X)):
        ss.solve(ss.Problem(stored, y, k=3, standardize=True, fit_intercept=False), proof=tmp_path / "proof.npz")
        assert ss.verify(tmp_path / "proof.npz", other, y).valid


def test_members_that_say_nothing_are_left_out(tmp_path, data):
    X, y = data
    ss.solve(plain(X, y, k=3), proof=tmp_path / "proof.npz")
    assert not members(tmp_path / "proof.npz") & {"include", "exclude", "constant", "weights", "means", "scales"}


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (False, True), (2.5, -1.0)])
def test_any_two_labels(tmp_path, data, labels):
    X, y = data
    named = np.array(labels)[(y > 0).astype(int)]
    ss.solve(plain(X, named, k=3), proof=tmp_path / "proof.npz")
    assert ss.verify(tmp_path / "proof.npz", X, named).valid
    assert ss.verify(tmp_path / "proof.npz", X, list(named)).valid
    assert not ss.verify(tmp_path / "proof.npz", X, np.array(labels[::-1])[(y > 0).astype(int)]).valid
