"""Matrices on disk: every storage gives the answers of the same matrix in memory, in few reads and little memory."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import safescreen as ss
from safescreen.design import DenseDesign, Design, make_design
from safescreen.design.block_reads import ahead, plan_of
from safescreen.design.elsewhere import place_of
from safescreen.design.sources import Source, open_source
from safescreen.design.stored import StoredDesign
from safescreen.expiry import ExpiredError, expiring
from safescreen.working_memory import within

DTYPES = ["f8", "f4", "i2", "u1", "?", ">f4"]
LAYOUTS = ["C", "F", "slice", "transposed", "reversed"]
FORMS = ["rows", "columns", "squares", "parquet", "dataset", "table", *LAYOUTS]


def integers(samples: int = 43, features: int = 29, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (samples, features)) * (rng.random((samples, features)) < 0.4)
    X[:, 4], X[:, 7] = 0, 1
    return X


def weights_of(samples: int, kind: str) -> np.ndarray:
    weights = np.random.default_rng(1).random(samples) if kind != "equal" else np.ones(samples)
    if kind == "zeros":
        weights[::5] = 0.0  # the first row among them
    return weights / weights.sum()


def mapped(X: np.ndarray, folder: Path, layout: str) -> np.memmap:
    """A memory map of the same values, laid out in one of several ways."""
    samples, features = X.shape
    shape, order = {
        "C": ((samples, features), "C"),
        "F": ((samples, features), "F"),
        "slice": ((samples + 3, 2 * features + 5), "C"),
        "transposed": ((features, samples), "C"),
        "reversed": ((samples, features), "C"),
    }[layout]
    file = np.memmap(folder / f"{layout}.bin", X.dtype, "w+", offset=24, shape=shape, order=order)
    view = {
        "slice": lambda: file[3:, 5::2],
        "transposed": lambda: file.T,
        "reversed": lambda: file[::-1, ::-1],
    }.get(layout, lambda: file)()
    view[...] = X
    file.flush()
    return view


def zarr_array(X: np.ndarray, form: str):
    zarr = pytest.importorskip("zarr")
    samples, features = X.shape
    chunks = {"rows": (5, features), "columns": (samples, 4), "squares": (6, 5)}[form]
    array = zarr.create_array(store=zarr.storage.MemoryStore(), shape=X.shape, chunks=chunks, dtype=X.dtype)
    array[...] = X
    return array


def arrow(X: np.ndarray, folder: Path, form: str):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    names = [f"a.{j}" for j in range(X.shape[1])]
    native = X.astype(X.dtype.newbyteorder("="))
    table = pa.table({name: native[:, j] for j, name in enumerate(names)})
    if form == "table":
        return pa.concat_tables([table.slice(0, 10), table.slice(10)])
    if form == "parquet":
        pq.write_table(table, folder / "x.parquet", row_group_size=8)
        return pq.ParquetFile(folder / "x.parquet")
    pq.write_table(table.slice(0, 17), folder / "part0.parquet")
    pq.write_table(table.slice(17), folder / "part1.parquet")
    return pytest.importorskip("pyarrow.dataset").dataset([folder / "part0.parquet", folder / "part1.parquet"])


def stored(X: np.ndarray, folder: Path, form: str):
    """The same matrix on disk."""
    if form in LAYOUTS:
        return mapped(X, folder, form)
    return zarr_array(X, form) if form in ("rows", "columns", "squares") else arrow(X, folder, form)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small matrices count as large, and are read in many blocks of uneven size."""
    monkeypatch.setattr("safescreen.design.elsewhere.LOADED_BYTES", 0)
    monkeypatch.setattr("safescreen.design.block_reads.BLOCK_BYTES", 1000)
    monkeypatch.setattr("safescreen.design.block_reads.CHUNK_ENTRIES", 64)
    monkeypatch.setattr("safescreen.design.base.SMALL_ENTRIES", 0)
    monkeypatch.setattr("safescreen.design.sources.mapped.TOUCHED_BYTES", 300)


