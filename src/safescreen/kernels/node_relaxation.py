"""The relaxation of one node, compiled: dual point, safe bound, working set, model step, line search.

A round costs one pass over the *hot* columns (those near the working set); the *cold* ones are looked at only when the
node is about to be decided, because a bound must cover all of them. The quadratic model's Hessian is a Gram matrix
shared by all nodes as long as that contracts, and the exact Hessian where it does not.
"""

from typing import NamedTuple

import numpy as np

from safescreen.arrays import FloatArray, Record
from safescreen.design.columns import Columns
from safescreen.kernels.columns import add_several_columns, correlate, make_dense, reserved_slots
from safescreen.kernels.compiling import compiled, inlined
from safescreen.kernels.dual_bound import NodeBound, dual_bound
from safescreen.kernels.losses import (
    INTERCEPT_AT_BEST,
    DualPoint,
    Point,
    dual_point,
    largest_curvature,
    loss_without_model,
)
from safescreen.kernels.node import Node, listed
from safescreen.kernels.quadratic import (
    INTERCEPT,
    RIDGE,
    Gram,
    Penalty,
    Quadratic,
    is_shared,
    load_gram,
    load_hessian,
    make_gram,
    make_quadratic,
    minimise,
    penalty_value,
    water_level,
)
from safescreen.kernels.subproblem import FREE, IN, OUT, Subproblem, samples_of
from safescreen.kernels.vectors import add_multiple, clear, copy_into, kth_and_next_largest, signed, total
from safescreen.rounding import UNIT
from safescreen.tuning import (
    COOLING_SHARE,
    FEW_SAMPLES,
    FIRST_NEARNESS,
    HOT_FEATURES,
    IDLE_ROUNDS,
    MODEL_SHARPNESS,
    NEARNESS_SHARE,
    RELAXATION_ROUNDS,
    SHORTEST_STEP,
    SLOW_CONTRACTION,
    STALLED_GAP,
    WARMING_SHARE,
    WORKING_SET_SHARE,
)

GRAM, NEWTON, NEWTON_EXACT, UPPER_CURVATURE = 0, 1, 2, 3
"""Strategies of a relaxation, each slower and surer than the one before.

The shared Gram matrix; exact Hessians; exact Hessians whose model is minimised exactly, too; and the largest curvature
the loss can have, whose steps never overshoot.
"""


class Workspace(NamedTuple):
    """Room for the rounds of a relaxation; but for the Gram matrix it holds nothing between two relaxations."""

    step: FloatArray
    trial: FloatArray
    point: Point
    quadratic: Quadratic
    gram: Gram


class Start(NamedTuple):
    """Where a relaxation begins, and with which strategy."""

    level: float  # τ, no lower than the price alone makes it: √(γμ)
    intercept: float
    strategy: int


class Target(NamedTuple):
    """When a relaxation may stop."""

    cutoff: float  # the safe bound reaches this: the node is pruned
    tolerance: float  # the relative duality gap is below this
    patience: float  # the node is certain to survive, and the gap is this small a part of what the bound lacks


class Relaxed(NamedTuple):
    """A relaxation as far as it was solved; what its node calls best belongs to the bound."""

    primal: float
    bound: NodeBound
    level: float
    intercept: float


def make_workspace(features: int, weights: FloatArray, capacity: int) -> Workspace:
    """Room for working sets of ``capacity`` features; untouched pages of the large arrays cost no memory."""
    samples = weights.size
    step, trial = np.zeros((2, samples))
    return Workspace(
        step=step,
        trial=trial,
        point=Point(*np.empty((6, samples))),
        quadratic=make_quadratic(capacity, samples),
        gram=make_gram(capacity, features, weights),
    )


