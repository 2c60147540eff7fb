"""Large dense matrices: read in tiles by several threads, with the answers and the error bounds of small ones."""

from __future__ import annotations

import tracemalloc
from contextlib import nullcontext
from fractions import Fraction
from threading import get_ident

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_design import DTYPES, LAYOUTS, check_answers, integers, random_weights, uniform
from threadpoolctl import threadpool_info, threadpool_limits

import safescreen as ss
from safescreen.design import DenseDesign, reading, threads
from safescreen.expiry import ExpiredError, expiring
from safescreen.problem.validation import check_and_sum

pytestmark = pytest.mark.interpreted


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make small matrices go through many tiles and blocks."""
    for name, value in (("LARGE_ENTRIES", 0), ("TILE_ENTRIES", 96), ("BLOCK_ENTRIES", 24), ("TILE_WIDTHS", (7, 9))):
        monkeypatch.setattr(reading, name, value)
    monkeypatch.setattr("safescreen.design.base.SMALL_ENTRIES", 0)


def exact_norms(design: DenseDesign, X: np.ndarray) -> list[Fraction]:
    """Squared norms of the columns, as rational numbers."""
    columns = range(X.shape[1])
    pairs = [(Fraction(float(design.means[j])), Fraction(float(design.scales[j]))) for j in columns]
    return [
        sum(((Fraction(float(v)) - mean) / scale) ** 2 for v in X[:, j]) if not design.constant[j] else Fraction(0)
        for j, (mean, scale) in zip(columns, pairs, strict=True)
    ]


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weights", [uniform(40), random_weights(40)], ids=["equal", "weighted"])
def test_dtypes_and_layouts(dtype, layout, standardize, weights):
    X = LAYOUTS[layout](integers().astype(dtype))
    check_answers(DenseDesign(X, weights, standardize), X)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_few_columns_cost_no_copy_of_the_others(layout, monkeypatch):
    monkeypatch.setattr(reading, "BLOCK_ENTRIES", 1 << 18)
    X = LAYOUTS[layout](np.ones((400, 20_000), np.float32))
    reading.gathered(X, np.array([0]), None, 1)  # which imports what it needs
    tracemalloc.start()
    columns = reading.gathered(X, np.array([0, 7, 1900]), None, 1)
    peak = tracemalloc.get_traced_memory()[1]  # of the whole process: other threads take some hundred kilobytes
    tracemalloc.stop()
    assert columns.shape == (3, 400)
    assert peak < X.nbytes / 20


@pytest.mark.parametrize("weights", [uniform(40), random_weights(40)], ids=["equal", "weighted"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_moments_are_those_of_small_matrices(order, weights, monkeypatch):
    X = np.asarray(integers().astype(float), order=order)
    X[:, 3], X[:, 4], X[:, 5], X[:, 6] = 0.0, 7.0, np.arange(40.0), 1e6 + np.arange(40.0)
    large = DenseDesign(X, weights, True)
    moments = large.means, large.scales, large.constant, large.norms
    monkeypatch.setattr(reading, "LARGE_ENTRIES", 1 << 22)
    small = DenseDesign(X, weights, True)
    np.testing.assert_allclose(moments[0], small.means, rtol=1e-14)
    np.testing.assert_allclose(moments[1], small.scales, rtol=1e-12)
    np.testing.assert_array_equal(moments[2], small.constant)
    np.testing.assert_allclose(moments[3][~small.constant], small.norms[~small.constant], rtol=1e-5)


@settings(max_examples=60)
@given(
    st.integers(0, 10_000),
    st.integers(2, 40),
    st.sampled_from([0.0, 1.0, 1e3, 1e8, 1e15]),
    st.booleans(),
    st.booleans(),
)
def test_bounds_hold_in_rationals(seed, samples, offset, standardize, weighted):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, 6)) * 10.0 ** rng.integers(-3, 4, 6) + offset * rng.integers(0, 2, 6)
    X[0, 0], X[:, 1] = 1e9, offset
    weights = random_weights(samples, seed, zeros=False) if weighted else uniform(samples)
    design = DenseDesign(X.copy(order=rng.choice(["C", "F"])), weights, standardize)
    for norm, square in zip(design.norms, exact_norms(design, X), strict=True):
        assert Fraction(float(norm)) ** 2 >= square
    alphas = rng.standard_normal((2, samples))
    for alpha, together in zip(alphas, design.correlations_of(alphas), strict=True):
        length = float(np.linalg.norm(alpha))
        for j, got in enumerate(design.correlations(alpha)):
            mean, scale = Fraction(float(design.means[j])), Fraction(float(design.scales[j]))
            terms = (
                (Fraction(float(v)) - mean) / scale * Fraction(float(a)) for v, a in zip(X[:, j], alpha, strict=True)
            )
            exact = Fraction(0) if design.constant[j] else sum(terms)
            for value in (got, together[j]):
                assert abs(Fraction(float(value)) - exact) <= Fraction(float(design.error[j]) * length)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_bit_depends_on_the_number_of_threads(order, dtype):
    X = np.random.default_rng(0).standard_normal((50, 40)).astype(dtype, order=order)
    alpha = np.random.default_rng(1).standard_normal((2, 50))
    answers = []
    for count in (1, 2, 5):
        design = DenseDesign(X, uniform(50), True)
        vars(design)["_threads"] = count
        answers.append(
            (design.means, design.scales, design.norms, design.correlations_of(alpha), design.columns([3, 1]))
        )
    for others in answers[1:]:
        for one, other in zip(answers[0], others, strict=True):
            np.testing.assert_array_equal(one, other)


def test_the_root_of_a_strong_problem_takes_few_reads(monkeypatch):
    X, y, _ = ss.datasets.make_sparse_logistic(400, 60, 4, 2.0, random_state=0)
    monkeypatch.setattr(reading, "TILE_ENTRIES", 1 << 12)
    monkeypatch.setattr(reading, "BLOCK_ENTRIES", 1 << 10)
    problem = ss.Problem(X.astype(np.float32), y, k=4, gamma=5.0)
    assert problem.design.passes == 1
    solution = ss.solve(problem)
    assert solution.status == "optimal"
    assert problem.design.passes <= 5


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "Input X contains NaN"),
        (np.inf, "Input X contains infinity"),
        (-np.inf, "Input X contains infinity"),
        (1e200, "magnitude 1e[+]200, but at most 1e[+]150"),
    ],
)
@pytest.mark.parametrize("row", [0, 20, 39, slice(None)])
def test_entries_that_are_not_finite_are_found(order, value, message, row):
    X = np.asarray(integers().astype(float), order=order)
    X[row, 7] = value
    with pytest.raises(ValueError, match=message):
        check_and_sum(X)


@pytest.mark.parametrize(("count", "patience"), [(1, 4), (3, 0)])
def test_time_ends_a_pass(count, patience):
    design = DenseDesign(np.ones((60, 30)), uniform(60))
    vars(design)["_threads"] = count
    looks = []

    def expired() -> bool:
        looks.append(1)
        return len(looks) > patience

    with expiring(expired), pytest.raises(ExpiredError):
        design.correlations(np.ones(60))
    assert len(looks) == patience + 1


@pytest.mark.parametrize("by_caller", [False, True])
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_what_a_thread_raises_comes_through_and_ends_the_others(error, by_caller):
    caller, done = get_ident(), []

    def make_worker():
        def work(part: int) -> int:
            done.append(part)
            if part > 5 and (get_ident() == caller) == by_caller:
                raise error("here")
            return part

        return work

    def endless():
        yield from range(10**9)

    with pytest.raises(error, match="here"):
        threads.share_out(endless(), make_worker, lambda *_: None, 3)
    assert len(done) < 10**6


def test_results_are_taken_in_order():
    taken = []
    threads.share_out(range(200), lambda: lambda part: -part, lambda part, result: taken.append((part, result)), 4)
    assert taken == [(part, -part) for part in range(200)]


def test_threads_follow_the_limits_of_linear_algebra():
    with threadpool_limits(1, user_api="blas"):
        assert threads.threads_at_hand() == 1
    assert threads.threads_at_hand() >= 1


@pytest.mark.parametrize("fails", [False, True])
def test_linear_algebra_has_no_threads_meanwhile_and_its_own_afterwards(fails):
    def blas_threads() -> set[int]:
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    seen = []

    def work(part: int) -> None:
        seen.append((blas_threads(), threads.threads_at_hand()))
        if part == 1 and fails:
            raise MemoryError

    before, at_hand = blas_threads(), threads.threads_at_hand()
    with pytest.raises(MemoryError) if fails else nullcontext():
        threads.share_out(range(2), lambda: work, lambda *_: threads.share_out((), lambda: work, print, 1), 1)
    assert seen == [({1}, at_hand)] * 2
    assert blas_threads() == before
