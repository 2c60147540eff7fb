"""A search that is stopped and goes on: nothing is lost or wrong, and no other file is taken for a checkpoint."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import signal
import sys
import threading
import warnings
import zipfile
from itertools import pairwise
from pathlib import Path
from time import sleep

import numpy as np
import pytest
from scipy import sparse

import safescreen as ss
from problems import plain, synthetic
from safescreen.design.dense import DenseDesign
from safescreen.expiry import look_up
from safescreen.problem import Problem
from safescreen.search import checkpoint as checkpoint_files
from safescreen.search import keeping, saved
from safescreen.search.saved import ARRAYS
from safescreen.search.threads import Threads
from safescreen.testing.hard_problems import ACCURACY, NOTHING, REL_GAP, ROUNDING, hard_problem
from safescreen.testing.reference import brute_force

KINDS = {
    "price": {"mu": 0.012, "gamma": 60.0},
    "budget": {"k": 6, "gamma": 200.0},
    "both": {"mu": 0.004, "k": 5, "gamma": 60.0},
    "everything": {"mu": 0.002, "k": 5, "gamma": 300.0, "standardize": True, "fit_intercept": True,
                   "include": [7], "exclude": [0, 9]},
}  # fmt: skip


@pytest.fixture(scope="module")
def data():
    """Weak signal: a tree of some hundred nodes."""
    X, y, _ = ss.datasets.make_sparse_logistic(100, 40, 8, 0.3, random_state=3)
    return np.where(np.abs(X) > 0.4, X, 0.0), y


def finished(problem: Problem, path: Path, step: int = 50, **options) -> tuple[ss.Solution, list[ss.Solution]]:
    """Solve in runs of so many nodes each; the last solution, and all before it."""
    runs = []
    while not runs or runs[-1].status == "node_limit":
        runs.append(ss.solve(problem, node_limit=step, checkpoint=path, resume=True, **options))
    return runs[-1], runs[:-1]


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("proved", [False, True])
def test_many_runs_come_to_what_one_does(tmp_path, data, kind, form, n_threads, proved):
    X, y = data
    stored = X if form == "dense" else sparse.csr_array(X)
    problem = plain(stored, y, **KINDS[kind])
    proof = tmp_path / "proof.npz" if proved else None
    whole = ss.solve(problem)
    last, runs = finished(problem, tmp_path / "run.npz", n_threads=n_threads, proof=proof)
    assert whole.nodes > 60
    assert runs
    assert last.status == "optimal"
    assert last.gap <= 1e-4
    assert last.objective == pytest.approx(whole.objective, rel=1e-4)
    assert [run.nodes for run in runs] == [50 * (i + 1) for i in range(len(runs))]
    assert all(a.lower_bound <= b.lower_bound for a, b in pairwise(runs))
    assert all(a.objective >= b.objective for a, b in pairwise(runs))
    assert [point.nodes for point in last.trace] == sorted(point.nodes for point in last.trace)
    assert [point.seconds for point in last.trace] == sorted(point.seconds for point in last.trace)
    if proved:
        check = ss.verify(proof, stored, y)
        assert check.valid, check.reason
        assert check.nodes >= last.nodes
        assert check.lower_bound == pytest.approx(last.lower_bound, rel=1e-6)
        assert check.lower_bound >= last.lower_bound * (1.0 - 1e-12)


@pytest.mark.parametrize("limit", [{"time_limit": 0.0}, {"node_limit": 0}, {"node_limit": 20}])
def test_every_run_leaves_a_proof_of_its_gap(tmp_path, data, limit):
    """Also one that ends before it has begun."""
    X, y = data
    problem = plain(X, y, **KINDS["both"])
    path, proof = tmp_path / "run.npz", tmp_path / "proof.npz"
    first = ss.solve(problem, node_limit=60, checkpoint=path, proof=proof)
    for _ in range(3):
        solution = ss.solve(problem, checkpoint=path, resume=True, proof=proof, **limit)
        check = ss.verify(proof, X, y)
        assert check.valid, check.reason
        assert check.lower_bound == pytest.approx(solution.lower_bound, rel=1e-12)
        assert solution.lower_bound >= first.lower_bound
    assert ss.solve(problem, checkpoint=path, resume=True, proof=proof).status == "optimal"
    assert ss.verify(proof, X, y).gap <= 1e-4


@pytest.mark.parametrize("seed", range(24))
def test_brute_force_agrees(tmp_path, seed):
    """On hard small problems, resumed after every node or every few."""
    hard = hard_problem(seed)
    problem = hard.problem()
    best = brute_force(problem)
    whole = ss.solve(problem, rel_gap=REL_GAP)
    last, _ = finished(problem, tmp_path / "run.npz", step=1 + seed % 3, rel_gap=REL_GAP, proof=tmp_path / "proof.npz")
    assert last.lower_bound <= best.value * (1.0 + ROUNDING)
    assert -ROUNDING * best.value <= last.objective - best.value <= ACCURACY * best.value + NOTHING
    assert last.status == whole.status
    check = ss.verify(tmp_path / "proof.npz", hard.kwargs["X"], hard.kwargs["y"])
    assert check.valid, check.reason
    assert check.lower_bound <= best.value * (1.0 + ROUNDING)


def test_threads_and_gap_may_change(tmp_path, data):
    problem, path = plain(*data, **KINDS["budget"]), tmp_path / "run.npz"
    ss.solve(problem, rel_gap=1e-5, node_limit=60, n_threads=2, checkpoint=path)
    ss.solve(problem, rel_gap=1e-5, node_limit=60, checkpoint=path, resume=True, memory_limit=0.1)
    solution = ss.solve(problem, rel_gap=1e-2, n_threads=3, checkpoint=path, resume=True)
    assert solution.status == "optimal"
    assert solution.nodes >= 120
    with pytest.raises(ValueError, match=r"pruned at rel_gap=0\.01 there"):
        ss.solve(problem, rel_gap=1e-5, checkpoint=path, resume=True)


def test_what_is_finished_is_there_at_once(tmp_path, data):
    X, y = data
    problem, path, proof = plain(X, y, **KINDS["budget"]), tmp_path / "run.npz", tmp_path / "proof.npz"
    first = ss.solve(problem, checkpoint=path, proof=proof)
    proof.unlink()
    again = ss.solve(problem, checkpoint=path, resume=True, proof=proof)
    assert (again.objective, again.lower_bound, again.nodes) == (first.objective, first.lower_bound, first.nodes)
    np.testing.assert_array_equal(again.coef, first.coef)
    assert ss.verify(proof, X, y).valid
    assert again.seconds >= first.trace[-1].seconds


def test_a_problem_that_the_root_solves(tmp_path):
    X, y, _ = ss.datasets.make_sparse_logistic(200, 30, 3, 2.0, random_state=0)
    problem, path, proof = ss.Problem(X, y, k=3, gamma=0.01), tmp_path / "run.npz", tmp_path / "proof.npz"
    first = ss.solve(problem, checkpoint=path)
    assert first.nodes == 0
    again = ss.solve(problem, checkpoint=path, resume=True, proof=proof)
    assert (again.objective, again.status) == (first.objective, "optimal")
    assert ss.verify(proof, X, y).valid


def test_without_a_file_the_search_begins(tmp_path, data):
    problem, path = plain(*data, **KINDS["budget"]), tmp_path / "run.npz"
    assert ss.solve(problem, checkpoint=path, resume=True).status == "optimal"
    assert path.exists()


def test_without_resume_the_file_is_replaced(tmp_path, data):
    problem, path = plain(*data, **KINDS["budget"]), tmp_path / "run.npz"
    path.write_bytes(b"something else")
    assert ss.solve(problem, checkpoint=path, node_limit=50).nodes == 50
    assert ss.solve(problem, checkpoint=path, node_limit=50).nodes == 50
    assert ss.solve(problem, checkpoint=path, node_limit=50, resume=True).nodes == 100


def test_a_run_that_has_no_tree_yet_leaves_an_earlier_file_alone(tmp_path, data):
    problem, path = plain(*data, **KINDS["budget"]), tmp_path / "run.npz"
    path.write_bytes(b"something else")
    ss.solve(problem, checkpoint=path, time_limit=0.0)
    assert path.read_bytes() == b"something else"


def test_limits_count_for_a_run_and_seconds_for_all(tmp_path, data):
    problem, path = plain(*data, **KINDS["budget"]), tmp_path / "run.npz"
    first = ss.solve(problem, checkpoint=path, node_limit=60)
    state = read(path)
    state[0]["numbers"]["seconds"] = 1000.0
    write(path, *state)
    second = ss.solve(problem, checkpoint=path, node_limit=60, time_limit=500.0, resume=True)
    assert (first.nodes, second.nodes) == (60, 120)
    assert 1000.0 <= second.seconds < 1100.0
    assert second.trace[: len(first.trace) - 1] == first.trace[:-1]


def test_checkpoints_in_the_middle_change_nothing(tmp_path, data, monkeypatch):
    """With one thread the path is the same, however often it is kept."""
    X, y = data
    problem, written = plain(X, y, **KINDS["budget"]), []
    write = keeping.write_checkpoint
    monkeypatch.setattr(keeping, "write_checkpoint", lambda *args: (written.append(1), write(*args)))
    monkeypatch.setattr(keeping, "LARGEST_SHARE", 1.0)
    monkeypatch.setattr("safescreen.search.tree_search.ALLOWANCE", 3 * 10**6)
    expected = ss.solve(problem)
    assert problem.fingerprint["matrix"]  # else there is no checkpoint before it is hashed
    kept = ss.solve(problem, checkpoint=tmp_path / "run.npz", checkpoint_every=1e-9, proof=tmp_path / "proof.npz")
    assert len(written) > 5
    assert (kept.objective, kept.lower_bound, kept.nodes) == (expected.objective, expected.lower_bound, expected.nodes)
    assert ss.verify(tmp_path / "proof.npz", X, y).valid


@pytest.mark.parametrize("n_threads", [1, 2])
def test_any_checkpoint_leads_to_the_end(tmp_path, data, monkeypatch, n_threads):
    """As if the process had been killed right after it."""
    X, y = data
    problem, copies = plain(X, y, **KINDS["budget"]), []
    assert problem.fingerprint["matrix"]  # else there is no checkpoint before it is hashed
    write, explore = keeping.write_checkpoint, Threads.explore

    def explore_little(crew, upper, orders):
        explore(crew, upper, orders._replace(node_limit=crew.nodes + 20))

    monkeypatch.setattr(Threads, "explore", explore_little)

    def copied(path, *args):
        write(path, *args)
        copies.append(Path(path).read_bytes())

    monkeypatch.setattr(keeping, "write_checkpoint", copied)
    monkeypatch.setattr(keeping, "LARGEST_SHARE", 1.0)
    monkeypatch.setattr("safescreen.search.tree_search.ALLOWANCE", 3 * 10**6)
    path, proof = tmp_path / "run.npz", tmp_path / "proof.npz"
    whole = ss.solve(problem, checkpoint=path, checkpoint_every=1e-9, proof=proof, n_threads=n_threads)
    assert len(copies) > 3
    for content in copies[:: max(len(copies) // 8, 1)]:
        path.write_bytes(content)
        solution = ss.solve(problem, checkpoint=path, resume=True, proof=proof, n_threads=n_threads)
        assert solution.status == "optimal"
        assert solution.objective == pytest.approx(whole.objective, rel=1e-4)
        check = ss.verify(proof, X, y)
        assert check.valid, check.reason
        assert check.gap <= 1e-4


def test_a_warm_start_counts(tmp_path, data):
    problem, path = plain(*data, **KINDS["budget"]), tmp_path / "run.npz"
    best = ss.solve(problem)
    ss.solve(problem, checkpoint=path, node_limit=10)
    again = ss.solve(problem, checkpoint=path, node_limit=0, resume=True, warm_start=best)
    assert again.objective <= best.objective * (1.0 + 1e-12)


def by_keyboard(test):
    """About Ctrl-C, which reaches a process by other ways on Windows."""
    elsewhere = pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
    return elsewhere(pytest.mark.usefixtures("keyboard")(test))


class Press:
    """A callback that presses Ctrl-C once there is a tree."""

    pressed = False

    def __call__(self, moment):
        if moment.nodes and not self.pressed:
            self.pressed = True
            signal.raise_signal(signal.SIGINT)


@by_keyboard
def test_ctrl_c_leaves_a_checkpoint(tmp_path, endless):
    path = tmp_path / "run.npz"
    first = ss.solve(endless, checkpoint=path, callback=Press())
    assert first.status == "interrupted"
    assert first.nodes > 0
    again = ss.solve(endless, checkpoint=path, resume=True, node_limit=0)
    assert again.nodes == first.nodes
    assert again.lower_bound >= first.lower_bound * (1.0 - 1e-12)


@by_keyboard
def test_ctrl_c_while_a_checkpoint_is_looked_at(tmp_path, small, kept, monkeypatch):
    """Nothing is there to be returned, and nothing is lost."""
    path = tmp_path / "run.npz"
    path.write_bytes(kept)
    problem = ss.Problem(small.design.matrix, small.y, k=4, gamma=80.0)
    monkeypatch.setattr(DenseDesign, "_canonical_parts", endless_parts)
    timer = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ss.solve(problem, checkpoint=path, resume=True, rel_gap=1e-6)
    assert path.read_bytes() == kept


def endless_parts(design):
    while True:
        look_up()
        sleep(0.01)
        yield np.zeros(1)


def test_columns_standardised_a_hair_otherwise(tmp_path, data):
    """Other threads add in another order: bounds are lowered by what that may change, no more."""
    problem, path = ss.Problem(*data, k=5, gamma=50.0), tmp_path / "run.npz"
    first = ss.solve(problem, checkpoint=path, node_limit=100)
    header, arrays = read(path)
    arrays["scales"] = arrays["scales"] * (1.0 + 1e-12)
    write(path, header, arrays)
    again = ss.solve(problem, checkpoint=path, node_limit=0, resume=True)
    assert first.lower_bound * (1.0 - 4e-12) <= again.lower_bound < first.lower_bound
    arrays["scales"] = arrays["scales"] * (1.0 + 1e-6)
    write(path, header, arrays)
    with pytest.raises(ValueError, match="scaled otherwise"):
        ss.solve(problem, checkpoint=path, resume=True)


# -- files that are refused ----------------------------------------------------------------------------------


def read(path: Path) -> tuple[dict, dict[str, np.ndarray]]:
    """Header and arrays of a checkpoint."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files if name not in ("header", "digest")}
        return json.loads(bytes(file["header"])), arrays


