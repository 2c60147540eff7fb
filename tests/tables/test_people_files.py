"""Files as people have them: from spreadsheets, other countries and other programs."""

from __future__ import annotations

import csv
import io
import sys
import zipfile

import numpy as np
import pytest

from safescreen.tables import Reading, column_names, prepare, read_table

ROWS = [["age", "colour", "note", "label"], [1.5, "red", "?", "yes"], [None, " ", "4", "no"], [2, "blue", "NA", "yes"]]
ROWS += [[-3.25, "red", " 5 ", "no"], [7, "NULL", "6", "no"]]
PLAIN = "a,b\n1.5,2\n-2.5,3\n"


def write(path, text: str | bytes, encoding: str = "utf-8") -> str:
    path.write_bytes(text.encode(encoding) if isinstance(text, str) else text)
    return str(path)


def check_plain(path, **form) -> tuple[str, ...]:
    table = read_table(str(path), **form)
    assert table.names == ["a", "b"]
    np.testing.assert_array_equal(table.matrix, [[1.5, 2.0], [-2.5, 3.0]])
    return table.notes


def written(folder, kind: str) -> str:
    """The rows above, missing values and all, in one of the formats."""
    path = str(folder / f"data.{kind}")
    if kind == "xlsx":
        book = pytest.importorskip("openpyxl").Workbook()
        for row in ROWS:
            book.active.append(row)
        book.save(path)
    elif kind in ("parquet", "feather"):
        pa = pytest.importorskip("pyarrow")

        table = pa.table({name: [row[j] for row in ROWS[1:]] for j, name in enumerate(ROWS[0])})
        if kind == "parquet":
            pytest.importorskip("pyarrow.parquet").write_table(table, path)
        else:
            pytest.importorskip("pyarrow.feather").write_feather(table, path)
    else:
        text = io.StringIO()
        csv.writer(text, delimiter="\t" if kind == "tsv" else ",").writerows(ROWS)
        write(folder / f"data.{kind}", text.getvalue())
    return path


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "feather", "xlsx"])
def test_every_format_gives_the_same_features(tmp_path, kind):
    table = read_table(written(tmp_path, kind), labels=("label",))
    data = prepare(table, Reading(target="label", one_hot=True, impute="median"))
    assert data.encoding.names == ["age", "colour=red", "note"]
    expected = [[1.5, 1, 5], [1.75, 1, 4], [2, 0, 5], [-3.25, 1, 5], [7, 1, 6]]
    np.testing.assert_array_equal(data.X, expected)
    assert data.y.tolist() == ["yes", "no", "yes", "no", "no"]


def test_labels_of_text_stay_text_in_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")

    table = pa.table({"a": [1, 2], "code": ["1", "2"], "label": ["true", "false"]})
    pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "data.parquet")
    read = read_table(str(tmp_path / "data.parquet"), labels=("label", "1"))
    assert {j: texts.tolist() for j, texts in read.texts.items()} == {1: ["1", "2"], 2: ["true", "false"]}


# --- text


@pytest.mark.parametrize("delimiter", [";", "\t", " "])
def test_decimal_commas(tmp_path, delimiter):
    path = write(tmp_path / "data.csv", PLAIN.replace(",", delimiter).replace(".", ","))
    assert any("decimal" in note for note in check_plain(path))
    assert not any("decimal" in note for note in check_plain(path, decimal=","))
    assert read_table(path, decimal=".").texts[0].tolist() == ["1,5", "-2,5"]


@pytest.mark.parametrize("text", ["a;b\n1,500;2\n12,345;3\n", "a;b\n1,5;2.5\n2,5;3\n", "a;b\n1,5;x\nb,5;3\n"])
def test_commas_that_may_mean_something_else(tmp_path, text):
    assert 0 in read_table(write(tmp_path / "data.csv", text)).texts


def test_decimal_commas_without_names_and_late_ones(tmp_path):
    assert not read_table(write(tmp_path / "data.csv", "1,5;2\n2,5;3\n")).named
    rows = "".join(f"{i};{i}\n" for i in range(50))
    table = read_table(write(tmp_path / "data.csv", f"a;b\n{rows}1,25;7\n"), decimal=",")
    assert table.matrix[-1].tolist() == [1.25, 7.0]


def test_windows_text(tmp_path):
    path = write(tmp_path / "data.csv", "größe,label\n1,café\n2,€\n", "cp1252")
    table = read_table(path)
    assert table.names == ["größe", "label"]
    assert table.texts[1].tolist() == ["café", "€"]
    assert any("Windows-1252" in note for note in table.notes)
    assert read_table(path, encoding="latin-1").texts[1].tolist() == ["café", "\x80"]
    late = write(tmp_path / "late.csv", b"a,b\n" + b"1,x\n" * 100_000 + b"2,\xe9\n")
    assert read_table(late).texts[1].tolist()[-1] == "é"


def test_named_encodings(tmp_path):
    assert check_plain(write(tmp_path / "data.csv", PLAIN, "utf-16-le"), encoding="utf-16-le") == ()
    assert check_plain(write(tmp_path / "data.csv", PLAIN, "utf-32"), encoding="utf-32") == ()


