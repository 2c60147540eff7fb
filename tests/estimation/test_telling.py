"""One sentence that says which ridge is which, and facts that call for a warning."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import safescreen as ss
from safescreen.estimation import estimate
from safescreen.estimation.cautions import only_class, scale_ratio, training_log_odds
from safescreen.estimation.telling import Choice, which_is_which


@pytest.fixture(scope="module")
def solution() -> ss.Solution:
    X, y, _ = ss.datasets.make_sparse_logistic(80, 6, 3, 1.0, random_state=0)
    return ss.solve(ss.Problem(X, y, k=2, gamma=3.0))


def test_two_ridges(solution):
    assert which_is_which(solution, 40.0) == (
        "Chosen at γ = 3: proved that no other choice of at most 2 features has an objective lower by more than "
        "0.01\u00a0%; coefficients estimated at γ = 40."
    )


@pytest.mark.parametrize(
    ("terms", "others"),
    [
        ({"k": 1}, "choice of at most 1 feature has"),
        ({"k": 6}, "choice of features has"),
        ({"mu": 0.25}, "choice of features, at a price of 0.25 each, has"),
        ({"k": 2, "mu": 0.25}, "choice of at most 2 features, at a price of 0.25 each, has"),
        ({"k": 2, "exclude": 1}, "allowed choice of at most 2 features has"),
        ({"k": 2, "include": 1}, "allowed choice of at most 2 features has"),
    ],
)
def test_it_says_which_choices_the_proof_is_about(terms, others):
    X, y, _ = ss.datasets.make_sparse_logistic(80, 6, 3, 1.0, random_state=0)
    assert f"no other {others} an objective lower" in which_is_which(ss.solve(ss.Problem(X, y, **terms)), 40.0)


def test_a_budget_that_is_not_known_is_not_made_up():
    choice = Choice(gamma=3.0, status="optimal", gap=0.0, n_features=6)
    assert "no other choice that was allowed has an objective lower" in which_is_which(choice, 40.0)


def test_one_ridge(solution):
    assert which_is_which(solution, 3.0).startswith("Chosen and estimated at γ = 3: proved that no other")


def test_a_choice_that_is_not_proved(solution):
    early = replace(solution, status="time_limit", lower_bound=0.905 * solution.objective)
    said = which_is_which(early, 40.0)
    assert "not proved (another one may have an objective lower by up to 9.6\u00a0%)" in said
    assert said.endswith("coefficients estimated at γ = 40.")


def test_log_odds_of_training_rows_are_predictions():
    X, y, _ = ss.datasets.make_sparse_logistic(80, 6, 3, 1.0, random_state=0)
    model = ss.L0LogisticRegression(k=2).fit(X + 5.0, y)
    problem = model.solution_.problem
    np.testing.assert_allclose(training_log_odds(problem, model.estimate_), model.decision_function(X + 5.0), atol=1e-9)


def test_a_model_of_one_class(solution):
    weak = ss.solve(ss.Problem(np.eye(20)[:, :2], np.arange(20) < 3, k=1, gamma=1e-3))
    assert only_class(weak, estimate(weak, "same")) == weak.problem.class_names[0]
    assert only_class(replace(weak, status="time_limit"), estimate(weak, "same")) is None
    assert only_class(solution, estimate(solution, "same")) is None


@pytest.mark.parametrize(
    ("factor", "standardize", "found"), [(1e5, False, True), (1e5, True, False), (2.0, False, False)]
)
def test_columns_of_very_different_scales(factor, standardize, found):
    X, y, _ = ss.datasets.make_sparse_logistic(80, 3, 3, 1.0, random_state=0)
    ratio = scale_ratio(ss.Problem(X * [1.0, 1.0, factor], y, k=2, standardize=standardize))
    assert (ratio is not None) == found
    if ratio is not None:
        assert ratio == pytest.approx(factor, rel=0.5)
