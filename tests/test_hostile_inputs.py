"""Hostile and messy arrays and arguments at every door: each is refused with a sentence, or has its right answer.

None may crash the interpreter, hang, or be read as something else than it is.
"""

from __future__ import annotations

import datetime
import math
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.utils.parallel
from scipy import sparse

import safescreen as ss

M, N = 24, 5
RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((M, N))
Y = (X[:, 0] + 0.5 * RANDOM.standard_normal(M) > 0).astype(int)


def with_entry(value: float) -> np.ndarray:
    changed = X.copy()
    changed[3, 2] = value
    return changed


def broken_sparse(**changes: Any) -> sparse.csr_matrix:
    """A matrix whose parts do not fit together; made without SciPy's own checks."""
    matrix = sparse.csr_matrix(X)
    for name, value in changes.items():
        setattr(matrix, name, value)
    return matrix


def ragged_indices(value: int) -> np.ndarray:
    indices = sparse.csr_matrix(X).indices.copy()
    indices[7] = value
    return indices


MATRICES: dict[str, Callable[[], Any]] = {
    "nan": lambda: with_entry(np.nan),
    "infinite": lambda: with_entry(np.inf),
    "minus infinite": lambda: with_entry(-np.inf),
    "would overflow when squared": lambda: with_entry(1e200),
    "complex": lambda: X + 1j,
    "text": lambda: X.astype(str),
    "bytes": lambda: X.astype("S8"),
    "dates": lambda: np.full((M, N), np.datetime64("2020-01-01")),
    "durations": lambda: np.full((M, N), np.timedelta64(1, "D")),
    "objects that are no numbers": lambda: np.full((M, N), object(), dtype=object),
    "None": lambda: None,
    "a number": lambda: 1.0,
    "a word": lambda: "data.csv",
    "one dimension": lambda: X[:, 0],
    "three dimensions": lambda: X[None],
    "no rows": lambda: X[:0],
    "no columns": lambda: X[:, :0],
    "ragged lists": lambda: [[1.0, 2.0], [3.0]],
    "masked": lambda: np.ma.masked_array(X, mask=X > 1.0),
    "records": lambda: np.zeros(M, dtype=[("a", float), ("b", float)]),
    "sparse with nan": lambda: sparse.csr_matrix(with_entry(np.nan)),
    "sparse with infinity": lambda: sparse.csc_matrix(with_entry(np.inf)),
    "sparse complex": lambda: sparse.csr_matrix(X + 1j),
    "sparse index too large": lambda: broken_sparse(indices=ragged_indices(10**6)),
    "sparse index negative": lambda: broken_sparse(indices=ragged_indices(-3)),
    "sparse pointers fall": lambda: broken_sparse(indptr=np.array([0, 50, 10, *([120] * (M - 2))], dtype=np.int32)),
    "sparse pointers too far": lambda: broken_sparse(indptr=np.linspace(0, 10**6, M + 1).astype(np.int32)),
    "sparse pointers too few": lambda: broken_sparse(indptr=np.array([0, 3], dtype=np.int32)),
    "sparse data too short": lambda: broken_sparse(data=np.ones(3)),
    "a set": lambda: {1, 2, 3},
    "a dictionary": lambda: {"a": [1.0]},
    "a generator": lambda: (row for row in X),
    "complex frame": lambda: pd.DataFrame(X + 1j),
    "frame of dates": lambda: pl.DataFrame(X).with_columns(date=pl.date(2020, 1, 1)),
    "integers beyond doubles": lambda: [[10**400] * N] * M,
}

LABELS: dict[str, Callable[[], Any]] = {
    "one class": lambda: np.zeros(M),
    "three classes": lambda: np.arange(M) % 3,
    "numbers that are no classes": lambda: RANDOM.standard_normal(M),
    "too few": lambda: Y[:-1],
    "too many": lambda: np.r_[Y, 0],
    "none at all": list,
    "None": lambda: None,
    "with None": lambda: [None, *Y[1:].tolist()],
    "nan": lambda: np.where(np.arange(M) == 3, np.nan, Y),
    "infinite": lambda: np.where(np.arange(M) == 3, np.inf, Y),
    "complex": lambda: Y + 1j,
    "masked": lambda: np.ma.masked_array(Y, mask=np.arange(M) == 3),
    "two columns": lambda: np.column_stack((Y, Y)),
    "a word": lambda: "yes",
    "a number": lambda: 1,
    "missing dates": lambda: np.where(Y == 1, np.datetime64("2020-01-01"), np.datetime64("NaT")),
    "a dictionary": lambda: {"a": 1},
    "bytes": lambda: np.where(Y == 1, b"yes", b"no"),
    "dates": lambda: np.where(Y == 1, np.datetime64("2021"), np.datetime64("2020")),
    "days": lambda: [datetime.date(2020, 1, 1 + y) for y in Y.tolist()],
    "tuples": lambda: [(y, 1) for y in Y.tolist()],
}

