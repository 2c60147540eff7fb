"""Which label is modelled: the larger of two, or the one that is named, be it against several."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import safescreen as ss

X = np.random.default_rng(0).standard_normal((12, 3))
WORDS = np.array(["control", "case"] * 6)
THREE = np.array(["mild", "case", "control"] * 4)


@pytest.mark.parametrize("positive", ["case", "control"])
def test_either_of_two_labels_can_be_modelled(positive):
    problem = ss.Problem(X, WORDS, k=1, positive_class=positive)
    assert problem.classes.tolist() == ["control" if positive == "case" else "case", positive]
    assert problem.positive_class == positive
    np.testing.assert_array_equal(problem.y > 0.0, positive == WORDS)


def test_by_default_the_larger_label_is_modelled():
    problem = ss.Problem(X, WORDS, k=1)
    assert problem.classes.tolist() == ["case", "control"]
    assert problem.positive_class == "control"
    assert "modelled" not in repr(problem)


@pytest.mark.parametrize(
    ("labels", "positive", "classes", "names"),
    [
        (THREE, "case", ["not case", "case"], ("not case", "case")),
        (THREE.astype(object), "case", ["not case", "case"], ("not case", "case")),
        (np.arange(12) % 3, 2, [False, True], ("not 2", "2")),
        (np.arange(12) % 3, 1, [False, True], ("not 1", "1")),
        (np.arange(12) % 3 / 2.0, 0.5, [False, True], ("not 0.5", "0.5")),
    ],
)
def test_one_of_several_labels_against_the_rest(labels, positive, classes, names):
    problem = ss.Problem(X, labels, k=1, positive_class=positive)
    assert problem.classes.tolist() == classes
    assert [type(label) for label in problem.classes.tolist()] == [type(label) for label in classes]
    assert problem.class_names == names
    assert problem.positive_class == positive
    np.testing.assert_array_equal(problem.y > 0.0, labels == positive)


def test_the_class_is_told_everywhere():
    problem = ss.Problem(X, THREE, k=1, positive_class="case")
    assert problem.modelled == "probability of 'case' (4 of 12 rows)"
    assert "'case' modelled" in repr(problem)
    assert "probability of case" in problem._repr_html_()
    assert "4 of class case, 8 of not case" in problem._repr_html_()
    solution = ss.solve(problem)
    assert "probability of case" in solution._repr_html_()
    page = ss.report(solution)
    assert "The model gives the probability of “case”." in page
    assert "whether a sample is “case” rather than “not case”" in page
    assert problem.with_parameters(k=2).positive_class == "case"


@pytest.mark.parametrize("positive", ["cases", 1, ["case"], float("nan")])
def test_a_class_that_does_not_exist(positive):
    with pytest.raises(ValueError, match=r"positive_class is .* one of the labels in y: 'case', 'control', 'mild'\."):
        ss.Problem(X, THREE, k=1, positive_class=positive)


def test_more_than_two_labels_need_a_class():
    with pytest.raises(ValueError, match=r"y has 3 classes .* positive_class="):
        ss.Problem(X, THREE, k=1)


def test_rows_of_weight_zero_have_no_say():
    weights = np.where(THREE == "mild", 0.0, 1.0)
    assert ss.Problem(X, THREE, k=1, sample_weight=weights).classes.tolist() == ["case", "control"]
    with pytest.raises(ValueError, match="positive_class is 'mild'"):
        ss.Problem(X, THREE, k=1, sample_weight=weights, positive_class="mild")


def test_a_path_takes_the_class_too():
    path = ss.l0_path(X, THREE, k=[1, 2], positive_class="mild")
    assert [solution.problem.positive_class for solution in path] == ["mild", "mild"]
    assert "probability of mild" in path._repr_html_()
    with pytest.raises(ValueError, match="positive_class cannot be given together with a Problem"):
        ss.l0_path(ss.Problem(X, WORDS, k=1), k=[1, 2], positive_class="case")


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), standardize=st.booleans(), fit_intercept=st.booleans(), weighted=st.booleans())
def test_the_other_class_has_the_same_model_with_other_signs(seed, standardize, fit_intercept, weighted):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((30, 5)) + 1.0
    labels = np.where(matrix[:, 0] + rng.standard_normal(30) > 1.0, "case", "control")
    labels[:2] = "case", "control"
    options = {"standardize": standardize, "fit_intercept": fit_intercept, "gamma": 5.0, "k": 2}
    if weighted:
        options["sample_weight"] = rng.uniform(0.5, 2.0, 30)
    one, other = (
        ss.solve(ss.Problem(matrix, labels, positive_class=label, **options)) for label in ("case", "control")
    )
    np.testing.assert_allclose(one.coef, -other.coef, atol=1e-4)
    assert one.intercept == pytest.approx(-other.intercept, abs=1e-4)
    assert one.objective == pytest.approx(other.objective, rel=1e-4)
    swapped = one.problem.objective(-other.coef, -other.intercept)
    assert swapped == pytest.approx(other.objective, rel=1e-12)
