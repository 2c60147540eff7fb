"""Cross-validation: scikit-learn's own checks, its own search as a reference, and the rules of choice."""

from __future__ import annotations

import dataclasses
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, GroupKFold, LeaveOneOut, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import safescreen as ss
from safescreen import EndedEarlyWarning
from safescreen.estimators import L0LogisticRegression
from safescreen.estimators.cross_validation import L0LogisticRegressionCV
from safescreen.path import solve_along


@pytest.fixture(scope="module")
def data():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:150, :8], y[:150]


@parametrize_with_checks([L0LogisticRegressionCV(k=[1, 2], cv=3), L0LogisticRegressionCV(mu=[0.01, 0.1], cv=3)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc", "accuracy", None])
@pytest.mark.parametrize(("name", "values"), [("k", [3, 1, 2]), ("mu", [0.01, 0.1])])
def test_same_as_grid_search(data, scoring, name, values):
    gammas = [5.0, 0.5]
    ours = L0LogisticRegressionCV(**{name: values}, gamma=gammas, cv=3, scoring=scoring, rel_gap=1e-9).fit(*data)
    grid = {"gamma": gammas, name: values}
    theirs = GridSearchCV(L0LogisticRegression(rel_gap=1e-9), grid, cv=3, scoring=scoring or "neg_log_loss").fit(*data)
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    for key in ("mean_test_score", "std_test_score", "split0_test_score", "split2_test_score"):
        np.testing.assert_allclose(ours.cv_results_[key], theirs.cv_results_[key], atol=1e-6)
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_index_ == theirs.best_index_
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=1e-6)
    np.testing.assert_allclose(ours.coef_, theirs.best_estimator_.coef_, atol=1e-6)


def test_the_final_model_has_a_proof(data):
    model = L0LogisticRegressionCV(k=range(1, 5), cv=3).fit(*data)
    assert model.status_ == model.best_estimator_.status_ == "optimal"
    assert model.gap_ <= 1e-4
    assert model.support_.size == model.best_params_["k"]
    np.testing.assert_array_equal(model.predict_proba(data[0]), model.best_estimator_.predict_proba(data[0]))
    np.testing.assert_array_equal(model.predict(data[0]), model.best_estimator_.predict(data[0]))
    assert (model.cv_results_["max_gap"] <= 1e-4).all()


def test_one_standard_error(data):
    best = L0LogisticRegressionCV(k=[4, 3, 2, 1], gamma=[100.0, 10.0], cv=5).fit(*data)
    simple = L0LogisticRegressionCV(k=[4, 3, 2, 1], gamma=[100.0, 10.0], cv=5, one_standard_error=True).fit(*data)
    results = best.cv_results_
    limit = best.best_score_ - results["std_test_score"][best.best_index_] / np.sqrt(5)
    allowed = [p for p, score in zip(results["params"], results["mean_test_score"], strict=True) if score >= limit]
    assert simple.best_params_ == min(allowed, key=lambda p: (p["k"], p["gamma"]))
    assert simple.best_score_ >= limit


def test_one_standard_error_prefers_a_high_price(data):
    model = L0LogisticRegressionCV(mu=[1e-3, 1e-9, 1e-4], cv=3, one_standard_error=True, refit=False).fit(*data)
    mean = model.cv_results_["mean_test_score"]
    assert model.best_params_["mu"] >= [1e-3, 1e-9, 1e-4][int(mean.argmax())]


def test_defaults(data):
    model = L0LogisticRegressionCV(cv=3).fit(*data)
    assert model.cv_results_["param_k"].tolist() == list(range(1, 9))
    assert model.n_splits_ == 3


def test_scalars_are_grids_of_one(data):
    model = L0LogisticRegressionCV(k=3, mu=0.01, cv=3).fit(*data)
    assert model.best_params_ == {"k": 3, "gamma": 1.0}
    assert model.best_estimator_.mu == 0.01
    assert L0LogisticRegressionCV(mu=0.01, cv=3).fit(*data).best_params_ == {"mu": 0.01, "gamma": 1.0}


def test_price_with_a_fixed_budget(data):
    model = L0LogisticRegressionCV(k=2, mu=[1e-4, 1e-3], cv=3).fit(*data)
    assert model.best_estimator_.k == 2
    assert model.support_.size <= 2


def test_without_refit(data):
    model = L0LogisticRegressionCV(k=[1, 2], cv=3, refit=False).fit(*data)
    assert model.best_params_["k"] in (1, 2)
    assert not hasattr(model, "best_estimator_")
    with pytest.raises(NotFittedError):
        model.predict(data[0])


def test_splitters(data):
    X, y = data
    groups = np.arange(150) % 7
    assert L0LogisticRegressionCV(k=[1, 2], cv=GroupKFold(3)).fit(X, y, groups=groups).n_splits_ == 3
    splits = list(StratifiedKFold(4).split(X, y))
    assert L0LogisticRegressionCV(k=[1, 2], cv=splits).fit(X, y).n_splits_ == 4
    rows = np.r_[:10, 140:150]
    one = L0LogisticRegressionCV(k=[1], cv=LeaveOneOut()).fit(X[rows], y[rows])
    assert np.isfinite(one.best_score_)


def test_parallel_folds_give_the_same(data):
    alone = L0LogisticRegressionCV(k=[1, 2], cv=3).fit(*data)
    together = L0LogisticRegressionCV(k=[1, 2], cv=3, n_jobs=2).fit(*data)
    np.testing.assert_array_equal(alone.cv_results_["mean_test_score"], together.cv_results_["mean_test_score"])


def clipped_parts(X, train, test):
    """Both parts between the extremes of the training rows."""
    return X[train], np.clip(X[test], X[train].min(axis=0), X[train].max(axis=0))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_parts_of_a_fold_can_be_made_otherwise(data, n_jobs):
    X, y = data
    splits = list(StratifiedKFold(3).split(X, y))
    generator = (split for split in splits)  # cannot be pickled, and need not be
    model = L0LogisticRegressionCV(
        k=[1, 2], cv=generator, n_jobs=n_jobs, rel_gap=1e-9, refit=False, make_parts=clipped_parts
    ).fit(X, y)
    for i, (train, test) in enumerate(splits):
        X_train, X_test = clipped_parts(X, train, test)
        fit = L0LogisticRegression(k=2, rel_gap=1e-9).fit(X_train, y[train])
        loss = log_loss(y[test], fit.predict_proba(X_test)[:, 1])
        assert model.cv_results_[f"split{i}_test_score"][1] == pytest.approx(-loss, abs=1e-6)
    plain = L0LogisticRegressionCV(k=[1, 2], cv=splits, refit=False).fit(X, y)
    assert abs(plain.best_score_ - model.best_score_) > 1e-5


def test_sparse_weights_and_class_weight(data):
    X, y = data
    weights = np.linspace(0.5, 1.5, 150)
    options = {"k": [1, 2], "cv": 3, "class_weight": "balanced"}
    dense = L0LogisticRegressionCV(**options).fit(X, y, sample_weight=weights)
    thin = L0LogisticRegressionCV(**options).fit(sparse.csr_array(X), y, sample_weight=weights)
    np.testing.assert_allclose(dense.cv_results_["mean_test_score"], thin.cv_results_["mean_test_score"], rtol=1e-6)


def test_frames_and_pipelines():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:150, :8]
    model = L0LogisticRegressionCV(k=[1, 2], cv=3).fit(X, y[:150])
    assert model.feature_names_in_.tolist() == list(X.columns)
    assert model.best_estimator_.feature_names_in_.tolist() == list(X.columns)
    pipeline = make_pipeline(StandardScaler(), L0LogisticRegressionCV(k=[1, 2], cv=3)).fit(X, y[:150])
    assert pipeline[-1].best_params_ == model.best_params_  # features are standardised inside anyway
    np.testing.assert_allclose(pipeline.predict_proba(X), model.predict_proba(X), rtol=1e-6)


