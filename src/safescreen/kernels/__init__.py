"""All that is compiled: plain arrays in and out, and one function that Python calls.

`relax` solves the relaxation of one node, `explore` works through open nodes; both call the one compiled entry point.
"""

from __future__ import annotations

from operator import itemgetter

import numpy as np

from safescreen.design.columns import Columns
from safescreen.kernels.cache import LISTING_NOTICE, announced, forget_stale_code, run_once
from safescreen.kernels.dual_bound import NodeBound
from safescreen.kernels.enumeration import run_listing
from safescreen.kernels.exploration import EXPLORE, RELAX, Exploration, Orders, make_exploration, make_shared, run
from safescreen.kernels.goals import ALL_MODELS, BEST_MODEL, MINIMAL_MODELS, Goal
from safescreen.kernels.listing import Listing, make_listing
from safescreen.kernels.losses import LOGISTIC
from safescreen.kernels.node import PROGRESS, Node, make_node
from safescreen.kernels.node_relaxation import GRAM, NEWTON, Relaxed, Start, Target, Workspace, make_workspace
from safescreen.kernels.open_nodes import add_root, make_open_nodes
from safescreen.kernels.patience import call, is_long
from safescreen.kernels.proof_log import make_proof_log
from safescreen.kernels.subproblem import FREE, IN, OUT, Subproblem

__all__ = [
    "ALL_MODELS",
    "BEST_MODEL",
    "FREE",
    "GRAM",
    "IN",
    "LOGISTIC",
    "MINIMAL_MODELS",
    "NEWTON",
    "OUT",
    "Exploration",
    "Goal",
    "Node",
    "NodeBound",
    "Orders",
    "Relaxed",
    "Start",
    "Subproblem",
    "Target",
    "Workspace",
    "explore",
    "relax",
    "warm_up",
    "warm_up_listing",
]

_TINY_COLUMNS = Columns.all_dense(np.array([[1.0, -1.0, 0.5], [0.5, 1.0, -1.0]]), np.full(2, 1e-15))
_TINY_WEIGHTS = np.full(3, 1.0 / 3.0)
_TINY = Subproblem(
    _TINY_COLUMNS, np.array([1.0, -1.0, 1.0]), _TINY_WEIGHTS, gamma=1.0, mu=1e-3, k=1, intercept=False, loss=LOGISTIC
)
"""Two features and three samples, with the argument types of every search."""

_NO_BOUNDS = (np.full(2, -np.inf), np.full(2, -np.inf), np.empty(0, np.int64))
_NO_LOG = make_proof_log(0, 0, 2, 0, 1)
_NO_LIST = make_listing(0, 0, np.zeros(2, np.bool_), BEST_MODEL, False)
_IDLE = make_exploration(
    _TINY, np.ones(2), make_open_nodes(8, 2, 2, 8), _NO_BOUNDS, make_shared(1.0), _NO_LOG, _NO_LIST
)
"""An exploration that has nothing to explore: relaxations need none, but the one entry point takes one."""

_RESULTS = ("primal", "bound", "kth_gain", "next_gain", "level", "intercept")
_FIELDS = list(PROGRESS.fields or ())
_results = itemgetter(*map(_FIELDS.index, _RESULTS))  # several times faster than by attribute
_START, _TARGET = Start(0.1, 0.0, GRAM), Target(np.inf, 1e-3, 0.0)
_ORDERS = Orders(Goal(BEST_MODEL, 1e-3), True, 4, 1000)


def relax(subproblem: Subproblem, node: Node, workspace: Workspace, start: Start, target: Target) -> Relaxed:
    """Solve the relaxation of the node as far as time allows: see :func:`safescreen.kernels.node_relaxation.relax`."""
    exploration = _IDLE._replace(subproblem=subproblem, node=node)
    size = min(workspace.quadratic.x.size, int(np.count_nonzero(node.status != OUT)) + 1)
    if is_long(size, node.u.size):
        call(lambda: run(RELAX, exploration, workspace, start, target, _ORDERS), node)
    else:
        node.progress["halted"] = False  # as a longer one may have been
        run(RELAX, exploration, workspace, start, target, _ORDERS)
    primal, value, kth_gain, next_gain, level, intercept = _results(node.progress.item())
    return Relaxed(primal, NodeBound(value, kth_gain, next_gain), level, intercept)


def explore(exploration: Exploration, workspace: Workspace, orders: Orders) -> int:
    """Work through open nodes: see :func:`safescreen.kernels.exploration.run`, or `run_listing` to list models."""
    if orders.goal.kind == BEST_MODEL:
        return int(run(EXPLORE, exploration, workspace, _START, _TARGET, orders))
    return int(run_listing(exploration, workspace, orders))


@run_once
def warm_up() -> None:
    """Make the kernels ready, from the cache or by compiling them; says so in one line if it takes long."""
    cached = forget_stale_code(run)
    with announced(cached):
        _tiny_search(_ORDERS, _NO_LIST)


@run_once
def warm_up_listing() -> None:
    """The same for those that list models."""
    warm_up()
    cached = forget_stale_code(run_listing)
    with announced(cached, LISTING_NOTICE):
        _tiny_search(
            _ORDERS._replace(goal=Goal(ALL_MODELS, 1e-3)), make_listing(8, 16, np.zeros(2, np.bool_), ALL_MODELS, False)
        )


def _tiny_search(orders: Orders, listing: Listing) -> None:
    """Relax and search the tiny problem."""
    node, workspace = make_node(2, 3, np.ones(2)), make_workspace(2, _TINY_WEIGHTS, 2)
    relax(_TINY, node, workspace, _START, _TARGET)
    open_nodes = make_open_nodes(8, 2, 2, 8)
    add_root(open_nodes, node.status, node.x, (0.0, 0.1, 0.0))
    exploration = make_exploration(_TINY, np.ones(2), open_nodes, _NO_BOUNDS, make_shared(1.0), _NO_LOG, listing)
    explore(exploration, workspace, orders)
