"""What a dual point proves: the bound ``D``, rounded down, and how it changes when one decision is flipped.

    D(p) = Σ w_i H(p_i) + Σ_in (μ - q_j) - Σ_{κ largest free} (q_j - μ)₊
    with  q_j = γ c_j² / 4,  c = Aᵀα,  α_i = w_i y_i p_i

``evaluate_points`` computes what depends on the point only, ``bound_nodes`` what depends on decisions.
Everything is computed for many nodes at once: one row per point, one column per feature.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from safescreen.verification.arithmetic import ROUNDOFF, Array, weighted_entropy
from safescreen.verification.recognition import Columns, StatedProblem, Terms

IN, OUT = 0, 1
"""The sides a feature can be decided for; a *status* is a pair of masks: of the features in, and of those out."""


@dataclass(frozen=True)
class PointWeights:
    """What depends on the points alone, one row or entry per point."""

    alpha: Array
    """``w_i y_i p_i``."""
    alpha_sum: Array
    """``Σ α``, as good as zero with an intercept."""
    entropy: Array
    """``Σ w_i H(p_i)``, rounded down."""
    c_error: Array
    """By how much ``c_j`` may be off, per unit of the norm of its column."""
    uncertainty: Array
    """How much larger ``D`` could be in exact arithmetic, but for what the columns add."""
    useless: Array
    """Points too far from balance to prove anything."""


@dataclass(frozen=True)
class DualPoints:
    """The parts of ``D`` that do not depend on decisions: one row per point, one column per feature."""

    terms: Terms
    alpha: Array
    """``w_i y_i p_i``."""
    entropy: Array
    """``Σ w_i H(p_i)``, rounded down."""
    surplus: Array
    """``q_j - μ``, rounded up."""
    uncertainty: Array
    """How much larger ``D`` could be in exact arithmetic."""
    useless: Array
    """Points too far from balance to prove anything."""


def weigh_points(problem: StatedProblem, P: Array) -> PointWeights:
    """What the rows of ``P`` amount to without a look at the matrix: entropy rounded down, and errors up.

    - Once computed, ``α`` is exact: it stands for a ``p`` that is smaller by at most 7 units of round-off.
    - A sum of m products is off by m units of the sum of their sizes; centring and scaling add a few. So
      ``c_j`` is off by at most (m + 10) units of the norm of its column times ``size`` ≥ √(Σ w p²).
    - The exactly balanced point is the one at hand with one class scaled by some 1 - δ, where δ is the
      *imbalance*. That moves ``c_j`` by at most δ times the same product and, because H is concave with
      H(0) = 0, leaves at least 1 - δ of the entropy.
    - Upwards, for the uncertainty, ``H(p - ε) ≤ H(p) + H(ε)`` with ``H(ε) ≤ 41 ε``.

    What is not a number, after an overflow, spreads to the least bound, which is then refused.
    """
    weights, labels = problem.samples.dual_weights, problem.samples.labels
    m = labels.size
    with_intercept = problem.terms.fit_intercept
    if with_intercept:
        P = balanced(P, weights, labels)
    alpha = P * weights * (labels * (1.0 - 2.0**-51))  # 4 units less, so that no rounding makes p larger
    alpha_sum = np.array([math.fsum(alpha[0])]) if len(P) == 1 else alpha.sum(axis=1)
    imbalance = imbalance_of(alpha, alpha_sum) if with_intercept else np.zeros(len(P))
    size = np.sqrt(np.square(P) @ weights + 1e-300) * (1.0 + (m + 16) * ROUNDOFF)
    entropy = weighted_entropy(P, weights)
    entropy_error = (m + 32.0) * ROUNDOFF
    from_entropy = entropy * 4.0 * entropy_error
    from_p = 42.0 * (imbalance + 8.0 * ROUNDOFF)
    return PointWeights(
        alpha=alpha,
        alpha_sum=alpha_sum,
        entropy=entropy * (1.0 - entropy_error) * (1.0 - imbalance),
        c_error=((m + 10.0) * ROUNDOFF + imbalance) * size,
        uncertainty=from_entropy + from_p,
        useless=imbalance > 1e-8,
    )


def widened_gains(terms: Terms, c: Array, c_error: Array, norms: Array) -> tuple[Array, Array]:
    """``q_j`` from the sizes of correlations, rounded up because D falls in q; and how uncertain that makes D.

    ``q_j`` is too large by at most ``γ |c_j|`` times the error of ``c_j``.
    """
    c = c + c_error[:, None] * norms
    root_of_q = c * (0.5 * math.sqrt(terms.gamma) * (1.0 + 8.0 * ROUNDOFF))
    q = np.square(root_of_q)  # and not γ c²/4, where c² could vanish before it meets a huge γ
    from_c = 1.01 * terms.gamma * c_error * (c * norms).sum(axis=1)
    from_q = 100.0 * ROUNDOFF * (q.sum(axis=1) + terms.mu)
    return q, from_c + from_q


def evaluate_points(problem: StatedProblem, columns: Columns, P: Array) -> DualPoints:
    """What the rows of ``P`` prove about these columns."""
    terms, points = problem.terms, weigh_points(problem, P)
    c = np.abs(points.alpha @ columns.X - points.alpha_sum[:, None] * columns.means) / columns.scales
    q, from_columns = widened_gains(terms, c, points.c_error, columns.norms)
    return DualPoints(
        terms=terms,
        alpha=points.alpha,
        entropy=points.entropy,
        surplus=q - terms.mu,
        uncertainty=points.uncertainty + from_columns,
        useless=points.useless,
    )


def balanced(P: Array, weights: Array, labels: Array) -> Array:
    """The points with the heavier class scaled down until both have the same ``Σ w_i p_i``; [0, 1] is not left."""
    positive = P @ (weights * (labels > 0.0))
    negative = P @ (weights * (labels < 0.0))
    lighter = np.minimum(positive, negative)
    positive_factor = lighter / np.maximum(positive, 5e-324)
    negative_factor = lighter / np.maximum(negative, 5e-324)
    factor = np.where(labels > 0.0, positive_factor[:, None], negative_factor[:, None])
    return np.asarray(P * factor)


def imbalance_of(alpha: Array, alpha_sum: Array) -> Array:
    """The share of a class that must still go for ``Σ α = 0`` to hold exactly, rounded up; all of it is 1.

    A class has half the mass ``Σ |α|``. The sum of a single point was computed exactly; others are off by m
    units of the mass.
    """
    rows, m = alpha.shape
    mass = np.abs(alpha).sum(axis=1)
    sum_error = (4.0 if rows == 1 else m + 4.0) * ROUNDOFF
    imbalance = (np.abs(alpha_sum) / mass + sum_error) * (2.0 + (4.0 * m + 32.0) * ROUNDOFF)
    return np.where(mass > 1e-290, np.minimum(imbalance, 1.0), 1.0)


@dataclass(frozen=True)
class NodeBounds:
    """``D`` of nodes, one row each, and what is needed to say how it changes when one decision is flipped."""

    points: DualPoints
    inside: Array
    outside: Array
    lower: Array
    """``D``, rounded down."""
    uncertainty: Array
    """How much larger it could be in exact arithmetic."""
    places: Array
    """κ, what is left of the budget."""
    kth_gain: Array
    """``g_[κ]``, the least gain that still finds a place."""
    next_gain: Array
    """``g_[κ+1]``, the largest that does not."""

    def flipped(self, row: Array, feature: Array, side: Array) -> Array:
        """``D`` for what each screening decision cuts off: the models with its feature on the other side.

        - Decided in, it is flipped out: its gain is lost and the next one moves up, ``(g_j - g_[κ+1])₊``.
        - Decided out, it is flipped in: it takes the place of the last one chosen, unless it is chosen
          itself, and pays its price whatever its gain, ``max(g_j, g_[κ]) - (q_j - μ)``. Without a place
          left there is no such model.
        - Decided so before, nothing is cut off; decided the other way before, everything is.
        """
        surplus = self.points.surplus[row, feature]
        gain = np.maximum(surplus, 0.0)
        kth_gain, next_gain = self.kth_gain[row], self.next_gain[row]
        is_in, is_out = self.inside[row, feature], self.outside[row, feature]
        lower = self.lower[row]
        decided_in = side == IN
        rise_if_out = np.maximum(gain - next_gain, 0.0)
        rise_if_in = np.maximum(gain, kth_gain) - surplus
        rise = np.where(decided_in, rise_if_out, rise_if_in)
        rounding = 8.0 * ROUNDOFF * (np.abs(lower) + np.abs(surplus) + kth_gain + next_gain)
        bound = lower + rise - rounding
        nothing = np.where(decided_in, is_in, is_out | (self.places[row] < 1))
        everything = np.where(decided_in, is_out, is_in)
        return np.where(everything, -np.inf, np.where(nothing, np.inf, bound))


def bound_nodes(points: DualPoints, inside: Array, outside: Array) -> NodeBounds:
    """``D`` for nodes with these features decided, one node per point.

    The sums have terms of known size, of which ``slack`` is the share that rounding can have.
    """
    terms, surplus = points.terms, points.surplus
    rows, columns = surplus.shape
    gains = np.maximum(surplus, 0.0) * ~(inside | outside)
    n_inside = inside.sum(axis=1)
    places = terms.budget - n_inside
    largest = gains.sum(axis=1)
    kth_gain, next_gain = np.zeros(rows), np.zeros(rows)
    if (np.count_nonzero(gains, axis=1) >= places).any():  # otherwise there is a place for every gain
        largest, kth_gain, next_gain = choose_gains(gains, places)
    surplus_inside = np.einsum("ij,ij->i", surplus, inside)
    sum_of_sizes = points.entropy + (surplus_inside + 2.0 * terms.mu * n_inside) + largest
    slack = (columns + 16.0) * ROUNDOFF * sum_of_sizes + 1e-295
    lower = points.entropy - surplus_inside - largest - slack
    lower = np.where(points.useless, -np.inf, lower)
    uncertainty = np.where(points.useless, 0.0, points.uncertainty + 4.0 * slack)
    return NodeBounds(points, inside, outside, lower, uncertainty, places, kth_gain, next_gain)


def choose_gains(gains: Array, places: Array) -> tuple[Array, Array, Array]:
    """For every row the sum of the κ largest gains, the κ-th of them, and the next.

    Zeros before the first and after the last stand for gains that do not exist. What is not a number is
    sorted to the front, so that it is not overlooked.
    """
    rows, columns = gains.shape
    descending = np.sort(gains, axis=1)[:, ::-1]
    padded = np.pad(descending, ((0, 0), (1, 1)))
    row = np.arange(rows)
    kth = np.clip(places, 0, columns)
    sum_of_largest = padded.cumsum(axis=1)[row, kth]
    return sum_of_largest, padded[row, kth], padded[row, kth + 1]
