"""Branch and bound: `solve`, `screen` and what they return."""

from safescreen.kernels import warm_up as compile_now
from safescreen.search.before import checked_upper_bound, model_before_search, screen
from safescreen.search.found import FoundModels
from safescreen.search.keeping import CheckpointNotWrittenWarning, check_checkpoint
from safescreen.search.listing import BEST_GAP, Listed, Wish, list_below, list_models
from safescreen.search.proof_writer import ProofNotWrittenWarning, ProvedCore
from safescreen.search.settings import SCREENINGS, Settings
from safescreen.search.solution import Moment, Solution, TracePoint, relative_gap
from safescreen.search.solving import open_proof, solve
from safescreen.search.watch import Callback

__all__ = [
    "BEST_GAP",
    "SCREENINGS",
    "Callback",
    "CheckpointNotWrittenWarning",
    "FoundModels",
    "Listed",
    "Moment",
    "ProofNotWrittenWarning",
    "ProvedCore",
    "Settings",
    "Solution",
    "TracePoint",
    "Wish",
    "check_checkpoint",
    "checked_upper_bound",
    "compile_now",
    "list_below",
    "list_models",
    "model_before_search",
    "open_proof",
    "relative_gap",
    "screen",
    "solve",
]
