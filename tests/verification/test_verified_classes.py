"""Proofs about one class of several: checked against the labels as they are."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris

import safescreen as ss

DATA = load_iris()
X, NUMBERS, WORDS = DATA.data, DATA.target, DATA.target_names[DATA.target]


@pytest.mark.parametrize(("y", "positive"), [(WORDS, "versicolor"), (NUMBERS, 0), (NUMBERS, 1), (NUMBERS, 2)])
def test_one_of_three_labels(y, positive, tmp_path):
    proof = tmp_path / "proof.npz"
    solution = ss.solve(ss.Problem(X, y, k=2, positive_class=positive), proof=proof)
    result = ss.verify(proof, X, y, positive_class=positive)
    assert result.valid, result.reason
    assert result.objective == pytest.approx(solution.objective)
    assert result.claims["classes"] == [f"not {positive}", positive]
    assert f"modelled     probability of {positive!r}" in str(result)
    assert "positive_class must name" in ss.verify(proof, X, y).reason
    for other in set(y.tolist()) - {positive}:
        assert "labels are not those of the proof" in ss.verify(proof, X, y, positive_class=other).reason


@pytest.mark.parametrize("positive", ["setosa", "virginica"])
def test_either_of_two_labels(positive, tmp_path):
    rows = WORDS != "versicolor"
    proof = tmp_path / "proof.npz"
    ss.solve(ss.Problem(X[rows], WORDS[rows], k=1, positive_class=positive), proof=proof)
    assert ss.verify(proof, X[rows], WORDS[rows]).valid
    assert ss.verify(proof, X[rows], WORDS[rows], positive_class=positive).valid
    other = "setosa" if positive == "virginica" else "virginica"
    assert not ss.verify(proof, X[rows], WORDS[rows], positive_class=other).valid
    with pytest.raises(ValueError, match="positive_class is 'rose', but y has no such label"):
        ss.verify(proof, X[rows], WORDS[rows], positive_class="rose")


def test_on_the_command_line(tmp_path):
    ss.solve(ss.Problem(X, NUMBERS, k=1, positive_class=2), proof=tmp_path / "proof.npz")
    np.savez(tmp_path / "data.npz", X=X, y=NUMBERS)
    command = [sys.executable, "-m", "safescreen.verification", "proof.npz", "data.npz"]

    def run(*words):
        return subprocess.run([*command, *words], cwd=tmp_path, capture_output=True, text=True, check=False)

    done = run("--positive", "2")
    assert done.returncode == 0, done.stderr
    assert "probability of 2" in done.stdout
    assert run("--positive", "1").returncode == 1
    assert run().returncode == 1
    unknown = run("--positive", "3")
    assert unknown.returncode == 2
    assert "--positive is '3', but there is no such label" in unknown.stderr
