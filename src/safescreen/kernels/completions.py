"""One more feature for a fitted model, compiled: a dual point for every candidate, and its bound without evaluating it.

Features ``F`` are fitted: predictor ``z``, ``p``, ``α = w y p``, curvatures ``C = w p (1-p)``, ``B = [A_F, 1]``. A
Newton step for a candidate ``a`` moves the predictor along ``d = a - B h``, and the dual point along ``-C d``. For all
``h`` and ``t`` with ``ρ = |t| max|d_i| < 1`` the point ``α - t C d`` lies in its domain, and bounds the support ``F``
and ``a`` by

    Σ w H(p) - t (C z)ᵀd - ½ κ(ρ) t² dᵀC d + μ (|F| + 1) - (γ/4) (Σ_F c_f² + c_a²),    c = Aᵀ(α - t C d),

because the entropy ``H`` falls below its tangent by no more than ``½ κ(ρ) p (1-p) t² d_i²``. All terms come from
products of ``a`` with ``|F| + 3`` vectors. So the best completion of a model is found, and all others are ruled out, by
one look at each column. Where that is not enough, ``d`` is formed: a sample moves by the part ``r = t y d (1-p)`` of
``p``, or ``t y d p`` of ``1-p``, whichever shrinks, and its share of the remainder follows from that alone.

Rounding. The base point is the exact ``p`` of the predictor at hand; ``α``, ``C`` and what is made of them are off by
no more than ten units relatively, entry by entry. With ``e`` four times the error of the column's correlations (which
is no less than four units of its norm), a product with a vector ``v`` is off by ``e ‖v‖``. Sums over columns are off by
``η = (m + |F| + 64)`` units of what Cauchy and Schwarz allow for their terms, in the norms ``√(vᵀC v)``. Balance is
made exact by scaling one class down by a share that costs the entropy no more than that share, as ``H`` is concave and
vanishes at 0, and moves no ``c`` by more than that share of ``2 ‖α‖ ‖a‖``. What is not a number closes nothing.
"""

from typing import NamedTuple

import numpy as np

from safescreen.arrays import FloatArray, PlaceArray
from safescreen.design.columns import Columns
from safescreen.kernels.columns import (
    add_any_column,
    add_column,
    add_in_rows,
    add_several_columns,
    copy_entries_of_short,
    dot_any_column,
    dot_dense,
    is_short,
    largest_entry,
    rows_of_short,
    value_elsewhere,
    weigh_column,
    weighted_products,
)
from safescreen.kernels.compiling import compiled, elementwise, inlined, reordered
from safescreen.kernels.losses import DualPoint, Point, dual_point, unbalanced_point
from safescreen.kernels.node import Node
from safescreen.kernels.node_relaxation import Workspace
from safescreen.kernels.quadratic import INTERCEPT, RIDGE, Quadratic
from safescreen.kernels.subproblem import Subproblem, samples_of
from safescreen.kernels.vectors import absolute_total, copy_into, dot, factorise_column, solve_factorised
from safescreen.kernels.vectors import total as sum_of
from safescreen.rounding import UNIT
from safescreen.tuning import COMPLETED_FEATURES

LARGEST_REACH = 0.9
"""How far a dual point is moved, as a part of what would take it out of its domain."""

INTERCEPT_AS_IT_IS = np.inf
"""No point is farther from balance than by all of it."""

LARGEST_IMBALANCE = 1e-6
"""A dual point farther from balance bounds nothing."""


class Completions(NamedTuple):
    """What all candidates have to do with: one entry per fitted feature, and one for the intercept if there is one."""

    inverse: FloatArray  # (entries, entries): of ``BᵀC B + 2/γ``, roughly
    product: FloatArray  # ``BᵀC a`` and ``(C z)ᵀa`` of the latest candidate
    total: FloatArray  # ``Σ C b``, and that of ``C z``
    step: FloatArray  # ``h``
    resisted: FloatArray  # ``BᵀC B h``
    predictor: FloatArray  # ``BᵀC z``
    correlation: FloatArray  # ``Bᵀα``
    error: FloatArray  # of that, per unit of ``‖α‖``
    length: FloatArray  # ``‖C b‖``
    weight: FloatArray  # ``√(bᵀC b)``
    reach: FloatArray  # ``max |b_i|``
    largest: FloatArray  # (features,): ``max |a_i|``, negative while it is not known
    point: Point  # of the predictor after a step


