"""Model files know which class is modelled, and those from before have the larger label."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris

import safescreen as ss
from safescreen.saving.record import digest


@pytest.fixture(scope="module")
def iris():
    data = load_iris()
    return data.data, data.target, data.target_names[data.target]


@pytest.mark.parametrize("positive", ["setosa", "virginica", 0, 1, 2])
@pytest.mark.parametrize("as_solution", [False, True])
def test_round_trip(positive, as_solution, iris, tmp_path):
    X, numbers, words = iris
    y = words if isinstance(positive, str) else numbers
    model = ss.L0LogisticRegression(k=2, refit_gamma="same", positive_class=positive).fit(X, y)
    ss.save_model(model.solution_ if as_solution else model, tmp_path / "model.json")
    loaded = ss.load_model(tmp_path / "model.json")
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.positive_class_ == model.positive_class_
    assert loaded.positive_class == positive
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.score(X, y) == model.score(X, y)
    ss.save_model(loaded, tmp_path / "again.json")
    written = [json.loads((tmp_path / name).read_text()) for name in ("model.json", "again.json")]
    assert written[0] == written[1]
    assert written[0]["positive_class"] == positive


def test_the_smaller_of_two_labels(iris, tmp_path):
    X, _, words = iris
    X, y = X[words != "setosa"], words[words != "setosa"]
    model = ss.L0LogisticRegression(k=2, positive_class="versicolor").fit(X, y)
    ss.save_model(model, tmp_path / "model.json")
    loaded = ss.load_model(tmp_path / "model.json")
    assert loaded.classes_.tolist() == ["versicolor", "virginica"]
    assert loaded.positive_class_ == "versicolor"
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def rewrite(path, document):
    """Write entries with a checksum that fits."""
    parts = {name: value for name, value in document.items() if name not in ("format", "version", "sha256")}
    path.write_text(json.dumps({**document, "sha256": digest(parts)}))


def test_a_file_without_the_entry_models_the_second_label(iris, tmp_path):
    X, _, words = iris
    model = ss.L0LogisticRegression(k=2).fit(X, words == "setosa")
    path = tmp_path / "model.json"
    ss.save_model(model, path)
    document = json.loads(path.read_text())
    del document["positive_class"], document["parameters"]["positive_class"]
    rewrite(path, document)
    loaded = ss.load_model(path)
    assert loaded.positive_class_ == model.classes_[1]
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize("label", ["setosa", 3, [1], {}])
def test_a_class_that_is_none_of_the_labels(label, iris, tmp_path):
    X, _, words = iris
    path = tmp_path / "model.json"
    ss.save_model(ss.L0LogisticRegression(k=2, positive_class="virginica").fit(X, words), path)
    rewrite(path, {**json.loads(path.read_text()), "positive_class": label})
    with pytest.raises(ValueError, match=r"damaged \(entry 'positive_class' is"):
        ss.load_model(path)
