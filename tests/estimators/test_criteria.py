"""Information criteria: values by hand, and a choice without folds."""

from __future__ import annotations

import math
import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import log_loss

import safescreen as ss
from safescreen import L0LogisticRegression, L0LogisticRegressionCV
from safescreen.estimators.criteria import check_criterion, information

pytestmark = pytest.mark.filterwarnings("ignore::safescreen.GridEdgeWarning")

CRITERIA = ("bic", "ebic", "gic")


@pytest.fixture(scope="module")
def data():
    X, y, _ = ss.datasets.make_sparse_logistic(200, 20, 3, 3.0, random_state=1)
    return X, y


def expected(criterion, loss, m, n, s):
    """As abess has them: the deviance and a price per feature, plus the choices there were."""
    return (
        2 * m * loss
        + {
            "bic": s * math.log(m),
            "ebic": s * math.log(m) + 2 * math.log(math.comb(n, s)),
            "gic": s * math.log(n) * math.log(math.log(m)),
        }[criterion]
    )


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(("m", "n", "s"), [(100, 30, 4), (50, 2000, 0), (3, 1, 1), (1000, 5, 5)])
def test_values(criterion, m, n, s):
    value = information(criterion, 0.25, n_samples=m, n_features=n, chosen=s)
    if criterion == "gic" and n == 1:
        assert value > 2 * m * 0.25  # log(1) would make features free
    else:
        assert value == pytest.approx(expected(criterion, 0.25, m, n, s))


@pytest.mark.parametrize("value", ["aic", "BIC", 1, ["bic"]])
def test_bad_criterion(value):
    with pytest.raises(ValueError, match=r"^criterion is .* but must be None, 'bic', 'ebic' or 'gic'\.$"):
        check_criterion(value)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_final_model_is_the_one_of_the_path(data, criterion):
    X, y = data
    model = L0LogisticRegressionCV(k=range(1, 7), gamma=10.0, refit_gamma=100.0, criterion=criterion).fit(X, y)
    results = model.cv_results_
    assert model.n_splits_ == 0
    assert not any(name.startswith("split") for name in results)
    np.testing.assert_array_equal(results["mean_test_score"], -results["criterion"])
    assert model.best_index_ == results["criterion"].argmin()
    assert model.best_score_ == -results["criterion"].min()
    for params, value in zip(results["params"], results["criterion"], strict=True):
        fit = L0LogisticRegression(**params).fit(X, y)
        loss = log_loss(y, fit.predict_proba(X)[:, 1])
        assert value == pytest.approx(expected(criterion, loss, 200, 20, fit.support_.size), rel=1e-6)
        if params == model.best_params_:
            np.testing.assert_allclose(model.coef_, fit.coef_, rtol=1e-6)
    assert model.status_ == "optimal"


def test_the_sizes_that_made_the_data(data):
    X, y = data
    for criterion in CRITERIA:
        assert L0LogisticRegressionCV(gamma=1.0, criterion=criterion).fit(X, y).support_.size == 3


def test_folds_choose_the_ridge_of_the_estimates_unless_it_is_given(data):
    model = L0LogisticRegressionCV(k=[2, 3], gamma=1.0, criterion="bic").fit(*data)
    assert model.best_params_["refit_gamma"] == "cv"
    assert model.estimate_.gamma >= 1.0
    given = L0LogisticRegressionCV(k=[2, 3], gamma=1.0, refit_gamma=20.0, criterion="bic").fit(*data)
    assert given.estimate_.gamma == 20.0


def test_rows_of_weight_zero_are_no_samples(data):
    X, y = data
    absent = np.arange(200) % 4 == 0
    options = {"k": [1, 2, 3], "gamma": 1.0, "refit_gamma": 20.0, "criterion": "bic"}
    weighted = L0LogisticRegressionCV(**options).fit(X, y, sample_weight=np.where(absent, 0.0, 3.0))
    without = L0LogisticRegressionCV(**options).fit(X[~absent], y[~absent])
    np.testing.assert_allclose(weighted.cv_results_["criterion"], without.cv_results_["criterion"], rtol=1e-6)


def test_sparse_and_three_classes(data):
    X, y = data
    thin = np.where(np.abs(X) > 0.8, X, 0.0)
    labels = np.where(y > 0, "a", np.where(np.arange(200) % 2, "b", "c"))
    options = {"k": [1, 2, 3], "gamma": 1.0, "criterion": "ebic"}
    model = L0LogisticRegressionCV(**options, positive_class="a").fit(sparse.csr_array(thin), labels)
    two = L0LogisticRegressionCV(**options).fit(thin, labels == "a")
    np.testing.assert_allclose(model.cv_results_["criterion"], two.cv_results_["criterion"], rtol=1e-6)
    assert model.classes_.tolist() == ["a", "not a"]


def test_without_refit_nothing_is_fitted(data):
    model = L0LogisticRegressionCV(k=[1, 2], criterion="bic", refit=False).fit(*data)
    assert not hasattr(model, "coef_")
    assert model.best_params_["k"] == 2


def test_a_search_cut_short_is_said():
    X, y, _ = ss.datasets.make_sparse_logistic(100, 300, 10, 0.5, random_state=0)
    model = L0LogisticRegressionCV(k=[15, 20], gamma=1e4, criterion="bic", time_limit=1.0, refit=False)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, y)
    (one,) = (one for one in told if one.category is ss.EndedEarlyWarning)
    assert re.match(r"The path .* 1 s: 2 of 2 searches of all data ended before their gap", str(one.message))
    assert one.filename == __file__
