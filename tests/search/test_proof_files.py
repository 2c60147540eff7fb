"""The files of proofs: readable by NumPy and by any program that reads zip archives, however large they grow."""

from __future__ import annotations

import sys
import zipfile

import numpy as np
import pytest

import safescreen as ss
from safescreen.search.proof_writer import NODE, ProofWriter

pytestmark = pytest.mark.interpreted


@pytest.fixture
def writer(tmp_path):
    """A proof in the making."""
    X = np.random.default_rng(0).standard_normal((6, 3))
    with ProofWriter(tmp_path / "proof.npz", ss.Problem(X, [0, 1, 0, 1, 0, 1], k=2)) as writer:
        yield writer


def completed(writer: ProofWriter) -> str:
    """The file with what has been written to it so far."""
    writer._file.close()
    return writer._file.filename


@pytest.mark.parametrize(
    "array",
    [
        np.arange(7.0),
        np.arange(1000, dtype=np.int32)[::3],
        np.frombuffer(b"text", np.uint8),
        np.empty(0, np.int64),
        np.zeros(5, NODE),
        np.empty(0, NODE),
        np.array([True, False]),
    ],
    ids=["floats", "strided", "bytes", "nothing", "nodes", "no nodes", "booleans"],
)
def test_arrays_come_back(array, writer):
    for name, content in {"before": np.ones(3), "it": array, "after": np.ones(4)}.items():
        writer._write(name, content)
    path = completed(writer)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["before.npy", "it.npy", "after.npy"]
    with np.load(path, allow_pickle=False) as file:
        assert file["it"].dtype == array.dtype
        assert np.array_equal(file["it"], array)
        assert file["after"].size == 4


def test_headers_are_those_of_numpy(writer, tmp_path):
    """Byte by byte, so that every reader of the format gets along."""
    array = np.linspace(0.0, 1.0, 11)
    writer._write("it", array)
    np.savez(tmp_path / "theirs.npz", it=array)
    contents = [zipfile.ZipFile(path).read("it.npy") for path in (completed(writer), tmp_path / "theirs.npz")]
    assert contents[0] == contents[1]


def test_objects_are_refused(writer):
    with pytest.raises(ValueError, match="allow_pickle"):
        writer._write("it", np.array([{}]))


@pytest.mark.skipif(sys.platform == "win32", reason="holes in files take room there")
@pytest.mark.parametrize("start", [2**32 - 2, 2**32 - 200, 5 << 30])
def test_files_beyond_four_gigabytes(start, writer):
    """A hole stands for what a long search would have written."""
    writer._write("first", np.arange(3))
    writer._file.start_dir = start
    for name in "abc":
        writer._write(name, np.arange(50.0))
    with np.load(completed(writer), allow_pickle=False) as file:
        assert all(np.array_equal(file[name], np.arange(50.0)) for name in "abc")


def test_members_may_exceed_four_gigabytes(writer):
    """Their size is not known when they begin, so each of them has room for a large one."""
    writer._write("it", np.arange(3))
    with zipfile.ZipFile(completed(writer)) as archive:
        assert all(member.extract_version == zipfile.ZIP64_VERSION for member in archive.infolist())


@pytest.mark.slow
def test_more_members_than_sixteen_bits_count(writer):
    count = 2**16 + 1
    for number in range(count):
        writer._write(f"a{number}", np.empty(0))
    with zipfile.ZipFile(completed(writer)) as archive:
        assert len(archive.namelist()) == count