@compiled
def relax(subproblem: Subproblem, node: Node, workspace: Workspace, start: Start, target: Target) -> None:
    """Solve the node's relaxation from the iterate in ``node`` (``u`` included) until it can be decided, or halted."""
    progress, quadratic, samples = node.progress[0], workspace.quadratic, samples_of(subproblem)
    begin(subproblem, node, start)
    penalty = Penalty(subproblem.gamma, subproblem.mu, np.sqrt(subproblem.gamma * subproblem.mu), int(progress.kappa))
    if progress.modelled and not progress.refit and adapt_model(node, quadratic):
        follow_model(subproblem, node, workspace, penalty, MODEL_SHARPNESS * progress.left)
        if progress.halted:
            return
    else:
        progress.modelled = False
        stand_still(subproblem, node, workspace)
    for attempt in range(RELAXATION_ROUNDS):
        try_step(node.u, workspace.step, progress.length, workspace.trial)
        dual = dual_point(samples, workspace.trial, progress.intercept, workspace.point, nearness(progress))
        if leads_nowhere(subproblem.loss, progress, dual):
            restart(subproblem, node, workspace)
            continue
        level = water_level(quadratic, progress.working, penalty)
        primal = dual.loss + penalty_value(quadratic, progress.working, level, penalty)
        if overshoots(progress, primal, dual):
            if not progress.settled:
                settle_intercept(progress, quadratic, workspace.step)
                continue
            shorten_step(progress, quadratic, workspace.step)
            continue
        accept_step(node, workspace, primal, dual)
        evaluate_bound(subproblem, node, workspace.point, dual, target, attempt == RELAXATION_ROUNDS - 1)
        if is_finished(progress, target) or attempt == RELAXATION_ROUNDS - 1:
            break
        if not progress.stalled:
            choose_strategy(progress)
            build_model(subproblem, node, workspace)
            if progress.halted:
                break
            follow_model(subproblem, node, workspace, penalty, model_tolerance(progress, target))
            if progress.halted:
                break
            progress.modelled = True
    progress.left = max(progress.primal - progress.bound, target.patience * (target.cutoff - progress.bound))


@inlined
def begin(subproblem: Subproblem, node: Node, start: Start) -> None:
    """Set a relaxation up: its features and its strategy."""
    progress = node.progress[0]
    decided = split(node)
    progress.decided = decided
    progress.refit = decided == progress.hot + progress.cold
    progress.strategy = max(start.strategy, NEWTON) if progress.refit else start.strategy
    progress.idle_limit = 0 if progress.refit else IDLE_ROUNDS
    progress.kappa = max(subproblem.k - decided, 0)
    progress.level = start.level
    progress.intercept = start.intercept
    progress.primal = np.inf
    progress.bound = -np.inf
    progress.kth_gain = 0.0
    progress.next_gain = 0.0
    progress.gap = np.inf
    progress.sharpness = MODEL_SHARPNESS
    progress.idle = 0
    progress.stalled = False
    progress.restarted = False
    progress.settled = not subproblem.intercept
    progress.work = 0


@compiled
def follow_model(subproblem: Subproblem, node: Node, workspace: Workspace, penalty: Penalty, tolerance: float) -> None:
    """Make the minimiser of the quadratic model the next trial."""
    progress, quadratic = node.progress[0], workspace.quadratic
    level = minimise(quadratic, progress, penalty, tolerance, progress.strategy >= NEWTON_EXACT)
    if not progress.halted:
        progress.level = level if level < np.inf else penalty.lowest
        direction(subproblem.columns, quadratic, progress.working, workspace.step)
        progress.length = 1.0


