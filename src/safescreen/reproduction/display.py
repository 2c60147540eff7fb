"""How far a run has come: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from safescreen.reproduction.experiments import Task

_PAUSE = 20.0  # seconds between two lines where there is no terminal
_TRUSTED = 0.5  # share of the settings to be measured once before an estimate is more than a guess


def clock(seconds: float) -> str:
    """Seconds as a person would say them: an estimate deserves two digits."""
    if seconds < 100.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 6000.0 else f"{seconds / 3600.0:.1f} h"


class Progress:
    """Done, running, and an estimate of what is left."""

    def __init__(self, console: Any) -> None:
        self._console = console
        self._bar: Any = None
        self._item: Any = None
        self._start = self._last = time.monotonic()

    def __enter__(self) -> Progress:
        if self._console.is_terminal:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            self._bar = Progress(
                TextColumn("measuring"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.description}"),
                console=self._console,
                transient=True,
            )
            self._bar.start()
            self._item = self._bar.add_task("starting")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: int, total: int, running: Sequence[tuple[Task, float]], left: float, trust: float) -> None:
        """Show where the run stands; ``left`` is the estimate in seconds, ``trust`` the share of settings seen."""
        text = f"{'about' if trust > _TRUSTED else 'perhaps'} {clock(left)} left" if done < total else "done"
        if self._bar is not None:
            longest = max(running, key=lambda pair: pair[1], default=None)
            if longest is not None and longest[1] > 2.0:
                text += f" ({longest[0].instance.label}, {longest[0].kind}: {clock(longest[1])})"
            self._bar.update(self._item, completed=done, total=total, description=text)
        elif time.monotonic() - self._last > _PAUSE:
            self._last = time.monotonic()
            self._console.print(
                f"{done} of {total} measured in {clock(self._last - self._start)}, {text}", highlight=False
            )
