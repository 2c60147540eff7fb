"""The compiled kernels: compiled and announced once, never stale, indifferent to the layout of arrays."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numba import config
from scipy import sparse

import safescreen
import safescreen as ss
from safescreen import kernels
from safescreen.kernels import cache, exploration

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")

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

    def run():
        """Stands for a kernel."""

    run.__module__ = "safescreen.kernels.exploration"
    return SimpleNamespace(stats=SimpleNamespace(cache_path=str(tmp_path / "cache")), py_func=run)


def cached_files(folder: Path) -> list[Path]:
    """An index and two files of machine code, named as Numba does, and a neighbour that must stay."""
    folder.mkdir(exist_ok=True)
    names = ("exploration.run-12.py311.nbi", "exploration.run-12.py311.1.nbc", "exploration.run-12.py311.2.nbc")
    for name in (*names, "exploration.other-3.py311.nbi"):
        (folder / name).write_bytes(b"machine code")
    return [folder / name for name in names]


def test_code_from_other_sources_is_removed(entry, monkeypatch):
    folder = Path(entry.stats.cache_path)
    files = cached_files(folder)
    assert not cache.forget_stale_code(entry)  # no fingerprint yet: nothing is known about these files
    assert not any(file.exists() for file in files)
    assert (folder / "exploration.other-3.py311.nbi").exists()

    files = cached_files(folder)
    assert cache.forget_stale_code(entry)  # made since, from these very sources
    assert all(file.exists() for file in files)

    monkeypatch.setattr(cache, "fingerprint", lambda: "of other sources")
    assert not cache.forget_stale_code(entry)
    assert not any(file.exists() for file in files)

    files = cached_files(folder)
    assert cache.forget_stale_code(entry)
    assert all(file.exists() for file in files)


def test_missing_cache_folder_is_made(entry):
    assert not cache.forget_stale_code(entry)
    left = list(Path(entry.stats.cache_path).iterdir())
    assert [file.name for file in left] == ["safescreen.kernels.exploration.run.sources"]


def test_nothing_is_touched_where_nothing_is_compiled(entry, monkeypatch):
    monkeypatch.setattr(cache.config, "DISABLE_JIT", 1)
    assert cache.forget_stale_code(entry)
    assert not Path(entry.stats.cache_path).exists()


def imported_modules(path: Path) -> set[Path]:
    """The files of the package that a kernel module takes names from while it runs."""
    package = Path(safescreen.__file__).parent
    found = set()
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("safescreen."):
            found.add(package.joinpath(*statement.module.split(".")[1:]).with_suffix(".py"))
    return found


def test_fingerprint_covers_everything_the_kernels_are_made_of():
    """A module that were left out could change without the cache being renewed."""
    kernel_folder = Path(cache.__file__).parent
    needed = set(kernel_folder.glob("*.py"))
    for path in list(needed):
        needed |= imported_modules(path)
    assert len(needed) > 14
    only_types = {kernel_folder.parent / "arrays.py"}
    assert needed - only_types == set(cache.sources())


def test_fingerprint_follows_the_sources(monkeypatch, tmp_path):
    before = cache.fingerprint()
    assert before == cache.fingerprint()
    changed = tmp_path / "vectors.py"
    changed.write_text("another sum")
    files = cache.sources()
    monkeypatch.setattr(cache, "sources", lambda: [changed if path.name == "vectors.py" else path for path in files])
    assert cache.fingerprint() != before


@pytest.mark.parametrize(("cached", "patience"), [(False, 1.2), (True, 8.0)])
def test_compilation_is_announced_once_it_takes_longer_than_loading(monkeypatch, capsys, cached, patience):
    timers = []

    class Timer:
        """Counts instead of waiting."""

        def __init__(self, seconds, action):
            self.seconds, self.action, self.cancelled = seconds, action, False
            timers.append(self)

        def start(self):
            """Begin to wait."""

        def cancel(self):
            """No longer wait."""
            self.cancelled = True

    monkeypatch.setattr(cache.threading, "Timer", Timer)
    with cache.announced(cached):
        assert timers[0].seconds == patience
        timers[0].action()
    assert timers[0].cancelled
    assert capsys.readouterr().err == cache.NOTICE
    with pytest.raises(KeyboardInterrupt), cache.announced(cached):
        raise KeyboardInterrupt
    assert timers[1].cancelled


def test_warming_up_happens_once(monkeypatch):
    kernels.warm_up()
    monkeypatch.setattr(kernels, "_tiny_search", lambda: pytest.fail("twice"))
    kernels.warm_up()


def solved(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    return subprocess.run([sys.executable, "-c", SOLVE], env=environment, capture_output=True, text=True, check=True)


@pytest.mark.slow
def test_compilation_is_announced_once_and_kept(tmp_path):
    first = solved(tmp_path)
    assert first.stdout.split() == ["optimal", "optimal", "True"]
    assert first.stderr.count("\n") == 1
    assert first.stderr.startswith("safescreen: compiling its numerical kernels")
    code = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")}
    assert len(code) == 1  # one signature of the one entry point, whatever is solved
    second = solved(tmp_path)
    assert second.stdout == first.stdout
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")} == code
    [broken] = code
    broken.write_bytes(broken.read_bytes()[:100_000])
    third = solved(tmp_path)
    assert third.stdout == first.stdout
    assert third.stderr.count("cannot be used") == 1
    assert broken.stat().st_size > 100_000


# -- a cache that cannot be used costs time only --------------------------------------------------------

FUNCTION = """
from safescreen.kernels.compiling import entry