@inlined
def adapt_model(node: Node, quadratic: Quadratic) -> bool:
    """Turn the model that led to the parent's iterate into one for its child, which saves a look at that iterate again.

    The gradient is the one at the iterate, features ruled out since then are taken back to zero, as in the predictor,
    and leave. False if a feature decided in since is not in the model.
    """
    progress, hessian, face = node.progress[0], quadratic.hessian, quadratic.face
    size, kept, decided = progress.working, 0, 0
    for a in range(size):
        if quadratic.kind[a] == INTERCEPT:
            quadratic.x[a] = progress.intercept
            quadratic.gradient[a] = -progress.slope
        else:
            quadratic.gradient[a] = -node.c[quadratic.feature[a]]
    for a in range(size):
        if quadratic.kind[a] != INTERCEPT:
            status = node.status[quadratic.feature[a]]
            if status == OUT:
                add_multiple(quadratic.gradient[:size], -quadratic.x[a], hessian[a, :size])
                continue
            quadratic.kind[a] = RIDGE if status == IN else FREE
            quadratic.x[a] = node.x[quadratic.feature[a]]
            decided += 1 if status == IN else 0
        face[kept] = a
        kept += 1
    for i in range(kept):
        a = face[i]
        quadratic.kind[i] = quadratic.kind[a]
        quadratic.feature[i] = quadratic.feature[a]
        quadratic.x[i] = quadratic.x[a]
        quadratic.start[i] = quadratic.x[a]
        quadratic.gradient[i] = quadratic.gradient[a]
        for other in range(kept):
            hessian[i, other] = hessian[a, face[other]]
    progress.working = kept
    complete: bool = decided == progress.decided
    return complete


@inlined
def split(node: Node) -> int:
    """List the features not ruled out, hot ones in ``features``, others in ``cold``; returns how many are in."""
    hot, cold, decided = 0, 0, 0
    for j in listed(node):
        if node.status[j] == OUT:
            continue
        if node.status[j] == IN:
            decided += 1
        if node.hot[j] or node.status[j] == IN or node.x[j] != 0.0:
            node.features[hot] = j
            hot += 1
        else:
            node.cold[cold] = j
            cold += 1
    progress = node.progress[0]
    progress.hot = hot
    progress.cold = cold
    return decided


@compiled
def stand_still(subproblem: Subproblem, node: Node, workspace: Workspace) -> None:
    """Make the iterate the next trial: a working set of what is not zero, and no step."""
    progress = node.progress[0]
    gather(node, workspace.quadratic, np.inf, subproblem.intercept)
    clear(workspace.step)
    progress.length = 1.0


@inlined
def try_step(u: FloatArray, step: FloatArray, length: float, trial: FloatArray) -> None:
    """The linear predictor after the step, as long as it is now."""
    for i in range(u.size):
        trial[i] = u[i] + length * step[i]


@inlined
def nearness(progress: Record) -> float:
    """How near its best the intercept must be, see :func:`dual_point`: bounds lose a small part of the gap."""
    if progress.settled:
        return INTERCEPT_AT_BEST
    if not progress.gap < np.inf:
        return FIRST_NEARNESS
    share: float = NEARNESS_SHARE * progress.gap / progress.primal
    return min(share, FIRST_NEARNESS)


@inlined
def leads_nowhere(code: int, progress: Record, dual: DualPoint) -> bool:
    """Whether to begin again with no model: the start is worse than none at all, or stalled before its goal. Once.

    A predictor that is not finite is worse than none, whatever its loss; see :func:`overshoots`.
    """
    if progress.restarted:
        return False
    stuck = progress.stalled and progress.primal - progress.bound > STALLED_GAP * progress.primal
    unusable = progress.primal == np.inf and not dual.entropy > -np.inf
    return dual.loss > loss_without_model(code) or unusable or stuck


@compiled
def restart(subproblem: Subproblem, node: Node, workspace: Workspace) -> None:
    """Begin again with no model; the best bound so far stays."""
    progress = node.progress[0]
    progress.restarted = True
    progress.modelled = False
    progress.stalled = False
    progress.strategy = min(progress.strategy, NEWTON_EXACT)
    progress.primal = np.inf
    progress.gap = np.inf
    progress.intercept = 0.0
    progress.slope = 0.0
    progress.idle = 0
    clear(node.x)
    clear(node.u)
    stand_still(subproblem, node, workspace)


@inlined
def overshoots(progress: Record, primal: float, dual: DualPoint) -> bool:
    """Whether a step must be shortened: it does not decrease the objective, or is no number. Length zero stays.

    Badly scaled columns can make a step overflow. The loss of such a predictor may look fine, but its entropy is no
    number: infinite predictors have ``p a = 0 · inf``.
    """
    decreases = primal <= progress.primal + 4.0 * UNIT * abs(progress.primal) and dual.entropy > -np.inf
    return not decreases and progress.length > 0.0


