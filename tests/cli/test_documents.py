"""JSON for other programs: all documents begin alike, whatever the command."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import safescreen as ss
from safescreen import cli

_SEPARATE = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
TERMS = {"k", "mu", "gamma", "fit_intercept", "standardize", "include", "exclude"}
TRAINING = ["train.csv", "-t", "label", "--exclude", "x5"]
COMMANDS = {
    "fit": [*TRAINING, "-k", "2", "--include", "x1"],
    "alternatives": [*TRAINING, "-k", "2", "--include", "x1"],
    "screen": [*TRAINING, "-k", "2", "--include", "x1"],
    "path": [*TRAINING, "-k", "1:3", "--include", "x1"],
    "cv": [*TRAINING, "-k", "1:3", "--gamma", "1,10", "--criterion", "bic", "--include", "x1"],
    "predict": ["model.json", "test.csv"],
    "evaluate": ["model.json", "test.csv"],
    "verify": ["proof.npz", *TRAINING],
}


def run(*words):
    result = CliRunner(**_SEPARATE).invoke(cli.app, [*words])
    assert result.exit_code == 0, result.output + result.stderr
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("documents")
    X, y, _ = ss.datasets.make_sparse_logistic(120, 6, 2, 1.0, random_state=0)
    rows = [",".join((*map(repr, x), str(int(label)))) for x, label in zip(X.tolist(), y, strict=True)]
    header = ",".join([f"x{j}" for j in range(6)] + ["label"])
    (folder / "train.csv").write_text("\n".join([header, *rows[:80], ""]))
    (folder / "test.csv").write_text("\n".join([header, *rows[80:], ""]))
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    if not (folder / "proof.npz").exists():
        run("fit", *COMMANDS["fit"], "--model", "model.json", "--proof", "proof.npz", "--quiet")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_document_has_data_target_and_terms(command):
    found = json.loads(run(command, *COMMANDS[command], "--json").stdout)
    assert list(found)[:2] == ["data", "target"]
    assert found["data"] == ("test.csv" if "test.csv" in COMMANDS[command] else "train.csv")
    assert found["target"] == "label"
    assert found["classes"] == [-1, 1]
    assert set(found["terms"]) >= TERMS
    assert isinstance(found["notes"], list)
    assert found["terms"]["include"] == ["x1"]
    assert found["terms"]["exclude"] == ["x5"]
    assert found["terms"]["mu"] is None
    assert found["positive_class"] == 1
    assert found["n_samples"] == (40 if found["data"] == "test.csv" else 80)
    if command != "verify":
        assert found["terms"]["copies"] == ("allow" if command == "screen" else "one")
    expected = {"path": [1, 2, 3], "cv": [1, 2, 3]}
    assert found["terms"]["k"] == expected.get(command, 2)
    assert "k" not in found  # said once


@pytest.mark.usefixtures("here")
def test_a_broken_proof_has_the_same_document(folder):
    (folder / "broken.npz").write_bytes((folder / "proof.npz").read_bytes()[:200])
    result = CliRunner(**_SEPARATE).invoke(cli.app, ["verify", "broken.npz", *TRAINING, "--json"])
    found = json.loads(result.stdout)
    assert (result.exit_code, found["valid"]) == (1, False)
    assert (found["data"], found["target"], found["classes"], found["positive_class"]) == (
        "train.csv", "label", None, None
    )  # fmt: skip
    assert found["reason"]


@pytest.mark.usefixtures("here")
def test_cv_scores_its_model_on_held_out_data():
    words = ["cv", *COMMANDS["cv"], "--test", "test.csv"]
    found = json.loads(run(*words, "--json", "--model", "cv.json").stdout)
    alone = json.loads(run("evaluate", "cv.json", "test.csv", "--json").stdout)
    scores = found["model"]["scores"]["held_out"]
    assert scores == pytest.approx({name: alone[name] for name in scores})
    assert np.isfinite(list(scores.values())).all()
    assert "held out" in run(*words, "--report", "cv.html").stdout
    with open("cv.html", encoding="utf-8") as page:
        assert "On held-out data" in page.read()


@pytest.mark.parametrize("command", [["fit", "-k", "2"], ["cv", "-k", "1:2", "--criterion", "bic"]])
def test_a_leak_is_pointed_out(tmp_path, command):
    X, y, _ = ss.datasets.make_sparse_logistic(60, 4, 2, 1.0, random_state=0)
    np.savez(tmp_path / "leak.npz", X=np.column_stack((X, y * 3.0)), y=y)
    words = [command[0], str(tmp_path / "leak.npz"), *command[1:]]
    assert "'x4' tells the classes apart alone, without a mistake" in " ".join(run(*words).stdout.split())
    found = json.loads(run(*words, "--json").stdout)
    assert found.get("model", found)["leaks"] == ["x4"]
