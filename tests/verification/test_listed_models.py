"""Proofs of lists of models: honest ones pass, and nothing false can be made of them."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

import safescreen as ss
from prover import load, prove_list, save
from safescreen.testing.reference import brute_force
from safescreen.verification import listed_models, verify
from safescreen.verification.dual_bounds import weigh_points
from safescreen.verification.listed_models import (
    Evaluated,
    Leaf,
    ListedModels,
    Supports,
    evaluate_supports,
    read_supports,
    settle_leaf,
    supports_left,
)
from safescreen.verification.reading import RefusedError, read_proof
from safescreen.verification.recognition import recognise_problem
from tampering import LIST_TAMPERINGS, TAMPERINGS, assert_true_list, list_outcomes

# -- honest proofs -----------------------------------------------------------------------------------------------------


def some_problem(seed):
    """Data with ties, duplicated and constant columns, and terms of any kind; and what is asked."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(10, 40)), int(rng.integers(2, 8))
    X = rng.standard_normal((m, n))
    if rng.random() < 0.3:
        X[:, 0] = X[:, -1]
    if rng.random() < 0.2:
        X[:, n // 2] = 0.0
    if rng.random() < 0.3:
        X = np.where(np.abs(X) < 0.7, 0.0, X)
    y = np.where(X[:, 0] + rng.logistic(size=m) > 0.0, 1, -1)
    y[:2] = 1, -1
    price, budget = rng.choice([1e-4, 1e-3, 1e-2, 0.05, 3.0]), int(rng.integers(1, n + 3))
    terms = ({"mu": price}, {"k": budget}, {"mu": price, "k": budget})[seed % 3]
    terms |= {"gamma": rng.choice([0.3, 1.0, 10.0, 100.0]), "fit_intercept": rng.random() < 0.5}
    terms |= {"standardize": bool(rng.random() < 0.6)}
    if rng.random() < 0.3:
        terms["include"] = [int(rng.integers(n))]
    if rng.random() < 0.3:
        weights = rng.uniform(0.5, 1.5, m)
        weights[2] = 0.0
        terms["sample_weight"] = weights
    asked = [{"within": w} for w in (0.0, 0.001, 0.05, 0.3, 2.0)] + [{"n_best": k} for k in (1, 5, 1000)]
    asked = dict(asked[int(rng.integers(len(asked)))])
    if rng.random() < 0.25:
        asked["max_models"] = 2
    stored = sparse.csr_array(X) if rng.random() < 0.3 else X
    return stored, y, terms, asked


@pytest.mark.parametrize("first", range(0, 240, 40))
def test_honest_lists_hold(first, tmp_path):
    path, complete = tmp_path / "proof.npz", 0
    for seed in range(first, first + 40):
        X, y, terms, asked = some_problem(seed)
        problem = ss.Problem(X, y, **terms)
        found = ss.alternatives(problem, proof=path, **asked)
        result = verify(path, X, y, terms.get("sample_weight"))
        assert result.valid, f"{seed}: {result.reason}"
        assert result.models == len(found)
        assert result.claims["complete"] == found.complete
        header, arrays = load(path)
        assert header["version"] == 2
        assert_true_list(result, arrays, brute_force(problem).table)
        complete += found.complete
        if found.complete and arrays["models_objective"][0] < header["threshold"] * (1.0 - 1e-8):
            strict, _ = list_outcomes(LIST_TAMPERINGS["drop_the_best"], path, X, y, tmp_path)
            assert not strict.valid, seed
    assert 25 <= complete < 40


def test_a_price_above_every_gain(tmp_path):
    """Then nothing is in, and the empty model is listed."""
    X, y, terms = example(mu=3.0)
    found = ss.alternatives(ss.Problem(X, y, **terms), within=0.01, proof=tmp_path / "proof.npz")
    assert [support.tolist() for support in found.supports] == [[]]
    result = verify(tmp_path / "proof.npz", X, y)
    assert result.valid, result.reason
    header, arrays = load(tmp_path / "proof.npz")
    arrays["models_size"], arrays["models_intercept"] = np.zeros(2, np.int32), arrays["models_intercept"][[0, 0]]
    arrays["models_objective"] = arrays["models_objective"][[0, 0]]
    save(tmp_path / "twice.npz", header | {"listed": 2}, arrays)
    assert verify(tmp_path / "twice.npz", X, y).reason == "A model is listed twice."


def test_a_list_of_everything(tmp_path):
    """Without a threshold all supports there are must be listed."""
    X, y, terms = example(mu=0.01, k=None)
    X, path = X[:, :5], tmp_path / "proof.npz"
    found = ss.alternatives(ss.Problem(X, y, **terms), n_best=1000, proof=path)
    assert len(found) == 2**5
    result = verify(path, X, y)
    assert result.valid, result.reason
    assert "below any number is one of the 32 listed" in str(result)
    for i in range(0, 32, 5):
        strict, _ = list_outcomes(dropping(i), path, X, y, tmp_path)
        assert not strict.valid


def dropping(place):
    """The tampering that drops the support at this place of the file."""

    def tamper(header, arrays, data):
        size, kept = arrays["models_size"], np.arange(arrays["models_size"].size) != place
        for name in ("models_feature", "models_value"):
            arrays[name] = arrays[name][np.repeat(kept, size)]
        for name in ("models_size", "models_intercept"):
            arrays[name] = arrays[name][kept]
        if place < header["listed"]:
            header["listed"] -= 1
            arrays["models_objective"] = np.delete(arrays["models_objective"], place)

    return tamper


def test_a_list_with_a_time_limit_of_nothing(tmp_path):
    """An empty or short list is a valid one, as long as it does not say that it is complete."""
    X, y, terms = example()
    found = ss.alternatives(ss.Problem(X, y, **terms), within=0.1, time_limit=0.0, proof=tmp_path / "proof.npz")
    result = verify(tmp_path / "proof.npz", X, y)
    assert result.valid, result.reason
    assert result.claims["complete"] == found.complete


# -- tampering ---------------------------------------------------------------------------------------------------------


def example(**terms):
    """Correlated columns and a weak ridge, so that there is a tree and there are many good models."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 8)) + 0.7 * rng.standard_normal((40, 1))
    y = np.where(X @ np.array([1.0, -1.0, 0.7, 0.0, 0.5, 0.0, -0.4, 0.2]) + rng.logistic(size=40) > 0.0, 1, -1)
    return X, y, {"k": 4, "gamma": 60.0, "fit_intercept": False, **terms}


PROOFS = {
    "price": ({"mu": 0.004, "standardize": True}, {"within": 0.03}),
    "budget": ({"standardize": True}, {"within": 0.03}),
    "intercept": ({"fit_intercept": True, "standardize": False}, {"within": 0.2}),
    "n_best": ({"mu": 0.002, "fit_intercept": True}, {"n_best": 7}),
    "incomplete": ({"mu": 0.004}, {"within": 0.1, "max_models": 4}),
    "tree": ({"mu": 0.004, "standardize": True}, {"within": 0.04, "goal": "all"}),
    "minimal tree": ({"fit_intercept": True, "standardize": True}, {"within": 0.04, "goal": "minimal"}),
}
"""Lists that the solver makes, where the points of few nodes leave few supports; and two with a tree worth the name."""


@pytest.fixture(scope="module", params=PROOFS)
def proof(request, tmp_path_factory):
    """A proof with all parts: weights, a feature included, another excluded, a constant column, refuted supports."""
    terms, asked = PROOFS[request.param]
    X, y, terms = example(include=[6], exclude=[5], **terms)
    X[:, 7] = 3.0 if terms.get("standardize", True) else 0.0
    weights = np.random.default_rng(0).uniform(0.5, 1.5, 40)
    weights[3] = 0.0
    path = tmp_path_factory.mktemp("lists") / "proof.npz"
    terms["sample_weight"] = weights
    if "goal" in asked:
        made = prove_list(path, X, y, seed=3, chunk=4, detours=0.2, **asked, **terms)
        assert len(made.records) > 12
        assert made.screened
    else:
        ss.alternatives(ss.Problem(X, y, **terms), proof=path, **asked)
    header, arrays = load(path)
    assert header["chunks"]
    assert header["listed"] > 1
    assert arrays["models_size"].size > header["listed"]
    result = verify(path, X, y)
    assert result.valid, result.reason
    assert result.claims["complete"] == (request.param != "incomplete")
    return request.param, path, X, y


STILL_TRUE = {
    "drop_one_that_is_refuted",  # the tree alone may refute it
    "drop_what_is_refuted",
    "huge_points_of_the_refuted",
    "lower_the_threshold",  # then nothing has to be listed, but nothing may be
    "listed_one_less",
}


@pytest.mark.parametrize("name", LIST_TAMPERINGS)
def test_tampering_with_a_list_is_refused(name, proof, tmp_path):
    """Refused with one sentence, or what it says is still true; with modest claims never more than the truth."""
    kind, path, X, y = proof
    strict, _ = list_outcomes(LIST_TAMPERINGS[name], path, X, y, tmp_path)
    print(name, kind, strict.valid, strict.reason)
    assert strict.valid or strict.reason.endswith(".")


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_with_the_tree_of_a_list(name, proof, tmp_path):
    """What is done to proofs of one model, done to lists."""
    kind, path, X, y = proof
    try:
        strict, _ = list_outcomes(TAMPERINGS[name], path, X, y, tmp_path)
    except (KeyError, IndexError):
        return
    print(name, kind, strict.valid, strict.reason)
