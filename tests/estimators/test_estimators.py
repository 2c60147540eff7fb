"""The estimators: scikit-learn's own checks, its tools on real data, and the same answers as `solve`."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import safescreen as ss
from safescreen import EndedEarlyWarning, L0LogisticRegression, SafeScreener
from safescreen.defaults import AUTO_RIDGE, BUDGET, GAMMA, REFIT_GAMMA
from safescreen.estimators import classifier

SKLEARN = tuple(int(part) for part in sklearn.__version__.split(".")[:2])


@pytest.mark.filterwarnings("ignore::safescreen.OneClassWarning")
@parametrize_with_checks([L0LogisticRegression(), SafeScreener()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


ARRAY_CHECKS = """
from sklearn.utils.estimator_checks import estimator_checks_generator
from safescreen import L0LogisticRegression, SafeScreener

for estimator in (L0LogisticRegression(), SafeScreener()):
    for _, check in estimator_checks_generator(estimator):
        if "check_array_api_input" in str(check):
            check(estimator)
            print("passed")
"""


@pytest.mark.skipif(SKLEARN < (1, 9), reason="needs scikit-learn 1.9")
def test_scikit_learn_array_checks():
    """These are skipped above unless SciPy was told at its import to expect other kinds of arrays."""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    command = [sys.executable, "-c", ARRAY_CHECKS]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    assert done.stdout.split() == ["passed"] * 2


@pytest.fixture(scope="module")
def cancer():
    """The ten mean features, as a frame, with labels that are words."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :10], np.where(y == 1, "benign", "malignant")


@pytest.fixture(scope="module")
def fitted(cancer) -> L0LogisticRegression:
    return L0LogisticRegression(k=3, gamma=100.0).fit(*cancer)


@pytest.mark.filterwarnings("ignore::safescreen.OneClassWarning")
@pytest.mark.parametrize("options", [{"k": 3}, {"mu": 0.01}, {"mu": 0.005, "k": 4, "gamma": 5.0}])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_agrees_with_solve(options, standardize, fit_intercept):
    X, y, _ = ss.datasets.make_sparse_logistic(120, 20, 5, 1.0, random_state=1)
    options = {"gamma": GAMMA, "standardize": standardize, "fit_intercept": fit_intercept, **options}
    problem = ss.Problem(X, y, **options)
    solution = ss.solve(problem)
    model = L0LogisticRegression(**options, refit_gamma="same").fit(X, y)
    np.testing.assert_array_equal(model.coef_, [solution.coef])
    assert model.intercept_.tolist() == [solution.intercept]
    assert model.objective_ == solution.objective == problem.objective(model.coef_[0], model.intercept_[0])
    assert model.lower_bound_ == solution.lower_bound
    assert (model.gap_, model.status_) == (solution.gap, "optimal")
    again = L0LogisticRegression(**options).fit(X, y)  # estimated elsewhere, but chosen and proved alike
    np.testing.assert_array_equal(again.selection_.coef, solution.coef)
    assert again.selection_.intercept == solution.intercept
    assert (again.objective_, again.lower_bound_) == (solution.objective, solution.lower_bound)


@pytest.mark.parametrize("refit_gamma", [REFIT_GAMMA, 7.0, "cv"])
def test_coefficients_are_those_of_the_second_ridge(cancer, refit_gamma):
    """As scikit-learn estimates them from the chosen columns, brought to one scale."""
    X, y = cancer
    model = L0LogisticRegression(k=3, refit_gamma=refit_gamma).fit(X, y)
    gamma = model.estimate_.gamma
    assert gamma == {"auto": AUTO_RIDGE, "cv": gamma}.get(refit_gamma, refit_gamma)
    reference = make_pipeline(StandardScaler(), LogisticRegression(C=gamma / (2 * len(y)), tol=1e-10, max_iter=1000))
    reference.fit(X.iloc[:, model.support_], y)
    expected = reference.decision_function(X.iloc[:, model.support_])
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-5)
    assert np.linalg.norm(model.coef_) > np.linalg.norm(model.selection_.coef)


