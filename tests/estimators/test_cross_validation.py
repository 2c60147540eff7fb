"""Cross-validation: scikit-learn's own checks, its own search as a reference, and the rules of choice."""

from __future__ import annotations

import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, GroupKFold, LeaveOneOut, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import safescreen as ss
from safescreen import EndedEarlyWarning, GridEdgeWarning, L0LogisticRegression, L0LogisticRegressionCV
from safescreen.defaults import GAMMAS, default_refits, default_sizes

pytestmark = pytest.mark.filterwarnings("ignore::safescreen.GridEdgeWarning")  # small grids, whose edges are near


@pytest.fixture(scope="module")
def data():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:150, :8], y[:150]


@pytest.mark.filterwarnings("ignore::safescreen.OneClassWarning")
@parametrize_with_checks([L0LogisticRegressionCV(k=[1, 2], cv=3), L0LogisticRegressionCV(mu=[0.01, 0.1], cv=3)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::safescreen.OneClassWarning")
@pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc", "accuracy", None])
@pytest.mark.parametrize(("name", "values"), [("k", [3, 1]), ("mu", [0.01, 0.1])])
def test_same_as_grid_search(data, scoring, name, values):
    grid = {"gamma": [5.0, 0.5], name: values, "refit_gamma": ["same", 50.0, "cv"]}
    ours = L0LogisticRegressionCV(**grid, cv=3, scoring=scoring, fold_gap=1e-9, rel_gap=1e-9).fit(*data)
    exact = L0LogisticRegression(rel_gap=1e-9)
    theirs = GridSearchCV(exact, grid, cv=3, scoring=scoring or "neg_log_loss", refit=False).fit(*data)
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    for key in ("mean_test_score", "std_test_score", "split0_test_score", "split2_test_score"):
        np.testing.assert_allclose(ours.cv_results_[key], theirs.cv_results_[key], atol=1e-6)
    assert ours.best_params_ == ours.cv_results_["params"][ours.best_index_]
    assert ours.best_score_ == ours.cv_results_["mean_test_score"][ours.best_index_]
    final = clone(exact).set_params(**ours.best_params_).fit(*data)
    np.testing.assert_allclose(ours.coef_, final.coef_, rtol=1e-5)


def test_the_final_model_has_a_proof(data):
    model = L0LogisticRegressionCV(k=range(1, 5), cv=3, fold_gap=0.02).fit(*data)
    assert model.status_ == model.best_estimator_.status_ == "optimal"
    assert model.gap_ <= 1e-4
    assert model.support_.size == model.best_params_["k"]
    np.testing.assert_array_equal(model.predict_proba(data[0]), model.best_estimator_.predict_proba(data[0]))
    np.testing.assert_array_equal(model.predict(data[0]), model.best_estimator_.predict(data[0]))
    assert (model.cv_results_["max_gap"] <= 0.02).all()
    assert (model.cv_results_["max_gap"] > 1e-4).any()  # scores do not need more
    assert model.objective_ == model.solution_.problem.objective(model.selection_.coef, model.selection_.intercept)


def test_one_standard_error(data):
    grid = {"k": [8, 6, 5, 4, 3, 2, 1], "gamma": [10.0, 1.0], "refit_gamma": [100.0, 10.0]}
    model = L0LogisticRegressionCV(**grid, cv=5, one_standard_error=True).fit(*data)
    results = model.cv_results_
    best = int(results["mean_test_score"].argmax())
    limit = results["mean_test_score"][best] - results["std_test_score"][best] / np.sqrt(5)
    allowed = [p for p, score in zip(results["params"], results["mean_test_score"], strict=True) if score >= limit]
    simplest = min(allowed, key=lambda p: (p["k"], p["gamma"]))
    assert (model.best_params_["k"], model.best_params_["gamma"]) == (simplest["k"], simplest["gamma"])
    assert model.best_params_["k"] < results["params"][best]["k"]
    assert model.best_score_ >= limit


def test_one_standard_error_prefers_a_high_price(data):
    options = {"mu": [1e-3, 1e-9, 1e-4], "gamma": 10.0, "cv": 3, "refit": False}
    model = L0LogisticRegressionCV(**options, one_standard_error=True).fit(*data)
    best = int(model.cv_results_["mean_test_score"].argmax())
    assert model.best_params_["mu"] >= model.cv_results_["params"][best]["mu"]


def test_defaults(data):
    model = L0LogisticRegressionCV(cv=3).fit(*data)
    tried = {(k, gamma, refit) for k in default_sizes(0, 8) for gamma in GAMMAS for refit in default_refits(150)}
    results = model.cv_results_
    assert set(zip(results["param_k"], results["param_gamma"], results["param_refit_gamma"], strict=True)) == tried
    assert len(results["params"]) == len(tried)
    assert model.n_splits_ == 3
    assert model.status_ == "optimal"


@pytest.mark.parametrize(("n_samples", "n_splits"), [(150, 20), (201, 10), (1001, 5)])
def test_few_samples_are_split_again_and_again(n_samples, n_splits):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n_samples, 2)), np.arange(n_samples) % 2
    assert L0LogisticRegressionCV(k=1, gamma=0.1, refit_gamma="same", refit=False).fit(X, y).n_splits_ == n_splits


