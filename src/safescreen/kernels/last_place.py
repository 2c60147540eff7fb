"""A node with one place left is a leaf, compiled: each candidate for the place is ruled out by a dual point of its own.

The features that are in are fitted, and one look at each free column bounds what it could add (`completions`). The few
that are not ruled out are fitted as well. Nothing is branched on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from safescreen.kernels.columns import add_column, correlate, make_decided_dense, make_dense, reserved_slots
from safescreen.kernels.compiling import compiled, inlined, record_type
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
from safescreen.kernels.node import listed
from safescreen.kernels.node_relaxation import NEWTON, Start, Target
from safescreen.kernels.open_nodes import save
from safescreen.kernels.proof_log import ProofLog, has_room_for, log_model, mark_swept, take_back
from safescreen.kernels.subproblem import FREE, IN, OUT
from safescreen.kernels.vectors import signed
from safescreen.rounding import UNIT
from safescreen.tuning import COMPLETED_FEATURES, COMPLETED_TOLERANCE, REFIT_TOLERANCE

if TYPE_CHECKING:
    from safescreen.arrays import FloatArray, PlaceArray, Record, RecordArray
    from safescreen.kernels.completions import Base
    from safescreen.kernels.node import Node
    from safescreen.kernels.node_relaxation import Workspace
    from safescreen.kernels.open_nodes import OpenNodes
    from safescreen.kernels.quadratic import Quadratic
    from safescreen.kernels.subproblem import Subproblem

SWEPT, NOT_SWEPT, NO_ROOM, HALTED = 0, 1, 2, 3  # what became of a node

WITH_DIRECTION = 255
"""So many candidates are fitted from where Newton's step leads, more of them with their own coefficient moved only."""

SOLVED_GAP = 10.0 * REFIT_TOLERANCE
"""A fit whose relative gap is no wider is as good as the numbers allow, and its support a leaf like any other."""


STATE = record_type(
    [
        ("decided", "i8"),  # features that are in
        ("free", "i8"),
        ("survivors", "i8"),  # candidates to be fitted
        ("at", "i8"),  # how many of them have had their turn
        ("unsolved", "i8"),  # and how many of these are left open
        ("parent", "i8"),  # the number of the swept node
        ("logged", "i8"),  # nodes and entries of the log before it
        ("entries", "i8"),
        ("outcome", "i8"),
        ("closed", "f8"),  # the least bound of what is ruled out or fitted
        ("intercept", "f8"),  # with which the next fit begins
    ]
)
"""Where a sweep stands."""


class LastPlace(NamedTuple):
    """Room for closing a node with one place left."""

    state: RecordArray  # [a record of `STATE`]
    completions: Completions
    decided: PlaceArray  # (features,): what is in
    x: FloatArray  # (features,): and its coefficients, with the intercept behind them
    point: FloatArray  # (features,): those of a model with one more feature
    survivor: PlaceArray  # (features,): candidates that are not ruled out
    step: FloatArray  # (features,): with the coefficient each begins with
    along: FloatArray  # (survivors, entries): by how much the others fall, per unit of it; zeros for those that do not
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
        np.zeros(1, STATE),
        make_completions(features, samples),
        np.empty(features, np.uint32),
        np.empty(features + 1),
        np.empty(features),
        np.empty(features, np.uint32),
        np.empty(features),
        np.zeros((WITH_DIRECTION + 1, COMPLETED_FEATURES + 2)),
        np.empty(features),
    )


@compiled
def begin_sweep(subproblem: Subproblem, node: Node, refit_node: Node, workspace: Workspace, last: LastPlace) -> bool:
    """Set up the fit of what is in; False for a node that cannot be swept."""
    state = last.state[0]
    size, free = list_places(node, last)
    state.decided, state.free, state.outcome = size, free, NOT_SWEPT
    if size != subproblem.k - 1 or not can_be_swept(subproblem, workspace.quadratic, size, free):
        return False
    if not make_decided_dense(subproblem.columns, node.status, listed(node)):
        return False
    last.x[size] = node.progress[0].intercept
    load_model(subproblem, refit_node, last, size, -1, WITH_DIRECTION)
    return True


