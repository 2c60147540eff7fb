"""How many resamples are done, for those who wait."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

_PAUSE = 5.0
"""Seconds between lines where there is no terminal."""


class Counter:
    """A status line in a terminal; elsewhere a line on standard error every few seconds."""

    def __init__(self, total: int, enabled: bool) -> None:
        self._total = total
        self._enabled = enabled
        self._began = self._shown = time.monotonic()
        self._status: Any = None

    def __enter__(self) -> Counter:
        if self._enabled:
            from rich.console import Console
            from rich.status import Status

            console = Console(stderr=True)
            if console.is_terminal:
                self._status = Status("resampling", console=console)
                self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, done: int) -> None:
        """Say how many are done."""
        if not self._enabled:
            return
        now = time.monotonic()
        passed = now - self._began
        left = f", about {passed / done * (self._total - done):.0f} s left" if done else ""
        line = f"{done} of {self._total} resamples in {passed:.0f} s{left}"
        if self._status is not None:
            self._status.update(line)
        elif now - self._shown >= _PAUSE:
            self._shown = now
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()
