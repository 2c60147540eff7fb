"""The quadratic model of a node over its working set, and its minimiser, compiled.

For a level ``τ`` a free coordinate costs ``2τ|x|/γ`` below ``τ`` and ``x²/γ`` above, up to a constant. A price alone
fixes ``τ = √(γμ)``; a binding budget makes ``τ`` one extra unknown, found where the fractional choices ``z = min(1,
|x|/τ)`` just use the budget. Coordinate descent finds out which coordinates are zero, linear and quadratic; Newton
steps on that face finish the
job where descent is slow (weak ridge, correlated columns).
"""

from typing import NamedTuple

import numpy as np

from safescreen.bounds import FREE
from safescreen.numerics import add_multiple, compiled, copy_into, dot, factorise, solve_factorised, total

RIDGE, INTERCEPT = 1, 2  # kinds of coordinates besides FREE: a feature decided in, and the intercept


class Model(NamedTuple):
    """The quadratic model: Hessian, gradient and iterate over the working set, with room to solve on a face."""

    hessian: np.ndarray
    factor: np.ndarray
    gradient: np.ndarray
    x: np.ndarray
    start: np.ndarray
    move: np.ndarray
    kind: np.ndarray
    feature: np.ndarray
    face: np.ndarray
    side0: np.ndarray
    side1: np.ndarray
    scaled: np.ndarray  # (capacity, m): weighted columns while a Hessian is built


class Gram(NamedTuple):
    """``Aᵀ W A`` at reference weights ``W``, one row per feature that ever was in a working set."""

    matrix: np.ndarray  # (capacity, capacity); row 0 belongs to the intercept
    place: np.ndarray  # (features,): the feature's row, -1 if none
    owner: np.ndarray  # (capacity,): the row's feature
    weights: np.ndarray
    size: np.ndarray  # [rows in use]


def make_model(capacity: int, samples: int) -> Model:
    """Room for a working set of ``capacity`` features and the intercept."""
    size = capacity + 1
    gradient, x, start, move, side0, side1 = np.empty((6, size))
    return Model(
        hessian=np.empty((size, size)),
        factor=np.empty((size, size)),
        gradient=gradient,
        x=x,
        start=start,
        move=move,
        kind=np.empty(size, np.int8),
        feature=np.empty(size, np.int64),
        face=np.empty(size, np.int64),
        side0=side0,
        side1=side1,
        scaled=np.empty((size, samples)),
    )


def make_gram(capacity: int, features: int, weights: np.ndarray) -> Gram:
    """An empty Gram matrix at the given weights."""
    size = capacity + 1
    return Gram(
        matrix=np.empty((size, size)),
        place=np.full(features, -1, np.int64),
        owner=np.full(size, -1, np.int64),
        weights=weights.copy(),
        size=np.zeros(1, np.int64),
    )


@compiled
def water_level(model, size, kappa, lowest):
    """The level ``τ`` at which the free coordinates of ``model.x`` use exactly the budget, at least ``lowest``."""
    nonzero, mass = 0, 0.0
    for a in range(size):
        if model.kind[a] == FREE and model.x[a] != 0.0:
            nonzero += 1
            mass += abs(model.x[a])
    if nonzero <= kappa:
        return lowest
    level = mass / kappa
    while True:  # each pass moves coordinates above the level out of the linear part: finite and monotone
        above, below = 0, 0.0
        for a in range(size):
            if model.kind[a] == FREE:
                if abs(model.x[a]) > level:
                    above += 1
                else:
                    below += abs(model.x[a])
        if above >= kappa:
            break
        lower = below / (kappa - above)
        if not lower < level * (1.0 - 1e-14):
            break
        level = lower
    return max(level, lowest)


