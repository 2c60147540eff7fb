"""The search tree, compiled: many nodes per call, best bound first with plunging.

One call of :func:`run` works through as many open nodes as its allowance of arithmetic permits and then returns to
Python, which looks after limits, progress, interrupts and the exchange of nodes between workers. The allowance counts
operations, not seconds, so a search on one thread is the same every time.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from safescreen.arrays import AnyArray, BoolArray, FloatArray, IndexArray, Record, RecordArray
from safescreen.kernels.columns import (
    add_column,
    add_columns,
    forget_dense,
    forget_dense_soon,
    make_decided_dense,
    make_dense,
    only_reserved_slots_left,
)
from safescreen.kernels.compiling import compiled, entry, inlined, record_type
from safescreen.kernels.dual_bound import NodeBound, flipped
from safescreen.kernels.goals import BEST_MODEL, Goal, Models, cutoff, make_models, take_model
from safescreen.kernels.last_place import (
    NO_ROOM,
    NOT_SWEPT,
    SWEPT,
    LastPlace,
    Search,
    begin_sweep,
    end_sweep,
    fit_start,
    fit_target,
    go_on,
    make_last_place,
    must_be_sharper,
    next_survivor,
    rough_target,
    rule_out,
    take_survivor,
)
from safescreen.kernels.listing import Listing
from safescreen.kernels.node import Node, listed, make_node
from safescreen.kernels.node_relaxation import GRAM, NEWTON, Start, Target, Workspace, relax
from safescreen.kernels.open_nodes import OpenNodes, load, model_of, pop, release, save
from safescreen.kernels.outward import layer_of, strongest_of_model
from safescreen.kernels.proof_log import ProofLog, is_full, log_decision, log_node
from safescreen.kernels.quadratic import Gram
from safescreen.kernels.subproblem import FREE, IN, OUT, Subproblem
from safescreen.kernels.vectors import kth_and_next_largest, signed
from safescreen.rounding import UNIT
from safescreen.tuning import (
    BRANCHED_SHARE,
    GRAM_TRIAL_PERIOD,
    LAYERS_AT_ONCE,
    MANY_SWEEPS,
    NODE_PATIENCE,
    NODE_TOLERANCE,
    PAIR_PATIENCE,
    PLUNGE,
    REFIT_TOLERANCE,
    ROUNDING_FRACTIONAL,
    ROUNDING_PERIOD,
    SWEEP_TRIAL_SHARE,
    SWEEP_TRIALS,
)

RELAX, EXPLORE = 0, 1  # what the entry point is asked for
EXHAUSTED, PAUSED, NODES_FULL, LOG_FULL, LIST_FULL = 0, 1, 2, 3, 4  # why an exploration returns
OPENED, CLOSED = 5, 6  # what became of the next node

SHARED = record_type(
    [
        ("upper", "f8"),  # objective of the best model, or the threshold of those to be listed
    ]
)
"""What all workers on one computer read and write, without a lock: an update that is lost costs time, never truth.

An ``upper`` that is too large prunes less, and every worker keeps its own best model for Python to collect.
"""

TALLY = record_type(
    [
        ("nodes", "i8"),
        ("refits", "i8"),
        ("exact_nodes", "i8"),  # nodes that needed exact Hessians
        ("closed_bound", "f8"),  # the smallest bound of anything pruned or screened away
        ("pairs_relaxed", "i8"),  # nodes with two places left that were relaxed
        ("pairs_relaxing", "i8"),  # arithmetic spent on that
        ("last_relaxed", "i8"),  # nodes with one place left that were relaxed
        ("last_relaxing", "i8"),  # arithmetic spent on that
        ("last_survived", "i8"),  # those of them that had to be swept
        ("last_swept", "i8"),  # all nodes that were swept
        ("last_sweeping", "i8"),  # and arithmetic spent on that
    ]
)
"""What a worker counts."""

CURSOR = record_type(
    [
        ("cutoff", "f8"),
        ("bound", "f8"),  # of the node at hand
        ("parent", "i8"),  # its number in the log, or its parent's until it has one
        ("decision", "i8"),  # what distinguishes it from its parent
        ("done", "i8"),  # nodes of this call
        ("spent", "i8"),  # arithmetic of this call
        ("places", "i8"),  # left in the node at hand
        ("chosen", "i8"),  # the feature to branch on, -1 if there is none
        ("branched", "i8"),  # features that this node and those right above it were branched on at once
        ("stop", "i8"),  # written by others: 1 when the worker is called back
        ("at_hand", "?"),  # there is a node: the last one's child, or one just opened
        ("relaxed", "?"),  # the node is
        ("cannot_be_swept", "?"),  # the latest node with one place left, so that it must be relaxed
        ("is_leaf", "?"),  # nothing is free in it
        ("proves_more", "?"),  # its dual point proves more than its parent's bound
    ]
)
"""Where an exploration stands."""


class RootBounds(NamedTuple):
    """What the root's dual point proves: bounds of the whole problem with a feature in, or out."""

    if_in: FloatArray  # (features,)
    if_out: FloatArray  # (features,)
    hopeless: IndexArray  # features with which nothing can be proved, because of rounding
    chosen: IndexArray  # features about which `if_out` proves anything
    used: BoolArray  # (features,): whether one of these two has decided the feature in some node


