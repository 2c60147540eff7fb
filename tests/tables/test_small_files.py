"""Small files that state huge things: refused in one sentence, before they take the memory."""

from __future__ import annotations

import io
import tracemalloc
import zipfile

import numpy as np
import pytest

from safescreen.tables import read_table

LARGEST = 100_000_000
"""What refusing a file may take, in bytes."""


def refused(path, words: str, **options) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=words) as caught:
            read_table(str(path), **options)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < LARGEST
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("index", [2_147_483_647, 2_147_483_646, 20_000_000, 2_000_001])
def test_an_index_far_beyond_the_entries(tmp_path, index):
    path = tmp_path / "data.svm"
    path.write_text(f"1 1:2 {index}:3\n-1 1:4\n")
    refused(path, f"has the index {index:,}, but at most 2,000,000 can be used with so few entries")


def test_data_of_a_model_may_be_few(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text("1 1:2 2147483647:3\n")
    refused(path, "but at most 20,000,000", first_index=1)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize(
    "shape", [(2, 10**11), (2, 10**18), (2, 2_000_001), (10**11, 3), (10**9, 3), (-2, 3), (2,), (2.0, 3.0)]
)
def test_a_shape_far_beyond_the_entries(tmp_path, form, shape):
    places = {"row": [0, 1], "col": [0, 1]} if form == "coo" else {"indices": [0, 1], "indptr": [0, 1, 2]}
    np.savez(tmp_path / "data.npz", data=[1.0, 2.0], shape=shape, format=form, **places)
    refused(tmp_path / "data.npz", "has a damaged sparse matrix")


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("name", ["indices", "indptr", "row", "col"])
@pytest.mark.parametrize("off", [0.5, np.nan])
def test_indices_are_not_rounded(tmp_path, form, name, off):
    places = {"row": [0, 1], "col": [0, 1]} if form == "coo" else {"indices": [0, 1], "indptr": [0, 1, 2]}
    if name not in places:
        return
    places[name] = [place + off for place in places[name]]
    np.savez(tmp_path / "data.npz", data=[1.0, 2.0], shape=(2, 2), format=form, **places)
    refused(tmp_path / "data.npz", "its indices are float64, but must be integers")


@pytest.mark.parametrize("dtype", ["<U500000000", "S2000000000", ">U100000"])
def test_texts_of_a_width_that_nobody_writes(tmp_path, dtype):
    """The member is cut off after its header, which is enough to know."""
    header = io.BytesIO()
    described = {"descr": dtype, "fortran_order": False, "shape": (2,)}
    np.lib.format.write_array_header_1_0(header, described)
    matrix = io.BytesIO()
    np.lib.format.write_array(matrix, np.ones((2, 2)))
    with zipfile.ZipFile(tmp_path / "data.npz", "w") as archive:
        archive.writestr("X.npy", matrix.getvalue())
        archive.writestr("y.npy", header.getvalue())
    refused(tmp_path / "data.npz", r"the array 'y' has texts of [\d,]+ bytes each")


def test_usual_texts_pass(tmp_path):
    np.savez(tmp_path / "data.npz", X=np.ones((2, 2)), y=np.array(["no", "yes" * 100]), s=np.array([b"a", b"b"]))
    assert read_table(str(tmp_path / "data.npz")).arrays["y"].tolist() == ["no", "yes" * 100]
