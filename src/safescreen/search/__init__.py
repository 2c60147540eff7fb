"""Branch and bound: `solve`, `screen` and what they return."""

from safescreen.kernels import warm_up as compile_now
from safescreen.search.before import screen
from safescreen.search.found import FoundModels
from safescreen.search.listing import BEST_GAP, Listed, Wish, list_below, list_models
from safescreen.search.proof_writer import ProofNotWrittenWarning
from safescreen.search.settings import SCREENINGS, Settings
from safescreen.search.solution import Moment, Solution, TracePoint, relative_gap
from safescreen.search.solving import solve
from safescreen.search.watch import Callback

__all__ = [
    "BEST_GAP",
    "SCREENINGS",
    "Callback",
    "FoundModels",
    "Listed",
    "Moment",
    "ProofNotWrittenWarning",
    "Settings",
    "Solution",
    "TracePoint",
    "Wish",
    "compile_now",
    "list_below",
    "list_models",
    "relative_gap",
    "screen",
    "solve",
]
