"""The search tree, compiled: many nodes per call, best bound first with plunging.

One call of :func:`explore` works through as many open nodes as its allowance of arithmetic permits and then returns to
Python, which looks after limits, progress, interrupts and the exchange of nodes between workers. The allowance counts
operations, not seconds, so a search on one thread is the same every time.
"""

from typing import NamedTuple

import numpy as np

from safescreen.kernels.columns import (
    add_column,
    forget_dense,
    make_decided_dense,
    make_dense,
    only_reserved_slots_left,
)
from safescreen.kernels.compiling import compiled, entry
from safescreen.kernels.dual_bound import flipped
from safescreen.kernels.goals import Goal, Models, cutoff, make_models, take_model
from safescreen.kernels.node import GRAM, NEWTON, Node, Start, Target, predict, relax
from safescreen.kernels.open_nodes import OpenNodes, load, pop, release, save
from safescreen.kernels.proof_log import ProofLog, is_full, log_decision, log_node
from safescreen.kernels.subproblem import FREE, IN, OUT, Subproblem
from safescreen.kernels.vectors import kth_and_next_largest
from safescreen.rounding import UNIT
from safescreen.tuning import (
    NODE_PATIENCE,
    NODE_TOLERANCE,
    PLUNGE,
    REFIT_TOLERANCE,
    ROUNDING_FRACTIONAL,
    ROUNDING_PERIOD,
)

RELAX, EXPLORE = 0, 1  # what the entry point is asked for
EXHAUSTED, PAUSED, NODES_FULL, LOG_FULL = 0, 1, 2, 3  # why an exploration returns
OPENED, CLOSED = 4, 5  # what became of the next node

SHARED = np.dtype(
    [
        ("upper", "f8"),  # objective of the best model
        ("stop", "i8"),  # 1 as soon as any worker runs dry
    ]
)
"""What all workers on one computer read and write, without a lock: an update that is lost costs time, never truth.

An ``upper`` that is too large prunes less, and every worker keeps its own best model for Python to collect.
"""

TALLY = np.dtype(
    [
        ("nodes", "i8"),
        ("refits", "i8"),
        ("exact_nodes", "i8"),  # nodes that needed exact Hessians
        ("closed_bound", "f8"),  # the smallest bound of anything pruned or screened away
    ]
)
"""What a worker counts."""

CURSOR = np.dtype(
    [
        ("cutoff", "f8"),
        ("bound", "f8"),  # of the node at hand
        ("parent", "i8"),  # its number in the log, or its parent's until it has one
        ("decision", "i8"),  # what distinguishes it from its parent
        ("done", "i8"),  # nodes of this call
        ("spent", "i8"),  # arithmetic of this call
        ("diving", "?"),  # the node at hand is a child of the last one
    ],
    align=True,
)
"""Where an exploration stands."""


class RootBounds(NamedTuple):
    """What the root's dual point proves: bounds of the whole problem with a feature in, or out."""

    if_in: np.ndarray  # (features,)
    if_out: np.ndarray  # (features,)
    used: np.ndarray  # (features,): whether one of these two has decided the feature in some node


class Explorer(NamedTuple):
    """All that one worker reads and writes."""

    subproblem: Subproblem
    node: Node
    refit_node: Node
    open_nodes: OpenNodes
    models: Models
    root: RootBounds
    shared: np.ndarray  # [a record of `SHARED`]
    tally: np.ndarray  # [a record of `TALLY`]
    cursor: np.ndarray  # [a record of `CURSOR`]
    log: ProofLog


class Orders(NamedTuple):
    """What an exploration is for, and how far it may go."""

    goal: Goal
    screen_nodes: bool
    node_limit: int
    allowance: int


def make_shared(upper: float) -> np.ndarray:
    """The state that workers share, given the objective of a model."""
    return np.array([(upper, 0)], SHARED).view(np.recarray)


def make_explorer(
    subproblem: Subproblem,
    nodes: tuple[Node, Node],
    open_nodes: OpenNodes,
    bounds: tuple[np.ndarray, np.ndarray],
    shared: np.ndarray,
    log: ProofLog,
) -> Explorer:
    """A worker that has not begun; ``nodes`` are its own and the one for refits, ``bounds`` those of the root."""
    features = bounds[0].size
    return Explorer(
        subproblem=subproblem,
        node=nodes[0],
        refit_node=nodes[1],
        open_nodes=open_nodes,
        models=make_models(features),
        root=RootBounds(*bounds, np.zeros(features, np.bool_)),
        shared=shared,
        tally=np.array([(0, 0, 0, np.inf)], TALLY).view(np.recarray),
        cursor=np.zeros(1, CURSOR).view(np.recarray),
        log=log,
    )


