"""A matrix in chunks answers like one in memory, within the rounding error it claims, however it is cut."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import safescreen as ss
from safescreen.design import DenseDesign, make_design
from safescreen.design.distributed import DistributedDesign
from safescreen.working_memory import within

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

CHUNKS = {
    "one": (40, 25),
    "rows": (7, 25),
    "columns": (40, 4),
    "both": (11, 6),
    "uneven": ((1, 30, 2, 7), (13, 0, 1, 11)),
    "single": (1, 25),
}
DTYPES = [np.float64, np.float32, np.float16, np.longdouble, np.int64, np.int8, np.uint16, np.bool_]


@pytest.fixture(autouse=True)
def here():
    """Everything is computed in this thread."""
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def tiny_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make small chunks go through many pieces, and small answers through many steps."""
    monkeypatch.setattr("safescreen.design.distributed.CHUNK_ENTRIES", 32)
    monkeypatch.setattr("safescreen.design.distributed.GATHERED_BYTES", 640)
    monkeypatch.setattr("safescreen.design.distributed.ADDED_AT_A_TIME", 2)
    monkeypatch.setattr("safescreen.design.base.SMALL_ENTRIES", 0)


def integers(seed: int = 0) -> np.ndarray:
    """Small non-negative integers with many zeros, which every dtype can hold; some columns are constant."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (40, 25)) * (rng.random((40, 25)) < 0.4)
    X[:, 3], X[:, 20] = 0, 1
    return X


def weights_of(seed: int | None, samples: int = 40) -> np.ndarray:
    """Equal weights, or others with some zeros among them."""
    if seed is None:
        return np.full(samples, 1.0 / samples)
    weights = np.random.default_rng(seed).random(samples)
    weights[::8] = 0.0
    return weights / weights.sum()


def both(X: np.ndarray, chunks, weights: np.ndarray, standardize: bool) -> tuple[DistributedDesign, DenseDesign]:
    design, dense = (
        make_design(da.from_array(X, chunks=chunks), weights, standardize),
        DenseDesign(X, weights, standardize),
    )
    assert isinstance(design, DistributedDesign)
    return design, dense


def check_answers(design: DistributedDesign, dense: DenseDesign, X: np.ndarray) -> None:
    np.testing.assert_array_equal(design.constant, dense.constant)
    np.testing.assert_allclose(design.means, dense.means, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(design.scales, dense.scales, rtol=1e-13)
    A = (X.astype(np.float64).astype(np.longdouble) - design.means) / design.scales
    A[:, design.constant] = 0.0
    assert np.all(np.sqrt(np.sum(A * A, axis=0)) <= design.norms)
    np.testing.assert_allclose(design.norms[~design.constant], dense.norms[~design.constant], rtol=1e-5)
    alphas = np.random.default_rng(3).standard_normal((3, len(X)))
    together = design.correlations_of(alphas)
    for alpha, row in zip(alphas, together, strict=True):
        exact, most = A.T @ alpha.astype(np.longdouble), design.error * np.linalg.norm(alpha)
        assert np.all(np.abs(design.correlations(alpha) - exact) <= most)
        assert np.all(np.abs(row - exact) <= most)
    chosen = np.arange(X.shape[1])[::-2]
    np.testing.assert_allclose(design.columns(chosen), A[:, chosen].astype(np.float64), rtol=4e-16, atol=0)
    drifts = np.array([0.0, 0.3, 1.0])
    indices, widened = design.strongest(alphas, drifts, 6)
    for row, (alpha, drift) in enumerate(zip(alphas, drifts, strict=True)):
        sizes = np.abs(together[row]) + np.linalg.norm(alpha) * (1 + 1e-9) * (design.error + drift * design.norms)
        np.testing.assert_allclose(widened[row], np.sort(sizes)[::-1][:6], rtol=1e-13)
        np.testing.assert_allclose(sizes[indices[row]], widened[row], rtol=1e-13)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("chunks", CHUNKS)
def test_any_chunks(chunks, seed, standardize, tiny_pieces):
    X = integers().astype(float) + np.linspace(0.0, 3.0, 25)
    check_answers(*both(X, CHUNKS[chunks], weights_of(seed), standardize), X)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_any_dtype(dtype, standardize, tiny_pieces):
    X = integers().astype(dtype)
    design, dense = both(X, CHUNKS["both"], weights_of(None), standardize)
    check_answers(design, dense, X)
    assert design.dtype == X.dtype
    assert design.fingerprint == dense.fingerprint
    np.testing.assert_array_equal(design.matrix, X.astype(float))


@pytest.mark.parametrize("chunks", CHUNKS)
def test_the_fingerprint_does_not_depend_on_chunks(chunks, tiny_pieces):
    X = np.where(integers() == 0, -0.0, integers())
    design, dense = both(X, CHUNKS[chunks], weights_of(None), True)
    assert design.fingerprint == dense.fingerprint


def test_means_that_dwarf_their_scales(tiny_pieces):
    X = np.random.default_rng(0).standard_normal((40, 25))
    X[:, ::2] += 1e9
    X[:, 5] *= 1e-200
    X[:, 6] = 1e9
    X[0, 7] += 1e140
    design, dense = both(X, CHUNKS["both"], weights_of(None), True)
    np.testing.assert_array_equal(design.constant, dense.constant)
    np.testing.assert_allclose(design.scales, dense.scales, rtol=1e-9)
    for column in (2, 5, 7, 9):
        check_exactly(design, X, column)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.floats(-6.0, 6.0), st.floats(-3.0, 3.0))
def test_errors_in_rational_arithmetic(seed, standardize, offset, spread):
    rng = np.random.default_rng(seed)
    X = np.sign(offset) * 10.0 ** abs(offset) + 10.0**spread * rng.standard_normal((17, 5))
    with dask.config.set(scheduler="synchronous"):
        design = make_design(da.from_array(X, chunks=(4, 2)), weights_of(None, 17), standardize)
        check_exactly(design, X, seed % 5)


def check_exactly(design: DistributedDesign, X: np.ndarray, j: int) -> None:
    """Correlation and norm of one column, rounding included."""
    mean, scale = Fraction(float(design.means[j])), Fraction(float(design.scales[j]))
    column = [(Fraction(float(x)) - mean) / scale for x in X[:, j]]
    alpha = np.random.default_rng(j).standard_normal(len(X))
    exact = sum(a * Fraction(float(f)) for a, f in zip(column, alpha, strict=True))
    length = sum(Fraction(float(f)) ** 2 for f in alpha)
    found = Fraction(float(design.correlations(alpha)[j]))
    assert (found - exact) ** 2 <= Fraction(float(design.error[j])) ** 2 * length
    assert sum(a * a for a in column) <= Fraction(float(design.norms[j])) ** 2


@pytest.mark.parametrize(
    ("value", "message"), [(np.nan, "contains NaN"), (np.inf, "contains infinity"), (1e170, "magnitude 1e\\+170")]
)
@pytest.mark.parametrize("seed", [None, 1])
def test_entries_that_are_no_numbers(value, message, seed):
    X = integers().astype(float)
    X[8, 12] = value  # a row of weight zero, if there are any
    y = np.arange(40) % 2
    with pytest.raises(ValueError, match=message):
        ss.Problem(da.from_array(X, chunks=(11, 6)), y, k=2, sample_weight=weights_of(seed))


def test_what_cannot_be_a_matrix():
    X = da.from_array(integers().astype(float), chunks=(11, 6))
    y = np.arange(40) % 2
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        ss.Problem(X[X[:, 0] > 1.0], y, k=2)
    with pytest.raises(TypeError, match="without masked entries"):
        ss.Problem(da.ma.masked_equal(X, 1.0), y, k=2)
    with pytest.raises(ValueError, match="Complex data"):
        ss.Problem(X.astype(complex), y, k=2)


def test_masks_that_hide_nothing():
    X = integers().astype(float)
    masked = da.ma.masked_array(da.from_array(X, chunks=(11, 6)), mask=da.zeros(X.shape, bool, chunks=(11, 6)))
    design, alpha = DistributedDesign(masked, weights_of(None)), np.linspace(-1.0, 1.0, 40)
    np.testing.assert_allclose(design.correlations(alpha), X.T @ alpha, atol=1e-12)


def test_a_table_is_sent_back():
    frames = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    table = frames.from_pandas(pandas.DataFrame(integers()), npartitions=2)
    with pytest.raises(TypeError, match="to_dask_array"):
        ss.Problem(table, np.arange(40) % 2, k=2)


@pytest.mark.parametrize("terms", [{"k": 3}, {"mu": 0.02}, {"k": 4, "standardize": False, "fit_intercept": False}])
@pytest.mark.parametrize("chunks", ["rows", "columns", "both"])
def test_solutions_are_those_of_the_matrix_in_memory(chunks, terms, tmp_path):
    X, y, _ = ss.datasets.make_sparse_logistic(40, 25, 4, 2.0, random_state=2)
    stored = da.from_array(X, chunks=CHUNKS[chunks])
    problem, other = ss.Problem(X, y, **terms), ss.Problem(stored, da.from_array(y, chunks=9), **terms)
    one, two = ss.solve(problem), ss.solve(other, proof=tmp_path / "proof.npz")
    assert two.status == "optimal"
    assert abs(one.objective - two.objective) <= 1e-4 * one.objective
    assert two.lower_bound <= one.objective * (1.0 + 1e-12)
    assert ss.verify(tmp_path / "proof.npz", X, y).valid
    assert ss.verify(tmp_path / "proof.npz", stored, y).valid
    np.testing.assert_array_equal(ss.screen(problem).excluded, ss.screen(other).excluded)


def test_columns_are_kept_within_their_room(monkeypatch):
    asked = []
    monkeypatch.setattr("safescreen.design.base.SMALL_ENTRIES", 0)
    monkeypatch.setattr(
        "safescreen.design.distributed._some_columns",
        lambda chunk, local: asked.append(local.size) or chunk[:, local].T,
    )
    monkeypatch.setattr("safescreen.design.distributed.allowed", lambda data: 16 * 8 * 40 * 5)
    X = integers().astype(float)
    design, _ = both(X, CHUNKS["columns"], weights_of(None), False)
    _ = design.constant
    asked.clear()
    for chosen, fetched in (
        ([1, 2], 2),
        ([2, 1, 2], 0),
        ([1, 8], 1),
        ([10, 11, 12, 13, 14, 15], 6),
        ([1], 0),
        ([16, 17, 18, 19], 4),
        ([1], 0),  # asked for lately
        ([2], 1),
    ):
        np.testing.assert_array_equal(design.columns(chosen), X[:, chosen])
        assert sum(asked) == fetched
        asked.clear()


def test_passes_are_few():
    X = integers().astype(float)
    design, _ = both(X, CHUNKS["both"], weights_of(None), True)
    assert design.passes == 1
    _ = design.error, design.norms, design.constant
    assert design.passes == 2
    design.correlations_of(np.ones((5, 40)))
    design.strongest(np.ones((5, 40)), np.zeros(5), 3)
    assert design.passes == 4


@pytest.mark.parametrize(("losses", "fails"), [(0, False), (4, False), (5, True)])
def test_questions_that_get_lost_are_asked_again(losses, fails, monkeypatch):
    class KilledWorker(Exception):  # noqa: N818  (as Dask calls it)
        pass

    compute, left = dask.compute, iter(range(losses))

    def unreliable(*tasks):
        if next(left, None) is not None:
            raise KilledWorker
        return compute(*tasks)

    X = integers().astype(float)
    design, dense = both(X, CHUNKS["both"], weights_of(None), False)
    monkeypatch.setattr(dask, "compute", unreliable)
    monkeypatch.setattr("safescreen.design.distributed.PAUSES", (0.0,) * 4)
    if fails:
        with pytest.raises(KilledWorker):
            design.correlations(np.ones(40))
    else:
        np.testing.assert_allclose(design.correlations(np.ones(40)), dense.correlations(np.ones(40)), rtol=1e-13)


def test_other_errors_are_the_callers(monkeypatch):
    design, _ = both(integers().astype(float), CHUNKS["both"], weights_of(None), False)
    tries = []
    monkeypatch.setattr(dask, "compute", lambda *tasks: tries.append(1) or [][0])
    with pytest.raises(IndexError):
        design.correlations(np.ones(40))
    assert len(tries) == 1


def test_correlations_that_are_no_numbers_are_the_strongest():
    X = integers().astype(float)
    design = DistributedDesign(da.from_array(X, chunks=(40, 5)), weights_of(None))
    strange = design.error.copy()
    strange[7] = np.nan
    design.error = strange
    features, widened = design.strongest(np.full((1, 40), 0.01), np.zeros(1), 2)  # else it would be missing in a bound
    assert features[0, 0] == 7
    assert widened[0, 0] == np.inf


def test_a_matrix_without_room_here_is_not_brought_here():
    X = da.zeros((1000, 100), chunks=(100, 100)).map_blocks(_never, dtype=float)
    design = DistributedDesign.__new__(DistributedDesign)
    design._X, design.shape = X, X.shape
    with within(1e-4), pytest.raises(OSError, match=r"0.0 GB in double precision.*memory_limit"):
        _ = design.matrix


def _never(chunk: np.ndarray) -> np.ndarray:
    raise AssertionError("it was asked for")


def test_threads_may_ask_for_columns_at_the_same_time(tiny_pieces):
    X = integers().astype(float)
    design = DistributedDesign(da.from_array(X, chunks=(40, 25)), weights_of(None))
    found: list[bool] = []

    def ask(seed: int) -> None:
        rng = np.random.default_rng(seed)
        with within(16 * 8 * 40 * 4 / 1e9):  # room for four columns
            for _ in range(400):
                chosen = rng.choice(6, 3, replace=False)
                found.append(np.array_equal(design.columns(chosen), X[:, chosen]))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(ask, range(4)))  # raises what a thread has raised
    finally:
        sys.setswitchinterval(before)
    assert len(found) == 1600
    assert all(found)


@pytest.mark.filterwarnings("ignore:overflow encountered in divide")
def test_a_column_of_which_nothing_is_known_is_among_the_strongest():
    """Beside a row that does not count its norm is infinite, and infinity times no drift is no number."""
    rng = np.random.default_rng(0)
    X, weights = rng.standard_normal((8, 4)), np.full(8, 1.0 / 7.0)
    X[:, 2] *= 1e-160
    X[0, 2], weights[0] = 1e150, 0.0
    design = DistributedDesign(da.from_array(X, chunks=(4, 2)), weights, True)
    indices, widened = design.strongest(weights[None] * rng.standard_normal((1, 8)), np.zeros(1), 2)
    assert np.isinf(design.norms[2])
    assert indices[0, 0] == 2
    assert widened[0, 0] == np.inf
