"""The problem: what it accepts, what it refuses, and an objective that is never too low."""

from __future__ import annotations

import copy
import pickle
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from safescreen.problem import Problem

pytestmark = pytest.mark.interpreted

X = np.random.default_rng(0).standard_normal((6, 4))
Y = np.array([0, 1, 0, 1, 1, 0])
FRAME = pd.DataFrame(X, columns=["age", "height", "weight", "age2"])


def spoiled(value: float, dtype: type = np.float64, order: str = "C") -> np.ndarray:
    """X with one bad entry."""
    bad = X.astype(dtype, order=order)
    bad[4, 2] = value
    return bad


BAD = {
    "nan": ({"X": spoiled(np.nan)}, ValueError, r"Input X contains NaN\."),
    "nan float32": ({"X": spoiled(np.nan, np.float32)}, ValueError, r"Input X contains NaN\."),
    "nan Fortran": ({"X": spoiled(np.nan, order="F")}, ValueError, r"Input X contains NaN\."),
    "nan strided": ({"X": np.repeat(spoiled(np.nan), 2, 1)[:, ::2]}, ValueError, r"Input X contains NaN\."),
    "nan sparse": ({"X": sparse.lil_array(spoiled(np.nan))}, ValueError, r"Input X contains NaN\."),
    "nan frame": ({"X": pd.DataFrame(spoiled(np.nan))}, ValueError, r"Input X contains NaN\."),
    "infinity": ({"X": spoiled(np.inf)}, ValueError, "Input X contains infinity"),
    "infinity float16": ({"X": spoiled(np.inf, np.float16)}, ValueError, "Input X contains infinity"),
    "huge": ({"X": spoiled(1e200)}, ValueError, r"X has an entry of magnitude 1e\+200, but at most 1e\+150"),
    "object": ({"X": X.astype(object)}, TypeError, "X has dtype object"),
    "strings": ({"X": X.astype(str)}, TypeError, "X has dtype <U"),
    "complex": ({"X": X + 1j}, ValueError, "Complex data not supported: X has dtype complex128"),
    "complex sparse": ({"X": sparse.csr_array(X + 1j)}, ValueError, "Complex data not supported"),
    "dates": ({"X": X.astype("datetime64[s]")}, TypeError, "X has dtype datetime64"),
    "masked": ({"X": np.ma.masked_less(X, 0)}, ValueError, "X is a masked array"),
    "ragged": ({"X": [[1, 2], [3]]}, ValueError, "X cannot be read"),
    "None": ({"X": None}, TypeError, "X has dtype object"),
    "one-dimensional": ({"X": X[:, 0]}, ValueError, r"got 1D array instead: X has shape \(6,\).*reshape"),
    "no rows": ({"X": X[:0], "y": []}, ValueError, r"Found array with 0 sample\(s\)"),
    "no columns": ({"X": X[:, :0]}, ValueError, r"Found array with 0 feature\(s\)"),
    "text column": ({"X": FRAME.assign(city="a")}, TypeError, r"1 non-numeric column\(s\), 'city' \("),
    "pandas NA": (
        {"X": pd.DataFrame({"a": pd.array([1, None] * 3, "Int64")})},
        ValueError,
        "X contains NaN",
    ),
    "polars null": (
        {"X": pl.DataFrame({"a": [1, None] * 3, "b": [True, None] * 3})},
        ValueError,
        "X contains NaN",
    ),
    "polars text": ({"X": pl.DataFrame({"a": ["x"] * 6})}, TypeError, r"'a' \(String\)"),
    "y None": ({"y": None}, ValueError, "y is None"),
    "y nan": ({"y": [0.0, 1.0, np.nan, 1.0, 0.0, 1.0]}, ValueError, r"Input y contains NaN\."),
    "y with None": ({"y": [0, 1, None, 1, 0, 1]}, ValueError, r"Input y contains NaN\."),
    "y strings, nan": ({"y": ["a", "b", np.nan, "a", "b", "a"]}, ValueError, r"Input y contains NaN\."),
    "y pandas NA": ({"y": pd.Series([0, 1, None, 1, 0, 1], dtype="Int64")}, ValueError, "y contains NaN"),
    "y mixed": ({"y": ["a", 1, "a", 1, 1, "a"]}, TypeError, "y mixes labels of types int, str"),
    "y infinite": ({"y": [0.0, np.inf] * 3}, ValueError, "Input y contains infinity"),
    "y complex": ({"y": [0j, 1j] * 3}, ValueError, "Complex data not supported: y"),
    "one class": ({"y": np.ones(6)}, ValueError, r"only one class.*: 1\.0\."),
    "three classes": (
        {"y": [0, 1, 2, 0, 1, 2]},
        ValueError,
        r"y has 3 classes \(0, 1, 2\).*OneVsRestClassifier",
    ),
    "regression": ({"y": X[:, 0]}, ValueError, r"y has 6 classes .*\.\.\."),
    "short y": ({"y": Y[:5]}, ValueError, "inconsistent numbers of samples: X has 6, but y has 5"),
    "wide y": ({"y": np.stack((Y, Y), 1)}, ValueError, r"y has shape \(6, 2\)"),
    "scalar y": ({"y": 1}, ValueError, r"y has shape \(\)"),
    "one weighted class": ({"sample_weight": Y}, ValueError, "only one class"),
    "negative weight": (
        {"sample_weight": [1, 1, -2, 1, 1, 1]},
        ValueError,
        "sample_weight has the negative value -2",
    ),
    "nan weight": (
        {"sample_weight": [1, 1, np.nan, 1, 1, 1]},
        ValueError,
        r"Input sample_weight contains NaN\.",
    ),
    "infinite weight": (
        {"sample_weight": [1, 1, np.inf, 1, 1, 1]},
        ValueError,
        "sample_weight contains infinity",
    ),
    "short weights": ({"sample_weight": [1, 1]}, ValueError, "X has 6, but sample_weight has 2"),
    "zero weights": ({"sample_weight": np.zeros(6)}, ValueError, "sample_weight is zero for all samples"),
    "text weights": ({"sample_weight": ["a"] * 6}, TypeError, "sample_weight of type list cannot be read"),
    "scalar weight": ({"sample_weight": 2.0}, ValueError, r"sample_weight has shape \(\)"),
    "neither": ({"k": None}, ValueError, "mu and k are both None"),
    "k zero": ({"k": 0}, ValueError, "k is 0, but must be an integer >= 1"),
    "k negative": ({"k": np.int32(-3)}, ValueError, "k is -3, but must be"),
    "k float": ({"k": 2.0}, TypeError, "k is 2.0 of type float, but must be an integer"),
    "k bool": ({"k": True}, TypeError, "k is True of type bool"),
    "mu negative": ({"mu": -1e-3}, ValueError, "mu is -0.001, but must be a finite number >= 0"),
    "mu nan": ({"mu": np.nan}, ValueError, "mu is nan"),
    "mu text": ({"mu": "1"}, TypeError, "mu is '1' of type str"),
    "gamma zero": ({"gamma": 0}, ValueError, "gamma is 0.0, but must be a finite number > 0"),
    "gamma infinite": ({"gamma": np.inf}, ValueError, "gamma is inf"),
    "gamma None": ({"gamma": None}, TypeError, "gamma is None"),
    "flag": (
        {"fit_intercept": "no"},
        TypeError,
        "fit_intercept is 'no' of type str, but must be True or False",
    ),
    "index too large": ({"include": [4]}, ValueError, "include contains the index 4, but .* 0 to 3"),
    "negative index": ({"exclude": -1}, ValueError, "exclude contains the index -1, but .* 0 to 3"),
    "mask": ({"include": [True, False]}, TypeError, "include contains True of type bool"),
    "float index": ({"include": [1.0]}, TypeError, "include contains 1.0 of type float"),
    "not iterable": ({"include": 1.5}, TypeError, "include is 1.5"),
    "nameless": (
        {"include": "age"},
        ValueError,
        "include contains the name 'age', but there are no feature names",
    ),
    "unknown name": (
        {"X": FRAME, "exclude": ["hieght"]},
        ValueError,
        "exclude contains the unknown name 'hieght'.*did you mean 'height'",
    ),
    "ambiguous name": (
        {"X": FRAME.set_axis(list("aabc"), axis=1), "include": "a"},
        ValueError,
        "2 features have it",
    ),
    "both": (
        {"include": [1, 2], "exclude": [2, 3]},
        ValueError,
        r"include and exclude share the feature\(s\) 2",
    ),
    "too many": ({"include": [0, 1, 2]}, ValueError, "include has 3 features, but the budget k=2"),
    "few names": ({"feature_names": ["a"]}, ValueError, "feature_names has 1 names, but X has 4"),
    "one name": ({"feature_names": "abcd"}, TypeError, "feature_names is 'abcd'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case):
    changes, error, message = BAD[case]
    with pytest.raises(error, match=message) as raised:
        Problem(**({"X": X, "y": Y, "k": 2} | changes))
    text = str(raised.value)
    assert "\n" not in text
    assert text[-1] in ".?"


def test_defaults():
    problem = Problem(X, Y, k=9)
    assert (problem.mu, problem.k, problem.gamma) == (0.0, 4, 1.0)
    assert (problem.fit_intercept, problem.standardize) == (True, True)
    assert (problem.n_samples, problem.n_features) == (6, 4)
    np.testing.assert_array_equal(problem.y, np.where(Y == 1, 1.0, -1.0))
    np.testing.assert_allclose(problem.weights, 1 / 6)
    assert problem.names([2, 0]) == ["x2", "x0"]
    assert problem.design._X is X
    assert Problem(X, Y, mu=0.1).k == 4


def test_immutable_but_copyable():
    problem = Problem(X, Y, k=2)
    with pytest.raises(AttributeError, match="immutable"):
        problem.k = 3
    with pytest.raises(AttributeError, match="immutable"):
        del problem.k
    for twin in (copy.deepcopy(problem), pickle.loads(pickle.dumps(problem))):
        assert twin.objective(np.ones(4)) == problem.objective(np.ones(4))


def test_repr():
    assert repr(Problem(X, Y, mu=1e-3, fit_intercept=False, standardize=False)) == (
        "Problem(6 samples, 4 features, mu=0.001, gamma=1, without intercept, not standardised)"
    )
    text = repr(Problem(X, Y, k=2, gamma=3, fit_intercept=False, include=[1]))
    assert text == ("Problem(6 samples, 4 features, k=2, gamma=3, without intercept, standardised, 1 feature included)")


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["no", "yes", "no", "yes", "yes", "no"], ["no", "yes"]),
        (Y.astype(bool), [False, True]),
        (Y * 3.5 - 1, [-1.0, 2.5]),
        (Y.reshape(-1, 1), [0, 1]),
        (pd.Series(Y).map({0: "a", 1: "b"}), ["a", "b"]),
        (pd.Series(Y).map({0: "a", 1: "b"}).astype("category"), ["a", "b"]),
        (pd.Series(Y, dtype="Int64"), [0, 1]),
        (pl.Series(Y), [0, 1]),
        (pl.Series(["a" if label == 0 else "b" for label in Y]), ["a", "b"]),
        (tuple(Y.tolist()), [0, 1]),
    ],
)
def test_labels(labels, classes):
    problem = Problem(X, labels, k=2)
    assert problem.classes.tolist() == classes
    np.testing.assert_array_equal(problem.y, np.where(Y == 1, 1.0, -1.0))


