"""The class that is modelled: scikit-learn sees sorted classes and right scores, whichever it is."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import get_scorer, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV

import safescreen as ss
from safescreen import L0LogisticRegression, L0LogisticRegressionCV, SafeScreener


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, :10], np.where(y == 1, "benign", "malignant")


@pytest.fixture(scope="module")
def iris():
    data = load_iris()
    return data.data, data.target_names[data.target]


@pytest.fixture(scope="module", params=["benign", "malignant"])
def model(request, cancer) -> L0LogisticRegression:
    return L0LogisticRegression(k=3, gamma=100.0, positive_class=request.param).fit(*cancer)


def test_classes_are_sorted_whichever_is_modelled(model):
    assert model.classes_.tolist() == ["benign", "malignant"]
    assert model.positive_class_ == model.positive_class


def test_coefficients_are_about_the_positive_class(model, cancer):
    X, _ = cancer
    log_odds = X @ model.coef_[0] + model.intercept_[0]
    place = model.classes_.tolist().index(model.positive_class)
    np.testing.assert_allclose(model.predict_proba(X)[:, place], 1.0 / (1.0 + np.exp(-log_odds)))
    sign = 1.0 if place == 1 else -1.0
    np.testing.assert_allclose(model.decision_function(X), sign * log_odds)


def test_predictions_agree_with_one_another(model, cancer):
    X, y = cancer
    probabilities = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), model.classes_[probabilities.argmax(axis=1)])
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(probabilities), atol=1e-12)
    assert model.score(X, y) == np.mean(model.predict(X) == y) > 0.9


def test_scikit_learn_scores_are_right(model, cancer):
    """These take it for granted that the second class is the larger one."""
    X, y = cancer
    malignant = model.predict_proba(X)[:, 1]
    assert get_scorer("neg_log_loss")(model, X, y) == pytest.approx(-log_loss(y == "malignant", malignant))
    assert get_scorer("neg_log_loss")(model, X, y) > -0.3
    assert get_scorer("roc_auc")(model, X, y) == pytest.approx(roc_auc_score(y == "malignant", malignant))
    assert get_scorer("roc_auc")(model, X, y) > 0.95
    assert get_scorer("accuracy")(model, X, y) == model.score(X, y)


def test_pickling_keeps_the_class(model, cancer):
    copy = pickle.loads(pickle.dumps(model))
    assert copy.positive_class_ == model.positive_class_
    np.testing.assert_array_equal(copy.predict(cancer[0]), model.predict(cancer[0]))


def test_grid_search_over_the_class(cancer):
    grid = {"positive_class": ["benign", "malignant"]}
    search = GridSearchCV(L0LogisticRegression(k=2), grid, scoring="neg_log_loss", cv=3).fit(*cancer)
    one, other = search.cv_results_["mean_test_score"]
    assert one == pytest.approx(other, rel=1e-3)


def test_one_of_three_words(iris):
    X, y = iris
    model = L0LogisticRegression(k=2, gamma=100.0, positive_class="virginica").fit(X, y)
    assert model.classes_.tolist() == ["not virginica", "virginica"]
    assert model.positive_class_ == "virginica"
    predicted = model.predict(X)
    right = (predicted == "virginica") == (y == "virginica")
    assert model.score(X, y) == right.mean() > 0.9
    weights = np.where(y == "setosa", 0.0, 1.0)
    assert model.score(X, y, weights) == pytest.approx(np.average(right, weights=weights))


@pytest.mark.parametrize("positive", [0, 1, 2])
def test_one_of_three_numbers(positive):
    X, y = load_iris(return_X_y=True)
    model = L0LogisticRegression(k=2, gamma=100.0, positive_class=positive).fit(X, y)
    assert model.classes_.tolist() == [False, True]
    assert model.positive_class_ is np.True_
    assert model.score(X, y) == np.mean(model.predict(X) == (y == positive)) > 0.7


def test_class_weights_are_those_of_the_two_classes(iris):
    X, y = iris
    weight = {"virginica": 3.0, "not virginica": 0.5}
    model = L0LogisticRegression(k=2, positive_class="virginica", class_weight=weight).fit(X, y)
    weights = np.where(y == "virginica", 3.0, 0.5)
    problem = ss.Problem(X, y, k=2, gamma=model.gamma, positive_class="virginica", sample_weight=weights)
    assert model.objective_ == pytest.approx(ss.solve(problem).objective, rel=1e-12)
    balanced = L0LogisticRegression(k=2, positive_class="virginica", class_weight="balanced").fit(X, y)
    halves = balanced.solution_.problem
    assert halves.weights[halves.y > 0.0].sum() == pytest.approx(0.5)
    with pytest.raises(ValueError, match="not in class_weight"):
        L0LogisticRegression(k=2, positive_class="virginica", class_weight={"setosa": 2.0}).fit(X, y)


@pytest.mark.parametrize("estimator", [L0LogisticRegression(), L0LogisticRegressionCV(), SafeScreener()])
def test_three_classes_need_one_by_name(estimator, iris):
    with pytest.raises(ValueError, match=r"^Only binary classification is supported\. .*positive_class="):
        estimator.fit(*iris)
    with pytest.raises(ValueError, match=r"positive_class is 'rose', .*'setosa', 'versicolor', 'virginica'"):
        estimator.set_params(positive_class="rose").fit(*iris)


def test_screening_is_about_the_same_problem(iris):
    X, y = iris
    screener = SafeScreener(mu=0.05, positive_class="setosa").fit(X, y)
    screening = ss.screen(ss.Problem(X, y, mu=0.05, gamma=screener.gamma, positive_class="setosa"))
    assert screener.positive_class_ == "setosa"
    np.testing.assert_array_equal(screener.excluded_, screening.excluded)


@pytest.mark.parametrize("scoring", [None, "neg_log_loss", "roc_auc", "accuracy"])
@pytest.mark.parametrize("words", [True, False])
def test_cross_validation_with_three_classes(words, scoring, iris):
    """The same as with labels that somebody made two of beforehand: folds, scores and model."""
    X, y = iris if words else load_iris(return_X_y=True)
    positive = "versicolor" if words else 1
    options = {"k": [1, 2], "gamma": 10.0, "cv": 3, "scoring": scoring}
    model = L0LogisticRegressionCV(positive_class=positive, **options).fit(X, y)
    before = L0LogisticRegressionCV(**options).fit(X, y == positive)
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], before.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(model.coef_, before.coef_)
    assert model.best_estimator_.positive_class_ == model.positive_class_ == (positive if words else True)
    assert model.score(X, y) == before.score(X, y == positive)


def test_cross_validation_of_the_smaller_label(cancer):
    X, y = cancer
    options = {"k": [1, 2], "cv": 3, "scoring": "roc_auc"}
    benign = L0LogisticRegressionCV(positive_class="benign", **options).fit(X, y)
    malignant = L0LogisticRegressionCV(**options).fit(X, y)
    assert benign.positive_class_ == "benign"
    np.testing.assert_allclose(benign.cv_results_["mean_test_score"], malignant.cv_results_["mean_test_score"], 1e-3)
    np.testing.assert_allclose(benign.coef_, -malignant.coef_, atol=1e-4)
