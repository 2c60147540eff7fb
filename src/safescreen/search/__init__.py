"""Branch and bound: `solve`, `screen` and what they return."""

from safescreen.search.before import screen
from safescreen.search.settings import SCREENINGS, Settings
from safescreen.search.solution import Moment, Solution, TracePoint, relative_gap
from safescreen.search.solving import solve

__all__ = ["SCREENINGS", "Moment", "Settings", "Solution", "TracePoint", "relative_gap", "screen", "solve"]
