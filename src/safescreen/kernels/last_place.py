"""A node with one place left is a leaf, compiled: each candidate for the place is ruled out by a dual point of its own.

The features that are in are fitted, and one look at each free column bounds what it could add (`completions`). The few
that are not ruled out are fitted as well. Nothing is branched on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from safescreen.kernels.columns import add_column, correlate, make_decided_dense, make_dense, reserved_slots
from safescreen.kernels.compiling import compiled, inlined
from safescreen.kernels.completions import (
    Completions,
    bound_at_rest,
    bound_moved,
    bound_stepped,
    make_completions,
    prepare_completions,
)
from safescreen.kernels.goals import Goal, Models, cutoff, take_model
from safescreen.kernels.losses import LOGISTIC
from safescreen.kernels.node_relaxation import NEWTON, Start, Target, relax
from safescreen.kernels.open_nodes import save
from safescreen.kernels.proof_log import ProofLog, has_room_for, log_model, mark_swept, take_back
from safescreen.kernels.subproblem import FREE, IN, OUT
from safescreen.rounding import UNIT
from safescreen.tuning import COMPLETED_FEATURES, REFIT_TOLERANCE

if TYPE_CHECKING:
    from safescreen.arrays import FloatArray, IndexArray, Record
    from safescreen.kernels.completions import Base
    from safescreen.kernels.node import Node
    from safescreen.kernels.node_relaxation import Workspace
    from safescreen.kernels.open_nodes import OpenNodes
    from safescreen.kernels.quadratic import Quadratic
    from safescreen.kernels.subproblem import Subproblem

SWEPT, NOT_SWEPT, NO_ROOM, HALTED = 0, 1, 2, 3  # what became of a node

SOLVED_GAP = 10.0 * REFIT_TOLERANCE
"""A fit whose relative gap is no wider is as good as the numbers allow, and its support a leaf like any other."""


class LastPlace(NamedTuple):
    """Room for closing a node with one place left."""

    completions: Completions
    decided: IndexArray  # (features,): what is in
    x: FloatArray  # (features,): and its coefficients, with the intercept behind them
    point: FloatArray  # (features,): those of a model with one more feature
    survivor: IndexArray  # (features,): candidates that are not ruled out
    step: FloatArray  # (features,): with the coefficient each begins with
    bound: FloatArray  # (features,): and its bound


class Search(NamedTuple):
    """What a search knows and keeps."""

    refit_node: Node
    models: Models
    log: ProofLog
    nodes: OpenNodes
    goal: Goal
    cursor: Record  # of `CURSOR` in `safescreen.kernels.exploration`
    tally: Record  # of `TALLY`
    shared: Record  # of `SHARED`


def make_last_place(features: int, samples: int) -> LastPlace:
    """Room for as many candidates as there are features; pages are only touched where there are."""
    return LastPlace(
        make_completions(features, samples),
        np.empty(features, np.int64),
        np.empty(features + 1),
        np.empty(features),
        np.empty(features, np.int64),
        np.empty(features),
        np.empty(features),
    )


@inlined
def close_last_place(subproblem: Subproblem, node: Node, workspace: Workspace, last: LastPlace, search: Search) -> int:
    """Close the node at hand, if that is possible; one that is not swept is as it was.

    Without an addition the model is bounded by its own point, the one that all others begin with. For a proof, the
    model becomes a node that is marked, and a support that has to be fitted is its child; so is one whose fit says
    nothing, which is left open.
    """
    log, cursor, refit_node = search.log, search.cursor, search.refit_node
    size, free = list_places(node, last)
    if size != subproblem.k - 1 or not can_be_swept(subproblem, workspace.quadratic, size, free):
        return NOT_SWEPT
    if not make_decided_dense(subproblem.columns, node.status):
        return NOT_SWEPT
    last.x[size] = node.progress[0].intercept
    load_model(subproblem, refit_node, last, size, -1, 0.0)
    relax(subproblem, refit_node, workspace, fit_start(subproblem, last.x[size]), Target(np.inf, REFIT_TOLERANCE, 0.0))
    take_fitted(search)
    if refit_node.progress[0].halted:
        return HALTED
    base = prepare_completions(subproblem, refit_node, workspace, last.completions, last.decided, size)
    if refit_node.progress[0].halted:
        return HALTED
    for a in range(size):
        last.x[a] = refit_node.x[last.decided[a]]
    last.x[size] = refit_node.progress[0].intercept + base.shift
    if not (base.alone >= cursor.cutoff or is_solved(refit_node.progress[0].primal, base.alone)):
        return NOT_SWEPT
    survivors, closed = rule_out(subproblem, node, workspace, last, search, base, free)
    if survivors < 0:
        return HALTED
    if not has_room_for(log, survivors + 1, size + survivors * (size + 1)):
        return NO_ROOM if can_have_room(log, survivors, size) else NOT_SWEPT
    logged, entries, unsolved = log.counts[0].nodes, log.counts[0].entries, 0
    parent = log_model(log, cursor.parent, cursor.decision, last.decided, last.x, size, last.x[size])
    mark_swept(log)
    for i in range(survivors):
        j = last.survivor[i]
        if last.bound[i] >= cursor.cutoff:  # which better models have lowered meanwhile
            closed = min(closed, last.bound[i])
            continue
        if make_dense(subproblem.columns, j, reserved_slots(subproblem.columns, subproblem.k)):
            load_model(subproblem, refit_node, last, size, j, last.step[i])
            target = Target(cursor.cutoff, REFIT_TOLERANCE, 0.0)
            relax(subproblem, refit_node, workspace, fit_start(subproblem, last.x[size]), target)
            take_fitted(search)
            if refit_node.progress[0].halted:
                take_back(log, logged, entries)
                return HALTED
            bound = refit_node.progress[0].bound
            if bound >= cursor.cutoff or is_solved(refit_node.progress[0].primal, bound):
                closed = min(closed, bound)
                log_completed(log, parent, j, refit_node, last, size)
                continue
        last.survivor[unsolved] = j
        unsolved += 1
    if unsolved > search.nodes.counts[0].vacant - 3:
        take_back(log, logged, entries)
        return NOT_SWEPT
    for i in range(unsolved):
        j = last.survivor[i]
        node.status[j] = IN
        save(search.nodes, node, cursor.bound, parent, j + 1)
        node.status[j] = FREE
    search.tally.closed_bound = min(search.tally.closed_bound, closed)
    cursor.at_hand = False
    return SWEPT


@inlined
def list_places(node: Node, last: LastPlace) -> tuple[int, int]:
    """List what is in, with its coefficients, and what is free; returns how many of each there are."""
    decided, free = 0, 0
    for j in range(node.status.size):
        if node.status[j] == IN:
            last.decided[decided] = j
            last.x[decided] = node.x[j]
            decided += 1
        elif node.status[j] == FREE:
            last.survivor[free] = j
            free += 1
    return decided, free


@inlined
def can_be_swept(subproblem: Subproblem, quadratic: Quadratic, size: int, free: int) -> bool:
    """Whether there is more than one candidate, room for the model, and a loss that `completions` knows."""
    room = size <= COMPLETED_FEATURES and size + 2 <= quadratic.x.size
    return subproblem.loss == LOGISTIC and room and free > 1


@compiled
def load_model(subproblem: Subproblem, refit_node: Node, last: LastPlace, size: int, added: int, x: float) -> None:
    """Make what is in a model to be fitted, with one more feature if there is one, and with values to start from."""
    for j in range(refit_node.status.size):
        refit_node.status[j] = OUT
        refit_node.x[j] = 0.0
    for i in range(refit_node.u.size):
        refit_node.u[i] = last.x[size]
    for a in range(size + 1):
        j = last.decided[a] if a < size else added
        if j >= 0:
            refit_node.status[j] = IN
            refit_node.x[j] = last.x[a] if a < size else x
            add_column(subproblem.columns, j, refit_node.x[j], refit_node.u)


@inlined
def fit_start(subproblem: Subproblem, intercept: float) -> Start:
    """Begin with the coefficients at hand."""
    return Start(np.sqrt(subproblem.gamma * subproblem.mu), intercept, NEWTON)


@inlined
def take_fitted(search: Search) -> None:
    """Take the model just fitted if it is better; ``8 m`` units cover the sums over its samples."""
    refit_node, cursor = search.refit_node, search.cursor
    cursor.spent += 2 * refit_node.progress[0].work
    objective = refit_node.progress[0].primal * (1.0 + 8.0 * refit_node.u.size * UNIT)
    take_model(search.goal, search.models, search.shared, refit_node.status, objective)
    cursor.cutoff = cutoff(search.goal, search.shared.upper)


@inlined
def is_solved(objective: float, bound: float) -> bool:
    """Whether a fit is as good as the numbers allow, so that its support is a leaf like any other."""
    return objective - bound <= SOLVED_GAP * objective


@compiled
def rule_out(
    subproblem: Subproblem,
    node: Node,
    workspace: Workspace,
    last: LastPlace,
    search: Search,
    base: Base,
    free: int,
) -> tuple[int, float]:
    """Bound the candidates in ``last.survivor[:free]``, where those that are not ruled out remain.

    Returns how many they are, or a negative number when halted, and the least bound of all others.
    """
    cursor, progress, closed, survivors, moved, stepped = search.cursor, node.progress[0], base.alone, 0, 0, 0
    completions, m = last.completions, subproblem.y.size
    correlate(subproblem.columns, last.survivor, free, workspace.point.alpha, node.c, progress)
    for i in range(free):
        j = last.survivor[i]
        c = node.c[j]
        bound, step = bound_at_rest(subproblem, base, j, c), 0.0
        if not bound >= cursor.cutoff:
            if progress.halted:
                break
            bound, step = bound_moved(subproblem, workspace, completions, base, j, c)
            moved += 1
        if not bound >= cursor.cutoff:
            own = bound_stepped(subproblem, search.refit_node, workspace, completions, base, j, step)
            bound = bound if own < bound else own
            stepped += 1
        if bound >= cursor.cutoff:
            closed = min(closed, bound)
        else:
            last.survivor[survivors] = j  # never beyond what has been read
            last.step[survivors] = step
            last.bound[survivors] = bound
            survivors += 1
    cursor.spent += m * (free + (base.size + 5) * moved + (base.size + 64) * stepped)
    return -1 if progress.halted else survivors, closed


@inlined
def log_completed(log: ProofLog, parent: int, added: int, refit_node: Node, last: LastPlace, size: int) -> None:
    """Log the model just fitted, with the point behind its bound, in the place of a candidate's step."""
    for a in range(size):
        last.point[a] = refit_node.best_x[last.decided[a]]
    last.decided[size] = added
    last.point[size] = refit_node.best_x[added]
    log_model(log, parent, added + 1, last.decided, last.point, size + 1, refit_node.best_b[0])


@inlined
def can_have_room(log: ProofLog, survivors: int, size: int) -> bool:
    """Whether a log with nothing but the node in it would have room for its children."""
    nodes = survivors + 3 <= log.intercept.size
    return nodes and (survivors + 1) * (size + 1) + log.counts[0].features <= log.value.size