def check_same(design: Design, X: np.ndarray, weights: np.ndarray) -> None:
    """The answers of the matrix in memory, up to rounding; what is exact is the same."""
    known = DenseDesign(X, weights, design.standardize)
    size = np.abs(X.astype(float)).max()
    np.testing.assert_allclose(design.means, known.means, rtol=1e-14, atol=1e-14 * size)
    np.testing.assert_allclose(design.scales, known.scales, rtol=1e-13)
    np.testing.assert_array_equal(design.constant, known.constant)
    np.testing.assert_allclose(design.norms, known.norms, rtol=2e-6, atol=1e-12 * size)
    assert np.all(design.norms >= known.norms * (1.0 - 1.5e-6))
    alphas = np.random.default_rng(3).standard_normal((3, len(X)))
    expected, got = known.correlations_of(alphas), design.correlations_of(alphas)
    lengths = np.linalg.norm(alphas, axis=1)[:, None]
    assert np.all(np.abs(got - expected) <= (design.error + known.error + 1e-13) * lengths)
    np.testing.assert_allclose(design.correlations(alphas[0]), got[0], rtol=0, atol=1e-12 * lengths[0, 0])
    chosen = np.array([11, 3, 3, 28, 4, 0])
    np.testing.assert_allclose(design.columns(chosen), known.columns(chosen), rtol=1e-13, atol=1e-13)
    exact = design.exact_correlations(chosen, alphas[1])[0]
    np.testing.assert_allclose(exact, known.exact_correlations(chosen, alphas[1])[0], rtol=1e-12, atol=1e-12)
    drifts = np.array([0.0, 1.0, 2.0])
    indices, widened = design.strongest(alphas, drifts, 7)
    sizes = np.abs(got) + lengths * (design.error + drifts[:, None] * design.norms)
    np.testing.assert_allclose(widened, -np.sort(-sizes, axis=1)[:, :7], rtol=1e-8)
    np.testing.assert_allclose(widened, np.take_along_axis(sizes, indices, axis=1), rtol=1e-8)
    assert all(np.unique(row).size == 7 for row in indices)
    assert design.fingerprint == known.fingerprint
    assert [group.tolist() for group in design.copies] == [group.tolist() for group in known.copies]
    np.testing.assert_allclose(design._squares(weights, known.means), known._squares(weights, known.means), rtol=1e-12)
    np.testing.assert_allclose(design._sums(weights, known.means), known._sums(weights, known.means), atol=1e-12)
    assert set(design._zero_candidates()) >= set(np.flatnonzero(~X[weights > 0].any(axis=0) & design.constant))


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
def test_answers_are_those_of_the_matrix_in_memory(form, dtype, standardize, small_blocks, tmp_path):
    X = integers().astype(dtype)
    X[:, 20] = X[:, 2]
    weights = weights_of(len(X), "zeros")
    design = make_design(stored(X, tmp_path, form), weights, standardize)
    assert isinstance(design, StoredDesign)
    assert design.dtype == X.dtype or form in ("parquet", "dataset", "table")
    check_same(design, X, weights)


@pytest.mark.parametrize("weights", ["equal", "random"])
@pytest.mark.parametrize("block", [100, 700, 10**6])
@pytest.mark.parametrize("form", ["C", "F", "squares", "parquet"])
def test_blocks_of_any_size(form, block, weights, small_blocks, monkeypatch, tmp_path):
    monkeypatch.setattr("safescreen.design.block_reads.BLOCK_BYTES", block)
    X = integers(seed=5).astype("f8") + 1e6 * (np.arange(29) % 3 == 0)
    weights = weights_of(len(X), weights)
    with within(1e-6):  # a thousand bytes: nothing can be kept
        check_same(make_design(stored(X, tmp_path, form), weights, True), X, weights)


@pytest.mark.parametrize("form", FORMS)
def test_reads_meet_and_end_at_borders(form, small_blocks, tmp_path):
    source = open_source(stored(integers().astype("f8"), tmp_path, form))
    plan = plan_of(source)
    seen = np.zeros(source.shape, int)
    for rows, columns in plan.pairs():
        seen[rows, columns] += 1
        if form in ("rows", "columns", "squares"):
            assert rows.start % source.grain[0] == 0
            assert columns.start % source.grain[1] == 0
    assert np.all(seen == 1)


