"""Work on the parts of a large matrix by several threads, with a result that does not depend on how many there are.

NumPy gives up Python's lock while it casts, multiplies and adds, so plain threads do. They live for one pass: nothing
is left behind that a forked process would miss. The caller's thread works along and alone looks up for time and
keyboard (see :mod:`safescreen.expiry`); whatever is raised calls all others back, and is raised there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

from safescreen.expiry import look_up

Part = TypeVar("Part")
Result = TypeVar("Result")

MOST_THREADS = 32
"""More of them than that would only wait for memory, and for Python's lock."""


class _LinearAlgebra:
    """The threads of linear algebra, which are to have none of their own while ours call it for small pieces."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._guests = 0
        self._threads = 1
        self._limits: Any = None

    @property
    def threads(self) -> int:
        """How many it may use where nobody keeps it from it."""
        with self._lock:
            return self._threads if self._guests else self._allowed()

    @staticmethod
    def _allowed() -> int:
        from threadpoolctl import threadpool_info

        limits = (int(library["num_threads"]) for library in threadpool_info() if library["user_api"] == "blas")
        return min((MOST_THREADS, *limits))

    def __enter__(self) -> None:
        from threadpoolctl import threadpool_limits

        with self._lock:
            if self._guests == 0:
                self._threads = self._allowed()
                self._limits = threadpool_limits(1, user_api="blas")
            self._guests += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._guests -= 1
            if self._guests == 0:
                self._limits.restore_original_limits()


_linear_algebra = _LinearAlgebra()


def threads_at_hand() -> int:
    """As many as this process may use, and as linear algebra may: whoever limits that means us, too."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(min(cores, _linear_algebra.threads), 1)


def share_out(
    parts: Iterable[Part],
    make_worker: Callable[[], Callable[[Part], Result]],
    take: Callable[[Part, Result], Any],
    threads: int,
) -> None:
    """Let each thread have a worker of its own, and take the results in the order of the parts.

    Parameters
    ----------
    parts : iterable
        Pieces of work of some milliseconds each.
    make_worker : callable
        Called once per thread; what it returns is called with one part after the other.
    take : callable
        Called with every part and its result, never by two threads at a time.
    threads : int
        How many threads work, the caller's among them.
    """
    crew = _Crew(parts, make_worker, take)
    helpers = [Thread(target=crew.help_out, daemon=True) for _ in range(threads - 1)]
    with _linear_algebra:
        try:
            for helper in helpers:
                helper.start()
            crew.work(look_up)
        except BaseException:
            crew.is_over = True
            raise
        finally:
            for helper in helpers:
                if helper.ident is not None:
                    helper.join()
    if crew.failure is not None:
        raise crew.failure


class _Crew(Generic[Part, Result]):
    """Parts that wait, and results that wait for those before them."""

    def __init__(
        self,
        parts: Iterable[Part],
        make_worker: Callable[[], Callable[[Part], Result]],
        take: Callable[[Part, Result], Any],
    ) -> None:
        self._parts = enumerate(parts)
        self._make_worker, self._take = make_worker, take
        self._lock = Lock()
        self._waiting: dict[int, tuple[Part, Result]] = {}
        self._taken = 0
        self.is_over = False
        self.failure: BaseException | None = None

    def work(self, between: Callable[[], None]) -> None:
        """Do one part after the other until none is left or all are called back."""
        worker = self._make_worker()
        while not self.is_over:
            between()
            with self._lock:
                number, part = next(self._parts, (-1, None))
            if part is None:
                return
            result = worker(part)
            with self._lock:
                self._hand_in(number, part, result)

    def help_out(self) -> None:
        """The same in a thread of its own: what goes wrong is left for the caller to raise."""
        try:
            self.work(lambda: None)
        except BaseException as error:
            self.failure = self.failure or error
            self.is_over = True

    def _hand_in(self, number: int, part: Part, result: Result) -> None:
        self._waiting[number] = part, result
        while self._taken in self._waiting:
            self._take(*self._waiting.pop(self._taken))
            self._taken += 1
