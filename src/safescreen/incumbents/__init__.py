"""Good models fast: rounding, refitting, local search."""

from safescreen.incumbents.local_search import (
    first_incumbent,
    improve,
    perturb_and_improve,
    polish_in_time,
    restart_and_improve,
    rounded,
)
from safescreen.incumbents.refit import Incumbent, Refitter, polish, with_users_features, without_features

__all__ = [
    "Incumbent",
    "Refitter",
    "first_incumbent",
    "improve",
    "perturb_and_improve",
    "polish",
    "polish_in_time",
    "restart_and_improve",
    "rounded",
    "with_users_features",
    "without_features",
]
