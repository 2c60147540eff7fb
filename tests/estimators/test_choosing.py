"""Which candidate is chosen, on folds made up for the purpose."""

from __future__ import annotations

import numpy as np
import pytest

from safescreen.estimators.candidates import make_candidates
from safescreen.estimators.choosing import at_edges, choose, tabulate
from safescreen.estimators.folds import Fold

GAP = 0.01


def grid(k=(1, 2), gamma=(1.0, 10.0), refit_gamma=("same",), mu=None):
    return make_candidates(k, mu, gamma, refit_gamma, n_samples=100, n_features=50, n_required=0)


def folds_of(scores, gaps=0.0):
    """One fold per row of scores."""
    scores = np.asarray(scores, dtype=float)
    gaps = np.broadcast_to(gaps, scores.shape)
    same = np.ones(scores.shape[1])
    return [Fold(row, gap, 2.0 * same, 3.0 * same) for row, gap in zip(scores, gaps, strict=True)]


def chosen(candidates, scores, gaps=0.0, one_standard_error=False):
    return candidates.params[choose(candidates, folds_of(scores, gaps), GAP, one_standard_error)]


# candidates in order: (k=1, gamma=1), (k=2, gamma=1), (k=1, gamma=10), (k=2, gamma=10)


def test_the_best():
    """Folds agree on the differences, so that there is no doubt."""
    scores = np.add.outer([0.0, 1.0, 2.0], [0.1, 0.2, 0.4, 0.3])
    assert chosen(grid(), scores) == {"k": 1, "gamma": 10.0, "refit_gamma": "same"}


def test_a_stronger_ridge_that_cannot_be_told_from_the_best():
    doubtful = [[0.1, 0.5, 0.2, 0.4], [0.1, 0.3, 0.2, 0.5], [0.1, 0.4, 0.2, 0.4]]
    assert chosen(grid(), doubtful) == {"k": 2, "gamma": 1.0, "refit_gamma": "same"}


def test_of_one_ridge_the_best_even_if_others_are_near():
    doubtful = [[0.5, 0.4], [0.3, 0.5], [0.4, 0.4]]
    assert chosen(grid(gamma=1.0), doubtful)["k"] == 2


def test_one_fold_has_no_doubts():
    assert chosen(grid(), [[0.1, 0.2, 0.4, 0.3]])["gamma"] == 10.0


def test_unproved_gives_way_to_proved_within_doubt():
    scores = [[0.0, 0.50, 0.40], [0.0, 0.40, 0.45], [0.0, 0.45, 0.46]]
    unproved = np.array([0.0, 1.0, 0.0])
    candidates = grid(k=(1, 2, 3), gamma=1.0)
    assert chosen(candidates, scores)["k"] == 2
    assert chosen(candidates, scores, unproved)["k"] == 3
    clear = [[0.0, 0.50, 0.40], [0.0, 0.50, 0.40], [0.0, 0.50, 0.401]]
    assert chosen(candidates, clear, unproved)["k"] == 2


def test_a_gap_that_was_asked_for_is_proved():
    candidates = grid(k=(1, 2), gamma=1.0)
    scores = [[0.4, 0.5], [0.5, 0.45]]
    assert chosen(candidates, scores, [GAP, GAP])["k"] == 2
    assert chosen(candidates, scores, [GAP, 1.1 * GAP])["k"] == 1


def test_scores_that_are_no_numbers_lose():
    nan = np.nan
    assert chosen(grid(), [[nan, 0.1, nan, 0.3], [0.9, 0.1, nan, 0.3]])["k"] == 2
    assert chosen(grid(), [[nan] * 4, [nan] * 4]) == grid().params[0]


def test_one_standard_error_takes_the_fewest_features():
    scores = [[0.30, 0.40, 0.30, 0.50], [0.35, 0.40, 0.20, 0.30], [0.37, 0.40, 0.20, 0.45]]
    assert chosen(grid(), scores) == {"k": 2, "gamma": 1.0, "refit_gamma": "same"}
    assert chosen(grid(), scores, one_standard_error=True)["k"] == 2  # 0.34 is too far from 0.417 ± 0.049
    near = [[0.38, 0.40, 0.30, 0.50], [0.38, 0.40, 0.20, 0.30], [0.38, 0.40, 0.20, 0.45]]
    assert chosen(grid(), near, one_standard_error=True) == {"k": 1, "gamma": 1.0, "refit_gamma": "same"}