@pytest.mark.parametrize("name", ["|", "tab", "space", ":", "semicolon"])
def test_named_delimiters(tmp_path, name):
    character = {"tab": "\t", "space": " ", "semicolon": ";"}.get(name, name)
    check_plain(write(tmp_path / "data.csv", PLAIN.replace(",", character)), delimiter=name)


@pytest.mark.parametrize(
    "text",
    [
        "a b\n1.5 2\n-2.5 3\n",
        "  a   b\n 1.5   2\n-2.5   3  \n",
        '"a" "b"\n"1" 1.5 2\n"2" -2.5 3\n',
        '"a" "b"\n"row one" 1.5 2\n"row two" -2.5 3\n',
        "# made by R\na b\n1.5 2\n-2.5 3\n",
    ],
    ids=["plain", "aligned", "write.table", "row names", "comment"],
)
def test_blanks_between_columns(tmp_path, text):
    assert any("blanks" in note for note in check_plain(write(tmp_path / "data.txt", text)))


def test_rows_of_other_lengths_between_blanks(tmp_path):
    with pytest.raises(ValueError, match="3 fields in line 23, but 2"):
        read_table(write(tmp_path / "data.txt", "a b\n" + "1 2\n" * 21 + "1 2 3\n"))


@pytest.mark.parametrize(
    "text",
    [
        "# made by x, version 2\n" + PLAIN,
        "#\n# one, two, three\n\n" + PLAIN,
        PLAIN.replace("-2.5", "# half\n-2.5"),
        PLAIN + "# the end, really, truly\n",
        "# notes\n" + PLAIN.replace("a,b", "# a,b"),
        "# line\n" * 50 + PLAIN + "# end\n",
        '# "quotes\n' + PLAIN,
    ],
)
def test_comments(tmp_path, text):
    check_plain(write(tmp_path / "data.csv", text))


def test_rows_that_begin_like_comments(tmp_path):
    table = read_table(write(tmp_path / "data.csv", "id,n\n#1,2\n#N/A,3\n"))
    assert table.texts[0].tolist() == ["#1", None]
    assert read_table(write(tmp_path / "data.csv", "#1,2\n#3,4\n")).texts[0].tolist() == ["#1", "#3"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("#,a,b\n1,2,3\n2,4,5\n", ["a", "b"]),
        ("#id,colour,shade\nr1,red,dark\nr2,blue,light\n", ["id", "colour", "shade"]),
        ("#by me, for you\na,b\n1,2\n", ["a", "b"]),
        ("# by me, for you\ncolour,shade\nred,dark\n", ["colour", "shade"]),
    ],
)
def test_headers_that_begin_like_comments(tmp_path, text, names):
    assert read_table(write(tmp_path / "data.csv", text)).names == names


def test_names_can_be_told_from_comments(tmp_path):
    path = write(tmp_path / "data.csv", "#a,b\n1,2\n3,4\n")
    assert read_table(path, header=True).names == ["a", "b"]
    assert read_table(path, header=False).n_rows == 2
    late = read_table(write(tmp_path / "data.csv", PLAIN + "# end\n"))
    assert any("comments" in note for note in late.notes)


# --- archives


def zipped(path, **members: str) -> str:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "/"), text)
    return str(path)


