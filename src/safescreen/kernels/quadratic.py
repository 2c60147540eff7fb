"""The quadratic model of a node over its working set, and its minimiser, compiled.

For a level ``τ`` a free coordinate costs ``2τ|x|/γ`` below ``τ`` and ``x²/γ`` above, up to a constant. A price alone
fixes ``τ = √(γμ)``, here called ``lowest``; a binding budget makes ``τ`` one extra unknown, found where the fractional
choices ``z = min(1, |x|/τ)`` just use the budget. Coordinate descent finds out which coordinates are zero, linear and
quadratic; Newton steps on that face finish the job where descent is slow (weak ridge, correlated columns).

With thousands of columns this takes long, so that a relaxation that is halted is so here as well, between two passes
over the Hessian or two columns of its factor. What is left of the model then is of no use.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from safescreen.arrays import FloatArray, IndexArray, Record
from safescreen.design.columns import Columns
from safescreen.kernels.columns import dot_column, has_short_columns, weigh_column, weigh_entries
from safescreen.kernels.compiling import compiled, elementwise, inlined, reordered
from safescreen.kernels.subproblem import FREE
from safescreen.kernels.vectors import add_multiple, clear, copy_into, factorise_column, solve_factorised, total
from safescreen.tuning import (
    BLOCKED_PRODUCTS,
    FACE_STEPS,
    GRAM_INFLATION,
    GRAM_ROOM,
    GRAM_TRIAL_PERIOD,
    LEVEL_BRACKETS,
    LEVEL_DESCENTS,
    SAMPLES_OF_A_PANEL,
    THOROUGH_WORK,
)

RIDGE, INTERCEPT = 1, 2  # kinds of coordinates besides FREE: a feature decided in, and the intercept

SERVED, REFUSED = 1, 2  # what a Gram matrix counts

PADDING = 8
"""Rows that are added up all the time have a multiple of so many entries: as many as a processor adds at once."""


class Quadratic(NamedTuple):
    """The quadratic model: Hessian, gradient and iterate over the working set, with room to solve on a face."""

    hessian: FloatArray  # with room for the last of its blocks of four by four, and for rows that end in zeros
    factor: FloatArray
    gradient: FloatArray  # with room for that, too
    x: FloatArray
    start: FloatArray
    move: FloatArray
    kind: npt.NDArray[np.int8]
    feature: IndexArray
    face: IndexArray
    rhs_fixed: FloatArray
    rhs_per_level: FloatArray
    scaled: FloatArray  # (capacity + 5, m): weighted columns while a Hessian is built, and the roots of weights
    diagonal: FloatArray  # of the Hessian while the model is minimised, and what it takes to divide by it
    over_diagonal: FloatArray
    over_ridged: FloatArray  # likewise, with the ridge on top


class Penalty(NamedTuple):
    """What the coordinates cost: ridge and price, the lowest level, and the budget left for free ones."""

    gamma: float
    mu: float
    lowest: float
    kappa: int


class Gram(NamedTuple):
    """``Aᵀ W A`` at reference weights ``W``, one row per feature that ever was in a working set."""

    matrix: FloatArray  # (capacity, capacity); row 0 belongs to the intercept
    slot_of: IndexArray  # (features,): the feature's row, -1 if none
    feature_of: IndexArray  # (capacity,): the row's feature
    weights: FloatArray
    size: IndexArray  # [rows in use, models it has served since it was begun, models it had no room for]


def make_quadratic(capacity: int, samples: int) -> Quadratic:
    """Room for a working set of ``capacity`` features and the intercept."""
    size = capacity + 1
    x, start, move, rhs_fixed, rhs_per_level, diagonal, over_diagonal, over_ridged = np.empty((8, size))
    return Quadratic(
        hessian=np.empty((size + 3, size + PADDING)),
        factor=np.empty((size, size)),
        gradient=np.empty(size + PADDING),
        x=x,
        start=start,
        move=move,
        kind=np.empty(size, np.int8),
        feature=np.empty(size, np.int64),
        face=np.empty(size, np.int64),
        rhs_fixed=rhs_fixed,
        rhs_per_level=rhs_per_level,
        scaled=np.empty((size + 4, samples)),
        diagonal=diagonal,
        over_diagonal=over_diagonal,
        over_ridged=over_ridged,
    )


def make_gram(capacity: int, features: int, weights: FloatArray) -> Gram:
    """An empty Gram matrix at the given weights, with room for some times as many features as a model has."""
    size = min(GRAM_ROOM * capacity, features) + 1
    return Gram(
        matrix=np.empty((size, size)),
        slot_of=np.full(features, -1, np.int64),
        feature_of=np.full(size, -1, np.int64),
        weights=weights.copy(),
        size=np.zeros(3, np.int64),
    )


@inlined
def water_level(quadratic: Quadratic, size: int, penalty: Penalty) -> float:
    """The level ``τ`` at which the free coordinates of ``quadratic.x`` use exactly the budget, at least the lowest."""
    kappa, lowest = penalty.kappa, penalty.lowest
    nonzero, mass = 0, 0.0
    for a in range(size):
        if quadratic.kind[a] == FREE and quadratic.x[a] != 0.0:
            nonzero += 1
            mass += abs(quadratic.x[a])
    if nonzero <= kappa:
        return lowest
    level = mass / kappa
    while True:  # each pass moves coordinates above the level out of the linear part: finite and monotone
        above, below = 0, 0.0
        for a in range(size):
            if quadratic.kind[a] == FREE:
                if abs(quadratic.x[a]) > level:
                    above += 1
                else:
                    below += abs(quadratic.x[a])
        if above >= kappa:
            break
        lower = below / (kappa - above)
        if not lower < level * (1.0 - 1e-14):
            break
        level = lower
    return max(level, lowest)


@inlined
def penalty_value(quadratic: Quadratic, size: int, level: float, penalty: Penalty) -> float:
    """Ridge and price of ``quadratic.x`` at the fractional choice ``z = min(1, |x| / τ)``."""
    value = 0.0
    for a in range(size):
        t = abs(quadratic.x[a])
        if quadratic.kind[a] != INTERCEPT and (t >= level or quadratic.kind[a] != FREE):
            if t > 0.0 or quadratic.kind[a] != FREE:
                value += t * t / penalty.gamma + penalty.mu
        elif quadratic.kind[a] == FREE and t > 0.0:
            value += t * level / penalty.gamma + penalty.mu * t / level
    return value


@inlined
def prepare_sweeps(quadratic: Quadratic, size: int, gamma: float) -> None:
    """Have at hand what sweeps read again and again: the diagonal, its reciprocals, and rows that end in zeros."""
    ridge, padded = 2.0 / gamma, padded_size(size)
    for a in range(size):
        h = quadratic.hessian[a, a]
        quadratic.diagonal[a] = h
        quadratic.over_diagonal[a] = 1.0 / max(h, 1e-300)
        quadratic.over_ridged[a] = 1.0 / (h + ridge)
        clear(quadratic.hessian[a, size:padded])
    clear(quadratic.gradient[size:padded])


@inlined
def padded_size(size: int) -> int:
    """The next multiple of `PADDING`."""
    return (size + PADDING - 1) // PADDING * PADDING


@inlined
def work_of_sweep(size: int) -> int:
    """In multiplications that take as long: most coordinates are visited in vain, and some change the gradient."""
    work: int = size * (size // 5 + 24)
    return work


@inlined
def work_of_face_step(count: int) -> int:
    """The same for a step on a face of so many coordinates."""
    work: int = count * count * (count // 8 + 4)
    return work


@inlined
def sweeps_of_a_face_step(quadratic: Quadratic, size: int) -> int:
    """How many sweeps cost as much as a step on the face at hand."""
    count = 0
    for a in range(size):
        count += 1 if quadratic.x[a] != 0.0 else 0
    sweeps: int = work_of_face_step(count) // work_of_sweep(size)
    return sweeps


class Usage(NamedTuple):
    """How free coordinates use the budget at a level: those above it, and those below."""

    above: int
    smallest: float  # of those above
    linear: int
    mass: float  # of those below
    flatness: float  # the sum of their reciprocal curvatures


@elementwise
def sweep(quadratic: Quadratic, size: int, level: float, gamma: float) -> tuple[float, Usage]:
    """One pass of coordinate descent at a fixed level; returns the largest decrease by a coordinate, and the usage."""
    ridge = 2.0 / gamma
    slope = level * ridge
    largest, padded = 0.0, padded_size(size)
    above, smallest, linear, mass, flatness = 0, np.inf, 0, 0.0, 0.0
    x, gradient, hessian = quadratic.x, quadratic.gradient[:padded], quadratic.hessian
    for a in range(size):
        before, free = x[a], quadratic.kind[a] == FREE
        if free and before == 0.0 and abs(gradient[a]) <= slope:
            continue
        h = quadratic.diagonal[a]
        unpenalised = h * before - gradient[a]
        if free:
            strength = abs(unpenalised)
            excess = strength - slope
            if excess <= 0.0:
                value = 0.0
            elif excess < h * level:
                value = excess * quadratic.over_diagonal[a]
                linear += 1
                mass += value
                flatness += quadratic.over_diagonal[a]
            else:
                value = strength * quadratic.over_ridged[a]
                above += 1
                smallest = min(smallest, value)
            value = value if unpenalised > 0.0 else -value
        elif quadratic.kind[a] == RIDGE:
            value = unpenalised * quadratic.over_ridged[a]
        else:
            value = unpenalised * quadratic.over_diagonal[a] if h > 0.0 else before
        move = value - before
        if move != 0.0:
            x[a] = value
            row = hessian[a, :padded]
            for i in range(padded):
                gradient[i] += move * row[i]
            largest = max(largest, (h + ridge) * move * move)
    return largest, Usage(above, smallest, linear, mass, flatness)


@inlined
def usage_at(quadratic: Quadratic, size: int, level: float) -> Usage:
    """The usage of the coordinates as they are."""
    above, smallest, linear, mass, flatness = 0, np.inf, 0, 0.0, 0.0
    for a in range(size):
        t = abs(quadratic.x[a])
        if t == 0.0 or quadratic.kind[a] != FREE:
            continue
        if t > level:
            above += 1
            smallest = min(smallest, t)
        else:
            linear += 1
            mass += t
            flatness += quadratic.over_diagonal[a]
    return Usage(above, smallest, linear, mass, flatness)


@compiled
def budget_misfit(quadratic: Quadratic, size: int, level: float, penalty: Penalty, usage: Usage) -> tuple[float, float]:
    """How much of the budget the coordinates overuse at this level, and a Newton proposal for the level."""
    ridge = 2.0 / penalty.gamma
    misfit = usage.above + (usage.mass / level if usage.linear > 0 else 0.0) - penalty.kappa
    if usage.linear > 0:
        slope = (usage.mass / level + ridge * usage.flatness) / level
        proposal = min(max(level + misfit / slope, 0.5 * level), 2.0 * level)
    elif misfit > 0.0:
        proposal = usage.smallest * (1.0 + 1e-12)
    elif misfit < 0.0:
        proposal = min(level, largest_pull(quadratic, size) / ridge)
    else:
        proposal = level
    return misfit, proposal


@inlined
def largest_pull(quadratic: Quadratic, size: int) -> float:
    """The largest gradient of a free coordinate that is zero."""
    strongest = 0.0
    for a in range(size):
        if quadratic.kind[a] == FREE and quadratic.x[a] == 0.0:
            strongest = max(strongest, abs(quadratic.gradient[a]))
    return strongest


@inlined
def budget_met(misfit: float, level: float, penalty: Penalty, tolerance: float) -> bool:
    """Whether the budget is used closely enough: within a per cent, and at a cost below the tolerance."""
    price = max(level * level / penalty.gamma - penalty.mu, 0.0)
    return abs(misfit) <= 0.01 * penalty.kappa and abs(misfit) * price <= tolerance


@inlined
def face_system(quadratic: Quadratic, progress: Record, level: float, gamma: float) -> tuple[int, int, int]:
    """Assemble and factorise the linear system of the current face; returns its size, and the kinds in it.

    ``rhs_fixed`` solves the system at level zero, ``rhs_per_level`` is the change of the solution per unit of level.
    """
    size = progress.working
    ridge = 2.0 / gamma
    face, factor = quadratic.face, quadratic.factor
    count, n_linear, n_quadratic = 0, 0, 0
    for a in range(size):
        t = abs(quadratic.x[a])
        if quadratic.kind[a] == FREE:
            if t == 0.0:
                continue
            if t > level:
                n_quadratic += 1
            else:
                n_linear += 1
        face[count] = a
        count += 1
    for i in range(count):
        a = face[i]
        for other in range(i + 1):
            factor[i, other] = quadratic.hessian[a, face[other]]
        quadratic.rhs_fixed[i] = -quadratic.gradient[a]
        quadratic.rhs_per_level[i] = 0.0
        if quadratic.kind[a] == RIDGE or (quadratic.kind[a] == FREE and abs(quadratic.x[a]) > level):
            factor[i, i] += ridge
            quadratic.rhs_fixed[i] -= ridge * quadratic.x[a]
        elif quadratic.kind[a] == FREE:
            quadratic.rhs_per_level[i] = -ridge if quadratic.x[a] > 0.0 else ridge
    if count > 0:
        for i in range(count):
            if progress.halted:
                return count, n_linear, n_quadratic
            factorise_column(factor, count, i)
        solve_factorised(factor, count, quadratic.rhs_fixed)
        if n_linear > 0:
            solve_factorised(factor, count, quadratic.rhs_per_level)
    return count, n_linear, n_quadratic


@compiled
def face_step(quadratic: Quadratic, progress: Record, level: float, penalty: Penalty) -> tuple[float, bool]:
    """Newton step on the current face, up to the first sign change; returns the level and whether it is exact.

    While the budget binds (the level is above the lowest) the level is an unknown of the system; a lowest level equal
    to it holds it. Exact means that the model's minimiser over the working set has been reached.
    """
    size = progress.working
    gamma, lowest, kappa = penalty.gamma, penalty.lowest, penalty.kappa
    count, n_linear, n_quadratic = face_system(quadratic, progress, level, gamma)
    if count == 0 or progress.halted:
        return level, True
    face, step = quadratic.face, quadratic.rhs_fixed
    target = level
    if level > lowest and n_linear > 0 and kappa > n_quadratic:
        fixed, moving = 0.0, 0.0
        for i in range(count):
            a = face[i]
            if quadratic.kind[a] == FREE and abs(quadratic.x[a]) <= level:
                sign = 1.0 if quadratic.x[a] > 0.0 else -1.0
                fixed += sign * (quadratic.x[a] + quadratic.rhs_fixed[i])
                moving += sign * quadratic.rhs_per_level[i]
        target = fixed / (kappa - n_quadratic - moving)
        if not target > lowest:
            target = lowest
    length, blocking = 1.0, -1
    for i in range(count):
        a = face[i]
        step[i] += target * quadratic.rhs_per_level[i]
        if quadratic.kind[a] == FREE and abs(quadratic.x[a]) <= level:
            after = quadratic.x[a] + step[i]
            if after * quadratic.x[a] <= 0.0 and quadratic.x[a] / (quadratic.x[a] - after) < length:
                length, blocking = quadratic.x[a] / (quadratic.x[a] - after), a
    exact = blocking < 0
    new_level = level + length * (target - level)
    for i in range(count):
        a = face[i]
        was_linear = abs(quadratic.x[a]) <= level
        before = quadratic.x[a]
        quadratic.x[a] = 0.0 if a == blocking else before + length * step[i]
        if quadratic.x[a] != before:
            add_multiple(quadratic.gradient[:size], quadratic.x[a] - before, quadratic.hessian[a, :size])
        if quadratic.kind[a] == FREE:
            t = abs(quadratic.x[a])
            if (t > new_level * (1.0 + 1e-10)) if was_linear else (t < new_level * (1.0 - 1e-10)):
                exact = False
    slope = (2.0 / gamma) * new_level * (1.0 + 1e-10) + 1e-300
    for a in range(size):
        if quadratic.kind[a] == FREE and quadratic.x[a] == 0.0 and abs(quadratic.gradient[a]) > slope:
            exact = False
    return new_level, exact


@compiled
def minimise_at_level(
    quadratic: Quadratic, progress: Record, level: float, penalty: Penalty, tolerance: float, thorough: bool
) -> None:
    """Minimise the model at a fixed level: coordinate descent and face steps in turn. Monotone, hence safe.

    Descent that has become slow looks like descent that has converged: a ``thorough`` minimisation ends with a face
    step.
    """
    size = progress.working
    held = Penalty(penalty.gamma, penalty.mu, level, size)  # the level is no unknown here
    attempts = FACE_STEPS
    if thorough:
        attempts += min(4 * size, THOROUGH_WORK // (size * size * size + 1))
    for _attempt in range(attempts):
        for _ in range(5 + sweeps_of_a_face_step(quadratic, size)):
            if progress.halted:
                return
            largest, _ = sweep(quadratic, size, level, penalty.gamma)
            if largest * size <= tolerance:
                if not thorough:
                    return
                break
        level, exact = face_step(quadratic, progress, level, held)
        if exact:
            return


@compiled
def minimise(quadratic: Quadratic, progress: Record, penalty: Penalty, tolerance: float, thorough: bool) -> float:
    """Minimise the quadratic model, penalty included; returns the level of its minimiser."""
    size: int = progress.working
    level: float = progress.level
    prepare_sweeps(quadratic, size, penalty.gamma)
    free = 0
    for a in range(size):
        if quadratic.kind[a] == FREE:
            free += 1
    if free == 0:
        face_step(quadratic, progress, level, penalty)
        return level
    if free <= penalty.kappa and level <= penalty.lowest:
        minimise_at_level(quadratic, progress, level, penalty, tolerance, thorough)
        return level
    level, found = descend_with_level(quadratic, progress, level, penalty, tolerance, thorough)
    if found or not thorough:  # a step towards the minimiser is a good one, too, far from the solution
        return level
    return bracket_level(quadratic, progress, level, penalty, tolerance)


@inlined
def descend_with_level(
    quadratic: Quadratic, progress: Record, level: float, penalty: Penalty, tolerance: float, thorough: bool
) -> tuple[float, bool]:
    """Descent with the level adjusted on the way: enough almost always. Returns the level, and whether it was."""
    size, kappa, lowest = progress.working, penalty.kappa, penalty.lowest
    for _attempt in range(LEVEL_DESCENTS):
        for _ in range(10 + sweeps_of_a_face_step(quadratic, size)):
            if progress.halted:
                return level, True
            largest, usage = sweep(quadratic, size, level, penalty.gamma)
            misfit, proposal = budget_misfit(quadratic, size, level, penalty, usage)
            if misfit <= 0.0 and level <= lowest:
                misfit = 0.0
            if largest * size <= tolerance and budget_met(misfit, level, penalty, tolerance):
                if not thorough:
                    return level, True
                break
            if misfit != 0.0:
                level = max(proposal, lowest)
        level, exact = face_step(quadratic, progress, level, penalty)
        if exact:
            usage = usage_at(quadratic, size, level)
            misfit, proposal = budget_misfit(quadratic, size, level, penalty, usage)
            if abs(misfit) <= 1e-9 * kappa or (misfit <= 0.0 and level <= lowest):
                return level, True
    return level, False


@inlined
def bracket_level(quadratic: Quadratic, progress: Record, level: float, penalty: Penalty, tolerance: float) -> float:
    """The misfit falls as the level rises: bracket its root, minimising in between; returns the level."""
    size, lowest = progress.working, penalty.lowest
    low, high = 0.0, np.inf
    for attempt in range(LEVEL_BRACKETS):
        minimise_at_level(quadratic, progress, level, penalty, 0.1 * tolerance, True)
        if progress.halted:
            break
        usage = usage_at(quadratic, size, level)
        misfit, proposal = budget_misfit(quadratic, size, level, penalty, usage)
        if (misfit <= 0.0 and level <= lowest) or budget_met(misfit, level, penalty, tolerance):
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


@inlined
def is_shared(quadratic: Quadratic, gram: Gram, size: int) -> bool:
    """Whether to take the Hessian from the shared Gram matrix, which is begun anew where it has no room left.

    That is not worth it where it has served so few models since it was begun that their exact Hessians would have been
    cheaper, but for a try now and then.
    """
    fresh = 0
    for a in range(size):
        if quadratic.kind[a] != INTERCEPT and gram.slot_of[quadratic.feature[a]] < 0:
            fresh += 1
    rows, counts = gram.matrix.shape[0], gram.size
    if counts[0] > 0 and counts[0] + fresh <= rows:
        counts[SERVED] += 1
        return True
    if counts[0] > 0:
        counts[REFUSED] += 1
        dear = counts[SERVED] * size * size < BLOCKED_PRODUCTS * rows * rows
        if dear and counts[REFUSED] < GRAM_TRIAL_PERIOD:
            return False
        for i in range(1, counts[0]):
            gram.slot_of[gram.feature_of[i]] = -1
    gram.matrix[0, 0] = total(gram.weights)
    counts[0], counts[SERVED], counts[REFUSED] = 1, 1, 0
    return True


@compiled
def load_gram(columns: Columns, quadratic: Quadratic, gram: Gram, progress: Record, curvature: float) -> None:
    """Fill the model's Hessian from the shared Gram matrix, scaled to the total ``curvature`` at hand.

    The matrix is completed where a feature is new to it, for which it has room.
    """
    size = progress.working
    for a in range(size):
        if progress.halted:
            return
        if quadratic.kind[a] != INTERCEPT and gram.slot_of[quadratic.feature[a]] < 0:
            extend_gram(columns, gram, quadratic.feature[a], quadratic.scaled[0])
    scale = GRAM_INFLATION * curvature / gram.matrix[0, 0]
    slot = quadratic.face
    for a in range(size):
        slot[a] = 0 if quadratic.kind[a] == INTERCEPT else gram.slot_of[quadratic.feature[a]]
    for a in range(size):
        line = gram.matrix[slot[a]]
        for other in range(a + 1):
            value = scale * line[slot[other]]
            quadratic.hessian[a, other] = value
            quadratic.hessian[other, a] = value


@inlined
def extend_gram(columns: Columns, gram: Gram, j: int, scaled: FloatArray) -> None:
    """Give feature ``j`` a row of the Gram matrix."""
    i = gram.size[0]
    weigh_column(columns, j, gram.weights, scaled)
    sum_of_scaled = total(scaled)
    gram.matrix[i, 0] = sum_of_scaled
    gram.matrix[0, i] = sum_of_scaled
    gram.slot_of[j] = i
    gram.feature_of[i] = j
    gram.size[0] = i + 1
    for other in range(1, i + 1):
        value = dot_column(columns, gram.feature_of[other], scaled, sum_of_scaled)
        gram.matrix[i, other] = value
        gram.matrix[other, i] = value


@compiled
def load_hessian(columns: Columns, quadratic: Quadratic, progress: Record, curvature: FloatArray) -> None:
    """Fill the model's Hessian at the current iterate: true Newton steps. One that is halted is left as it is."""
    size, scaled = progress.working, quadratic.scaled
    if has_short_columns(columns):
        load_sparse_hessian(columns, quadratic, progress, curvature)
        return
    padded = (size + 3) // 4 * 4
    for a in range(padded):
        clear(quadratic.hessian[a, :padded])
    for first in range(0, curvature.size, SAMPLES_OF_A_PANEL):
        if progress.halted:
            return
        last = min(first + SAMPLES_OF_A_PANEL, curvature.size)
        weigh_panel(columns, quadratic, size, curvature, first, last)
        add_products(scaled, last - first, padded, quadratic.hessian)
    for a in range(size):
        for other in range(a):
            quadratic.hessian[other, a] = quadratic.hessian[a, other]