@inlined
def must_be_sharper(search: Search) -> bool:
    """Whether the fit of what is in, roughly made, may be better than the best model, so that it must be a good one."""
    progress = search.refit_node.progress[0]
    search.cursor.spent += 2 * progress.work
    above: bool = progress.bound >= search.cursor.cutoff
    return not (above or progress.halted)


@compiled
def rule_out(subproblem: Subproblem, node: Node, workspace: Workspace, last: LastPlace, search: Search) -> None:
    """Bound all completions of the model just fitted; those that are not ruled out are to be fitted as well.

    Without an addition the model is bounded by its own point, the one that all others begin with.
    """
    state, refit_node, log = last.state[0], search.refit_node, search.log
    size = state.decided
    take_fitted(search)
    base = prepare_completions(subproblem, refit_node, workspace, last.completions, last.decided, size)
    for a in range(size):
        last.x[a] = refit_node.x[last.decided[a]]
    last.x[size] = refit_node.progress[0].intercept + base.shift
    if refit_node.progress[0].halted:
        state.outcome = HALTED
        return
    if not (base.alone >= search.cursor.cutoff or is_solved(refit_node.progress[0].primal, base.alone)):
        return
    look_at_candidates(subproblem, node, workspace, last, search, base)
    survivors = state.survivors
    if node.progress[0].halted:
        state.outcome = HALTED
    elif has_room_for(log, survivors + 1, size + survivors * (size + 1)):
        state.outcome = SWEPT
        state.logged, state.entries = log.counts[0].nodes, log.counts[0].entries
        cursor = search.cursor
        state.parent = log_model(log, cursor.parent, cursor.decision, last.decided, last.x, size, last.x[size])
        mark_swept(log)
    elif can_have_room(log, survivors, size):
        state.outcome = NO_ROOM


@compiled
def next_survivor(subproblem: Subproblem, last: LastPlace, search: Search) -> bool:
    """Set up the fit of the next candidate that is not ruled out, by a better model met on the way either.

    Candidates for whose columns there is no room are among the unsolved ones, which are moved to the front.
    """
    state, cutoff_now = last.state[0], search.cursor.cutoff
    while state.outcome == SWEPT and state.at < state.survivors:
        at = state.at
        j = signed(last.survivor[at])
        state.at += 1
        if last.bound[at] >= cutoff_now:
            state.closed = min(state.closed, last.bound[at])
        elif make_dense(subproblem.columns, j, reserved_slots(subproblem.columns, subproblem.k)):
            load_model(subproblem, search.refit_node, last, state.decided, j, at)
            return True
        else:
            last.survivor[state.unsolved] = j
            state.unsolved += 1
    return False


@compiled
def take_survivor(last: LastPlace, search: Search) -> None:
    """Take the fit of a candidate, which closes its support unless the fit says nothing."""
    state, progress = last.state[0], search.refit_node.progress[0]
    j = signed(last.survivor[state.at - 1])
    take_fitted(search)
    if progress.halted:
        state.outcome = HALTED
        take_back(search.log, state.logged, state.entries)
    elif progress.bound >= search.cursor.cutoff or is_solved(progress.primal, progress.bound):
        state.closed = min(state.closed, progress.bound)
        log_completed(search.log, state.parent, j, search.refit_node, last, state.decided)
    else:
        last.survivor[state.unsolved] = j
        state.unsolved += 1


