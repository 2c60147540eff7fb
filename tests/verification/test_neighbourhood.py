"""What a proof says of models near its own: true of every one of them, also when somebody tampered with it."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

import safescreen as ss
from prover import load, prove, save
from safescreen.testing.reference import brute_force
from safescreen.verification import verify
from safescreen.verification.neighbourhood import bounds_within, exchanged, proved_exchanges
from tampering import TAMPERINGS, check_neighbourhood, outcomes


def data(seed=0, m=30, n=9):
    X, y, _ = ss.datasets.make_sparse_logistic(m, n, 3, 1.0, rho=0.5, random_state=seed)
    return X, y


TERMS = {"k": 4, "gamma": 300.0, "fit_intercept": False, "standardize": False}


def some_of_it(folder):
    """A proof that covers some exchanges and not all: its path, and the data."""
    for seed in range(20):
        X, y = data(seed)
        for limit in range(20, 400, 20):
            path = folder / "proof.npz"
            prove(path, X, y, node_limit=limit, gap=1e-6, **TERMS)
            if 0 < verify(path, X, y).proved_exchanges < 4:
                return path, X, y
    raise AssertionError("no proof of this kind")


@pytest.fixture(scope="module")
def proof(tmp_path_factory):
    return some_of_it(tmp_path_factory.mktemp("proofs"))


def test_a_proof_that_ended_early_says_what_is_covered(proof):
    path, X, y = proof
    result = verify(path, X, y)
    shared = 4 - result.proved_exchanges
    assert result.valid
    assert result.near_bound > result.lower_bound
    assert f"and no model that shares at least {shared} of its 4 features is better by more than" in result.statement
    assert result.statement in str(result)


def test_a_whole_proof_covers_all(tmp_path):
    X, y = data()
    prove(tmp_path / "proof.npz", X, y, gap=1e-6, node_limit=10**6, **{**TERMS, "k": 3, "gamma": 10.0})
    result = verify(tmp_path / "proof.npz", X, y)
    assert (result.features, result.proved_exchanges) == (3, 3)
    assert result.near_bound == result.lower_bound
    assert "shares" not in result.statement


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_gains_nothing(name, proof, tmp_path):
    """Brute force looks at whatever is accepted: see `outcomes`."""
    with suppress(KeyError, IndexError):  # of what is not in this proof
        outcomes(name, *proof, tmp_path)


def test_another_gap_is_another_sentence(proof, tmp_path):
    path, X, y = proof
    table = brute_force(ss.Problem(X, y, **TERMS)).table
    header, arrays = load(path)
    covered = []
    for gap in (1e-9, 1e-3, 0.02, 0.3, 1.0):
        header["claims"] |= {"rel_gap": gap, "status": "node_limit"}
        save(tmp_path / "other.npz", header, arrays)
        result = verify(tmp_path / "other.npz", X, y)
        check_neighbourhood(result, set(arrays["support"].tolist()), table)
        covered.append(result.proved_exchanges)
        if 0 < covered[-1] < 4:
            assert (result.objective - result.near_bound) / result.objective <= gap + 4e-9
    assert covered == sorted(covered)
    assert covered[-1] == 4


def test_exchanges_of_regions():
    inside = np.array([[1, 0, 0, 0, 0], [0, 0, 0, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0]], bool)
    outside = np.array([[0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 1, 0, 1], [1, 1, 1, 0, 0]], bool)
    model = np.array([1, 1, 1, 0, 0], bool)
    assert exchanged(inside, outside, model, 3).tolist() == [0, 2, 1, 3]


def test_what_is_no_number_proves_nothing():
    with np.errstate(invalid="ignore"):  # as all of the checker does
        within = bounds_within(np.array([0, 1, 1, 2]), np.array([3.0, 2.0, np.nan, 5.0]), 2)
    assert within[0] == 3.0
    assert np.isnan(within[1:]).all()
    assert proved_exchanges(within, 1.0) == 0
    assert proved_exchanges(bounds_within(np.array([0, 1, 2]), np.array([3.0, 2.0, 1.0]), 2), 1.5) == 1
    assert proved_exchanges(np.array([np.inf]), 1.0) == 0
