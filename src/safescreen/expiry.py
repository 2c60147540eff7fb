"""Time that runs out in the middle of long work: whoever passes over much data looks up between two pieces of it.

A limit belongs to the whole of a solve, while the work is done in rooms that know nothing of it. So the solve says once
how to find out, with `expiring`, and every long pass calls `look_up`, which raises `ExpiredError` when time is up.
Where there is something worth finishing, `grace` gives a little more. A long call of a library has no pieces: `aside`
looks up while it runs in a thread of its own, which also lets Ctrl-C raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Thread
from time import perf_counter
from typing import TypeVar

Result = TypeVar("Result")

SECONDS_BETWEEN_LOOKS = 0.02
"""How often clock and keyboard are looked at while other threads work."""

GRACE_SECONDS = 1.2
"""How long work may go on after time is up that makes something of what was reached: a bound, a model."""


class ExpiredError(Exception):
    """Time is up in the middle of work that can only be finished or dropped."""


class _Expiry:
    """A way to find out whether time is up, and since when it has been."""

    def __init__(self, expired: Callable[[], bool]) -> None:
        self._expired = expired
        self._noticed: float | None = None
        self.patience = 0.0

    def is_over(self) -> bool:
        if self._noticed is None and self._expired():
            self._noticed = perf_counter()
        if self._noticed is None:
            return False
        return self.patience == 0.0 or perf_counter() - self._noticed > self.patience


_current: ContextVar[_Expiry | None] = ContextVar("expiry", default=None)


@contextmanager
def expiring(expired: Callable[[], bool]) -> Iterator[None]:
    """Work that is dropped as soon as ``expired()`` says so, which it then says for good."""
    token = _current.set(_Expiry(expired))
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def grace(share: float = 1.0) -> Iterator[None]:
    """Work that may go on until this share of the grace is over: a first stage has less, so that a second has some."""
    expiry = _current.get()
    if expiry is None:
        yield
        return
    before, expiry.patience = expiry.patience, max(share * GRACE_SECONDS, expiry.patience)
    try:
        yield
    finally:
        expiry.patience = before


def is_over() -> bool:
    """Whether time is up; never outside of `expiring`."""
    expiry = _current.get()
    return expiry is not None and expiry.is_over()


def look_up() -> None:
    """Raise `ExpiredError` if time is up: to be called between two pieces of long work."""
    if is_over():
        raise ExpiredError


def begun(function: Callable[[], Result]) -> Future[Result]:
    """A call in a thread of its own, which is quicker at hand than a pool of one."""
    task: Future[Result] = Future()

    def carry_out() -> None:
        try:
            task.set_result(function())
        except BaseException as error:
            task.set_exception(error)

    Thread(target=carry_out, daemon=True).start()
    return task


def aside(function: Callable[[], Result]) -> Result:
    """Call what cannot be left in the middle; if time is up or Ctrl-C raises, it is left to itself."""
    task = begun(function)
    while wait([task], SECONDS_BETWEEN_LOOKS).not_done:
        look_up()
    return task.result()