class Base(NamedTuple):
    """The fitted model that is to be completed."""

    alone: float  # its own bound, with nothing added
    share: float  # of a class by which its dual point is out of balance
    entropy: float  # rounded down
    length: float  # ``‖α‖``, rounded up
    mass: float  # ``Σ |α|``
    slope: float  # ``Σ α``
    pull: float  # ``‖C z‖``
    energy: float  # ``√(zᵀC z)``
    size: int  # features
    working: int  # and the intercept
    shift: float  # of the intercept, which is put to its best value


def make_completions(features: int, samples: int) -> Completions:
    """Room for models of a few features, and for what is known of the columns."""
    entries = COMPLETED_FEATURES + 2
    product, total, step, resisted, predictor = np.zeros((5, entries))
    correlation, error, length, weight, reach = np.zeros((5, entries))
    return Completions(
        inverse=np.zeros((entries, entries)),
        product=product,
        total=total,
        step=step,
        resisted=resisted,
        predictor=predictor,
        correlation=correlation,
        error=error,
        length=length,
        weight=weight,
        reach=reach,
        largest=np.full(features, -1.0),
        point=Point(*np.empty((6, samples))),
    )


@compiled
def prepare_completions(
    subproblem: Subproblem, node: Node, workspace: Workspace, completions: Completions, features: PlaceArray, size: int
) -> Base:
    """Take the node's model of ``features[:size]`` as the one to be completed; ``node.u`` becomes its predictor.

    The rows of ``quadratic.scaled`` become ``C b``, with ``C z`` as the last one.
    """
    quadratic, point, progress, columns = workspace.quadratic, workspace.point, node.progress[0], subproblem.columns
    working, m = (size + 1 if subproblem.intercept else size), node.u.size
    progress.working = working
    quadratic.kind[size] = INTERCEPT
    for i in range(m):
        node.u[i] = progress.intercept
    for a in range(size):
        quadratic.kind[a] = RIDGE
        quadratic.feature[a] = features[a]
        add_column(columns, features[a], node.x[features[a]], node.u)
    dual = unbalanced_point(samples_of(subproblem), node.u, point)
    weigh_products(columns, quadratic, working, point.curvature)
    for a in range(working):
        for other in range(a + 1):
            quadratic.factor[a, other] = quadratic.hessian[a, other]
        if quadratic.kind[a] != INTERCEPT:
            quadratic.factor[a, a] += 2.0 / subproblem.gamma
    for a in range(working):
        factorise_column(quadratic.factor, working, a)
    pull = quadratic.scaled[working]
    for i in range(m):
        pull[i] = point.curvature[i] * node.u[i]
    completions.total[working] = sum_of(pull)
    for a in range(working):
        row = quadratic.scaled[a]
        for other in range(working):
            completions.inverse[a, other] = 1.0 if other == a else 0.0
        solve_factorised(quadratic.factor, working, completions.inverse[a])
        completions.total[a] = sum_of(row)
        completions.predictor[a] = dot(row, node.u)
        completions.length[a] = np.sqrt(dot(row, row)) * (1.0 + 1e-6)
        completions.weight[a] = np.sqrt(quadratic.hessian[a, a]) * (1.0 + 1e-6)
        if quadratic.kind[a] == INTERCEPT:
            completions.reach[a] = 1.0
        else:
            j = quadratic.feature[a]
            completions.correlation[a] = dot_dense(columns, j, point.alpha)
            completions.error[a] = columns.error[j]
            completions.reach[a] = reach_of(subproblem, completions, workspace.trial, j)
    mass, slope = absolute_total(point.alpha), sum_of(point.alpha)
    excess = abs(slope) + (m + 64.0) * UNIT * mass
    share = share_to_balance(excess, mass) if subproblem.intercept else 0.0
    return Base(
        alone=bound_alone(subproblem, completions, dual, share, size),
        share=share,
        entropy=dual.entropy,
        length=dual.error_scale,
        mass=mass,
        slope=slope,
        pull=np.sqrt(dot(pull, pull)) * (1.0 + 1e-6),
        energy=np.sqrt(dot(pull, node.u)) * (1.0 + 1e-6),
        size=size,
        working=working,
        shift=dual.shift,
    )


