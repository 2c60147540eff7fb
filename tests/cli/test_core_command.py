"""``safescreen core``: what all good models of a file use."""

from __future__ import annotations

import csv
import inspect
import json

import pytest
from typer.testing import CliRunner

import safescreen as ss
from safescreen import cli

_SEPARATE = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
ASKED = ["data.csv", "-t", "label", "--gamma", "10", "--k", "3"]
NAMES = ["=cmd", "[bold]x", "a; b", "plain", "näme", 'q"uote', "x6", "x7"]


@pytest.fixture(scope="module")
def data():
    X, y, _ = ss.datasets.make_sparse_logistic(80, 8, 3, 1.0, random_state=0)
    return X, y


@pytest.fixture(scope="module")
def folder(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("core")
    with (folder / "data.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*NAMES, "label"])
        writer.writerows([*x, int(label)] for x, label in zip(data[0].tolist(), data[1], strict=True))
    return folder


@pytest.fixture(autouse=True)
def _here(folder, monkeypatch):
    monkeypatch.chdir(folder)


def run(*words, status=0):
    result = CliRunner(**_SEPARATE).invoke(cli.app, list(map(str, words)), env={"COLUMNS": "80"})
    assert result.exit_code == status, result.output + result.stderr
    return result


@pytest.mark.parametrize(("share", "at_least"), [("2%", 1), ("0.005", 2)])
def test_the_same_as_in_python(data, share, at_least):
    within = 0.02 if share == "2%" else 0.005
    problem = ss.Problem(*data, k=3, gamma=10.0, feature_names=NAMES)
    core = ss.core(problem, within=within, at_least=at_least)
    found = json.loads(run("core", *ASKED, "--within", share, "--at-least", at_least, "--json").stdout)
    assert [feature["name"] for feature in found["features"]] == core.names
    assert found["sentence"] == core.sentence
    assert found["lower_bound"] == pytest.approx(core.lower_bound, rel=1e-12)
    assert found["n_features"] == 8


def test_what_is_shown_written_and_checked():
    shown = run("core", *ASKED, "--within", "1%", "--proof", "core.npz", "-o", "core.csv").stdout
    assert "Every model within 1 % of the best" in " ".join(shown.split())
    with open("core.csv", newline="", encoding="utf-8") as file:
        assert {"feature", "index", "gain"} <= set(csv.DictReader(file).fieldnames or ())
    checked = run("verify", "core.npz", "data.csv", "-t", "label").stdout
    assert "within 1 % of the best" in " ".join(checked.split())


def test_a_report():
    run("core", *ASKED, "--within", "1%", "--proof", "core.npz", "--report", "core.html")
    with open("core.html", encoding="utf-8") as file:
        page = file.read()
    assert 'id="core"' in page
    assert "safescreen verify core.npz data.csv" in page
    files = json.loads(run("core", *ASKED, "--report", "again.html", "--json").stdout)["files"]
    assert files["report"] == "again.html"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--within", "x"], "--within"),
        (["--at-least", "0"], "at_least is 0"),
        (["--within", "10000%"], "a model without any feature"),
    ],
)
def test_questions_that_have_no_answer(words, said):
    assert said.replace("at_least", "at-least") in run("core", *ASKED, *words, status=2).stderr.replace("_", "-")
