"""One dual point and what it bounds: the relaxation of the whole problem."""

from safescreen.relaxation.bounds import (
    Bound,
    Decided,
    Fixings,
    Group,
    ListedBound,
    bound_at,
    bound_of_leaf,
    bounds_of_nodes,
    group_bound_at,
    regrouped,
    sharp_bound_at,
    trivial_bound,
)
from safescreen.relaxation.column_store import ColumnStore
from safescreen.relaxation.group_solver import GroupSolver, Iterate
from safescreen.relaxation.node_solver import NodeSolver, Point, Reached
from safescreen.relaxation.perspective import Root, RootInStages, solve_root
from safescreen.relaxation.relaxing import Relaxation, relax
from safescreen.relaxation.restriction import restricted, restricted_for_search

__all__ = [
    "Bound",
    "ColumnStore",
    "Decided",
    "Fixings",
    "Group",
    "GroupSolver",
    "Iterate",
    "ListedBound",
    "NodeSolver",
    "Point",
    "Reached",
    "Relaxation",
    "Root",
    "RootInStages",
    "bound_at",
    "bound_of_leaf",
    "bounds_of_nodes",
    "group_bound_at",
    "regrouped",
    "relax",
    "restricted",
    "restricted_for_search",
    "sharp_bound_at",
    "solve_root",
    "trivial_bound",
]