def test_attributes(cancer, fitted):
    X, _ = cancer
    assert fitted.coef_.shape == (1, 10)
    assert fitted.intercept_.shape == (1,)
    assert fitted.classes_.tolist() == ["benign", "malignant"]
    assert fitted.support_.tolist() == np.flatnonzero(fitted.coef_[0]).tolist() == fitted.get_support(True).tolist()
    np.testing.assert_array_equal(np.flatnonzero(fitted.get_support()), fitted.support_)
    assert fitted.n_iter_ >= 1
    assert fitted.n_features_in_ == 10
    assert fitted.feature_names_in_.tolist() == list(X.columns)
    assert fitted.solution_.feature_names == X.columns[fitted.support_].tolist()
    assert 0.0 <= fitted.gap_ <= fitted.rel_gap


def test_predictions_are_consistent(cancer, fitted):
    X, y = cancer
    log_odds = fitted.decision_function(X)
    probabilities = fitted.predict_proba(X)
    np.testing.assert_allclose(log_odds, X.to_numpy() @ fitted.coef_[0] + fitted.intercept_[0], rtol=1e-9)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(np.log(probabilities), fitted.predict_log_proba(X), rtol=1e-10)
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[probabilities.argmax(axis=1)])
    assert fitted.score(X, y) == np.mean(fitted.predict(X) == y) > 0.9


def test_log_probabilities_stay_finite(cancer, fitted):
    X, _ = cancer
    assert np.isfinite(fitted.predict_log_proba(1e6 * X)).all()


@pytest.mark.filterwarnings("ignore::safescreen.OneClassWarning")
def test_default_budget():
    X, y, _ = ss.datasets.make_sparse_logistic(200, 30, 5, 1.0, random_state=0)
    assert L0LogisticRegression().fit(X, y).solution_.problem.k == BUDGET
    assert L0LogisticRegression().fit(X[:, :4], y).solution_.problem.k == 4
    assert L0LogisticRegression(mu=0.01).fit(X, y).solution_.problem.k == 30


@pytest.mark.parametrize("container", [np.asfortranarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_kinds_of_matrices(cancer, fitted, container):
    X, y = cancer
    data = container(X.to_numpy())
    model = L0LogisticRegression(k=3, gamma=100.0).fit(data, y)
    np.testing.assert_allclose(model.coef_, fitted.coef_, rtol=1e-6)
    np.testing.assert_array_equal(model.predict(data), fitted.predict(X))
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble, np.int16, np.bool_])
def test_dtypes(cancer, dtype):
    X, y = cancer
    data = X.gt(X.median()).to_numpy().astype(dtype)
    model = L0LogisticRegression(k=3, gamma=100.0).fit(data, y)
    expected = L0LogisticRegression(k=3, gamma=100.0).fit(data.astype(np.float64), y)
    assert model.decision_function(data).dtype == np.float64
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(data), expected.predict(data.astype(np.float64)))


def test_polars(cancer, fitted):
    X, y = cancer
    frame = pl.DataFrame({name: X[name].to_numpy() for name in X.columns})
    model = L0LogisticRegression(k=3, gamma=100.0).fit(frame, pl.Series(y))
    assert model.feature_names_in_.tolist() == list(X.columns)
    np.testing.assert_array_equal(model.predict(frame), fitted.predict(X))


def test_wrong_columns(cancer, fitted):
    X, _ = cancer
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(X.rename(columns={"mean radius": "radius"}))


def test_more_than_two_classes():
    X, y = load_iris(return_X_y=True)
    for estimator in (L0LogisticRegression(k=2), SafeScreener(k=2)):
        with pytest.raises(ValueError, match=r"Only binary .* 3 classes.*OneVsRestClassifier"):
            estimator.fit(X, y)


def test_third_class_of_weight_zero_counts_as_absent():
    X, y = load_iris(return_X_y=True)
    model = L0LogisticRegression(k=2).fit(X, y, sample_weight=(y < 2).astype(float))
    assert model.classes_.tolist() == [0, 1]