@inlined
def weigh_products(columns: Columns, quadratic: Quadratic, working: int, curvature: FloatArray) -> None:
    """Fill the rows of ``quadratic.scaled`` with ``C b`` and the Hessian with ``BᵀC B``, all entries of it summed up.

    The Hessian of a relaxation, which proves nothing, may come from sums that lose digits.
    """
    for a in range(working):
        row = quadratic.scaled[a]
        if quadratic.kind[a] == INTERCEPT:
            copy_into(row, curvature)
        else:
            weigh_column(columns, quadratic.feature[a], curvature, row)
        for other in range(a + 1):
            if quadratic.kind[a] == INTERCEPT:
                value = sum_of(quadratic.scaled[other])
            else:
                value = dot_dense(columns, quadratic.feature[a], quadratic.scaled[other])
            quadratic.hessian[a, other] = value
            quadratic.hessian[other, a] = value


@inlined
def reach_of(subproblem: Subproblem, completions: Completions, scratch: FloatArray, j: int) -> float:
    """The largest entry of a column in size, looked up or found; entries are off by less than correlations may be."""
    if completions.largest[j] < 0.0:
        largest = largest_entry(subproblem.columns, j, subproblem.w, scratch)
        completions.largest[j] = max(largest * (1.0 + 1e-6), largest + 8.0 * subproblem.columns.error[j])
    reach: float = completions.largest[j]
    return reach


@inlined
def share_to_balance(excess: float, mass: float) -> float:
    """By which part the heavier class, which has at least half of the mass, is scaled down to balance the point."""
    return 2.002 * excess / mass


@inlined
def bound_alone(subproblem: Subproblem, completions: Completions, dual: DualPoint, share: float, size: int) -> float:
    """The bound of the fitted model itself: no coefficients make its support better."""
    if not share <= LARGEST_IMBALANCE:
        return -np.inf
    lost, price = 0.0, subproblem.mu * size
    for a in range(size):
        widened = abs(completions.correlation[a]) + (8.0 + 0.5 * share / UNIT) * dual.error_scale * completions.error[a]
        lost += widened * widened
    lost *= 0.25 * subproblem.gamma * (1.0 + 16.0 * UNIT)
    slack = 16.0 * (size + 16.0) * UNIT * (dual.entropy + price + lost)
    return dual.entropy + price - lost - share - slack


@inlined
def bound_at_rest(subproblem: Subproblem, base: Base, j: int, c: float) -> float:
    """The bound of the model with ``j``, whose correlation is ``c``, by the model's own dual point."""
    widened = abs(c) + (8.0 + 0.5 * base.share / UNIT) * base.length * subproblem.columns.error[j]
    gain = 0.25 * subproblem.gamma * widened * widened * (1.0 + 16.0 * UNIT)
    bound: float = base.alone + subproblem.mu - gain - 16.0 * UNIT * (abs(base.alone) + subproblem.mu + gain)
    return bound


@inlined
def remainder_factor(rho: float) -> float:
    """``κ(ρ) = 2/ρ + 2(1-ρ) log(1-ρ)/ρ² = Σ 2 ρⁱ / ((i+1)(i+2))``, rounded up: a few terms, and more than the rest."""
    series = 1.0 / 21.0 + rho * (1.0 / 28.0 + rho / 36.0)
    series = 1.0 / 6.0 + rho * (0.1 + rho * (1.0 / 15.0 + rho * series))
    rest = rho**8 / (45.0 * (1.0 - rho))
    return (1.0 + rho * (1.0 / 3.0 + rho * series) + rest) * (1.0 + 64.0 * UNIT)