@compiled
def penalty(model, size, level, gamma, mu):
    """Ridge and price of ``model.x`` at the fractional choice ``z = min(1, |x| / τ)``."""
    value = 0.0
    for a in range(size):
        t = abs(model.x[a])
        if model.kind[a] != INTERCEPT and (t >= level or model.kind[a] != FREE):
            if t > 0.0 or model.kind[a] != FREE:
                value += t * t / gamma + mu
        elif model.kind[a] == FREE and t > 0.0:
            value += t * level / gamma + mu * t / level
    return value


@compiled
def sweep(model, size, level, gamma):
    """One pass of coordinate descent at a fixed level; returns the largest decrease by a coordinate."""
    ridge = 2.0 / gamma
    slope = level * ridge
    largest = 0.0
    for a in range(size):
        h = model.hessian[a, a]
        pull = h * model.x[a] - model.gradient[a]
        if model.kind[a] == FREE:
            strength = abs(pull)
            if strength <= slope:
                value = 0.0
            else:
                value = (strength - slope) / h if strength - slope < h * level else strength / (h + ridge)
                value = value if pull > 0.0 else -value
        elif model.kind[a] == RIDGE:
            value = pull / (h + ridge)
        else:
            value = pull / h if h > 0.0 else model.x[a]
        move = value - model.x[a]
        if move != 0.0:
            model.x[a] = value
            add_multiple(model.gradient[:size], move, model.hessian[a, :size])
            largest = max(largest, (h + ridge) * move * move)
    return largest


@compiled
def budget_misfit(model, size, level, kappa, gamma):
    """How much of the budget the coordinates overuse at this level, and a Newton proposal for the level."""
    ridge = 2.0 / gamma
    used, slope, linear = 0.0, 0.0, 0
    smallest, strongest = np.inf, 0.0
    for a in range(size):
        if model.kind[a] != FREE:
            continue
        t = abs(model.x[a])
        if t == 0.0:
            strongest = max(strongest, abs(model.gradient[a]))
        elif t > level:
            used += 1.0
            smallest = min(smallest, t)
        else:
            linear += 1
            used += t / level
            slope += t / (level * level) + ridge / (max(model.hessian[a, a], 1e-300) * level)
    misfit = used - kappa
    if linear > 0:
        proposal = min(max(level + misfit / slope, 0.5 * level), 2.0 * level)
    elif misfit > 0.0:
        proposal = smallest * (1.0 + 1e-12)
    elif misfit < 0.0:
        proposal = min(level, strongest / ridge)
    else:
        proposal = level
    return misfit, proposal


@compiled
def budget_met(misfit, level, kappa, tolerance, gamma, mu):
    """Whether the budget is used closely enough: within a per cent, and at a cost below the tolerance."""
    price = max(level * level / gamma - mu, 0.0)
    return abs(misfit) <= 0.01 * kappa and abs(misfit) * price <= tolerance


@compiled
def face_system(model, size, level, gamma):
    """Assemble and factorise the linear system of the current face; returns its size, and the kinds in it.

    ``side0`` solves the system at level zero, ``side1`` is the change of the solution per unit of level.
    """
    ridge = 2.0 / gamma
    face, factor = model.face, model.factor
    count, linear, quadratic = 0, 0, 0
    for a in range(size):
        t = abs(model.x[a])
        if model.kind[a] == FREE:
            if t == 0.0:
                continue
            if t > level:
                quadratic += 1
            else:
                linear += 1
        face[count] = a
        count += 1
    for i in range(count):
        a = face[i]
        for other in range(i + 1):
            factor[i, other] = model.hessian[a, face[other]]
        model.side0[i] = -model.gradient[a]
        model.side1[i] = 0.0
        if model.kind[a] == RIDGE or (model.kind[a] == FREE and abs(model.x[a]) > level):
            factor[i, i] += ridge
            model.side0[i] -= ridge * model.x[a]
        elif model.kind[a] == FREE:
            model.side1[i] = -ridge if model.x[a] > 0.0 else ridge
    if count > 0:
        factorise(factor, count)
        solve_factorised(factor, count, model.side0)
        if linear > 0:
            solve_factorised(factor, count, model.side1)
    return count, linear, quadratic