def test_one_class():
    with pytest.raises(ValueError, match="only one class"):
        L0LogisticRegression().fit(np.eye(4), np.ones(4))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k is 0"),
        ({"mu": -1.0}, "mu is -1.0"),
        ({"gamma": 0.0}, "gamma is 0.0"),
        ({"refit_gamma": 0.0}, "refit_gamma is 0.0, .*'same' or 'cv'"),
        ({"refit_gamma": "CV"}, "refit_gamma is 'CV', .*'same' or 'cv'"),
        ({"rel_gap": 2}, "rel_gap is 2"),
        ({"time_limit": -1}, "time_limit is -1"),
        ({"n_threads": 0}, "n_threads is 0"),
        ({"class_weight": "even"}, "balanced"),
        ({"class_weight": {"benign": -1.0}}, "class_weight is {'benign': -1.0}"),
        ({"class_weight": {"good": 1.0}}, "not in class_weight"),
    ],
)
def test_bad_parameters(cancer, options, message):
    with pytest.raises(ValueError, match=message):
        L0LogisticRegression(**options).fit(*cancer)


@pytest.mark.parametrize("estimator", [L0LogisticRegression, SafeScreener])
def test_class_weight_is_sample_weight(cancer, estimator):
    X, y = cancer
    malignant = y == "malignant"
    weights = np.random.default_rng(0).uniform(0.5, 1.5, y.size)
    balance = np.where(malignant, 1.0 / weights[malignant].sum(), 1.0 / weights[~malignant].sum())
    for class_weight, factors in (
        ({"malignant": 3.0}, np.where(malignant, 3.0, 1.0)),
        ("balanced", balance),
    ):
        by_class = estimator(k=3, class_weight=class_weight).fit(X, y, sample_weight=weights)
        by_sample = estimator(k=3).fit(X, y, sample_weight=weights * factors)
        np.testing.assert_array_equal(by_class.get_support(), by_sample.get_support())
        if estimator is L0LogisticRegression:
            np.testing.assert_allclose(by_class.coef_, by_sample.coef_, rtol=1e-6)
            assert by_class.objective_ == pytest.approx(by_sample.objective_, rel=1e-10)