WEIGHTS: dict[str, Callable[[], Any]] = {
    "negative": lambda: np.where(np.arange(M) == 3, -1.0, 1.0),
    "nan": lambda: np.where(np.arange(M) == 3, np.nan, 1.0),
    "infinite": lambda: np.where(np.arange(M) == 3, np.inf, 1.0),
    "all zero": lambda: np.zeros(M),
    "too few": lambda: np.ones(M - 1),
    "too many": lambda: np.ones(M + 1),
    "two columns": lambda: np.ones((M, 2)),
    "complex": lambda: np.ones(M) * 1j,
    "text": lambda: np.full(M, "one"),
    "numbers as text": lambda: np.full(M, "1.5"),
    "numbers as objects of text": lambda: np.full(M, "1.5", dtype=object),
    "numbers as bytes": lambda: np.full(M, b"1.5"),
    "complex with a real part": lambda: np.ones(M) + 1j,
    "masked": lambda: np.ma.masked_array(np.ones(M), mask=np.arange(M) == 3),
    "durations": lambda: np.full(M, np.timedelta64(1, "D")),
    "dates": lambda: np.full(M, np.datetime64("2020-01-01")),
    "integers beyond doubles": lambda: [10**400] * M,
    "one class has none": lambda: np.where(Y == 1, 0.0, 1.0),
    "a word": lambda: "balanced",
    "one number": lambda: 2.5,
}

ARGUMENTS: dict[str, list[Any]] = {
    "k": [0, -1, 2.5, "3", None, True, [1, 2], np.nan, 1j, Decimal("2.5")],
    "gamma": [0.0, -1.0, np.nan, np.inf, -np.inf, "1", None, True, [1.0], 1j, 10**400, X],
    "mu": [-1.0, np.nan, np.inf, "0.1", True, [0.1, 0.2], 1j, 10**400, X],
    "fit_intercept": ["yes", 2, None, 0.5, [True], X],
    "standardize": ["no", 2, None, -1, [], X],
    "include": [[N], [-1], ["x0"], [0.5], [None], 3.7, [[0]], {"a": 1}],
    "exclude": [[N], [-N - 1], ["x0"], [0.5], [None], 3.7, [[0]]],
    "positive_class": [7, "yes", np.nan, [1], (0, 1), X],
}

SETTINGS: dict[str, list[Any]] = {
    "rel_gap": [-1e-9, 1.0, 2, np.nan, np.inf, "1e-4", None, True, [1e-4], X],
    "time_limit": [-1.0, np.nan, "1", True, [1.0], -np.inf],
    "node_limit": [-1, 1.5, "10", True, np.nan],
    "screening": ["both", None, True, 1, ["nodes"]],
    "n_threads": [0, -1, 1.5, "2", True, None],
    "warm_start": ["best", [1.0], np.full(N, np.nan), np.full(N + 1, 1.0), 3, {"a": 1}, 10**400, [10**400] * N, X],
    "proof": [3, True, b"\0", "", "a\0b", "no/such/folder/proof.npz"],
    "callback": [3, "print", [1]],
}