@inlined
def settle_intercept(progress: Record, quadratic: Quadratic, step: FloatArray) -> None:
    """Look at the iterate again, with the intercept at its best: only there the balanced point is the gradient."""
    progress.settled = True
    progress.modelled = False
    progress.length = 0.0
    clear(step)
    for a in range(progress.working):
        quadratic.x[a] = quadratic.start[a]
        quadratic.move[a] = 0.0


@inlined
def shorten_step(progress: Record, quadratic: Quadratic, step: FloatArray) -> None:
    """Halve the step; one that cannot be made short enough needs a model that never overshoots."""
    escalate(progress)
    progress.modelled = False
    progress.length = 0.5 * progress.length if progress.length > SHORTEST_STEP else 0.0
    if progress.length == 0.0:
        if progress.strategy == UPPER_CURVATURE:
            progress.stalled = True
        progress.strategy = UPPER_CURVATURE
        clear(step)  # it may have entries that are not finite, and zero times these is not zero
        clear(quadratic.move)
    for a in range(progress.working):
        quadratic.x[a] = quadratic.start[a] + progress.length * quadratic.move[a]


@inlined
def escalate(progress: Record) -> None:
    """The next slower and surer strategy."""
    if progress.strategy < NEWTON_EXACT:
        progress.strategy += 1


@inlined
def accept_step(node: Node, workspace: Workspace, primal: float, dual: DualPoint) -> None:
    """Move the iterate to the trial, and count rounds that brought nothing."""
    progress, quadratic = node.progress[0], workspace.quadratic
    if progress.length > 0.0:
        progress.strategy = min(progress.strategy, NEWTON_EXACT)
    idled = primal > progress.primal - 4.0 * UNIT * abs(progress.primal)  # false at first, where inf - inf is nan
    looked_again = progress.length == 0.0  # for a better step, which is yet to be tried
    progress.idle = progress.idle + 1 if idled and progress.settled and not looked_again else 0
    progress.settled = progress.settled or idled
    progress.stalled = progress.stalled or progress.idle > progress.idle_limit
    progress.primal = primal
    copy_into(node.u, workspace.trial)
    for a in range(progress.working):
        if quadratic.kind[a] == INTERCEPT:
            progress.intercept = quadratic.x[a]
        else:
            node.x[quadratic.feature[a]] = quadratic.x[a]
    progress.intercept += dual.shift
    progress.slope = dual.slope
    size = progress.working
    solving = size * size * (size if progress.strategy >= NEWTON_EXACT else 1)
    progress.work += (progress.hot + size + 64) * node.u.size + 8 * solving


@inlined
def evaluate_bound(
    subproblem: Subproblem, node: Node, point: Point, dual: DualPoint, target: Target, at_last: bool
) -> None:
    """The bound of the dual point, completed by the cold features where it may decide the node; keep the best."""
    progress = node.progress[0]
    correlate(subproblem.columns, node.features, progress.hot, point.alpha, node.c, progress)
    covered, complete = progress.hot, progress.cold == 0
    while True:
        bound = dual_bound(subproblem, node, covered, dual, progress.kappa)
        if complete or not (at_last or progress.stalled or may_decide(progress, bound.value, target)):
            break
        covered, complete = progress.hot + progress.cold, True
        look_at_cold(subproblem, node, point.alpha)
        if progress.halted:
            return
    progress.bound_here = bound.value
    if complete and bound.value > progress.bound:
        keep_best(node, point.alpha, bound, covered)


@inlined
def may_decide(progress: Record, value: float, target: Target) -> bool:
    """Whether a bound over the hot features is good enough for the cold ones to be worth a look."""
    hope: float = max(value, progress.bound)
    gap: float = progress.primal - hope
    enough = max(target.tolerance * progress.primal, target.patience * (target.cutoff - hope))
    return hope >= target.cutoff or gap <= enough


