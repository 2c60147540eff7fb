"""Matrices on a device: the same answers as in memory, within the error they claim, and never widened as a whole.

NumPy arrays and tensors in memory take the same path as those on a device, which are tried where there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import safescreen as ss
from safescreen.design import DenseDesign, make_design
from safescreen.design import device_reader as reading
from safescreen.design.device import DeviceDesign
from safescreen.design.device_arrays import lies_on_host, plain, to_host

pytest.importorskip("array_api_compat")

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda X: X,
    "columns": lambda X: np.asfortranarray(X),
    "part": lambda X: np.hstack((X, X))[:, : X.shape[1]],
    "sparser": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
}
DTYPES = [np.float64, np.float32, np.float16, np.int64, np.int8, np.uint8, np.bool_]


def _torch(device: str) -> Callable[[np.ndarray], Any]:
    torch = pytest.importorskip("torch")

    def make(X: np.ndarray) -> Any:
        """A tensor with the steps of the array."""
        whole = torch.from_numpy(X)
        return torch.empty_strided(whole.shape, whole.stride(), dtype=whole.dtype, device=device).copy_(whole)

    return make


def _cupy(X: np.ndarray) -> Any:
    """An array with the steps of another."""
    import cupy

    whole = cupy.empty(X.size * 6 * X.itemsize, dtype=np.uint8)
    array = cupy.ndarray(X.shape, X.dtype, whole.data, X.strides)
    array[:] = cupy.asarray(X)
    return array


def _libraries() -> list[str]:
    """What is tried here: more where there is a CUDA device."""
    found = ["numpy", "torch"]
    if find_spec("torch") and import_module("torch").cuda.is_available():
        found.append("torch-cuda")
    if find_spec("cupy") and import_module("cupy").cuda.is_available():
        found.append("cupy")
    return found


@pytest.fixture(params=_libraries())
def library(request) -> Callable[[np.ndarray], Any]:
    """How a NumPy array becomes one of a library."""
    if request.param == "numpy":
        return np.asarray
    return _cupy if request.param == "cupy" else _torch("cuda" if request.param.endswith("cuda") else "cpu")


@pytest.fixture(params=[1 << 24, 64])
def block_entries(request, monkeypatch) -> int:
    """Small matrices go through one block, or through many."""
    monkeypatch.setattr("safescreen.design.device_reader.BLOCK_ENTRIES", request.param)
    monkeypatch.setattr("safescreen.design.device.CARRIED_ENTRIES", request.param)
    return request.param


def entries(dtype: Any, samples: int = 40, features: int = 25) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = (rng.integers(0, 9, (samples, features)) * (rng.random((samples, features)) < 0.4)).astype(dtype)
    X[:, 3], X[:, 4] = 0, 1
    return X


def weights_of(kind: str, samples: int) -> np.ndarray:
    weights = np.full(samples, 1.0) if kind == "equal" else np.random.default_rng(1).random(samples)
    if kind == "zeros":
        weights[::5] = 0.0
    return weights / weights.sum()


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_answers_are_those_of_a_matrix_in_memory(dtype, layout, standardize, library, block_entries):
    X = LAYOUTS[layout](entries(dtype))
    weights = weights_of("zeros", 40)
    device, memory = DeviceDesign(library(X), weights, standardize), DenseDesign(X, weights, standardize)
    np.testing.assert_array_equal(device.constant, memory.constant)
    for name in ("means", "scales", "norms"):
        np.testing.assert_allclose(getattr(device, name), getattr(memory, name), rtol=3e-6, atol=1e-14, err_msg=name)
    np.testing.assert_allclose(device.means, memory.means, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(device.scales, memory.scales, rtol=1e-13)
    alphas = np.random.default_rng(2).standard_normal((19, 40))
    answers = device.correlations_of(alphas)
    for alpha, answer in zip(alphas, answers, strict=True):
        length = np.linalg.norm(alpha)
        np.testing.assert_array_less(
            np.abs(answer - memory.correlations(alpha)), length * (device.error + memory.error) * (1 + 1e-9) + 1e-14
        )
    np.testing.assert_allclose(device.correlations(alphas[0]), answers[0], rtol=0, atol=1e-13)
    chosen = np.array([7, 3, 0, 24])
    np.testing.assert_allclose(device.columns(chosen), memory.columns(chosen), rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(device.matrix, memory.matrix)
    assert device.fingerprint == memory.fingerprint
    assert device.dtype == memory.dtype


@pytest.mark.parametrize("kind", ["equal", "random", "zeros"])
def test_strongest_features(kind, library, block_entries):
    X = entries(np.float32) * np.linspace(1, 3, 25, dtype=np.float32)
    design = DeviceDesign(library(X), weights_of(kind, 40), True)
    alphas, drifts = np.random.default_rng(2).standard_normal((18, 40)), np.linspace(0.0, 0.4, 18)
    chosen, widened = design.strongest(alphas, drifts, 6)
    assert chosen.shape == widened.shape == (18, 6)
    assert chosen.dtype == np.int64
    for alpha, drift, own, sizes in zip(alphas, drifts, chosen, widened, strict=True):
        length = np.linalg.norm(alpha) * (1 + 1e-9)
        expected = np.abs(design.correlations(alpha)) + length * (design.error + drift * design.norms)
        np.testing.assert_allclose(sizes, np.sort(expected)[::-1][:6], rtol=1e-12)
        np.testing.assert_allclose(expected[own], sizes, rtol=1e-12)
        assert np.unique(own).size == 6
    everything, _ = design.strongest(alphas[:1], drifts[:1], 25)
    assert np.unique(everything).size == 25


@pytest.mark.filterwarnings("ignore:overflow encountered in divide")
def test_a_column_of_which_nothing_is_known_is_the_strongest(library):
    """Beside a row that does not count its norm is infinite, and infinity times no drift is no number."""
    rng = np.random.default_rng(0)
    X, weights = rng.standard_normal((8, 4)), np.full(8, 1.0 / 7.0)
    X[:, 2] *= 1e-160
    X[0, 2], weights[0] = 1e150, 0.0
    design = DeviceDesign(library(X), weights, True)
    chosen, widened = design.strongest(weights[None] * rng.standard_normal((1, 8)), np.zeros(1), 2)
    assert np.isinf(design.norms[2])
    assert chosen[0, 0] == 2
    assert widened[0, 0] == np.inf


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    samples=st.integers(1, 12),
    offset=st.sampled_from([0.0, 1.0, 1e6]),
    single=st.booleans(),
    tensor=st.booleans(),
    standardize=st.booleans(),
)
def test_error_bounds_against_rationals(seed, samples, offset, single, tensor, standardize):
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((samples, 3)) + offset) * 10.0 ** rng.integers(-3, 4, 3)
    X[rng.random(X.shape) < 0.3] = 0.0
    X = X.astype(np.float32 if single else np.float64)
    alpha = rng.standard_normal(samples) * 10.0 ** rng.integers(-3, 4, samples)
    design = DeviceDesign(_torch("cpu")(X) if tensor else X, weights_of("random", samples), standardize)
    computed, block = design.correlations(alpha), design.columns(range(3))
    length_squared = sum(Fraction(a) ** 2 for a in alpha)
    for j in np.flatnonzero(~design.constant):
        mean, scale = Fraction(design.means[j]), Fraction(design.scales[j])
        column = [(Fraction(float(x)) - mean) / scale for x in X[:, j]]
        exact = sum(x * Fraction(a) for x, a in zip(column, alpha, strict=True))
        for value, bound in ((computed[j], design.error[j]), (block[:, j] @ alpha, design.block_error[j])):
            assert (Fraction(float(value)) - exact) ** 2 <= Fraction(bound) ** 2 * length_squared
        assert sum(x**2 for x in column) <= Fraction(design.norms[j]) ** 2


def test_error_bounds_are_not_wasteful(library):
    X = np.random.default_rng(0).standard_normal((1000, 5)).astype(np.float32)
    design = DeviceDesign(library(X), weights_of("equal", 1000), True)
    assert np.all(design.error < 1e-11)
    assert np.all(design.norms < np.sqrt(1000) * (1 + 1e-5))


def test_moments_take_two_reads_and_a_batch_takes_one(library):
    design = DeviceDesign(library(entries(np.float32)), weights_of("equal", 40), True)
    _ = design.means, design.scales, design.constant, design.norms, design.error
    assert design.passes == 2
    design.correlations_of(np.ones((16, 40)))
    design.strongest(np.ones((16, 40)), np.zeros(16), 3)
    assert design.passes == 4


def test_large_means_do_not_spoil_the_deviation(library):
    X = 1e8 + np.random.default_rng(0).standard_normal((2000, 3))
    design = DeviceDesign(library(X), weights_of("equal", 2000), True)
    exact = X.astype(np.longdouble).std(axis=0)
    np.testing.assert_allclose(design.scales, exact.astype(float), rtol=1e-12)
    assert np.all(design.norms < np.sqrt(2000) * (1 + 1e-5))


def test_constant_and_nearly_constant_columns(library):
    X = np.full((100, 4), 0.1)
    X[3, 1] = np.nextafter(0.1, 1.0)
    X[:, 2], X[0, 3] = 0.0, 5.0
    weights = np.full(100, 1.0 / 99)
    weights[0] = 0.0
    design = DeviceDesign(library(X), weights, True)
    assert design.constant.tolist() == [True, False, True, True]
    assert design.means[0] == 0.1
    assert np.all(design.columns([0, 2, 3]) == 0.0)
    assert np.all(design.error[[0, 2, 3]] == 0.0)
    assert np.all(design.correlations(np.arange(100.0))[[0, 2, 3]] == 0.0)
    assert DeviceDesign(library(X), weights, False).constant.tolist() == [False, False, True, False]


@pytest.mark.parametrize("size", [1e-200, 1e149])
def test_extreme_sizes(size, library):
    X = np.random.default_rng(0).standard_normal((20, 3)) * size
    design = DeviceDesign(library(X), weights_of("equal", 20), True)
    np.testing.assert_allclose(np.sqrt((design.columns(range(3)) ** 2).mean(axis=0)), 1.0, rtol=1e-12)
    assert not DeviceDesign(library(X), weights_of("equal", 20), False).constant.any()


@pytest.mark.parametrize(
    ("value", "complaint"), [(np.nan, "contains NaN"), (-np.inf, "contains infinity"), (1e200, "magnitude 1e\\+200")]
)
def test_entries_that_are_refused(value, complaint, library, block_entries):
    X = np.random.default_rng(0).standard_normal((20, 5))
    X[3, 2], X[4, 1] = value, -1e140
    with pytest.raises(ValueError, match=complaint):
        DeviceDesign(library(X), weights_of("zeros", 20), True)


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_no_block_is_larger_than_allowed(layout, library, monkeypatch):
    """Whatever is widened, and whatever comes to the host, is a small part of the matrix."""
    X = LAYOUTS[layout](np.random.default_rng(0).standard_normal((60, 400)).astype(np.float32))
    monkeypatch.setattr(reading, "BLOCK_ENTRIES", 1000)
    monkeypatch.setattr("safescreen.design.device.CARRIED_ENTRIES", 1000)
    sizes: list[int] = []
    original = reading.BlockReader._blocks

    def watched(self: Any, centre: Any) -> Any:
        for rows, columns, block in original(self, centre):
            sizes.append(int(np.prod(tuple(block.shape))))
            yield rows, columns, block

    def carried(array: Any) -> Any:
        sizes.append(int(np.prod(tuple(array.shape))))
        return to_host(array)

    monkeypatch.setattr(reading.BlockReader, "_blocks", watched)
    monkeypatch.setattr("safescreen.design.device.to_host", carried)
    monkeypatch.setattr("safescreen.design.device.make_reader", reading.BlockReader)
    design = DeviceDesign(library(X), weights_of("random", 60), True)
    design.correlations(np.ones(60))
    design.strongest(np.ones((2, 60)), np.zeros(2), 5)
    design._gather(np.arange(100))
    assert design.fingerprint == DenseDesign(X, weights_of("random", 60)).fingerprint
    assert max(sizes) <= 1000
    assert sum(sizes) > 4 * X.size


def test_memory_of_the_machine_is_counted_where_the_matrix_takes_any(library):
    X = library(entries(np.float32))
    assert DeviceDesign(X, weights_of("equal", 40)).nbytes == (4000 if lies_on_host(X) else 0)


@pytest.mark.parametrize("terms", [{"k": 3, "gamma": 10.0}, {"mu": 1e-3, "gamma": 1.0}])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_solve_ends_where_that_in_memory_does(terms, weighted):
    torch = pytest.importorskip("torch")
    X, y, _ = ss.datasets.make_sparse_logistic(100, 300, 4, 1.0, random_state=1)
    X = X.astype(np.float32)
    sample_weight = np.random.default_rng(0).random(100) if weighted else None
    tensor = torch.from_numpy(X).requires_grad_()
    labels = torch.from_numpy(y)
    mass = None if sample_weight is None else torch.from_numpy(sample_weight)
    expected = ss.solve(ss.Problem(X, y, sample_weight=sample_weight, **terms))
    problem = ss.Problem(tensor, labels, sample_weight=mass, **terms)
    assert isinstance(problem.design, DeviceDesign)
    got = ss.solve(problem)
    assert got.support.tolist() == expected.support.tolist()
    assert got.objective == pytest.approx(expected.objective, rel=1e-9)
    assert got.lower_bound == pytest.approx(expected.lower_bound, rel=1e-6)
    assert got.status == "optimal"


def test_a_proof_is_checked_against_the_matrix_on_the_host(tmp_path):
    torch = pytest.importorskip("torch")
    X, y, _ = ss.datasets.make_sparse_logistic(60, 80, 3, 1.0, random_state=1)
    tensor = torch.from_numpy(X.astype(np.float32))
    ss.solve(ss.Problem(tensor, y, k=3, gamma=2.0), proof=tmp_path / "proof.npz")
    assert ss.verify(tmp_path / "proof.npz", tensor.numpy(), y).valid


def test_labels_of_short_floats():
    torch = pytest.importorskip("torch")
    y = torch.arange(40) % 2
    problem = ss.Problem(entries(np.float32), y.to(torch.bfloat16), k=2, sample_weight=torch.ones(40))
    np.testing.assert_array_equal(problem.y, np.where(y.numpy() > 0, 1.0, -1.0))


def test_what_cannot_be_read_is_refused_in_one_sentence():
    torch = pytest.importorskip("torch")
    X, y = torch.eye(4), np.arange(4) % 2
    with pytest.raises(TypeError, match=r"X is a sparse Tensor, .* must be dense: use X.to_dense\(\)"):
        ss.Problem(X.to_sparse(), y, k=1)
    with pytest.raises(TypeError, match="bfloat16, but only boolean, integer and real"):
        ss.Problem(X.to(torch.bfloat16), y, k=1)
    with pytest.raises(ValueError, match="Complex data not supported"):
        ss.Problem(X.to(torch.complex64), y, k=1)
    with pytest.raises(ValueError, match="Expected 2D array"):
        ss.Problem(X[0], y, k=1)
    with pytest.raises(ValueError, match="contains NaN"):
        ss.Problem(torch.full((4, 2), torch.nan), y, k=1)


def test_the_matrix_is_neither_copied_nor_cast():
    torch = pytest.importorskip("torch")
    X = torch.ones((5, 3), requires_grad=True)
    assert plain(X).data_ptr() == X.data_ptr()
    design = make_design(X, weights_of("equal", 5))
    assert isinstance(design, DeviceDesign)
    assert design._X.data_ptr() == X.data_ptr()
    assert not design._X.requires_grad
