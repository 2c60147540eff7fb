"""Saved models: the same predictions bit for bit, files that appear whole, clear words about bad ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import safescreen as ss
from problems import plain
from safescreen.estimation import estimate
from safescreen.saving.record import ENTRIES, FORMAT, RIDGES, VERSION, Chosen, Record, digest

DATA = Path(__file__).parents[1] / "data"
ATTRIBUTES = ("coef_", "intercept_", "classes_", "support_")
NUMBERS = ("objective_", "lower_bound_", "gap_", "status_", "n_iter_", "n_features_in_")


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :10], y


@pytest.fixture(scope="module")
def model(cancer) -> ss.L0LogisticRegression:
    return ss.L0LogisticRegression(k=3, gamma=2.0, refit_gamma=50.0).fit(*cancer)


@pytest.fixture
def path(model, tmp_path):
    target = tmp_path / "model.json"
    ss.save_model(model, target)
    return target


def same(first: ss.L0LogisticRegression, second: ss.L0LogisticRegression) -> None:
    for name in ATTRIBUTES:
        ours, theirs = getattr(first, name), getattr(second, name)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    for name in NUMBERS:
        assert getattr(first, name) == getattr(second, name)
    assert first.get_params() == second.get_params()
    for name in ("estimate_", "selection_"):
        ours, theirs = vars(getattr(first, name)), vars(getattr(second, name))
        assert ours.keys() == theirs.keys()
        for entry, value in ours.items():
            np.testing.assert_array_equal(value, theirs[entry], strict=isinstance(value, np.ndarray))


def test_round_trip(model, path, cancer):
    X, _ = cancer
    loaded = ss.load_model(path)
    same(model, loaded)
    assert loaded.solution_ is None
    assert loaded.feature_names_in_.tolist() == list(X.columns)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_loaded_model_can_be_saved_and_fitted_again(path, cancer, tmp_path):
    loaded = ss.load_model(path)
    ss.save_model(loaded, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()
    coef = loaded.coef_
    np.testing.assert_array_equal(loaded.fit(*cancer).coef_, coef)


def test_names_are_checked_after_loading(path, cancer):
    with pytest.raises(ValueError, match="feature names"):
        ss.load_model(path).predict(cancer[0].rename(columns={"mean radius": "radius"}))


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 1], dtype=np.int8),
        np.array([-1.0, 1.0]),
        np.array([False, True]),
        np.array(["gesund", "krank · ü"]),
        np.array(["no", "yes"], dtype=object),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_keep_their_type(labels, tmp_path):
    X, y, _ = ss.datasets.make_sparse_logistic(60, 8, 3, 1.0, random_state=0)
    weights = {label: 1.0 + i for i, label in enumerate(labels.tolist())}
    model = ss.L0LogisticRegression(k=np.int64(2), class_weight=weights).fit(X, labels[(y > 0).astype(int)])
    ss.save_model(model, tmp_path / "model.json")
    loaded = ss.load_model(tmp_path / "model.json")
    same(model, loaded)
    assert loaded.predict(X).dtype == model.predict(X).dtype
    assert not hasattr(loaded, "feature_names_in_")


def test_labels_that_json_cannot_hold(tmp_path):
    X, y, _ = ss.datasets.make_sparse_logistic(60, 8, 3, 1.0, random_state=0)
    solution = ss.solve(plain(X, np.array([Fraction(1, 2), Fraction(3, 2)])[(y > 0).astype(int)], k=2))
    with pytest.raises(ValueError, match="cannot be written as JSON"):
        ss.save_model(solution, tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [{"k": 3, "standardize": False, "fit_intercept": False}, {"mu": 0.01}])
def test_solution(options, tmp_path):
    X, y, _ = ss.datasets.make_sparse_logistic(60, 12, 3, 1.0, random_state=0)
    names = [f"f{j}" for j in range(12)]
    solution = ss.solve(ss.Problem(X, y, feature_names=names, **options))
    ss.save_model(solution, str(tmp_path / "model.json"))
    loaded = ss.load_model(str(tmp_path / "model.json"))
    np.testing.assert_array_equal(loaded.coef_[0], solution.coef)
    assert loaded.intercept_[0] == solution.intercept
    assert (loaded.objective_, loaded.lower_bound_) == (solution.objective, solution.lower_bound)
    assert (loaded.gap_, loaded.status_) == (solution.gap, solution.status)
    assert loaded.feature_names_in_.tolist() == names
    assert (loaded.gamma, loaded.refit_gamma, loaded.estimate_.gamma) == (1.0, "same", 1.0)
    np.testing.assert_array_equal(loaded.selection_.coef, solution.coef)
    np.testing.assert_array_equal(loaded.estimate_.deviations, estimate(solution, "same").deviations)
    assert loaded.mu == options.get("mu")
    assert loaded.standardize is options.get("standardize", True)


def test_the_file_has_what_predicts_and_what_is_proved(model, path):
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["coefficients"] == model.coef_[0, model.support_].tolist()
    assert document["selection"]["coefficients"] == model.solution_.coef[model.support_].tolist()
    assert document["selection"]["coefficients"] != document["coefficients"]
    assert document["estimate"]["gamma"] == 50.0
    loaded = ss.load_model(path)
    assert loaded.solution_ is None
    assert loaded.selection_.coef.tolist() == model.solution_.coef.tolist()
    assert loaded.selection_.nodes == model.solution_.nodes


@pytest.mark.parametrize("refit_gamma", ["same", "cv"])
def test_words_for_the_ridge_of_the_estimates(cancer, refit_gamma, tmp_path):
    model = ss.L0LogisticRegression(k=2, gamma=2.0, refit_gamma=refit_gamma).fit(*cancer)
    ss.save_model(model, tmp_path / "model.json")
    same(model, ss.load_model(tmp_path / "model.json"))


def test_coefficients_that_do_not_exist_are_null(tmp_path):
    X = np.linspace(-1.0, 1.0, 20)[:, None]
    model = ss.L0LogisticRegression(k=1).fit(X, X[:, 0] > 0.0)  # without a ridge the classes are separated
    ss.save_model(model, tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text())["estimate"]["unpenalised"] == [None]
    same(model, ss.load_model(tmp_path / "model.json"))


@pytest.mark.parametrize("options", [{"k": range(1, 3)}, {"mu": np.array([0.1, 0.01])}])
def test_of_a_cross_validation_the_model_it_chose(cancer, options, tmp_path):
    X, y = cancer
    chooser = ss.L0LogisticRegressionCV(cv=2, gamma=2.0, **options).fit(X, y)
    ss.save_model(chooser, tmp_path / "model.json")
    loaded = ss.load_model(tmp_path / "model.json")
    same(chooser.best_estimator_, loaded)
    np.testing.assert_array_equal(loaded.predict_proba(X), chooser.predict_proba(X))


FINITE = st.floats(allow_nan=False, allow_infinity=False)
MAYBE = st.one_of(st.just(float("nan")), FINITE)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_numbers_come_back_bit_for_bit(tmp_path_factory, data):
    size = data.draw(st.integers(0, 3))

    def array(values, dtype=np.float64):
        return np.array(data.draw(st.lists(values, min_size=size, max_size=size)), dtype=dtype)

    estimated = ss.Estimate(
        gamma=data.draw(st.floats(1e-300, 1e300)),
        support=np.arange(size),
        coefficients=array(FINITE),
        intercept=data.draw(FINITE),
        means=array(MAYBE),
        deviations=np.abs(array(MAYBE)),
        binary=array(st.booleans(), np.bool_),
        unpenalised=array(MAYBE),
    )
    selection = Chosen(
        data.draw(st.floats(1e-300, 1e300)), array(FINITE), data.draw(FINITE), data.draw(st.integers(0, 2**53))
    )
    numbers = dict.fromkeys(("objective", "lower_bound", "gap"), 0.5)
    record = Record(
        parameters={"k": 1, "gamma": selection.gamma, "refit_gamma": estimated.gamma},
        n_features=3,
        feature_names=None,
        classes=np.array([0, 1]),
        estimate=estimated,
        selection=selection,
        **numbers,
        status="optimal",
        n_iter=1,
    )
    path = tmp_path_factory.mktemp("record") / "model.json"
    record.write(path)
    loaded = Record.read(path)
    for ours, theirs in ((vars(estimated), vars(loaded.estimate)), (selection._asdict(), loaded.selection._asdict())):
        for name, value in ours.items():
            assert np.asarray(value).tobytes() == np.asarray(theirs[name]).tobytes(), name


def test_a_solution_names_every_parameter_of_a_model(path, tmp_path):
    X, y, _ = ss.datasets.make_sparse_logistic(60, 12, 3, 1.0, random_state=0)
    ss.save_model(ss.solve(ss.Problem(X, y, k=3, include=[4])), tmp_path / "solution.json")
    stored = [json.loads(file.read_text(encoding="utf-8"))["parameters"] for file in (path, tmp_path / "solution.json")]
    assert list(stored[0]) == list(stored[1]) == sorted(stored[0])
    assert set(ss.L0LogisticRegression().get_params()) - set(stored[0]) == {"proof", "callback"}
    assert ss.load_model(tmp_path / "solution.json").include == (4,)


def test_where_a_proof_went_and_who_watched_are_not_saved(cancer, tmp_path):
    model = ss.L0LogisticRegression(k=2, proof=tmp_path / "proof.npz", callback=lambda moment: False).fit(*cancer)
    ss.save_model(model, tmp_path / "model.json")
    loaded = ss.load_model(tmp_path / "model.json")
    assert (loaded.proof, loaded.callback) == (None, None)


def test_features_decided_by_name_are_saved(cancer, tmp_path):
    X, y = cancer
    model = ss.L0LogisticRegression(k=2, include=[X.columns[3]], exclude=np.array([0, 1])).fit(X, y)
    ss.save_model(model, tmp_path / "model.json")
    loaded = ss.load_model(tmp_path / "model.json")
    assert loaded.include == (X.columns[3],)
    assert loaded.exclude == (0, 1)
    np.testing.assert_array_equal(loaded.fit(X, y).coef_, model.coef_)


def test_unfinished_search(tmp_path):
    X, y, _ = ss.datasets.make_sparse_logistic(100, 400, 8, 0.5, random_state=0)
    model = ss.L0LogisticRegression(k=20, gamma=1e4, time_limit=0.0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    ss.save_model(model, tmp_path / "model.json")
    same(model, ss.load_model(tmp_path / "model.json"))


def test_file_is_plain(path, model):
    document = json.loads(path.read_text(encoding="utf-8"))
    assert (document["format"], document["version"]) == (FORMAT, VERSION)
    assert len(document["coefficients"]) == len(document["support"]) == model.support_.size
    assert document["parameters"]["gamma"] == 2.0
    assert document["status"] == "optimal"


def test_reformatting_does_no_harm(path, model):
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")), indent=4, sort_keys=True))
    same(model, ss.load_model(path))


def test_unfitted(tmp_path):
    with pytest.raises(NotFittedError):
        ss.save_model(ss.L0LogisticRegression(), tmp_path / "model.json")


def test_other_objects(tmp_path):
    with pytest.raises(TypeError, match="model is a dict"):
        ss.save_model({}, tmp_path / "model.json")


def test_failed_write_leaves_the_old_file(path, model, monkeypatch):
    before = path.read_bytes()

    def fail(descriptor: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        ss.save_model(model, path)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        ss.load_model(tmp_path / "nothing.json")


def refused(path, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        ss.load_model(path)
    assert str(caught.value).startswith(f"{path} cannot be loaded: ")
    assert "\n" not in str(caught.value)


def test_truncated_anywhere(path):
    whole = path.read_bytes().rstrip()
    for length in range(0, len(whole), 37):
        path.write_bytes(whole[:length])
        refused(path, "truncated")


@pytest.mark.parametrize("text", ["[]", "3", "{}", '{"format": "other", "version": 1}', '{"version": 1}'])
def test_foreign_json(path, text):
    path.write_text(text)
    refused(path, "not a safescreen model")


def test_foreign_files(path):
    path.write_bytes(b"PK\x03\x04\xff\xfe")
    refused(path, "not a text file")
    path.write_text("a,b\n1,2\n")
    refused(path, "not JSON")
    path.write_text("[" * 100_000)
    refused(path, "not JSON")


def rewritten(path, sign: bool = True, **changes: object) -> None:
    """Change entries of a file, with a checksum that fits unless told otherwise."""
    document = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    if sign:
        content = {name: value for name, value in document.items() if name not in ("format", "version", "sha256")}
        document["sha256"] = digest(content)
    path.write_text(json.dumps(document), encoding="utf-8")


def test_newer_version(path):
    rewritten(path, version=VERSION + 1)
    refused(path, "reads versions up to 1: update safescreen")


@pytest.mark.parametrize("version", [None, "1", 0, True, 1.0])
def test_no_version(path, version):
    rewritten(path, version=version)
    refused(path, "version")


def test_changed_number(path):
    rewritten(path, sign=False, objective=0.1)
    refused(path, "checksum")
    rewritten(path, sign=False, objective=float("nan"))
    refused(path, "not finite")


@pytest.mark.parametrize("name", [*ENTRIES, *RIDGES])
def test_missing_entry(path, name):
    document = json.loads(path.read_text(encoding="utf-8"))
    del document[name]
    path.write_text(json.dumps(document), encoding="utf-8")
    rewritten(path)
    refused(path, f"no entry '{name}'")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"intercept": "1"}, "'intercept' is a str"),
        ({"n_features": True}, "'n_features' is a bool"),
        ({"n_features": -1, "feature_names": None}, "-1 features"),
        ({"n_features": 2}, "feature names"),
        ({"feature_names": [1] * 10}, "feature names"),
        ({"support": [0, 1, 99]}, "from 0 to 9"),
        ({"support": [0, 1]}, "an index of its own"),
        ({"support": [0, 1, 1]}, "an index of its own"),
        ({"coefficients": [1.0, 2.0, "3"]}, "finite numbers"),
        ({"classes": {}}, "labels cannot be read"),
        ({"classes": {"dtype": "<i8", "labels": ["a", "b"]}}, "labels cannot be read"),
        ({"classes": {"dtype": "<i8", "labels": [1]}}, "two labels"),
        ({"classes": {"dtype": "|V8", "labels": [0, 1]}}, "labels"),
        ({"parameters": {"k": 3, "later": 1}}, "parameter later came after this safescreen"),
        ({"parameters": {"k": 3, "later": 1, "more": 2}}, "parameters later, more came after this safescreen"),
    ],
)
def test_wrong_entries(path, changes, words):
    rewritten(path, **changes)
    refused(path, words)


@pytest.mark.parametrize(
    ("entry", "changes", "words"),
    [
        ("selection", {"coefficients": [1.0, 2.0]}, "'selection' needs 3 numbers 'coefficients'"),
        ("selection", {"coefficients": [1.0, 2.0, None]}, "needs 3 numbers"),
        ("selection", {"intercept": "0"}, "needs another 'intercept'"),
        ("selection", {"nodes": 1.5}, "needs another 'nodes'"),
        ("selection", {"k": 1.5}, "needs another 'k'"),
        ("selection", {"restricted": None}, "needs another 'restricted'"),
        ("estimate", {"gamma": None}, "needs another 'gamma'"),
        ("estimate", {"gamma": -1.0}, "must not be negative"),
        ("estimate", {"deviations": [1.0, -2.0, None]}, "must not be negative"),
        ("estimate", {"means": {}}, "'estimate' needs 3 numbers 'means'"),
        ("estimate", {"means": [1.0, 2.0, "3"]}, "'estimate' needs 3 numbers 'means'"),
        ("estimate", {"binary": [0, 1, 0]}, "'estimate' needs 3 flags 'binary'"),
        ("estimate", {"unpenalised": [True, 1.0, 2.0]}, "'estimate' needs 3 numbers 'unpenalised'"),
        ("parameters", {"gamma": "ten"}, "gamma is 'ten'"),
        ("parameters", {"gamma": -10.0}, "gamma is -10.0"),
    ],
)
def test_wrong_ridges(path, entry, changes, words):
    rewritten(path, **{entry: {**json.loads(path.read_text(encoding="utf-8"))[entry], **changes}})
    refused(path, words)


@pytest.mark.parametrize("name", ["k", "mu", "nodes"])
def test_a_ridge_without_an_entry(path, name):
    selection = json.loads(path.read_text(encoding="utf-8"))["selection"]
    del selection[name]
    rewritten(path, selection=selection)
    refused(path, f"needs another '{name}'")


def test_wrong_class_weight(path):
    parameters = json.loads(path.read_text(encoding="utf-8"))["parameters"]
    rewritten(path, parameters={**parameters, "class_weight": [1, 2]})
    refused(path, "class_weight")


def test_what_an_older_file_does_not_name_has_its_default(path, model, cancer):
    rewritten(path, parameters={"k": 3, "gamma": 2.0})
    loaded = ss.load_model(path)
    assert loaded.get_params() == ss.L0LogisticRegression(k=3, gamma=2.0, refit_gamma="same").get_params()
    np.testing.assert_array_equal(loaded.predict_proba(cancer[0]), model.predict_proba(cancer[0]))


FIRST_FORMAT = {
    "names": (
        [[0.13, -0.13, 0.64, 0.1, -0.54, 0.36], [1.3, 0.95, -0.7, -1.27, -0.62, 0.04], [0.0, -5.0, 0.0, 0.0, 5.0, 0.0]],
        [0.5646563014230511, 0.7252968253726342, 0.0017234419937996069],
        ["sick", "sick", "healthy"],
        {"k": 2, "gamma": 10.0},
    ),
    "numbers": (
        [[0.13, -0.13, 0.64, 0.1, -0.54, 0.36], [1.3, 0.95, -0.7, -1.27, -0.62, 0.04], [0.0, -5.0, 0.0, 0.0, 5.0, 0.0]],
        [0.7054124429647693, 0.7773227818146184, 0.07223803877004514],
        [1, 1, 0],
        {
            "k": 3,
            "mu": 0.01,
            "gamma": 5.0,
            "class_weight": {0: 1.0, 1: 2.0},
            "standardize": False,
            "rel_gap": 1e-6,
            "time_limit": 30.0,
        },
    ),
    "command_line": (
        [[1.5, 0.0, 1.0, 0.0, 0.2], [0.09, 1.0, 0.0, 0.0, 1.0], [-0.7, 0.0, 0.0, 1.0, 3.0]],
        [0.880531410040874, 0.4096908699246526, 0.28147858961047056],
        ["yes", "no", "no"],
        {"k": 2, "gamma": 10.0},
    ),
}
"""Rows, the probabilities of the second class, labels and parameters of files written by version 0.1.0."""


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("kind", FIRST_FORMAT)
def test_files_of_the_first_format(kind):
    X, probabilities, labels, parameters = FIRST_FORMAT[kind]
    model = ss.load_model(DATA / f"model_v1_{kind}.json")
    assert model.get_params() == ss.L0LogisticRegression(**parameters, refit_gamma="same").get_params()
    assert model.selection_.gamma == model.estimate_.gamma == parameters["gamma"]
    np.testing.assert_array_equal(model.selection_.coef, model.coef_[0])
    assert np.isnan(model.estimate_.deviations).all()
    assert model.predict(X).tolist() == labels
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], probabilities, rtol=1e-14)


def test_a_file_of_the_first_format_predicts_on_the_command_line(tmp_path):
    data = tmp_path / "new.csv"
    data.write_text("age,town,dose\n1.5,Oslo,0.2\n,Lima,1\n-0.7,,3\n")
    command = [sys.executable, "-m", "safescreen.cli", "predict", str(DATA / "model_v1_command_line.json"), str(data)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["index,label", "0,yes", "1,no", "2,no"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"n_features": 10**11, "feature_names": None}, "100,000,000,000 features"),
        ({"n_features": 10**30, "feature_names": None}, "features"),
        ({"classes": {"dtype": "<U500000000", "labels": ["a", "b"]}}, "labels of 2,000,000,000 bytes"),
        ({"classes": {"dtype": "<U100000", "labels": ["a", "b"]}}, "labels of 400,000 bytes"),
    ],
)
def test_small_files_that_would_take_the_memory(path, changes, reason):
    document = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    content = {name: value for name, value in document.items() if name not in ("format", "version", "sha256")}
    path.write_text(json.dumps({**document, "sha256": digest(content)}), encoding="utf-8")
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=f"it is damaged .*{reason}"):
            ss.load_model(path)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()