@inlined
def look_at_cold(subproblem: Subproblem, node: Node, alpha: FloatArray) -> None:
    """Correlate the cold features too; those that matter become hot, hot ones that no longer do will be cold next time.

    What matters is how a correlation compares with the one at which a coefficient becomes non-zero. ``features`` then
    lists the hot ones first and all others behind.
    """
    progress, columns = node.progress[0], subproblem.columns
    hot, cold = progress.hot, progress.cold
    correlate(columns, node.cold, cold, alpha, node.c, progress)
    if progress.halted:
        return
    sink(subproblem, node, cold)
    entering = 2.0 * progress.level / subproblem.gamma
    for i in range(hot):
        j = node.features[i]
        if node.x[j] == 0.0 and abs(node.c[j]) < COOLING_SHARE * entering and node.x.size > HOT_FEATURES:
            node.hot[j] = False
    warmed, kept = hot, 0
    reserved = reserved_slots(columns, subproblem.k)
    for i in range(cold):
        j = node.cold[i]
        if abs(node.c[j]) > WARMING_SHARE * entering and make_dense(columns, signed(j), reserved):
            node.hot[j] = True
            node.features[warmed] = j
            warmed += 1
        else:
            node.cold[kept] = j
            kept += 1
    for i in range(kept):
        node.features[warmed + i] = node.cold[i]
    progress.hot = warmed
    progress.cold = kept


@inlined
def sink(subproblem: Subproblem, node: Node, cold: int) -> None:
    """Where nothing free is in use, lower the level to where the strongest feature enters, or nothing ever would.

    So many cold features count as well.
    """
    progress, strongest = node.progress[0], 0.0
    if progress.kappa == 0:
        return
    for i in range(progress.hot):
        j = node.features[i]
        if node.status[j] == FREE:
            if node.x[j] != 0.0:
                return
            strongest = max(strongest, abs(node.c[j]))
    for i in range(cold):
        strongest = max(strongest, abs(node.c[node.cold[i]]))
    lowest = np.sqrt(subproblem.gamma * subproblem.mu)
    progress.level = max(min(progress.level, 0.5 * subproblem.gamma * strongest), lowest)


@inlined
def keep_best(node: Node, alpha: FloatArray, bound: NodeBound, covered: int) -> None:
    """Remember the dual point behind the best bound, and the iterate it belongs to."""
    progress = node.progress[0]
    progress.bound = bound.value
    progress.kth_gain = bound.kth_gain
    progress.next_gain = bound.next_gain
    for i in range(covered):
        j = node.features[i]
        node.best_q[j] = node.q[j]
    copy_into(node.best_alpha, alpha)
    for j in listed(node):
        node.best_x[j] = node.x[j]
    node.best_b[0] = progress.intercept


@inlined
def is_finished(progress: Record, target: Target) -> bool:
    """Pruned, solved, out of moves, or certain to survive."""
    gap: float = progress.primal - progress.bound
    if progress.bound >= target.cutoff or gap <= target.tolerance * progress.primal:
        return True
    if progress.stalled:
        given_up: bool = progress.restarted
        return given_up or gap <= STALLED_GAP * progress.primal
    survives: bool = progress.primal < target.cutoff and progress.bound > -np.inf
    return survives and gap <= target.patience * (target.cutoff - progress.bound)


@inlined
def choose_strategy(progress: Record) -> None:
    """Slow contraction asks for exact Hessians, then for a sharper minimiser, and at last for an exact one."""
    gap = progress.primal - max(progress.bound_here, progress.bound)
    if not gap > 0.5 * progress.gap:
        progress.idle = 0
    if gap > SLOW_CONTRACTION * progress.gap:
        if progress.strategy < NEWTON or progress.sharpness < MODEL_SHARPNESS:
            escalate(progress)
        progress.sharpness = max(MODEL_SHARPNESS * progress.sharpness, 1e-12)
    progress.gap = gap
    if progress.refit and gap <= 1e-10 * progress.primal:
        progress.idle_limit = -1  # so close, one more Newton step reaches what the numbers can hold


