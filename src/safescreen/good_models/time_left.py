"""One time limit for several searches that follow each other."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

from safescreen.search import Settings


class TimeLeft:
    """What is left of a time limit; the clock starts when this is made."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._start = perf_counter()

    def settings(self) -> Settings | None:
        """The settings with the time that is left; None if none is."""
        limit = self._settings.time_limit
        if limit is None:
            return self._settings
        left = limit - (perf_counter() - self._start)
        return replace(self._settings, time_limit=left) if left > 0.0 else None

    def end(self) -> None:
        """Nothing is left: somebody has lost patience."""
        self._settings = replace(self._settings, time_limit=0.0)
