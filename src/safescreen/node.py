"""The relaxation of one node, compiled: dual point, safe bound, working set, model step, line search.

A round costs one pass over the *hot* columns (those near the working set); the cold ones are looked at only when the
node is about to be decided, because a bound must cover all of them. The model's Hessian is a Gram matrix shared by all
nodes as long as that contracts, and the exact Hessian where it does not.
"""

from typing import NamedTuple

import numpy as np

from safescreen.bounds import FREE, IN, OUT, dual_bound, dual_point
from safescreen.design import UNIT
from safescreen.model import (
    INTERCEPT,
    RIDGE,
    Gram,
    Model,
    load_gram,
    load_hessian,
    make_gram,
    make_model,
    minimise_model,
    penalty,
    water_level,
)
from safescreen.numerics import add_multiple, compiled, copy_into, dot, entry, total, two_largest_cuts

ROUNDS = 200  # rounds after which a relaxation is taken as it is: its bound is valid all the same


class Data(NamedTuple):
    """What does not change during a search: surviving columns, labels, weights and the problem's numbers.

    The columns may be held sparse; then a column gets a dense row the first time it matters.
    """

    columns: np.ndarray  # (rows, m): one row per feature held dense
    row: np.ndarray  # (features,): the feature's row of `columns`, -1 while it is held sparse only
    rows: np.ndarray  # [rows in use]
    values: np.ndarray  # the columns in compressed sparse form, empty when all are held dense
    indices: np.ndarray
    starts: np.ndarray
    means: np.ndarray
    scales: np.ndarray
    error: np.ndarray  # (features,): rounding error of a correlation per unit of ‖α‖
    y: np.ndarray
    w: np.ndarray
    gamma: float
    mu: float
    k: int
    intercept: bool


class Point(NamedTuple):
    """A dual point and the sums behind it, one entry per sample."""

    p: np.ndarray
    alpha: np.ndarray
    curvature: np.ndarray
    loss: np.ndarray
    cross: np.ndarray
    scratch: np.ndarray


class State(NamedTuple):
    """The node at hand: what is decided, the current iterate, and the best dual point seen."""

    status: np.ndarray
    x: np.ndarray
    u: np.ndarray
    step: np.ndarray
    trial: np.ndarray
    c: np.ndarray
    q: np.ndarray
    best_q: np.ndarray
    best_alpha: np.ndarray
    hot: np.ndarray  # (features,): looked at in every round, not only when a bound is completed
    features: np.ndarray
    cold: np.ndarray
    scratch: np.ndarray
    point: Point
    model: Model
    gram: Gram


def make_state(data: Data, hot: np.ndarray, weights: np.ndarray, capacity: int) -> State:
    """Allocate the work space of one worker; untouched pages of the large arrays cost no memory."""
    features, m = data.row.size, data.y.size
    x, c, q, best_q, scratch = (np.zeros(features) for _ in range(5))
    u, step, trial, best_alpha = (np.zeros(m) for _ in range(4))
    return State(
        status=np.zeros(features, np.int8),
        x=x,
        u=u,
        step=step,
        trial=trial,
        c=c,
        q=q,
        best_q=best_q,
        best_alpha=best_alpha,
        hot=hot.astype(np.bool_),
        features=np.empty(features, np.int64),
        cold=np.empty(features, np.int64),
        scratch=scratch,
        point=Point(*(np.empty(m) for _ in range(6))),
        model=make_model(capacity, m),
        gram=make_gram(capacity, features, weights),
    )


@compiled
def predictor(data, state, b):
    """Set ``u = A x + b`` from the iterate."""
    for i in range(state.u.size):
        state.u[i] = b
    for j in range(state.x.size):
        if state.x[j] != 0.0:
            add_multiple(state.u, state.x[j], data.columns[data.row[j]])


@compiled
def correlate(data, state, features, count):
    """Correlations of the listed features with the dual point, from whichever form a column is held in."""
    alpha = state.point.alpha
    alpha_total = total(alpha)
    for i in range(count):
        j = features[i]
        if data.row[j] >= 0:
            state.c[j] = dot(data.columns[data.row[j]], alpha)
        else:
            value = 0.0
            for i2 in range(data.starts[j], data.starts[j + 1]):
                value += data.values[i2] * alpha[data.indices[i2]]
            state.c[j] = (value - data.means[j] * alpha_total) / data.scales[j]