@pytest.mark.parametrize(("form", "reads"), [("F", 1), ("transposed", 1), ("columns", 1), ("C", 2), ("rows", 2)])
def test_moments_take_one_read_of_columns_and_two_of_rows(form, reads, small_blocks, tmp_path):
    X = integers().astype("f8")
    design = make_design(stored(X, tmp_path, form), weights_of(len(X), "equal"), True)
    _ = design.means, design.scales, design.constant, design.norms, design.error
    assert design.passes == reads
    design.correlations_of(np.ones((5, len(X))))
    assert design.passes == reads + 1
    design.columns([3, 5, 9])
    before = design.passes
    assert before == reads + 1 + (form in ("C", "rows"))
    design.columns([9, 3])  # which are still there
    assert design.passes == before


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    size=st.sampled_from([1e-9, 1.0, 1e9]),
    offset=st.sampled_from([0.0, 3.0, 1e3, 1e12]),
    standardize=st.booleans(),
    layout=st.sampled_from(["C", "F"]),
    dtype=st.sampled_from(["f4", "f8"]),
)
def test_error_bounds_hold_in_rational_arithmetic(seed, size, offset, standardize, layout, dtype, tmp_path_factory):
    rng = np.random.default_rng(seed)
    X = ((rng.standard_normal((9, 6)) + offset) * size).astype(dtype)
    X[:, 0] = (rng.standard_normal(9) * size).astype(dtype)  # one without an offset
    alpha = rng.standard_normal(9)
    weights = weights_of(9, "random")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("safescreen.design.elsewhere.LOADED_BYTES", 0)
        patch.setattr("safescreen.design.block_reads.BLOCK_BYTES", 60)
        design = make_design(mapped(X, tmp_path_factory.mktemp("map"), layout), weights, standardize)
        got = design.correlations(alpha)
    norm = Fraction(float(np.linalg.norm(alpha)) * (1.0 - 1e-12))
    for j in range(6):
        if design.constant[j]:
            continue
        mean, scale = Fraction(design.means[j]), Fraction(design.scales[j])
        column = [(Fraction(float(value)) - mean) / scale for value in X[:, j]]
        exact = sum(a * Fraction(b) for a, b in zip(column, alpha, strict=True))
        assert abs(Fraction(got[j]) - exact) <= Fraction(design.error[j]) * norm
        assert sum(a * a for a in column) <= Fraction(design.norms[j]) ** 2


@pytest.mark.parametrize("layout", ["C", "F"])
def test_large_means_nearly_constant_columns_and_extreme_sizes(layout, small_blocks, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 6))
    X[:, 0] += 1e8
    X[:, 1] = 0.1
    X[3, 1] = np.nextafter(0.1, 1.0)
    X[:, 2] *= 1e-200
    X[:, 3] *= 1e149
    X[:, 4] = 0.1
    design = make_design(mapped(X, tmp_path, layout), weights_of(100, "equal"), True)
    assert design.constant.tolist() == [False, False, False, False, True, False]
    assert design.means[4] == 0.1
    exact = X.astype(np.longdouble).std(axis=0).astype(float)
    np.testing.assert_allclose(design.scales[[0, 2, 3, 5]], exact[[0, 2, 3, 5]], rtol=1e-12)
    assert design.scales[1] > 0.0
    assert np.isfinite(design.norms).all()
    raw = make_design(mapped(X, tmp_path, layout), weights_of(100, "equal"), False)
    assert not raw.constant.any()
    assert np.all(raw.norms[:2] >= np.linalg.norm(X[:, :2], axis=0))


@pytest.mark.parametrize(("value", "words"), [(np.nan, "NaN"), (-np.inf, "infinity"), (-1e151, "magnitude 1e\\+151")])
@pytest.mark.parametrize("form", ["C", "F", "squares", "parquet"])
def test_entries_that_are_no_ordinary_numbers_are_refused(form, value, words, small_blocks, tmp_path):
    X = integers().astype("f8")
    X[40, 17] = value
    problem = ss.Problem(stored(X, tmp_path, form), np.arange(43) % 2, k=2)
    with pytest.raises(ValueError, match=words):
        ss.solve(problem)


def test_nulls_are_missing_values(small_blocks):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": [1, 2, 3, None], "b": [0.5, 1.0, 2.0, 1.0]})
    with pytest.raises(ValueError, match="Input X contains NaN"):
        ss.solve(ss.Problem(table, [0, 1, 0, 1], k=1))


