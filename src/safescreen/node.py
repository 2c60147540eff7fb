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
from safescreen.numerics import add_multiple, compiled, copy_into, dot, total

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
    best_x: np.ndarray  # the iterate behind `best_alpha`
    best_b: np.ndarray  # [and its intercept]
    work: np.ndarray  # [multiplications of the last relaxation, roughly]
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
    x, c, q, best_q, best_x, scratch = np.zeros((6, features))
    u, step, trial, best_alpha = np.zeros((4, m))
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
        best_x=best_x,
        best_b=np.zeros(1),
        work=np.zeros(1, np.int64),
        hot=hot.astype(np.bool_),
        features=np.empty(features, np.int64),
        cold=np.empty(features, np.int64),
        scratch=scratch,
        point=Point(*np.empty((6, m))),
        model=make_model(capacity, m),
        gram=make_gram(capacity, features, weights),
    )


def make_spare(state: State) -> State:
    """A second node for refits in between, sharing the work space that holds nothing between relaxations."""
    shared = ("step", "trial", "point", "model", "gram")
    return state._replace(**{name: getattr(state, name).copy() for name in State._fields if name not in shared})


@compiled
def predictor(columns, row, x, b, u):
    """Set ``u = A x + b``."""
    for i in range(u.size):
        u[i] = b
    for j in range(x.size):
        if x[j] != 0.0:
            add_multiple(u, x[j], columns[row[j]])


@compiled
def correlate(data, features, count, alpha, c):
    """Correlations of the listed features with the dual point, from whichever form a column is held in."""
    alpha_total = total(alpha)
    for i in range(count):
        j = features[i]
        if data.row[j] >= 0:
            c[j] = dot(data.columns[data.row[j]], alpha)
        else:
            value = 0.0
            for i2 in range(data.starts[j], data.starts[j + 1]):
                value += data.values[i2] * alpha[data.indices[i2]]
            c[j] = (value - data.means[j] * alpha_total) / data.scales[j]


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
def split(status, x, is_hot, features, cold_features):
    """List the features not ruled out: hot ones in ``features``, others in ``cold``; count the decided-in."""
    hot, cold, decided = 0, 0, 0
    for j in range(status.size):
        if status[j] == OUT:
            continue
        if status[j] == IN:
            decided += 1
        if is_hot[j] or status[j] == IN or x[j] != 0.0:
            features[hot] = j
            hot += 1
        else:
            cold_features[cold] = j
            cold += 1
    return hot, cold, decided


@compiled
def complete(data, x, c, alpha, is_hot, features, cold_features, hot, cold, near):
    """Look at the cold features too; those that matter become hot, hot ones that no longer do will be cold next time.

    What matters is how a correlation compares with ``near``, the one at which a coefficient becomes non-zero. Returns
    the new count of hot features; ``features`` lists them first and all others behind.
    """
    correlate(data, cold_features, cold, alpha, c)
    for i in range(hot):
        j = features[i]
        if x[j] == 0.0 and abs(c[j]) < 0.6 * near and x.size > 512:
            is_hot[j] = False
    warmed, kept = hot, 0
    for i in range(cold):
        j = cold_features[i]
        if abs(c[j]) > 0.8 * near and make_dense(data, j, reserved_rows(data)):
            is_hot[j] = True
            features[warmed] = j
            warmed += 1
        else:
            cold_features[kept] = j
            kept += 1
    for i in range(kept):
        features[warmed + i] = cold_features[i]
    return warmed


@compiled
def gather(status, x, c, features, count, cut, model, b, slope, intercept):
    """Build the working set: decided-in features, non-zeros, and those whose correlation is above the cut."""
    size, capacity = 0, model.x.size - 1
    for i in range(count):
        j = features[i]
        kept = status[j] == IN or x[j] != 0.0 or abs(c[j]) > cut
        if kept and size < capacity:
            model.kind[size] = RIDGE if status[j] == IN else FREE
            model.feature[size] = j
            model.x[size] = x[j]
            model.gradient[size] = -c[j]
            size += 1
    if intercept:
        model.kind[size] = INTERCEPT
        model.x[size] = b
        model.gradient[size] = -slope
        size += 1
    for a in range(size):
        model.start[a] = model.x[a]
    return size


@compiled
def clear(a):
    """Set an array to zero."""
    for i in range(a.size):
        a[i] = 0.0


@compiled
def direction(columns, row, model, size, step):
    """The model's step, in coordinates (``model.move``) and in the predictor (``step``)."""
    clear(step)
    for a in range(size):
        move = model.x[a] - model.start[a]
        model.move[a] = move
        if move != 0.0:
            if model.kind[a] == INTERCEPT:
                for i in range(step.size):
                    step[i] += move
            else:
                add_multiple(step, move, columns[row[model.feature[a]]])