def test_scalars_are_grids_of_one(data):
    fixed = {"gamma": 1.0, "refit_gamma": 20.0}
    model = L0LogisticRegressionCV(k=3, mu=0.01, cv=3, **fixed).fit(*data)
    assert model.best_params_ == {"k": 3, **fixed}
    assert model.best_estimator_.mu == 0.01
    assert L0LogisticRegressionCV(mu=0.01, cv=3, **fixed).fit(*data).best_params_ == {"mu": 0.01, **fixed}


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


def test_an_earlier_model_is_forgotten(data):
    model = L0LogisticRegressionCV(k=[1, 2], cv=3).fit(*data)
    model.set_params(refit=False, criterion="bic").fit(*data)
    assert "split0_test_score" not in model.cv_results_
    with pytest.raises(NotFittedError):
        model.predict(data[0])


def test_splitters(data):
    X, y = data
    groups = np.arange(150) % 7
    seen = []

    def spy(X, train, test):
        seen.append(set(groups[train]) & set(groups[test]))
        return X[train], X[test]

    assert L0LogisticRegressionCV(k=[1, 2], cv=GroupKFold(3), make_parts=spy).fit(X, y, groups=groups).n_splits_ == 3
    assert seen == [set()] * 3
    with pytest.raises(ValueError, match="groups"):
        L0LogisticRegressionCV(k=[1, 2], cv=GroupKFold(3)).fit(X, y)
    splits = list(StratifiedKFold(4).split(X, y))
    assert L0LogisticRegressionCV(k=[1, 2], cv=splits).fit(X, y).n_splits_ == 4
    rows = np.r_[:10, 140:150]
    one = L0LogisticRegressionCV(k=[1], cv=LeaveOneOut()).fit(X[rows], y[rows])
    assert np.isfinite(one.best_score_)


def test_parallel_folds_give_the_same(data):
    options = {"k": [1, 2], "cv": 3, "refit": False, "time_limit": None}
    alone = L0LogisticRegressionCV(**options).fit(*data)
    processes = L0LogisticRegressionCV(**options, n_jobs=2).fit(*data)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        threads = L0LogisticRegressionCV(**options).fit(*data)
    for together in (processes, threads):
        for name in (f"split{i}_test_score" for i in range(3)):
            # kernels that were compiled here and those that are loaded may differ in the last bits
            np.testing.assert_allclose(alone.cv_results_[name], together.cv_results_[name], rtol=1e-9)
        assert together.best_params_ == alone.best_params_


def clipped_parts(X, train, test):
    """Both parts between the extremes of the training rows."""
    return X[train], np.clip(X[test], X[train].min(axis=0), X[train].max(axis=0))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_parts_of_a_fold_can_be_made_otherwise(data, n_jobs):
    X, y = data
    splits = list(StratifiedKFold(3).split(X, y))
    generator = (split for split in splits)  # cannot be pickled, and need not be
    options = {"k": [1, 2], "gamma": 10.0, "refit_gamma": 30.0, "fold_gap": 1e-9, "refit": False, "n_jobs": n_jobs}
    model = L0LogisticRegressionCV(cv=generator, make_parts=clipped_parts, **options).fit(X, y)
    for i, (train, test) in enumerate(splits):
        X_train, X_test = clipped_parts(X, train, test)
        fit = L0LogisticRegression(k=2, gamma=10.0, refit_gamma=30.0, rel_gap=1e-9).fit(X_train, y[train])
        loss = log_loss(y[test], fit.predict_proba(X_test)[:, 1])
        assert model.cv_results_[f"split{i}_test_score"][1] == pytest.approx(-loss, abs=1e-6)
    plain = L0LogisticRegressionCV(cv=splits, **options).fit(X, y)
    assert abs(plain.best_score_ - model.best_score_) > 1e-5