@inlined
def build_model(subproblem: Subproblem, node: Node, workspace: Workspace) -> None:
    """The quadratic model of the objective over the working set, with the strategy's Hessian."""
    progress, quadratic, point = node.progress[0], workspace.quadratic, workspace.point
    sink(subproblem, node, 0)
    promising = WORKING_SET_SHARE * 2.0 * progress.level / subproblem.gamma
    gather(node, quadratic, promising, subproblem.intercept)
    size = progress.working
    many = max(node.u.size, size) > FEW_SAMPLES
    if progress.strategy == GRAM and many and is_shared(quadratic, workspace.gram, size):
        load_gram(subproblem.columns, quadratic, workspace.gram, progress, total(point.curvature))
        return
    if progress.strategy == UPPER_CURVATURE:
        largest = largest_curvature(subproblem.loss)
        for i in range(subproblem.w.size):
            workspace.trial[i] = largest * subproblem.w[i]
    else:
        copy_into(workspace.trial, point.curvature)
    load_hessian(subproblem.columns, quadratic, progress, workspace.trial)
    progress.work += size * size * node.u.size // 8


@inlined
def model_tolerance(progress: Record, target: Target) -> float:
    """How far from its minimum the model may be left: a small part of the gap."""
    gap: float = max(min(progress.gap, 0.1 * progress.primal), 0.1 * target.tolerance * progress.primal)
    tolerance: float = progress.sharpness * gap
    return tolerance


@compiled
def gather(node: Node, quadratic: Quadratic, threshold: float, intercept: bool) -> None:
    """Build the working set: decided-in features, non-zeros, and those whose correlation is above the threshold.

    Where there is no room for all of these, the strongest are taken.
    """
    progress = node.progress[0]
    capacity = quadratic.x.size - 1
    size = gather_stronger(node, quadratic, threshold)
    if size > capacity and threshold < np.inf:
        size = gather_stronger(node, quadratic, strength_of_those_that_fit(node, capacity))
    size = min(size, capacity)
    if intercept:
        quadratic.kind[size] = INTERCEPT
        quadratic.x[size] = progress.intercept
        quadratic.gradient[size] = -progress.slope
        size += 1
    for a in range(size):
        quadratic.start[a] = quadratic.x[a]
    progress.working = size


@inlined
def gather_stronger(node: Node, quadratic: Quadratic, threshold: float) -> int:
    """Put what is in use and what is above the threshold in the model, as far as there is room; returns how many."""
    size, capacity = 0, quadratic.x.size - 1
    for i in range(node.progress[0].hot):
        j = node.features[i]
        if node.status[j] == IN or node.x[j] != 0.0 or abs(node.c[j]) > threshold:
            if size < capacity:
                quadratic.kind[size] = RIDGE if node.status[j] == IN else FREE
                quadratic.feature[size] = j
                quadratic.x[size] = node.x[j]
                quadratic.gradient[size] = -node.c[j]
            size += 1
    return size


@compiled
def strength_of_those_that_fit(node: Node, capacity: int) -> float:
    """The correlation above which there are no more features than there is room for beside those in use."""
    used, others = 0, 0
    for i in range(node.progress[0].hot):
        j = node.features[i]
        if node.status[j] == IN or node.x[j] != 0.0:
            used += 1
        else:
            node.scratch[others] = abs(node.c[j])
            others += 1
    if used >= capacity:
        return np.inf
    _, strength = kth_and_next_largest(node.scratch, others, capacity - used)
    return strength


@inlined
def direction(columns: Columns, quadratic: Quadratic, size: int, step: FloatArray) -> None:
    """The model's step, in coordinates (``quadratic.move``) and in the predictor (``step``)."""
    moved, shift = 0, 0.0
    features, moves = quadratic.face, quadratic.rhs_fixed
    for a in range(size):
        move = quadratic.x[a] - quadratic.start[a]
        quadratic.move[a] = move
        if quadratic.kind[a] == INTERCEPT:
            shift = move
        elif move != 0.0:
            features[moved] = quadratic.feature[a]
            moves[moved] = move
            moved += 1
    for i in range(step.size):
        step[i] = shift
    add_several_columns(columns, features[:moved], moves[:moved], step)