def write(path: Path, header: dict, arrays: dict[str, np.ndarray], *, sealed: bool = True) -> None:
    """The same as somebody would write it who knows how, digests included; or one who does not."""
    with zipfile.ZipFile(path, "w") as file:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, np.ascontiguousarray(array), allow_pickle=False)
            file.writestr(f"{name}.npy", content.getvalue())
            if sealed:
                header["digests"][name] = hashlib.sha256(content.getvalue()).hexdigest()
        if sealed:
            header["digests"] = {name: value for name, value in header["digests"].items() if name in arrays}
        text = json.dumps(header).encode()
        for name, part in {"header": text, "digest": hashlib.sha256(text).digest()}.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, np.frombuffer(part, np.uint8))
            file.writestr(f"{name}.npy", content.getvalue())


@pytest.fixture(scope="module")
def small():
    X, y, _ = ss.datasets.make_sparse_logistic(40, 18, 4, 0.3, random_state=2)
    return plain(X, y, k=4, gamma=80.0, standardize=True, fit_intercept=True)


@pytest.fixture(scope="module")
def kept(small, tmp_path_factory):
    """The bytes of a checkpoint in the middle of a search, with the tree of a proof."""
    folder = tmp_path_factory.mktemp("kept")
    solution = ss.solve(small, node_limit=25, checkpoint=folder / "run.npz", proof=folder / "proof.npz", rel_gap=1e-6)
    assert solution.status == "node_limit"
    return (folder / "run.npz").read_bytes()