def test_balanced_as_scikit_learn_has_it(cancer):
    X, y = cancer
    counts = {label: float(np.sum(y == label)) for label in np.unique(y)}
    usual = {label: y.size / (2.0 * count) for label, count in counts.items()}
    balanced = L0LogisticRegression(k=3, class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(balanced.coef_, L0LogisticRegression(k=3, class_weight=usual).fit(X, y).coef_, rtol=1e-6)


@pytest.fixture(scope="module")
def endless():
    """Not solved in any reasonable time."""
    X, y, _ = ss.datasets.make_sparse_logistic(100, 400, 8, 0.5, random_state=0)
    return X, y


def test_convergence_warning_states_the_gap(endless):
    model = L0LogisticRegression(k=20, gamma=1e4, time_limit=0.2)
    with pytest.warns(ConvergenceWarning, match="time_limit") as caught:
        model.fit(*endless)
    assert model.status_ == "time_limit"
    assert model.gap_ > model.rel_gap
    assert f"gap of {model.gap_:.3g}" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert model.support_.size <= 20


def test_warm_start(endless, cancer):
    X, y = endless
    model = L0LogisticRegression(k=20, gamma=1e4, node_limit=1, warm_start=True)
    with pytest.warns(ConvergenceWarning):
        first = model.fit(X, y).objective_
    model.time_limit = 0.0
    with pytest.warns(ConvergenceWarning):
        warm = model.fit(X, y).objective_
    with pytest.warns(ConvergenceWarning):
        cold = clone(model).fit(X, y).objective_
    assert warm <= first * (1.0 + 1e-6) < cold
    model.set_params(k=3, gamma=1.0, time_limit=None).fit(*cancer)  # other data: a start of the wrong shape is ignored
    assert model.status_ == "optimal"


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_duplicates(cancer, fitted, duplicate):
    X, _ = cancer
    twin = duplicate(fitted)
    np.testing.assert_array_equal(twin.predict_proba(X), fitted.predict_proba(X))
    assert twin.get_params() == fitted.get_params()
    assert twin.objective_ == fitted.objective_
    assert twin.solution_ is None
    assert fitted.solution_ is not None


def test_pickles_do_not_carry_the_data(cancer, fitted):
    assert len(pickle.dumps(fitted)) < cancer[0].to_numpy().nbytes / 10


def test_clone_is_unfitted(cancer, fitted):
    with pytest.raises(NotFittedError):
        clone(fitted).predict(cancer[0])
    with pytest.raises(NotFittedError):
        clone(fitted).get_support()


@pytest.mark.parametrize("verbose", [0, 1])
def test_verbose_asks_for_progress(cancer, monkeypatch, verbose):
    asked = []
    original = classifier.solve

    def spy(problem, **options):
        asked.append(options["progress"])
        return original(problem, **options)

    monkeypatch.setattr(classifier, "solve", spy)
    L0LogisticRegression(k=3, verbose=verbose).fit(*cancer)
    assert asked == [bool(verbose)]


def test_silent_by_default(cancer, capfd):
    L0LogisticRegression(k=3).fit(*cancer)
    assert capfd.readouterr() == ("", "")


def test_attributes_are_the_users_own(cancer):
    model = L0LogisticRegression(k=3).fit(*cancer)
    before = model.solution_.coef.copy()
    model.coef_[:] = 0.0
    np.testing.assert_array_equal(model.solution_.coef, before)


# scikit-learn's tools, on real data


@pytest.mark.filterwarnings("ignore::safescreen.OneClassWarning")
def test_grid_search(cancer):
    grid = {"k": [1, 3], "refit_gamma": [0.1, 10.0]}
    search = GridSearchCV(L0LogisticRegression(), grid, cv=3, scoring="neg_log_loss").fit(*cancer)
    assert search.best_params_ == {"refit_gamma": 10.0, "k": 3}
    assert search.best_estimator_.status_ == "optimal"


def test_pipeline_with_screener():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    pipeline = make_pipeline(SafeScreener(mu=0.01, gamma=10.0), StandardScaler(), LogisticRegression())
    pipeline.fit(X, y)
    screener, last = pipeline[0], pipeline[-1]
    assert screener.excluded_.size > 0
    assert last.n_features_in_ == 30 - screener.excluded_.size
    assert pipeline.score(X, y) > 0.9
    assert pipeline[:-1].get_feature_names_out().tolist() == X.columns[screener.support_].tolist()


def test_cross_val_score(cancer):
    assert cross_val_score(L0LogisticRegression(k=2, gamma=100.0), *cancer, cv=3).min() > 0.85


def test_one_vs_rest():
    X, y = load_iris(return_X_y=True)
    model = OneVsRestClassifier(L0LogisticRegression(k=2, gamma=100.0, refit_gamma="same")).fit(X, y)
    assert len(model.estimators_) == 3
    assert all(part.support_.size == 2 for part in model.estimators_)
    assert model.score(X, y) > 0.9


def test_calibration(cancer):
    X, y = cancer
    model = CalibratedClassifierCV(L0LogisticRegression(k=3, gamma=0.1), cv=3).fit(X, y)
    assert log_loss(y, model.predict_proba(X)) < 0.3


def test_permutation_importance(cancer, fitted):
    X, y = cancer
    importance = permutation_importance(fitted, X, y, n_repeats=3, random_state=0).importances_mean
    assert (importance[~fitted.get_support()] == 0.0).all()
    assert importance.max() > 0.0


@pytest.mark.parametrize("estimator", [L0LogisticRegression(k=2), SafeScreener(k=2)])
def test_metadata_routing(cancer, estimator):
    X, y = cancer
    weights = np.where(y == "malignant", 2.0, 1.0)
    with config_context(enable_metadata_routing=True):
        routed = clone(estimator).set_fit_request(sample_weight=True)
        pipeline = make_pipeline("passthrough", routed).fit(X, y, sample_weight=weights)
    direct = clone(estimator).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(pipeline[-1].get_support(), direct.get_support())


# the screener


def test_screener_agrees_with_screen(cancer):
    X, y = cancer
    screener = SafeScreener(mu=0.01, gamma=10.0).fit(X, y)
    screening = ss.screen(ss.Problem(X, y, mu=0.01, gamma=10.0, fit_intercept=True, standardize=True))
    assert screener.excluded_.tolist() == screening.excluded.tolist() == screener.screening_.excluded.tolist()
    assert screener.included_.tolist() == screening.included.tolist()
    assert np.flatnonzero(~screener.get_support()).tolist() == screening.excluded.tolist()
    assert screener.support_.tolist() == screener.get_support(indices=True).tolist()
    assert screener.support_.dtype == np.int64
    assert screening.excluded.size > 0


def test_screener_keeps_the_optimal_model():
    X, y = load_breast_cancer(return_X_y=True)
    options = {"k": 3, "gamma": 0.2}
    screener = SafeScreener(**options).fit(X, y)
    model = L0LogisticRegression(**options).fit(X, y)
    assert screener.excluded_.size > 0
    assert np.isin(model.support_, screener.support_).all()
    assert np.isin(screener.included_, model.support_).all()
    screened = L0LogisticRegression(**options).fit(screener.transform(X), y)
    assert screened.objective_ == pytest.approx(model.objective_, rel=1e-4)


def test_screener_output_container(cancer):
    X, y = cancer
    screener = SafeScreener(mu=0.01, gamma=10.0).set_output(transform="pandas").fit(X, y)
    kept = screener.transform(X)
    assert isinstance(kept, pd.DataFrame)
    assert kept.columns.tolist() == screener.get_feature_names_out().tolist() == X.columns[screener.support_].tolist()


def test_screener_when_the_empty_model_is_optimal(cancer):
    X, y = cancer
    screener = SafeScreener(mu=1.0).fit(X, y)
    assert screener.support_.size == 0
    with pytest.warns(UserWarning, match="No features were selected"):
        assert screener.transform(X).shape == (len(X), 0)


def test_screener_sparse(cancer):
    X, y = cancer
    screener = SafeScreener(mu=0.01, gamma=10.0).fit(sparse.csr_array(X.to_numpy()), y)
    kept = screener.transform(sparse.csr_array(X.to_numpy()))
    assert kept.shape[1] == 10 - screener.excluded_.size < 10
    np.testing.assert_array_equal(kept.toarray(), X.to_numpy()[:, screener.support_])


# what `solve` offers, from the estimators


def test_decided_features_by_name_and_index(cancer):
    X, y = cancer
    model = L0LogisticRegression(k=2, include=[X.columns[7]], exclude=X.columns[3]).fit(X, y)
    assert 7 in model.support_
    assert 3 not in model.support_
    assert clone(model).get_params() == model.get_params()
    screener = SafeScreener(k=2, include=7, exclude=[3]).fit(X, y)
    assert 7 in screener.included_
    assert 3 in screener.excluded_
    assert not screener.get_support()[3]


def test_required_features_need_no_budget(cancer):
    X, y = cancer
    everything = L0LogisticRegression(include=range(10)).fit(X, y)
    assert everything.support_.size == 10
    with pytest.raises(ValueError, match="include has 3 features, but the budget k=2"):
        L0LogisticRegression(k=2, include=range(3)).fit(X, y)


def test_proof_of_a_fit(cancer, tmp_path):
    X, y = cancer
    model = L0LogisticRegression(k=3, gamma=10.0, proof=tmp_path / "proof.npz").fit(X, y)
    check = ss.verify(tmp_path / "proof.npz", X, y)
    assert check.valid, check.reason
    assert check.objective == pytest.approx(model.objective_, rel=1e-12)


def test_limits_screening_and_callback_reach_the_search():
    X, y, _ = ss.datasets.make_sparse_logistic(60, 40, 8, 1.0, random_state=0)
    seen = []
    options = {"k": 6, "gamma": 100.0}
    with pytest.warns(EndedEarlyWarning, match="node_limit"):
        limited = L0LogisticRegression(node_limit=3, screening="none", callback=seen.append, **options).fit(X, y)
    assert limited.status_ == "node_limit"
    assert limited.solution_.screening is None
    assert seen
    with pytest.warns(EndedEarlyWarning, match="interrupted"):
        L0LogisticRegression(callback=lambda moment: True, **options).fit(X, y)
    with pytest.raises(ValueError, match="screening is 'all'"):
        L0LogisticRegression(screening="all", **options).fit(X, y)