def test_rows_of_weight_zero_have_no_say_in_the_classes():
    problem = Problem(X, [0, 1, 2, 0, 1, 2], k=2, sample_weight=[1, 1, 0, 1, 1, 0])
    assert problem.classes.tolist() == [0, 1]


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e307])
def test_weights_are_normalised(scale):
    problem = Problem(X, Y, k=2, sample_weight=np.array([1, 2, 3, 4, 5, 0]) * scale)
    np.testing.assert_allclose(problem.weights, np.array([1, 2, 3, 4, 5, 0]) / 15, rtol=1e-15)


def test_frames_keep_their_names():
    frames = [FRAME, pl.DataFrame(X, schema=list(FRAME.columns)), FRAME.astype("Float64")]
    for frame in frames:
        problem = Problem(frame, Y, k=2, include="age", exclude=["weight", 3], standardize=False)
        assert problem.names([0, 3]) == ["age", "age2"]
        assert problem.include.tolist() == [0]
        assert problem.exclude.tolist() == [2, 3]
        np.testing.assert_array_equal(problem.design.columns(range(4)), X)


def test_mixed_frames():
    columns = {"a": [1, 2, 3, 4, 5, 6], "b": [True, False] * 3, "c": [0.5] * 6}
    expected = np.array([columns["a"], columns["b"], columns["c"]], dtype=float).T
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pd.DataFrame(columns).convert_dtypes()):
        np.testing.assert_array_equal(Problem(frame, Y, k=2, standardize=False).design.columns(range(3)), expected)


