"""The file of a checkpoint: a zip archive of arrays, a header in JSON, and digests of all of it.

``header`` says which problem it belongs to, and has the SHA-256 of every other array; ``digest`` has that of
``header``. So whatever is damaged or changed is noticed before anything is believed. Nothing in it is ever unpickled
or compressed.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Iterable, Iterator
from typing import IO

import numpy as np

from safescreen import __version__
from safescreen.arrays import AnyArray
from safescreen.files import write_whole
from safescreen.search.checkpoint_checks import checked_chunk, checked_header, checked_saved
from safescreen.search.saved import ARRAYS, Saved
from safescreen.verification.reading import SWEPT_ARRAYS, TREE_ARRAYS, Arrays, Header, chunk_name, read_array, require

FORMAT, VERSION = "safescreen-checkpoint", 2

Chunks = Iterable[dict[str, AnyArray]]


def write_checkpoint(path: str | os.PathLike[str], about: Header, saved: Saved, chunks: Chunks) -> None:
    """Write a search and the tree of its proof; ``about`` is what a run has to have in common with it.

    The file is there as a whole or not at all, also after a power cut.
    """
    with write_whole(path) as temporary, zipfile.ZipFile(temporary, "w") as file:
        digests = {name: _write(file, name, array) for name, array in saved.arrays.items()}
        for number, chunk in enumerate(chunks):
            for kind, array in chunk.items():
                name = chunk_name(number, kind)
                digests[name] = _write(file, name, array)
        header = {
            "format": FORMAT,
            "version": VERSION,
            "software": f"safescreen {__version__}",
            **about,
            "numbers": saved.numbers,
            "digests": digests,
        }
        content = json.dumps(header, allow_nan=False).encode()
        _write(file, "header", np.frombuffer(content, np.uint8))
        _write(file, "digest", np.frombuffer(hashlib.sha256(content).digest(), np.uint8))


class CheckpointFile:
    """A checkpoint that is read: its header and arrays, whole and of the right types, and the chunks of a tree.

    Parameters
    ----------
    file : binary file
        Its content; stays open as long as chunks are asked for.

    Raises
    ------
    RefusedError, or anything that NumPy, JSON and zip archives raise
        If it is no checkpoint, or not as it was written.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._archive = zipfile.ZipFile(file)
        self._check_sizes(file)
        content = self._content("header")
        text = read_array("header", content, "|u1").tobytes()
        digest = read_array("digest", self._content("digest"), "|u1").tobytes()
        require(digest == hashlib.sha256(text).digest(), "its header is not as it was written")
        self.header = checked_header(json.loads(text), FORMAT, VERSION)
        self._check_members()
        arrays = {name: read_array(name, self._content(name), ARRAYS[name]) for name in ARRAYS}
        self.saved = Saved(self.header["numbers"], arrays)
        checked_saved(self.saved, self.header["problem"])

    def chunks(self) -> Iterator[Arrays]:
        """The chunks of the proof's tree, one after the other."""
        logged = 0
        for number in range(self._n_chunks):
            chunk = {
                kind: read_array(kind, self._content(chunk_name(number, kind)), dtype)
                for kind, dtype in (TREE_ARRAYS | SWEPT_ARRAYS).items()
            }
            checked_chunk(chunk, logged, self.header["problem"]["n_features"])
            logged += chunk["nodes"].size
            yield chunk
        require(logged == self.header["numbers"]["logged"], "nodes of its proof are missing")

    @property
    def _n_chunks(self) -> int:
        return int(self.header["numbers"]["chunks"] or 0)

    def _check_sizes(self, file: IO[bytes]) -> None:
        """No member is compressed, and all of them together are no larger than the file: none can flood the memory."""
        members = self._archive.infolist()
        plain = all(one.compress_type == zipfile.ZIP_STORED and one.file_size == one.compress_size for one in members)
        size = file.seek(0, os.SEEK_END)
        require(plain and sum(one.file_size for one in members) <= size, "it is compressed")

    def _check_members(self) -> None:
        """Exactly those arrays are there that belong there, each with the digest that the header has for it."""
        digests, names = self.header["digests"], self._archive.namelist()
        require(self._n_chunks * len(TREE_ARRAYS | SWEPT_ARRAYS) <= len(names), "a part of its proof is missing")
        kinds = TREE_ARRAYS | SWEPT_ARRAYS
        expected = {*ARRAYS, *(chunk_name(number, kind) for number in range(self._n_chunks) for kind in kinds)}
        there = {name.removesuffix(".npy") for name in names}
        require(len(there) == len(names) and there == expected | {"header", "digest"}, "arrays are missing or unknown")
        require(set(digests) == expected, "digests are missing or unknown")
        for name in sorted(expected):
            right = hashlib.sha256(self._content(name)).hexdigest() == digests[name]
            require(right, f"the array {name!r} is not as it was written")

    def _content(self, name: str) -> bytes:
        return self._archive.read(f"{name}.npy")


class _Hashed:
    """A file that hashes what is written to it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def write(self, data: bytes) -> int:
        """Write, and hash."""
        self.digest.update(data)
        return self._file.write(data)


def _write(file: zipfile.ZipFile, name: str, array: AnyArray) -> str:
    """Append an array as ``numpy.savez`` would; its digest."""
    with file.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
        hashed = _Hashed(member)
        np.lib.format.write_array(hashed, np.ascontiguousarray(array), allow_pickle=False)
    return hashed.digest.hexdigest()
