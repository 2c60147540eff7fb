"""The command line: the demo, a tour from a file to predictions, limits, interrupts and the shell."""

from __future__ import annotations

import csv
import inspect
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from typer.testing import CliRunner

import safescreen as ss
from safescreen import cli, kernels
from safescreen.defaults import AUTO_RIDGE, BUDGET, GAMMA, REFIT_GAMMA
from safescreen.estimation import estimate
from safescreen.formatting.digits import signed
from safescreen.status import Status

_SEPARATE = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
runner = CliRunner(**_SEPARATE)  # older versions mix the streams


@pytest.fixture(scope="module")
def demo() -> str:
    kernels.warm_up()
    result = runner.invoke(cli.app, ["demo"], env={"COLUMNS": "120"})
    assert result.exit_code == 0, result.output
    return result.output


def number(name: str, text: str) -> float:
    """The number that follows a label."""
    found = re.search(rf"{name}\s+([-\d.,e]+)", text)
    assert found, f"no {name!r} in\n{text}"
    return float(found[1].replace(",", ""))


def test_demo_names_the_data(demo):
    assert "495 features (30 and their products), 426 rows, 143 held out" in demo
    assert f"at most k={BUDGET} features, gamma={GAMMA:g}" in demo


def test_demo_shows_what_screening_decides(demo):
    counts = re.search(r"(\d+) out, (\d+) in, (\d+) undecided \(([\d.]+) % decided\)", demo)
    assert counts
    out, kept, undecided = (int(count) for count in counts.groups()[:3])
    assert out + kept + undecided == 495
    assert float(counts[4]) == pytest.approx(100.0 * (out + kept) / 495, abs=0.051)


def test_demo_shows_the_solution(demo):
    X, y, names = ss.datasets.load_breast_cancer_interactions()
    seen = np.arange(569) % 4 > 0
    problem = ss.Problem(X[seen], y[seen], k=BUDGET, gamma=GAMMA, feature_names=names)
    solution = ss.solve(problem)
    estimated = estimate(solution, REFIT_GAMMA)
    assert number("objective", demo) == pytest.approx(solution.objective, abs=1e-10)
    assert number("safe lower bound", demo) == pytest.approx(solution.lower_bound, abs=1e-10)
    assert number("gap", demo) == pytest.approx(100.0 * solution.gap, abs=1e-4)
    assert number("nodes", demo) == solution.nodes
    assert number("seconds", demo) >= 0.0
    assert re.search(r"status\s+optimal", demo)
    for coefficient, name in zip(estimated.coefficients, solution.feature_names, strict=True):
        assert re.search(rf"{re.escape(name)}\s+{re.escape(signed(coefficient))}\s", demo)
    assert re.search(rf"intercept\s+{re.escape(signed(estimated.intercept))}\s", demo)


def test_demo_predicts_well_and_says_which_ridge_is_which(demo):
    found = re.search(r"held out\s+accuracy ([\d.]+) %", demo)
    assert found
    assert float(found[1]) > 95.0
    assert f"Chosen at γ = {GAMMA:g}: proved that no" in demo
    assert f"coefficients estimated at γ = {AUTO_RIDGE:g}." in " ".join(demo.split())


def test_demo_takes_a_budget_and_a_ridge():
    result = runner.invoke(cli.app, ["demo", "--k", "2", "--gamma", "0.5"], env={"COLUMNS": "120"})
    assert result.exit_code == 0
    assert "at most k=2 features, gamma=0.5" in result.output
    assert number("objective", result.output) > number("safe lower bound", result.output) - 1e-10


def test_help():
    result = runner.invoke(cli.app, ["--help"])
    assert result.exit_code == 0
    assert "Usage" in result.output
    assert "demo" in result.output


def test_help_of_the_demo():
    result = runner.invoke(cli.app, ["demo", "--help"], env={"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"})
    assert result.exit_code == 0
    plain = re.sub(r"\x1b\[[\d;]*m", "", result.output)
    assert "--gamma" in plain
    assert "--k" in plain