def resumed(problem: Problem, path: Path, **options) -> ss.Solution:
    return ss.solve(problem, checkpoint=path, resume=True, rel_gap=1e-6, proof=path.with_name("proof.npz"), **options)


def refused(problem: Problem, path: Path, match: str = "", **options) -> None:
    before = path.read_bytes()
    with pytest.raises(
        ValueError, match=rf"^checkpoint is '.*run\.npz', but .*{match}.*: give another file, or begin"
    ) as error:
        resumed(problem, path, **options)
    assert "\n" not in str(error.value)
    assert path.read_bytes() == before  # what is refused may be of use to somebody else
    assert not path.with_name("proof.npz").exists()


def test_another_problem_is_refused(tmp_path, small, kept):
    path = tmp_path / "run.npz"
    path.write_bytes(kept)
    X, y = small.design.matrix, small.y
    terms = {"k": 4, "gamma": 80.0}
    changed = X.copy()
    changed[3, 2] = np.nextafter(changed[3, 2], 9.0)
    weights = np.ones(y.size)
    weights[5] = 2.0
    refused(ss.Problem(changed, y, **terms), path, "another problem .its matrix differs")
    refused(ss.Problem(sparse.csr_array(X), y, **terms), path, "its matrix_form is 'dense', not 'sparse'")
    refused(ss.Problem(X[:, :-1], y, **terms), path, "its n_features is 18, not 17")
    refused(ss.Problem(X, -y, **terms), path, "its labels differ")
    refused(ss.Problem(X, y, sample_weight=weights, **terms), path, "its weights differ")
    refused(ss.Problem(X, y, k=4, gamma=np.nextafter(80.0, 81.0)), path, "its gamma is")
    refused(ss.Problem(X, y, k=5, gamma=80.0), path, "its k is 4, not 5")
    refused(ss.Problem(X, y, mu=1e-9, **terms), path, "its mu is")
    refused(ss.Problem(X, y, include=[3], **terms), path, "its include differ")
    refused(ss.Problem(X, y, exclude=[3], **terms), path, "its exclude differ")
    refused(ss.Problem(X, y, fit_intercept=False, **terms), path, "its fit_intercept is True, not False")
    refused(ss.Problem(X, y, standardize=False, **terms), path, "its standardize is True, not False")
    refused(small, path, "screening='nodes', not 'root'", screening="root")
    assert resumed(small, path).status == "optimal"