def test_float32_frames_stay_float32():
    for frame in (FRAME.astype(np.float32), pl.DataFrame(X.astype(np.float32))):
        assert Problem(frame, Y, k=2, standardize=False).design._X.dtype == np.float32


def test_sparse_frames_stay_sparse():
    frame = pd.DataFrame.sparse.from_spmatrix(sparse.csr_array(np.round(X)))
    np.testing.assert_array_equal(Problem(frame, Y, k=2, standardize=False).design.columns(range(4)), np.round(X))
    assert type(Problem(frame, Y, k=2, standardize=False).design).__name__ == "SparseDesign"


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble, np.int8, np.uint64, np.bool_])
def test_other_dtypes(dtype):
    values = np.abs(np.round(3 * X)).astype(dtype)
    np.testing.assert_array_equal(
        Problem(values, Y, k=2, standardize=False).design.columns(range(4)), values.astype(float)
    )


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_lists_and_matrices():
    for values in (X.tolist(), np.asmatrix(X)):
        np.testing.assert_array_equal(Problem(values, Y, k=2, standardize=False).design.columns(range(4)), X)


def test_duplicate_names_matter_only_when_used():
    frame = FRAME.set_axis(list("aabc"), axis=1)
    assert Problem(frame, Y, k=2, include="b").include.tolist() == [2]
    assert Problem(frame, Y, k=2, include=[0, 0]).include.tolist() == [0]


