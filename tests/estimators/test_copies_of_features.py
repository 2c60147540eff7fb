"""Copies of columns: only one may be chosen by default, users are told, and folds agree with the whole."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import safescreen as ss
from safescreen import CopiesWarning, L0LogisticRegression, L0LogisticRegressionCV


@pytest.fixture(scope="module")
def data():
    """A strong feature that occurs three times among weak ones: a weak ridge of two copies beats one of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 8))
    y = np.where(X[:, 2] + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(150) > 0.0, "case", "control")
    X[:, 5], X[:, 7] = 3.0 * X[:, 2] - 1.0, -X[:, 2]
    return X, y


def test_only_one_copy_is_chosen(data):
    with pytest.warns(CopiesWarning) as told:
        model = L0LogisticRegression(k=4, gamma=0.1).fit(*data)
    assert len({2, 5, 7} & set(model.support_.tolist())) == 1
    assert [group.tolist() for group in model.copies_] == [[2, 5, 7]]
    sentence = (
        "x2 has 2 copies (x5, x7) up to scale and offset: only x2 may be chosen; copies='allow' lets them compete."
    )
    assert [str(one.message) for one in told] == [sentence]
    assert told[0].filename == __file__
    assert model.solution_.problem.left_out.tolist() == [5, 7]


def test_copies_may_compete(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = L0LogisticRegression(k=4, gamma=0.1, copies="allow").fit(*data)
    assert len({2, 5, 7} & set(model.support_.tolist())) > 1
    assert [group.tolist() for group in model.copies_] == [[2, 5, 7]]
    assert model.solution_.problem.left_out.size == 0


def test_nothing_is_said_of_copies_that_are_not_chosen(data):
    X, y = data
    X = X.copy()
    X[:, 6] = 2.0 * X[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = L0LogisticRegression(k=1, exclude=[2, 5, 7], include=[1]).fit(X, y)
    assert [group.tolist() for group in model.copies_] == [[0, 6], [2, 5, 7]]


def test_included_copies_stay(data):
    with pytest.warns(CopiesWarning, match=r"^x5 has 1 copy \(x2\)"):
        model = L0LogisticRegression(k=4, include=[5, 7]).fit(*data)
    assert {5, 7} <= set(model.support_.tolist())
    assert 2 not in model.support_


def test_names_are_told(data):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    with pytest.warns(CopiesWarning, match=r"c has 2 copies \(f, h\)"):
        L0LogisticRegression(k=1).fit(frame, y)


@pytest.mark.parametrize("estimator", [L0LogisticRegression(k=1), L0LogisticRegressionCV(k=[1], cv=2)])
@pytest.mark.parametrize("wrong", ["two", None, 1])
def test_other_values_are_refused(estimator, wrong, data):
    with pytest.raises(ValueError, match=rf"copies is {wrong!r}, but must be 'one' or 'allow'\."):
        clone(estimator).set_params(copies=wrong).fit(*data)


def test_cross_validation_leaves_out_the_same_copies(data, monkeypatch):
    X, y = data
    options = {"k": [1, 2, 4], "gamma": 0.1, "cv": 3}
    with pytest.warns(CopiesWarning, match=r"^x2 has 2 copies") as told:
        model = L0LogisticRegressionCV(**options).fit(X, y)
    assert len(told) == 1
    by_hand = L0LogisticRegressionCV(**options, exclude=[5, 7], copies="allow").fit(X, y)
    for name in ("mean_test_score", "std_test_score"):
        np.testing.assert_array_equal(model.cv_results_[name], by_hand.cv_results_[name])
    assert len({2, 5, 7} & set(model.support_.tolist())) == 1
    assert [group.tolist() for group in model.copies_] == [[2, 5, 7]]
    allowed = L0LogisticRegressionCV(**options, copies="allow").fit(X, y)
    assert not np.array_equal(allowed.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"])


@pytest.mark.filterwarnings("ignore::safescreen.CopiesWarning")
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), standardize=st.booleans(), priced=st.booleans())
def test_no_model_has_two_copies(seed, standardize, priced):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 4))
    y = np.where(X[:, 0] + rng.standard_normal(40) > 0.0, 1, 0)
    y[:2] = 0, 1
    origin = rng.permutation(np.repeat(np.arange(4), 3))
    factor = rng.choice([-2.0, 0.5, 1.0], 12) if standardize else np.ones(12)
    terms = {"mu": 1e-4, "gamma": 0.5} if priced else {"k": 4, "gamma": 0.5}
    model = L0LogisticRegression(standardize=standardize, **terms).fit(X[:, origin] * factor, y)
    assert len({*origin[model.support_].tolist()}) == model.support_.size
    free = L0LogisticRegression(standardize=standardize, copies="allow", **terms).fit(X[:, origin] * factor, y)
    assert free.objective_ <= model.objective_ * (1.0 + 2e-4)


@pytest.mark.filterwarnings("ignore::safescreen.CopiesWarning")
def test_model_files_keep_the_groups_of_chosen_features(data, tmp_path):
    X, y = data
    X = X.copy()
    X[:, 6] = 2.0 * X[:, 0]
    model = L0LogisticRegression(k=1).fit(X, y)
    assert [group.tolist() for group in model.copies_] == [[0, 6], [2, 5, 7]]
    for saved in (model, model.solution_):
        ss.save_model(saved, tmp_path / "model.json")
        loaded = ss.load_model(tmp_path / "model.json")
        assert [group.tolist() for group in loaded.copies_] == [[2, 5, 7]]
        assert loaded.copies == "one"
        assert loaded.exclude == ()
    X[:, 6] = X[:, 3] ** 2
    ss.save_model(L0LogisticRegression(k=1, exclude=[2, 5, 7]).fit(X, y), tmp_path / "model.json")
    assert "copies" not in json.loads((tmp_path / "model.json").read_text())