def test_a_proof_cannot_be_completed_that_was_not_begun(tmp_path, small):
    path = tmp_path / "run.npz"
    ss.solve(small, checkpoint=path, node_limit=25, rel_gap=1e-6)
    refused(small, path, "without a proof")
    assert ss.solve(small, checkpoint=path, resume=True, rel_gap=1e-6).status == "optimal"


def test_a_run_without_the_proof_drops_it(tmp_path, small, kept):
    path = tmp_path / "run.npz"
    path.write_bytes(kept)
    ss.solve(small, checkpoint=path, resume=True, rel_gap=1e-6, node_limit=5)
    refused(small, path, "without a proof")


def test_truncated_files_are_refused(tmp_path, small, kept):
    path = tmp_path / "run.npz"
    for size in [*range(0, len(kept), 100), len(kept) - 1]:
        path.write_bytes(kept[:size])
        refused(small, path)


def test_random_bytes_are_refused(tmp_path, small, kept):
    rng, path = np.random.default_rng(0), tmp_path / "run.npz"
    for content in (b"", b"PK", b"PK\5\6" + bytes(18), rng.bytes(5000), kept[:2000] + rng.bytes(3000), kept[1000:]):
        path.write_bytes(content)
        refused(small, path)


def test_changed_bytes_are_refused_or_mean_nothing(tmp_path, small, kept):
    """Some bytes of an archive are for show: dates, comments. All others count."""
    rng, path = np.random.default_rng(1), tmp_path / "run.npz"
    harmless = 0
    for place in [*rng.integers(0, len(kept), 300).tolist(), *range(len(kept) - 60, len(kept))]:
        content = bytearray(kept)
        content[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(content)
        try:
            with path.open("rb") as file:
                found = checkpoint_files.CheckpointFile(file)
                chunks = list(found.chunks())
        except Exception:  # the same as in `resumed`
            refused(small, path)
            continue
        harmless += 1
        path.write_bytes(kept)
        with path.open("rb") as file:
            right = checkpoint_files.CheckpointFile(file)
            assert found.header == right.header
            assert all(np.array_equal(found.saved.arrays[name], right.saved.arrays[name]) for name in ARRAYS)
            for one, other in zip(chunks, right.chunks(), strict=True):
                assert all(np.array_equal(one[name], other[name]) for name in one)
    assert harmless < 60


def resumed_or_refused(problem: Problem, path: Path, **options) -> ss.Solution | None:
    """The solution, if the file is not refused in one sentence."""
    try:
        return resumed(problem, path, **options)
    except ValueError as refusal:
        if not str(refusal).startswith("checkpoint is "):
            raise
        return None


def changes(array: np.ndarray) -> list[np.ndarray]:
    """What somebody might put in an array's place."""
    rng = np.random.default_rng(7)
    short, long = array[:-1], np.concatenate([array, array[:1]])
    found = [short, long, np.empty(0, array.dtype), np.frombuffer(rng.bytes(array.nbytes), array.dtype)]
    if array.dtype.names:
        for name in array.dtype.names:
            for value in (-7, 2**31 - 1):
                changed = array.copy()
                changed[name][len(array) // 2] = value
                found.append(changed)
        return found
    found += [array.astype(np.float32 if array.dtype != np.float32 else np.float64), array.reshape(-1, 1)]
    extremes = [np.nan, np.inf, -np.inf, 1e308, -1.0] if array.dtype.kind == "f" else [0, 1, np.iinfo(array.dtype).max]
    extremes += [np.iinfo(array.dtype).min, 18, 255] if array.dtype.kind in "iu" else []
    for value in extremes:
        changed, everywhere = array.copy(), array.copy()
        with np.errstate(over="ignore"):
            changed[len(array) // 2 :][:1] = np.array(value).astype(array.dtype)
            everywhere[:] = np.array(value).astype(array.dtype)
        found += [changed, everywhere]
    return found


MEMBERS = [*ARRAYS, *(f"tree000000_{kind}" for kind in ("nodes", "screened", "feature", "value"))]


@pytest.mark.parametrize("member", MEMBERS)
def test_changed_arrays_are_refused(tmp_path, small, kept, member):
    path = tmp_path / "run.npz"
    path.write_bytes(kept)
    header, arrays = read(path)
    for changed in changes(arrays[member]):
        if changed.dtype == arrays[member].dtype and np.array_equal(changed, arrays[member]):
            continue
        write(path, header, {**arrays, member: changed}, sealed=False)
        refused(small, path)


@pytest.mark.parametrize("member", MEMBERS)
def test_arrays_changed_with_care_bring_nothing_down(tmp_path, small, kept, member):
    """Who writes digests as well can state wrong bounds; but no proof of them holds, and nothing crashes or hangs."""
    path, proof = tmp_path / "run.npz", tmp_path / "proof.npz"
    path.write_bytes(kept)
    header, arrays = read(path)
    best = ss.solve(small, rel_gap=1e-6)
    for changed in changes(arrays[member]):
        write(path, header, {**arrays, member: changed})
        proof.unlink(missing_ok=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # numbers at the end of their range
            solution = resumed_or_refused(small, path, node_limit=3000, time_limit=5.0)
        if solution is None:
            continue
        assert solution.objective == small.objective(solution.coef, solution.intercept)
        check = ss.verify(proof, small.design.matrix, small.y)
        if check.valid:
            assert check.lower_bound <= best.objective * (1.0 + 1e-9)


NUMBERS = [-1, 2**63, 10**400, 1.5, "3", None, True, [], {}, float("nan"), float("inf"), 1e308]


@pytest.mark.parametrize("value", NUMBERS, ids=str)
def test_numbers_changed_with_care_bring_nothing_down(tmp_path, small, kept, value):
    path = tmp_path / "run.npz"
    path.write_bytes(kept)
    header, arrays = read(path)
    for name in header["numbers"]:
        write(path, {**header, "numbers": {**header["numbers"], name: value}}, arrays)
        resumed_or_refused(small, path, node_limit=500, time_limit=5.0)
    path.with_name("proof.npz").unlink(missing_ok=True)
    for name in [name for name, right in header["problem"].items() if right is not value]:
        write(path, {**header, "problem": {**header["problem"], name: value}}, arrays)
        refused(small, path)
    for name in ("format", "version", "problem", "screening", "rel_gap", "numbers"):
        write(path, {**header, name: value}, arrays)
        refused(small, path)


def test_missing_and_unknown_arrays_are_refused(tmp_path, small, kept):
    path = tmp_path / "run.npz"
    path.write_bytes(kept)
    header, arrays = read(path)
    for name in arrays:
        write(path, header, {other: array for other, array in arrays.items() if other != name})
        refused(small, path, "missing or unknown")
    write(path, header, {**arrays, "more": np.zeros(3)})
    refused(small, path, "missing or unknown")


def test_another_version_is_refused(tmp_path, small, kept):
    path = tmp_path / "run.npz"
    path.write_bytes(kept)
    header, arrays = read(path)
    write(path, {**header, "version": 3}, arrays)
    refused(small, path, "version 3, but only 2 is known")


def test_compressed_files_are_refused(tmp_path, small):
    """A small file may expand to any size."""
    path = tmp_path / "run.npz"
    np.savez_compressed(path, header=np.zeros(10**7, np.uint8))
    refused(small, path, "compressed")


def test_a_proof_is_no_checkpoint(tmp_path, small):
    ss.solve(small, proof=tmp_path / "run.npz")
    refused(small, tmp_path / "run.npz")


# -- arguments, disks and keyboards --------------------------------------------------------------------------


@pytest.mark.parametrize("every", [0, -1.0, float("nan"), float("inf"), "60", None, True])
def test_the_interval_is_a_positive_number(tmp_path, small, every):
    with pytest.raises((ValueError, TypeError), match=r"^checkpoint_every is .* but must be a finite number > 0"):
        ss.solve(small, checkpoint=tmp_path / "run.npz", checkpoint_every=every)


@pytest.mark.parametrize("resume", [1, "yes", None])
def test_resume_is_a_flag(tmp_path, small, resume):
    with pytest.raises(TypeError, match=r"^resume is .* but must be True or False"):
        ss.solve(small, checkpoint=tmp_path / "run.npz", resume=resume)


def test_places_that_are_none(tmp_path, small):
    with pytest.raises(ValueError, match=r"^resume is True, but checkpoint is None"):
        ss.solve(small, resume=True)
    with pytest.raises(ValueError, match=r"^checkpoint is .* must name a file"):
        ss.solve(small, checkpoint=tmp_path / "no" / "run.npz")
    with pytest.raises(ValueError, match=r"^checkpoint is .* must name a file"):
        ss.solve(small, checkpoint=tmp_path)
    with pytest.raises(TypeError, match=r"^checkpoint is 3, but must be None or the path"):
        ss.solve(small, checkpoint=3)
    with pytest.raises(ValueError, match=r"^checkpoint is .*, but that is the proof's file"):
        ss.solve(small, checkpoint=tmp_path / "run.npz", proof=tmp_path / "." / "run.npz")


@pytest.mark.parametrize("failing", ["fsync", "write_array"])
def test_a_full_disk_is_told_once_and_costs_nothing(tmp_path, data, monkeypatch, failing):
    problem, path = plain(*data, **KINDS["budget"]), tmp_path / "run.npz"
    ss.solve(problem, checkpoint=path, node_limit=50)
    before = path.read_bytes()

    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(*((os, "fsync") if failing == "fsync" else (np.lib.format, "write_array")), full)
    with pytest.warns(ss.CheckpointNotWrittenWarning, match=r"'.*run\.npz' was not written \(no space left") as told:
        solution = ss.solve(problem, checkpoint=path, checkpoint_every=1e-9, resume=True)
    assert len(told) == 1
    assert solution.status == "optimal"
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@by_keyboard
def test_ctrl_c_does_not_wait_for_the_matrix_to_be_hashed(tmp_path, monkeypatch):
    monkeypatch.setattr(DenseDesign, "_canonical_parts", endless_parts)
    problem, path = synthetic(100, 400, snr=0.5, k=20, gamma=1e4), tmp_path / "run.npz"
    with pytest.warns(ss.CheckpointNotWrittenWarning, match="not hashed yet when time was up"):
        assert ss.solve(problem, checkpoint=path, callback=Press()).nodes > 0
    assert not path.exists()


def test_what_can_be_computed_is_not_believed(tmp_path, data):
    """The model's objective and the root's bound come from the data, not from the file."""
    problem, path = plain(*data, **KINDS["budget"]), tmp_path / "run.npz"
    ss.solve(problem, checkpoint=path, node_limit=10)
    header, arrays = read(path)
    assert not {"objective", "lower_bound"} & set(header["numbers"])
    arrays["coefficient"] = arrays["coefficient"] * 2.0
    write(path, header, arrays)
    solution = ss.solve(problem, checkpoint=path, resume=True, node_limit=0)
    assert solution.objective == problem.objective(solution.coef, solution.intercept)
    assert saved.ARRAYS.keys() == {name for name in arrays if not name.startswith("tree")}
