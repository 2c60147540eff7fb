"""What people read of a model: the same numbers in text, HTML and frame, and honest sentences around them."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError

import safescreen as ss
from safescreen.estimation import Estimate
from safescreen.estimation.telling import Choice
from safescreen.summary import Summary, make_table
from safescreen.summary.cells import cells, heads, notes, odds, provenance, shrunk
from safescreen.summary.text import width

CHOICE = Choice(gamma=10.0, status="optimal", gap=2.0**-13, n_features=7, k=3, mu=0.0)


@pytest.fixture(scope="module")
def fitted():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.assign(large=(X["mean radius"] > 13.0).astype(int))
    return ss.L0LogisticRegression(k=3, include="large").fit(X, np.where(y == 0, "malignant", "benign")), X, y


def made(names=("a", "b"), coefficients=(1.0, -3.0), deviations=(2.0, 0.5), binary=(False, True), **changes):
    size = len(names)
    estimate = Estimate(
        gamma=100.0,
        support=np.arange(size),
        coefficients=np.array(coefficients[:size], dtype=float),
        intercept=-0.25,
        means=np.zeros(size),
        deviations=np.array(deviations[:size], dtype=float),
        binary=np.array(binary[:size], dtype=bool),
        unpenalised=np.array(changes.pop("unpenalised", (2.0, -4.0))[:size], dtype=float),
    )
    options = {"positive": "case", "choice": CHOICE} | changes
    return make_table(estimate, names, **options)


def test_rows_hold_what_the_estimate_says():
    first, second = made().rows
    assert (first.feature, first.index, first.coefficient, first.effect) == ("a", 0, 1.0, 2.0)
    assert first.odds_ratio == pytest.approx(math.e)
    assert first.odds_ratio_per_std == pytest.approx(math.e**2)
    assert first.shrinkage == pytest.approx(0.5)
    assert (second.effect, second.shrinkage) == (-1.5, pytest.approx(0.25))


def test_the_largest_effect_per_deviation_comes_first():
    table = made(("a", "b"), (1.0, -3.0), (0.5, 2.0))
    assert [row.feature for row in table.rows] == ["b", "a"]


def test_the_odds_ratio_to_read_is_per_unit_for_zeros_and_ones():
    per_unit, per_std = 3, 4
    lines = cells(made())
    assert lines[0][per_unit].strip() == "2.72"
    assert lines[0][per_std] == "7.39*"
    assert lines[1][per_unit] == "0.0498*"
    assert lines[1][per_std].strip() == "0.223"


def test_unknown_deviations_are_read_per_unit():
    table = made(deviations=(np.nan, np.nan), binary=(False, False))
    assert [row.feature for row in table.rows] == ["b", "a"]
    assert cells(table)[0][2:5] == ("–", "0.0498*", "–\u00a0")


def test_odds_ratios_that_overflow_stay_readable():
    assert odds(0.0) == "1.00"
    assert odds(800.0) == "e^800"
    assert made(coefficients=(800.0, 1.0)).rows[0].odds_ratio == math.inf


def test_shrinkage_in_words():
    assert [shrunk(share) for share in (0.0, 0.123, -0.05, -0.001, 1.5, math.nan)] == [
        "0 %", "12 %", "larger", "0 %", "reversed", "–"
    ]  # fmt: skip


def test_words_are_explained_where_they_occur():
    assert not any(note.startswith(("Larger", "Reversed")) for note in notes(made()))
    assert sum(note.startswith("Larger:") for note in notes(made(unpenalised=(0.5, -4.0)))) == 1
    assert sum(note.startswith("Reversed:") for note in notes(made(unpenalised=(-0.5, 4.0)))) == 1


def test_one_line_says_why_there_is_no_shrinkage():
    assert not any("separate the classes" in note for note in notes(made()))
    separated = made(unpenalised=(np.nan, np.nan))
    assert [line[5] for line in cells(separated)] == ["–", "–", ""]
    assert sum("separate the classes" in note for note in notes(separated)) == 1


def test_one_sentence_says_what_is_proved():
    assert provenance(made()) == (
        "Chosen at γ = 10: proved that no other choice of at most 3 features has an objective lower by more than "
        "0.013\u00a0%; coefficients estimated at γ = 100."
    )


def test_columns_are_aligned_whatever_the_names():
    text = str(Summary(made(("naïve\nwidth", "体重"))))
    ruled = next(line for line in text.splitlines() if line.startswith("─"))
    body = text.split(ruled)[1].strip("\n").splitlines()
    assert len(body) == 3
    assert "naïve\ufffdwidth" in body[0]
    ends = [width(line[: line.index("%")]) for line in body[:2]]
    assert ends[0] == ends[1] == len(ruled) - 1


def test_html_is_escaped():
    page = Summary(made(("<b>&", "b"), positive="<i>"))._repr_html_()
    assert "&lt;b&gt;&amp;" in page
    assert "<b>" not in page
    assert "<i>" not in page


def test_resampled_columns_only_where_asked_for():
    intervals, frequencies = np.array([[0.5, 1.5], [-4.0, 0.0]]), np.array([1.0, 0.42])
    plain = made()
    resampled = made(intervals=intervals, frequencies=frequencies, n_resamples=50)
    assert len(heads(plain)) == 6
    assert [str(head) for head in heads(resampled)[6:]] == ["95 % interval odds ratio*", "chosen in resamples"]
    assert [line[6:] for line in cells(resampled)] == [("2.72 to 20.1", "100 %"), ("0.0183 to 1.00", "42 %"), ("", "")]
    assert "do not account for the selection" in str(Summary(resampled)).replace("\n  ", " ")
    frame = Summary(resampled).to_frame()
    assert frame.loc["b", ["lower", "upper", "frequency"]].tolist() == [-4.0, 0.0, 0.42]
    assert "lower" not in Summary(plain).to_frame()


def test_a_fitted_model(fitted):
    model, X, _ = fitted
    summary = model.summary()
    text = str(summary)
    assert text.startswith("Log-odds of 'malignant': 3 of 31 features.\nChosen at γ = ")
    assert "proved that no other allowed choice of at most 3 features" in " ".join(text.split())
    frame = summary.to_frame()
    assert set(frame.index) == {*X.columns[model.support_]}
    for name, row in frame.iterrows():
        assert row["coefficient"] == model.coef_[0, X.columns.get_loc(name)]
        assert row["std"] == pytest.approx(X[name].std(ddof=0))
        assert row["coefficient_per_std"] == pytest.approx(row["coefficient"] * X[name].std(ddof=0))
        assert row["odds_ratio"] == pytest.approx(math.exp(row["coefficient"]))
    assert frame["binary"].to_dict()["large"]
    assert (frame["coefficient_per_std"].abs().diff().dropna() <= 0.0).all()
    assert summary.intercept == model.intercept_[0]


def test_copies_say_the_same(fitted):
    model, _, _ = fitted
    assert str(copy.deepcopy(model).summary()) == str(pickle.loads(pickle.dumps(model)).summary())
    assert str(copy.deepcopy(model).summary()) == str(model.summary())


def test_loaded_models_say_the_same(fitted, tmp_path):
    model, _, _ = fitted
    ss.save_model(model, tmp_path / "model.json")
    loaded = ss.load_model(tmp_path / "model.json")
    assert str(loaded.summary()) == str(model.summary())
    assert loaded.equation("sql") == model.equation("sql")


@pytest.mark.parametrize("positive", ["setosa", 1, 2])
def test_the_class_that_is_named_is_modelled(positive):
    X, y = load_iris(return_X_y=True)
    labels = np.array(["setosa", "versicolor", "virginica"])[y] if isinstance(positive, str) else y
    model = ss.L0LogisticRegression(k=2, positive_class=positive).fit(X, labels)
    assert str(model.summary()).startswith(f"Log-odds of {positive!r}: 2 of 4 features.")
    assert model.equation().startswith(f"log-odds({positive}) = ")
    np.testing.assert_allclose(model.to_sklearn().predict_proba(X), model.predict_proba(X), rtol=1e-9)
    assert model.stability(X, labels, n_resamples=2).n_resamples == 2


def test_without_features():
    X, y, _ = ss.datasets.make_sparse_logistic(40, 5, 1, 1.0, random_state=0)
    with pytest.warns(ss.OneClassWarning):
        model = ss.L0LogisticRegression(mu=10.0).fit(X, y)
    text = str(model.summary())
    assert "0 of 5 features" in text
    assert "intercept" in text
    pd.testing.assert_index_equal(model.summary().to_frame().index, pd.Index([], name="feature", dtype=object))


def test_a_search_that_ended_early_is_not_called_proved():
    X, y, _ = ss.datasets.make_sparse_logistic(60, 80, 8, 0.3, random_state=0)
    with pytest.warns(ss.EndedEarlyWarning):
        model = ss.L0LogisticRegression(k=8, gamma=1000.0, node_limit=1).fit(X, y)
    assert "not proved (another one" in " ".join(str(model.summary()).split())


def test_unfitted_models_have_nothing_to_say():
    for method in ("summary", "equation", "to_sklearn"):
        with pytest.raises(NotFittedError):
            getattr(ss.L0LogisticRegression(), method)()


def test_cross_validated_models_have_one_too():
    X, y, _ = ss.datasets.make_sparse_logistic(80, 10, 2, 1.0, random_state=0)
    model = ss.L0LogisticRegressionCV(k=(1, 2), cv=3).fit(X, y)
    assert str(model.summary()) == str(model.best_estimator_.summary())


def test_scikit_learn_predicts_the_same(fitted):
    model, X, _ = fitted
    plain = model.to_sklearn()
    np.testing.assert_allclose(plain.predict_proba(X), model.predict_proba(X), rtol=1e-12)
    assert (plain.predict(X) == model.predict(X)).all()
    assert type(plain).__name__ == "LogisticRegression"


def test_scikit_learn_with_the_first_class_modelled(fitted):
    model, X, _ = fitted
    other = copy.deepcopy(model)
    other.positive_class_ = other._positive_label = "benign"  # the estimates are then its log-odds
    assert str(other.summary()).startswith("Log-odds of 'benign'")
    np.testing.assert_allclose(other.to_sklearn().predict_proba(X)[:, ::-1], model.predict_proba(X), rtol=1e-9)
