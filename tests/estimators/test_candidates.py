"""What a cross-validation tries."""

from __future__ import annotations

import numpy as np
import pytest

from safescreen.defaults import default_refits, default_sizes
from safescreen.estimators.candidates import make_candidates

SIZE = {"n_samples": 100, "n_features": 30, "n_required": 0}


def made(k=None, mu=None, gamma=1.0, refit_gamma="same", **size):
    return make_candidates(k, mu, gamma, refit_gamma, **{**SIZE, **size})


def test_ridges_of_the_estimates_run_fastest():
    candidates = made([2, 1], None, (1.0, 5.0), ["same", 7])
    assert candidates.params[:5] == [
        {"k": 2, "gamma": 1.0, "refit_gamma": "same"},
        {"k": 2, "gamma": 1.0, "refit_gamma": 7.0},
        {"k": 1, "gamma": 1.0, "refit_gamma": "same"},
        {"k": 1, "gamma": 1.0, "refit_gamma": 7.0},
        {"k": 2, "gamma": 5.0, "refit_gamma": "same"},
    ]
    assert len(candidates.params) == 8
    assert candidates.tried == {"k": [2, 1], "gamma": [1.0, 5.0], "refit_gamma": ["same", 7.0]}
    assert candidates.fixed == {"k": 2, "mu": None, "gamma": 1.0, "refit_gamma": "same"}


@pytest.mark.parametrize("values", [range(1, 4), np.arange(1, 4), (1, 2, 3), [1, 2, 3]])
def test_kinds_of_sequences(values):
    assert made(values).values == [1, 2, 3]
    assert all(type(value) is int for value in made(values).values)


def test_defaults():
    candidates = made(refit_gamma=None, n_required=2)
    assert candidates.values == default_sizes(2, 30)
    assert candidates.refits == default_refits(100)


@pytest.mark.parametrize(
    ("k", "mu", "name", "values", "fixed"),
    [
        (3, None, "k", [3], {"k": 3, "mu": None}),
        (3, 0.1, "k", [3], {"k": 3, "mu": 0.1}),
        ([3, 4], 0.1, "k", [3, 4], {"k": 3, "mu": 0.1}),
        (None, 0.1, "mu", [0.1], {"k": None, "mu": 0.1}),
        (None, [0.1, 0.2], "mu", [0.1, 0.2], {"k": None, "mu": 0.1}),
        (5, [0.1, 0.2], "mu", [0.1, 0.2], {"k": 5, "mu": 0.1}),
    ],
)
def test_budgets_and_prices(k, mu, name, values, fixed):
    candidates = made(k, mu)
    assert (candidates.name, candidates.values) == (name, values)
    assert {key: candidates.fixed[key] for key in ("k", "mu")} == fixed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": [1], "mu": [0.1]}, "k and mu are both sequences"),
        ({"k": []}, "k is an empty sequence"),
        ({"k": [1, 0]}, "k is 0"),
        ({"k": [1, None]}, "k contains None"),
        ({"k": [[1]]}, "k has 2 dimensions"),
        ({"k": 0}, "k is 0"),
        ({"k": [1.5]}, "k is 1.5"),
        ({"k": "ten"}, "k is 'ten'"),
        ({"mu": [-1.0]}, "mu is -1.0"),
        ({"mu": -1.0}, "mu is -1.0"),
        ({"gamma": []}, "gamma is an empty sequence"),
        ({"gamma": [1.0, 0.0]}, "gamma is 0.0"),
        ({"gamma": "same"}, "gamma is 'same'"),
        ({"refit_gamma": []}, "refit_gamma is empty"),
        ({"refit_gamma": ["same", "none"]}, "refit_gamma is 'none'"),
        ({"refit_gamma": (1.0, -1.0)}, "refit_gamma is -1.0"),
    ],
)
def test_bad_ones_are_named(arguments, message):
    with pytest.raises((TypeError, ValueError), match=rf"^{message}"):
        made(**arguments)