class Step(NamedTuple):
    """Newton's step for a candidate."""

    newton: float  # its length
    reach: float  # no entry of ``d`` is larger
    doubt: float  # and none is computed with a larger error
    square: float  # ``aᵀC a``
    magnitude: float  # and the size of its terms
    along: float  # ``gᵀh``
    pulled: float  # ``(C z)ᵀd``
    bent: float  # ``dᵀC d``
    spread: float  # ``Σ |h| √(bᵀC b)``, no less than ``√((B h)ᵀC (B h))``
    blur: float  # ``Σ |h| ‖C b‖``


@inlined
def find_step(
    subproblem: Subproblem, workspace: Workspace, completions: Completions, base: Base, j: int, c: float
) -> Step:
    """Look at the column once, and let all else follow from products with it."""
    quadratic, g, h = workspace.quadratic, completions.product, completions.step
    rows, working = quadratic.scaled[: base.working + 1], base.working
    square, magnitude = weighted_products(
        subproblem.columns, j, rows, completions.total, workspace.point.curvature, workspace.trial, g
    )
    along, pulled, spread, blur = 0.0, g[working], 0.0, 0.0
    reach, error = reach_of(subproblem, completions, workspace.trial, j), subproblem.columns.error[j]
    for a in range(working):
        value = 0.0
        for other in range(working):
            value += completions.inverse[a, other] * g[other]
        h[a] = value
        along += value * g[a]
        pulled -= value * completions.predictor[a]
        spread += abs(value) * completions.weight[a]
        blur += abs(value) * completions.length[a]
        reach += abs(value) * completions.reach[a]
        error += abs(value) * completions.error[a]
    bent = square - 2.0 * along
    for a in range(working):
        value = 0.0
        for other in range(working):
            value += quadratic.hessian[a, other] * h[other]
        completions.resisted[a] = value
        bent += h[a] * value
    newton = c / (max(square - along, 0.0) + 2.0 / subproblem.gamma)
    doubt = 8.0 * error + (working + 8.0) * UNIT * reach
    return Step(newton, reach, doubt, square, magnitude, along, pulled, bent, spread, blur)


@inlined
def bound_moved(
    subproblem: Subproblem,
    workspace: Workspace,
    completions: Completions,
    base: Base,
    j: int,
    c: float,
    enough: float,
) -> tuple[float, float]:
    """The bound of the model with ``j``, by a point in the direction of Newton's step; and the length of that.

    The point is moved no farther than its domain allows for certain. Where a full step is that short by what is known
    of the columns, and the bound is ``enough``, that is all; or by what is known of a short column's entries. Else
    ``d`` is looked at entry by entry.
    """
    step = find_step(subproblem, workspace, completions, base, j, c)
    t = step.newton
    rho = abs(t) * step.reach * (1.0 + 1e-6)
    if rho <= LARGEST_REACH:
        bent = 0.5 * remainder_factor(rho) * t * t * (max(step.bent, 0.0) + bend_error(subproblem, base, step, j))
        bound = bound_along(subproblem, completions, base, step, j, c, Move(t, rho, bent))
        if bound >= enough:
            return bound, t
    if is_short(subproblem.columns, j, subproblem.y.size):
        move = move_short(subproblem, workspace, completions, base, step, j)
        bound = bound_along(subproblem, completions, base, step, j, c, move)
        if bound >= enough:
            return bound, t
    point, d = workspace.point, workspace.step
    fill_direction(subproblem, workspace, completions, base, j)
    reach = (largest_share(point.p, d, completions.point.scratch) + 2.0 * step.doubt) * (1.0 + 1e-6)
    if abs(t) * reach > LARGEST_REACH:
        t = LARGEST_REACH / reach if c > 0.0 else -LARGEST_REACH / reach
    bent = 0.5 * fall_of_entropy(subproblem.y, point, d, t, step.doubt) * (1.0 + 1e-9)
    move = Move(t, abs(t) * reach * (1.0 + 1e-6), bent)
    return bound_along(subproblem, completions, base, step, j, c, move), step.newton


class Move(NamedTuple):
    """A step as far as it is taken."""

    t: float
    rho: float  # no ``p`` or ``1 - p`` becomes smaller by more than this part of it
    bent: float  # the entropy falls no farther than this below its tangent