def test_sparse_weights_and_class_weight(data):
    X, y = data
    weights = np.linspace(0.5, 1.5, 150)
    options = {"k": [1, 2], "cv": 3, "class_weight": "balanced"}
    dense = L0LogisticRegressionCV(**options).fit(X, y, sample_weight=weights)
    thin = L0LogisticRegressionCV(**options).fit(sparse.csr_array(X), y, sample_weight=weights)
    np.testing.assert_allclose(dense.cv_results_["mean_test_score"], thin.cv_results_["mean_test_score"], rtol=1e-6)
    np.testing.assert_allclose(dense.coef_, thin.coef_, rtol=1e-6)
    plain = L0LogisticRegressionCV(k=[1, 2], cv=3).fit(X, y)
    assert not np.allclose(plain.cv_results_["mean_test_score"], dense.cv_results_["mean_test_score"], rtol=1e-3)


@pytest.mark.parametrize("cv", [None, 3])
def test_rows_of_weight_zero_count_as_absent(data, cv):
    """Even if all of them would be held out together, as the last ones are."""
    X, y = data
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    absent = np.zeros(150, dtype=bool)
    absent[y.argmax() - 40 : y.argmax()] = absent[-40:] = True
    options = {"k": [1, 2], "gamma": 1.0, "cv": cv}
    weighted = L0LogisticRegressionCV(**options).fit(X, y, sample_weight=np.where(absent, 0.0, 2.0))
    without = L0LogisticRegressionCV(**options).fit(X[~absent], y[~absent])
    assert weighted.n_splits_ == without.n_splits_
    np.testing.assert_allclose(
        weighted.cv_results_["mean_test_score"], without.cv_results_["mean_test_score"], rtol=1e-6
    )
    assert weighted.best_params_ == without.best_params_


def test_a_fold_without_weight_is_refused(data):
    X, y = data
    weights = np.where(np.arange(150) < 10, 0.0, 1.0)
    splits = [(np.arange(75, 150), np.arange(75)), (np.arange(10, 150), np.arange(10))]
    with pytest.raises(ValueError, match="weight zero"):
        L0LogisticRegressionCV(k=1, cv=splits).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize(("small", "n_splits"), [(3, 3 * 4), (2, 2 * 4)])
def test_small_classes_have_fewer_folds(small, n_splits):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), np.arange(40) < small
    model = L0LogisticRegressionCV(k=1, gamma=0.1, refit_gamma="same", refit=False).fit(X, y)
    assert model.n_splits_ == n_splits


@pytest.mark.filterwarnings("ignore::safescreen.OneClassWarning")
def test_a_class_of_one_row_cannot_be_held_out():
    X, y = np.eye(20), np.arange(20) < 1
    with pytest.raises(ValueError, match="criterion"):
        L0LogisticRegressionCV(k=1).fit(X, y)
    assert L0LogisticRegressionCV(k=1, criterion="ebic").fit(X, y).support_.size == 1


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": [1], "mu": [0.1]}, "k and mu are both sequences"),
        ({"k": []}, "k is an empty sequence"),
        ({"k": [0]}, "k is 0"),
        ({"k": [1], "gamma": [-1.0]}, "gamma is -1.0"),
        ({"mu": -1.0}, "mu is -1.0"),
        ({"refit_gamma": []}, "refit_gamma is empty"),
        ({"refit_gamma": ["same", 0.0]}, "refit_gamma is 0.0"),
        ({"fold_gap": 2.0}, "^fold_gap is 2.0"),
        ({"time_limit": -1.0}, "time_limit is -1.0"),
        ({"criterion": "aic"}, "criterion is 'aic'"),
        ({"criterion": "bic", "scoring": "roc_auc"}, "criterion is 'bic' and scoring is 'roc_auc'"),
    ],
)
def test_bad_input(data, arguments, message):
    with pytest.raises(ValueError, match=message):
        L0LogisticRegressionCV(**arguments).fit(*data)


def test_features_decided_by_name(data):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = L0LogisticRegressionCV(k=[2, 3], cv=3, include="h", exclude=["a"]).fit(frame, y)
    assert 7 in model.support_
    assert 0 not in model.support_
    assert model.best_estimator_.include == "h"
    default = L0LogisticRegressionCV(cv=3, include=["g", "h"]).fit(frame, y)
    assert sorted(set(default.cv_results_["param_k"])) == default_sizes(2, 8)
    assert min(default.cv_results_["param_k"]) == 2
    assert {6, 7} <= set(default.support_.tolist())


