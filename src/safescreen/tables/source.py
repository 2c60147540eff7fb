"""Where a table comes from: a file, a compressed file, a pipe or standard input, and which format it has."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, cast

from safescreen.files import check_readable
from safescreen.tables.room import CHUNK, Watch, available_memory, bounded, check_unpacked, read_endless
from safescreen.text import listed

STANDARD_INPUT = "-"
FORMATS = (
    "CSV, TSV, Excel, Parquet, Arrow, Feather, .npz and SVMlight files (also compressed by gzip, bzip2, xz or zip)"
)

_COMPRESSIONS: tuple[tuple[bytes, Any], ...] = ((b"\x1f\x8b", gzip), (b"BZh", bz2), (b"\xfd7zXZ\x00", lzma))
_TABLES = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}
_ZIP = b"PK\x03\x04"
_NO_TABLES: dict[str, tuple[bytes, ...]] = {
    "a single NumPy array: save X and y together with numpy.savez": (b"\x93NUMPY",),
    "a Feather file of the old version 1: write it again": (b"FEA1",),
    "an old Excel workbook: save it as CSV": (b"\xd0\xcf\x11\xe0",),
    "JSON: save it as CSV": (b"{", b"["),
    "a web page or XML: save it as CSV": (b"<!doctype", b"<html", b"<?xml"),
    "a PDF: save the table as CSV": (b"%pdf",),
    "an ARFF file: save it as CSV": (b"@relation", b"%"),
}
_WORKBOOK = "[Content_Types].xml"
_SVMLIGHT_SUFFIXES = (".svm", ".svmlight", ".libsvm")
_SVMLIGHT_LINE = re.compile(r"\s*[-+\w.]+(\s+qid:\d+)?(\s+\d+:[^\s,;]+)+\s*(#.*)?$")
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile)
_HEAD = 65536
_LONGEST_LINE = 1 << 30  # bytes, of which the most columns that are believed in need less


class Source:
    """A stream of bytes that can be read more than once, decompressed on the way."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = "standard input" if path == STANDARD_INPUT else path
        self._content: bytes | None = None
        if path == STANDARD_INPUT:
            self._content = read_endless(self.name, sys.stdin.buffer)
        else:
            check_readable(Path(path))
            if not Path(path).is_file():  # a pipe gives its content only once
                with Path(path).open("rb") as pipe:
                    self._content = read_endless(self.name, pipe)

    @property
    def suffix(self) -> str:
        """The last part of the name that says something about the format, in lower case."""
        path = Path(self.path.lower())
        return (path.with_suffix("") if path.suffix in (".gz", ".bz2", ".xz", ".zip") else path).suffix

    @cached_property
    def head(self) -> bytes:
        """The first bytes, decompressed."""
        with self.open() as stream:
            return stream.read(_HEAD)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """A fresh stream of the decompressed bytes; damage becomes one sentence."""
        with self._raw() as raw:
            start = raw.read(8)
            raw.seek(0)
            opener = next((module for magic, module in _COMPRESSIONS if start.startswith(magic)), None)
            member = _zipped_table(self.name, raw) if start.startswith(_ZIP) else None
            try:
                if member is not None:
                    with zipfile.ZipFile(raw) as archive, archive.open(member) as stream:
                        check_unpacked(self.name, archive.getinfo(member).file_size, available_memory())
                        yield cast(BinaryIO, stream)
                elif opener is None:
                    yield raw
                else:
                    with opener.open(raw, "rb") as stream:
                        yield bounded(stream, Watch(lambda available: self._check_unpacked(opener, available)))
            except _DAMAGED as error:
                raise ValueError(f"{self.name} is truncated or damaged: it cannot be decompressed ({error}).") from None

    def _check_unpacked(self, opener: Any, available: int) -> None:
        """See how far the content expands, without keeping it."""
        size = 0
        with self._raw() as raw, opener.open(raw, "rb") as stream:
            while piece := stream.read(CHUNK):
                size += len(piece)
                check_unpacked(self.name, size, available)

    def _raw(self) -> BinaryIO:
        return Path(self.path).open("rb") if self._content is None else io.BytesIO(self._content)


def _members(stream: BinaryIO) -> list[str]:
    """The files in a zip archive; none if it is damaged, which its reader will say."""
    try:
        with zipfile.ZipFile(stream) as archive:
            return [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
    except zipfile.BadZipFile:
        return []
    finally:
        stream.seek(0)


def _zipped_table(name: str, stream: BinaryIO) -> str | None:
    """The only file in a zip archive; None if the archive itself is a format: a workbook or arrays of NumPy."""
    members = _members(stream)
    if not members or _WORKBOOK in members or all(member.endswith(".npy") for member in members):
        return None
    if len(members) > 1:
        raise ValueError(f"{name} is an archive of {len(members)} files, {listed(members)}: extract the one you mean.")
    try:
        with zipfile.ZipFile(stream) as archive, archive.open(members[0]):
            return members[0]
    except (RuntimeError, NotImplementedError):
        raise ValueError(f"{name} is encrypted, or compressed in an unusual way: extract {members[0]!r}.") from None
    finally:
        stream.seek(0)


def kind_of(source: Source, encoding: str | None = None) -> str:
    """The format, told by content if possible: text, svmlight, npz, excel, parquet or arrow.

    A file whose encoding is named may look binary and is text.
    """
    head = source.head
    if not head.strip():
        raise ValueError(f"{source.name} is empty, but rows with a target and features are needed.")
    kind = next((kind for magic, kind in _TABLES.items() if head.startswith(magic)), None)
    if kind is not None:
        return kind
    if head.startswith(_ZIP):
        with source.open() as stream:
            return "excel" if _WORKBOOK in _members(stream) or source.suffix == ".xlsx" else "npz"
    other = _other_kind(source, encoding)
    if other:
        raise ValueError(f"{source.name} is {other}; {FORMATS} can be read.")
    _check_first_line(source)
    lines = head.decode("utf-8", errors="replace").splitlines()
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    return "svmlight" if source.suffix in _SVMLIGHT_SUFFIXES or _SVMLIGHT_LINE.match(first) else "text"


def _check_first_line(source: Source) -> None:
    """Refuse text whose first line does not end: whoever looks at lines would have it all in memory."""
    read = 0
    with source.open() as stream:
        while piece := stream.read(_HEAD):
            read += len(piece)
            if b"\n" in piece or b"\r" in piece:
                return
            if read > _LONGEST_LINE:
                raise ValueError(f"{source.name} is no table: its first line does not end in {read:,} bytes.")


def _other_kind(source: Source, encoding: str | None) -> str:
    """What a file is that is no table, where its content tells."""
    head = source.head
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:16].lower()
    for what, magic in _NO_TABLES.items():
        if head.startswith(magic) or start.startswith(magic):
            return what
    if source.suffix in (".parquet", ".pq", ".feather", ".arrow", ".npz", ".xlsx"):
        return f"no {source.suffix} file at all, or it is damaged"
    binary = encoding is None and b"\x00" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff"))
    return "a binary file of an unknown kind" if binary else ""
