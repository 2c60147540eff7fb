"""Local searches while a tree is explored: one worker makes way for them, a crew goes on meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import copy_context
from types import TracebackType
from typing import Protocol

from safescreen.expiry import begun, expiring
from safescreen.incumbents import Incumbent

Errand = Callable[[], Incumbent]
Take = Callable[[Incumbent], None]


class Errands(Protocol):
    """How local searches are run."""

    @property
    def busy(self) -> bool:
        """Whether one is under way."""

    @property
    def called_off(self) -> bool:
        """Whether what is under way should come to an end; asked by local searches now and then."""

    def run(self, errand: Errand, take: Take) -> None:
        """Run an errand; ``take`` gets the model, now or when it is collected."""

    def collect(self) -> None:
        """Hand over what has been found."""

    def finish(self) -> None:
        """Call off what is under way, and hand over what it has found."""

    def __enter__(self) -> Errands:
        """Ready to run errands."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """If something was raised, what is under way is called off and left to itself."""


class ErrandsHere:
    """In the thread of the search, at once: the same path every time."""

    busy = called_off = False

    def run(self, errand: Errand, take: Take) -> None:
        """Run an errand."""
        take(errand())

    def collect(self) -> None:
        """Nothing is ever left to collect."""

    def finish(self) -> None:
        """Nothing is ever under way."""

    def __enter__(self) -> ErrandsHere:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Nothing is ever under way."""


class ErrandsBeside:
    """In a thread of their own, one after the other.

    Parameters
    ----------
    expired : callable
        Whether time is up. The thread has its own grace when it is.
    """

    def __init__(self, expired: Callable[[], bool]) -> None:
        self.called_off = False
        self._expired = expired
        self._task: Future[Incumbent] | None = None
        self._take: Take | None = None
        self._next: tuple[Errand, Take] | None = None

    @property
    def busy(self) -> bool:
        """Whether one is under way."""
        return self._task is not None

    def run(self, errand: Errand, take: Take) -> None:
        """Begin an errand; if another one is under way, after that. Only the latest one waits."""
        if self._task is not None:
            self._next = errand, take
            return
        context = copy_context()  # how much memory may be taken
        self._take = take
        self._task = begun(lambda: context.run(self._carry_out, errand))

    def _carry_out(self, errand: Errand) -> Incumbent:
        with expiring(self._expired):
            return errand()

    def collect(self) -> None:
        """Hand over what has been found, and begin what waits."""
        if self._task is None or not self._task.done() or self._take is None:
            return
        task, take, waiting = self._task, self._take, self._next
        self._task = self._take = self._next = None
        if waiting is not None and not self.called_off:
            self.run(*waiting)
        take(task.result())

    def finish(self) -> None:
        """Call off what is under way, and hand over what it has found."""
        self.called_off = True
        try:
            while self._task is not None:
                wait([self._task])
                self.collect()
        finally:
            self.called_off = False

    def __enter__(self) -> ErrandsBeside:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """If something was raised, what is under way is called off and left to itself."""
        self.called_off = kind is not None
