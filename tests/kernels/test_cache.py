"""The compiled kernels: compiled and announced once, never stale, indifferent to the layout of arrays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import safescreen as ss
from safescreen import kernels

SOLVE = """
import numpy as np
import safescreen as ss
rng = np.random.default_rng(0)
X = rng.standard_normal((40, 12))
y = X[:, 0] + rng.logistic(size=40) > 0
for n_threads in (1, 2):
    print(ss.solve(ss.Problem(X, y, k=3, gamma=10.0), n_threads=n_threads).status)
print(ss.relax(ss.Problem(X, y, mu=0.01)).value > 0)
"""


@pytest.fixture
def entry(tmp_path):
    """Something that looks like a compiled function whose cache lies in a folder of its own."""

    def relax():
        """Stands for a kernel."""

    relax.__module__ = "safescreen.kernels.node"
    return SimpleNamespace(stats=SimpleNamespace(cache_path=str(tmp_path / "cache")), py_func=relax)


def cached_files(folder: Path) -> list[Path]:
    """An index and two files of machine code, named as Numba does, and a neighbour that must stay."""
    folder.mkdir(exist_ok=True)
    names = ("node.relax-12.py311.nbi", "node.relax-12.py311.1.nbc", "node.relax-12.py311.2.nbc")
    for name in (*names, "node.other-3.py311.nbi"):
        (folder / name).write_bytes(b"machine code")
    return [folder / name for name in names]


def test_code_from_other_sources_is_removed(entry, monkeypatch):
    monkeypatch.setattr(kernels, "_ENTRIES", (entry,))
    folder = Path(entry.stats.cache_path)
    files = cached_files(folder)
    kernels._forget_stale_code()  # no fingerprint yet: nothing is known about these files
    assert not any(file.exists() for file in files)
    assert (folder / "node.other-3.py311.nbi").exists()

    files = cached_files(folder)
    kernels._forget_stale_code()  # made since, from these very sources
    assert all(file.exists() for file in files)

    monkeypatch.setattr(kernels, "_fingerprint", lambda: "of other sources")
    kernels._forget_stale_code()
    assert not any(file.exists() for file in files)

    files = cached_files(folder)
    kernels._forget_stale_code()
    assert all(file.exists() for file in files)


def test_missing_cache_folder_is_made(entry, monkeypatch):
    monkeypatch.setattr(kernels, "_ENTRIES", (entry,))
    kernels._forget_stale_code()
    left = list(Path(entry.stats.cache_path).iterdir())
    assert [file.suffix for file in left] == [".sources"]


def test_fingerprint_covers_every_compiled_module():
    """A module with compiled functions that were left out could change without the cache being renewed."""
    folder = Path(kernels.__file__).parent
    compiled = {
        path.name
        for path in folder.glob("*.py")
        if any(line.startswith(("@compiled", "@entry", "@reordered", "@njit")) for line in path.open(encoding="utf-8"))
    }
    assert compiled
    assert compiled <= set(kernels._SOURCES)


def test_fingerprint_follows_the_sources(monkeypatch):
    before = kernels._fingerprint()
    assert before == kernels._fingerprint()
    monkeypatch.setattr(kernels, "_SOURCES", kernels._SOURCES[:-1])
    assert kernels._fingerprint() != before


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    return subprocess.run([sys.executable, "-c", SOLVE], env=environment, capture_output=True, text=True, check=True)


@pytest.mark.slow
def test_compilation_is_announced_once_and_kept(tmp_path):
    first = run(tmp_path)
    assert first.stdout.split() == ["optimal", "optimal", "True"]
    assert first.stderr.count("\n") == 1
    assert first.stderr.startswith("safescreen: compiling its numerical kernels")
    code = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")}
    assert len(code) == 1  # one signature of the one entry point, whatever is solved
    second = run(tmp_path)
    assert second.stdout == first.stdout
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")} == code


# -- layouts: no other signature may ever be compiled ----------------------------------------------------


def layouts() -> dict[str, object]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 20)) * (rng.random((50, 20)) < 0.5)
    frozen = X.copy()
    frozen.flags.writeable = False
    frozen_sparse = sparse.csc_array(X)
    for part in (frozen_sparse.data, frozen_sparse.indices, frozen_sparse.indptr):
        part.flags.writeable = False
    return {
        "C": X,
        "Fortran": np.asfortranarray(X),
        "read-only": frozen,
        "strided columns": np.repeat(X, 2, axis=1)[:, ::2],
        "strided rows": np.repeat(X, 3, axis=0)[::3],
        "reversed": np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
        "big-endian": X.astype(">f8"),
        "sparse": sparse.csr_array(X),
        "read-only sparse": frozen_sparse,
        "long indices": sparse.csr_array(
            (sparse.csr_array(X).data, *(part.astype(np.int64) for part in _parts(X))), shape=X.shape
        ),
    }


def _parts(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    matrix = sparse.csr_array(X)
    return matrix.indices, matrix.indptr


@pytest.mark.parametrize("name", layouts())
@pytest.mark.parametrize("options", [{"k": 3}, {"mu": 0.02, "standardize": True, "fit_intercept": True}])
def test_layout_changes_neither_answer_nor_signature(name, options):
    X = layouts()[name]
    y = np.random.default_rng(1).permutation(50) % 2
    y.flags.writeable = False
    weights = np.linspace(1.0, 2.0, 50)
    weights.flags.writeable = False
    plain = ss.solve(ss.Problem(layouts()["C"], y, gamma=20.0, sample_weight=weights, **options), rel_gap=1e-7)
    counted = [len(kernel.signatures) for kernel in kernels._ENTRIES]
    problem = ss.Problem(X, y, gamma=20.0, sample_weight=weights, **options)
    solution = ss.solve(problem, rel_gap=1e-7)
    assert solution.objective == pytest.approx(plain.objective, rel=1e-12)
    assert np.array_equal(solution.support, plain.support)
    warm = solution.coef.copy()
    warm.flags.writeable = False
    assert ss.solve(problem, warm_start=warm).status == "optimal"
    assert [len(kernel.signatures) for kernel in kernels._ENTRIES] == counted


def test_data_is_never_written_to():
    X = np.random.default_rng(2).standard_normal((40, 10))
    y = np.arange(40) % 2
    kept_X, kept_y = X.copy(), y.copy()
    ss.solve(ss.Problem(X, y, k=3, gamma=10.0, standardize=True, fit_intercept=True))
    assert np.array_equal(X, kept_X)
    assert np.array_equal(y, kept_y)