class Exploration(NamedTuple):
    """All that one worker reads and writes."""

    subproblem: Subproblem
    node: Node
    refit_node: Node
    open_nodes: OpenNodes
    models: Models
    listing: Listing
    last_place: LastPlace
    root: RootBounds
    shared: RecordArray  # [a record of `SHARED`]
    tally: RecordArray  # [a record of `TALLY`]
    cursor: RecordArray  # [a record of `CURSOR`]
    log: ProofLog


class Tree(NamedTuple):
    """As much of an exploration as it takes to open a node: half of the arrays to be handed over."""

    subproblem: Subproblem
    node: Node
    open_nodes: OpenNodes
    root: RootBounds
    shared: RecordArray
    tally: RecordArray
    cursor: RecordArray
    log: ProofLog


@inlined
def tree_of(exploration: Exploration) -> Tree:
    """The tree that is explored."""
    return Tree(
        exploration.subproblem,
        exploration.node,
        exploration.open_nodes,
        exploration.root,
        exploration.shared,
        exploration.tally,
        exploration.cursor,
        exploration.log,
    )


class Now(NamedTuple):
    """The records that change with every node."""

    cursor: Record  # of `CURSOR`
    tally: Record  # of `TALLY`
    shared: Record  # of `SHARED`


class Orders(NamedTuple):
    """What an exploration is for, and how far it may go."""

    goal: Goal
    screen_nodes: bool
    node_limit: int
    allowance: int


def make_shared(upper: float) -> RecordArray:
    """The state that workers share, given the objective of a model."""
    shared = _alone_in_its_cache_lines(SHARED)
    shared["upper"] = upper
    return shared


