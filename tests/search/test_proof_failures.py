"""A disk that fails while a proof is written: the solution is kept, one warning says why, and no half file is left."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import threading
import warnings
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest
from typer.testing import CliRunner

import safescreen as ss
from problems import data_of, synthetic
from safescreen import cli, expiry
from safescreen.design.dense import DenseDesign
from safescreen.expiry import look_up
from safescreen.search import claims, proof_writer
from safescreen.search.proof_writer import ProofWriter
from safescreen.verification import arithmetic


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture(scope="module")
def problem() -> ss.Problem:
    return synthetic(60, 30, k=5, gamma=100.0)


def fail_at(monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """Let the disk be full while the tree is written, at the end of the file, or when it gets its name."""
    write = ProofWriter._write
    if moment == "tree":
        monkeypatch.setattr(proof_writer, "PROOF_PIECE_BYTES", 1)
    if moment == "name":
        monkeypatch.setattr(os, "fsync", full_disk)
        return
    start = {"tree": "tree", "header": "header", "last": "root_dual"}[moment]
    fails = lambda self, name, array: full_disk() if name.startswith(start) else write(self, name, array)  # noqa: E731
    monkeypatch.setattr(ProofWriter, "_write", fails)


@pytest.mark.parametrize("moment", ["tree", "header", "last", "name"])
@pytest.mark.parametrize("before", [None, b"an older proof"])
def test_the_solution_is_kept(monkeypatch, tmp_path, problem, moment, before):
    expected = ss.solve(problem)
    path = tmp_path / "proof.npz"
    if before is not None:
        path.write_bytes(before)
    fail_at(monkeypatch, moment)
    with pytest.warns(ss.ProofNotWrittenWarning, match=r"'.*proof\.npz' was not written \(no space left on device\)"):
        solution = ss.solve(problem, proof=path)
    assert solution.status == "optimal"
    assert solution.objective == expected.objective
    np.testing.assert_array_equal(solution.coef, expected.coef)
    assert os.listdir(tmp_path) == ([] if before is None else ["proof.npz"])
    assert before is None or path.read_bytes() == before


def test_several_threads(monkeypatch, tmp_path, problem):
    fail_at(monkeypatch, "tree")
    with pytest.warns(ss.ProofNotWrittenWarning):
        assert ss.solve(problem, proof=tmp_path / "proof.npz", n_threads=2).status == "optimal"
    assert os.listdir(tmp_path) == []


# -- a matrix whose hash takes longer than the search ---------------------------------------------------------------


@pytest.fixture
def slow_hashing(monkeypatch):
    """Begun, and over when somebody says so."""
    over = threading.Event()
    parts = DenseDesign._canonical_parts

    def slow(design):
        while not over.wait(0.01):
            look_up()
        yield from parts(design)

    monkeypatch.setattr(DenseDesign, "_canonical_parts", slow)
    yield over
    over.set()


def fresh():
    """A problem whose matrix nobody has hashed."""
    return synthetic(60, 30, k=5, gamma=100.0)


def by_keyboard(test):
    """About Ctrl-C, which reaches a process by other ways on Windows."""
    elsewhere = pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
    return elsewhere(pytest.mark.usefixtures("keyboard")(test))


def press(*_):
    signal.raise_signal(signal.SIGINT)


def hashing_ends():
    """Whether nothing is hashed any more, soon."""
    deadline = monotonic() + 60.0
    while any(thread.name == "hashing" for thread in threading.enumerate()) and monotonic() < deadline:
        sleep(0.01)
    return not any(thread.name == "hashing" for thread in threading.enumerate())


def stated_fingerprint(path):
    with np.load(path) as proof:
        return json.loads(proof["header"].tobytes())["fingerprint"]


def check_unidentified(path, problem):
    """The proof has no fingerprint of its matrix, and holds."""
    check = ss.verify(path, *data_of(problem))
    assert check.valid
    assert not check.identified
    assert "no fingerprint of its matrix" in str(check)
    assert stated_fingerprint(path) == {"matrix": None, **problem.fingerprint_of_samples}


@pytest.fixture
def little_grace(monkeypatch):
    monkeypatch.setattr(expiry, "GRACE_SECONDS", 0.1)


@by_keyboard
def test_ctrl_c_does_not_wait_for_the_hash(slow_hashing, little_grace, tmp_path):
    problem, path = fresh(), tmp_path / "proof.npz"
    solution = ss.solve(problem, proof=path, callback=press, rel_gap=0.0)
    assert solution.status == "interrupted"
    assert hashing_ends()
    check_unidentified(path, problem)
    assert ss.verify(path, *data_of(problem)).lower_bound == pytest.approx(solution.lower_bound, rel=1e-9)


def test_a_limit_does_not_wait_for_the_hash(slow_hashing, little_grace, tmp_path):
    problem, path = fresh(), tmp_path / "proof.npz"
    assert ss.solve(problem, proof=path, time_limit=2.0).status == "optimal"
    assert hashing_ends()
    check_unidentified(path, problem)
    assert "none: there was no time to compute it" in ss.report(ss.solve(problem), proof=path)


def test_a_list_does_not_wait_either(slow_hashing, little_grace, tmp_path):
    problem, path = fresh(), tmp_path / "proof.npz"
    assert ss.alternatives(problem, within=0.01, proof=path, time_limit=2.0).complete
    assert hashing_ends()
    check_unidentified(path, problem)


def test_without_a_limit_the_hash_is_waited_for(slow_hashing, tmp_path):
    problem, path = fresh(), tmp_path / "proof.npz"
    timer = threading.Timer(0.3, slow_hashing.set)
    timer.start()
    assert ss.solve(problem, proof=path).status == "optimal"
    timer.join()
    assert stated_fingerprint(path) == problem.fingerprint
    assert ss.verify(path, *data_of(problem)).identified


def badly_scaled(**terms):
    """A column for which the checker is asked what it confirms."""
    X, y, _ = ss.datasets.make_sparse_logistic(60, 8, 3, 1.0, random_state=0)
    X[:, 2] *= 1e9
    return ss.Problem(X, y, k=3, gamma=100.0, standardize=False, **terms), X, y


@pytest.mark.parametrize("within", [None, 0.05])
@pytest.mark.parametrize("scarce", ["time", "memory"])
def test_a_checker_without_time_or_room_is_not_asked(scarce, within, monkeypatch, little_grace, tmp_path):
    (problem, X, y), path, asked = badly_scaled(mu=0.01, include=[1]), tmp_path / "proof.npz", []
    usual = claims.lower_bound

    def endless(*args, **options):
        asked.append(1)
        for _ in arithmetic.pieces(10**6, 1):
            sleep(0.01)
        return usual(*args, **options)

    monkeypatch.setattr(claims, "lower_bound", endless)
    if scarce == "memory":
        monkeypatch.setattr(claims, "allowed", lambda data_bytes: -1)
    before = threading.active_count()
    ask = ss.solve if within is None else lambda *args, **limits: ss.alternatives(*args, within=within, **limits)
    ask(problem, proof=path, time_limit=2.0)
    assert len(asked) == (scarce == "time")
    deadline = monotonic() + 60.0
    while threading.active_count() > before and monotonic() < deadline:
        sleep(0.01)
    assert threading.active_count() <= before  # the checker that was left has ended
    check = ss.verify(path, X, y)
    assert check.valid
    bound = "lower_bound" if within is None else "missing_bound"
    assert check.claims[bound] == pytest.approx(0.01)
    assert check.claims[bound] <= getattr(check, bound)
    assert check.objective <= check.claims["objective"] <= check.objective * (1.0 + 1e-3)


@pytest.mark.parametrize("seed", range(40))
def test_an_objective_without_the_checker_is_no_smaller_than_his(seed, monkeypatch, tmp_path):
    monkeypatch.setattr(claims, "allowed", lambda data_bytes: -1)
    monkeypatch.setattr(proof_writer, "rounding_matters", lambda problem, objective: True)
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((50, 6)) * 10.0 ** rng.uniform(-6, 9, 6) + 10.0 ** rng.uniform(-3, 13, 6)
    y = np.where(rng.random(50) < 0.5, 1, -1)
    y[:2] = 1, -1
    options = {"standardize": bool(seed % 2), "fit_intercept": bool(seed // 2 % 2)}
    problem, path = ss.Problem(X, y, k=3, gamma=10.0 ** rng.uniform(-1, 4), **options), tmp_path / "proof.npz"
    ss.solve(problem, proof=path, node_limit=50)
    assert ss.verify(path, X, y).valid


def test_errors_of_others_are_not_taken_for_the_disk(tmp_path, problem):
    with pytest.raises(OSError, match="mine"):
        ss.solve(problem, proof=tmp_path / "proof.npz", callback=lambda moment: (_ for _ in ()).throw(OSError("mine")))
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_device_that_is_full(problem):
    """And a device is not replaced by a file."""
    with pytest.warns(ss.ProofNotWrittenWarning, match="no space left"):
        assert ss.solve(problem, proof="/dev/full").status == "optimal"
    assert Path("/dev/full").is_char_device()


def test_two_solves_write_one_proof(tmp_path, problem):
    path = tmp_path / "proof.npz"
    solutions = []
    threads = [threading.Thread(target=lambda: solutions.append(ss.solve(problem, proof=path))) for _ in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [solution.status for solution in solutions] == ["optimal"] * 3
    assert os.listdir(tmp_path) == ["proof.npz"]
    assert ss.verify(path, *data_of(problem)).valid


def run(folder: Path, *words: str):
    X, y, _ = ss.datasets.make_sparse_logistic(60, 8, 3, 1.0, random_state=0)
    rows = [",".join(map(repr, [*row, int(label)])) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    (folder / "data.csv").write_text("\n".join([",".join([*"abcdefgh", "y"]), *rows]))
    files = {name: str(folder / name) for name in ("model.json", "proof.npz", "report.html")}
    outputs = ["--model", files["model.json"], "--proof", files["proof.npz"], "--report", files["report.html"]]
    words = ("fit", str(folder / "data.csv"), "-t", "y", "--k", "2", *outputs, *words)
    return CliRunner().invoke(cli.app, words)


def test_the_command_keeps_model_and_report(monkeypatch, tmp_path):
    fail_at(monkeypatch, "header")
    result = run(tmp_path)
    assert result.exit_code == 1
    assert sorted(os.listdir(tmp_path)) == ["data.csv", "model.json", "report.html"]
    assert "was not written (no space left on device)" in result.stderr
    assert "proof.npz written" not in result.stdout.lower()
    assert ss.load_model(tmp_path / "model.json").support_.size == 2


def test_the_command_writes_a_proof_without_a_fingerprint(slow_hashing, little_grace, tmp_path):
    result = run(tmp_path, "--time-limit", "2")
    assert result.exit_code == 0
    assert sorted(os.listdir(tmp_path)) == ["data.csv", "model.json", "proof.npz", "report.html"]
    slow_hashing.set()
    words = ["verify", str(tmp_path / "proof.npz"), str(tmp_path / "data.csv"), "-t", "y"]
    checked = CliRunner().invoke(cli.app, words)
    assert checked.exit_code == 0
    assert "no fingerprint of its matrix" in " ".join(checked.stdout.split())


def test_one_file_that_fails_does_not_cost_the_others(monkeypatch, tmp_path):
    monkeypatch.setattr("safescreen.saving.record.Record.write", lambda record, path: full_disk())
    result = run(tmp_path)
    assert result.exit_code == 1
    assert sorted(os.listdir(tmp_path)) == ["data.csv", "proof.npz", "report.html"]
    assert "No space left on device" in result.stderr
    assert "Model written" not in result.stdout
