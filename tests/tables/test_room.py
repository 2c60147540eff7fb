"""Files that expand to far more than they are: refused in one sentence, before they take the memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import tracemalloc
import zipfile

import numpy as np
import pandas  # noqa: F401  since what libraries take when they are loaded is not at issue
import pytest
import sklearn.datasets  # noqa: F401

from safescreen.files import TooLargeError
from safescreen.tables import read_table, room

AVAILABLE = 10_000_000
"""The memory that there is in these tests, in bytes."""

ROWS = b"1,2,0\n3,4,1\n"
TABLE = b"a,b,label\n" + ROWS * (AVAILABLE // len(ROWS))
COMPRESSIONS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.fixture(autouse=True)
def little_memory(monkeypatch):
    for module in [module for name, module in sys.modules.items() if name.startswith("safescreen.tables")]:
        if hasattr(module, "available_memory"):
            monkeypatch.setattr(module, "available_memory", lambda: AVAILABLE)


def refused(path, words: str, most: int = 4 * AVAILABLE, **options) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(TooLargeError, match=words) as caught:
            read_table(str(path), **options)
        _, taken = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < most
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    assert message.endswith("memory.")


def zipped(path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.mark.parametrize("suffix", COMPRESSIONS)
@pytest.mark.parametrize("start", [b"", b"# a comment\n"])
def test_compressed_text(tmp_path, suffix, start):
    path = tmp_path / f"data.csv{suffix}"
    path.write_bytes(COMPRESSIONS[suffix](start + TABLE))
    assert path.stat().st_size < AVAILABLE / 20
    refused(path, "takes at least|comes to more than")


def test_zipped_text_is_not_even_opened(tmp_path):
    zipped(tmp_path / "data.zip", {"data.csv": TABLE})
    refused(tmp_path / "data.zip", "comes to more than", most=AVAILABLE // 10)


def test_plain_text(tmp_path):
    (tmp_path / "data.csv").write_bytes(TABLE)
    refused(tmp_path / "data.csv", "takes at least")


def test_svmlight(tmp_path):
    (tmp_path / "data.svm.gz").write_bytes(gzip.compress(b"1 1:1 2:1\n-1 2:3\n" * 200_000))
    refused(tmp_path / "data.svm.gz", "takes at least|comes to more than")


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_a_line_without_an_end(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr("safescreen.tables.source._LONGEST_LINE", AVAILABLE // 8)
    path = tmp_path / f"data.csv{suffix}"
    path.write_bytes(COMPRESSIONS[suffix](b"0" * AVAILABLE))
    with pytest.raises(ValueError, match="is no table: its first line does not end in"):
        read_table(str(path))


@pytest.mark.parametrize("outer", ["", ".gz"])
def test_arrays_of_zeros(tmp_path, outer):
    content = io.BytesIO()
    np.savez_compressed(content, X=np.zeros((AVAILABLE // 40, 10)), y=np.zeros(AVAILABLE // 40))
    path = tmp_path / f"data.npz{outer}"
    path.write_bytes(gzip.compress(content.getvalue()) if outer else content.getvalue())
    refused(path, "takes at least", most=AVAILABLE // 2)


def workbook(path, rows: str, **parts: bytes) -> None:
    """A workbook whose first sheet has these rows."""
    openpyxl = pytest.importorskip("openpyxl")
    content = io.BytesIO()
    openpyxl.Workbook().save(content)
    with zipfile.ZipFile(content) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    start = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    members["xl/worksheets/sheet1.xml"] = f"{start}{rows}</sheetData></worksheet>".encode()
    zipped(path, {**members, **parts})


def test_cells_far_to_the_right(tmp_path):
    rows = [f'<row r="{i}"><c r="XFD{i}"><v>{i}</v></c></row>' for i in range(1, 200)]
    workbook(tmp_path / "data.xlsx", "".join(rows))
    refused(tmp_path / "data.xlsx", "cells, which take at least")


def test_a_cell_in_the_last_corner(tmp_path):
    first = '<row r="1"><c r="A1"><v>1</v></c></row>'
    workbook(tmp_path / "data.xlsx", f'{first}<row r="9999"><c r="XFD9999"><v>1</v></c></row>')
    refused(tmp_path / "data.xlsx", "has 163,823,616 cells, which take at least")


def test_rows_beyond_those_of_excel(tmp_path, monkeypatch):
    monkeypatch.setattr("safescreen.tables.excel._MOST_ROWS", 1000)
    workbook(tmp_path / "data.xlsx", '<row r="2000000000"><c r="A2000000000"><v>1</v></c></row>')
    with pytest.raises(ValueError, match=r"is a damaged Excel workbook \(it has more than 1,000 rows"):
        read_table(str(tmp_path / "data.xlsx"))


def test_parts_of_a_workbook(tmp_path, monkeypatch):
    row = '<row r="1"><c r="A1"><v>1</v></c></row>'
    workbook(tmp_path / "media.xlsx", row, **{"xl/media/image.png": bytes(AVAILABLE)})
    refused(tmp_path / "media.xlsx", "comes to more than")
    workbook(tmp_path / "texts.xlsx", row, **{"xl/sharedStrings.xml": bytes(AVAILABLE // 4)})
    refused(tmp_path / "texts.xlsx", "has texts that take at least")
    monkeypatch.setattr("safescreen.tables.excel._LARGEST_PART", 1 << 20)
    workbook(tmp_path / "styles.xlsx", row, **{"docProps/app.xml": bytes(2 << 20)})
    with pytest.raises(ValueError, match=r"damaged Excel workbook \('docProps/app.xml' expands to 2,097,152 bytes"):
        read_table(str(tmp_path / "styles.xlsx"))


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_repeated_values(tmp_path, kind):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    zeros = pa.array(np.zeros(AVAILABLE // 16, dtype=np.int8))
    table = pa.table({"a": zeros, "label": zeros})
    path = tmp_path / f"data.{kind}"
    if kind == "parquet":
        parquet.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write_table(table, max_chunksize=100_000)
    assert path.stat().st_size < AVAILABLE / 100
    refused(path, "rows of 2 columns, which take at least")


def test_a_pipe_without_an_end(monkeypatch):
    class Endless(io.RawIOBase):
        read_so_far = 0

        def readable(self):
            return True

        def readinto(self, buffer):
            buffer[:] = b"1" * len(buffer)
            Endless.read_so_far += len(buffer)
            return len(buffer)

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Endless())))
    with pytest.raises(TooLargeError, match="standard input comes to more than"):
        read_table("-")
    assert Endless.read_so_far < AVAILABLE


@pytest.mark.parametrize("suffix", ["", *COMPRESSIONS])
def test_tables_that_fit_are_read_however_well_they_compress(tmp_path, suffix):
    """Some two megabytes of text, which become some thirty kilobytes or less."""
    content = b"a,b,label\n" + ROWS * (AVAILABLE // (12 * len(ROWS)))
    path = tmp_path / f"data.csv{suffix}"
    path.write_bytes(COMPRESSIONS[suffix](content) if suffix else content)
    table = read_table(str(path))
    assert table.n_rows == content.count(b"\n") - 1
    assert table.matrix[-1].tolist() == [3.0, 4.0, 1.0]


@pytest.mark.parametrize("length", [AVAILABLE // 4, AVAILABLE // 3])
def test_what_is_watched_is_read_all_the_same(tmp_path, length):
    """More than the share that has the whole looked at, and less than there is."""
    fields = ",".join("0.12345678901234567" for _ in range(10))
    content = f"{','.join(f'c{j}' for j in range(10))}\n" + f"{fields}\n" * (length // (len(fields) + 1))
    (tmp_path / "data.csv.gz").write_bytes(gzip.compress(content.encode()))
    assert read_table(str(tmp_path / "data.csv.gz")).n_rows == content.count("\n") - 1


def test_limits_of_the_process_count(monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.undo()
    assert room.available_memory() >= room.LEAST
    if not list(room._of_process()):
        monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 60, 1 << 60))
        [left] = room._of_process()
        assert 0 < left < 1 << 60