def test_zipped(tmp_path):
    check_plain(zipped(tmp_path / "data.zip", data=PLAIN))
    check_plain(zipped(tmp_path / "data.csv.zip", folder__data=PLAIN))
    assert column_names(zipped(tmp_path / "data.zip", data=PLAIN)) == ["a", "b"]
    with pytest.raises(ValueError, match="archive of 2 files, 'one', 'two': extract"):
        read_table(zipped(tmp_path / "data.zip", one=PLAIN, two=PLAIN))
    content = (tmp_path / "data.csv.zip").read_bytes()
    with pytest.raises(ValueError, match=r"truncated|damaged"):
        read_table(write(tmp_path / "half.zip", content[: len(content) // 2]))
    locked = bytearray(content)
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[content.index(signature) + flags] |= 1
    with pytest.raises(ValueError, match="is encrypted"):
        read_table(write(tmp_path / "locked.zip", bytes(locked)))


# --- workbooks


def workbook(path, *sheets: list[list[object]], names: tuple[str, ...] = ("first", "second")) -> str:
    book = pytest.importorskip("openpyxl").Workbook()
    book.remove(book.active)
    for name, rows in zip(names, sheets, strict=False):
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return str(path)


A_AND_B = [["a", "b"], [1.5, 2], [-2.5, 3]]


def test_sheets(tmp_path):
    path = workbook(tmp_path / "data.xlsx", [["x"], [1]], A_AND_B)
    assert read_table(path).names == ["x"]
    assert any("'first' is read; there are also 'second'" in note for note in read_table(path).notes)
    for sheet in ("second", "1", "-1"):
        assert check_plain(path, sheet=sheet) == ()
    with pytest.raises(ValueError, match=r"--sheet is 'secnd', but .* no such sheet: did you mean 'second'"):
        read_table(path, sheet="secnd")
    with pytest.raises(ValueError, match="no such sheet: there are 'first', 'second'"):
        read_table(path, sheet="x")


def test_cells(tmp_path):
    import datetime

    day = datetime.datetime(2020, 1, 2)
    rows = [[], ["", "a", "when", "ok"], ["p", 1, day, True], [], ["q", "#N/A", None, False], [None, None, None]]
    table = read_table(workbook(tmp_path / "data.xlsx", rows))
    assert table.names == ["a", "when", "ok"]
    np.testing.assert_array_equal(table.matrix[:, [0, 2]], [[1, 1], [np.nan, 0]])
    assert table.texts[1].tolist() == ["2020-01-02", None]
    assert table.places([0, 1]) == ["row 3", "row 5"]
    assert not read_table(workbook(tmp_path / "data.xlsx", A_AND_B[1:])).named
    with pytest.raises(ValueError, match="empty sheet"):
        read_table(workbook(tmp_path / "data.xlsx", []))


def test_damaged_workbook(tmp_path):
    content = workbook(tmp_path / "data.xlsx", A_AND_B) and (tmp_path / "data.xlsx").read_bytes()
    for broken in (content[:1000], b"PK" + b"x" * 99):
        with pytest.raises(ValueError, match="damaged"):
            read_table(write(tmp_path / "data.xlsx", broken))
    with zipfile.ZipFile(tmp_path / "data.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<?xml")
        archive.writestr("xl/workbook.xml", "")
    with pytest.raises(ValueError, match="damaged Excel workbook"):
        read_table(str(tmp_path / "data.xlsx"))


def test_without_openpyxl(tmp_path, monkeypatch):
    zipped(tmp_path / "data.xlsx", **{"[Content_Types].xml": "", "xl__workbook.xml": ""})
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r"needs openpyxl: pip install 'safescreen\[excel\]'"):
        read_table(str(tmp_path / "data.xlsx"))


@pytest.mark.parametrize("wrong", ["0.7", "1.234,5"])
def test_decimal_points_among_commas_are_what_is_wrong(tmp_path, wrong):
    rows = [f"{i},5;{i % 3};{i % 2}" for i in range(40)]
    rows[33] = f"{wrong};1;1"
    (tmp_path / "data.csv").write_text("\n".join(["a;b;label", *rows]))
    table = read_table(str(tmp_path / "data.csv"), labels=("label",))
    with pytest.raises(ValueError, match=r"1 value that is not a number in column 'a' \('.*' in line 35\)") as caught:
        prepare(table, Reading(target="label"))
    assert ("read decimal points with --decimal ." in str(caught.value)) == (wrong == "0.7")


def test_numbers_of_a_workbook_need_no_decimal_point(tmp_path):
    """Cells that are numbers beside texts with commas, which a model of a text file may have to read."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["a", "b", "label"], [0.5, "0,25", 0.5], [1.5, 2, 1.5], [1e-7, 0.125, 0.5], [3, 1e22, 1.5]):
        book.active.append(row)
    book.save(tmp_path / "data.xlsx")
    table = read_table(str(tmp_path / "data.xlsx"), labels=("label",), decimal=",")
    data = prepare(table, Reading(target="label", decimal=","))
    assert data.X.tolist() == [[0.5, 0.25], [1.5, 2.0], [1e-7, 0.125], [3.0, 1e22]]
    assert data.y.tolist() == [0.5, 1.5, 0.5, 1.5]


@pytest.mark.parametrize("first", ["", "name,0,1,2,3\n", ",0,1,2,3\n", "name,s0,s1,s2,s3\n"])
def test_a_transposed_table_is_pointed_out_with_and_without_a_header(tmp_path, first):
    (tmp_path / "data.csv").write_text(f"{first}age,30,40,50,60\nheight,1.5,1.6,1.7,1.8\nlabel,1,0,1,0\n")
    table = read_table(str(tmp_path / "data.csv"), labels=("label",))
    with pytest.raises(ValueError, match="is the file transposed, with a row 'label'"):
        prepare(table, Reading(target="label"))


def test_commas_between_thousands_are_no_decimal_points(tmp_path):
    rows = "".join(f'"{i + 1},{234 + i}",{i % 2}\n' for i in range(30))
    (tmp_path / "data.csv").write_text(f"a,label\n{rows}")
    table = read_table(str(tmp_path / "data.csv"), labels=("label",))
    with pytest.raises(ValueError, match="30 values that are not numbers in column 'a'") as caught:
        prepare(table, Reading(target="label"))
    assert "--decimal" not in str(caught.value)


def test_half_a_workbook_is_called_one(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    openpyxl.Workbook().save(tmp_path / "whole.xlsx")
    (tmp_path / "data.xlsx").write_bytes((tmp_path / "whole.xlsx").read_bytes()[:2000])
    with pytest.raises(ValueError, match="is a damaged Excel workbook"):
        read_table(str(tmp_path / "data.xlsx"))


def test_a_document_is_called_one(tmp_path):
    (tmp_path / "data.csv").write_bytes(b"%PDF-1.7\n1 0 obj\n")
    with pytest.raises(ValueError, match="is a PDF: save the table as CSV;"):
        read_table(str(tmp_path / "data.csv"))