def test_version():
    result = runner.invoke(cli.app, ["--version"])
    assert result.exit_code == 0
    assert result.output.strip() == f"safescreen {ss.__version__}"


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["demo", "--nonsense"], ["demo", "--k", "five"], ["demo", "extra"]]
)
def test_bad_usage(arguments):
    result = runner.invoke(cli.app, arguments)
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--k", "0"], "safescreen: --k is 0, but must be an integer >= 1."),
        (["--k", "-3"], "safescreen: --k is -3, but must be an integer >= 1."),
        (["--gamma", "0"], "safescreen: --gamma is 0.0, but must be"),
        (["--gamma", "nan"], "safescreen: --gamma is nan, but must be"),
    ],
)
def test_bad_input_is_one_sentence(arguments, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["safescreen", "demo", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out, err = capsys.readouterr()
    assert ended.value.code == 2
    assert err.startswith(message)
    assert err.count("\n") == 1
    assert out == ""


def test_no_command_shows_the_help():
    result = runner.invoke(cli.app, [])
    assert "Usage" in result.output


def test_demo_can_be_saved_as_a_picture(tmp_path):
    picture = tmp_path / "demo.svg"
    result = runner.invoke(cli.app, ["demo", "--svg", str(picture)])
    assert result.exit_code == 0, result.output
    assert "</svg>" in picture.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [picture]


# --- a tour: from a file to a model, a proof, a report and predictions, on the command line alone

LONG_NAME = "the circumference of the widest part of the tumour as measured by the second of two radiologists"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Real data with text, gaps, a column of weights and a very long name, in two files."""
    kernels.warm_up()
    path = tmp_path_factory.mktemp("tour")
    bunch = load_breast_cancer()
    names = [LONG_NAME, *map(str, bunch.feature_names[1:10]), "clinic", "patient", "w", "diagnosis"]
    rng = np.random.default_rng(0)
    rows = []
    for i, (x, label) in enumerate(zip(bunch.data, bunch.target, strict=True)):
        fields = [repr(value) for value in x[:10].tolist()]
        if rng.random() < 0.1:
            fields[int(rng.integers(10))] = rng.choice(["", "NA", "?"])
        clinic = ["north", "south", "east"][(i + int(label)) % 3]
        rows.append([*fields, clinic, f"p{i}", str(1 + i % 3), "benign" if label else "malignant"])
    for name, part in (("train.csv", rows[:400]), ("test.csv", rows[400:])):
        with (path / name).open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(names)
            writer.writerows(part)
    return path


TOUR = ["--target", "diagnosis", "--exclude", "patient", "--weights", "w", "--one-hot", "--impute", "median"]


def safescreen(*arguments: object, cwd: Path, **options: object) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, with 80 columns."""
    environment = {**os.environ, "COLUMNS": "80"}
    command = [sys.executable, "-m", "safescreen.cli", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, **options)


@pytest.fixture(scope="module")
def fitted(folder) -> subprocess.CompletedProcess[str]:
    return safescreen(
        "fit", "train.csv", *TOUR, "--k", 4, "--gamma", 10, "--test", "test.csv", "--model", "model.json", cwd=folder
    )


def test_tour_fit(fitted, folder):
    assert fitted.returncode == 0, fitted.stderr
    assert fitted.stderr == ""
    out = fitted.stdout
    assert "Which 4 of 13 features best predict diagnosis = malignant? (400 rows)" in out
    assert "k=4, gamma=10, with intercept, standardised, weighted" in out
    assert re.search(r"Screened: \d+ out, \d+ in, \d+ undecided", out)
    assert re.search(r"status\s+optimal", out)
    assert number("objective", out) >= number("safe lower bound", out) > 0.0
    assert re.search(r"training\s+accuracy 9\d\.\d %, AUC 0\.9\d+", out)
    assert re.search(r"held out\s+accuracy 9\d\.\d %, AUC 0\.9\d+", out)
    assert "Filled" in out
    assert "Model written to model.json" in out
    assert max(map(len, out.splitlines())) <= 80
    assert "\x1b" not in out


def test_tour_fit_solves_the_problem_it_says(fitted, folder):
    """The same problem from Python, with the encoding done by hand."""
    pd = pytest.importorskip("pandas")
    frame = pd.read_csv(folder / "train.csv", na_values="?").drop(columns="patient")
    y, weights = frame.pop("diagnosis"), frame.pop("w")
    numbers = frame.drop(columns="clinic")
    X = numbers.fillna(numbers.median()).join(pd.get_dummies(frame["clinic"], prefix="clinic", prefix_sep="="))
    problem = ss.Problem(X, y, k=4, gamma=10.0, sample_weight=weights.to_numpy(float))
    solution = ss.solve(problem)
    assert number("objective", fitted.stdout) == pytest.approx(solution.objective, rel=2e-4)
    model = ss.load_model(folder / "model.json")
    assert model.objective_ == pytest.approx(number("objective", fitted.stdout), abs=1e-10)
    assert set(model.feature_names_in_) == set(X.columns)
    assert model.classes_.tolist() == ["benign", "malignant"]
    assert (model.k, model.gamma, model.rel_gap) == (4, 10.0, 1e-4)


def test_tour_model_has_both_ridges(fitted, folder):
    model = ss.load_model(folder / "model.json")
    assert (model.gamma, model.refit_gamma) == (10.0, REFIT_GAMMA)
    for coefficient in model.coef_[0, model.support_]:
        assert f" {signed(coefficient)} " in fitted.stdout
    assert (np.abs(model.coef_[0]) > np.abs(model.selection_.coef))[model.support_].all()
    said = " ".join(fitted.stdout.split())
    assert "Chosen at γ = 10: proved that no other choice of at most 4 features has an objective lower" in said


@pytest.mark.parametrize(
    ("refit", "sentence"), [("same", "Chosen and estimated at γ = 10:"), ("cv", "estimated at γ =")]
)
def test_fit_estimates_as_it_is_told(folder, monkeypatch, refit, sentence):
    monkeypatch.chdir(folder)
    options = ["fit", "train.csv", *TOUR, "--k", "2", "--gamma", "10", "--refit-gamma", refit]
    assert sentence in " ".join(run(*options).split())
    found = json.loads(run(*options, "--json", "--model", "two.json"))
    model = ss.load_model("two.json")
    assert model.refit_gamma == refit
    assert found["refit_gamma"] == model.estimate_.gamma
    assert found["intercept"] == model.intercept_[0]
    assert found["selection"]["coefficients"] == model.selection_.coef[model.support_].tolist()
    assert (found["selection"]["intercept"] == found["intercept"]) == (found["refit_gamma"] == 10.0)


def test_fit_without_a_budget_or_a_price_allows_as_many_as_the_estimators(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert json.loads(run("fit", "train.csv", *TOUR, "--json"))["terms"]["k"] == BUDGET
    assert json.loads(run("fit", "train.csv", *TOUR, "--mu", "0.01", "--json"))["terms"]["mu"] == 0.01


def warnings_of(*arguments: object) -> str:
    result = runner.invoke(cli.app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stderr


def test_fit_warns_of_a_model_that_predicts_one_class(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y, _ = ss.datasets.make_sparse_logistic(200, 5, 2, 1.0, random_state=0)
    np.savez("data.npz", X=X, y=np.where(np.arange(200) % 5 == 0, y, -1))
    weak = ["fit", "data.npz", "--k", "1", "--refit-gamma", "same"]
    said = warnings_of(*weak, "--gamma", "0.01")
    assert said.startswith("Warning: The model is optimal for its problem, but predicts -1 for every training row")
    assert said.count("\n") == 1
    assert warnings_of(*weak, "--gamma", "0.01", "--quiet") == ""
    np.savez("data.npz", X=X, y=y)
    assert warnings_of("fit", "data.npz", "--k", "5") == ""


def test_fit_warns_of_columns_of_very_different_scales(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y, _ = ss.datasets.make_sparse_logistic(60, 3, 2, 1.0, random_state=0)
    np.savez("data.npz", X=X * [1.0, 1.0, 1e5], y=y)
    assert "very different scales" in warnings_of("fit", "data.npz", "--no-standardize")
    assert warnings_of("fit", "data.npz") == ""


def test_tour_predict(fitted, folder):
    done = safescreen("predict", "model.json", "test.csv", "--proba", "--output", "out.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "probability is that of the label malignant" in done.stderr
    with (folder / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["index"]) for row in rows] == list(range(169))
    assert all((float(row["probability"]) > 0.5) == (row["label"] == "malignant") for row in rows)
    with (folder / "test.csv").open(newline="") as file:
        truth = [row["diagnosis"] for row in csv.DictReader(file)]
    accuracy = np.mean([row["label"] == label for row, label in zip(rows, truth, strict=True)])
    found = re.search(r"held out\s+accuracy ([\d.]+) %", fitted.stdout)
    assert found
    assert 100.0 * accuracy == pytest.approx(float(found[1]), abs=0.051)


def test_tour_predictions_are_those_of_the_estimator(fitted, folder):
    """Bit for bit, with the encoding done by hand."""
    pd = pytest.importorskip("pandas")
    train = pd.read_csv(folder / "train.csv", na_values="?")
    test = pd.read_csv(folder / "test.csv", na_values="?")
    model = ss.load_model(folder / "model.json")
    X = pd.DataFrame(index=test.index)
    for name in model.feature_names_in_:
        if "=" in name:
            X[name] = (test["clinic"] == name.split("=")[1]).astype(float)
        else:
            X[name] = test[name].fillna(train[name].median())
    done = safescreen("predict", "model.json", "test.csv", "--proba", cwd=folder)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    np.testing.assert_array_equal([float(row["probability"]) for row in rows], model.predict_proba(X)[:, 1])
    assert [row["label"] for row in rows] == model.predict(X).tolist()


def test_tour_predict_needs_only_the_chosen_columns(fitted, folder):
    model = ss.load_model(folder / "model.json")
    chosen = [str(name) for name in model.feature_names_in_[model.support_]]
    assert not any("=" in name for name in chosen)
    with (folder / "test.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    with (folder / "few.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [*reversed(chosen), "new"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows([{**row, "new": 7} for row in rows])
    few = safescreen("predict", "model.json", "few.csv", cwd=folder)
    every = safescreen("predict", "model.json", "test.csv", cwd=folder)
    assert few.stdout == every.stdout
    assert "Ignored 1 column that the training data did not have: 'new'." in few.stderr
    assert "Ignored" not in every.stderr


def test_tour_json(fitted, folder):
    done = safescreen("predict", "model.json", "test.csv", "--json", "--quiet", cwd=folder)
    document = json.loads(done.stdout)
    assert document["classes"] == ["benign", "malignant"]
    assert len(document["predictions"]) == 169
    assert set(document["predictions"][0]) == {"index", "label"}


def test_tour_proof(folder):
    done = safescreen("fit", "train.csv", *TOUR, "--k", 3, "--proof", "proof.npz", "--model", "p.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Proof written to proof.npz" in done.stdout
    checked = safescreen("verify", "proof.npz", "train.csv", *TOUR, cwd=folder)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "The proof holds" in checked.stdout
    assert "It is about the choice" in checked.stdout
    assert number("objective", checked.stdout) == pytest.approx(number("objective", done.stdout), abs=1e-8)
    same = safescreen("verify", "proof.npz", "train.csv", "--model", "p.json", "--json", cwd=folder)
    assert same.returncode == 0
    assert json.loads(same.stdout)["valid"] is True
    question = ["verify", "proof.npz", "train.csv", "--model", "p.json"]
    asked = safescreen(*question, "--k", 3, "--gamma", GAMMA, "--mu", 0, "--intercept", "--standardize", cwd=folder)
    assert asked.returncode == 0, asked.stdout
    for other in (["--k", 4, "--no-standardize"], ["--no-intercept"]):
        refused = safescreen(*question, *other, cwd=folder)
        assert refused.returncode == 1
        assert "another question" in " ".join(refused.stdout.split())


def test_tour_proof_of_other_data(folder):
    safescreen("fit", "train.csv", *TOUR, "--k", 3, "--proof", "other.npz", cwd=folder)
    checked = safescreen("verify", "other.npz", "test.csv", *TOUR, cwd=folder)
    assert checked.returncode == 1
    assert "The proof does not hold" in checked.stdout
    assert checked.stderr == ""


def test_tour_report(folder):
    files = ["--report", "report.html", "--test", "test.csv", "--proof", "r.npz"]
    done = safescreen("fit", "train.csv", *TOUR, "--k", 3, *files, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Report written to report.html" in done.stdout
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<html" in page
    assert "malignant" in page


def test_tour_screen(folder):
    done = safescreen("screen", "train.csv", *TOUR, "--k", 4, "--output", "features.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    with (folder / "features.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 13
    assert rows[0]["feature"] == LONG_NAME
    for row in rows:
        assert (float(row["margin"]) > 0.0) == (row["decision"] in ("in", "out"))
    counts = re.search(r"(\d+) out, (\d+) in, (\d+) undecided", done.stdout)
    assert counts
    decisions = [row["decision"] for row in rows]
    assert [int(n) for n in counts.groups()] == [decisions.count(what) for what in ("out", "in", "undecided")]


# --- single commands, in this process


def run(*arguments: object, code: int = 0, **options: object) -> str:
    result = runner.invoke(cli.app, [*map(str, arguments)], env={"COLUMNS": "80"}, **options)
    assert result.exit_code == code, result.output
    return result.stdout


def test_fit_as_json(folder, monkeypatch):
    monkeypatch.chdir(folder)
    found = json.loads(run("fit", "train.csv", *TOUR, "--k", 2, "--json", "--test", "test.csv", "--model", "j.json"))
    assert found["status"] == "optimal"
    assert found["gap"] <= 1e-4
    assert len(found["features"]) == 2
    assert set(found["scores"]) == {"training", "held_out"}
    assert found["files"]["model"] == "j.json"
    model = ss.load_model("j.json")
    assert [feature["coefficient"] for feature in found["features"]] == model.coef_[0, model.support_].tolist()
    assert found["classes"] == ["benign", "malignant"]
    assert any("Filled" in note for note in found["notes"])


def test_quiet(folder, monkeypatch):
    monkeypatch.chdir(folder)
    result = runner.invoke(cli.app, ["fit", "train.csv", *TOUR, "--k", "2", "--quiet", "--model", "q.json"])
    assert (result.exit_code, result.output) == (0, "")
    assert ss.load_model("q.json").support_.size == 2
    assert run("predict", "q.json", "test.csv", "--quiet") == ""


@pytest.mark.parametrize("options", [[], ["--no-standardize"]])
def test_odds_ratios_and_scores(folder, monkeypatch, options):
    from sklearn.metrics import roc_auc_score

    monkeypatch.chdir(folder)
    X, y, names = ss.datasets.load_breast_cancer_interactions()
    np.savez("plain.npz", X=X[:, :6], y=y, feature_names=np.array(names[:6]))
    found = json.loads(run("fit", "plain.npz", "--k", 2, "--gamma", 10, *options, "--json"))
    support = [feature["index"] for feature in found["features"]]
    coef = np.array([feature["coefficient"] for feature in found["features"]])
    for j, feature in zip(support, found["features"], strict=True):
        assert feature["odds_ratio_per_std"] == pytest.approx(np.exp(feature["coefficient"] * X[:, j].std()))
    log_odds = X[:, support] @ coef + found["intercept"]
    assert found["scores"]["training"]["accuracy"] == pytest.approx(np.mean((log_odds > 0) == y))
    assert found["scores"]["training"]["auc"] == pytest.approx(roc_auc_score(y, log_odds))


def test_auc_with_ties_and_weights():
    from sklearn.metrics import roc_auc_score

    from safescreen.prediction import accuracy, auc

    rng = np.random.default_rng(0)
    log_odds, y, w = rng.integers(-3, 4, 200).astype(float), rng.random(200) < 0.4, rng.random(200)
    assert auc(log_odds, y, w) == pytest.approx(roc_auc_score(y, log_odds, sample_weight=w))
    assert accuracy(log_odds, y, w) == pytest.approx(np.average((log_odds > 0) == y, weights=w))
    assert np.isnan(auc(log_odds, np.ones(200, dtype=bool)))


def test_standard_input(folder, monkeypatch):
    monkeypatch.chdir(folder)
    content = (folder / "train.csv").read_bytes()
    piped = json.loads(run("fit", "-", *TOUR, "--k", 2, "--json", "--model", "s.json", input=content))
    named = json.loads(run("fit", "train.csv", *TOUR, "--k", 2, "--json"))
    assert piped["features"] == named["features"]
    table = run("predict", "s.json", "-", input=(folder / "test.csv").read_bytes())
    assert table.count("\n") == 170


def test_include_by_name(folder, monkeypatch):
    monkeypatch.chdir(folder)
    found = json.loads(run("fit", "train.csv", *TOUR, "--k", 2, "--include", "clinic=east", "--json"))
    assert "clinic=east" in [feature["name"] for feature in found["features"]]
    found = json.loads(run("fit", "train.csv", *TOUR, "--k", 3, "--include", f"mean symmetry,{LONG_NAME}", "--json"))
    assert {"mean symmetry", LONG_NAME} <= {feature["name"] for feature in found["features"]}


def test_files_without_names(tmp_path, monkeypatch):
    """Target in the first column: features are called by their place in the file, and found again by it."""
    monkeypatch.chdir(tmp_path)
    X, y, _ = ss.datasets.make_sparse_logistic(80, 5, 2, 3.0, random_state=0)
    np.savetxt("data.csv", np.column_stack((y, X)), delimiter=",")
    np.savetxt("new.csv", X[:10], delimiter=",")
    found = json.loads(run("fit", "data.csv", "--target", 0, "--k", 2, "--json", "--model", "m.json"))
    assert [feature["name"] for feature in found["features"]] == ["x1", "x5"]
    assert found["classes"] == [-1, 1]
    whole, part = run("predict", "m.json", "data.csv"), run("predict", "m.json", "new.csv")
    assert whole.startswith(part)


def test_svmlight_tour(tmp_path, monkeypatch):
    from sklearn.datasets import dump_svmlight_file

    monkeypatch.chdir(tmp_path)
    X, y, _ = ss.datasets.make_sparse_logistic(80, 30, 3, 3.0, random_state=0)
    X[np.abs(X) < 1.0] = 0.0
    dump_svmlight_file(X, y, "data.svm", zero_based=False)
    dump_svmlight_file(X[:7, :20], y[:7], "new.svm", zero_based=False)
    found = json.loads(run("fit", "data.svm", "--k", 3, "--json", "--model", "m.json"))
    reference = ss.solve(ss.Problem(X, y, k=3, gamma=GAMMA))
    assert found["objective"] == pytest.approx(reference.objective, rel=1e-9)
    assert [feature["index"] for feature in found["features"]] == reference.support.tolist()
    assert [feature["name"] for feature in found["features"]] == [f"x{j + 1}" for j in reference.support]
    X[:, 20:] = 0.0
    labels = [row["label"] for row in json.loads(run("predict", "m.json", "new.svm", "--json"))["predictions"]]
    log_odds = X[:7] @ reference.coef + reference.intercept
    assert labels == np.where(log_odds > 0, 1, -1).tolist()


def test_model_from_python_predicts_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y, _ = ss.datasets.make_sparse_logistic(80, 6, 2, 3.0, random_state=0)
    model = ss.L0LogisticRegression(k=2).fit(X, y)
    ss.save_model(model, "m.json")
    np.savez("new.npz", X=X)
    rows = json.loads(run("predict", "m.json", "new.npz", "--proba", "--json"))["predictions"]
    np.testing.assert_array_equal([row["probability"] for row in rows], model.predict_proba(X)[:, 1])
    assert [row["label"] for row in rows] == model.predict(X).tolist()


def test_model_saved_again_from_python_keeps_its_encoding(fitted, folder, monkeypatch):
    monkeypatch.chdir(folder)
    ss.save_model(ss.load_model("model.json"), "again.json")
    assert (folder / "again.json").read_bytes() == (folder / "model.json").read_bytes()


def test_dropped_rows_have_no_prediction(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y, _ = ss.datasets.make_sparse_logistic(60, 3, 3, 3.0, random_state=0)
    lines = [",".join(map(str, [*row, int(label)])) for row, label in zip(X.tolist(), y, strict=True)]
    lines[3] = "1.0,,2.0,1"
    Path("data.csv").write_text("a,b,c,label\n" + "\n".join(lines) + "\n")
    out = run("fit", "data.csv", "--target", "label", "--k", 3, "--drop-missing", "--model", "m.json")
    assert "Left out 1 of 60 rows" in out
    result = runner.invoke(cli.app, ["predict", "m.json", "data.csv"])
    assert result.stdout.splitlines()[4] == "3,"
    assert result.stdout.splitlines()[5].startswith("4,")
    assert "No prediction for 1 row with missing values." in result.stderr


def test_unknown_categories_are_noted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{'red' if i % 2 else 'blue'},{i},{i % 2}\n" for i in range(30))
    Path("data.csv").write_text("colour,n,label\n" + rows)
    run("fit", "data.csv", "--target", "label", "--k", 1, "--one-hot", "--model", "m.json")
    Path("new.csv").write_text("colour\nred\npink\n")
    result = runner.invoke(cli.app, ["predict", "m.json", "new.csv"])
    assert result.exit_code == 0
    assert "did not have 'colour=pink'" in result.stderr
    assert result.stdout == "index,label\n0,1\n1,0\n"


@pytest.fixture
def hard(tmp_path, monkeypatch) -> Path:
    """A search that takes long."""
    monkeypatch.chdir(tmp_path)
    X, y, _ = ss.datasets.make_sparse_logistic(100, 400, 8, 0.5, random_state=0)
    np.savez(tmp_path / "hard.npz", X=X, y=y)
    return tmp_path


@pytest.mark.parametrize(("limit", "status"), [("--time-limit", "time_limit"), ("--node-limit", "node_limit")])
def test_limits_end_with_status_one(hard, limit, status):
    out = run("fit", "hard.npz", "--k", 20, "--gamma", 1e4, limit, 0, "--model", "m.json", code=1)
    assert re.search(rf"status\s+{status}", out)
    assert Status(status).sentence in " ".join(out.split())
    assert ss.load_model("m.json").status_ == status


@pytest.mark.parametrize("command", [["fit", "--k", "20"], ["path", "--k", "19,20"]])
def test_long_searches_say_where_they_stand(hard, command, monkeypatch):
    kernels.warm_up()
    monkeypatch.setattr("safescreen.search.progress.FIRST_AFTER", 0.05)
    arguments = [command[0], "hard.npz", *command[1:], "--gamma", "1e4", "--time-limit", "1"]
    heard = runner.invoke(cli.app, [*arguments, "--json"])
    standing = r"relaxing|\d+ features, (\d+ exchanges? proved, )?gap"
    assert re.match(rf"safescreen, \d+ s: (k = 19 \(1 of 2\): )?({standing})", heard.stderr)
    assert json.loads(heard.stdout)  # which is not mixed with it
    silenced = runner.invoke(cli.app, [*arguments, "--quiet"])
    assert (silenced.exit_code, silenced.stdout, silenced.stderr) == (1, "", "")


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal there")
def test_interrupt_keeps_the_best_model(hard):
    kernels.warm_up()
    command = [sys.executable, "-m", "safescreen.cli", "fit", "hard.npz", "--k", "20", "--gamma", "1e4"]
    command += ["--model", "m.json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:  # where the search stands
            if " features, " in line:
                break
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "The search was interrupted." in out
    model = ss.load_model("m.json")
    assert model.status_ == "interrupted"
    assert model.support_.size <= 20
    assert 0.0 < model.lower_bound_ <= model.objective_


# --- paths


def test_path(folder, monkeypatch):
    monkeypatch.chdir(folder)
    out = run("path", "train.csv", *TOUR, "--k", "1:4", "--gamma", 10, "--test", "test.csv", "--output", "path.csv")
    assert max(map(len, out.splitlines())) <= 80
    with Path("path.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["k"]) for row in rows] == [1, 2, 3, 4]
    objectives = [float(row["objective"]) for row in rows]
    assert objectives == sorted(objectives, reverse=True)
    assert all(row["status"] == "optimal" for row in rows)
    assert rows[2]["features"].count("; ") == 2
    single = json.loads(run("fit", "train.csv", *TOUR, "--k", 3, "--gamma", 10, "--json", "--test", "test.csv"))
    assert float(rows[2]["objective"]) == pytest.approx(single["objective"], rel=1e-4)
    assert float(rows[2]["held_out_auc"]) == pytest.approx(single["scores"]["held_out"]["auc"], abs=0.02)


def test_path_estimates_at_a_ridge_of_its_own(folder, monkeypatch):
    monkeypatch.chdir(folder)
    options = ["path", "train.csv", *TOUR, "--k", "1:2", "--refit-gamma"]
    assert f"AUC is that of estimates at γ = {AUTO_RIDGE:g}." in run(*options[:-1])
    assert "estimates" not in run(*options, "same")
    weak, same = (json.loads(run(*options, ridge, "--json"))["points"] for ridge in ("30", "same"))
    assert [point["refit_gamma"] for point in weak] == [30.0, 30.0]
    assert [point["refit_gamma"] for point in same] == [GAMMA, GAMMA]
    assert [point["objective"] for point in weak] == [point["objective"] for point in same]
    assert all(one["intercept"] != other["intercept"] for one, other in zip(weak, same, strict=True))


@pytest.mark.parametrize(
    ("options", "name", "values"),
    [
        (["--k", "1,3"], "k", [1, 3]),
        (["--k", "1:13:6"], "k", [1, 7, 13]),
        (["--k", "11:20"], "k", [11, 12, 13]),
        (["--mu", "0.1,0.01"], "mu", [0.1, 0.01]),
        (["--k", "2", "--gamma", "1,10"], "gamma", [1.0, 10.0]),
        (["--k", "2"], "k", [2]),
        (["--gamma", "1,10"], "gamma", [1.0, 10.0]),
    ],
)
def test_path_parameters(folder, monkeypatch, options, name, values):
    monkeypatch.chdir(folder)
    found = json.loads(run("path", "train.csv", *TOUR, *options, "--json"))
    assert found["parameter"] == name
    assert [point[name] for point in found["points"]] == values


def test_pictures(folder, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(folder)
    run("path", "train.csv", *TOUR, "--k", "1:3", "--plot", "path.png")
    assert Path("path.png").read_bytes().startswith(b"\x89PNG")
    run("cv", "train.csv", *TOUR, "--k", "1:2", "--folds", 2, "--plot", "cv.svg")
    assert "<svg" in Path("cv.svg").read_text(encoding="utf-8")


# --- the shell


def shell(*arguments: str, cwd: Path | None = None, **environment: str) -> str:
    """What the installed command prints when the shell calls it."""
    code = f"import sys; sys.argv = {['safescreen', *arguments]!r}; from safescreen.cli import main; main()"
    environment = {**os.environ, **environment}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout


def completions(folder: Path, words: str) -> list[str]:
    last = str(len(words.split(" ")) - 1)
    out = shell(cwd=folder, _SAFESCREEN_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=last)
    return out.split("\n")


def test_completion_of_commands_and_options(folder):
    assert "fit" in completions(folder, "safescreen f")
    assert "--time-limit" in completions(folder, "safescreen fit train.csv --ti")


def test_completion_of_columns_and_choices(folder):
    assert "diagnosis" in completions(folder, "safescreen fit train.csv --target dia")
    assert "nodes" in completions(folder, "safescreen fit train.csv --screening n")
    assert completions(folder, "safescreen fit nothing.csv --target dia")[0] == ""


def test_completion_script():
    shown = shell("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    sourced = shell(_SAFESCREEN_COMPLETE="source_bash")
    for script in (shown, sourced):
        assert "_SAFESCREEN_COMPLETE=complete_bash" in script
        assert "complete -o default -F _safescreen_completion safescreen" in script


def test_fit_of_a_csv_file_loads_no_other_library(folder):
    arguments = ["fit", "train.csv", *TOUR, "--k", "2", "--model", "light.json", "--quiet"]
    code = (
        "import sys\nfrom safescreen.cli import app\n"
        f"try:\n    app({arguments!r})\nexcept SystemExit as end:\n    assert not end.code\n"
        "print([m for m in ('polars', 'matplotlib', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_unreadable_file(folder, monkeypatch):
    def refuse(self, *args, **options):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.chdir(folder)
    monkeypatch.setattr("safescreen.tables.source.Path.open", refuse)
    result = runner.invoke(cli.app, ["fit", "train.csv", *TOUR, "--k", "2"])
    assert result.exit_code == 2
    assert result.stderr == "safescreen: train.csv cannot be used: permission denied.\n"


def test_a_defect_keeps_its_traceback(monkeypatch):
    def broken(*args, **options):
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("safescreen.datasets.load_breast_cancer_interactions", broken)
    result = runner.invoke(cli.app, ["demo"])
    assert isinstance(result.exception, ZeroDivisionError)


@pytest.mark.parametrize(
    ("command", "options", "word"),
    [("path", ["--k", "1:3"], "path"), ("cv", ["--k", "1,2", "--folds", "3"], "best mean score in 3 folds")],
)
def test_paths_and_cross_validations_have_reports(tmp_path, command, options, word):
    X, y, _ = ss.datasets.make_sparse_logistic(60, 6, 2, 1.0, random_state=0)
    rows = "\n".join(",".join([f"{label:g}", *(f"{v:.6f}" for v in row)]) for label, row in zip(y, X, strict=True))
    data = tmp_path / "data.csv"
    data.write_text("label,a,b,c,d,e,f\n" + rows + "\n")
    report = tmp_path / "report.html"
    arguments = [command, str(data), "--target", "label", *options, "--report", str(report), "--quiet"]
    result = subprocess.run([sys.executable, "-m", "safescreen.cli", *arguments], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    text = report.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert word in text.lower()
