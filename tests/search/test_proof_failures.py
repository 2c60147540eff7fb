"""A disk that fails while a proof is written: the solution is kept, one warning says why, and no half file is left."""

from __future__ import annotations

import errno
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
from safescreen import cli
from safescreen.design.dense import DenseDesign
from safescreen.expiry import look_up
from safescreen.search import proof_writer
from safescreen.search.proof_writer import ProofWriter


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


@by_keyboard
def test_ctrl_c_does_not_wait_for_the_hash(slow_hashing, tmp_path):
    with pytest.warns(ss.ProofNotWrittenWarning, match="the matrix was not hashed yet when Ctrl-C was pressed"):
        solution = ss.solve(fresh(), proof=tmp_path / "proof.npz", callback=press, rel_gap=0.0)
    assert solution.status == "interrupted"
    assert os.listdir(tmp_path) == []
    deadline = monotonic() + 10.0
    while any(thread.name == "hashing" for thread in threading.enumerate()) and monotonic() < deadline:
        sleep(0.01)
    assert not any(thread.name == "hashing" for thread in threading.enumerate())


@by_keyboard
def test_a_limit_waits_for_the_hash_until_ctrl_c(slow_hashing, tmp_path):
    problem, path = fresh(), tmp_path / "proof.npz"
    timer = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    with pytest.warns(ss.ProofNotWrittenWarning, match="hashed"):
        assert ss.solve(problem, proof=path, time_limit=1e-9).status == "time_limit"
    timer.join()
    timer = threading.Timer(0.3, slow_hashing.set)
    timer.start()
    assert ss.solve(problem, proof=path, time_limit=1e-9).status == "time_limit"
    timer.join()
    assert ss.verify(path, *data_of(problem)).valid


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


def test_one_file_that_fails_does_not_cost_the_others(monkeypatch, tmp_path):
    monkeypatch.setattr("safescreen.saving.record.Record.write", lambda record, path: full_disk())
    result = run(tmp_path)
    assert result.exit_code == 1
    assert sorted(os.listdir(tmp_path)) == ["data.csv", "proof.npz", "report.html"]
    assert "No space left on device" in result.stderr
    assert "Model written" not in result.stdout
