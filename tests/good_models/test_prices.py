"""Prices lie between what a list knows and what a search proves; brute force agrees."""

from __future__ import annotations

import numpy as np
import pytest

import safescreen as ss
from safescreen.testing.reference import brute_force


@pytest.fixture(scope="module")
def data():
    X, y, _ = ss.datasets.make_sparse_logistic(60, 8, 3, 1.0, random_state=1)
    return X, y


def true_price(problem, best, **decision):
    return brute_force(problem.with_decisions(**decision)).value - best


@pytest.mark.parametrize("terms", [{"k": 3}, {"mu": 0.002}, {"mu": 0.005, "k": 3, "gamma": 10.0}])
@pytest.mark.parametrize("asked", [{"within": 0.02}, {"n_best": 6}, {"within": 0.02, "max_models": 1}])
def test_prices_are_exact(data, terms, asked):
    problem = ss.Problem(*data, **terms)
    others = ss.alternatives(problem, **asked)
    best = brute_force(problem).value
    for j in range(problem.n_features):
        truth = true_price(problem, best, exclude=[j])
        assert others.price_without[j] == pytest.approx(truth, abs=2e-6)
        assert others.prices_without.bound[j] <= truth + 1e-9
    for j in others.order().tolist():
        truth = true_price(problem, best, include=[j])
        assert others.price_with[j] == pytest.approx(truth, abs=2e-6)
        assert others.prices_with.bound[j] <= truth + 1e-9


@pytest.mark.parametrize("terms", [{"k": 3}, {"mu": 0.002, "gamma": 10.0}])
def test_without_time_the_price_is_between_what_the_list_proves(data, terms):
    problem = ss.Problem(*data, **terms)
    timely = ss.alternatives(problem, within=0.003)
    others = ss.alternatives(problem, within=0.003, time_limit=0.0)
    hurried = type(timely)(problem, timely.wish, others.settings, timely.listed)
    best = brute_force(problem).value
    for found in (others, hurried):
        prices = found.prices_without
        for j in found.best.support.tolist():
            truth = true_price(problem, best, exclude=[j]) - (found.best.objective - best)
            assert prices.bound[j] <= truth + 1e-9
            assert truth <= prices.price[j] + 1e-9
    in_all = np.intersect1d(hurried.always, hurried.best.support)
    assert in_all.size  # all models within the threshold have them, so that doing without costs more than that
    assert (hurried.prices_without.bound[in_all] >= 0.003 * best * 0.999).all()


def test_what_the_user_decides_has_no_price(data):
    problem = ss.Problem(*data, k=3, include=[6], exclude=[0])
    others = ss.alternatives(problem, within=0.05)
    assert np.isnan(others.price_without[6])
    assert others.price_without[0] == 0.0
    assert others.price_with[6] == 0.0
    full = ss.alternatives(ss.Problem(*data, k=1, include=[6]), within=0.05)
    assert np.isnan(np.delete(full.price_with, 6)).all()


def test_ctrl_c_ends_all_searches_for_prices(data, monkeypatch):
    from safescreen.good_models import prices

    asked = []

    def interrupted(problem, **settings):
        asked.append(settings)
        solution = ss.solve(problem)
        vars(solution)["status"] = ss.Status.INTERRUPTED
        return solution

    monkeypatch.setattr(prices, "solve", interrupted)
    others = ss.alternatives(ss.Problem(*data, k=3), within=0.001)
    assert np.isfinite(others.price_without[others.best.support]).sum() < 3
    assert len(asked) == 1