@compiled
def face_step(model, size, level, lowest, kappa, gamma):
    """Newton step on the current face, up to the first sign change; returns the level and whether it is exact.

    While the budget binds (``level > lowest``) the level is an unknown of the system; passing ``lowest = level``
    holds it. Exact means that the model's minimiser over the working set has been reached.
    """
    count, linear, quadratic = face_system(model, size, level, gamma)
    if count == 0:
        return level, True
    face, step = model.face, model.side0
    target = level
    if level > lowest and linear > 0 and kappa > quadratic:
        fixed, moving = 0.0, 0.0
        for i in range(count):
            a = face[i]
            if model.kind[a] == FREE and abs(model.x[a]) <= level:
                sign = 1.0 if model.x[a] > 0.0 else -1.0
                fixed += sign * (model.x[a] + model.side0[i])
                moving += sign * model.side1[i]
        target = fixed / (kappa - quadratic - moving)
        if not target > lowest:
            target = lowest
    length, blocking = 1.0, -1
    for i in range(count):
        a = face[i]
        step[i] += target * model.side1[i]
        if model.kind[a] == FREE and abs(model.x[a]) <= level:
            after = model.x[a] + step[i]
            if after * model.x[a] <= 0.0 and model.x[a] / (model.x[a] - after) < length:
                length, blocking = model.x[a] / (model.x[a] - after), a
    exact = blocking < 0
    new_level = level + length * (target - level)
    for i in range(count):
        a = face[i]
        was_linear = abs(model.x[a]) <= level
        before = model.x[a]
        model.x[a] = 0.0 if a == blocking else before + length * step[i]
        if model.x[a] != before:
            add_multiple(model.gradient[:size], model.x[a] - before, model.hessian[a, :size])
        if model.kind[a] == FREE:
            t = abs(model.x[a])
            if (t > new_level * (1.0 + 1e-10)) if was_linear else (t < new_level * (1.0 - 1e-10)):
                exact = False
    slope = (2.0 / gamma) * new_level * (1.0 + 1e-10) + 1e-300
    for a in range(size):
        if model.kind[a] == FREE and model.x[a] == 0.0 and abs(model.gradient[a]) > slope:
            exact = False
    return new_level, exact