def _alone_in_its_cache_lines(record: np.dtype[np.void]) -> RecordArray:
    """One record of zeros with no other data around it, so that nobody waits for what is written next to it."""
    around = -(-64 // record.itemsize)
    return np.zeros(2 * around + 1, record)[around : around + 1]


def make_exploration(
    subproblem: Subproblem,
    hot: AnyArray,
    open_nodes: OpenNodes,
    bounds: tuple[FloatArray, FloatArray, IndexArray],
    shared: RecordArray,
    log: ProofLog,
    listing: Listing,
) -> Exploration:
    """A worker that has not begun; ``hot`` are the features to begin with, ``bounds`` see `RootBounds`."""
    features, samples = hot.size, subproblem.y.size
    tally = _alone_in_its_cache_lines(TALLY)
    tally["closed_bound"] = np.inf
    return Exploration(
        subproblem=subproblem,
        node=make_node(features, samples, hot),
        refit_node=make_node(features, samples, hot),
        open_nodes=open_nodes,
        models=make_models(features),
        listing=listing,
        last_place=make_last_place(features, samples),
        root=RootBounds(*bounds, np.flatnonzero(bounds[1] > -np.inf), np.zeros(features, np.bool_)),
        shared=shared,
        tally=tally,
        cursor=_alone_in_its_cache_lines(CURSOR),
        log=log,
    )


@entry
def run(
    request: int, exploration: Exploration, workspace: Workspace, start: Start, target: Target, orders: Orders
) -> int:
    """The one function Python calls, so that one is compiled, cached and loaded: relax a node, or explore the tree.

    The results of a relaxation lie in the node's progress. An exploration works through open nodes until none is left,
    the allowance is used up or there is no room for more, and returns which of these it was. Both are one function,
    and the steps around a relaxation are no part of it, because whatever calls it is compiled together with it.
    """
    subproblem, node, refit_node = exploration.subproblem, exploration.node, exploration.refit_node
    if request == RELAX:
        node.progress[0].modelled = False
        relax(subproblem, node, workspace, start, target)
        return PAUSED
    now = Now(exploration.cursor[0], exploration.tally[0], exploration.shared[0])
    begin_round(now.cursor)
    while True:
        outcome = next_node(tree_of(exploration), workspace.gram, orders)
        if outcome != OPENED:
            return outcome
        if is_relaxed_first(now):
            relax(subproblem, node, workspace, node_start(node, now.tally), node_target(now, orders))
            if node.progress[0].halted:
                return put_back(exploration.open_nodes, node, exploration.log, now.cursor)
            if settle(node, exploration.models, exploration.log, now, orders):
                continue
            if suggests_model(subproblem, node, refit_node, exploration.models, now):
                node.progress[0].modelled = False
                relax(subproblem, refit_node, workspace, refit_start(subproblem, node), refit_target())
                if take_refit(refit_node, exploration.models, now, orders):
                    continue
            if is_worth_screening(now.cursor, orders):
                screen_node(subproblem, node, exploration.log, now)
        outcome = sweep(exploration, workspace, orders)
        if outcome == CLOSED:
            continue
        if outcome != OPENED:
            return outcome
        branch_off(tree_of(exploration), now)
        branch(subproblem, node, exploration.open_nodes, exploration.root, now.cursor)


@inlined
def is_relaxed_first(now: Now) -> bool:
    """Whether to relax the node at hand, as all are but those with one place left that had better be swept at once.

    That is so where relaxing such nodes costs more than the sweeps it saves, as far as a few of them show, and few more
    from time to time.
    """
    cursor, tally = now.cursor, now.tally
    if cursor.places != 1 or cursor.cannot_be_swept or tally.last_relaxed < SWEEP_TRIALS or tally.last_swept == 0:
        cursor.relaxed = True
        return True
    tries = tally.nodes % GRAM_TRIAL_PERIOD == 0 and tally.last_relaxing < SWEEP_TRIAL_SHARE * tally.last_sweeping
    cursor.relaxed = tries or not sweeps_pay(tally)
    relaxed: bool = cursor.relaxed
    return relaxed


@inlined
def sweeps_pay(tally: Record) -> bool:
    """Whether relaxing nodes with one place left has cost more than the sweeps it has saved."""
    if tally.last_swept == 0:
        return False
    saved = tally.last_sweeping / tally.last_swept * (tally.last_relaxed - tally.last_survived)
    pay: bool = tally.last_relaxed >= SWEEP_TRIALS and saved < tally.last_relaxing
    return pay


@inlined
def is_worth_screening(cursor: Record, orders: Orders) -> bool:
    """Whether the node's dual point may decide what its parent's did not."""
    worth: bool = cursor.proves_more and orders.screen_nodes
    return worth


@inlined
def sweep(exploration: Exploration, workspace: Workspace, orders: Orders) -> int:
    """Close a node with one place left without branching, or say why to return; any other one stays open.

    Features with which nothing can be proved are decided first, and all else would be in vain. A node that has not been
    relaxed and cannot be swept is at hand once more.
    """
    node, log, cursor, tally = exploration.node, exploration.log, exploration.cursor[0], exploration.tally[0]
    if cursor.places != 1 or first_hopeless(exploration.root, node, FREE) >= 0:
        return OPENED if cursor.relaxed else come_again(cursor)
    tally.last_survived += 1 if cursor.relaxed else 0
    spent, subproblem, refit_node, last = (
        cursor.spent,
        exploration.subproblem,
        exploration.refit_node,
        exploration.last_place,
    )
    search = Search(
        refit_node, exploration.models, log, exploration.open_nodes, orders.goal, cursor, tally, exploration.shared[0]
    )
    if begin_sweep(subproblem, node, refit_node, workspace, last):
        node.progress[0].modelled = False
        relax(subproblem, refit_node, workspace, fit_start(subproblem, last), rough_target())
        if must_be_sharper(search):
            relax(subproblem, refit_node, workspace, go_on(subproblem, search, last), fit_target(np.inf))
        rule_out(subproblem, node, workspace, last, search)
        while next_survivor(subproblem, last, search):
            relax(subproblem, refit_node, workspace, fit_start(subproblem, last), fit_target(cursor.cutoff))
            take_survivor(last, search)
    outcome = end_sweep(node, last, search)
    tally.last_sweeping += cursor.spent - spent
    if outcome == NOT_SWEPT:
        return OPENED if cursor.relaxed else come_again(cursor)
    if outcome != SWEPT:
        paused = put_back(exploration.open_nodes, node, log, cursor)
        return LOG_FULL if outcome == NO_ROOM else paused
    tally.last_swept += 1
    tally.nodes += 0 if cursor.relaxed else 1
    return CLOSED


@inlined
def come_again(cursor: Record) -> int:
    """Leave the node at hand, to be relaxed."""
    cursor.cannot_be_swept = True
    return CLOSED


@inlined
def begin_round(cursor: Record) -> None:
    """Nothing is done yet, and no node at hand."""
    cursor.done = 0
    cursor.spent = 0
    cursor.at_hand = False


@compiled
def next_node(tree: Tree, gram: Gram, orders: Orders) -> int:
    """Have a node at hand to explore, the last one's child or the best open one; or say why there is none."""
    nodes, node, log, cursor = tree.open_nodes, tree.node, tree.log, tree.cursor[0]
    while True:
        cursor.cutoff = cutoff(orders.goal, tree.shared[0].upper)
        if not cursor.at_hand:
            outcome = open_next(tree, gram, orders)
            if outcome == CLOSED:
                continue
            if outcome != OPENED:
                return outcome
        if is_time_up(cursor, orders) or lacks_room(nodes, log):
            return put_back(nodes, node, log, cursor)
        if not make_decided_dense(
            tree.subproblem.columns, node.status, listed(node)
        ):  # opened again, it will find room
            save(nodes, node, cursor.bound, cursor.parent, cursor.decision)
            cursor.at_hand = False
            continue
        cursor.done += 1
        if first_hopeless(tree.root, node, IN) >= 0:
            close_unexplored(node, log, cursor, tree.tally[0], cursor.bound)
        elif fits_budget(tree.subproblem, node, cursor):
            if not is_branched_at_once(tree, cursor):
                return OPENED
            branch_unrelaxed(tree)
        else:
            close_unexplored(node, log, cursor, tree.tally[0], max(cursor.cutoff, cursor.bound))


@inlined
def is_branched_at_once(tree: Tree, cursor: Record) -> bool:
    """Whether to branch on a feature of the model to go outward from without a relaxation, which would close nothing.

    That is so in the layers next to the model, where few nodes are left once its features are decided.
    """
    node, nodes = tree.node, tree.open_nodes
    if nodes.counts[0].order == 0 or cursor.places < 2 or first_hopeless(tree.root, node, FREE) >= 0:
        return False
    if strongest_of_model(model_of(nodes), node.status, node.best_q, node.x) < 0:
        return False
    return layer_at_hand(node, nodes) <= LAYERS_AT_ONCE


@inlined
def layer_at_hand(node: Node, nodes: OpenNodes) -> int:
    """The layer of the node at hand."""
    inside = 0
    for j in listed(node):
        inside += 1 if node.status[j] == IN else 0
    return layer_of(model_of(nodes), node.status, inside, nodes.counts[0].places)


@inlined
def branch_unrelaxed(tree: Tree) -> None:
    """Branch the node at hand as it is."""
    node, cursor = tree.node, tree.cursor[0]
    tree.tally[0].nodes += 1
    cursor.parent = log_node(tree.log, cursor.parent, cursor.decision, node, False)
    cursor.decision = 0
    branch(tree.subproblem, node, tree.open_nodes, tree.root, cursor)


@inlined
def open_next(tree: Tree, gram: Gram, orders: Orders) -> int:
    """Load the next open node, unless what is known by now closes it."""
    nodes, node, cursor = tree.open_nodes, tree.node, tree.cursor[0]
    if nodes.counts[0].waiting == 0:
        return EXHAUSTED
    if is_full(tree.log):
        return LOG_FULL
    slot = pop(nodes)
    cursor.parent = nodes.parent[slot]
    cursor.decision = nodes.decision[slot]
    if nodes.bound[slot] >= cursor.cutoff:  # the best open node is hopeless, hence all are
        close_unexplored(node, tree.log, cursor, tree.tally[0], nodes.bound[slot])
        release(nodes, slot)
        return CLOSED
    recycled = recycle_slots(tree.subproblem, node, gram)
    swept_at_once = nodes.inside[slot] == tree.subproblem.k - 1 and sweeps_pay(tree.tally[0])
    cursor.bound = load(tree.subproblem, nodes, node, slot, swept_at_once)
    if orders.screen_nodes and not screen_by_root(node, tree.root, tree.tally[0], cursor.cutoff):
        close_unexplored(node, tree.log, cursor, tree.tally[0], max(cursor.cutoff, cursor.bound))
        return CLOSED
    if not make_decided_dense(tree.subproblem.columns, node.status, listed(node)):
        if recycled:  # more features are in than memory has room for
            close_unexplored(node, tree.log, cursor, tree.tally[0], cursor.bound)
        else:
            forget_dense_soon(tree.subproblem.columns)
            save(nodes, node, cursor.bound, cursor.parent, cursor.decision)
        return CLOSED
    add_columns(tree.subproblem.columns, node.x, node.progress[0].intercept, node.u)
    cursor.branched = 0
    cursor.spent += node.status.size + 4 * node.progress[0].listed + node.u.size * nodes.length[slot]
    node.progress[0].modelled = False
    cursor.at_hand = True
    return OPENED


@compiled
def close_unexplored(node: Node, log: ProofLog, cursor: Record, tally: Record, bound: float) -> None:
    """Close the node at hand with a bound that needs no dual point of its own."""
    tally.closed_bound = min(tally.closed_bound, bound)
    log_node(log, cursor.parent, cursor.decision, node, False)
    cursor.at_hand = False


@compiled
def recycle_slots(subproblem: Subproblem, node: Node, gram: Gram) -> bool:
    """Before a node is loaded: take all dense slots back when only reserved ones are left; whether that was so."""
    if not only_reserved_slots_left(subproblem.columns, subproblem.k):
        return False
    forget_dense(subproblem.columns)
    gram.size[0] = 0
    for j in range(node.hot.size):
        node.hot[j] = False
        gram.slot_of[j] = -1
    return True


@compiled
def screen_by_root(node: Node, root: RootBounds, tally: Record, limit: float) -> bool:
    """Apply what the root's dual point proves against the current cutoff; False if the node contradicts it."""
    for j in root.chosen:
        if root.if_out[j] > limit and node.status[j] != IN:
            tally.closed_bound = min(tally.closed_bound, root.if_out[j])
            root.used[j] = True
            if node.status[j] == OUT:
                return False
            node.status[j] = IN
    for j in listed(node):
        if root.if_in[j] > limit and node.status[j] != OUT:
            tally.closed_bound = min(tally.closed_bound, root.if_in[j])
            root.used[j] = True
            if node.status[j] == IN:
                return False
            node.status[j] = OUT
            node.x[j] = 0.0
    return True


@inlined
def is_time_up(cursor: Record, orders: Orders) -> bool:
    """Whether to return to Python before the node at hand is explored; every call makes some progress."""
    pause: bool = cursor.done > 0 and (cursor.spent >= orders.allowance or cursor.stop != 0)
    return pause or cursor.done >= orders.node_limit


@inlined
def lacks_room(nodes: OpenNodes, log: ProofLog) -> bool:
    """Whether the children of a node, or its entry in the log, might not fit."""
    return nodes.counts[0].vacant < 3 or is_full(log)


@compiled
def put_back(nodes: OpenNodes, node: Node, log: ProofLog, cursor: Record) -> int:
    """Store the node at hand again; returns what to do before the search goes on."""
    save(nodes, node, cursor.bound, cursor.parent, cursor.decision)
    if nodes.counts[0].vacant < 3:
        return NODES_FULL
    return LOG_FULL if is_full(log) else PAUSED


@inlined
def first_hopeless(root: RootBounds, node: Node, status: int) -> int:
    """The first feature with which nothing can be proved that has this status in the node, -1 if there is none.

    A node that has one of them in is closed with its bound, which no branching would raise; one that leaves them free
    decides them first, or all else would be tried in vain.
    """
    for i in range(root.hopeless.size):
        feature: int = root.hopeless[i]
        if node.status[feature] == status:
            return feature
    return -1


@compiled
def fits_budget(subproblem: Subproblem, node: Node, cursor: Record) -> bool:
    """Rule free features out where the budget is used up; False where screening proved more features in than fit.

    Then nothing in the node is below the cutoff.
    """
    decided, free = 0, 0
    for j in listed(node):
        if node.status[j] == IN:
            decided += 1
        elif node.status[j] == FREE:
            free += 1
    if decided == subproblem.k:
        for j in listed(node):
            if node.status[j] == FREE:
                decide(subproblem, node, signed(j), OUT)
        free = 0
    cursor.is_leaf = free == 0
    cursor.places = subproblem.k - decided
    return decided <= subproblem.k


@inlined
def node_start(node: Node, tally: Record) -> Start:
    """Begin with the parent's level; with exact Hessians where most nodes need them, but for a try now and then."""
    progress = node.progress[0]
    hard = tally.exact_nodes * 2 > tally.nodes + 8 and tally.nodes % GRAM_TRIAL_PERIOD != 0
    return Start(progress.level, progress.intercept, NEWTON if hard else GRAM)


@inlined
def node_target(now: Now, orders: Orders) -> Target:
    """Until the node is pruned, solved, or certain to be branched; a leaf is always solved.

    With two places left a good bound is worth more where it costs many sweeps: what it does not close is swept.
    """
    cursor = now.cursor
    dear = cursor.places == 2 and sweeps_per_pair(now.tally) > MANY_SWEEPS
    patience = PAIR_PATIENCE if dear else NODE_PATIENCE
    patience = 0.0 if cursor.is_leaf else patience
    return Target(cursor.cutoff, NODE_TOLERANCE * orders.goal.rel_gap, patience)


@compiled
def settle(node: Node, models: Models, log: ProofLog, now: Now, orders: Orders) -> bool:
    """Count and log the node just relaxed, and close it if nothing is left to do; whether it is closed."""
    progress, cursor, tally = node.progress[0], now.cursor, now.tally
    cursor.cannot_be_swept = False
    cursor.spent += 2 * progress.work + 64 * progress.listed
    tally.nodes += 1
    tally.exact_nodes += 1 if progress.strategy >= NEWTON else 0
    if cursor.places == 1:
        tally.last_relaxed += 1
        tally.last_relaxing += 2 * progress.work + 64 * progress.listed
    elif cursor.places == 2:
        tally.pairs_relaxed += 1
        tally.pairs_relaxing += 2 * progress.work + 64 * progress.listed
    cursor.proves_more = progress.bound >= cursor.bound  # else the parent's bound holds, and this point adds nothing
    cursor.bound = max(cursor.bound, progress.bound)
    listing = orders.goal.kind != BEST_MODEL  # then the point says which supports are left
    cursor.parent = log_node(log, cursor.parent, cursor.decision, node, cursor.proves_more or listing)
    cursor.decision = 0
    fitted = cursor.is_leaf and not listing
    if fitted:
        take_model(orders.goal, models, now.shared, node.status, rounded_up(node))
    if fitted or cursor.bound >= cursor.cutoff:
        close(now)
        return True
    return False


@inlined
def rounded_up(node: Node) -> float:
    """The objective of a fitted model, rounding included: ``8 m`` units cover the sums over its samples."""
    objective: float = node.progress[0].primal
    return objective * (1.0 + 8.0 * node.u.size * UNIT)


@inlined
def close(now: Now) -> None:
    """Close the node at hand with its own bound."""
    now.tally.closed_bound = min(now.tally.closed_bound, now.cursor.bound)
    now.cursor.at_hand = False


@compiled
def choose(node: Node) -> tuple[int, int]:
    """The most fractional free feature (with how many are), else the strongest free one, else none."""
    progress = node.progress[0]
    best, most, fractional = -1, 0.0, 0
    for i in range(progress.hot):  # only they have coefficients
        j = signed(node.features[i])
        t = abs(node.x[j])
        if node.status[j] == FREE and t > 0.0 and t < progress.level * (1.0 - 1e-9):
            fractional += 1
            z = t / progress.level
            score = min(z, 1.0 - z)
            if score > most:
                best, most = j, score
    return (best if best >= 0 else strongest(node)), fractional


@inlined
def strongest(node: Node) -> int:
    """The strongest free feature, whatever the numbers; -1 if there is none."""
    chosen, strength = -1, -1.0
    for j in listed(node):
        if node.status[j] == FREE:
            of_this = node.best_q[j] + abs(node.x[j])
            if chosen < 0 or of_this > strength:
                chosen, strength = signed(j), of_this
    return chosen


@compiled
def suggests_model(subproblem: Subproblem, node: Node, refit_node: Node, models: Models, now: Now) -> bool:
    """Choose the feature to branch on; whether the relaxation suggests a model worth refitting, which is set up then.

    It is where the relaxation is nearly decided, or few models have been tried.
    """
    now.cursor.chosen, fractional = choose(node)
    if fractional > ROUNDING_FRACTIONAL and now.tally.refits * ROUNDING_PERIOD >= now.tally.nodes + 64:
        return False
    round_up(node, refit_node, subproblem.k)
    if not is_new(refit_node, models.tried):
        return False
    add_columns(subproblem.columns, refit_node.x, node.progress[0].intercept, refit_node.u)
    return True


@inlined
def refit_start(subproblem: Subproblem, node: Node) -> Start:
    """Begin with the node's intercept and its kind of Hessian."""
    progress = node.progress[0]
    lowest = np.sqrt(subproblem.gamma * subproblem.mu)
    return Start(lowest, progress.intercept, NEWTON if progress.strategy >= NEWTON else GRAM)


@inlined
def refit_target() -> Target:
    """Until the model is fitted."""
    return Target(np.inf, REFIT_TOLERANCE, 0.0)


@compiled
def take_refit(refit_node: Node, models: Models, now: Now, orders: Orders) -> bool:
    """Take the model just refitted, which may close the node at hand; whether it did."""
    cursor = now.cursor
    cursor.spent += 2 * refit_node.progress[0].work
    now.tally.refits += 1
    if not take_model(orders.goal, models, now.shared, refit_node.status, rounded_up(refit_node)):
        return False
    cursor.cutoff = cutoff(orders.goal, now.shared.upper)
    if cursor.bound < cursor.cutoff:
        return False
    close(now)
    return True


@compiled
def round_up(node: Node, refit_node: Node, k: int) -> None:
    """Mark in the refit node the model that the relaxation suggests: what is in, and the largest free coefficients."""
    half = 0.5 * node.progress[0].level
    decided, free = 0, 0
    for j in listed(node):
        if node.status[j] == IN:
            decided += 1
        elif node.status[j] == FREE and abs(node.x[j]) > half:
            node.scratch[free] = abs(node.x[j])
            free += 1
    kappa = k - decided
    smallest = 0.0
    if free > kappa:
        smallest, _ = kth_and_next_largest(node.scratch, free, kappa)
        if kappa <= 0:
            smallest = np.inf
    for j in listed(refit_node):
        refit_node.status[j] = OUT
        refit_node.x[j] = 0.0
    taken, count = decided, 0
    for j in listed(node):
        chosen = node.status[j] == IN
        if node.status[j] == FREE and abs(node.x[j]) > half and abs(node.x[j]) >= smallest:
            if taken < k:
                chosen = True
                taken += 1
        if chosen:
            refit_node.status[j] = IN
            refit_node.x[j] = node.x[j]
            refit_node.listed[count] = j
            count += 1
    refit_node.progress[0].listed = count


@inlined
def is_new(node: Node, tried: npt.NDArray[np.uint64]) -> bool:
    """Whether a support is not among those tried lately, by a hash (FNV-1a, which overflows by design); notes it."""
    code = np.uint64(14695981039346656037)
    for j in listed(node):
        if node.status[j] == IN:
            code = (code ^ np.uint64(j + 1)) * np.uint64(1099511628211)
    place = int(code >> np.uint64(32)) % tried.size
    if tried[place] == code:
        return False
    tried[place] = code
    return True


@compiled
def screen_node(subproblem: Subproblem, node: Node, log: ProofLog, now: Now) -> None:
    """Fix every free feature whose other branch is proved to hold nothing below the cutoff."""
    progress, tally = node.progress[0], now.tally
    bound = NodeBound(progress.bound, progress.kth_gain, progress.next_gain)
    undecided = bound.value + bound.kth_gain - now.cursor.cutoff
    for j in listed(node):
        if node.status[j] != FREE:
            continue
        gain = node.best_q[j] - subproblem.mu
        if gain < bound.kth_gain and gain >= undecided:
            continue  # as most features are
        choice, raised = flipped(bound, gain)
        if raised > now.cursor.cutoff:
            tally.closed_bound = min(tally.closed_bound, raised)
            decide(subproblem, node, signed(j), choice)
            log_decision(log, choice * (signed(j) + 1))


@compiled
def decide(subproblem: Subproblem, node: Node, j: int, choice: int) -> None:
    """Fix a feature; a feature ruled out leaves the iterate."""
    node.status[j] = choice
    if choice == IN:
        make_dense(subproblem.columns, j, 0)
    if choice == OUT and node.x[j] != 0.0:
        add_column(subproblem.columns, j, -node.x[j], node.u)
        node.x[j] = 0.0


@inlined
def sweeps_per_pair(tally: Record) -> float:
    """How many sweeps cost as much as relaxing a node with two places left, 0 as long as nobody knows."""
    if tally.last_swept < SWEEP_TRIALS or tally.pairs_relaxed < SWEEP_TRIALS:
        return 0.0
    sweeps: float = tally.pairs_relaxing / tally.pairs_relaxed * tally.last_swept / max(tally.last_sweeping, 1)
    return sweeps


@inlined
def branch_off(tree: Tree, now: Now) -> None:
    """With two places left, branch on several features at once where a relaxation costs more than a sweep or two.

    The sides with a feature in wait to be swept. The node goes on with all of them out, and is relaxed after one more
    branching: when the sweeps have cost about as much as that will, or added a good part to those of the nodes above.
    """
    node, nodes, root, log = tree.node, tree.open_nodes, tree.root, tree.log
    cursor, tally = now.cursor, now.tally
    worth = sweeps_per_pair(tally)
    if cursor.places != 2 or worth == 0.0 or first_hopeless(root, node, FREE) >= 0:
        return
    for _ in range(int(max(worth, BRANCHED_SHARE * cursor.branched)) - 1):
        j = cursor.chosen
        if j < 0 or node.status[j] != FREE:
            j, _ = choose(node)
        if j < 0 or nodes.counts[0].vacant < 4 or is_full(log):
            return
        kept, node.status[j] = node.x[j], IN
        save(nodes, node, cursor.bound, cursor.parent, j + 1)
        node.status[j], node.x[j] = FREE, kept
        decide(tree.subproblem, node, j, OUT)
        cursor.parent = log_node(log, cursor.parent, -j - 1, node, False)
        cursor.branched += 1


@compiled
def branch(subproblem: Subproblem, node: Node, nodes: OpenNodes, root: RootBounds, cursor: Record) -> None:
    """Split on a feature: the likelier side is next if its bound is near the best, the other one waits.

    Outward, a feature of the model comes first, and its side in: so the node stays in its layer.
    """
    j, order = first_hopeless(root, node, FREE), nodes.counts[0].order
    of_model = -1
    if j < 0 and order != 0:
        of_model = strongest_of_model(model_of(nodes), node.status, node.best_q, node.x)
        j = of_model
    if j < 0:
        j = cursor.chosen
    if j >= 0 and node.status[j] != FREE:
        j, _ = choose(node)
    if j < 0:  # everything was decided by screening: the node is its own only child
        cursor.at_hand = True
        return
    kept = node.x[j]
    likely = abs(kept) >= 0.5 * node.progress[0].level and kept != 0.0
    first = IN if likely or j == of_model else OUT
    cursor.decision = first * (j + 1)
    node.status[j] = -first
    if first == IN:
        node.x[j] = 0.0
    save(nodes, node, cursor.bound, cursor.parent, -cursor.decision)
    node.status[j] = FREE
    node.x[j] = kept
    decide(subproblem, node, j, first)
    best = nodes.bound[nodes.heap[0]]
    near = cursor.bound <= best + PLUNGE * (cursor.cutoff - best)
    if order != 0:
        near = near and layer_at_hand(node, nodes) * nodes.counts[0].step <= nodes.key[nodes.heap[0]]
    cursor.at_hand = near or nodes.counts[0].waiting > nodes.counts[0].most
    if not cursor.at_hand:
        save(nodes, node, cursor.bound, cursor.parent, cursor.decision)
