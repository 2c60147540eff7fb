"""How long work says where it stands: a status line on a terminal, now and then a line of its own elsewhere."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from safescreen.search.solution import Moment

FIRST_AFTER = 2.0
"""Seconds of silence before the first line: what is done by then needs none."""

THEN_EVERY = 5.0
"""Seconds between two lines."""


class Progress:
    """Shows on standard error where some work stands while active; costs nothing when off.

    On a terminal there is one line, which changes and vanishes at the end. In a notebook, a log file or a pipe there
    is a line every few seconds, also while nothing new is said; work that ends within two seconds has none.

    Parameters
    ----------
    enabled : bool
        Whether to show anything.
    text : str, default "relaxing and screening"
        What to show before anything is said.
    """

    def __init__(self, enabled: bool, text: str = "relaxing and screening") -> None:
        stream = sys.stderr if enabled else None
        self._voice: _Voice | None = None
        if stream is not None:
            self._voice = _StatusLine(text) if _is_terminal(stream) else _Lines(stream, text)

    def __enter__(self) -> Progress:
        if self._voice is not None:
            self._voice.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._voice is not None:
            self._voice.stop()

    def say(self, text: str) -> None:
        """Where the work stands, in one short line; the seconds since the start are put before it."""
        if self._voice is not None:
            self._voice.say(text)

    @property
    def enabled(self) -> bool:
        """Whether anybody is told anything."""
        return self._voice is not None

    def remark(self, text: str) -> None:
        """Something to know about the work, on a line of its own that stays; quick work has ended before it is said."""
        if self._voice is not None:
            self._voice.remark(text)

    def show(self, moment: Moment) -> None:
        """Where a search stands."""
        if self._voice is not None:
            self._voice.say(describe(moment))


class _Voice(Protocol):
    """What `Progress` speaks with."""

    def start(self) -> None: ...

    def say(self, text: str) -> None: ...

    def remark(self, text: str) -> None: ...

    def stop(self) -> None: ...


class _StatusLine:
    """One line of a terminal."""

    def __init__(self, text: str) -> None:
        from rich.console import Console
        from rich.status import Status

        self._start = monotonic()
        self._remarks: list[str] = []
        self._status = Status(text, console=Console(stderr=True, force_terminal=True, force_jupyter=False))

    def start(self) -> None:
        """Show it."""
        self._start = monotonic()
        self._status.start()

    def say(self, text: str) -> None:
        """Change it."""
        from rich.text import Text

        seconds = monotonic() - self._start
        while self._remarks and seconds >= FIRST_AFTER:
            self._status.console.print(Text(self._remarks.pop(0)))
        line = f"{seconds:.0f} s: {text}"
        self._status.update(Text(line, no_wrap=True, overflow="ellipsis"))

    def remark(self, text: str) -> None:
        """Have it printed above the line, once the work takes long enough."""
        self._remarks.append(text)

    def stop(self) -> None:
        """Remove it."""
        self._status.stop()


class _Lines:
    """A line now and then, from a thread of its own, since the work may be silent for long.

    Nothing is worth losing the work for, so that a stream that nobody reads any more is left alone.
    """

    def __init__(self, stream: Any, text: str) -> None:
        self._stream = stream
        self._text = text
        self._remarks: list[str] = []
        self._start = monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._speak, name="safescreen-progress", daemon=True)

    def start(self) -> None:
        """Begin to count the seconds."""
        self._start = monotonic()
        self._thread.start()

    def say(self, text: str) -> None:
        """What the next line says."""
        self._text = text

    def remark(self, text: str) -> None:
        """What is said once, before the next line."""
        self._remarks.append(text)

    def stop(self) -> None:
        """Fall silent."""
        self._ended.set()
        self._thread.join()

    def _speak(self) -> None:
        pause = FIRST_AFTER
        with suppress(OSError, ValueError, AttributeError):  # broken, closed, or no stream at all
            while not self._ended.wait(pause):
                while self._remarks:
                    self._print(self._remarks.pop(0))
                self._print(self._text)
                pause = THEN_EVERY

    def _print(self, text: str) -> None:
        print(f"safescreen, {monotonic() - self._start:.0f} s: {text}", file=self._stream, flush=True)


def _is_terminal(stream: Any) -> bool:
    """Whether a line on it can be changed afterwards."""
    isatty = getattr(stream, "isatty", None)
    with suppress(ValueError):  # closed
        return isatty is not None and isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
    return False


def describe(moment: Moment) -> str:
    """Where the search stands, short enough for a terminal of 80 columns."""
    rate = moment.nodes / max(moment.seconds, 1e-9)
    gap = f"gap {100.0 * moment.gap:.3g} % ({moment.lower_bound:.5g} to {moment.upper_bound:.5g})"
    nodes = f"{_short(moment.nodes)} nodes"
    if 0 < moment.proved_exchanges < moment.features:
        plural = "" if moment.proved_exchanges == 1 else "s"
        return f"{moment.features} features, {moment.proved_exchanges} exchange{plural} proved, {gap}, {nodes}"
    return f"{moment.features} features, {gap}, {nodes}, {_short(rate)}/s, {_short(moment.open_nodes)} open"


def _short(number: float) -> str:
    """At most four digits and a letter."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= size:
            return f"{number / (1e3 if letter == 'k' else size):.3g}{letter}"
    return f"{number:.0f}"
