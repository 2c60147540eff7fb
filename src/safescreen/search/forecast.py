"""How hard a search will be, in a sentence for whoever watches it.

A core at no tolerance is a list of which every optimal model uses at least one feature. Where it is long, all its
features stand for one another, and a proof has to tell them apart: a branch for each, and where a model has room for
more than two features, most of these branches have such a list of their own. What to expect follows from their number,
as measured on ten data sets. That is asked once, just before anybody is told where a search stands: by then the first
models have been improved, which makes the core a good deal shorter, and most searches are over.
"""

from __future__ import annotations

from contextlib import suppress
from time import perf_counter

from safescreen.expiry import ExpiredError, expiring
from safescreen.problem import Problem
from safescreen.relaxation import Root
from safescreen.screening import CoreFinder
from safescreen.search.progress import FIRST_AFTER
from safescreen.search.watch import Watch

WIDE_GAP = 0.1
"""Relative gap from which on it is worth asking."""

LONG = 50**2
"""Branches of this kind from which on a search takes long."""

HOPELESS = 200**2
"""And from which on minutes do not close its gap."""

SECONDS = 0.3
"""That may be spent on it."""

LEAD = 0.5
"""Seconds before the first line that it is asked for, so that it is said before that line."""

SHARE = 0.05
"""Of the time left that may be spent on it."""

SLOW = 1.0
"""Seconds until there was a first model from which on nothing is computed: a single step could take as long."""


class Forecast:
    """Says once that a search will be long, if so; where nobody listens or the gap is not wide, it costs nothing."""

    def __init__(self, problem: Problem, root: Root, watch: Watch) -> None:
        self.problem, self.root, self.watch = problem, root, watch
        self._began: float | None = None
        self._asked = not watch.display.enabled

    def look(self, objective: float, gap: float) -> None:
        """How the search stands, now and then."""
        if self._asked:
            return
        if self._began is None:
            self._began = self.watch.seconds
        if self.watch.seconds - self.watch.before < FIRST_AFTER - LEAD:
            return
        self._asked = True
        quick = self._began - self.watch.before < SLOW
        if quick and gap >= WIDE_GAP and self.watch.seconds_left > 0.0:
            self._tell(objective)

    def _tell(self, objective: float) -> None:
        end = perf_counter() + min(SECONDS, SHARE * self.watch.seconds_left)
        with suppress(ExpiredError), expiring(lambda: perf_counter() > end or self.watch.expired()):
            self._remark(*CoreFinder(self.problem, self.root, 0).size(objective))

    def _remark(self, size: int, complete: bool) -> None:
        places = self.problem.k - self.problem.include.size
        branches = size ** max(min(places, 3) - 1, 0)
        if branches >= LONG:
            limited = self.watch.settings.time_limit is not None or self.watch.settings.node_limit is not None
            fate = "a gap to remain" if limited and branches >= HOPELESS else "a long search"
            number = f"{'some' if complete else 'over'} {float(f'{size:.2g}'):,.0f}"
            self.watch.display.remark(f"{number} columns must be told apart: expect {fate}")