@compiled
def minimise_at_level(model, size, level, tolerance, thorough, gamma):
    """Minimise the model at a fixed level: coordinate descent and face steps in turn. Monotone, hence safe.

    Descent that has become slow looks like descent that has converged: a ``thorough`` minimisation ends with a face
    step.
    """
    attempts = 30 + min(4 * size, 40_000_000 // (size * size * size + 1)) if thorough else 30
    for _attempt in range(attempts):
        for _ in range(5 + size // 4):  # as much work as the face step that follows
            if sweep(model, size, level, gamma) * size <= tolerance:
                if not thorough:
                    return
                break
        level, exact = face_step(model, size, level, level, size, gamma)
        if exact:
            return


@compiled
def minimise_model(model, size, level, lowest, kappa, tolerance, thorough, gamma, mu):
    """Minimise the quadratic model, penalty included; returns the level of its minimiser."""
    free = 0
    for a in range(size):
        if model.kind[a] == FREE:
            free += 1
    if free == 0:
        face_step(model, size, level, lowest, kappa, gamma)
        return level
    if free <= kappa and level <= lowest:
        minimise_at_level(model, size, level, tolerance, thorough, gamma)
        return level
    for _attempt in range(4):  # descent with the level adjusted on the way: enough almost always
        for _ in range(10 + size // 4):
            largest = sweep(model, size, level, gamma)
            misfit, proposal = budget_misfit(model, size, level, kappa, gamma)
            if misfit <= 0.0 and level <= lowest:
                misfit = 0.0
            if largest * size <= tolerance and budget_met(misfit, level, kappa, tolerance, gamma, mu):
                if not thorough:
                    return level
                break
            if misfit != 0.0:
                level = max(proposal, lowest)
        level, exact = face_step(model, size, level, lowest, kappa, gamma)
        if exact:
            misfit, proposal = budget_misfit(model, size, level, kappa, gamma)
            if abs(misfit) <= 1e-9 * kappa or (misfit <= 0.0 and level <= lowest):
                return level
    low, high = 0.0, np.inf  # the misfit falls as the level rises: bracket its root, minimising in between
    for attempt in range(60):
        minimise_at_level(model, size, level, 0.1 * tolerance, size > 0, gamma)
        misfit, proposal = budget_misfit(model, size, level, kappa, gamma)
        if (misfit <= 0.0 and level <= lowest) or budget_met(misfit, level, kappa, tolerance, gamma, mu):
            break
        if misfit > 0.0:
            low = max(low, level)
        else:
            high = min(high, level)
        level = max(proposal, lowest)
        if level <= low or level >= high or attempt % 4 == 3:
            level = max(2.0 * low, lowest) if high == np.inf else 0.5 * (low + high)
        if high < np.inf and high - low <= 1e-14 * high:
            break
    return max(level, lowest)


@compiled
def load_gram(columns, row, model, gram, size, bend):
    """Fill the model's Hessian from the shared Gram matrix, scaled to the total curvature ``bend`` at hand.

    The matrix is completed where a feature is new to it; when it is full, it is begun anew.
    """
    fresh = 0
    for a in range(size):
        if model.kind[a] != INTERCEPT and gram.place[model.feature[a]] < 0:
            fresh += 1
    if gram.size[0] == 0 or gram.size[0] + fresh > gram.matrix.shape[0]:
        for i in range(1, gram.size[0]):
            gram.place[gram.owner[i]] = -1
        gram.matrix[0, 0] = total(gram.weights)
        gram.size[0] = 1
    for a in range(size):
        if model.kind[a] != INTERCEPT and gram.place[model.feature[a]] < 0:
            extend_gram(columns, row, gram, model.feature[a], model.scaled[0])
    scale = 1.02 * bend / gram.matrix[0, 0]
    place = model.face
    for a in range(size):
        place[a] = 0 if model.kind[a] == INTERCEPT else gram.place[model.feature[a]]
    for a in range(size):
        line = gram.matrix[place[a]]
        for other in range(size):
            model.hessian[a, other] = scale * line[place[other]]


@compiled
def extend_gram(columns, row, gram, j, scaled):
    """Give feature ``j`` a row of the Gram matrix."""
    i = gram.size[0]
    column = columns[row[j]]
    for s in range(scaled.size):
        scaled[s] = gram.weights[s] * column[s]
    gram.matrix[i, 0] = total(scaled)
    gram.matrix[0, i] = gram.matrix[i, 0]
    gram.place[j] = i
    gram.owner[i] = j
    gram.size[0] = i + 1
    for other in range(1, i + 1):
        value = dot(scaled, columns[row[gram.owner[other]]])
        gram.matrix[i, other] = value
        gram.matrix[other, i] = value


@compiled
def load_hessian(columns, row, model, size, curvature):
    """Fill the model's Hessian at the current iterate: true Newton steps."""
    for a in range(size):
        scaled = model.scaled[a]
        if model.kind[a] == INTERCEPT:
            copy_into(scaled, curvature)
            for other in range(a + 1):
                model.hessian[a, other] = total(model.scaled[other])
                model.hessian[other, a] = model.hessian[a, other]
            continue
        column = columns[row[model.feature[a]]]
        for s in range(scaled.size):
            scaled[s] = curvature[s] * column[s]
        for other in range(a + 1):
            model.hessian[a, other] = dot(model.scaled[other], column)
            model.hessian[other, a] = model.hessian[a, other]