@compiled
def end_sweep(node: Node, last: LastPlace, search: Search) -> int:
    """Close the node at hand, or leave it as it was; returns what became of it.

    For a proof, the model is a node that is marked, and a support that had to be fitted is its child; so is one whose
    fit says nothing, which is left open.
    """
    state, nodes = last.state[0], search.nodes
    if state.outcome == SWEPT and state.unsolved > nodes.counts[0].vacant - 3:
        take_back(search.log, state.logged, state.entries)
        state.outcome = NOT_SWEPT
    outcome: int = state.outcome
    if outcome != SWEPT:
        return outcome
    for i in range(state.unsolved):
        j = signed(last.survivor[i])
        node.status[j] = IN
        save(nodes, node, search.cursor.bound, state.parent, j + 1)
        node.status[j] = FREE
    search.tally.closed_bound = min(search.tally.closed_bound, state.closed)
    search.cursor.at_hand = False
    return outcome


@inlined
def list_places(node: Node, last: LastPlace) -> tuple[int, int]:
    """List what is in, with its coefficients, and what is free; returns how many of each there are."""
    decided, free = 0, 0
    for j in listed(node):
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
def load_model(subproblem: Subproblem, refit_node: Node, last: LastPlace, size: int, added: int, at: int) -> None:
    """Make what is in a model to be fitted, with a candidate if there is one, at the end of Newton's step for it."""
    state, x, along = last.state[0], 0.0, last.along[min(at, WITH_DIRECTION)]
    if added >= 0:
        x = last.step[at]
    for j in listed(refit_node):
        refit_node.status[j] = OUT
        refit_node.x[j] = 0.0
    state.intercept = last.x[size] - x * along[size]
    for i in range(refit_node.u.size):
        refit_node.u[i] = state.intercept
    count = 0
    for a in range(size + 1):
        j = signed(last.decided[a]) if a < size else added
        if j >= 0:
            refit_node.status[j] = IN
            refit_node.x[j] = last.x[a] - x * along[a] if a < size else x
            refit_node.listed[count] = j
            count += 1
            add_column(subproblem.columns, j, refit_node.x[j], refit_node.u)
    refit_node.progress[0].listed = count


@inlined
def fit_start(subproblem: Subproblem, last: LastPlace) -> Start:
    """Begin with the coefficients at hand."""
    return Start(np.sqrt(subproblem.gamma * subproblem.mu), last.state[0].intercept, NEWTON)


@inlined
def rough_target() -> Target:
    """Until the model is fitted as closely as it takes to rule out candidates for its last place."""
    return Target(np.inf, COMPLETED_TOLERANCE, 0.0)


@inlined
def go_on(subproblem: Subproblem, search: Search, last: LastPlace) -> Start:
    """Begin where the latest fit has ended."""
    last.state[0].intercept = search.refit_node.progress[0].intercept
    return fit_start(subproblem, last)


@inlined
def fit_target(limit: float) -> Target:
    """Until the model is fitted, or proved to be above the limit."""
    return Target(limit, REFIT_TOLERANCE, 0.0)


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


@inlined
def look_at_candidates(
    subproblem: Subproblem, node: Node, workspace: Workspace, last: LastPlace, search: Search, base: Base
) -> None:
    """Bound the candidates in `last.survivor`, where those that are not ruled out remain."""
    state, cursor, progress, completions = last.state[0], search.cursor, node.progress[0], last.completions
    closed, survivors, moved, stepped, free = base.alone, 0, 0, 0, state.free
    correlate(subproblem.columns, last.survivor, free, workspace.point.alpha, node.c, progress)
    for i in range(free):
        j = signed(last.survivor[i])
        c = node.c[j]
        bound, step = bound_at_rest(subproblem, base, j, c), 0.0
        if not bound >= cursor.cutoff:
            if progress.halted:
                break
            bound, step = bound_moved(subproblem, workspace, completions, base, j, c, cursor.cutoff)
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
            for a in range(base.working if survivors < WITH_DIRECTION else 0):
                last.along[survivors, a] = completions.step[a]
            survivors += 1
    cursor.spent += subproblem.y.size * (free + (base.size + 5) * moved + (2 * base.size + 80) * stepped)
    state.closed, state.survivors, state.at, state.unsolved = closed, survivors, 0, 0


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
