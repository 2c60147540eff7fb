"""GEO series matrices: values, labels and what can be wrong with a file."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from safescreen.datasets import fetch_genomic
from safescreen.datasets.geo import read_series_matrix

SAMPLES = ["GSM1", "GSM2", "GSM3", "GSM4"]
SOURCES = ["Adenocarcinoma of the Lung", "Normal Lung Tissue", "Adenocarcinoma of the Lung", "Normal Lung Tissue"]
PROBES = [
    ["1007_s_at", "1.5", "2.5", "", "4"],
    ["1053_at", "-1", "null", "3e2", "0"],
    ["AFFX-Bio;B\tM", "7", "7", "7", "7"],  # quoted: a tab inside an identifier
    ["void_at", "NA", "NaN", "", "null"],
]


def line(*cells):
    return "\t".join(cells)


def quoted(*cells):
    return [f'"{cell}"' for cell in cells]


def matrix(sources=SOURCES, probes=PROBES, head=(), end="!series_matrix_table_end"):
    lines = [
        line("!Series_title", '"A study of ""lungs"""'),
        line("!Sample_title", *quoted("a", "b", "c", "d")),
        *head,
        line("!Sample_source_name_ch1", *quoted(*sources)),
        line("!Sample_characteristics_ch1", *quoted("Age: 60", "Age: 61", "Age: 62", "Age: 63")),
        "!series_matrix_table_begin",
        line('"ID_REF"', *quoted(*SAMPLES)),
        *(line(f'"{probe[0]}"', *probe[1:]) for probe in probes),
        *([end] if end else []),
    ]
    return "\n".join(lines) + "\n"


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_values_and_identifiers(tmp_path):
    found = read_series_matrix(write(tmp_path / "a.txt", matrix()))
    assert found.samples.tolist() == SAMPLES
    assert found.probes.tolist() == ["1007_s_at", "1053_at", "AFFX-Bio;B\tM", "void_at"]
    expected = [[1.5, 2.5, np.nan, 4.0], [-1.0, np.nan, 300.0, 0.0], [7.0] * 4, [np.nan] * 4]
    np.testing.assert_array_equal(found.values, np.array(expected).T)


def test_missing_values_become_means(tmp_path):
    filled = read_series_matrix(write(tmp_path / "a.txt", matrix())).filled()
    np.testing.assert_allclose(filled[:, 0], [1.5, 2.5, 8.0 / 3.0, 4.0])
    np.testing.assert_allclose(filled[:, 1], [-1.0, 299.0 / 3.0, 300.0, 0.0])
    np.testing.assert_array_equal(filled[:, 3], 0.0)


def test_labels_come_from_the_annotation_that_tells(tmp_path):
    found = read_series_matrix(write(tmp_path / "a.txt", matrix()))
    assert found.tumour_labels().tolist() == [1, -1, 1, -1]


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["tissue: tumor", "tissue: non-tumor", "tissue: Tumour", "tissue: NORMAL"], [1, -1, 1, -1]),
        (["cancer", "tissue adjacent to cancer", "healthy lung", "carcinoma"], [1, -1, -1, 1]),
    ],
)
def test_characteristics_go_before_the_source(tmp_path, cells, labels):
    text = matrix(head=[line("!Sample_characteristics_ch1", *quoted(*cells))])
    assert read_series_matrix(write(tmp_path / "a.txt", text)).tumour_labels().tolist() == labels


@pytest.mark.parametrize(
    "sources", [["lung"] * 4, ["tumor"] * 4, ["tumor", "normal", "unknown", "normal"], ["tumor", "normal"]]
)
def test_labels_that_do_not_tell(tmp_path, sources):
    found = read_series_matrix(write(tmp_path / "a.txt", matrix(sources)))
    with pytest.raises(ValueError, match="tells tumours from normal tissue for all 4 samples"):
        found.tumour_labels()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a GEO series matrix"),
        ("a,b\n1,2\n", "is not a GEO series matrix"),
        (matrix(end=None), "cut off"),
        (matrix(probes=[]), "without probes"),
        (matrix(probes=[["p", "1", "2", "3"]]), "3 values in line 7, but 4 samples"),
        (matrix(probes=[PROBES[0], ["p", "1", "2", "3", "4", "5"]]), "5 values in line 8, but 4 samples"),
        (matrix(probes=[["p", "1", "2", "x", "4"]]), "'x' in line 7, where a number"),
        (matrix(probes=[["p", "1", "2", "inf", "4"]]), "'inf' in line 7, where a finite number"),
        (matrix(probes=[PROBES[0], [""], [""], ["p", "1", "2", "x", "4"]]), "'x' in line 10"),
        (matrix(probes=[PROBES[0], PROBES[0]]), "same probe in several lines"),
    ],
)
def test_malformed_files(tmp_path, text, message):
    with pytest.raises(ValueError, match=message) as raised:
        read_series_matrix(write(tmp_path / "a.txt", text))
    assert "\n" not in str(raised.value)
    assert str(raised.value).startswith("a.txt ")


def test_compressed_files_by_content_not_by_name(tmp_path):
    for name in ("a.txt.gz", "b.txt"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(matrix().encode()))
        assert read_series_matrix(path).values.shape == (4, 4)


def test_damaged_archive(tmp_path):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(matrix().encode())[:-20])
    with pytest.raises(ValueError, match="damaged archive"):
        read_series_matrix(path)


def test_binary_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xff\xfe\x00\x80" * 10)
    with pytest.raises(ValueError, match="not a text file"):
        read_series_matrix(path)


def test_genomic_from_a_file_of_the_user(tmp_path):
    bunch = fetch_genomic(write(tmp_path / "a.txt", matrix()))
    assert bunch.data.shape == (4, 4)
    assert bunch.target.tolist() == [1, -1, 1, -1]
    assert bunch.n_missing == 6
    assert bunch.feature_names[0] == "1007_s_at"
    X, y = fetch_genomic(tmp_path / "a.txt", return_X_y=True)
    np.testing.assert_array_equal(X, bunch.data)
    np.testing.assert_array_equal(y, bunch.target)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        fetch_genomic(tmp_path / "b.txt")


def test_genomic_in_the_local_folder_must_be_that_series(tmp_path, monkeypatch):
    monkeypatch.setenv("SAFESCREEN_DATA", str(tmp_path))
    write(tmp_path / "GSE10072_series_matrix.txt", matrix())
    with pytest.raises(ValueError, match=r"shape \(4, 4\), but GSE10072 has \(107, 22283\)"):
        fetch_genomic()
