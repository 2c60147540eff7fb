"""How much memory work may take beside the data: whoever gathers columns or nodes asks how much of them to hold.

Like time (see :mod:`safescreen.expiry`), the limit belongs to the whole of a solve, while memory is taken in rooms that
know nothing of it. So the solve says once, with `within`, what is allowed, and `allowed` tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from safescreen.tuning import COUNTED_PART, WORKING_BYTES, WORKING_SHARE

GIGABYTE = 1e9

_limit: ContextVar[float | None] = ContextVar("memory limit", default=None)
_part: ContextVar[float] = ContextVar("part of it", default=1.0)


@contextmanager
def within(gigabytes: float | None) -> Iterator[None]:
    """Work that may take so much memory beside the data; None stands for one gigabyte and a quarter of the data."""
    token = _limit.set(None if gigabytes is None else gigabytes * GIGABYTE)
    try:
        yield
    finally:
        _limit.reset(token)


@contextmanager
def sharing(part: float) -> Iterator[None]:
    """Work beside other work that holds the rest of the memory."""
    token = _part.set(part * _part.get())
    try:
        yield
    finally:
        _part.reset(token)


def allowed(data_bytes: int) -> int:
    """Bytes that may be planned with beside data of this size: nearly all that may be taken."""
    limit = _limit.get()
    whole = WORKING_BYTES + WORKING_SHARE * data_bytes if limit is None else limit
    return int(COUNTED_PART * _part.get() * whole)
