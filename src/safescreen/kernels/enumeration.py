"""The search tree where all models below a threshold are listed, compiled: an entry of its own.

The nodes, their relaxations and what waits are those of :mod:`safescreen.kernels.exploration`. Only what becomes of a
node is different. It is a function of its own that Python calls, because most searches look for one model, and whoever
lists none need not wait for this one to be compiled.
"""

from safescreen.arrays import Record
from safescreen.kernels.compiling import entry, inlined
from safescreen.kernels.exploration import (
    LIST_FULL,
    OPENED,
    Exploration,
    Now,
    Orders,
    begin_round,
    branch,
    choose,
    next_node,
    node_start,
    node_target,
    put_back,
    screen_node,
    settle,
    tree_of,
)
from safescreen.kernels.listing import HALTED, NO_ROOM, SETTLED, Listing, list_models
from safescreen.kernels.node import Node
from safescreen.kernels.node_relaxation import Workspace, relax
from safescreen.kernels.proof_log import ProofLog, log_node


@entry
def run_listing(exploration: Exploration, workspace: Workspace, orders: Orders) -> int:
    """Work through open nodes, and list the models of those that are settled; returns why it ended."""
    subproblem, node, listing = exploration.subproblem, exploration.node, exploration.listing
    now = Now(exploration.cursor[0], exploration.tally[0], exploration.shared[0])
    begin_round(now.cursor)
    while True:
        outcome = next_node(tree_of(exploration), workspace.gram, orders)
        if outcome != OPENED:
            return outcome
        relax(subproblem, node, workspace, node_start(node, now.tally), node_target(now, orders))
        if node.progress[0].halted:
            return put_back(exploration.open_nodes, node, exploration.log, now.cursor)
        if settle(node, exploration.models, exploration.log, now, orders):
            continue
        outcome = list_models(subproblem, node, exploration.refit_node, workspace, listing, now.cursor.cutoff)
        log_own_point(node, listing, exploration.log, now.cursor)
        node.progress[0].modelled = False
        if outcome == SETTLED:
            close_listed(node, listing, now)
            continue
        if outcome in (NO_ROOM, HALTED):
            paused = put_back(exploration.open_nodes, node, exploration.log, now.cursor)
            return LIST_FULL if outcome == NO_ROOM else paused
        now.cursor.chosen, _ = choose(node)
        if now.cursor.proves_more and orders.screen_nodes:
            screen_node(subproblem, node, exploration.log, now)
        branch(subproblem, node, exploration.open_nodes, exploration.root, now.cursor)


@inlined
def log_own_point(node: Node, listing: Listing, log: ProofLog, cursor: Record) -> None:
    """A node that got another dual point goes on as its own only child, which has that point."""
    if listing.counts[0].own_point:
        cursor.parent = log_node(log, cursor.parent, 0, node, True)


@inlined
def close_listed(node: Node, listing: Listing, now: Now) -> None:
    """Close the node at hand, whose models are listed, or proved to be above the threshold, or undecided."""
    now.cursor.spent += 2 * node.progress[0].work
    now.tally.closed_bound = min(now.tally.closed_bound, listing.counts[0].undecided)
    now.cursor.at_hand = False
