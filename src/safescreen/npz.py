"""An ``.npz`` file written forwards, array by array, as fast as a search of a millisecond deserves.

``numpy.savez`` wants all arrays at once, and ``zipfile`` goes back to complete every member. Members are stored as they
are; files and counts beyond 32 and 16 bits get the 64-bit records that zip archives have for them.
"""

from __future__ import annotations

import os
import struct
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

_FULL_16, _FULL_32 = 0xFFFF, 0xFFFFFFFF
_FIRST_OF_JANUARY_1980 = 33  # the date of all members, so that equal arrays make equal files


class ArrayWriter:
    """A new ``.npz`` file; what is in it can be read once it is closed."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = open(path, "wb")  # noqa: SIM115 - until close()
        self._directory: list[bytes] = []
        self._offset = 0

    def add(self, name: str, array: npt.NDArray[Any]) -> None:
        """Append a one-dimensional array."""
        array = np.ascontiguousarray(array)
        kind = array.dtype.descr if array.dtype.names else array.dtype.str
        text = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': ({array.size},), }}".encode()
        text += b" " * (-(len(text) + 11) % 64) + b"\n"
        head = struct.pack("<8sH", b"\x93NUMPY\1\0", len(text)) + text
        member, size = f"{name}.npy".encode(), len(head) + array.nbytes
        check = zlib.crc32(array.data, zlib.crc32(head))
        facts = struct.pack("<5H3L2H", 45, 0, 0, 0, _FIRST_OF_JANUARY_1980, check, size, size, len(member), 0)
        self._file.write(b"PK\3\4" + facts + member + head)
        self._file.write(array.data)
        far = self._offset >= _FULL_32
        extra = struct.pack("<2HQ", 1, 8, self._offset) if far else b""
        place = struct.pack("<3H2L", 0, 0, 0, 0, _FULL_32 if far else self._offset)
        self._directory.append(
            struct.pack("<4sH", b"PK\1\2", 45) + facts[:-2] + struct.pack("<H", len(extra)) + place + member + extra
        )
        self._offset += 30 + len(member) + size

    def close(self) -> None:
        """Write the directory, which completes the file."""
        if self._file.closed:
            return
        directory, count = b"".join(self._directory), len(self._directory)
        start, size, end = self._offset, len(directory), self._offset + len(directory)
        if end >= _FULL_32 or count >= _FULL_16:
            directory += struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, start)
            directory += struct.pack("<4sLQL", b"PK\6\7", 0, end, 1)
        count, size, start = min(count, _FULL_16), min(size, _FULL_32), min(start, _FULL_32)
        with self._file:
            self._file.write(directory + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, size, start, 0))