@pytest.mark.parametrize("loaded", [0, 10**6])
@pytest.mark.parametrize("form", ["parquet", "dataset", "table"])
def test_columns_of_a_table_keep_their_names(form, loaded, small_blocks, monkeypatch, tmp_path):
    monkeypatch.setattr("safescreen.design.elsewhere.LOADED_BYTES", loaded)
    problem = ss.Problem(stored(integers().astype("f4"), tmp_path, form), np.arange(43) % 2, k=2, exclude="a.3")
    assert problem.names([0, 28]) == ["a.0", "a.28"]
    assert problem.exclude.tolist() == [3]
    assert isinstance(problem.design, DenseDesign if loaded else StoredDesign)


def test_columns_of_text_are_refused(small_blocks):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": [1.0, 2.0], "who": ["x", "y"]})
    with pytest.raises(TypeError, match=r"1 non-numeric column\(s\), 'who' \(string\)"):
        ss.Problem(table, [0, 1], k=1)


def test_decimals_and_mixed_types(small_blocks):
    pa = pytest.importorskip("pyarrow")
    decimals = pa.array([1, 2, 4]).cast(pa.decimal128(20, 0))
    table = pa.table({"a": decimals, "b": [True, False, True], "c": pa.array([1, 2, 200], pa.uint8())})
    source = open_source(table)
    assert source.dtype == np.float64
    np.testing.assert_array_equal(source.whole(), [[1, 1, 1], [2, 0, 2], [4, 1, 200]])


def test_a_filtered_dataset_has_the_rows_that_are_left(small_blocks, tmp_path):
    X = integers().astype("f8")
    dataset = arrow(X, tmp_path, "dataset")
    compute = pytest.importorskip("pyarrow.compute")
    source = open_source(dataset.filter(compute.field("a.0") > 0))
    np.testing.assert_array_equal(source.whole(), X[X[:, 0] > 0])


def test_repeated_names_in_a_file_are_refused(small_blocks, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.Table.from_arrays([pa.array([1.0, 2.0])] * 2, ["a", "a"]), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="several columns called 'a'"):
        ss.Problem(pq.ParquetFile(tmp_path / "x.parquet"), [0, 1], k=1)


def test_small_maps_are_arrays_in_memory(tmp_path):
    X, y, _ = ss.datasets.make_sparse_logistic(60, 30, 3, 1.0, random_state=0)
    file = mapped(X, tmp_path, "F")
    assert place_of(file) is None
    problem = ss.Problem(file, y, k=3)
    assert isinstance(problem.design, DenseDesign)
    one, other = ss.solve(problem), ss.solve(ss.Problem(np.asfortranarray(X), y, k=3))
    assert (one.objective, one.lower_bound, one.nodes) == (other.objective, other.lower_bound, other.nodes)


def test_what_was_computed_from_a_map_lies_in_memory(small_blocks, tmp_path):
    file = mapped(integers().astype("f8"), tmp_path, "C")
    assert place_of(file) == "disk"
    assert place_of(file[[0, 2]]) is None


def test_private_changes_of_a_map_are_not_lost(small_blocks, tmp_path):
    X = integers().astype("f8")
    mapped(X, tmp_path, "C")
    private = np.memmap(tmp_path / "C.bin", "f8", "c", offset=24, shape=X.shape)
    private[5, 6] = 77.0
    design = make_design(private, weights_of(43, "equal"), False)
    assert design.correlations(np.eye(43)[5])[6] == 77.0
    assert private[5, 6] == 77.0


def data(seed: int) -> tuple[np.ndarray, np.ndarray]:
    X, y, _ = ss.datasets.make_sparse_logistic(80, 60, 4, 1.0, random_state=seed)
    return X.astype(np.float32), y


