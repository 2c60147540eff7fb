"""Ctrl-C as a request: the search ends at the next opportunity and returns the best model so far."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Interrupts:
    """While active, the first Ctrl-C sets ``requested``; a second one raises ``KeyboardInterrupt`` as usual.

    Signals reach the main thread only; in any other thread this does nothing.
    """

    def __init__(self) -> None:
        self.requested = False
        self._previous: Any = None
        self._active = False

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.getsignal(signal.SIGINT)
            if self._previous is not None:
                signal.signal(signal.SIGINT, self._request)
                self._active = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._active:
            signal.signal(signal.SIGINT, self._previous)

    def _request(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
