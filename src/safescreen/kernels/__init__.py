"""All that is compiled, behind one door: plain arrays in and out.

`relax` solves the relaxation of one node, `explore` works through open nodes; both call the one compiled entry point.
"""

from __future__ import annotations

import numpy as np

from safescreen.design.columns import Columns
from safescreen.kernels.cache import announced, forget_stale_code, run_once
from safescreen.kernels.dual_bound import Bound
from safescreen.kernels.explore import EXPLORE, RELAX, Explorer, Orders, make_explorer, make_shared, run
from safescreen.kernels.goals import BEST_MODEL, Goal
from safescreen.kernels.losses import LOGISTIC
from safescreen.kernels.node import GRAM, NEWTON, Node, Relaxed, Start, Target, make_node, make_refit_node
from safescreen.kernels.open_nodes import add_root, make_open_nodes
from safescreen.kernels.proof_log import make_proof_log
from safescreen.kernels.subproblem import FREE, IN, OUT, Subproblem

__all__ = [
    "BEST_MODEL",
    "FREE",
    "GRAM",
    "IN",
    "LOGISTIC",
    "NEWTON",
    "NO_NODES",
    "OUT",
    "Bound",
    "Explorer",
    "Goal",
    "Node",
    "Orders",
    "Relaxed",
    "Start",
    "Subproblem",
    "Target",
    "explore",
    "relax",
    "warm_up",
]

_NOWHERE = Start(0.0, 0.0, GRAM)
_AT_ONCE = Target(np.inf, 1.0, 0.0)
_NOTHING = Orders(Goal(BEST_MODEL, 0.0), False, 0, 0)
NO_NODES = make_open_nodes(1, 1, 1, 1)
_NO_BOUNDS = (np.empty(0), np.empty(0))
_NO_LOG = make_proof_log(0, 0, 0, 1)


def _tiny() -> Subproblem:
    """Two features and three samples, with the argument types of every search."""
    columns = Columns.all_dense(np.array([[1.0, -1.0, 0.5], [0.5, 1.0, -1.0]]), np.full(2, 1e-15))
    y, w = np.array([1.0, -1.0, 1.0]), np.full(3, 1.0 / 3.0)
    return Subproblem(columns, y, w, gamma=1.0, mu=1e-3, k=1, intercept=False, loss=LOGISTIC)


def _tiny_nodes() -> tuple[Node, Node]:
    node = make_node(_tiny(), np.ones(2), np.full(3, 1.0 / 3.0), 2)
    return node, make_refit_node(node)


_IDLE = make_explorer(_tiny(), _tiny_nodes(), NO_NODES, _NO_BOUNDS, make_shared(1.0), _NO_LOG)
"""An explorer that never explores: relaxations need none, but the one entry point takes one."""


def relax(subproblem: Subproblem, node: Node, start: Start, target: Target) -> Relaxed:
    """Solve the relaxation of the node: see :func:`safescreen.kernels.node.relax`."""
    run(RELAX, _IDLE._replace(subproblem=subproblem, node=node, refit_node=node), start, target, _NOTHING)
    found = node.progress[0]
    bound = Bound(float(found.bound), float(found.kth_gain), float(found.next_gain))
    return Relaxed(
        float(found.primal), bound, float(found.level), float(found.intercept), bool(found.strategy >= NEWTON)
    )


def explore(explorer: Explorer, orders: Orders) -> int:
    """Work through open nodes: see :func:`safescreen.kernels.explore.explore`."""
    return int(run(EXPLORE, explorer, _NOWHERE, _AT_ONCE, orders))


@run_once
def warm_up() -> None:
    """Make the kernels ready, from the cache or by compiling them; says so in one line if it takes long."""
    cached = forget_stale_code(run)
    with announced(cached):
        _tiny_search()


def _tiny_search() -> None:
    """Relax and search the tiny problem."""
    subproblem, nodes = _tiny(), _tiny_nodes()
    relax(subproblem, nodes[0], Start(0.1, 0.0, GRAM), Target(np.inf, 1e-3, 0.0))
    open_nodes = make_open_nodes(8, 2, 2, 8)
    add_root(open_nodes, nodes[0].status, nodes[0].x, (0.0, 0.1, 0.0))
    nothing = (np.full(2, -np.inf), np.full(2, -np.inf))
    explorer = make_explorer(subproblem, nodes, open_nodes, nothing, make_shared(1.0), _NO_LOG)
    explore(explorer, Orders(Goal(BEST_MODEL, 1e-3), True, 4, 1000))
