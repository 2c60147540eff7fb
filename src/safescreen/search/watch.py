"""Clock, keyboard, status line and callback: what a search looks at between two rounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

from safescreen.search.interrupts import Interrupts
from safescreen.search.progress import Progress
from safescreen.search.settings import Settings
from safescreen.search.solution import Moment
from safescreen.status import Status

Callback = Callable[[Moment], bool | None]


@dataclass
class Watch:
    """Says when a search is over, whatever it has reached."""

    settings: Settings
    interrupts: Interrupts = field(default_factory=Interrupts)
    display: Progress = field(default_factory=lambda: Progress(False))
    callback: Callback | None = None
    start: float = field(default_factory=perf_counter)

    @property
    def seconds(self) -> float:
        """Since the start."""
        return perf_counter() - self.start

    def limit(self, nodes: int = 0) -> Status | None:
        """The limit that is reached, if any."""
        settings = self.settings
        if self.interrupts.requested:
            return Status.INTERRUPTED
        if settings.time_limit is not None and self.seconds >= settings.time_limit:
            return Status.TIME_LIMIT
        if settings.node_limit is not None and nodes >= settings.node_limit:
            return Status.NODE_LIMIT
        return None

    def expired(self) -> bool:
        """Whether there is no time left, nodes apart."""
        return self.limit(-1) is not None

    def show(self, moment: Moment, text: str = "") -> bool:
        """Show where the search stands, in these words if there are any, and ask the callback whether to stop."""
        if text:
            self.display.say(text)
        else:
            self.display.show(moment)
        return bool(self.callback(moment)) if self.callback is not None else False
