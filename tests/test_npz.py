"""The array files of proofs: readable by NumPy and by any program that reads zip archives."""

from __future__ import annotations

import sys
import zipfile

import numpy as np
import pytest
from safescreen.search.npz import ArrayWriter

from safescreen.search.proof_writer import NODE


def written(path, arrays):
    writer = ArrayWriter(path)
    for name, array in arrays.items():
        writer.add(name, array)
    writer.close()


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
    ids=str,
)
def test_arrays_come_back(array, tmp_path):
    written(tmp_path / "one.npz", {"before": np.ones(3), "it": array, "after": np.ones(4)})
    with zipfile.ZipFile(tmp_path / "one.npz") as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["before.npy", "it.npy", "after.npy"]
    with np.load(tmp_path / "one.npz") as file:
        assert file["it"].dtype == array.dtype
        assert np.array_equal(file["it"], array)
        assert file["after"].size == 4


def test_headers_are_those_of_numpy(tmp_path):
    """Byte by byte, so that every reader of the format gets along."""
    array = np.linspace(0.0, 1.0, 11)
    written(tmp_path / "ours.npz", {"it": array})
    np.savez(tmp_path / "theirs.npz", it=array)
    contents = [zipfile.ZipFile(tmp_path / name).read("it.npy") for name in ("ours.npz", "theirs.npz")]
    assert contents[0] == contents[1]


def test_equal_arrays_make_equal_files(tmp_path):
    for name in ("one", "two"):
        written(tmp_path / name, {"it": np.arange(9)})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="holes in files take room there")
@pytest.mark.parametrize("start", [2**32 - 2, 2**32 - 200, 5 << 30])
def test_files_beyond_four_gigabytes(start, tmp_path):
    """A hole stands for what a long search would have written."""
    writer = ArrayWriter(tmp_path / "large.npz")
    writer.add("first", np.arange(3))
    writer._file.seek(start)
    writer._offset = start
    for name in "abc":
        writer.add(name, np.arange(50.0))
    writer.close()
    with np.load(tmp_path / "large.npz") as file:
        assert all(np.array_equal(file[name], np.arange(50.0)) for name in "abc")


def test_more_members_than_sixteen_bits_count(tmp_path):
    count = 2**16 + 1
    written(tmp_path / "many.npz", {f"a{number}": np.empty(0) for number in range(count)})
    with zipfile.ZipFile(tmp_path / "many.npz") as archive:
        assert len(archive.namelist()) == count


def test_closing_twice_does_no_harm(tmp_path):
    writer = ArrayWriter(tmp_path / "it.npz")
    writer.add("it", np.arange(3))
    writer.close()
    writer.close()
    assert np.array_equal(np.load(tmp_path / "it.npz")["it"], np.arange(3))