def test_pickle_leaves_the_training_data_behind(data):
    model = L0LogisticRegressionCV(k=[1, 2], cv=3).fit(*data)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(data[0]), model.predict(data[0]))
    assert copy.solution_ is None
    assert copy.best_estimator_.solution_ is None


def test_early_end_is_reported():
    X, y, _ = ss.datasets.make_sparse_logistic(60, 100, 5, 1.0, random_state=0)
    model = L0LogisticRegressionCV(k=[6, 7], gamma=100.0, cv=2, time_limit=0.0, refit=False)
    with pytest.warns(ConvergenceWarning, match="of 4 fits in cross-validation ended early"):
        model.fit(X, y)


def test_threads_of_joblib(data):
    with joblib.parallel_config(backend="threading", n_jobs=2):
        model = L0LogisticRegressionCV(k=[1, 2], cv=3).fit(*data)
    assert model.status_ == "optimal"


def test_interrupt_ends_the_whole_search(data, monkeypatch):
    def interrupted(*args, **kwargs):
        return [dataclasses.replace(solution, status="interrupted") for solution in solve_along(*args, **kwargs)]

    monkeypatch.setattr("safescreen.estimators.cross_validation.solve_along", interrupted)
    with pytest.raises(KeyboardInterrupt):
        L0LogisticRegressionCV(k=[1], cv=3).fit(*data)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": [1], "mu": [0.1]}, "k and mu are both sequences"),
        ({"k": []}, "k is an empty sequence"),
        ({"k": [0]}, "k is 0"),
        ({"k": [1], "gamma": [-1.0]}, "gamma is -1.0"),
        ({"mu": -1.0}, "mu is -1.0"),
    ],
)
def test_bad_input(data, arguments, message):
    with pytest.raises(ValueError, match=message):
        L0LogisticRegressionCV(**arguments).fit(*data)


