"""The kernels for CUDA devices, run on the processor: compiled as C++, with a thread for each lane of a warp."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from safescreen.design import device_kernels as kernels
from safescreen.design.device_reader import BlockReader

torch = pytest.importorskip("torch")
pytest.importorskip("array_api_compat")

COMPILER = shutil.which("g++")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")

DEVICE = """
#include <barrier>
#include <thread>
#include <vector>
#define __global__
#define __device__
#define __forceinline__ inline
#define __restrict__
struct Index { unsigned x, y; };
static thread_local Index threadIdx, blockIdx;
static Index blockDim;
static std::barrier<> warp(32);
static double lanes[32];
static double __shfl_xor_sync(unsigned, double value, int apart) {
    lanes[threadIdx.x % 32] = value;
    warp.arrive_and_wait();
    const double other = lanes[(threadIdx.x % 32) ^ apart];
    warp.arrive_and_wait();
    return other;
}
"""

LAUNCH = """
extern "C" void launch(int blocks, int parts, int threads, const ENTRY *X, const double *factors, const double *centre,
                       double *found, integer m, integer n, integer step, integer share) {
    blockDim.x = threads;
    std::vector<std::thread> team;
    for (unsigned lane = 0; lane < 32; lane++)
        team.emplace_back([=] {
            for (unsigned y = 0; y < (unsigned)parts; y++)
                for (unsigned x = 0; x < (unsigned)blocks; x++)
                    for (unsigned first = 0; first < (unsigned)threads; first += 32) {
                        blockIdx = {x, y};
                        threadIdx = {first + lane, 0};
                        KERNEL(X, factors, centre, found, m, n, step, share);
                    }
        });
    for (auto &member : team) member.join();
}
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture
def processor(folder, monkeypatch) -> None:
    """Kernels run on the processor, for tensors in its memory."""
    monkeypatch.setattr(kernels, "_compiled", lambda *variant: _built(folder, *variant))
    monkeypatch.setattr(kernels, "_stream", lambda X: nullcontext())


@cache
def _built(folder: Path, name: str, entry: str, points: int, width: int, read: int) -> Any:
    stem = folder / f"{name}-{entry}-{points}-{width}-{read}"
    stem.with_suffix(".cpp").write_text(DEVICE + kernels.SOURCE + LAUNCH)
    options = [*kernels.options_of(entry, points, width, read), f"-DKERNEL={name}"]
    command = [str(COMPILER), *options, "-std=c++20", "-O1", "-w", "-pthread", "-shared", "-fPIC", "-o"]
    subprocess.run([*command, str(stem.with_suffix(".so")), str(stem.with_suffix(".cpp"))], check=True)
    launch = ctypes.CDLL(str(stem.with_suffix(".so"))).launch

    def run(grid: tuple[int, int], block: tuple[int], args: tuple[int, ...]) -> None:
        pointers, numbers = args[:4], args[4:]
        launch(*grid, *block, *map(ctypes.c_void_p, pointers), *map(ctypes.c_longlong, numbers))

    return run


def matrix(samples: int, features: int, layout: str, dtype: Any = np.float32) -> Any:
    X = 3.0 + np.random.default_rng(0).standard_normal((samples, features))
    whole = torch.from_numpy(X.astype(dtype))
    if layout == "columns":
        return whole.T.contiguous().T
    if layout == "part":  # of rows that are longer
        return torch.cat((whole, whole), dim=1)[:, :features]
    return whole


@needs_compiler
@pytest.mark.parametrize("layout", ["rows", "columns", "part"])
@pytest.mark.parametrize(
    ("samples", "features", "points"), [(1, 1, 1), (70, 45, 1), (33, 9, 3), (130, 5, 4), (67, 3, 7), (300, 2, 16)]
)
def test_kernels_give_the_sums_of_blocks(samples, features, points, layout, processor):
    X = matrix(samples, features, layout)
    rng = np.random.default_rng(1)
    factors = torch.from_numpy(rng.standard_normal((points, samples)))
    weights = torch.from_numpy(rng.random(samples))
    for centre in (None, torch.from_numpy(rng.standard_normal(features))):
        fast, slow = kernels.KernelReader(X), BlockReader(X)
        np.testing.assert_allclose(fast.products(factors, centre), slow.products(factors, centre), atol=1e-11)
        for got, expected in zip(fast.sums(weights, centre), slow.sums(weights, centre), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-11)


@needs_compiler
@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_split_rows_of_float64(layout, processor, monkeypatch):
    """Few columns are no work for many blocks, so that the rows are split; a part may be short."""
    monkeypatch.setattr(kernels, "LEAST_ROWS", 100)
    X = matrix(1001, 6, layout, np.float64)
    factors = torch.from_numpy(np.random.default_rng(1).standard_normal((2, 1001)))
    got = kernels.KernelReader(X).products(factors, None)
    np.testing.assert_allclose(got, BlockReader(X).products(factors, None), atol=1e-11)


@pytest.mark.parametrize(("blocks", "m"), [(1, 10), (1, 1000), (3, 100_000), (5000, 100), (1, 10**9)])
def test_parts_of_the_rows_cover_all_of_them(blocks, m):
    parts, share = kernels.splits_of(blocks, 2048, m, 256)
    assert parts * share >= m > (parts - 1) * share
    assert parts == 1 or share >= 256
    assert parts <= 65_535


def test_kernels_are_for_regular_matrices_on_cuda_devices():
    assert not kernels.suits_kernels(matrix(5, 4, "rows"))
