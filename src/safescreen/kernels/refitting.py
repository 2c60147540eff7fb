"""Ridge regression on one support, compiled: Newton's method on a handful of columns, and nothing else.

A relaxation with everything decided would do the same, but its bookkeeping is about all features. Where models are
listed by the thousand, only the columns of the support may count.
"""

from typing import NamedTuple

import numpy as np

from safescreen.kernels.columns import add_column, dot_column
from safescreen.kernels.compiling import compiled, inlined
from safescreen.kernels.losses import (
    INTERCEPT_AT_BEST,
    INTERCEPT_NEARNESS,
    DualPoint,
    dual_point,
    loss_without_model,
)
from safescreen.kernels.node import Node
from safescreen.kernels.node_relaxation import Workspace, direction, try_step
from safescreen.kernels.quadratic import INTERCEPT, RIDGE, Quadratic, load_hessian
from safescreen.kernels.subproblem import Subproblem, samples_of
from safescreen.kernels.vectors import clear, copy_into, factorise_column, solve_factorised, total
from safescreen.rounding import UNIT
from safescreen.tuning import REFIT_ROUNDS, REFIT_TOLERANCE


class Fitted(NamedTuple):
    """A support's objective at the iterate, a safe lower bound on the best it can have, and the intercept."""

    objective: float
    bound: float
    intercept: float


@compiled
def fit_support(
    subproblem: Subproblem, node: Node, workspace: Workspace, size: int, intercept: float, cutoff: float
) -> Fitted:
    """Fit ``quadratic.feature[:size]`` from ``quadratic.x[:size]`` until solved, or proved to be above the cutoff.

    ``node`` lends its predictor and its progress. The dual point of the last iterate is the one behind the bound. It is
    balanced, which the gradient is only where the intercept is at its best: it is put there once steps do not help.
    """
    quadratic, progress = workspace.quadratic, node.progress[0]
    set_up(subproblem, node, workspace, size, intercept)
    length, objective, bound, fresh = 1.0, np.inf, -np.inf, False
    worst = loss_without_model(subproblem.loss) + subproblem.mu * size
    nearness = INTERCEPT_NEARNESS if subproblem.intercept else INTERCEPT_AT_BEST
    for _ in range(REFIT_ROUNDS):
        try_step(node.u, workspace.step, length, workspace.trial)
        dual = dual_point(samples_of(subproblem), workspace.trial, progress.intercept, workspace.point, nearness)
        trial = dual.loss + ridge_and_price(subproblem, quadratic, size)
        rejected = not trial <= objective + 4.0 * UNIT * abs(objective)
        idle = trial > objective - 4.0 * UNIT * abs(objective)
        lost = objective == np.inf and not trial <= worst
        if (rejected or idle) and nearness > INTERCEPT_AT_BEST:  # the balanced point is too far from the gradient
            nearness, objective = INTERCEPT_AT_BEST, np.inf
            length = shorten(quadratic, 0.0, progress.working)
            clear(workspace.step)
            continue
        if rejected and not lost:
            length = shorten(quadratic, length, progress.working)
            lost = length == 0.0
        if lost:  # Newton's method does not find back from anywhere
            if fresh:
                break
            fresh, objective, length = True, np.inf, 1.0
            start_from_nothing(subproblem, node, workspace, size)
        if rejected or lost:
            continue
        objective = trial
        if subproblem.intercept:
            quadratic.x[size] += dual.shift
            progress.intercept = quadratic.x[size]
        copy_into(node.u, workspace.trial)
        bound = bound_support(subproblem, workspace, size, dual)
        progress.work += (size + 64) * node.u.size
        if idle or bound > cutoff or objective - bound <= REFIT_TOLERANCE * objective:
            break
        newton_step(subproblem, node, workspace, size, dual.slope)
        if progress.halted:
            break
        length = 1.0
    return Fitted(objective, bound, progress.intercept)