def test_display(data):
    pytest.importorskip("matplotlib").use("Agg")
    model = L0LogisticRegressionCV(k=[1, 2, 3], gamma=[1.0, 10.0], cv=3).fit(*data)
    display = ss.CVDisplay.from_estimator(model)
    assert display.ax_.get_ylabel() == "neg log loss (mean ± standard error)"


def test_features_decided_by_name(data):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = L0LogisticRegressionCV(k=[2, 3], cv=3, include="h", exclude=["a"]).fit(frame, y)
    assert 7 in model.support_
    assert 0 not in model.support_
    assert model.best_estimator_.include == "h"
    default = L0LogisticRegressionCV(cv=3, include=["g", "h"]).fit(frame, y)
    assert default.cv_results_["param_k"].tolist() == list(range(2, 9))


def test_proof_of_the_refit(data, tmp_path):
    X, y = data
    path = tmp_path / "proof.npz"
    model = L0LogisticRegressionCV(k=[2, 3], cv=3, proof=path).fit(X, y)
    check = ss.verify(path, X, y)
    assert check.valid, check.reason
    assert check.claims["k"] == model.best_params_["k"]
    with pytest.raises(ValueError, match=r"proof is .* but must name a file in a folder that exists"):
        L0LogisticRegressionCV(k=[2, 3], cv=3, proof=tmp_path / "no" / "proof.npz").fit(X, y)
    with pytest.raises(ValueError, match="refit is False"):
        L0LogisticRegressionCV(k=[2, 3], cv=3, proof=path, refit=False).fit(X, y)


def test_limits_and_screening_reach_every_fit(data):
    with pytest.warns(EndedEarlyWarning, match="of 6 fits"):
        L0LogisticRegressionCV(k=[3, 4], gamma=1e4, cv=3, node_limit=1, screening="none", refit=False).fit(*data)


def test_a_solution_from_elsewhere_is_adopted(data, tmp_path):
    X, y = data
    model = L0LogisticRegressionCV(k=[2, 3], cv=3, refit=False)
    with pytest.raises(NotFittedError, match="call fit before adopt"):
        model.adopt(None)
    model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    solution = ss.solve(ss.Problem(X, y, **model.best_params_))
    assert model.adopt(solution).solution_ is solution
    np.testing.assert_array_equal(model.coef_[0], solution.coef)
    np.testing.assert_array_equal(model.best_estimator_.predict(X), model.predict(X))
    ss.save_model(model, tmp_path / "model.json")
    loaded = ss.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.k == model.best_params_["k"]