@compiled
def relax(data, state, level, b, cut, tolerance, patience, newton):
    """Solve the node's relaxation from the iterate in ``state`` (``u`` included) until it can be decided.

    Stops when the safe bound reaches ``cut`` (the node is pruned), when the relative duality gap is below
    ``tolerance``, or when the node is certain to survive and the gap is below ``patience`` times what is missing to
    ``cut``. ``newton`` asks for exact Hessians from the start (used anyway where nothing is free). Returns the
    primal value, the bound, its two cuts, the level, the intercept and whether exact Hessians were needed;
    what ``state`` calls best belongs to the bound.
    """
    model, point = state.model, state.point
    hot, cold, decided = split(state.status, state.x, state.hot, state.features, state.cold)
    refit = decided == hot + cold
    newton = newton or refit
    idle_limit = 0 if refit else 4  # rounds without progress
    kappa = max(data.k - decided, 0)
    lowest = np.sqrt(data.gamma * data.mu)
    primal, bound, last, following, previous = np.inf, -np.inf, 0.0, 0.0, np.inf
    length, stalled, idle = 1.0, False, 0
    thorough, cautious, restarted, sharpness = False, False, False, 0.01
    status, x, c, features = state.status, state.x, state.c, state.features
    state.work[0] = 0
    size = gather(status, x, c, features, hot, np.inf, model, b, 0.0, data.intercept)
    clear(state.step)  # no step yet: the iterate itself is the first trial
    for attempt in range(ROUNDS):
        for i in range(state.u.size):
            state.trial[i] = state.u[i] + length * state.step[i]
        loss, entropy, reach, shift = dual_point(data.y, data.w, data.intercept, state.trial, point)
        if not restarted and (loss > 0.6932 or (stalled and primal - bound > 1e-7 * primal)):
            restarted = True  # a start worse than no model at all, or one that leads nowhere: begin with no model
            primal, previous, b, idle, stalled, cautious = np.inf, np.inf, 0.0, 0, False, False
            clear(x)
            clear(state.u)
            clear(state.step)
            size = gather(status, x, c, features, hot, np.inf, model, b, 0.0, data.intercept)
            length = 1.0
            continue
        trial = loss + penalty(model, size, water_level(model, size, kappa, lowest), data.gamma, data.mu)
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
                x[model.feature[a]] = model.x[a]
        b += shift
        state.work[0] += (hot + size + 64) * state.u.size + 8 * size * size * (size if thorough else 1)
        # the bound, completed by the cold features where it may decide the node
        correlate(data, features, hot, point.alpha, c)
        everything, covered = hot, cold == 0
        value, value_last, value_following = dual_bound(
            data.error,
            data.gamma,
            data.mu,
            features,
            everything,
            status,
            c,
            entropy,
            reach,
            kappa,
            state.q,
            state.scratch,
        )
        if cold > 0:
            hope = max(value, bound)
            wanted = hope >= cut or primal - hope <= max(tolerance * primal, patience * (cut - hope))
            if wanted or stalled or attempt == ROUNDS - 1:
                everything, covered = hot + cold, True
                near = 2.0 * level / data.gamma
                warmed = complete(data, x, c, point.alpha, state.hot, features, state.cold, hot, cold, near)
                cold -= warmed - hot
                hot = warmed
                value, value_last, value_following = dual_bound(
                    data.error,
                    data.gamma,
                    data.mu,
                    features,
                    everything,
                    status,
                    c,
                    entropy,
                    reach,
                    kappa,
                    state.q,
                    state.scratch,
                )
        if covered and value > bound:
            bound, last, following = value, value_last, value_following
            for i in range(everything):
                state.best_q[features[i]] = state.q[features[i]]
            copy_into(state.best_alpha, point.alpha)
            copy_into(state.best_x, x)
            state.best_b[0] = b
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
        if refit and gap <= 1e-10 * primal:
            idle_limit = -1  # so close, one more Newton step reaches what the numbers can hold
        promising = 0.98 * 2.0 * level / data.gamma
        slope = total(point.alpha)
        size = gather(status, x, c, features, hot, promising, model, b, slope, data.intercept)
        if cautious:
            for i in range(state.trial.size):
                state.trial[i] = 0.25 * data.w[i]
            load_hessian(data.columns, data.row, model, size, state.trial)
            state.work[0] += size * size * state.u.size
        elif newton:
            load_hessian(data.columns, data.row, model, size, point.curvature)
            state.work[0] += size * size * state.u.size
        else:
            load_gram(data.columns, data.row, model, state.gram, size, total(point.curvature))
        needed = sharpness * max(min(gap, 0.1 * primal), 0.1 * tolerance * primal)
        level = minimise_model(model, size, level, lowest, kappa, needed, thorough, data.gamma, data.mu)
        direction(data.columns, data.row, model, size, state.step)
        length = 1.0
    return primal, bound, last, following, level, b, newton