@inlined
def weigh_panel(
    columns: Columns, quadratic: Quadratic, size: int, curvature: FloatArray, first: int, last: int
) -> None:
    """The working set's entries for some samples, times the roots of their weights, and zeros up to three rows on."""
    scaled, count = quadratic.scaled, last - first
    roots = scaled[scaled.shape[0] - 1, :count]
    for i in range(count):
        roots[i] = np.sqrt(curvature[first + i])
    for a in range(size):
        if quadratic.kind[a] == INTERCEPT:
            copy_into(scaled[a, :count], roots)
        else:
            weigh_entries(columns, quadratic.feature[a], first, roots, scaled[a, :count])
    for a in range(size, (size + 3) // 4 * 4):
        clear(scaled[a, :count])


@inlined
def load_sparse_hessian(columns: Columns, quadratic: Quadratic, progress: Record, curvature: FloatArray) -> None:
    """The same where most columns have few entries: a product is a sum over these."""
    sums = quadratic.rhs_fixed
    for a in range(progress.working):
        if progress.halted:
            return
        scaled = quadratic.scaled[a]
        if quadratic.kind[a] == INTERCEPT:
            copy_into(scaled, curvature)
        else:
            weigh_column(columns, quadratic.feature[a], curvature, scaled)
        sums[a] = total(scaled)
        for other in range(a + 1):
            if quadratic.kind[a] == INTERCEPT:
                value = sums[other]
            else:
                value = dot_column(columns, quadratic.feature[a], quadratic.scaled[other], sums[other])
            quadratic.hessian[a, other] = value
            quadratic.hessian[other, a] = value


@compiled
def add_products(rows: FloatArray, count: int, size: int, products: FloatArray) -> None:
    """Add the inner products of the first rows, over so many entries, four by four, to the lower triangle."""
    for a in range(0, size, 4):
        for other in range(0, a + 1, 4):
            add_sixteen_products(rows, count, a, other, products)


@reordered
def add_sixteen_products(rows: FloatArray, count: int, a: int, b: int, products: FloatArray) -> None:
    """Add the products of four rows with four others: a number that is read is used four times."""
    a0, a1, a2, a3 = rows[a, :count], rows[a + 1, :count], rows[a + 2, :count], rows[a + 3, :count]
    b0, b1, b2, b3 = rows[b, :count], rows[b + 1, :count], rows[b + 2, :count], rows[b + 3, :count]
    p00, p01, p02, p03 = 0.0, 0.0, 0.0, 0.0
    p10, p11, p12, p13 = 0.0, 0.0, 0.0, 0.0
    p20, p21, p22, p23 = 0.0, 0.0, 0.0, 0.0
    p30, p31, p32, p33 = 0.0, 0.0, 0.0, 0.0
    for i in range(count):
        p00 += a0[i] * b0[i]
        p01 += a0[i] * b1[i]
        p02 += a0[i] * b2[i]
        p03 += a0[i] * b3[i]
        p10 += a1[i] * b0[i]
        p11 += a1[i] * b1[i]
        p12 += a1[i] * b2[i]
        p13 += a1[i] * b3[i]
        p20 += a2[i] * b0[i]
        p21 += a2[i] * b1[i]
        p22 += a2[i] * b2[i]
        p23 += a2[i] * b3[i]
        p30 += a3[i] * b0[i]
        p31 += a3[i] * b1[i]
        p32 += a3[i] * b2[i]
        p33 += a3[i] * b3[i]
    add_to_line(products[a, b : b + 4], p00, p01, p02, p03)
    add_to_line(products[a + 1, b : b + 4], p10, p11, p12, p13)
    add_to_line(products[a + 2, b : b + 4], p20, p21, p22, p23)
    add_to_line(products[a + 3, b : b + 4], p30, p31, p32, p33)


@inlined
def add_to_line(line: FloatArray, first: float, second: float, third: float, fourth: float) -> None:
    """Add to four numbers."""
    line[0] += first
    line[1] += second
    line[2] += third
    line[3] += fourth
