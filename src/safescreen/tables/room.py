"""How large a table may become in memory: small files can expand to any size, by mistake or malice.

What is asked of a file is the least that its table takes, so that only what could not be read anyway is refused.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from safescreen.files import TooLargeError

LEAST = 1 << 30
"""So many bytes are always taken to be there: what the system says may be out of date."""

UNPACKED_SHARE = 0.5
"""The share of the memory that decompressed content may have; its table takes at least as much again."""

CHUNK = 1 << 20
"""What is read at a time where nothing is kept."""

_USABLE_SHARE = 0.8  # the rest is for whoever works with the table
_WATCHED_SHARE = 0.25
_FOREIGN = 16 << 30  # where the system does not say how much memory there is
_CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "inactive_file"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "total_inactive_file",
    ),
)


def available_memory() -> int:
    """Bytes that a table may take: most of what the system has to give, and containers and limits allow."""
    return max(LEAST, int(_USABLE_SHARE * min([_of_system(), *_of_containers(), *_of_process()])))


def check_room(name: str, what: str, needed: float, available: int | None = None) -> None:
    """Refuse a table that does not fit, in one sentence; `needed` are bytes."""
    available = available_memory() if available is None else available
    if needed > available:
        raise TooLargeError(
            f"{name} {what} at least {_gigabytes(needed)} of memory, but {_gigabytes(available)} can be had: leave "
            "out what is not needed, or use a machine with more memory."
        )


def check_unpacked(name: str, size: int, available: int) -> None:
    """Refuse content that expands too far; `size` is how far it has come."""
    if size > UNPACKED_SHARE * available:
        raise TooLargeError(
            f"{name} comes to more than {_gigabytes(UNPACKED_SHARE * available)}, half of the memory that can be "
            "had: leave out what is not needed, or use a machine with more memory."
        )


class Watch:
    """Has a look at the whole of a file once a part of it takes a good share of the memory.

    `whole` gets the bytes there were at the start, and raises an error if all of the file takes more. So files of
    usual size are read once, and one that is far too large never takes more than that share.
    """

    def __init__(self, whole: Callable[[int], None]) -> None:
        self._available, self._whole, self._due = available_memory(), whole, True

    def __call__(self, weight: int) -> None:
        """Be told how many bytes a table takes so far."""
        if self._due and weight > _WATCHED_SHARE * self._available:
            self._due = False
            self._whole(self._available)


def bounded(stream: Any, check: Callable[[int], None], weigh: Callable[[bytes], int] = len) -> BinaryIO:
    """The stream, which tells `check` the weight of all that has been read."""
    return cast(BinaryIO, io.BufferedReader(_Weighed(stream, check, weigh), CHUNK))


def read_endless(name: str, stream: BinaryIO) -> bytes:
    """All of a pipe or device, some of which have no end."""
    available = available_memory()
    with bounded(stream, lambda size: check_unpacked(name, size, available)) as limited:
        return limited.read()


class WeighedText:
    """Text that tells `check` the weight of all that has been read."""

    def __init__(self, text: Any, check: Callable[[int], None], weigh: Callable[[str], int]) -> None:
        self._text, self._check, self._weigh, self._weight = text, check, weigh, 0

    def read(self, size: int = -1) -> str:
        """A piece of the text."""
        piece: str = self._text.read(size)
        self._weight += self._weigh(piece)
        self._check(self._weight)
        return piece

    def __iter__(self) -> Iterator[str]:
        return iter(self._text)


class _Weighed(io.RawIOBase):
    """A stream that is weighed on the way, what is read again only once."""

    def __init__(self, stream: Any, check: Callable[[int], None], weigh: Callable[[bytes], int]) -> None:
        self._stream, self._check, self._weigh = stream, check, weigh
        self._weight = self._position = self._furthest = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._stream.seekable())

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        while whence == io.SEEK_END and self.read(CHUNK):  # where the end is far, it is not to be found unwatched
            pass
        self._position = int(self._stream.seek(offset, whence))
        return self._position

    def readinto(self, buffer: Any) -> int:
        piece = self._stream.read(len(buffer))
        buffer[: len(piece)] = piece
        known = max(0, self._furthest - self._position)
        self._position += len(piece)
        self._furthest = max(self._furthest, self._position)
        self._weight += self._weigh(piece[known:])
        self._check(self._weight)
        return len(piece)


def _gigabytes(size: float) -> str:
    return f"{size / 2**30:,.1f} GB"


def _of_system() -> int:
    with suppress(OSError, ValueError):
        told = Path("/proc/meminfo").read_text(encoding="ascii").partition("MemAvailable:")[2].split()
        return 1024 * int("".join(told[:1]))
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return _FOREIGN


def _of_containers() -> Iterator[int]:
    """What the limits of a container leave; files it has cached are no burden."""
    for limit, usage, cached in _CGROUPS:
        with suppress(OSError, ValueError):
            most, used = (int(Path(path).read_text(encoding="ascii")) for path in (limit, usage))
            counts = Path(limit).with_name("memory.stat").read_text(encoding="ascii").splitlines()
            spare = sum(int(line.split()[1]) for line in counts if line.startswith(f"{cached} "))
            yield most - used + spare


def _of_process() -> Iterator[int]:
    """What a limit on the address space leaves, as set by ``ulimit -v``."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            yield most - pages * resource.getpagesize()
