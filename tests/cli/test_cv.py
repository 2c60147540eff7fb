"""``safescreen cv``: the estimator of that name for files, and what it says."""

from __future__ import annotations

import csv
import inspect
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from typer.testing import CliRunner

import safescreen as ss
from safescreen import cli, kernels
from safescreen.search.progress import Progress

_SEPARATE = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
runner = CliRunner(**_SEPARATE)

SMALL = ["-k", "1:3", "--gamma", "1,10", "--refit-gamma", "same,10,30", "--folds", "3"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Real data in a file: ten measurements and a label."""
    kernels.warm_up()
    path = tmp_path_factory.mktemp("cv")
    bunch = load_breast_cancer()
    with (path / "data.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*bunch.feature_names[:10], "label"])
        for x, label in zip(bunch.data[:200].tolist(), bunch.target[:200], strict=True):
            writer.writerow([*map(repr, x[:10]), "benign" if label else "malignant"])
    return path


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


def run(*arguments: object, code: int = 0):
    """The command in 80 columns: what it prints where."""
    result = runner.invoke(cli.app, ["cv", *map(str, arguments)], env={"COLUMNS": "80"})
    assert result.exit_code == code, result.output + result.stderr
    return result


def test_with_nothing_said_it_is_the_estimator(monkeypatch):
    """No parameter of the estimator is told anything but its default, but for what the file says."""
    told, original = {}, ss.L0LogisticRegressionCV

    class Listener(original):
        def __init__(self, **parameters):
            told.update(parameters)
            super().__init__(**parameters)

        _get_param_names = classmethod(lambda cls: original._get_param_names())

        def fit(self, X, y, sample_weight=None):
            told.update(proof=self.proof, names=X.columns.tolist()[-1], weights=sample_weight)
            raise ValueError("enough heard")

    monkeypatch.setattr(ss, "L0LogisticRegressionCV", Listener)
    assert "enough heard" in run("data.csv", "-t", "label", code=2).stderr
    assert told.pop("names") == "mean fractal dimension"
    assert told.pop("weights") is None
    defaults = {name: p.default for name, p in inspect.signature(original).parameters.items()}
    assert told == {name: defaults[name] if name != "include" else [] for name in told}


def test_the_same_result_as_in_python():
    found = json.loads(run("data.csv", "-t", "label", *SMALL, "--json").stdout)
    X, y = load_breast_cancer(return_X_y=True)
    labels = np.where(y[:200] == 1, "benign", "malignant")
    grid = {"k": [1, 2, 3], "gamma": [1.0, 10.0], "refit_gamma": ["same", 10.0, 30.0]}
    model = ss.L0LogisticRegressionCV(**grid, cv=3).fit(X[:200, :10], labels)
    assert {name: found["best"][name] for name in grid} == model.best_params_
    scores = [row["mean_test_score"] for row in found["candidates"]]
    np.testing.assert_allclose(scores, model.cv_results_["mean_test_score"], rtol=1e-9)
    coefficients = [feature["coefficient"] for feature in found["model"]["features"]]
    np.testing.assert_allclose(coefficients, model.coef_[0, model.support_], rtol=1e-9)
    assert found["edges"] == model.edges_
    assert found["undone"] == []


def test_what_is_shown():
    result = run("data.csv", "-t", "label", *SMALL, "--output", "cv.csv", "--model", "cv.json")
    out = result.stdout
    assert max(map(len, out.splitlines())) <= 80
    assert "UserWarning" not in result.output + result.stderr
    model = ss.load_model("cv.json")
    assert runner.invoke(cli.app, ["predict", "cv.json", "data.csv"]).stdout.count("\n") == 201
    with Path("cv.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 18
    lines = [line.split() for line in out.splitlines()]
    table = {line[0]: line for line in lines if line and line[0] in "123" and len(line) > 6}
    assert sorted(table) == ["1", "2", "3"]
    marked = [size for size, line in table.items() if line[-1] == "chosen"]
    assert marked == [str(model.k)]
    assert table[str(model.k)][1:3] == [f"{model.gamma:g}", str(model.refit_gamma).removesuffix(".0")]
    best = min(-float(row["mean_test_score"]) for row in rows if row["k"] == "1")
    assert model.k == 1 or float(table["1"][3]) == pytest.approx(best, abs=1e-4)
    said = " ".join(out.split())
    assert "was chosen out of 18 candidates for the best mean score in 3 folds." in said
    assert "At the edge of the grid: k=3 is the largest value tried, and more features may predict better." in said
    assert f"Chosen at γ = {model.gamma:g}: proved that no other choice of at most {model.k} features" in said
    assert "coefficients estimated at γ =" in said
    assert "odds ratio" in said


def test_prices_scores_repeats_and_one_standard_error():
    options = ["--mu", "0.1,0.01", "--gamma", 1, "--refit-gamma", 30, "--folds", 3, "--repeats", 2]
    words = ["data.csv", "-t", "label", *options, "--scoring", "roc_auc", "--one-se"]
    found = json.loads(run(*words, "--json").stdout)
    assert len(found["candidates"]) == 2
    assert "split5_test_score" in found["candidates"][0]
    assert found["best"]["mu"] in (0.1, 0.01)
    assert found["model"]["status"] == "optimal"
    said = " ".join(run(*words).stdout.split())
    assert "for the fewest features within one standard error of the best mean score in 6 folds." in said
    assert "roc auc" in said


@pytest.mark.parametrize("criterion", ["bic", "ebic"])
def test_a_criterion_needs_no_folds(criterion):
    words = ["data.csv", "-t", "label", "-k", "1:3", "--gamma", 1, "--criterion", criterion]
    out = run(*words, "--report", "cv.html").stdout
    assert f"for the lowest {criterion.upper()} on all data." in " ".join(out.split())
    assert "std. error" not in out
    assert criterion.upper() in Path("cv.html").read_text(encoding="utf-8")
    found = json.loads(run(*words, "--json").stdout)
    assert min(row["criterion"] for row in found["candidates"]) == -max(
        row["mean_test_score"] for row in found["candidates"]
    )


def test_include_proof_and_one_fit(monkeypatch):
    """The final model is searched once, with the features that must be in it, and its proof holds."""
    searched = []
    fit = ss.L0LogisticRegression.fit
    monkeypatch.setattr(ss.L0LogisticRegression, "fit", lambda self, *data: searched.append(self) or fit(self, *data))
    run("data.csv", "-t", "label", *SMALL, "--include", "mean texture", "--proof", "cv.npz", "--model", "cv.json")
    assert len(searched) == 1
    model = ss.load_model("cv.json")
    assert "mean texture" in model.feature_names_in_[model.support_]
    result = runner.invoke(cli.app, ["verify", "cv.npz", "data.csv", "--model", "cv.json"])
    assert "The proof holds" in result.stdout


def test_time_is_for_everything_and_what_is_undone_is_said():
    words = ["data.csv", "-t", "label", "-k", "4,5", "--gamma", "1e4", "--folds", 3, "--fold-gap", 0, "--gap", 0]
    result = run(*words, "--time-limit", 0, code=1)
    lines = result.stderr.splitlines()
    assert any(line.startswith("Warning: Cross-validation did not get all done") for line in lines)
    assert not any("EndedEarlyWarning" in line or ".py" in line for line in lines)
    assert run(*words, "--time-limit", 0, "--quiet", code=1).stderr == ""
    found = json.loads(run(*words, "--time-limit", 0, "--json", code=1).stdout)
    assert "did not get all done" in found["undone"][0]
    run("data.csv", "-t", "label", *SMALL, "--time-limit", "none")


def test_progress_has_fits_and_time(monkeypatch):
    heard = []
    monkeypatch.setattr(Progress, "say", lambda self, text: heard.append(text))
    run("data.csv", "-t", "label", *SMALL)
    assert any(text.startswith("18 of 54 fits, 1 of 3 folds done, about ") for text in heard)
    monkeypatch.setattr(
        Progress, "__init__", lambda self, enabled, *text: heard.append(enabled) or setattr(self, "_voice", None)
    )
    heard.clear()
    run("data.csv", "-t", "label", *SMALL, "--quiet")
    assert True not in heard


def test_interrupted_in_a_later_fold(monkeypatch):
    """What is finished is shown and written all the same."""
    from safescreen.estimators import cross_validation

    run_fold, done = cross_validation.run_fold, []

    def impatient(*arguments):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(1)
        return run_fold(*arguments)

    monkeypatch.setattr(cross_validation, "run_fold", impatient)
    result = run("data.csv", "-t", "label", *SMALL, "--model", "some.json", "--output", "some.csv", code=1)
    assert "Warning: Interrupted: these are results of 2 of 3 folds." in result.stderr
    assert "best mean score in 2 folds" in " ".join(result.stdout.split())
    assert ss.load_model("some.json").support_.size > 0
    assert "split1_test_score" in Path("some.csv").read_text(encoding="utf-8")
    # now the first fold is interrupted
    assert "Interrupted before there was a result." in run("data.csv", "-t", "label", *SMALL, code=130).stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal there")
def test_ctrl_c(tmp_path):
    X, y, _ = ss.datasets.make_sparse_logistic(300, 400, 20, 1.0, random_state=0)
    np.savez(tmp_path / "hard.npz", X=X, y=y)
    command = [sys.executable, "-m", "safescreen.cli", "cv", "hard.npz", "-k", "1,15", "--gamma", "1,1e4"]
    command += ["--folds", "20", "--time-limit", "60", "--model", "m.json"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "80"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        for line in process.stderr:  # the first line about finished folds
            if "folds done" in line:
                break
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
    assert process.returncode == 1, errors
    assert "Interrupted: these are results of" in errors
    assert "Traceback" not in errors
    assert "was chosen" in out
    assert ss.load_model(tmp_path / "m.json").support_.size > 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--time-limit", "soon"], "--time-limit is 'soon', but must be a number of seconds >= 0, or none."),
        (["--time-limit", "-1"], "--time-limit is -1.0"),
        (["--fold-gap", "2"], "--fold-gap is 2.0, but must be a number >= 0 and < 1."),
        (["--repeats", "2"], "--repeats is 2, but must be an integer >= 1, with --folds beside it."),
        (["--refit-gamma", "10,weak"], "--refit-gamma is 'weak', but must be"),
        (["--criterion", "aic"], "--criterion is 'aic', but must be"),
        (["--criterion", "bic", "--scoring", "accuracy"], "an information criterion takes the place of a score"),
    ],
)
def test_bad_words(words, sentence):
    assert sentence in run("data.csv", "-t", "label", *words, code=2).stderr


# --- gaps


def cv_scores(*arguments: object) -> np.ndarray:
    """The score of each candidate in each fold."""
    words = [*arguments, "--gap", 1e-9, "--fold-gap", 1e-9, "--gamma", 10, "--refit-gamma", "same"]
    words += ["--time-limit", "none"]
    candidates = json.loads(run(*words, "--json").stdout)["candidates"]
    return np.array([[row[f"split{i}_test_score"] for i in range(3)] for row in candidates])


@pytest.fixture
def holes(tmp_path, monkeypatch) -> Path:
    """Data with gaps, sorted by a column with a trend: what fills gaps differs between the folds."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    with Path("holes.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["trend", "noise", "colour", "label"])
        for i in range(90):
            row = [f"{(i / 30) ** 3 + rng.normal():.4f}", f"{rng.normal():.4f}", "red" if i < 50 else "blue"]
            row = ["" if rng.random() < 0.3 else value for value in row]
            writer.writerow([*row, int(rng.random() < 0.3 + 0.4 * (i % 2))])
    return Path("holes.csv")