@inlined
def bend_error(subproblem: Subproblem, base: Base, step: Step, j: int) -> float:
    """By how much ``dᵀC d`` may be larger than computed."""
    unit, error = units_of_sums(subproblem, base), 4.0 * subproblem.columns.error[j]
    norms = weight_of(step) + step.spread
    result: float = 2.0 * unit * step.magnitude + 2.0 * error * step.blur + 6.0 * unit * norms * norms
    return result


@inlined
def units_of_sums(subproblem: Subproblem, base: Base) -> float:
    """``η``: what sums over columns are off by, as a part of what Cauchy and Schwarz allow for their terms."""
    return (subproblem.y.size + base.size + 64.0) * UNIT


@inlined
def weight_of(step: Step) -> float:
    """No less than ``√(aᵀC a)``, and with the spread than ``√(dᵀC d)``."""
    weight: float = np.sqrt(step.magnitude) * (1.0 + 1e-6)
    return weight


@compiled
def bound_along(
    subproblem: Subproblem, completions: Completions, base: Base, step: Step, j: int, c: float, move: Move
) -> float:
    """The bound of the point that is moved so far along the step."""
    t, length, g, resisted = move.t, abs(move.t), completions.product, completions.resisted
    unit, error = units_of_sums(subproblem, base), 4.0 * subproblem.columns.error[j]
    weight = weight_of(step)
    norms, share = weight + step.spread, 0.0
    if subproblem.intercept:
        a = base.size
        excess = abs(base.slope - t * (g[a] - resisted[a])) + unit * base.mass
        excess += length * (error * completions.length[a] + 3.0 * unit * completions.weight[a] * norms)
        share = share_to_balance(excess, (1.0 - move.rho) * base.mass)
    if not (share <= LARGEST_IMBALANCE and move.rho < 1.0):
        return -np.inf
    relative = (8.0 + 0.5 * share / UNIT) * base.length
    widened = abs(c - t * (step.square - step.along)) + relative * subproblem.columns.error[j]
    widened += length * (2.0 * unit * step.magnitude + error * step.blur + 3.0 * unit * weight * norms)
    lost = widened * widened
    for a in range(base.size):
        widened = abs(completions.correlation[a] - t * (g[a] - resisted[a])) + relative * completions.error[a]
        widened += length * (error * completions.length[a] + 3.0 * unit * completions.weight[a] * norms)
        lost += widened * widened
    lost *= 0.25 * subproblem.gamma * (1.0 + 16.0 * UNIT)
    pulled_error = error * base.pull + 3.0 * unit * base.energy * norms
    price = subproblem.mu * (base.size + 1.0)
    slack = 16.0 * (base.size + 16.0) * UNIT * (base.entropy + length * abs(step.pulled) + move.bent + price + lost)
    bound: float = base.entropy - t * step.pulled - length * pulled_error - move.bent + price - lost - share - slack
    return bound


@inlined
def fill_direction(subproblem: Subproblem, workspace: Workspace, completions: Completions, base: Base, j: int) -> None:
    """Make ``workspace.step`` the direction ``d`` that :func:`find_step` has found."""
    d, columns = workspace.step, subproblem.columns
    shift = completions.step[base.size] if subproblem.intercept else 0.0
    for i in range(d.size):
        d[i] = -shift
    features, opposite = workspace.quadratic.feature, workspace.quadratic.rhs_fixed
    for a in range(base.size):
        opposite[a] = -completions.step[a]
    add_several_columns(columns, features[: base.size], opposite[: base.size], d)
    add_any_column(columns, j, 1.0, d, workspace.trial)


@elementwise
def largest_share(p: FloatArray, d: FloatArray, scratch: FloatArray) -> float:
    """The largest ``|d_i| max(p_i, 1 - p_i)``, found by their bits: those of nonnegative numbers have their order."""
    for i in range(d.size):
        scratch[i] = abs(d[i]) * max(p[i], 1.0 - p[i])
    bits, most = scratch.view(np.int64), np.int64(0)
    for i in range(d.size):
        most = max(most, bits[i])
    bits[0] = most
    largest: float = scratch[0]
    return largest