ANSWERED: dict[str, Callable[[], dict[str, Any]]] = {
    "integers": lambda: {"X": (10 * X).astype(int)},
    "small integers": lambda: {"X": (10 * X).astype(np.int8)},
    "booleans": lambda: {"X": X > 0.0},
    "half precision": lambda: {"X": X.astype(np.float16)},
    "single precision": lambda: {"X": X.astype(np.float32)},
    "big-endian": lambda: {"X": X.astype(">f8")},
    "Fortran order": lambda: {"X": np.asfortranarray(X)},
    "every other row of a larger array": lambda: {"X": np.repeat(X, 2, axis=0)[::2]},
    "read-only": lambda: {"X": _read_only(X)},
    "lists": lambda: {"X": X.tolist()},
    "masked without a mask": lambda: {"X": np.ma.masked_array(X, mask=False)},
    "a matrix": lambda: {"X": np.matrix(X)},
    "one row repeated": lambda: {"X": np.repeat(X[:1], M, axis=0)},
    "constant columns": lambda: {"X": np.ones((M, N))},
    "one column": lambda: {"X": X[:, :1], "k": 1},
    "all columns alike": lambda: {"X": np.repeat(X[:, :1], N, axis=1)},
    "tiny": lambda: {"X": 1e-150 * X},
    "huge": lambda: {"X": 1e100 * X},
    "denormal": lambda: {"X": with_entry(5e-324)},
    "sparse without entries": lambda: {"X": sparse.csr_matrix((M, N))},
    "sparse with stored zeros": lambda: {"X": broken_sparse(data=np.where(np.arange(M * N) % 3, X.ravel(), 0.0))},
    "sparse with unsorted indices": lambda: {"X": sparse.csr_matrix(X[:, ::-1])[:, ::-1]},
    "coordinates given twice": lambda: {"X": sparse.coo_matrix(([1.0, 2.0, 3.0], ([0, 0, 1], [1, 1, 2])), (M, N))},
    "words": lambda: {"y": np.where(Y == 1, "yes", "no")},
    "booleans as labels": lambda: {"y": Y == 1},
    "-1 and 1": lambda: {"y": 2 * Y - 1},
    "fractions as labels": lambda: {"y": Y + 0.5},
    "large numbers as labels": lambda: {"y": Y * (2**62) + 1},
    "labels in a column": lambda: {"y": Y[:, None]},
    "weights that are counts": lambda: {"sample_weight": np.arange(M)},
    "weights of very different size": lambda: {"sample_weight": np.geomspace(1e-100, 1e100, M)},
    "more budget than columns": lambda: {"k": 10**9},
    "a budget from NumPy": lambda: {"k": np.int8(2)},
    "a ridge from NumPy": lambda: {"gamma": np.float32(3.0)},
    "a weak ridge": lambda: {"gamma": 1e12},
    "a strong ridge": lambda: {"gamma": 1e-12},
    "a price that buys nothing": lambda: {"mu": 10.0},
    "all included": lambda: {"include": range(N), "k": N},
    "all excluded": lambda: {"exclude": range(N)},
    "names with odd characters": lambda: {"feature_names": ["", " ", "=1+1", "<b>", "\N{SNOWMAN}"]},
}


def _read_only(values: np.ndarray) -> np.ndarray:
    copy = values.copy()
    copy.flags.writeable = False
    return copy


def problem(**changes: Any) -> ss.Problem:
    given = {"X": X, "y": Y, "k": 2, "gamma": 1.0, **changes}
    return ss.Problem(given.pop("X"), given.pop("y"), **given)


DOORS: dict[str, Callable[..., Any]] = {
    "Problem": problem,
    "fit": lambda X=X, y=Y, **more: ss.L0LogisticRegression(k=2).fit(X, y, **more),
    "cross-validation": lambda X=X, y=Y, **more: ss.L0LogisticRegressionCV(k=[1, 2], cv=2).fit(X, y, **more),
    "screener": lambda X=X, y=Y, **more: ss.SafeScreener(k=2).fit(X, y, **more),
    "path": lambda X=X, y=Y, **more: ss.l0_path(X, y, k=[1, 2], **more),
}


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(scope="module")
def model():
    return ss.L0LogisticRegression(k=2).fit(X, Y)


@pytest.fixture(scope="module")
def proof(tmp_path_factory):
    path = tmp_path_factory.mktemp("proof") / "proof.npz"
    ss.solve(problem(), proof=path)
    return path


def assert_a_sentence(error: BaseException) -> None:
    """Something a user can act on, and nothing of the machinery."""
    said = str(error)
    assert said.strip()
    assert len(said) < 1000
    assert "Traceback" not in said
    assert "setting an array element" not in said.splitlines()[0] or "X" in said


def assert_one_line(error: BaseException) -> None:
    """However large the value it is about."""
    assert_a_sentence(error)
    assert "\n" not in str(error)
    assert len(str(error)) < 400


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", MATRICES)
def test_matrices_are_refused(name, door):
    with pytest.raises((ValueError, TypeError)) as caught:
        DOORS[door](X=MATRICES[name]())
    assert_a_sentence(caught.value)


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_are_refused_in_predictions(name, model):
    if name in ("no rows", "would overflow when squared"):
        return  # a question with an answer
    with pytest.raises((ValueError, TypeError)) as caught:
        model.predict(MATRICES[name]())
    assert_a_sentence(caught.value)


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_are_refused_with_a_proof(name, proof):
    try:
        assert not ss.verify(proof, MATRICES[name](), Y).valid
    except (ValueError, TypeError) as error:
        assert_a_sentence(error)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", LABELS)
def test_labels_are_refused(name, door):
    with pytest.raises((ValueError, TypeError)) as caught:
        DOORS[door](y=LABELS[name]())
    assert_a_sentence(caught.value)