@pytest.mark.parametrize("jobs", [1, 2])
def test_cv_fills_gaps_in_each_fold(holes, jobs):
    """The same scores from Python, gaps filled by hand with what the training rows alone say."""
    pd = pytest.importorskip("pandas")
    from sklearn.metrics import log_loss
    from sklearn.model_selection import StratifiedKFold

    options = ["--target", "label", "--one-hot", "--impute", "median", "--k", "1:3", "--folds", 3, "--jobs", jobs]
    frame = pd.read_csv(holes)
    y = frame.pop("label").to_numpy()
    expected, leaky = np.empty((3, 3)), np.empty((3, 3))
    for i, (train, test) in enumerate(StratifiedKFold(3).split(frame, y)):
        for scores, known in ((expected, frame.iloc[train]), (leaky, frame)):
            fills = {
                "trend": known["trend"].median(),
                "noise": known["noise"].median(),
                "colour": known["colour"].mode()[0],
            }
            X = frame.fillna(fills).assign(colour=lambda filled: filled["colour"] == "red").astype(float).to_numpy()
            for k in (1, 2, 3):
                model = ss.L0LogisticRegression(k=k, gamma=10.0, refit_gamma="same", rel_gap=1e-9).fit(
                    X[train], y[train]
                )
                scores[k - 1, i] = -log_loss(y[test], model.predict_proba(X[test])[:, 1])
    np.testing.assert_allclose(cv_scores(holes, *options), expected, rtol=1e-6)
    assert (np.abs(expected - leaky) > 1e-4).any(axis=1).all()