@entry
def double(x: float) -> float:
    return 2.0 * x
"""


def fresh(folder: Path):
    """A small compiled function, as a new process would have it."""
    path = folder / "small.py"
    if not path.exists():
        path.write_text(FUNCTION)
    spec = importlib.util.spec_from_file_location("small", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.double


@pytest.fixture
def complaints(monkeypatch) -> list[str]:
    monkeypatch.setattr(cache, "_complaints", [])
    return cache._complaints


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [lambda code: code[: len(code) // 2], lambda code: b"", lambda code: b"\x80rubbish"])
def test_damaged_files_are_replaced(tmp_path, complaints, capsys, kind, damage):
    assert fresh(tmp_path)(21.0) == 42.0
    [file] = tmp_path.rglob(f"*.{kind}")
    sound = file.stat().st_size
    file.write_bytes(damage(file.read_bytes()))
    assert fresh(tmp_path)(21.0) == 42.0
    assert capsys.readouterr().err == complaints[0]
    assert complaints[0].count("\n") == 1
    assert f"in {file.parent} cannot be used (" in complaints[0]
    assert file.stat().st_size == sound
    kept = fresh(tmp_path)
    assert kept(21.0) == 42.0
    assert sum(kept.stats.cache_hits.values()) == 1
    assert len(complaints) == 1


def test_a_full_disk_and_files_that_cannot_be_removed(tmp_path, complaints, capsys, monkeypatch):
    assert fresh(tmp_path)(21.0) == 42.0
    for file in [*tmp_path.rglob("*.nb?")]:
        file.unlink()
        file.mkdir()  # neither read, written nor removed like a file
    assert fresh(tmp_path)(21.0) == 42.0
    assert fresh(tmp_path)(21.0) == 42.0
    assert capsys.readouterr().err == complaints[0]
    complaints.clear()
    for file in [*tmp_path.rglob("*.nb?")]:
        file.rmdir()

    def full(*_: object):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._open_for_write", full)
    assert fresh(tmp_path)(21.0) == 42.0
    assert "(No space left on device)" in complaints[0]
    assert capsys.readouterr().err == complaints[0]


def test_no_folder_for_a_cache(tmp_path, complaints, capsys, monkeypatch):
    def nowhere(*_: object):
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr("numba.core.caching.Cache.__init__", nowhere)
    double = fresh(tmp_path)
    assert double(21.0) == 42.0
    assert not cache.forget_stale_code(double)
    assert capsys.readouterr().err == complaints[0]


def test_stale_code_that_cannot_be_removed_is_not_used(tmp_path, complaints, capsys, monkeypatch):
    double = fresh(tmp_path)
    assert double(21.0) == 42.0
    double = fresh(tmp_path)

    def read_only(*_: object, **__: object):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", read_only)
    assert not cache.forget_stale_code(double)
    assert double(21.0) == 42.0
    assert sum(double.stats.cache_hits.values()) == 0
    assert capsys.readouterr().err == complaints[0]
    assert "Permission denied" in complaints[0]


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
@pytest.mark.parametrize("options", [{"k": 3, "standardize": False, "fit_intercept": False}, {"mu": 0.02}])
def test_layout_changes_neither_answer_nor_signature(name, options):
    X = layouts()[name]
    y = np.random.default_rng(1).permutation(50) % 2
    y.flags.writeable = False
    weights = np.linspace(1.0, 2.0, 50)
    weights.flags.writeable = False
    plain = ss.solve(ss.Problem(layouts()["C"], y, gamma=20.0, sample_weight=weights, **options), rel_gap=1e-7)
    signatures = list(exploration.run.signatures)
    problem = ss.Problem(X, y, gamma=20.0, sample_weight=weights, **options)
    solution = ss.solve(problem, rel_gap=1e-7)
    assert solution.objective == pytest.approx(plain.objective, rel=1e-12)
    assert np.array_equal(solution.support, plain.support)
    warm = solution.coef.copy()
    warm.flags.writeable = False
    assert ss.solve(problem, warm_start=warm).status == "optimal"
    assert exploration.run.signatures == signatures


def test_data_is_never_written_to():
    X = np.random.default_rng(2).standard_normal((40, 10))
    y = np.arange(40) % 2
    kept_X, kept_y = X.copy(), y.copy()
    ss.solve(ss.Problem(X, y, k=3, gamma=10.0, standardize=True, fit_intercept=True))
    assert np.array_equal(X, kept_X)
    assert np.array_equal(y, kept_y)
