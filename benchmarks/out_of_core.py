"""A matrix on disk that is larger than the memory a solve may take: reads, seconds and peak memory.

    python benchmarks/out_of_core.py [columns] [rows] [zarr] [--features N] [--against REF] [--folder PATH]

Writes 1,000 x 1,000,000 single-precision numbers (4 GB) by columns, by rows and as a Zarr array into a folder that is
gone afterwards, and solves each in a process of its own after the system has been asked to forget the file. ``reads``
are full reads of the matrix, ``peak`` the largest resident size of the process, ``anonymous`` the part of it that is no
copy of a file. Some of that, ``start``, is the interpreter, its libraries and the compiled solver.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np

SAMPLES, INFORMATIVE, SNR = 1_000, 10, 1.0
TERMS: dict[str, Any] = {"k": 10, "gamma": 10.0}
STEP = 4_000
FORMS = ("columns", "rows", "zarr")


def column_blocks(features: int) -> Iterator[tuple[slice, Any]]:
    """The matrix, some columns at a time."""
    rng = np.random.default_rng(0)
    for start in range(0, features, STEP):
        stop = min(start + STEP, features)
        yield slice(start, stop), rng.standard_normal((stop - start, SAMPLES), dtype=np.float32).T


def write(path: Path, form: str, features: int) -> Any:
    """A file of this form, and labels: the recipe of `safescreen.datasets.make_sparse_logistic`, block by block."""
    shape = SAMPLES, features
    target: Any
    if form == "zarr":
        import zarr

        target = zarr.create_array(path, shape=shape, chunks=(SAMPLES, 1_000), dtype="f4")
    else:
        fortran = form == "columns"
        target = np.lib.format.open_memmap(path, "w+", np.dtype(np.float32), shape, fortran_order=fortran)
    chosen = set(np.linspace(0, features - 1, INFORMATIVE).astype(int).tolist())
    predictor = np.zeros(SAMPLES)
    for columns, block in column_blocks(features):
        target[:, columns] = block
        for j in chosen.intersection(range(columns.start, columns.stop)):
            predictor += block[:, j - columns.start]
    if form != "zarr":
        target.flush()
    uniform = np.random.default_rng(1).random(SAMPLES)
    return np.where(uniform < 1.0 / (1.0 + np.exp(-SNR * predictor)), 1.0, -1.0)


def forget(path: Path) -> None:
    """Ask the system to drop its copy of a file, or of all files in a folder."""
    for file in [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]:
        descriptor = os.open(file, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


class Anonymous:
    """Watches the resident memory that is no copy of a file."""

    def __init__(self) -> None:
        self.peak = 0
        self._done = Event()
        self._thread = Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._done.wait(0.01):
            self.peak = max(self.peak, resident("RssAnon"))

    def __enter__(self) -> Anonymous:
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._done.set()
        self._thread.join()


def resident(kind: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(kind)).split()[1])


def opened(path: Path) -> Any:
    if path.suffix == ".npy":
        return np.load(path, mmap_mode="r")
    import zarr

    return zarr.open_array(path, mode="r")


def measure(path: Path) -> dict[str, Any]:
    """Solve what the file holds."""
    import safescreen as ss

    y = np.load(path.with_suffix(".labels"))
    rng = np.random.default_rng(2)
    ss.solve(ss.Problem(rng.standard_normal((200, 50)), y[:200], **TERMS))  # loads what is compiled
    X = opened(path)
    nbytes = SAMPLES * X.shape[1] * 4
    forget(path)
    start_bytes = resident("VmRSS")
    with Anonymous() as anonymous:
        start = time.perf_counter()
        problem = ss.Problem(X, y, **TERMS)
        solution = ss.solve(problem, time_limit=600.0)
        seconds = time.perf_counter() - start
    reads = getattr(problem.design, "passes", 0)
    return {
        "form": path.stem,
        "gigabytes": nbytes / 1e9,
        "status": str(solution.status),
        "objective": solution.objective,
        "gap": solution.gap,
        "nodes": solution.nodes,
        "left": int(problem.n_features - solution.screening.excluded.size),
        "reads": reads,
        "seconds": seconds,
        "MB/s": reads * nbytes / seconds / 1e6,
        "start": start_bytes / 1e9,
        "peak": resident("VmHWM") / 1e9,
        "anonymous": anonymous.peak / 1e9,
    }


FORMATS = {"gigabytes": ".2f", "objective": ".7f", "gap": ".1e", "seconds": ".1f", "MB/s": ".0f", "start": ".2f",
           "peak": ".2f", "anonymous": ".2f"}  # fmt: skip


def measured_apart(path: Path, source: Path | None) -> dict[str, Any] | None:
    """The same in a process of its own, perhaps with other sources; None if these cannot read such a file."""
    environment = {**os.environ, **({} if source is None else {"PYTHONPATH": str(source)})}
    command = [sys.executable, __file__, "--apart", str(path)]
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    return json.loads(run.stdout) if run.returncode == 0 else None


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("forms", nargs="*", choices=[[], *FORMS], help="all by default")
    options.add_argument("--features", type=int, default=1_000_000)
    options.add_argument("--folder", help="where to write the files; by default where temporary files go")
    options.add_argument("--against", metavar="REF", help="another commit beside the working tree")
    options.add_argument("--apart", type=Path, help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.apart:
        print(json.dumps(measure(arguments.apart)))
        return 0
    from against import checked_out

    header = False
    with checked_out(arguments.against) if arguments.against else nullcontext() as other:
        versions = {"this": None, **({arguments.against: other} if arguments.against else {})}
        for form in arguments.forms or FORMS:
            with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
                path = Path(folder) / f"{form}{'' if form == 'zarr' else '.npy'}"
                with path.with_suffix(".labels").open("wb") as labels:
                    np.save(labels, write(path, form, arguments.features))
                for name, source in versions.items():
                    row = measured_apart(path, source)
                    if row is None:
                        print(f"{name}: cannot solve {form}", flush=True)
                        continue
                    row = {"version": name, **row}
                    if not header:
                        print("| " + " | ".join(row) + " |\n" + "|---" * len(row) + "|", flush=True)
                        header = True
                    print("| " + " | ".join(format(v, FORMATS.get(k, "")) for k, v in row.items()) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
