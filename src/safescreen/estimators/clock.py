"""How a total time is shared out among the parts of a long job."""

from __future__ import annotations

import math
from time import monotonic


class Clock:
    """The time that is left of a limit, or all the time in the world.

    Parameters
    ----------
    limit : float, optional
        Seconds from now.
    """

    def __init__(self, limit: float | None) -> None:
        self._start = monotonic()
        self._limit = math.inf if limit is None else float(limit)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return monotonic() - self._start

    @property
    def remaining(self) -> float | None:
        """Seconds left; None where there is no limit."""
        return self.until(1.0)

    def until(self, share: float) -> float | None:
        """Seconds left until this share of the limit is used up."""
        return None if math.isinf(self._limit) else max(share * self._limit - self.elapsed, 0.0)