def test_feature_names_by_hand():
    problem = Problem(X, Y, k=2, feature_names=["p", "q", "r", "s"], include="q")
    assert problem.names(problem.include) == ["q"]


def test_masks_add_constant_columns():
    values = X.copy()
    values[:, 1] = values[:, 2] = 3.0
    problem = Problem(values, Y, k=2, fit_intercept=False, include=[1], exclude=[3])
    assert problem.included.tolist() == [False, True, False, False]
    assert problem.excluded.tolist() == [False, False, True, True]
    assert not Problem(values, Y, k=2, standardize=False).excluded.any()


def exact_objective(problem: Problem, values: np.ndarray, coef: np.ndarray, intercept: float) -> Decimal:
    """The objective with 60 digits, from its definition in the units of the data."""
    coefficients = [Fraction(float(c)) for c in coef]
    with localcontext() as context:
        context.prec = 60
        total = Decimal(0)
        for row, label, weight in zip(values, problem.y, problem.weights, strict=True):
            entries = zip(row, coefficients, strict=True)
            margin = sum((Fraction(float(x)) * c for x, c in entries), Fraction(float(intercept)))
            margin *= -int(label)
            exponent = Decimal(margin.numerator) / Decimal(margin.denominator)
            loss = max(exponent, Decimal(0)) + (1 + (-abs(exponent)).exp()).ln()
            total += Decimal(float(weight)) * loss
        pairs = zip(coefficients, problem.design.scales, strict=True)
        ridge = sum((c * Fraction(float(s))) ** 2 for c, s in pairs) / Fraction(problem.gamma)
        priced = np.count_nonzero((coef != 0) | problem.included)
        rest = ridge + priced * Fraction(problem.mu)
        return total + Decimal(rest.numerator) / Decimal(rest.denominator)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 100_000),
    standardize=st.booleans(),
    stored=st.booleans(),
    fit_intercept=st.booleans(),
    offset=st.sampled_from([0.0, 10.0, 1e5]),
    size=st.sampled_from([1e-8, 0.1, 1.0, 30.0, 1e4]),
)
def test_objective_is_never_below_the_exact_one(seed, standardize, stored, fit_intercept, offset, size):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((7, 4)) + offset
    values[:, 3] = 1.0 if standardize else 0.0
    problem = Problem(
        sparse.csr_array(values) if stored else values,
        Y[[0, 1, 2, 3, 4, 5, 0]],
        mu=rng.random(),
        k=3,
        gamma=10.0 ** rng.integers(-2, 5),
        sample_weight=rng.integers(0, 4, 7) + np.array([1, 1, 0, 0, 0, 0, 0]),
        fit_intercept=fit_intercept,
        standardize=standardize,
        include=[0],
    )
    x = size * rng.standard_normal(4) * (rng.random(4) < 0.7)
    coef, intercept = problem.to_data_units(x, rng.standard_normal() if fit_intercept else 0.0)
    value, exact = problem.objective(coef, intercept), exact_objective(problem, values, coef, intercept)
    assert Decimal(value) >= exact
    condition = 1.0 + size * (1.0 if standardize else 1.0 + offset) + (np.abs(coef).sum() * offset)
    assert value <= float(exact) * (1.0 + 1e-14) + 2e-14 * condition


