"""Clock, keyboard, status line and callback: what a search looks at between two rounds."""

from __future__ import annotations

import math
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
    before: float = 0.0  # seconds that the search took in earlier runs, which no limit counts
    start: float = field(default_factory=perf_counter)

    @property
    def seconds(self) -> float:
        """Spent on the search."""
        return self.before + perf_counter() - self.start

    def limit(self, nodes: int = 0) -> Status | None:
        """The limit that is reached, if any."""
        settings = self.settings
        if self.interrupts.requested:
            return Status.INTERRUPTED
        if settings.time_limit is not None and self.seconds - self.before >= settings.time_limit:
            return Status.TIME_LIMIT
        if settings.node_limit is not None and nodes >= settings.node_limit:
            return Status.NODE_LIMIT
        return None

    def expired(self) -> bool:
        """Whether there is no time left, nodes apart."""
        return self.limit(-1) is not None

    @property
    def seconds_left(self) -> float:
        """Until time is up, as far as anybody knows now."""
        if self.expired():
            return 0.0
        limit = self.settings.time_limit
        return math.inf if limit is None else limit - (self.seconds - self.before)

    def show(self, moment: Moment, text: str = "") -> bool:
        """Show where the search stands, in these words if there are any, and ask the callback whether to stop."""
        if text:
            self.display.say(text)
        else:
            self.display.show(moment)
        return bool(self.callback(moment)) if self.callback is not None else False