@entry
def run(request, explorer, start, target, orders):
    """The one function Python calls, so that one is compiled, cached and loaded: relax a node, or explore the tree.

    The results of a relaxation lie in the node's progress; an exploration returns why it ended.
    """
    if request == RELAX:
        relax(explorer.subproblem, explorer.node, start, target)
        return PAUSED
    return explore(explorer, orders)


@compiled
def explore(explorer, orders):
    """Work through open nodes until none is left, the allowance is used up, or there is no room for more."""
    cursor = explorer.cursor[0]
    cursor.done = 0
    cursor.spent = 0
    cursor.diving = False
    while True:
        cursor.cutoff = cutoff(orders.goal, explorer.shared[0].upper)
        if not cursor.diving:
            outcome = open_next(explorer, orders)
            if outcome == CLOSED:
                continue
            if outcome != OPENED:
                return outcome
        if must_stop(explorer, orders):
            return put_back(explorer)
        cursor.done += 1
        free = count_free(explorer)
        cursor.diving = free >= 0 and explore_node(explorer, orders, free == 0)


@compiled
def open_next(explorer, orders):
    """Load the next open node, unless what is known by now closes it."""
    nodes, node, cursor = explorer.open_nodes, explorer.node, explorer.cursor[0]
    if nodes.counts[0].waiting == 0:
        return EXHAUSTED
    if is_full(explorer.log, node.status.size):
        return LOG_FULL
    slot = pop(nodes)
    cursor.parent = nodes.parent[slot]
    cursor.decision = nodes.decision[slot]
    if nodes.bound[slot] >= cursor.cutoff:  # the best open node is hopeless, hence all are
        close_unexplored(explorer, nodes.bound[slot])
        release(nodes, slot)
        return CLOSED
    recycle_slots(explorer)
    cursor.bound = load(explorer.subproblem, nodes, node, slot)
    if orders.screen_nodes and not screen_by_root(explorer):
        close_unexplored(explorer, max(cursor.cutoff, cursor.bound))
        return CLOSED
    make_decided_dense(explorer.subproblem.columns, node.status)
    predict(explorer.subproblem.columns, node, node.progress[0].intercept)
    cursor.spent += node.status.size * 4 + node.u.size * nodes.length[slot]
    return OPENED


@compiled
def close_unexplored(explorer, bound):
    """Close the node at hand with a bound that needs no dual point of its own."""
    tally, cursor = explorer.tally[0], explorer.cursor[0]
    tally.closed_bound = min(tally.closed_bound, bound)
    log_node(explorer.log, cursor.parent, cursor.decision, explorer.node, False)


@compiled
def recycle_slots(explorer):
    """Before a node is loaded: take back the dense slots of sparse columns when only reserved ones are left."""
    subproblem = explorer.subproblem
    if not only_reserved_slots_left(subproblem.columns, subproblem.k):
        return
    forget_dense(subproblem.columns)
    forget_gram(explorer.node)
    forget_gram(explorer.refit_node)
    for j in range(explorer.node.hot.size):
        explorer.node.hot[j] = False


@compiled
def forget_gram(node):
    """Empty the node's Gram matrix: the columns behind it are gone."""
    for j in range(node.gram.slot_of.size):
        node.gram.slot_of[j] = -1
    node.gram.size[0] = 0


@compiled
def screen_by_root(explorer):
    """Apply what the root's dual point proves against the current cutoff; False if the node contradicts it."""
    node, root, tally, limit = explorer.node, explorer.root, explorer.tally[0], explorer.cursor[0].cutoff
    for j in range(node.status.size):
        if root.if_in[j] > limit:
            choice, raised = OUT, root.if_in[j]
        elif root.if_out[j] > limit:
            choice, raised = IN, root.if_out[j]
        else:
            continue
        if node.status[j] != choice:
            tally.closed_bound = min(tally.closed_bound, raised)
            root.used[j] = True
            if node.status[j] != FREE:
                return False
            node.status[j] = choice
            if choice == OUT:
                node.x[j] = 0.0
    return True