def test_objective_is_tight_for_ordinary_data():
    rng = np.random.default_rng(5)
    values = rng.standard_normal((200, 10))
    problem = Problem(values, rng.random(200) < 0.5, k=3, standardize=True, fit_intercept=True)
    coef = rng.standard_normal(10)
    value = problem.objective(coef, 0.3)
    excess = Decimal(value) - exact_objective(problem, values, coef, 0.3)
    assert 0 <= float(excess) <= 2e-14 * value


def test_objective_without_intercept_covers_the_centred_model():
    """With ``fit_intercept=False`` the intercept only carries the centring, whose rounding must not help."""
    rng = np.random.default_rng(2)
    values = rng.standard_normal((6, 4)) + 1e3
    problem = Problem(values, Y, k=4, fit_intercept=False)
    x = rng.standard_normal(4)
    coef, intercept = problem.to_data_units(x)
    A = (values.astype(np.longdouble) - problem.design.means) / problem.design.scales
    margins = problem.y * (A @ (coef * problem.design.scales.astype(np.longdouble)))
    centred = np.log1p(np.exp(-margins)).mean() + ((coef * problem.design.scales) ** 2).sum()
    assert problem.objective(coef, intercept) >= centred * (1 - np.longdouble(1e-17))


def test_objective_of_extreme_margins():
    problem = Problem(X, Y, k=4, fit_intercept=False, standardize=False)
    assert problem.objective(np.zeros(4)) == pytest.approx(np.log(2), rel=1e-14)
    assert np.isfinite(problem.objective(np.full(4, 1e6)))
    assert Problem(X, Y, k=4, gamma=1e12, standardize=False).objective(1e-9 * np.ones(4), 800.0) == pytest.approx(400.0)


@pytest.mark.parametrize(
    ("coef", "intercept", "message"),
    [
        (np.ones(3), 0.0, r"coef has shape \(3,\)"),
        ([1, 2, 3, np.nan], 0.0, "coef contains NaN"),
        (X[0], np.inf, "intercept"),
    ],
)
def test_objective_refuses_nonsense(coef, intercept, message):
    with pytest.raises(ValueError, match=message):
        Problem(X, Y, k=2).objective(coef, intercept)


def test_data_units_round_trip():
    values = X * [1.0, 10.0, 1e-3, 1e3] + [0.0, 5.0, 1.0, -7.0]
    problem = Problem(values, Y, k=4, fit_intercept=False)
    x, b = np.array([1.0, -2.0, 0.0, 0.5]), 0.25
    coef, intercept = problem.to_data_units(x, b)
    expected = (values - problem.design.means) / problem.design.scales @ x + b
    np.testing.assert_allclose(values @ coef + intercept, expected, rtol=1e-11)


def test_user_included_features_pay_even_at_zero():
    free, bound = Problem(X, Y, mu=0.5), Problem(X, Y, mu=0.5, include=[1, 2])
    assert bound.objective(np.zeros(4)) - free.objective(np.zeros(4)) == pytest.approx(1.0)