def test_one_standard_error_takes_the_highest_price():
    scores = [[0.39, 0.40, 0.2], [0.41, 0.42, 0.2], [0.38, 0.43, 0.2]]
    assert chosen(grid(k=None, mu=[0.1, 0.01, 0.5], gamma=1.0), scores, one_standard_error=True)["mu"] == 0.01
    wide = [[0.39, 0.30, 0.2], [0.41, 0.62, 0.2], [0.38, 0.43, 0.2]]
    assert chosen(grid(k=None, mu=[0.1, 0.01, 0.5], gamma=1.0), wide, one_standard_error=True)["mu"] == 0.1


def test_of_simplest_ones_the_best_estimates():
    candidates = grid(k=(1, 2), gamma=1.0, refit_gamma=("same", 30.0))
    scores = [[0.38, 0.39, 0.3, 0.5], [0.38, 0.39, 0.5, 0.3]]
    assert chosen(candidates, scores, one_standard_error=True) == {"k": 1, "gamma": 1.0, "refit_gamma": 30.0}


def test_table():
    candidates = grid(refit_gamma=("same", 30.0))
    scores = np.arange(16.0).reshape(2, 8)
    gaps = np.stack((np.zeros(8), np.linspace(0.0, 0.7, 8)))
    table = tabulate(candidates, folds_of(scores, gaps))
    assert table["params"] == candidates.params
    assert table["param_k"].dtype.kind == "i"
    assert table["param_gamma"].dtype.kind == "f"
    assert table["param_refit_gamma"].tolist() == ["same", 30.0] * 4
    np.testing.assert_array_equal(table["split1_test_score"], scores[1])
    np.testing.assert_array_equal(table["mean_test_score"], scores.mean(axis=0))
    np.testing.assert_array_equal(table["std_test_score"], np.full(8, 4.0))
    assert table["rank_test_score"].tolist() == [8, 7, 6, 5, 4, 3, 2, 1]
    np.testing.assert_array_equal(table["max_gap"], gaps[1])
    assert (table["mean_fit_time"] == 2.0).all()
    assert (table["mean_n_features"] == 3.0).all()


def test_ranks_of_ties_and_of_what_is_no_number():
    table = tabulate(grid(), folds_of([[np.nan, 0.1, 0.3, 0.3]]))
    assert table["rank_test_score"].tolist() == [4, 3, 1, 1]


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"k": 3, "gamma": 1.0, "refit_gamma": "same"}, ["k=3 is the largest value tried, and more features may"]),
        ({"k": 1, "gamma": 1.0, "refit_gamma": "same"}, []),
        ({"k": 2, "gamma": 9.0, "refit_gamma": 70.0}, ["gamma=9 is the largest", "refit_gamma=70 is the largest"]),
        ({"k": 2, "gamma": 3.0, "refit_gamma": 7.0}, []),
    ],
)
def test_edges(params, said):
    candidates = grid(k=(1, 2, 3), gamma=(3.0, 1.0, 9.0), refit_gamma=("same", 7.0, 70.0, 8.0))
    sentences = at_edges(candidates, list(candidates.tried), params, n_features=50)
    assert len(sentences) == len(said)
    assert all(sentence.startswith(start) for sentence, start in zip(sentences, said, strict=True))
    assert at_edges(candidates, [], params, n_features=50) == []


def test_no_edge():
    """All features, the cheapest of few prices, two values only."""
    params = {"k": 3, "gamma": 10.0, "refit_gamma": "same"}
    assert at_edges(grid(k=(1, 2, 3)), ["k"], params, n_features=3) == []
    assert at_edges(grid(k=(1, 2, 3)), ["gamma", "refit_gamma"], params, n_features=50) == []


def test_the_edge_of_prices_is_the_smallest():
    candidates = grid(k=None, mu=[0.1, 0.01, 0.001])
    cheap = {"mu": 0.001, "gamma": 1.0, "refit_gamma": "same"}
    assert at_edges(candidates, ["mu"], cheap, 50) == [
        "mu=0.001 is the smallest value tried, and more features may predict better"
    ]
    assert at_edges(candidates, ["mu"], {**cheap, "mu": 0.1}, 50) == []