def test_the_model_of_cv_is_filled_from_all_rows(holes):
    options = [holes, "--target", "label", "--one-hot", "--impute", "median"]
    ridges = ["--gamma", 10, "--refit-gamma", 30]
    run(*options, "--k", "3", *ridges, "--folds", 3, "--model", "cv.json", "--report", "cv.html")
    assert (
        runner.invoke(cli.app, ["fit", *map(str, [*options, "--k", "3", *ridges]), "--model", "fit.json"]).exit_code
        == 0
    )
    chosen, fitted = (json.loads(Path(name).read_text(encoding="utf-8")) for name in ("cv.json", "fit.json"))
    assert chosen["encoding"] == fitted["encoding"]
    np.testing.assert_allclose(ss.load_model("cv.json").coef_, ss.load_model("fit.json").coef_, rtol=1e-12)
    assert "L0LogisticRegressionCV" in Path("cv.html").read_text(encoding="utf-8")


def test_cv_without_gaps_is_that_of_the_estimator(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y, _ = ss.datasets.make_sparse_logistic(60, 5, 2, 1.0, random_state=0)
    np.savez("data.npz", X=X, y=y)
    ridges = {"gamma": 10.0, "refit_gamma": "same"}
    model = ss.L0LogisticRegressionCV(k=[1, 2], **ridges, cv=3, rel_gap=1e-9, fold_gap=1e-9).fit(X, y)
    expected = np.array([model.cv_results_[f"split{i}_test_score"] for i in range(3)]).T
    for options in ([], ["--impute", "median"]):
        np.testing.assert_array_equal(cv_scores("data.npz", "--k", "1,2", "--folds", 3, *options), expected)
