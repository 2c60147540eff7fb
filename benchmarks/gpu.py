"""Matrices on a GPU: passes against the device's own copy bandwidth, and solves of 2,000 x 10,000,000 float32.

    PYTHONPATH=src python3 benchmarks/gpu.py --out gpu.json

The data are made on the device: standard normal entries, 10 true features, labels as `make_sparse_logistic` draws them
at snr=1. `--device cpu --samples 2000 --features 20000` tries the script without a GPU. Results are written to `--out`
after every step, so that a step that breaks off costs nothing but itself.
"""

from __future__ import annotations

import argparse
import cProfile
import io
import json
import os
import platform
import pstats
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import safescreen as ss
from safescreen.design.device import DeviceDesign
from safescreen.design.device_arrays import namespace, to_device, to_host
from safescreen.design.device_reader import BlockReader

INFORMATIVE = 10
COPIED_BYTES = 1 << 33
BATCHES = (1, 4, 16)


class Torch:
    """What the benchmark asks of torch."""

    def __init__(self, device: str) -> None:
        import torch

        self.torch, self.device = torch, torch.device(device, 0) if device != "cpu" else torch.device(device)
        self.name = f"torch {torch.__version__}, {torch.cuda.get_device_name() if device != 'cpu' else 'cpu'}"

    def wait(self) -> None:
        if self.device.type != "cpu":
            self.torch.cuda.synchronize()

    def empty(self, rows: int, columns: int) -> Any:
        return self.torch.empty((rows, columns), dtype=self.torch.float32, device=self.device)

    def fill(self, part: Any, seed: int) -> None:
        part.normal_(generator=self.torch.Generator(self.device).manual_seed(seed))

    def copy(self, source: Any, target: Any) -> None:
        target.copy_(source)

    def give_back(self) -> None:
        if self.device.type != "cpu":
            self.torch.cuda.empty_cache()


class CuPy:
    """What the benchmark asks of CuPy."""

    def __init__(self, device: str) -> None:
        import cupy

        assert device == "cuda", "CuPy needs a GPU"
        self.cupy = cupy
        self.name = f"cupy {cupy.__version__}, {cupy.cuda.runtime.getDeviceProperties(0)['name'].decode()}"

    def wait(self) -> None:
        self.cupy.cuda.Device().synchronize()

    def empty(self, rows: int, columns: int) -> Any:
        return self.cupy.empty((rows, columns), dtype=self.cupy.float32)

    def fill(self, part: Any, seed: int) -> None:
        rng = self.cupy.random.default_rng(seed)
        for row in part:
            row[:] = rng.standard_normal(row.size, dtype=self.cupy.float32)

    def copy(self, source: Any, target: Any) -> None:
        target[:] = source

    def give_back(self) -> None:
        self.cupy.get_default_memory_pool().free_all_blocks()


class Record:
    """What was measured: shown as it comes, and written to a file each time."""

    def __init__(self, out: Path | None) -> None:
        self.out, self.figures = out, {}

    def add(self, name: str, **figures: Any) -> None:
        self.figures[name] = figures
        shown = ", ".join(
            f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in figures.items()
        )
        print(f"{name:<34} {shown}", flush=True)
        if self.out is not None:
            self.out.write_text(json.dumps(self.figures, indent=1, default=str))


def seconds(library: Any, work: Callable[[], Any], repeats: int = 7) -> float:
    """The median time of some work on the device, after two runs that do not count."""
    times = []
    for _ in range(repeats + 2):
        library.wait()
        start = time.perf_counter()
        work()
        library.wait()
        times.append(time.perf_counter() - start)
    return float(np.median(times[2:]))