@compiled
def move_short(
    subproblem: Subproblem, workspace: Workspace, completions: Completions, base: Base, step: Step, j: int
) -> Move:
    """How far to go along a step for a column of which few entries are stored, by a look at these.

    In all other samples ``|d_i|`` is no larger than ``elsewhere``, and the remainder is that of ``ρ = |t| elsewhere``.
    """
    columns, point, d = subproblem.columns, workspace.point, workspace.trial
    count = copy_entries_of_short(columns, j, d)
    rows = rows_of_short(columns, j)
    shift = completions.step[base.size] if subproblem.intercept else 0.0
    elsewhere = abs(value_elsewhere(columns, j)) + abs(shift)
    for e in range(count):
        d[e] -= shift
    for a in range(base.size):
        h = completions.step[a]
        elsewhere += abs(h) * completions.reach[a]
        add_in_rows(columns, workspace.quadratic.feature[a], -h, rows, d)
    elsewhere = elsewhere * (1.0 + 1e-6) + step.doubt
    reach = elsewhere
    for e in range(count):
        p = point.p[rows[e]]
        reach = max(reach, abs(d[e]) * max(p, 1.0 - p) + 2.0 * step.doubt)
    reach *= 1.0 + 1e-6
    t = step.newton
    if abs(t) * reach > LARGEST_REACH:
        t = LARGEST_REACH / reach if t > 0.0 else -LARGEST_REACH / reach
    common = remainder_factor(abs(t) * elsewhere)
    fall = t * t * common * (max(step.bent, 0.0) + bend_error(subproblem, base, step, j))
    for e in range(count):
        i = rows[e]
        move, factor = remainder_of(point.p[i], subproblem.y[i], d[e], t, step.doubt)
        fall += point.curvature[i] * move * move * max(factor - common, 0.0)
    return Move(t, abs(t) * reach * (1.0 + 1e-6), 0.5 * fall * (1.0 + 1e-9))


@inlined
def remainder_of(p: float, y: float, d: float, t: float, doubt: float) -> tuple[float, float]:
    """How far a sample moves at most, and the factor of its part of the remainder.

    Of ``p`` and ``1 - p`` the one that shrinks, by the part ``r``, has the factor ``κ(r)`` in the remainder, and the
    other one 1: both weighed by the *other* one's size.
    """
    move = abs(t) * (abs(d) + doubt)
    shrinking = (1.0 - p if t * d * y > 0.0 else p) if abs(d) > doubt else 1.0
    return move, 1.0 + shrinking * (remainder_factor(move * shrinking) - 1.0)


@reordered
def fall_of_entropy(y: FloatArray, point: Point, d: FloatArray, t: float, doubt: float) -> float:
    """Twice of what the entropy falls below its tangent at most, entry by entry."""
    result = 0.0
    for i in range(d.size):
        move, factor = remainder_of(point.p[i], y[i], d[i], t, doubt)
        result += point.curvature[i] * move * move * factor
    return result


@inlined
def bound_stepped(
    subproblem: Subproblem, node: Node, workspace: Workspace, completions: Completions, base: Base, j: int, t: float
) -> float:
    """The bound of the model with ``j``, by the dual point of the predictor after Newton's step.

    It is evaluated like that of any other predictor, and follows :func:`bound_moved`, which has found the direction.
    """
    columns, quadratic, alpha = subproblem.columns, workspace.quadratic, completions.point.alpha
    u = workspace.step  # so far the direction
    for i in range(u.size):
        u[i] = node.u[i] + t * u[i]
    dual = dual_point(samples_of(subproblem), u, 0.0, completions.point, INTERCEPT_AS_IT_IS)
    widened = abs(dot_any_column(columns, j, alpha, workspace.trial)) + dual.error_scale * columns.error[j]
    lost = widened * widened
    for a in range(base.size):
        widened = abs(dot_dense(columns, quadratic.feature[a], alpha)) + dual.error_scale * completions.error[a]
        lost += widened * widened
    lost *= 0.25 * subproblem.gamma * (1.0 + 16.0 * UNIT)
    price = subproblem.mu * (base.size + 1.0)
    slack = 4.0 * (base.size + 8.0) * UNIT * (dual.entropy + price + lost)
    bound: float = dual.entropy + price - lost - slack
    return bound
