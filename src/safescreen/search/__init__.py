"""Branch and bound: `solve`, `screen` and what they return."""

from safescreen.kernels import warm_up as compile_now
from safescreen.search.before import screen
from safescreen.search.proof_writer import ProofNotWrittenWarning
from safescreen.search.settings import SCREENINGS, Settings
from safescreen.search.solution import Moment, Solution, TracePoint, relative_gap
from safescreen.search.solving import solve

__all__ = [
    "SCREENINGS",
    "Moment",
    "ProofNotWrittenWarning",
    "Settings",
    "Solution",
    "TracePoint",
    "compile_now",
    "relative_gap",
    "screen",
    "solve",
]
