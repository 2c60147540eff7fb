"""The way to a cluster: sends batches to the workers of a `dask.distributed` client and brings their answers back.

Workers come, go and are killed. Whatever goes wrong on the way there or back is one and the same thing here: an answer
that does not come, and the caller sends the batch again. Nothing here waits for long.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from time import monotonic
from typing import Any, NamedTuple, Protocol

from safescreen.expiry import begun
from safescreen.search.cluster_task import Answer, Assignment, Batch, explore_batch, forget_search, make_ready
from safescreen.text import brief

SECONDS_BETWEEN_COUNTS = 0.5
"""How often the threads of a cluster are counted."""

FETCH_SECONDS = 5.0
"""How long an answer that is ready may take to arrive."""

READY_SECONDS = 120.0
"""How long the workers may take to compile, before nodes are sent nevertheless."""

DATA_SECONDS = 60.0
"""How long the data may take to get there, before it is tried again."""


class Outcome(NamedTuple):
    """What became of a batch that was sent: an answer, the failure of the task itself, or neither if it was lost."""

    answer: Answer | None = None
    failure: BaseException | None = None


class _NotSent(NamedTuple):
    """The ticket of a batch that could not even be sent, say because its client was closed a moment ago."""

    failure: Exception


class Post(Protocol):
    """Whoever brings batches to explorers elsewhere."""

    def threads(self) -> int:
        """Batches that can be explored at a time; none while there is nobody."""

    def is_ready(self) -> bool:
        """Whether the workers have what all batches need; if not, they are on the way to get it."""

    def send(self, batch: Batch) -> Any:
        """Send a batch; a ticket to ask for it."""

    def outcome(self, ticket: Any) -> Outcome | None:
        """What became of it, None while it is not known."""

    def give_up(self, tickets: list[Any]) -> None:
        """These answers are not wanted any more."""

    def close(self) -> None:
        """Nothing will be sent any more."""


def check_client(client: Any) -> None:
    """A client of `dask.distributed` that can be called from ordinary code."""
    try:
        from distributed import Client
    except ImportError:
        raise ImportError(
            "client= needs dask.distributed, which is not installed: pip install safescreen[dask]"
        ) from None
    if not isinstance(client, Client):
        kind = type(client).__name__
        raise TypeError(f"client is {brief(client)} of type {kind}, but must be None or a dask.distributed.Client.")
    if client.asynchronous:
        raise TypeError("client is asynchronous, but solve needs one made with asynchronous=False.")


class DaskPost:
    """The workers of a client.

    Parameters
    ----------
    client : distributed.Client
        Connected to a scheduler; it stays the caller's.
    make_assignment : callable
        Makes what all batches need, when somebody is there who needs it. It is sent to every worker, beside other work.
    """

    def __init__(self, client: Any, make_assignment: Callable[[], Assignment]) -> None:
        self._client, self._make_assignment = client, make_assignment
        self._assignment: Assignment | None = None
        self._data: Future[Any] | None = None  # the assignment on its way to the workers, or there
        self._count: Future[int] | None = None
        self._counted, self._threads = -math.inf, 0

    def threads(self) -> int:
        """Threads of all workers, as the scheduler last said; a scheduler that does not answer has none."""
        if self._count is None and monotonic() - self._counted >= SECONDS_BETWEEN_COUNTS:
            self._count = begun(lambda: _count_threads(self._client))
        if self._count is not None and self._count.done():
            self._threads = 0 if self._count.exception() is not None else self._count.result()
            self._count, self._counted = None, monotonic()
        return self._threads

    def is_ready(self) -> bool:
        """Whether the assignment is there; if it is lost or was never sent, it is sent now."""
        if self._data is None and self.threads():
            self._assignment = self._assignment or self._make_assignment()
            self._data = begun(self._prepare)
        if self._data is None or not self._data.done():
            return False
        if self._data.exception() is not None or self._data.result().status != "finished":
            self._data = None
            return False
        return True

    def _prepare(self) -> Any:
        """Compile or load the kernels everywhere, and send the assignment to all workers."""
        from distributed import wait

        client = self._client
        with suppress(Exception):  # then each worker does so with its first task
            tasks = [
                client.submit(make_ready, workers=[worker], allow_other_workers=True, pure=False, priority=10)
                for worker in client.nthreads()
            ]
            wait(tasks, timeout=READY_SECONDS)
        [data] = client.scatter([self._assignment], broadcast=True, hash=False, timeout=DATA_SECONDS)
        return data

    def send(self, batch: Batch) -> Any:
        """Submit a task; Dask itself moves it to another worker when one is lost, a few times."""
        assert self._data is not None, "the assignment is sent first"
        try:
            return self._client.submit(explore_batch, self._data.result(), batch, pure=False, priority=10)
        except Exception as failure:
            return _NotSent(failure)

    def outcome(self, ticket: Any) -> Outcome | None:
        """The answer, if it is there; a task or an answer that got lost on the way is no failure."""
        if isinstance(ticket, _NotSent):
            return Outcome(failure=ticket.failure)
        if ticket.status == "pending":
            return None
        try:
            if ticket.status == "finished":
                return Outcome(answer=ticket.result(timeout=FETCH_SECONDS))
            failure = ticket.exception(timeout=FETCH_SECONDS) if ticket.status == "error" else None
        except _losses():
            return Outcome()
        except (OSError, RuntimeError):  # between two messages
            return Outcome()
        return Outcome() if isinstance(failure, _losses()) else Outcome(failure=failure)

    def give_up(self, tickets: list[Any]) -> None:
        """Cancel tasks; one that runs already ends by itself, unheard."""
        with suppress(Exception):  # whoever is not there any more need not be told
            self._client.cancel(tickets, force=True)

    def close(self) -> None:
        """Let the workers forget the search, those that are there, in their own time."""
        if self._assignment is not None:
            name = self._assignment.name
            begun(lambda: self._client.run(forget_search, name, on_error="ignore"))
        self._data = self._assignment = None


def _count_threads(client: Any) -> int:
    if client.status != "running":
        return 0
    return sum(client.nthreads().values())


def _losses() -> tuple[type[BaseException], ...]:
    """How Dask says that a worker, a message or the scheduler was lost."""
    import asyncio
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    return (KilledWorker, CommClosedError, CancelledError, asyncio.CancelledError, TimeoutError)