def test_proof_of_the_refit(data, tmp_path):
    X, y = data
    path = tmp_path / "proof.npz"
    model = L0LogisticRegressionCV(k=[2, 3], cv=3, proof=path).fit(X, y)
    check = ss.verify(path, X, y)
    assert check.valid, check.reason
    assert (check.claims["k"], check.claims["gamma"]) == (model.best_params_["k"], model.best_params_["gamma"])
    with pytest.raises(ValueError, match=r"proof is .* but must name a file in a folder that exists"):
        L0LogisticRegressionCV(k=[2, 3], cv=3, proof=tmp_path / "no" / "proof.npz").fit(X, y)
    with pytest.raises(ValueError, match="refit is False"):
        L0LogisticRegressionCV(k=[2, 3], cv=3, proof=path, refit=False).fit(X, y)


def test_limits_and_screening_reach_every_fit(data):
    options = {"k": [3, 4], "gamma": 1e4, "refit_gamma": ["same", 2e4], "cv": 3, "node_limit": 1, "refit": False}
    with pytest.warns(EndedEarlyWarning, match=r"6 of 6 searches in the folds ended before their gap of 0\.01"):
        L0LogisticRegressionCV(**options, screening="none").fit(*data)


def test_a_solution_from_elsewhere_is_adopted(data, tmp_path):
    X, y = data
    model = L0LogisticRegressionCV(k=[2, 3], cv=3, refit=False)
    with pytest.raises(NotFittedError, match="call fit before adopt"):
        model.adopt(None)
    model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    terms = {name: model.best_params_[name] for name in ("k", "gamma")}
    solution = ss.solve(ss.Problem(X, y, **terms))
    assert model.adopt(solution).solution_ is solution
    np.testing.assert_array_equal(model.selection_.coef, solution.coef)
    refitted = L0LogisticRegressionCV(k=[2, 3], cv=3).fit(X, y)
    np.testing.assert_array_equal(model.coef_, refitted.coef_)
    np.testing.assert_array_equal(model.best_estimator_.predict(X), model.predict(X))
    ss.save_model(model, tmp_path / "model.json")
    loaded = ss.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.k == model.best_params_["k"]


def test_edges_are_said(data):
    options = {"gamma": 10.0, "refit_gamma": 30.0, "cv": 3, "refit": False}
    with pytest.warns(GridEdgeWarning, match="k=3 is the largest value tried, and more features may predict") as told:
        model = L0LogisticRegressionCV(k=[1, 2, 3], **options).fit(*data)
    assert told[0].filename == __file__
    assert model.edges_ == ["k=3 is the largest value tried, and more features may predict better"]
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # all features are no edge, and the default ridges are as far as we would go
        few = L0LogisticRegressionCV(k=[1, 2, 3], gamma=10.0, cv=3, refit=False).fit(X[:, :3], y)
    assert few.edges_ == []


def test_one_class_and_scales_are_said(data):
    X, y = data
    fixed = {"k": 1, "gamma": 1e-6, "refit_gamma": "same", "cv": 3}
    with pytest.warns(ss.OneClassWarning, match="for every training row"):
        L0LogisticRegressionCV(**fixed).fit(X, y)
    with pytest.warns(ss.ScaleWarning, match="very different scales"):
        L0LogisticRegressionCV(k=1, cv=3, standardize=False).fit(X, y)


def test_a_saved_model_is_the_chosen_one(tmp_path):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X.iloc[:150, :8], y[:150]
    model = L0LogisticRegressionCV(k=range(1, 4), cv=3).fit(X, y)
    ss.save_model(model, tmp_path / "model.json")
    loaded = ss.load_model(tmp_path / "model.json")
    assert isinstance(loaded, L0LogisticRegression)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert str(loaded.summary()) == str(model.summary())
    assert X.columns[model.support_[0]] in str(loaded.summary())


def test_clone_and_repr_have_only_what_was_set(data):
    model = L0LogisticRegressionCV(k=range(1, 3), refit_gamma=("same", 20.0), cv=3)
    fitted = clone(model).fit(*data)
    copy = clone(fitted)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "coef_")
    assert "refit_gamma=('same', 20.0)" in repr(fitted)