@compiled
def must_stop(explorer, orders):
    """Whether to return to Python before the node at hand is explored; every call makes some progress."""
    cursor = explorer.cursor[0]
    pause = cursor.done > 0 and (cursor.spent >= orders.allowance or explorer.shared[0].stop != 0)
    no_room = explorer.open_nodes.counts[0].vacant < 3 or is_full(explorer.log, explorer.node.status.size)
    return pause or cursor.done >= orders.node_limit or no_room


@compiled
def put_back(explorer):
    """Store the node at hand again; returns what to do before the search goes on."""
    nodes, cursor = explorer.open_nodes, explorer.cursor[0]
    save(nodes, explorer.node, cursor.bound, cursor.parent, cursor.decision)
    if nodes.counts[0].vacant < 3:
        return NODES_FULL
    return LOG_FULL if is_full(explorer.log, explorer.node.status.size) else PAUSED


@compiled
def count_free(explorer):
    """The free features of the node at hand; a used-up budget rules them all out.

    Where screening proved more features in than fit, nothing here is below the cutoff: the node is closed, and the
    count is -1.
    """
    subproblem, node, cursor = explorer.subproblem, explorer.node, explorer.cursor[0]
    decided, free = 0, 0
    for j in range(node.status.size):
        if node.status[j] == IN:
            decided += 1
        elif node.status[j] == FREE:
            free += 1
    if decided > subproblem.k:
        close_unexplored(explorer, max(cursor.cutoff, cursor.bound))
        return -1
    if decided == subproblem.k:
        for j in range(node.status.size):
            if node.status[j] == FREE:
                decide(subproblem, node, j, OUT)
        return 0
    return free


@compiled
def explore_node(explorer, orders, final):
    """Relax the node at hand, then close or branch it; whether a child is at hand now."""
    node, tally, cursor = explorer.node, explorer.tally[0], explorer.cursor[0]
    relaxed, proved = bound_node(explorer, orders, final)
    if cursor.bound >= cursor.cutoff or final:
        if final:
            objective = relaxed.primal * (1.0 + 8.0 * node.u.size * UNIT)
            take_model(orders.goal, explorer.models, explorer.shared[0], node.status, objective)
        tally.closed_bound = min(tally.closed_bound, cursor.bound)
        return False
    j, fractional = choose(node)
    if fractional <= ROUNDING_FRACTIONAL or tally.refits * ROUNDING_PERIOD < tally.nodes + 64:
        if try_rounding(explorer, orders, relaxed.exact_hessians) and cursor.bound >= cursor.cutoff:
            tally.closed_bound = min(tally.closed_bound, cursor.bound)
            return False
    if proved and orders.screen_nodes:
        screen_node(explorer, relaxed.bound)
    if j >= 0 and node.status[j] != FREE:
        j, fractional = choose(node)
    if j < 0:  # everything was decided by screening: the node is its own only child
        return True
    return branch(explorer, j)


@compiled
def bound_node(explorer, orders, final):
    """Relax and log the node at hand; returns the relaxation, and whether it proves more than the parent did."""
    node, tally, cursor = explorer.node, explorer.tally[0], explorer.cursor[0]
    hard = tally.exact_nodes * 2 > tally.nodes + 8 and tally.nodes % 16 != 0
    start = Start(node.progress[0].level, node.progress[0].intercept, NEWTON if hard else GRAM)
    patience = 0.0 if final else NODE_PATIENCE
    target = Target(cursor.cutoff, NODE_TOLERANCE * orders.goal.rel_gap, patience)
    relaxed = relax(explorer.subproblem, node, start, target)
    cursor.spent += 2 * node.progress[0].work + 64 * node.status.size
    tally.nodes += 1
    tally.exact_nodes += 1 if relaxed.exact_hessians else 0
    proved = relaxed.bound.value >= cursor.bound
    cursor.bound = max(cursor.bound, relaxed.bound.value)
    cursor.parent = log_node(explorer.log, cursor.parent, cursor.decision, node, proved)
    cursor.decision = 0
    return relaxed, proved


@compiled
def choose(node):
    """The most fractional free feature (with how many are), else the strongest free one, else none."""
    level = node.progress[0].level
    best, most = -1, 0.0
    fallback, strongest = -1, -1.0
    fractional = 0
    for j in range(node.status.size):
        if node.status[j] != FREE:
            continue
        t = abs(node.x[j])
        if t > 0.0 and t < level * (1.0 - 1e-9):
            fractional += 1
            z = t / level
            score = min(z, 1.0 - z)
            if score > most:
                best, most = j, score
        if node.best_q[j] + t > strongest:
            fallback, strongest = j, node.best_q[j] + t
    return (best if best >= 0 else fallback), fractional