@compiled
def reserved_rows(data):
    """Dense rows kept for features decided in, so that these always find one; none where every feature has room."""
    rows = data.columns.shape[0]
    return 0 if rows >= data.row.size else min(data.k, rows // 4)


@compiled
def make_dense(data, j, spared):
    """Give a sparse column a dense row; False when no more than ``spared`` rows are left."""
    if data.row[j] >= 0:
        return True
    row = data.rows[0]
    if row + spared >= data.columns.shape[0]:
        return False
    column = data.columns[row]
    for i in range(column.size):
        column[i] = (0.0 - data.means[j]) / data.scales[j]
    for i in range(data.starts[j], data.starts[j + 1]):
        column[data.indices[i]] = (data.values[i] - data.means[j]) / data.scales[j]
    data.row[j] = row
    data.rows[0] = row + 1
    return True


@compiled
def split(state):
    """List the features not ruled out: hot ones in ``features``, others in ``cold``; count the decided-in."""
    hot, cold, decided = 0, 0, 0
    for j in range(state.status.size):
        if state.status[j] == OUT:
            continue
        if state.status[j] == IN:
            decided += 1
        if state.hot[j] or state.status[j] == IN or state.x[j] != 0.0:
            state.features[hot] = j
            hot += 1
        else:
            state.cold[cold] = j
            cold += 1
    return hot, cold, decided


@compiled
def complete(data, state, hot, cold, level):
    """Look at the cold features too; those that matter become hot, hot ones that no longer do will be cold next time.

    Returns the new count of hot features; ``state.features`` lists them first and all others behind.
    """
    correlate(data, state, state.cold, cold)
    near = 2.0 * level / data.gamma
    for i in range(hot):
        j = state.features[i]
        if state.x[j] == 0.0 and abs(state.c[j]) < 0.6 * near and state.status.size > 512:
            state.hot[j] = False
    warmed, kept = hot, 0
    for i in range(cold):
        j = state.cold[i]
        if abs(state.c[j]) > 0.8 * near and make_dense(data, j, reserved_rows(data)):
            state.hot[j] = True
            state.features[warmed] = j
            warmed += 1
        else:
            state.cold[kept] = j
            kept += 1
    for i in range(kept):
        state.features[warmed + i] = state.cold[i]
    return warmed


@compiled
def start_level(data, state, hot, cold, lowest, kappa):
    """A first level without a warm start: the one at which the κ strongest correlations just survive."""
    correlate(data, state, state.cold, cold)
    free = 0
    for i in range(hot + cold):
        j = state.features[i] if i < hot else state.cold[i - hot]
        if state.status[j] == FREE:
            state.scratch[free] = abs(state.c[j])
            free += 1
    if free <= kappa:
        return lowest
    last, _ = two_largest_cuts(state.scratch, free, kappa)
    return max(lowest, 0.5 * data.gamma * last)


@compiled
def gather(data, state, count, level, b):
    """Build the working set: decided-in features, non-zeros, and those whose correlation is near the level."""
    model = state.model
    cut = 0.98 * 2.0 * level / data.gamma
    size, capacity = 0, model.x.size - 1
    for i in range(count):
        j = state.features[i]
        kept = state.status[j] == IN or state.x[j] != 0.0 or abs(state.c[j]) > cut
        if kept and size < capacity:
            model.kind[size] = RIDGE if state.status[j] == IN else FREE
            model.feature[size] = j
            model.x[size] = state.x[j]
            model.gradient[size] = -state.c[j]
            size += 1
    if data.intercept:
        model.kind[size] = INTERCEPT
        model.x[size] = b
        model.gradient[size] = -total(state.point.alpha)
        size += 1
    for a in range(size):
        model.start[a] = model.x[a]
    return size


@compiled
def forget(data, state, hot):
    """Return to the model without features; returns the size of its working set."""
    for j in range(state.x.size):
        state.x[j] = 0.0
    for i in range(state.u.size):
        state.u[i] = 0.0
        state.step[i] = 0.0
    return gather(data, state, hot, np.inf, 0.0)


@compiled
def direction(data, state, size):
    """The model's step, in coordinates (``model.move``) and in the predictor (``state.step``)."""
    model = state.model
    for i in range(state.step.size):
        state.step[i] = 0.0
    for a in range(size):
        move = model.x[a] - model.start[a]
        model.move[a] = move
        if move != 0.0:
            if model.kind[a] == INTERCEPT:
                for i in range(state.step.size):
                    state.step[i] += move
            else:
                add_multiple(state.step, move, data.columns[data.row[model.feature[a]]])


@entry
def relax(data, state, level, b, cut, tolerance, patience, newton):
    """Solve the node's relaxation from the iterate in ``state`` (``u`` included) until it can be decided.

    Stops when the safe bound reaches ``cut`` (the node is pruned), when the relative duality gap is below
    ``tolerance``, or when the node is certain to survive and the gap is below ``patience`` times what is missing to
    ``cut``. ``newton`` asks for exact Hessians from the start (used anyway where nothing is free); a negative
    ``level`` for a cold start. Returns the primal value, the bound, its two cuts, the level, the intercept and
    whether exact Hessians were needed; ``state.best_q`` and ``state.best_alpha`` belong to the bound.
    """
    model, point = state.model, state.point
    hot, cold, decided = split(state)
    newton = newton or decided == hot + cold
    idle_limit = 1 if decided == hot + cold else 4  # rounds without progress
    kappa = max(data.k - decided, 0)
    lowest = np.sqrt(data.gamma * data.mu)
    primal, bound, last, following, previous = np.inf, -np.inf, 0.0, 0.0, np.inf
    length, stalled, idle = 1.0, False, 0
    thorough, cautious, restarted, sharpness = False, False, False, 0.01
    size = gather(data, state, hot, np.inf, b)
    direction(data, state, size)  # no step yet: the iterate itself is the first trial
    for attempt in range(ROUNDS):
        for i in range(state.u.size):
            state.trial[i] = state.u[i] + length * state.step[i]
        loss, entropy, reach, shift = dual_point(data, state.trial, point)
        if not restarted and (loss > 0.6932 or (stalled and primal - bound > 1e-7 * primal)):
            restarted = True  # a start worse than no model at all, or one that leads nowhere: begin with no model
            primal, previous, b, idle, stalled, cautious = np.inf, np.inf, 0.0, 0, False, False
            size = forget(data, state, hot)
            length = 1.0
            continue
        trial = loss + penalty(data, model, size, water_level(model, size, kappa, lowest))
        if not trial <= primal + 4.0 * UNIT * abs(primal) and length > 0.0:  # line search
            newton, thorough = True, newton
            length = 0.5 * length if length > 1e-3 else 0.0
            if length == 0.0:  # try again with the largest curvature the loss can have, whose steps never overshoot
                stalled = stalled or cautious
                cautious = True
            for a in range(size):
                model.x[a] = model.start[a] + length * model.move[a]
            continue
        cautious = cautious and length == 0.0
        idle = idle + 1 if trial > primal - 4.0 * UNIT * abs(primal) else 0
        stalled = stalled or idle > idle_limit
        primal = trial
        copy_into(state.u, state.trial)
        for a in range(size):
            if model.kind[a] == INTERCEPT:
                b = model.x[a]
            else:
                state.x[model.feature[a]] = model.x[a]
        b += shift
        # the bound, completed by the cold features where it may decide the node
        correlate(data, state, state.features, hot)
        if level < 0.0:
            level = start_level(data, state, hot, cold, lowest, kappa)
        everything, covered = hot, cold == 0
        value, value_last, value_following = dual_bound(
            data, state.features, everything, state.status, state.c, entropy, reach, kappa, state.q, state.scratch
        )
        if cold > 0:
            hope = max(value, bound)
            wanted = hope >= cut or primal - hope <= max(tolerance * primal, patience * (cut - hope))
            if wanted or stalled or attempt == ROUNDS - 1:
                everything, covered = hot + cold, True
                warmed = complete(data, state, hot, cold, level)
                cold -= warmed - hot
                hot = warmed
                value, value_last, value_following = dual_bound(
                    data,
                    state.features,
                    everything,
                    state.status,
                    state.c,
                    entropy,
                    reach,
                    kappa,
                    state.q,
                    state.scratch,
                )
        if covered and value > bound:
            bound, last, following = value, value_last, value_following
            for i in range(everything):
                state.best_q[state.features[i]] = state.q[state.features[i]]
            copy_into(state.best_alpha, point.alpha)
        if bound >= cut or primal - bound <= tolerance * primal:
            break
        if stalled:
            if restarted or primal - bound <= 1e-7 * primal:
                break
            continue
        if primal < cut and bound > -np.inf and primal - bound <= patience * (cut - bound):
            break
        # a step of the quadratic model
        gap = primal - max(value, bound)
        idle = idle if gap > 0.5 * previous else 0
        if gap > 0.25 * previous:  # slow: exact Hessians, then an exact minimiser as well, solved ever more sharply
            newton, thorough, sharpness = True, newton, max(0.01 * sharpness, 1e-12)
        previous = gap
        size = gather(data, state, hot, level, b)
        if cautious:
            for i in range(state.trial.size):
                state.trial[i] = 0.25 * data.w[i]
            load_hessian(data, model, size, state.trial)
        elif newton:
            load_hessian(data, model, size, point.curvature)
        else:
            load_gram(data, model, state.gram, size, total(point.curvature))
        needed = sharpness * max(min(gap, 0.1 * primal), 0.1 * tolerance * primal)
        level = minimise_model(data, model, size, level, lowest, kappa, needed, thorough)
        direction(data, state, size)
        length = 1.0
    return primal, bound, last, following, level, b, newton