def copy_bandwidth(library: Any, share: int, record: Record) -> float:
    """Bytes read and written per second by a copy from the device to itself."""
    columns = 1 << 20
    source, target = (library.empty(max(share // (4 * columns), 1), columns) for _ in range(2))
    library.fill(source, 0)
    taken = seconds(library, lambda: library.copy(source, target))
    rate = 2.0 * 4.0 * source.shape[0] * columns / taken
    record.add("copy", GB=source.shape[0] * columns * 4e-9, seconds=taken, GBps=rate * 1e-9)
    return rate


def generate(library: Any, samples: int, features: int, record: Record) -> tuple[Any, np.ndarray]:
    """Normal entries on the device by rows, and labels of the sparse model."""
    start = time.perf_counter()
    X = library.empty(samples, features)
    for first in range(0, samples, 50):
        library.fill(X[first : first + 50], first)
    true = np.linspace(0, features - 1, INFORMATIVE).astype(int)
    predictor = to_host(namespace(X).take(X, to_device(true, X), axis=1)).astype(np.float64).sum(axis=1)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(samples) < 1.0 / (1.0 + np.exp(-predictor)), 1.0, -1.0)
    library.wait()
    record.add("data", samples=samples, features=features, GB=X.nbytes * 1e-9, seconds=time.perf_counter() - start)
    return X, y


def time_passes(library: Any, X: Any, name: str, bandwidth: float, record: Record) -> None:
    """One read for batches of dual points, kernels alone and with the answer on the host; and block by block."""
    samples = int(X.shape[0])
    design = DeviceDesign(X, np.full(samples, 1.0 / samples), True)
    held, size = design._per_feature, X.nbytes
    reader = type(design._reader).__name__

    def add(what: str, taken: float) -> None:
        record.add(f"{name}: {what}", seconds=taken, GBps=size / taken * 1e-9, share=size / taken / bandwidth)

    add(f"moments ({reader})", seconds(library, lambda: design._reader.sums(design._factors, held.means)))
    for count in BATCHES:
        alphas = np.random.default_rng(count).standard_normal((count, samples)) / samples
        points = to_device(alphas, X)
        add(
            f"pass, {count} points ({reader})",
            seconds(library, lambda p=points: design._reader.products(p, held.means)),
        )
    alpha = np.random.default_rng(0).standard_normal((1, samples)) / samples
    add("pass, answer on the host", seconds(library, lambda: design.correlations(alpha[0])))
    few = min(500, design.shape[1])
    add("pass, 500 strongest on the host", seconds(library, lambda: design.strongest(alpha, np.zeros(1), few)))
    blocks, points = BlockReader(X), to_device(alpha, X)
    add("pass, block by block", seconds(library, lambda: blocks.products(points, held.means), repeats=1))
    check(design, X, record, name)


def check(design: DeviceDesign, X: Any, record: Record, name: str) -> None:
    """Correlations of random columns against extended precision on the host, as a share of the claimed error."""
    rng = np.random.default_rng(5)
    chosen = rng.choice(X.shape[1], min(1000, X.shape[1]), replace=False)
    alphas = rng.standard_normal((3, X.shape[0]))
    columns = to_host(namespace(X).take(X, to_device(chosen, X), axis=1)).astype(np.longdouble)
    exact = alphas.astype(np.longdouble) @ ((columns - design.means[chosen]) / design.scales[chosen])
    error = np.abs(design.correlations_of(alphas)[:, chosen] - exact).max(axis=0)
    length = np.linalg.norm(alphas, axis=1).min()
    far = np.abs(columns.std(axis=0) / design.scales[chosen] - 1.0).max()
    worst = float((error / (design.error[chosen] * length)).max())
    record.add(f"{name}: 1,000 columns checked", error_of_claimed=worst, scales_off_by=float(far), right=worst <= 1.0)


def solve(X: Any, y: np.ndarray, gamma: float, name: str, record: Record, **limits: Any) -> None:
    """A fresh problem and its solution, by the clock."""
    start = time.perf_counter()
    problem = ss.Problem(X, y, k=INFORMATIVE, gamma=gamma)
    built = time.perf_counter()
    solution = ss.solve(problem, rel_gap=1e-4, **limits)
    end = time.perf_counter()
    true = set(np.linspace(0, X.shape[1] - 1, INFORMATIVE).astype(int).tolist())
    record.add(
        name,
        seconds=end - start,
        problem=built - start,
        solve=end - built,
        passes=problem.design.passes,
        nodes=solution.nodes,
        gap=float(solution.gap),
        status=str(solution.status),
        objective=float(solution.objective),
        lower_bound=float(solution.lower_bound),
        true_found=len(true & set(solution.support.tolist())),
        peak_GB=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1e-6,
    )


def profiled(work: Callable[[], None]) -> None:
    """Where the time goes on the host."""
    profile = cProfile.Profile()
    profile.runcall(work)
    text = io.StringIO()
    pstats.Stats(profile, stream=text).sort_stats("tottime").print_stats(18)
    print(text.getvalue(), flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--library", choices=["torch", "cupy"], default="torch")
    options.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    options.add_argument("--samples", type=int, default=2_000)
    options.add_argument("--features", type=int, default=10_000_000)
    options.add_argument("--weak-limit", type=float, default=120.0, help="seconds for gamma=100; 0 leaves it out")
    options.add_argument("--profile", action="store_true", help="also show where the host's time goes")
    options.add_argument("--out", type=Path)
    chosen = options.parse_args()
    library = {"torch": Torch, "cupy": CuPy}[chosen.library](chosen.device)
    record = Record(chosen.out)
    record.add("machine", library=library.name, python=platform.python_version(), numpy=np.__version__)
    bandwidth = copy_bandwidth(library, min(COPIED_BYTES, 4 * chosen.samples * chosen.features), record)
    library.give_back()

    narrow = library.empty(max(chosen.features // 10, 1), chosen.samples)
    library.fill(narrow, 1)
    time_passes(library, narrow.T, "by columns", bandwidth, record)
    del narrow
    library.give_back()

    X, y = generate(library, chosen.samples, chosen.features, record)
    time_passes(library, X, "by rows", bandwidth, record)
    library.give_back()
    for run in ("first solve", "second solve", "third solve"):
        solve(X, y, 10.0, f"gamma=10, {run}", record, time_limit=120.0)
    if chosen.profile:
        profiled(lambda: solve(X, y, 10.0, "gamma=10, profiled", record, time_limit=120.0))
    if chosen.weak_limit:
        solve(X, y, 100.0, "gamma=100", record, time_limit=chosen.weak_limit, n_threads=os.cpu_count() or 1)


if __name__ == "__main__":
    main()