@compiled
def try_rounding(explorer, orders, exact_hessians):
    """Refit the model that the relaxation suggests, unless it was tried lately; whether the cutoff has fallen."""
    subproblem, refit, cursor = explorer.subproblem, explorer.refit_node, explorer.cursor[0]
    if not round_up(explorer):
        return False
    b = explorer.node.progress[0].intercept
    predict(subproblem.columns, refit, b)
    start = Start(np.sqrt(subproblem.gamma * subproblem.mu), b, NEWTON if exact_hessians else GRAM)
    relaxed = relax(subproblem, refit, start, Target(np.inf, REFIT_TOLERANCE, 0.0))
    cursor.spent += 2 * refit.progress[0].work
    explorer.tally[0].refits += 1
    objective = relaxed.primal * (1.0 + 8.0 * refit.u.size * UNIT)
    if not take_model(orders.goal, explorer.models, explorer.shared[0], refit.status, objective):
        return False
    cursor.cutoff = cutoff(orders.goal, explorer.shared[0].upper)
    return True


@compiled
def round_up(explorer):
    """Mark in the refit node the model that the relaxation suggests; False if it was tried lately."""
    node, refit, k = explorer.node, explorer.refit_node, explorer.subproblem.k
    half = 0.5 * node.progress[0].level
    decided, free = 0, 0
    for j in range(node.status.size):
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
    taken = decided
    for j in range(node.status.size):
        chosen = node.status[j] == IN
        if node.status[j] == FREE and abs(node.x[j]) > half and abs(node.x[j]) >= smallest:
            if taken < k:
                chosen = True
                taken += 1
        refit.status[j] = IN if chosen else OUT
        refit.x[j] = node.x[j] if chosen else 0.0
    return is_new(refit.status, explorer.models.tried)


@compiled
def is_new(status, tried):
    """Whether a support is not among those tried lately, by a hash (FNV-1a, which overflows by design); notes it."""
    code = np.uint64(14695981039346656037)
    for j in range(status.size):
        if status[j] == IN:
            code = (code ^ np.uint64(j + 1)) * np.uint64(1099511628211)
    place = int(code >> np.uint64(32)) % tried.size
    if tried[place] == code:
        return False
    tried[place] = code
    return True


@compiled
def screen_node(explorer, bound):
    """Fix every free feature whose other branch is proved to hold nothing below the cutoff."""
    subproblem, node, tally, cursor = explorer.subproblem, explorer.node, explorer.tally[0], explorer.cursor[0]
    for j in range(node.status.size):
        if node.status[j] != FREE:
            continue
        choice, raised = flipped(bound, node.best_q[j] - subproblem.mu)
        if raised > cursor.cutoff:
            tally.closed_bound = min(tally.closed_bound, raised)
            decide(subproblem, node, j, choice)
            log_decision(explorer.log, choice * (j + 1))


@compiled
def decide(subproblem, node, j, choice):
    """Fix a feature; a feature ruled out leaves the iterate."""
    node.status[j] = choice
    if choice == IN:
        make_dense(subproblem.columns, j, 0)
    if choice == OUT and node.x[j] != 0.0:
        add_column(subproblem.columns, j, -node.x[j], node.u)
        node.x[j] = 0.0


@compiled
def branch(explorer, j):
    """Split on a feature: the likelier side is next if its bound is near the best, the other waits; whether it is."""
    nodes, node, cursor = explorer.open_nodes, explorer.node, explorer.cursor[0]
    kept = node.x[j]
    first = IN if abs(kept) >= 0.5 * node.progress[0].level and kept != 0.0 else OUT
    cursor.decision = first * (j + 1)
    node.status[j] = -first
    if first == IN:
        node.x[j] = 0.0
    save(nodes, node, cursor.bound, cursor.parent, -cursor.decision)
    node.status[j] = FREE
    node.x[j] = kept
    decide(explorer.subproblem, node, j, first)
    best = nodes.bound[nodes.heap[0]]
    near = cursor.bound <= best + PLUNGE * (cursor.cutoff - best)
    if near or nodes.counts[0].waiting > nodes.counts[0].most:
        return True
    save(nodes, node, cursor.bound, cursor.parent, cursor.decision)
    return False
