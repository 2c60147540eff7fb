"""Ctrl-C as a request: the search ends at the next opportunity and returns the best model so far.

Whoever presses twice within two seconds wants more than this search to end, be it a loop over searches: then
`KeyboardInterrupt` is raised, even if the second Ctrl-C meets another search than the first. Inside an estimator's
`fit` every Ctrl-C raises: a caller such as `GridSearchCV` would take a model that was cut short for a result and go on.
"""

from __future__ import annotations

import math
import signal
import threading
from time import monotonic
from types import FrameType, TracebackType
from typing import Any

SECOND_WITHIN = 2.0
"""Seconds within which a second Ctrl-C belongs to the first."""


class _Keyboard:
    """When Ctrl-C was last pressed; kept for all searches, since signals reach the main thread only."""

    pressed = -math.inf


class Interrupts:
    """While active, the first Ctrl-C sets ``requested``; a second one raises ``KeyboardInterrupt``.

    It is a second one if this search has been asked to end already, or if the last one, whatever search that met, was
    less than two seconds ago. Active ones may be nested: the outermost has the say, and all of them see the request.
    In other threads than the main one only ``requested`` works, and only while something is active in the main thread.

    Parameters
    ----------
    raising : bool, default False
        Whether the first one raises, too. This holds for everything inside, requests included.
    """

    def __init__(self, *, raising: bool = False) -> None:
        self._raising = raising
        self._since = math.inf
        self._previous: Any = None
        self._active = False

    @property
    def requested(self) -> bool:
        """Whether Ctrl-C was pressed since this became active."""
        return _Keyboard.pressed >= self._since

    def __enter__(self) -> Interrupts:
        self._since = monotonic()
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.getsignal(signal.SIGINT)
            if self._previous is not None and not self._is_covered():
                self._active = True
                signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._active:
            signal.signal(signal.SIGINT, self._previous)
        if self._raising and kind is None and self.requested:
            raise KeyboardInterrupt  # in another thread than the main one: what was made here was cut short

    def _is_covered(self) -> bool:
        """Whether one around this does what this would do."""
        outer = getattr(self._previous, "__self__", None)
        return isinstance(outer, Interrupts) and (outer._raising or not self._raising)

    def _press(self, number: int, frame: FrameType | None) -> None:
        now = monotonic()
        again = self.requested or now - _Keyboard.pressed < SECOND_WITHIN
        _Keyboard.pressed = now
        if self._raising or again:
            raise KeyboardInterrupt


def raising_interrupts() -> Interrupts:
    """While active, every Ctrl-C raises ``KeyboardInterrupt``, also inside `solve` and `l0_path`: for `fit`."""
    return Interrupts(raising=True)
