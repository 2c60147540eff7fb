"""The dual bound of a node and the screening rule that rests on it, compiled: formula and rule side by side.

For any dual point the node's optimum is at least

    D(p) = Σ w_i H(p_i) + Σ_in (μ - q_j) - Σ_{κ largest free} (q_j - μ)₊,      q_j = γ c_j² / 4,  c = Aᵀα,

evaluated here with every ``|c_j|`` widened by what rounding can have taken from it, and the error of the sums
subtracted. The same for the whole problem, in NumPy, is :mod:`safescreen.relaxation.bounds`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from safescreen.kernels.compiling import inlined
from safescreen.kernels.losses import DualPoint
from safescreen.kernels.subproblem import IN, OUT, Subproblem
from safescreen.kernels.vectors import kth_and_next_largest
from safescreen.rounding import UNIT

if TYPE_CHECKING:
    from safescreen.kernels.node import Node


class NodeBound(NamedTuple):
    """A safe lower bound, and the two gains that screening compares with."""

    value: float
    kth_gain: float  # the κ-th largest gain (q - μ)₊ among free features, 0 if there are fewer
    next_gain: float  # and the next one


@inlined
def dual_bound(subproblem: Subproblem, node: Node, count: int, dual: DualPoint, kappa: int) -> NodeBound:
    """Safe lower bound over ``node.features[:count]``, none of them out; fills ``node.q``, rounded up."""
    error, mu = subproblem.columns.error, subproblem.mu
    features, status, c, q, gains = node.features, node.status, node.c, node.q, node.scratch
    quarter = 0.25 * subproblem.gamma * (1.0 + 16.0 * UNIT)
    fixed, total_gain, magnitude, free = 0.0, 0.0, dual.entropy, 0
    for i in range(count):
        j = features[i]
        widened = abs(c[j]) + dual.error_scale * error[j]
        q[j] = quarter * widened * widened
        if status[j] == IN:
            fixed += mu - q[j]
            magnitude += mu + q[j]
        elif q[j] > mu:
            gain = q[j] - mu
            gains[free] = gain
            total_gain += gain
            free += 1
    if free <= kappa:
        kth_gain, next_gain = 0.0, 0.0
        for i in range(free if free == kappa else 0):
            kth_gain = gains[i] if i == 0 else min(kth_gain, gains[i])
    else:
        kth_gain, next_gain = kth_and_next_largest(gains, free, kappa)
        total_gain = 0.0
        for i in range(kappa):
            total_gain += gains[i]
    magnitude += total_gain
    slack = 2.0 * (count + 8.0) * UNIT * magnitude
    return NodeBound(dual.entropy + fixed - total_gain - slack, kth_gain, next_gain)


@inlined
def flipped(bound: NodeBound, gain: float) -> tuple[int, float]:
    """The relaxation's own choice for a free feature with this gain, and the bound once that choice is flipped.

    Flipping a chosen feature loses its gain and lets the next one in; flipping another one displaces the last that was
    chosen.
    """
    if gain > 0.0 and gain >= bound.kth_gain:
        choice, raised = IN, bound.value + (gain - bound.next_gain)
    else:
        choice, raised = OUT, bound.value + (bound.kth_gain - gain)
    return choice, raised - 4.0 * UNIT * (abs(bound.value) + abs(gain) + bound.kth_gain + bound.next_gain)
