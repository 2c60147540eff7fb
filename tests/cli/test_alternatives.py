"""``safescreen alternatives``: all good models of a file."""

from __future__ import annotations

import csv
import inspect
import json

import pytest
from typer.testing import CliRunner

import safescreen as ss
from safescreen import cli
from safescreen.cli.options import parsed_share

_SEPARATE = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
ASKED = ["data.csv", "-t", "label", "--gamma", "10"]
NAMES = ["=cmd", "[bold]x", "a; b", "plain", "näme", 'q"uote', "x6", "x7"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alternatives")
    X, y, _ = ss.datasets.make_sparse_logistic(80, 8, 3, 1.0, random_state=0)
    with (folder / "data.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*NAMES, "label"])
        writer.writerows([*x, int(label)] for x, label in zip(X.tolist(), y, strict=True))
    return folder


@pytest.fixture(autouse=True)
def _here(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def problem():
    X, y, _ = ss.datasets.make_sparse_logistic(80, 8, 3, 1.0, random_state=0)
    return ss.Problem(X, y, mu=0.004, gamma=10.0, feature_names=NAMES)


def run(*words, status=0):
    result = CliRunner(**_SEPARATE).invoke(cli.app, ["alternatives", *map(str, words)], env={"COLUMNS": "80"})
    assert result.exit_code == status, result.output + result.stderr
    return result


@pytest.mark.parametrize("share", ["2%", "0.02", " 2 % "])
def test_the_same_as_in_python(problem, share):
    others = ss.alternatives(problem, within=0.02)
    found = json.loads(run(*ASKED, "--mu", 0.004, "--within", share, "--json").stdout)
    assert found["wish"]["within"] == pytest.approx(0.02)
    assert found["n_models"] == len(others) == len(found["models"])
    assert [model["indices"] for model in found["models"]] == [support.tolist() for support in others.supports]
    assert found["complete"] is True
    told = others.to_dict()
    assert set(told) - {"format", "version", "safescreen"} <= set(found)
    prices = [row["price_without"] for row in found["features"]]
    assert prices == pytest.approx([row["price_without"] for row in told["features"]], abs=1e-6)


def test_what_is_shown():
    shown = run(*ASKED, "-k", 4, "--within", "1%").stdout
    words = " ".join(shown.replace("\u00a0", " ").split())
    assert "minimal model" in words
    assert "Proved: none is missing." in words
    assert "can be replaced by" in words
    assert "[bold]x" in run(*ASKED, "--mu", 0.001, "--within", "5%").stdout
    assert max(map(len, shown.splitlines())) <= 80


def test_the_best_so_many_with_threads():
    found = json.loads(run(*ASKED, "-k", 4, "--n-best", 7, "--threads", 2, "--json").stdout)
    assert found["n_models"] == 7
    assert found["wish"] == {"within": None, "n_best": 7, "max_models": 10_000}
    assert found["minimal"] is False


def test_files(problem):
    words = ["--models-out", "models.csv", "-o", "table.csv", "--report", "page.html", "--plot", "picture.png"]
    pytest.importorskip("matplotlib")
    shown = run(*ASKED, "--mu", 0.004, "--within", "2%", *words).stdout
    others = ss.alternatives(problem, within=0.02)
    with open("models.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(others)
    assert float(rows[0]["objective"]) == pytest.approx(others.objectives[0])
    assert all(len(row["coefficients"].split("; ")) == int(row["size"]) for row in rows if int(row["size"]))
    assert not any(row["features"].startswith("=") for row in rows)  # no formula
    with open("table.csv", newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert next(iter(table[0])) == "feature"
    assert len(table) == others.order().size
    with open("page.html", encoding="utf-8") as file:
        assert 'id="alternatives"' in file.read()
    assert "Models written to models.csv" in shown
    assert run(*ASKED, "-k", 2, "--quiet", "--report", "quiet.html").output == ""


@pytest.mark.parametrize("words", [["--time-limit", 0], ["--time-limit", 0, "--json"]])
def test_what_is_not_complete_is_shown_and_ends_with_one(words):
    shown = run(*ASKED, "-k", 4, *words, status=1).stdout
    assert '"complete": false' in shown if "--json" in words else "others may be missing" in " ".join(shown.split())
    run(*ASKED, "-k", 4, *words, "--accept-limit")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--within", "1x"], "--within is '1x', but must be a share >= 0, such as 1% or 0.01."),
        (["--within", "-1%"], "--within is '-1%', but must be a share >= 0, such as 1% or 0.01."),
        (["--within", "nan"], "--within is 'nan', but must be a share >= 0"),
        (["--within", "1%%"], "--within is '1%%', but must be a share >= 0"),
        (["--n-best", "0"], "--n-best is 0, but must be an integer >= 1."),
        (["--max-models", "0"], "--max-models is 0, but must be an integer >= 1."),
        (["--models-out", "nowhere/models.csv"], "--models-out is nowhere/models.csv, but there is no folder nowhere"),
        (["--test", "data.csv"], "has no option --test"),
    ],
)
def test_bad_input(words, sentence):
    assert sentence in run(*ASKED, "-k", 2, *words, status=2).stderr


def test_shares():
    assert [parsed_share(text) for text in ("1%", "0.01", "1e-2", " 10 %", "0")] == [0.01, 0.01, 0.01, 0.1, 0.0]


def test_the_proof_of_a_list_says_what_it_proves():
    run(*ASKED, "-k", 4, "--within", "2%", "--proof", "list.npz")
    checking = ["verify", "list.npz", "data.csv", "-t", "label"]
    told = CliRunner(**_SEPARATE).invoke(cli.app, checking, env={"COLUMNS": "80"})
    words = " ".join(told.stdout.split())
    assert "The proof holds: every model of this problem (mu=0, k=4, gamma=10" in words
    assert "listed, none of whose features can be left out." in words
    found = json.loads(CliRunner(**_SEPARATE).invoke(cli.app, [*checking, "--json"]).stdout)
    assert (found["goal"], found["complete"]) == ("minimal", True)
    assert found["models"] >= 1
    assert found["missing_bound"] == pytest.approx(1.02 * found["objective"], rel=1e-6)