@inlined
def set_up(subproblem: Subproblem, node: Node, workspace: Workspace, size: int, intercept: float) -> None:
    """Coordinates, intercept and the predictor of the start, and no step yet."""
    quadratic, progress = workspace.quadratic, node.progress[0]
    clear(workspace.step)
    progress.intercept = intercept
    progress.working = size + 1 if subproblem.intercept else size
    progress.work = 0
    for i in range(node.u.size):
        node.u[i] = intercept
    for a in range(size):
        quadratic.kind[a] = RIDGE
        add_column(subproblem.columns, quadratic.feature[a], quadratic.x[a], node.u)
    if subproblem.intercept:
        quadratic.kind[size] = INTERCEPT
        quadratic.x[size] = intercept
    for a in range(progress.working):
        quadratic.start[a] = quadratic.x[a]
        quadratic.move[a] = 0.0


@inlined
def start_from_nothing(subproblem: Subproblem, node: Node, workspace: Workspace, size: int) -> None:
    """Forget a start that is worse than no model at all, or that no step leads away from."""
    for a in range(size):
        workspace.quadratic.x[a] = 0.0
    set_up(subproblem, node, workspace, size, 0.0)


@inlined
def ridge_and_price(subproblem: Subproblem, quadratic: Quadratic, size: int) -> float:
    """What the coefficients cost."""
    squares = 0.0
    for a in range(size):
        squares += quadratic.x[a] * quadratic.x[a]
    return squares / subproblem.gamma + subproblem.mu * size


@inlined
def shorten(quadratic: Quadratic, length: float, working: int) -> float:
    """Halve a step that does not decrease the objective, and give up where it is short already."""
    shorter = 0.5 * length if length > 1e-6 else 0.0
    for a in range(working):
        quadratic.x[a] = quadratic.start[a] + (shorter * quadratic.move[a] if shorter > 0.0 else 0.0)
    return shorter


@inlined
def bound_support(subproblem: Subproblem, workspace: Workspace, size: int, dual: DualPoint) -> float:
    """The dual bound of the support alone; see :func:`safescreen.kernels.dual_bound.dual_bound`. Fills the gradient."""
    quadratic, columns = workspace.quadratic, subproblem.columns
    quarter = 0.25 * subproblem.gamma * (1.0 + 16.0 * UNIT)
    lost, magnitude = 0.0, dual.entropy
    alpha_total = total(workspace.point.alpha)
    for a in range(size):
        j = quadratic.feature[a]
        c = dot_column(columns, j, workspace.point.alpha, alpha_total)
        quadratic.gradient[a] = -c
        widened = abs(c) + dual.error_scale * columns.error[j]
        q = quarter * widened * widened
        lost += q - subproblem.mu
        magnitude += q + subproblem.mu
    return dual.entropy - lost - 2.0 * (size + 8.0) * UNIT * magnitude


@inlined
def newton_step(subproblem: Subproblem, node: Node, workspace: Workspace, size: int, slope: float) -> None:
    """Newton's step, in coordinates and in the predictor."""
    quadratic, progress = workspace.quadratic, node.progress[0]
    load_hessian(subproblem.columns, quadratic, progress, workspace.point.curvature)
    working, ridge, move = progress.working, 2.0 / subproblem.gamma, quadratic.rhs_fixed
    for a in range(working):
        for other in range(a + 1):
            quadratic.factor[a, other] = quadratic.hessian[a, other]
        move[a] = slope
        quadratic.start[a] = quadratic.x[a]
        if a < size:
            quadratic.factor[a, a] += ridge
            move[a] = -quadratic.gradient[a] - ridge * quadratic.x[a]
    for a in range(working):
        factorise_column(quadratic.factor, working, a)
    solve_factorised(quadratic.factor, working, move)
    for a in range(working):
        quadratic.x[a] += move[a]
    direction(subproblem.columns, quadratic, working, workspace.step)
    progress.work += working * working * node.u.size