@pytest.mark.parametrize("terms", [{"k": 4, "gamma": 5.0}, {"mu": 0.01, "standardize": False}])
@pytest.mark.parametrize("form", ["C", "F", "squares", "parquet", "table"])
def test_solutions_are_those_of_the_matrix_in_memory(form, terms, small_blocks, tmp_path):
    X, y = data(2)
    known = ss.solve(ss.Problem(X, y, **terms))
    found = ss.solve(ss.Problem(stored(X, tmp_path, form), y, **terms))
    assert found.status == "optimal"
    np.testing.assert_array_equal(found.support, known.support)
    assert found.objective == pytest.approx(known.objective, rel=1e-12)
    assert known.lower_bound * (1 - 1e-4) <= found.lower_bound <= found.objective
    np.testing.assert_array_equal(found.screening.excluded, known.screening.excluded)


@pytest.mark.parametrize("form", ["C", "F", "squares", "dataset"])
def test_proofs_of_stored_data_hold_for_the_array(form, small_blocks, monkeypatch, tmp_path):
    monkeypatch.setattr("safescreen.design.stored.LONG_RUN", 100)
    X, y = data(3)
    with within(1e-5):
        ss.solve(ss.Problem(stored(X, tmp_path, form), y, k=3, gamma=2.0), proof=tmp_path / "proof.npz")
    assert ss.verify(tmp_path / "proof.npz", X, y).valid
    if form in LAYOUTS:
        assert ss.verify(tmp_path / "proof.npz", np.memmap(tmp_path / f"{form}.bin", "f4", "r", 24, X.shape, form), y)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_proofs_of_badly_scaled_data_ask_the_checker(dtype, small_blocks, monkeypatch, tmp_path):
    X, y = data(5)
    X = X.astype(dtype)
    X[:, 7] *= 1e12
    problem = ss.Problem(mapped(X, tmp_path, "F"), y, k=2, gamma=100.0, standardize=False)
    ss.solve(problem, proof=tmp_path / "proof.npz", time_limit=10.0)
    assert ss.verify(tmp_path / "proof.npz", X, y).valid
    monkeypatch.setattr("safescreen.working_memory.WORKING_BYTES", 10_000)  # too little for the checker
    ss.solve(problem, proof=tmp_path / "other.npz", time_limit=5.0)
    assert ss.verify(tmp_path / "other.npz", X, y).valid


def test_a_path_and_screening_from_a_map(small_blocks, tmp_path):
    X, y = data(4)
    file = mapped(X, tmp_path, "F")
    path, known = ss.l0_path(file, y, k=[1, 2, 3]), ss.l0_path(X, y, k=[1, 2, 3])
    np.testing.assert_allclose(path.objectives, known.objectives, rtol=1e-12)
    one, other = ss.screen(ss.Problem(file, y, k=2)), ss.screen(ss.Problem(X, y, k=2))
    np.testing.assert_array_equal(one.excluded, other.excluded)


def test_matrices_too_large_for_the_checker_are_said_to_be(small_blocks, tmp_path):
    X = integers().astype("f8")
    design = make_design(zarr_array(X, "squares"), weights_of(43, "equal"))
    np.testing.assert_array_equal(design.matrix, X)
    with within(1e-6), pytest.raises(OSError, match="has less working memory"):
        _ = design.matrix
    assert design.nbytes == 0


class _Waiting(Source):
    """A matrix that is not read until somebody says so."""

    shape, dtype = (3, 2), np.dtype("f8")

    def __init__(self) -> None:
        self.goes_on = Event()

    def read(self, rows, columns):
        self.goes_on.wait(20.0)
        return np.ones((3, 2))[rows, columns]


def test_time_can_be_up_while_a_block_is_waited_for():
    source = _Waiting()
    design = StoredDesign(source, weights_of(3, "equal"))
    try:
        with expiring(lambda: True), pytest.raises(ExpiredError):
            design.correlations(np.ones(3))
        looks = iter([False, False, True])
        with expiring(lambda: next(looks, True)), pytest.raises(ExpiredError):
            design.correlations(np.ones(3))
    finally:
        source.goes_on.set()
    np.testing.assert_array_equal(design.correlations(np.ones(3)), [3.0, 3.0])


def test_one_block_is_read_ahead_and_failures_arrive():
    begun = []

    def read(number: int) -> int:
        begun.append(number)
        if number == 3:
            raise OSError("gone")
        return number

    results = ahead((lambda n=n: read(n)) for n in range(5))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(OSError, match="gone"):
        next(results)
    assert begun == [0, 1, 2, 3]
