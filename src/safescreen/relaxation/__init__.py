"""One dual point and what it bounds: the relaxation of the whole problem."""

from safescreen.relaxation.bounds import Bound, Fixings, bound_at, sharp_bound_at, trivial_bound
from safescreen.relaxation.perspective import Root, solve_root
from safescreen.relaxation.relaxing import Relaxation, relax
from safescreen.relaxation.restriction import restricted, restricted_for_search

__all__ = [
    "Bound",
    "Fixings",
    "Relaxation",
    "Root",
    "bound_at",
    "relax",
    "restricted",
    "restricted_for_search",
    "sharp_bound_at",
    "solve_root",
    "trivial_bound",
]