@pytest.mark.parametrize("name", LABELS)
def test_labels_are_refused_with_a_proof(name, proof):
    try:
        assert not ss.verify(proof, X, LABELS[name]()).valid
    except (ValueError, TypeError) as error:
        assert_a_sentence(error)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_are_refused(name, door):
    with pytest.raises((ValueError, TypeError)) as caught:
        DOORS[door](sample_weight=WEIGHTS[name]())
    assert_a_sentence(caught.value)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in ARGUMENTS.items() for value in values])
def test_arguments_are_refused(name, value):
    with pytest.raises((ValueError, TypeError), match=name) as caught:
        problem(**{name: value}, **({"mu": None} if name == "k" and value is None else {}))
    assert_one_line(caught.value)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in SETTINGS.items() for value in values])
def test_settings_are_refused(name, value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, TypeError, OSError)) as caught:
        ss.solve(problem(), **{name: value})
    assert_one_line(caught.value)
    assert list(tmp_path.iterdir()) == []


def unreadable() -> Any:
    class Unreadable:
        def __repr__(self) -> str:
            raise RuntimeError

    return Unreadable()


@pytest.mark.parametrize("value", [10**400, X, unreadable(), "x" * 1000])
@pytest.mark.parametrize(
    "ask",
    [
        lambda value: problem().objective(value),
        lambda value: problem().objective(np.zeros(N), value),
        lambda value: ss.relax(problem(), formulation="big-m", M=value),
        lambda value: ss.L0LogisticRegression(k=2, refit_gamma=value).fit(X, Y),
        lambda value: ss.L0LogisticRegression(k=2, copies=value).fit(X, Y),
        lambda value: ss.L0LogisticRegressionCV(k=[1], criterion=value).fit(X, Y),
    ],
)
def test_no_value_is_too_large_for_a_sentence(ask, value):
    with pytest.raises((ValueError, TypeError)) as caught:
        ask(value)
    assert_one_line(caught.value)


@pytest.mark.parametrize("n_jobs", [0, 257, 10_000, 10**30, 1.5, np.inf, "2", True, [1], np.ma.masked])
@pytest.mark.parametrize(
    "ask",
    [
        lambda n_jobs: ss.L0LogisticRegressionCV(k=[1], cv=2, n_jobs=n_jobs).fit(X, Y),
        lambda n_jobs: ss.L0LogisticRegression(k=2).fit(X, Y).stability(X, Y, n_resamples=1, n_jobs=n_jobs),
    ],
)
def test_jobs_are_refused(ask, n_jobs):
    with pytest.raises(ValueError, match="n_jobs is ") as caught:
        ask(n_jobs)
    assert_one_line(caught.value)


def test_no_process_is_started_without_work(model, monkeypatch):
    asked = []

    class Watched(sklearn.utils.parallel.Parallel):
        def __init__(self, n_jobs, **options):
            asked.append(n_jobs)
            super().__init__(n_jobs=1, **options)

    monkeypatch.setattr("sklearn.utils.parallel.Parallel", Watched)
    monkeypatch.setattr("safescreen.estimators.cross_validation.Parallel", Watched)
    model.stability(X, Y, n_resamples=3, n_jobs=200)
    ss.L0LogisticRegressionCV(k=[1], cv=2, n_jobs=200).fit(X, Y)
    assert asked == [3, 2]


def test_a_budget_beyond_all_features():
    for k in (10**30, 10**400):
        assert problem(k=k).k >= N
        assert ss.L0LogisticRegressionCV(k=k, cv=2).fit(X, Y).support_.size <= N


@pytest.mark.parametrize("limit", [10**400, np.float16(100.0), np.float32(100.0)])
def test_total_times_are_pythons_own_numbers(limit, model):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        ss.L0LogisticRegressionCV(k=[1], cv=2, time_limit=limit).fit(X, Y)
        model.stability(X, Y, n_resamples=1, time_limit=limit)


def test_an_upper_bound_beyond_doubles_is_infinite():
    assert ss.screen(problem(), upper_bound=10**400).upper_bound == math.inf


def test_the_strongest_ridge_leaves_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        fitted = ss.L0LogisticRegression(k=2, refit_gamma=1e-320).fit(X, Y)
    assert np.abs(fitted.coef_).max() < 1e-290
    assert np.isfinite(fitted.intercept_).all()


@pytest.mark.parametrize("name", ANSWERED)
def test_what_is_odd_has_its_answer(name):
    asked = problem(**ANSWERED[name]())
    solution = ss.solve(asked, node_limit=1000)
    assert math.isfinite(solution.objective)
    assert 0.0 <= solution.lower_bound <= solution.objective
    assert solution.objective == asked.objective(solution.coef, solution.intercept)
    assert solution.support.size <= asked.k
    assert np.isin(asked.include, solution.support).all()
