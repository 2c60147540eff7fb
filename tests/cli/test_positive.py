"""``--positive``: which label the commands model, and that they say so."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from typer.testing import CliRunner

import safescreen as ss
from safescreen import cli

_SEPARATE = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
runner = CliRunner(**_SEPARATE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three kinds of flowers in a file, with words and with numbers as labels."""
    folder = tmp_path_factory.mktemp("iris")
    data = load_iris()
    header = ",".join((*(name.replace(" (cm)", "") for name in data.feature_names), "kind", "number"))
    rows = [
        ",".join((*map(str, row), data.target_names[label], str(label)))
        for row, label in zip(data.data, data.target, strict=True)
    ]
    (folder / "iris.csv").write_text("\n".join([header, *rows, ""]))
    two = [row for row in rows if ",setosa," not in row]
    (folder / "two.csv").write_text("\n".join([header, *two, ""]))
    return folder


def run(folder, *words, status=0):
    files = ("iris.csv", "two.csv", "model.json", "proof.npz", "report.html")
    typed = [str(folder / word) if word in files else word for word in words]
    result = runner.invoke(cli.app, typed, env={"COLUMNS": "120"})
    assert result.exit_code == status, result.output + result.stderr
    return result


WORDS = ("--target", "kind", "--exclude", "number")
NUMBERS = ("--target", "number", "--exclude", "kind")


@pytest.mark.parametrize(
    "command",
    [
        ("fit", "-k", "2"),
        ("alternatives", "-k", "2"),
        ("screen", "-k", "2"),
        ("path", "-k", "1:2"),
        ("cv", "-k", "1:2", "--folds", "3"),
    ],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize(("target", "label", "shown"), [(WORDS, "virginica", "'virginica'"), (NUMBERS, "1", "1")])
def test_commands_model_one_of_three_labels(command, target, label, shown, folder):
    name, *options = command
    done = run(folder, name, "iris.csv", *target, "--positive", label, *options)
    assert f"Modelled: probability of {shown} (50 of 150 rows)." in done.stdout


def test_commands_say_which_of_two_labels_they_model(folder):
    assert (
        "Modelled: probability of 'virginica' (50 of 100 rows)."
        in run(folder, "fit", "two.csv", *WORDS, "-k", "1").stdout
    )
    chosen = run(folder, "fit", "two.csv", *WORDS, "-k", "1", "--positive", "versicolor", "--json")
    document = json.loads(chosen.stdout)
    assert document["positive_class"] == "versicolor"
    assert document["classes"] == ["virginica", "versicolor"]
    default = json.loads(run(folder, "fit", "two.csv", *WORDS, "-k", "1", "--json").stdout)
    assert document["features"][0]["coefficient"] == pytest.approx(-default["features"][0]["coefficient"], rel=1e-3)
    assert document["scores"]["training"]["auc"] == pytest.approx(default["scores"]["training"]["auc"])


@pytest.mark.parametrize(("target", "label"), [(WORDS, "virginica"), (NUMBERS, "2")])
def test_from_fit_to_verify_and_predict(target, label, folder):
    fitted = run(
        folder, "fit", "iris.csv", *target, "--positive", label, "-k", "2", "--gamma", "100",
        "--refit-gamma", "100", "--test", "iris.csv",
        "--model", "model.json", "--proof", "proof.npz", "--report", "report.html",
    )  # fmt: skip
    assert "held out" in fitted.stdout
    assert f"The model gives the probability of “{label}”" in (folder / "report.html").read_text()
    for words in (("--model", "model.json"), (*target, "--positive", label)):
        checked = run(folder, "verify", "proof.npz", "iris.csv", *words)
        assert "The proof holds" in checked.stdout
        assert "Modelled: probability of" in checked.stdout
    predicted = run(folder, "predict", "model.json", "iris.csv", "--proba")
    assert f"The probability is that of the label {label}." in predicted.stderr
    probability = np.array([float(line.split(",")[2]) for line in predicted.stdout.splitlines()[1:]])
    truth = load_iris().target == 2
    assert probability[truth].mean() > 0.6 > 0.4 > probability[~truth].mean()
    model = ss.load_model(folder / "model.json")
    np.testing.assert_allclose(
        model.predict_proba(pd.DataFrame(load_iris().data, columns=model.feature_names_in_))[:, 1], probability
    )
    document = json.loads(run(folder, "predict", "model.json", "iris.csv", "--json").stdout)
    assert str(document["positive_class"]) == label


def test_the_proof_of_another_class_is_refused(folder):
    run(folder, "fit", "iris.csv", *WORDS, "--positive", "setosa", "-k", "1", "--proof", "proof.npz")
    refused = run(folder, "verify", "proof.npz", "iris.csv", *WORDS, "--positive", "virginica", status=1)
    assert "does not hold" in refused.stdout


def test_bad_labels(folder):
    missing = run(folder, "fit", "iris.csv", *WORDS, "-k", "1", status=2)
    assert "has 3 classes (setosa, versicolor, virginica), but exactly two are needed" in missing.stderr
    assert "--positive" in missing.stderr
    unknown = run(folder, "fit", "iris.csv", *WORDS, "-k", "1", "--positive", "virginia", status=2)
    assert "--positive is 'virginia', but must be one of the labels" in unknown.stderr
    assert "did you mean 'virginica'?" in unknown.stderr
