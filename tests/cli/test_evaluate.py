"""Scores of a model file on data with labels, and what predict says, fills and carries along."""

from __future__ import annotations

import csv
import inspect
import json

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import load_breast_cancer
from typer.testing import CliRunner

import safescreen as ss
from safescreen import cli

_SEPARATE = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
runner = CliRunner(**_SEPARATE)
COLUMNS = ("radius", "texture", "perimeter", "area", "smoothness")
HEADER = "patient,ward," + ",".join(COLUMNS) + ",label"


def run(*words, status=0):
    result = runner.invoke(cli.app, [*map(str, words)], env={"COLUMNS": "100"})
    assert result.exit_code == status, result.output + result.stderr
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of 400 rows and the others as held-out data, with gaps in three cells of one column."""
    folder = tmp_path_factory.mktemp("clinic")
    data = load_breast_cancer()
    lines = []
    for i, (row, label) in enumerate(zip(data.data[:, :5], data.target_names[data.target], strict=True)):
        cells = [str(value) for value in row]
        if i % 150 == 20 or i in (500, 510):
            cells[1] = ""
        lines.append(",".join((f"{i:04d}", "NA" if i == 501 else f"w{i % 3}", *cells, label)))
    for name, part in {"train": lines[:400], "test": lines[400:]}.items():
        (folder / f"{name}.csv").write_text("\n".join([HEADER, *part, ""]))
    words = ["-t", "label", "--exclude", "patient,ward", "-k", 3, "--include", "texture", "--impute", "median"]
    run("fit", folder / "train.csv", *words, "--model", folder / "model.json")
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.mark.usefixtures("here")
def test_scores_are_those_of_scikit_learn():
    found = json.loads(run("evaluate", "model.json", "test.csv", "--json").stdout)
    rows = list(csv.DictReader(run("predict", "model.json", "test.csv", "--proba").stdout.splitlines()))
    with open("test.csv") as file:
        truth = np.array([row["label"] == "malignant" for row in csv.DictReader(file)])
    assert found["positive_class"] == "malignant"
    p = np.array([float(row["probability"]) for row in rows])
    assert found["log_loss"] == pytest.approx(metrics.log_loss(truth, p))
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(truth, p))
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(truth, p > 0.5))
    assert found["baseline_log_loss"] == pytest.approx(metrics.log_loss(truth, np.full(169, truth.mean())))
    assert (found["n_samples"], found["n_scored"]) == (169, 169)
    assert (found["data"], found["target"], found["terms"]["k"]) == ("test.csv", "label", 3)
    assert sum(group["rows"] for group in found["calibration"]) == 169
    assert found["filled"] == {"texture": 3}


@pytest.mark.usefixtures("here")
def test_what_is_shown_and_written():
    done = run("evaluate", "model.json", "test.csv", "--output", "groups.csv")
    for word in ("log loss", "baseline log loss", "accuracy", "auc", "calibration slope"):
        assert word in done.stdout
    assert "169 of 169 rows have a label and a prediction." in done.stdout
    with open("groups.csv") as file:
        assert sum(int(row["rows"]) for row in csv.DictReader(file)) == 169
    assert run("evaluate", "model.json", "test.csv", "--quiet").output == ""


@pytest.mark.usefixtures("here")
def test_another_target_and_labels_that_are_missing_or_strange(folder):
    lines = (folder / "test.csv").read_text().splitlines()
    lines[0] = lines[0].replace("label", "truth")
    lines[1] = lines[1].rpartition(",")[0] + ","
    (folder / "renamed.csv").write_text("\n".join([*lines, ""]))
    assert "--target is 'label'" in run("evaluate", "model.json", "renamed.csv", status=2).stderr
    assert "168 of 169 rows" in run("evaluate", "model.json", "renamed.csv", "-t", "truth").stdout
    refused = run("evaluate", "model.json", "renamed.csv", "-t", "ward", status=2)
    assert "has the label 'w1', but the model knows benign and malignant" in refused.stderr
    assert "scored" not in run("predict", "model.json", "renamed.csv").stderr


@pytest.mark.usefixtures("here")
def test_predict_says_what_it_filled_and_how_well_it_does():
    done = run("predict", "model.json", "test.csv")
    assert "Filled 3 missing values: 3 in 'texture' with " in done.stderr
    assert "On 169 rows with labels: accuracy" in " ".join(done.stderr.split())
    scores = json.loads(run("predict", "model.json", "test.csv", "--json").stdout)["scores"]
    assert scores["log_loss"] < scores["baseline_log_loss"]


@pytest.mark.usefixtures("here")
def test_predict_carries_columns_along():
    done = run("predict", "model.json", "test.csv", "--keep", "patient,ward", "--keep", "label", "--keep", "texture")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert list(rows[0]) == ["index", "patient", "ward", "label (data)", "texture", "label"]
    assert [row["patient"] for row in rows[:2]] == ["0400", "0401"]  # as in the file
    assert rows[101]["ward"] == ""
    assert rows[100]["texture"] == ""
    assert rows[0]["label (data)"] in ("benign", "malignant")
    plain = list(csv.DictReader(run("predict", "model.json", "test.csv").stdout.splitlines()))
    assert [row["label"] for row in rows] == [row["label"] for row in plain]
    assert "no such column" in run("predict", "model.json", "test.csv", "--keep", "patent", status=2).stderr


@pytest.mark.usefixtures("here")
def test_new_columns_that_are_kept_are_not_called_ignored(folder):
    header, *lines = (folder / "test.csv").read_text().splitlines()
    (folder / "more.csv").write_text("\n".join([f"{header},date", *(f"{line},2024-01-02" for line in lines), ""]))
    assert "Ignored 1 column" in run("predict", "model.json", "more.csv").stderr
    done = run("predict", "model.json", "more.csv", "--keep", "date")
    assert "Ignored" not in done.stderr
    assert done.stdout.splitlines()[1].startswith("0,2024-01-02,")


@pytest.mark.usefixtures("here")
def test_one_class_has_no_area(folder):
    lines = [line for line in (folder / "test.csv").read_text().splitlines() if not line.endswith("malignant")]
    (folder / "benign.csv").write_text("\n".join([*lines, ""]))
    shown = run("evaluate", "model.json", "benign.csv").stdout
    assert shown.count("undefined") == 3  # AUC and both numbers of the calibration line
    assert json.loads(run("evaluate", "model.json", "benign.csv", "--json").stdout)["auc"] is None


def test_a_model_against_the_rest_and_one_from_python(tmp_path):
    X, _, _ = ss.datasets.make_sparse_logistic(60, 4, 2, 2.0, random_state=1)
    y = np.where(X[:, 0] > 0.5, 2, np.where(X[:, 0] > -0.5, 1, 0))
    np.savez(tmp_path / "three.npz", X=X, y=y)
    run("fit", tmp_path / "three.npz", "-k", 2, "--positive", 1, "--model", tmp_path / "rest.json")
    found = json.loads(run("evaluate", tmp_path / "rest.json", tmp_path / "three.npz", "--json").stdout)
    assert found["n_scored"] == 60
    assert found["positive_class"] == 1
    ss.save_model(ss.L0LogisticRegression(k=2).fit(X, y == 2), tmp_path / "python.json")
    np.savez(tmp_path / "two.npz", X=X, y=y == 2)
    found = json.loads(run("evaluate", tmp_path / "python.json", tmp_path / "two.npz", "--json").stdout)
    assert found["auc"] > 0.9
