"""Tables from files: every format gives the same numbers, and nothing is guessed silently."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
import pickle
import subprocess
import sys
import threading
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.model_selection import KFold

from safescreen.tables import Encoding, Prepared, Reading, column_names, prepare, read_table, target_labels

NAMES = ["age", "mean radius", "count"]
X = np.array([[1.5, -2.0, 3.0], [0.25, 1e-300, 4.0], [-7.125, 0.1, 5.0], [2.0, 1e30, 6.0]])
LABELS = ["yes", "no", "yes", "no"]


def write(path, text: str, encoding: str = "utf-8", newline: str = "") -> str:
    path.write_text(text, encoding=encoding, newline=newline)
    return str(path)


def csv_text(delimiter: str = ",", end: str = "\n", header: bool = True) -> str:
    rows = [[*map(repr, row), label] for row, label in zip(X.tolist(), LABELS, strict=True)]
    return "".join(delimiter.join(row) + end for row in ([[*NAMES, "label"]] if header else []) + rows)


def same(path: str, **options: object) -> None:
    """The file holds the small data set above, bit for bit."""
    table = read_table(path, labels=("label",), **options)
    assert table.named
    assert table.names == [*NAMES, "label"]
    data = prepare(table, Reading(target="label"))
    np.testing.assert_array_equal(data.X, X)
    assert data.y.tolist() == LABELS
    assert data.feature_names == NAMES


# --- delimited text


@pytest.mark.parametrize("delimiter", [",", ";", "\t"], ids=["comma", "semicolon", "tab"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("name", ["data.csv", "data.txt", "data.tsv", "data"])
def test_delimiters_and_line_ends(tmp_path, delimiter, end, name):
    same(write(tmp_path / name, csv_text(delimiter, end)))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(tmp_path, encoding):
    same(write(tmp_path / "data.csv", csv_text(), encoding))


def test_no_line_end_and_blank_lines(tmp_path):
    same(write(tmp_path / "a.csv", csv_text().rstrip("\n")))
    same(write(tmp_path / "b.csv", "\n" + csv_text().replace("\n", "\n\n") + "  \n"))
    table = read_table(write(tmp_path / "c.csv", "a,b\r1,2\r  \r,3\r"))
    np.testing.assert_array_equal(table.matrix, [[1.0, 2.0], [np.nan, 3.0]])


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), ("", gzip.compress)],
)
def test_compressed(tmp_path, suffix, compress):
    path = tmp_path / f"data.csv{suffix}"
    path.write_bytes(compress(csv_text().encode()))
    same(str(path))


def test_quoted_fields(tmp_path):
    text = '"age, in years","say ""hi""",label\n"1.5", "2",yes\n2.5,3,"no\nreally"\n'
    table = read_table(write(tmp_path / "data.csv", text), labels=("label",))
    assert table.names == ["age, in years", 'say "hi"', "label"]
    np.testing.assert_array_equal(table.matrix[:, :2], [[1.5, 2.0], [2.5, 3.0]])
    assert table.texts[2].tolist() == ["yes", "no\nreally"]


def test_quotes_that_begin_late(tmp_path):
    rows = [f"{i},{i + 0.5}" for i in range(2_000)] + ['"2000","2000.5"', "2001,2001.5"]
    table = read_table(write(tmp_path / "data.csv", "a,b\n" + "\n".join(rows) + "\n"))
    np.testing.assert_array_equal(table.matrix, [[i, i + 0.5] for i in range(2_002)])


@pytest.mark.parametrize("text", ["", "?", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "  ", " ? "])
@pytest.mark.parametrize("quote", [False, True])
def test_missing_values(tmp_path, text, quote):
    field = f'"{text}"' if quote else text
    table = read_table(write(tmp_path / "data.csv", f"a,b\n1,x\n{field},y\n3,{field}\n"))
    np.testing.assert_array_equal(table.matrix[:, 0], [1.0, np.nan, 3.0])
    assert table.texts[1].tolist() == ["x", "y", None]


