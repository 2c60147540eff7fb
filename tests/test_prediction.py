"""Predictions and scores agree with scikit-learn, whatever the data's form and weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import metrics

from safescreen import prediction

RNG = np.random.default_rng(0)
POSITIVE = RNG.random(80) < 0.4
LOG_ODDS = np.round(RNG.standard_normal(80) + POSITIVE, 1)
WEIGHTS = np.where(RNG.random(80) < 0.2, 0.0, RNG.random(80))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.bool_])
def test_forms_of_a_matrix_agree(dtype):
    X = RNG.integers(0, 2, (20, 6)).astype(dtype)
    coef = np.array([0.0, 1.5, 0.0, -2.0, 0.25, 0.0])
    expected = X.astype(np.float64) @ coef - 0.5
    for form in (X, np.asfortranarray(X), sparse.csr_array(X), sparse.csc_matrix(X)):
        found = prediction.linear_predictor(form, coef, -0.5)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_columns_without_a_coefficient_are_not_read():
    X = np.array([[1.0, np.nan], [2.0, np.inf]])
    assert prediction.linear_predictor(X, np.array([2.0, 0.0]), 1.0).tolist() == [3.0, 5.0]


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_scores_against_scikit_learn(weights):
    probability = prediction.probabilities(LOG_ODDS)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    asked = (LOG_ODDS, POSITIVE, weights)
    keyword = {"sample_weight": weights}
    assert prediction.log_loss(*asked) == pytest.approx(metrics.log_loss(POSITIVE, probability[:, 1], **keyword))
    assert prediction.accuracy(*asked) == pytest.approx(metrics.accuracy_score(POSITIVE, LOG_ODDS > 0.0, **keyword))
    assert prediction.auc(*asked) == pytest.approx(metrics.roc_auc_score(POSITIVE, LOG_ODDS, **keyword))


def test_area_is_undefined_with_one_class():
    everyone = np.ones(80, dtype=np.bool_)
    assert np.isnan(prediction.auc(LOG_ODDS, everyone))
    assert np.isnan(prediction.auc(LOG_ODDS, ~everyone))
    assert np.isnan(prediction.auc(LOG_ODDS, POSITIVE, POSITIVE.astype(np.float64)))


def test_infinite_predictions_are_the_most_confident_ones():
    positive, log_odds = np.array([True, False, True]), np.array([np.inf, -np.inf, 0.0])
    assert prediction.auc(log_odds, positive) == 1.0
    assert prediction.roc(log_odds, positive)[1].tolist() == [0.0, 0.5, 1.0, 1.0]
    assert prediction.log_loss(np.array([-800.0]), np.array([True])) == pytest.approx(800.0)


def test_calibration_line_is_an_unpenalised_regression():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(3)
    log_odds = 3.0 + 2.0 * rng.standard_normal(300)
    positive = rng.random(300) < 1.0 / (1.0 + np.exp(1.0 - 0.5 * log_odds))
    reference = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(log_odds[:, None], positive)
    expected = (reference.intercept_[0], reference.coef_[0, 0])
    assert prediction.calibration_line(log_odds, positive) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("positive", [LOG_ODDS > 0.2, LOG_ODDS < 0.2, LOG_ODDS < 99.0])
def test_there_is_no_calibration_line_without_overlap(positive):
    assert np.isnan(prediction.calibration_line(LOG_ODDS, positive)).all()