@pytest.mark.parametrize("gap", ["", " ", "  ", "\v", "\f"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_white_space_is_no_number(tmp_path, gap, place):
    fields = ["7", "8", "9"]
    fields[place] = gap
    table = read_table(write(tmp_path / "data.csv", f"1,2,3\n{','.join(fields)}\n4, 5,6\n"))
    assert np.isnan(table.matrix[1]).tolist() == [j == place for j in range(3)]
    np.testing.assert_array_equal(table.matrix[[0, 2]], [[1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize("n_rows", [50, 200_000])
def test_text_found_late_is_kept_from_the_first_row_on(tmp_path, n_rows):
    rows = [f"{i:03},{i}" for i in range(n_rows)] + ["x,50", "1,y"]
    table = read_table(write(tmp_path / "data.csv", "code,n\n" + "\n".join(rows) + "\n"))
    assert table.texts[0].tolist() == [f"{i:03}" for i in range(n_rows)] + ["x", "1"]
    assert table.texts[1].tolist()[-2:] == ["50", "y"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n3,4,5\n", "3 fields in line 3, but 2 in the first line"),
        ("a,b\n1,2,3,4\n5,6\n", "4 fields in line 2, but 2 in the first line"),
        ("a,b\n1,2\n" * 30 + "7\n", "1 field in line 61, but 2 in the first line"),
        ("1,2\n3\n", "1 field in line 2, but 2 in the first line"),
        (f"a,b\n1,{'9' * 22}\n1,x\n7\n", "1 field in line 4, but 2 in the first line"),
        ('a,b\n"x\ny",1\n\n\nz\n', "1 field in line 6, but 2 in the first line"),
        ('a,b\n1,2\n"3,4\n', "cannot be read as delimited text .EOF inside string"),
    ],
)
def test_rows_of_other_lengths(tmp_path, text, words):
    with pytest.raises(ValueError, match=words):
        read_table(write(tmp_path / "data.csv", text))


def test_wide_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    values = np.random.default_rng(0).standard_normal((3, 5_000))
    columns = {f"v{j}": values[:, j] for j in range(5_000)}
    pyarrow.parquet.write_table(pa.table({**columns, "label": ["x", None, "7"]}), tmp_path / "data.parquet")
    table = read_table(str(tmp_path / "data.parquet"))
    np.testing.assert_array_equal(table.matrix[:, :-1], values)
    assert table.texts[5_000].tolist() == ["x", None, "7"]


def test_underscores_are_no_digits(tmp_path):
    for rows in ("1_0,1\n2_0,2\n", '"1_0",1\n2_0,2\n'):
        table = read_table(write(tmp_path / "data.csv", "code,n\n" + rows))
        assert table.texts[0].tolist() == ["1_0", "2_0"]
        np.testing.assert_array_equal(table.matrix[:, 1], [1.0, 2.0])
    table = read_table(write(tmp_path / "data.csv", f"code,n\n1_0,1\n{'9' * 22},2\n"))
    assert table.texts[0].tolist() == ["1_0", "9" * 22]


def test_a_blank_line_is_a_gap_of_the_only_column(tmp_path):
    table = read_table(write(tmp_path / "data.csv", "\n\na\n1\n\n3\n"))
    assert table.names == ["a"]
    np.testing.assert_array_equal(table.matrix[:, 0], [1.0, np.nan, 3.0])


def test_booleans_are_numbers_but_labels_stay_words(tmp_path):
    path = write(tmp_path / "data.csv", "smoker,label\ntrue,True\nFALSE,False\n,True\n")
    table = read_table(path, labels=("label",))
    np.testing.assert_array_equal(table.matrix[:, 0], [1.0, 0.0, np.nan])
    assert table.texts[1].tolist() == ["True", "False", "True"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b\n1,2\n3,4\n", ["a", "b"]),
        ("1,2\n3,4\n", None),
        ("5.1,M\n4.9,B\n", None),
        ("0,1,2\n5,6,7\n8,9,10\n", ["0", "1", "2"]),
        ("2001,2002,n\n5,6,7\n8,9,10\n", ["2001", "2002", "n"]),
        ("colour,label\nred,yes\nblue,no\n", ["colour", "label"]),
        ("NA,1\n2,?\n", None),
        ("a_1,b_2\n1,2\n", ["a_1", "b_2"]),
    ],
)
def test_header_detection(tmp_path, text, names):
    table = read_table(write(tmp_path / "data.csv", text))
    assert table.named is (names is not None)
    assert table.names == (names or ["x0", "x1"])


def test_header_can_be_told(tmp_path):
    path = write(tmp_path / "data.csv", "1,2\n3,4\n")
    assert read_table(path, header=True).names == ["1", "2"]
    path = write(tmp_path / "data.csv", "a,b\nc,d\n")
    assert read_table(path, header=False).n_rows == 2


@pytest.mark.parametrize(
    "text",
    [",a,b\n0,1.5,2\n1,2.5,3\n", ",a,b\np,1.5,2\nq,2.5,3\n", "a,b\np,1.5,2\nq,2.5,3\n", "a,b,\n1.5,2,\n2.5,3,\n"],
    ids=["row numbers", "row names", "as R writes them", "trailing commas"],
)
def test_row_names_are_no_feature(tmp_path, text):
    table = read_table(write(tmp_path / "data.csv", text))
    assert table.names == ["a", "b"]
    np.testing.assert_array_equal(table.matrix, [[1.5, 2.0], [2.5, 3.0]])


def test_unnamed_columns_that_are_features_stay(tmp_path):
    table = read_table(write(tmp_path / "data.csv", "a,,b\n1,7,2\n2,5,3\n"))
    assert table.names == ["a", "x1", "b"]


def test_many_digits_and_sizes(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((300, 7)) * 10.0 ** rng.integers(-300, 300, (300, 7))
    text = "".join(",".join(map(repr, row)) + "\n" for row in values.tolist())
    np.testing.assert_array_equal(read_table(write(tmp_path / "data.csv", text)).matrix, values)


@pytest.mark.parametrize("place", [0, 3, 6])
def test_labels_anywhere(tmp_path, place):
    rng = np.random.default_rng(1)
    values = rng.standard_normal((40, 6))
    labels = rng.choice(["a", "b"], 40).tolist()
    rows = [[*map(repr, row)] for row in values.tolist()]
    for row, label in zip(rows, labels, strict=True):
        row.insert(place, label)
    path = write(tmp_path / "data.csv", "".join(",".join(row) + "\n" for row in rows))
    data = prepare(read_table(path, labels=(str(place),)), Reading(target=str(place)))
    np.testing.assert_array_equal(data.X, values)
    assert data.y.tolist() == labels


PLAIN = st.floats(allow_nan=False, allow_infinity=False).map(repr) | st.integers(-(10**20), 10**20).map(str)
ODD = st.sampled_from(
    ["", " ", "NA", "?", "nan", "1_0", "x", " 7", "8 ", "1e5", "+3", ".5", "0x1", "1,5", 'a"b', "ü", "-"]
) | st.sampled_from(
    ["007", "inf", "-Infinity", "1e400", "9" * 30, "9" * 400, "1.", "1e", "1 2", "-nan", "٣", " ? ", "2020-01-01"]
)
WORDS = st.sampled_from(["true", "FALSE", "True", "tRuE"])


def expected_column(fields: list[str]) -> tuple[list[float], list[str | None] | None]:
    """What a column means, read one field at a time."""
    missing = {"", "?", "NA", "nan"}
    stripped = [field.strip() for field in fields]
    words = {field.lower() for field in stripped if field not in missing}
    if words and words <= {"true", "false"}:
        return [float("nan") if field in missing else float(field.lower() == "true") for field in stripped], None
    try:
        if any("_" in field for field in stripped):
            raise ValueError
        return [float("nan") if field in missing else float(field) for field in stripped], None
    except ValueError:
        return [float("nan")] * len(fields), [None if field in missing else field for field in stripped]


@settings(max_examples=200, deadline=None)
@given(data=st.data(), delimiter=st.sampled_from(",;\t"))
def test_any_table(tmp_path_factory, data, delimiter):
    """Whatever is in a file, reading it agrees with reading it field by field."""
    width = data.draw(st.integers(2, 4))
    kinds = [data.draw(st.sampled_from([PLAIN, PLAIN | ODD, WORDS, WORDS | ODD])) for _ in range(width)]
    rows = data.draw(st.lists(st.tuples(*kinds), min_size=1, max_size=12))
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow([f"c{j}" for j in range(width)])
    writer.writerows(rows)
    path = write(tmp_path_factory.mktemp("any") / "data.csv", text.getvalue())
    table = read_table(path, decimal=".") if delimiter != "," else read_table(path)
    for j in range(width):
        numbers, texts = expected_column([row[j] for row in rows])
        np.testing.assert_array_equal(table.matrix[:, j], numbers)
        assert (table.texts[j].tolist() if j in table.texts else None) == texts


def test_column_names_alone(tmp_path):
    assert column_names(write(tmp_path / "data.csv", csv_text())) == [*NAMES, "label"]


# --- labels


@pytest.mark.parametrize(
    ("words", "labels"),
    [
        (["1", "0"], [1, 0]),
        (["1.0", "0"], [1, 0]),
        (["+1", "-1"], [1, -1]),
        (["0.5", "1"], [0.5, 1.0]),
        (["true", "false"], ["true", "false"]),
        (["yes", "1"], ["yes", "1"]),
        (["1_0", "2_0"], ["1_0", "2_0"]),
        (["100000000000000001", "100000000000000002"], [100000000000000001, 100000000000000002]),
    ],
)
def test_labels(tmp_path, words, labels):
    path = write(tmp_path / "data.csv", f"a,label\n1,{words[0]}\n2,{words[1]}\n")
    y = prepare(read_table(path, labels=("label",)), Reading(target="label")).y
    assert y.tolist() == labels
    assert y.dtype.kind in "ifU"


def test_target_by_index(tmp_path):
    path = write(tmp_path / "data.csv", csv_text())
    for target in ("3", "-1", "label"):
        data = prepare(read_table(path, labels=(target,)), Reading(target=target))
        assert data.y.tolist() == LABELS
        assert data.encoding.names == NAMES


# --- other formats


def test_parquet_arrow_and_feather(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.feather
    import pyarrow.parquet

    columns = {name: X[:, j] for j, name in enumerate(NAMES)}
    table = pa.table({**columns, "label": LABELS})
    pyarrow.parquet.write_table(table, tmp_path / "data.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "data.feather")
    with pa.OSFile(str(tmp_path / "data.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    with pa.OSFile(str(tmp_path / "stream.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    for name in ("data.parquet", "data.feather", "data.arrow", "stream.arrow"):
        same(str(tmp_path / name))
    (tmp_path / "data.parquet.gz").write_bytes(gzip.compress((tmp_path / "data.parquet").read_bytes()))
    same(str(tmp_path / "data.parquet.gz"))


def test_arrow_types(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import decimal

    import pyarrow.parquet

    table = pa.table(
        {
            "whole": pa.array([1, None, 3]),
            "flag": [True, False, None],
            "price": pa.array([decimal.Decimal("1.5"), None, decimal.Decimal("2.5")]),
            "nothing": pa.nulls(3),
            "colour": pa.array(["red", None, "blue"]).dictionary_encode(),
            "small": pa.array([1, 2, 3], pa.uint8()),
            "__index_level_0__": [7, 8, 9],
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "data.parquet")
    read = read_table(str(tmp_path / "data.parquet"))
    assert read.names == ["whole", "flag", "price", "nothing", "colour", "small"]
    nan = np.nan
    expected = [[1, 1, 1.5, nan, nan, 1], [nan, 0, nan, nan, nan, 2], [3, nan, 2.5, nan, nan, 3]]
    np.testing.assert_array_equal(read.matrix, expected)
    assert read.texts[4].tolist() == ["red", None, "blue"]


def test_pandas_parquet(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=NAMES, index=["p", "q", "r", "s"]).assign(label=LABELS)
    frame.to_parquet(tmp_path / "data.parquet")
    same(str(tmp_path / "data.parquet"))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, np.bool_])
def test_dense_archive(tmp_path, dtype):
    matrix = (X * (X < 1e20)).astype(dtype)
    y = np.array([1, -1, 1, -1], dtype=np.int8)
    np.savez_compressed(tmp_path / "data.npz", X=matrix, y=y, feature_names=np.array(NAMES))
    data = prepare(read_table(str(tmp_path / "data.npz")), Reading())
    assert data.X.dtype == dtype
    np.testing.assert_array_equal(data.X, matrix)
    np.testing.assert_array_equal(data.y, y)
    assert data.feature_names == NAMES


def test_archive_with_other_names_and_targets(tmp_path):
    np.savez(tmp_path / "data.npz", features=X, y=[0, 1, 0, 1], other=np.array([b"a", b"b", b"a", b"b"]), w=np.ones(4))
    table = read_table(str(tmp_path / "data.npz"))
    assert prepare(table, Reading(target="other")).y.tolist() == ["a", "b", "a", "b"]
    assert prepare(table, Reading(weights="w")).weights.tolist() == [1.0] * 4
    data = prepare(table, Reading(target="2", positive="3"))
    assert data.y.tolist() == [3, 4, 5, 6]
    assert data.X.shape == (4, 2)


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_sparse_archive(tmp_path, layout):
    matrix = sparse.random_array((20, 30), density=0.2, random_state=0, format=layout)
    sparse.save_npz(tmp_path / "matrix.npz", matrix)
    with np.load(tmp_path / "matrix.npz") as archive:
        np.savez(tmp_path / "data.npz", **dict(archive.items()), y=np.arange(20) % 2)
    data = prepare(read_table(str(tmp_path / "data.npz")), Reading())
    assert sparse.issparse(data.X)
    np.testing.assert_array_equal(data.X.toarray(), matrix.toarray())
    assert data.y.tolist() == (np.arange(20) % 2).tolist()


def test_archives_of_the_project(tmp_path):
    folder = os.environ.get("SAFESCREEN_DATA")
    if not folder:
        pytest.skip("SAFESCREEN_DATA is not set")
    import safescreen as ss

    for name in ("alon", "newsgroups_counts"):
        ours = prepare(read_table(os.path.join(folder, f"{name}.npz")), Reading())
        theirs, y = ss.datasets.load_local(name)
        assert (theirs != ours.X).sum() == 0
        np.testing.assert_array_equal(ours.y, y)
        assert ours.feature_names is not None


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("name", ["data.svm", "data.libsvm", "data.txt", "data", "data.svmlight.gz", "data.bz2"])
def test_svmlight(tmp_path, zero_based, name):
    matrix = sparse.random_array((40, 25), density=0.3, random_state=0, format="lil")
    matrix[0, 0] = matrix[3, 24] = 1.5
    matrix = matrix.tocsr()
    y = np.where(np.arange(40) % 3 == 0, 1, -1)
    dump_svmlight_file(matrix, y, str(tmp_path / "plain"), zero_based=zero_based, comment="a comment")
    content = (tmp_path / "plain").read_bytes()
    compress = gzip.compress if name.endswith("gz") else bz2.compress if name.endswith("bz2") else bytes
    (tmp_path / name).write_bytes(compress(content))
    table = read_table(str(tmp_path / name))
    theirs, _ = load_svmlight_file(str(tmp_path / "plain"), zero_based=zero_based)
    np.testing.assert_array_equal(table.matrix.toarray(), theirs.toarray())
    np.testing.assert_array_equal(table.arrays["y"], y)
    assert table.first_index == (0 if zero_based else 1)
    assert table.names[0] == ("x0" if zero_based else "x1")
    assert prepare(table, Reading()).feature_names == (None if zero_based else table.names)


def test_svmlight_details(tmp_path):
    path = write(tmp_path / "data.svm", "# head\n1 qid:3 1:0.5 4:2 # tail\n\n-1\n+1 2:1e-3\n")
    table = read_table(path)
    np.testing.assert_array_equal(table.matrix.toarray(), [[0.5, 0, 0, 2], [0, 0, 0, 0], [0, 1e-3, 0, 0]])
    assert table.arrays["y"].tolist() == [1, -1, 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 1:1\n1 3:1 2:1\n", "in line 2: the index 2 follows 3, but indices must increase"),
        ("1 1:1 2:1 2:1\n", "in line 1: the index 2 follows 2"),
        ("1 1:1\n\n# note\n1 1.5:1\n", "in line 4: it has the index 1.5"),
        ("1 1:1\nx 1:1\n", "in line 2: 'x' is not a number"),
        ("1 1:1\n1 2:\n", "in line 2: '' is not a number"),
        ("1 99999999999:1\n", "in line 1: it has the index 99999999999"),
        ("1 2147483647:1\n", "has the index 2,147,483,647, but at most 2,000,000"),
        ("# only\n", "is empty"),
    ],
)
def test_svmlight_mistakes(tmp_path, text, words):
    with pytest.raises(ValueError, match=words) as caught:
        read_table(write(tmp_path / "data.svm", text))
    assert str(tmp_path / "data.svm") in str(caught.value)


def test_a_huge_index_allocates_nothing(tmp_path):
    tracemalloc.start()
    with pytest.raises(ValueError, match="at most"):
        read_table(write(tmp_path / "data.svm", "1 2147483647:1\n-1 1:1\n"))
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


def test_times_are_no_svmlight(tmp_path):
    table = read_table(write(tmp_path / "data.csv", "2020-01-01 10:30,5,3\n2020-01-02 11:30,6,4\n"))
    assert table.n_columns == 3


# --- where tables come from


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(csv_text(";").encode())))
    same("-")


def test_standard_input_takes_any_format(tmp_path):
    np.savez(tmp_path / "data.npz", X=X, y=[0, 1, 0, 1])
    code = "from safescreen.tables import read_table; print(read_table('-').matrix.sum())"
    with (tmp_path / "data.npz").open("rb") as file:
        done = subprocess.run([sys.executable, "-c", code], stdin=file, capture_output=True, text=True, check=True)
    assert float(done.stdout) == X.sum()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_named_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(csv_text()))
    writer.start()
    same(str(pipe))
    writer.join()


def test_libraries_are_loaded_when_they_are_needed(tmp_path):
    path = write(tmp_path / "data.csv", csv_text())
    code = (
        "import sys; from safescreen.tables import column_names, read_table; "
        f"column_names({path!r}); assert 'pandas' not in sys.modules; read_table({path!r}); "
        "print([m for m in ('polars', 'sklearn', 'numba', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- gaps and categories


def test_imputation(tmp_path):
    path = write(tmp_path / "data.csv", "a,b,label\n1,5,0\n,6,1\n3,7,0\n8,?,1\n")
    data = prepare(read_table(path, labels=("label",)), Reading(target="label", impute="median"))
    np.testing.assert_array_equal(data.X, [[1, 5], [3, 6], [3, 7], [8, 6]])
    assert [source.fill for source in data.encoding.inputs] == [3.0, 6.0]
    assert any("2 missing values" in note for note in data.notes)


def test_dropping(tmp_path):
    path = write(tmp_path / "data.csv", "a,b,w,label\n1,5,1,0\n,6,1,1\n3,7,1,0\n8,8,1,\n9,9,,1\n4,4,2,1\n")
    table = read_table(path, labels=("label",))
    data = prepare(table, Reading(target="label", weights="w", drop_missing=True))
    np.testing.assert_array_equal(data.X, [[1, 5], [3, 7], [4, 4]])
    assert data.y.tolist() == [0, 0, 1]
    assert data.weights.tolist() == [1.0, 1.0, 2.0]
    assert any("3 of 6 rows" in note for note in data.notes)


def test_gaps_in_columns_left_out_do_not_matter(tmp_path):
    path = write(tmp_path / "data.csv", "a,b,c,label\n1,,x,0\n2,6,y,1\n")
    data = prepare(read_table(path, labels=("label",)), Reading(target="label", exclude=("b", "c")))
    np.testing.assert_array_equal(data.X, [[1], [2]])


def test_categories(tmp_path):
    path = write(tmp_path / "data.csv", "colour,sex,n,label\nred,m,1,0\nblue,f,2,1\ngreen,m,3,0\nred,f,4,1\n")
    data = prepare(read_table(path, labels=("label",)), Reading(target="label", one_hot=True))
    assert data.feature_names == ["colour=blue", "colour=green", "colour=red", "sex=m", "n"]
    np.testing.assert_array_equal(data.X, [[0, 0, 1, 1, 1], [1, 0, 0, 0, 2], [0, 1, 0, 1, 3], [0, 0, 1, 0, 4]])


def test_category_gaps(tmp_path):
    path = write(tmp_path / "data.csv", "colour,n,label\nred,1,0\n,2,1\ngreen,3,0\nred,4,1\nblue,5,1\n")
    table = read_table(path, labels=("label",))
    filled = prepare(table, Reading(target="label", one_hot=True, impute="median"))
    assert filled.X[1].tolist() == [0.0, 0.0, 1.0, 2.0]
    dropped = prepare(table, Reading(target="label", one_hot=True, drop_missing=True))
    assert dropped.X.shape == (4, 4)
    with pytest.raises(ValueError, match="missing values in 1 row, column 'colour'"):
        prepare(table, Reading(target="label", one_hot=True))


def test_one_category_can_be_left_out(tmp_path):
    path = write(tmp_path / "data.csv", "colour,n,label\nred,1,0\nblue,2,1\ngreen,3,0\n")
    data = prepare(
        read_table(path, labels=("label",)), Reading(target="label", one_hot=True, exclude=("colour=green",))
    )
    assert data.feature_names == ["colour=blue", "colour=red", "n"]


# --- gaps within the folds of a cross-validation

HOLES = Reading(target="label", one_hot=True, impute="median")


def holes(tmp_path, text: str, reading: Reading = HOLES) -> Prepared:
    return prepare(read_table(write(tmp_path / "holes.csv", text), labels=("label",)), reading)


def random_holes(n_rows: int = 60) -> str:
    """Two columns of numbers, three colours and two sexes, a fifth of it all missing."""
    rng = np.random.default_rng(0)
    lines = ["a,colour,b,sex,label"]
    for i in range(n_rows):
        fields = [f"{rng.normal():.3f}", rng.choice(["red", "blue", "green"]), str(i % 7), rng.choice(["f", "m"])]
        lines.append(",".join([*("" if rng.random() < 0.2 else field for field in fields), str(i % 2)]))
    return "\n".join(lines)


def filled_by_hand(frame, train, rows):
    """What pandas makes of some rows with medians and most frequent categories of the training rows."""
    import pandas as pd

    numbers = frame[["a", "b"]].iloc[rows].fillna(frame[["a", "b"]].iloc[train].median())
    modes = frame[["colour", "sex"]].iloc[train].mode().iloc[0]
    texts = frame[["colour", "sex"]].iloc[rows].fillna(modes)
    colours = [(texts["colour"] == colour).astype(float) for colour in ("blue", "green", "red")]
    return pd.concat([numbers["a"], *colours, numbers["b"], (texts["sex"] == "m").astype(float)], axis=1).to_numpy()


@pytest.mark.parametrize("exclude", [(), ("colour=blue", "colour=green")], ids=["all", "some indicators"])
def test_folds_are_filled_from_their_training_rows(tmp_path, exclude):
    pd = pytest.importorskip("pandas")
    data = holes(tmp_path, random_holes(), replace(HOLES, exclude=exclude))
    frame = pd.read_csv(tmp_path / "holes.csv")
    shown = [j for j, name in enumerate(["a", "colour=blue", "colour=green", "colour=red"]) if name not in exclude]
    shown += [4, 5]
    everything = np.arange(60)
    np.testing.assert_array_equal(data.X, filled_by_hand(frame, everything, everything)[:, shown])
    before = data.X.copy()
    folds = list(KFold(7, shuffle=True, random_state=0).split(data.X))
    parts = [data.gaps.refill(data.X, train, test) for train, test in folds]
    for (train, test), (X_train, X_test) in zip(folds, parts, strict=True):
        np.testing.assert_array_equal(X_train, filled_by_hand(frame, train, train)[:, shown])
        np.testing.assert_array_equal(X_test, filled_by_hand(frame, train, test)[:, shown])
    assert any((X_train != data.X[train]).any() for (train, _), (X_train, _) in zip(folds, parts, strict=True))
    np.testing.assert_array_equal(data.X, before)


def test_test_rows_do_not_reach_the_training_rows(tmp_path):
    text = "a,colour,label\n1,red,0\n,,1\n3,blue,0\n{},{},1\n{},{},0\n"
    train, test = np.arange(3), np.arange(3, 5)
    calm, wild = (holes(tmp_path, text.format(*cells)) for cells in ((1, "red") * 2, (1e9, "blue") * 2))
    assert (calm.X[train] != wild.X[train]).any(axis=0).all()
    np.testing.assert_array_equal(calm.gaps.refill(calm.X, train, test)[0], wild.gaps.refill(wild.X, train, test)[0])


def test_gaps_of_the_test_rows_alone(tmp_path):
    """Columns that are complete in training are filled from training all the same."""
    data = holes(tmp_path, "a,colour,label\n1,red,0\n2,red,1\n9,blue,0\n8,blue,0\n7,blue,1\n,,1\n")
    assert data.X[5].tolist() == [7.0, 0.0]
    X_train, X_test = data.gaps.refill(data.X, np.arange(3), np.arange(3, 6))
    np.testing.assert_array_equal(X_train, [[1, 1], [2, 1], [9, 0]])
    np.testing.assert_array_equal(X_test, [[8, 0], [7, 0], [2, 1]])


def test_ties_within_a_fold(tmp_path):
    data = holes(tmp_path, "colour,label\nred,0\ngreen,1\n,0\nred,1\nblue,0\n")
    X_train, _ = data.gaps.refill(data.X, np.arange(3), np.arange(3, 5))
    assert data.feature_names == ["colour=blue", "colour=green", "colour=red"]
    assert data.X[2].tolist() == [0.0, 0.0, 1.0]
    assert X_train[2].tolist() == [0.0, 1.0, 0.0]


def test_columns_without_values_in_the_training_rows(tmp_path):
    """The fills of all rows have to do, the rows that were left out included."""
    text = "a,b,colour,label\n,1,,0\n,2,,1\n4,3,red,0\n6,4,red,1\n9,5,blue,\n9,5,blue,\n9,5,blue,\n"
    data = holes(tmp_path, text, replace(HOLES, drop_missing=True))
    X_train, X_test = data.gaps.refill(data.X, np.arange(2), np.arange(2, 4))
    np.testing.assert_array_equal(X_train, [[9, 1, 0], [9, 2, 0]])
    np.testing.assert_array_equal(X_test, [[4, 3, 1], [6, 4, 1]])


def test_gaps_after_rows_were_left_out(tmp_path):
    text = "a,colour,label\n,,\n1,red,0\n5,blue,\n,,1\n3,blue,0\n7,blue,1\n"
    data = holes(tmp_path, text, replace(HOLES, drop_missing=True))
    assert len(data.gaps) == 2
    X_train, X_test = data.gaps.refill(data.X, np.array([0, 1]), np.array([2, 3]))
    np.testing.assert_array_equal(X_train, [[1, 1], [1, 1]])
    np.testing.assert_array_equal(X_test, [[3, 0], [7, 0]])
    X_train, X_test = data.gaps.refill(data.X, np.array([2, 3]), np.array([0, 1]))
    np.testing.assert_array_equal(X_train, [[3, 0], [7, 0]])
    np.testing.assert_array_equal(X_test, [[1, 1], [5, 0]])


def test_without_gaps_nothing_is_remembered(tmp_path):
    complete = "a,colour,label\n1,red,0\n2,blue,1\n"
    assert holes(tmp_path, complete).gaps is None
    assert holes(tmp_path, complete + ",red,\n", replace(HOLES, drop_missing=True)).gaps is None
    assert holes(tmp_path, complete + ",red,1\n", replace(HOLES, impute=None, drop_missing=True)).gaps is None


def test_gaps_are_small(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(100, 2_000))
    values[rng.random(values.shape) < 0.02] = np.nan
    np.savez(tmp_path / "wide.npz", X=values, y=np.arange(100) % 2)
    data = prepare(read_table(str(tmp_path / "wide.npz")), Reading(impute="median"))
    assert len(data.gaps) == np.isnan(values).sum()
    assert len(pickle.dumps(data.gaps)) < values.nbytes / 25
    train, test = np.arange(80), np.arange(80, 100)
    fills = np.nanmedian(values[train], axis=0)
    for rows, part in zip((train, test), data.gaps.refill(data.X, train, test), strict=True):
        np.testing.assert_array_equal(part, np.where(np.isnan(values[rows]), fills, values[rows]))


# --- new data


@pytest.fixture
def encoding(tmp_path) -> Encoding:
    text = "colour,sex,n,w,label\nred,m,1,1,0\nblue,f,2,1,1\ngreen,m,,1,0\nred,f,4,1,1\n"
    reading = Reading(target="label", weights="w", one_hot=True, impute="median")
    return prepare(read_table(write(tmp_path / "fit.csv", text), labels=("label",)), reading).encoding


def applied(encoding: Encoding, path: str):
    return encoding.apply(read_table(path, labels=encoding.categorical))


def test_new_data_by_name(encoding, tmp_path):
    path = write(tmp_path / "new.csv", "n,extra,sex,colour\n,9,f,green\n7,9,m,\n")
    X, missing = applied(encoding, path)
    np.testing.assert_array_equal(X, [[0, 1, 0, 0, 2], [0, 0, 1, 1, 7]])
    assert not missing.any()


def test_encoding_survives_json(encoding):
    import json

    assert Encoding.from_json(json.loads(json.dumps(encoding.to_json()))) == encoding


def test_restricted_encoding_needs_only_its_columns(encoding, tmp_path):
    small = encoding.restricted([0, 4])
    X, _ = applied(small, write(tmp_path / "new.csv", "n,colour\n1,blue\n2,red\n"))
    np.testing.assert_array_equal(X, [[1, 1], [0, 2]])
    with pytest.raises(ValueError, match=r"lacks 1 column that the model needs, 'n'"):
        applied(small, write(tmp_path / "new.csv", "m,colour\n1,blue\n2,red\n"))


def test_unknown_categories_are_reported(encoding, tmp_path):
    table = read_table(write(tmp_path / "new.csv", "n,sex,colour\n1,f,pink\n2,x,red\n3,m,blue\n"))
    assert encoding.strangers(table) == ["colour=pink", "sex=x"]


def test_categories_that_look_like_numbers(tmp_path):
    path = write(tmp_path / "fit.csv", "code,label\n1,0\n2,1\nx,0\n2,1\n")
    encoding = prepare(read_table(path, labels=("label",)), Reading(target="label", one_hot=True)).encoding
    X, _ = applied(encoding, write(tmp_path / "new.csv", "code\n1\n2\n"))
    np.testing.assert_array_equal(X, [[1, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize("left_out", [0, 1, 2])
def test_new_data_without_names(tmp_path, left_out):
    rows = [[1.5, 10, 2.5, 1, 3.5], [2.5, 20, 3.5, 0, 4.5]]
    path = write(tmp_path / "fit.csv", "".join(",".join(map(str, row)) + "\n" for row in rows))
    reading = Reading(target="3", weights="1", exclude=("2",))
    encoding = prepare(read_table(path, labels=("3",)), reading).encoding
    kept = [row[:] for row in rows]
    for place in [3, 1][:left_out]:
        for row in kept:
            del row[place]
    X, _ = applied(encoding, write(tmp_path / "new.csv", "".join(",".join(map(str, row)) + "\n" for row in kept)))
    np.testing.assert_array_equal(X, [[1.5, 3.5], [2.5, 4.5]])


def test_svmlight_new_data(tmp_path):
    encoding = prepare(read_table(write(tmp_path / "fit.svm", "1 1:1 5:2\n-1 3:1\n")), Reading()).encoding
    assert encoding.first_index == 1
    short = read_table(write(tmp_path / "new.svm", "1 2:7\n-1 1:3\n"), first_index=encoding.first_index)
    np.testing.assert_array_equal(encoding.apply(short)[0].toarray(), [[0, 7, 0, 0, 0], [3, 0, 0, 0, 0]])
    long = read_table(write(tmp_path / "new.svm", "1 2:7\n-1 9:3\n"), first_index=encoding.first_index)
    np.testing.assert_array_equal(encoding.apply(long)[0].toarray(), [[0, 7, 0, 0, 0], [0, 0, 0, 0, 0]])
    with pytest.raises(ValueError, match="has the index 0"):
        read_table(write(tmp_path / "new.svm", "1 0:7\n"), first_index=encoding.first_index)


def test_held_out_labels(encoding, tmp_path):
    table = read_table(write(tmp_path / "test.csv", "label,n\n1,2\n0,3\n"), labels=("label",))
    assert target_labels(table, encoding).tolist() == [1, 0]
