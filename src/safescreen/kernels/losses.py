"""The loss, compiled: its value, dual point, entropy and curvature at a linear predictor, chosen by an integer.

A loss is a code and a branch in each of the functions below; outside the loops over samples, so that there is one
compiled signature however many losses there are. Everything else in the kernels sees the loss only through them.

The logistic sums are written so that the compiler vectorises them (a polynomial exponential and logarithm, accurate to
two units in the last place): with a few hundred samples they would otherwise cost more than the rest of a node.
"""

from typing import NamedTuple

import numpy as np

from safescreen.arrays import FloatArray
from safescreen.kernels.compiling import compiled, elementwise, inlined, reordered
from safescreen.kernels.subproblem import Samples
from safescreen.kernels.vectors import dot, total
from safescreen.rounding import UNIT

LOGISTIC = 0

INTERCEPT_NEARNESS = 1e-4
"""What a balanced dual point may lose where steps move the intercept anyway, as a part of the loss."""

INTERCEPT_AT_BEST = 0.0
"""The same where the intercept must be at its best value, as far as numbers tell."""

TINY = 1e-300
"""Products of smaller numbers lose digits that no relative error accounts for."""

SQUARABLE = 1e-140
"""The square of a smaller number may be no float any more."""


class Point(NamedTuple):
    """A dual point and the sums behind it, one entry per sample."""

    p: FloatArray
    alpha: FloatArray
    curvature: FloatArray
    loss: FloatArray
    cross: FloatArray
    scratch: FloatArray


class Sums(NamedTuple):
    """What the terms of all samples add up to."""

    loss: float
    cross: float
    crossed: float  # ``Σ |cross|``
    slope: float  # ``Σ α``
    mass: float  # ``Σ |α|``
    curvature: float


class DualPoint(NamedTuple):
    """What a linear predictor amounts to."""

    loss: float
    entropy: float  # rounded down
    error_scale: float  # rounding moves a correlation by at most this times the column's error
    shift: float  # of the intercept, already added to the predictor
    slope: float  # of the loss along the intercept, with the other sign


@inlined
def terms(code: int, u: FloatArray, y: FloatArray, w: FloatArray, point: Point) -> None:
    """Fill the terms of every sample: ``p``, the dual ``alpha``, curvature, loss, and what adds up to the entropy."""
    if code == LOGISTIC:
        logistic_terms(u, y, w, point)


@inlined
def balance(code: int, y: FloatArray, point: Point) -> float:
    """Move the dual point into the domain that an intercept demands, ``Σ α = 0``; returns its entropy, from below."""
    if code == LOGISTIC:
        return balance_logistic(y, point)
    return -np.inf


@inlined
def largest_curvature(code: int) -> float:
    """No sample of weight one bends the loss more than this, wherever it is: steps that rely on it never overshoot."""
    return 0.25 if code == LOGISTIC else np.inf


@inlined
def loss_without_model(code: int) -> float:
    """A loss that no sensible model exceeds: that of the predictor zero, rounded up."""
    return 0.6932 if code == LOGISTIC else np.inf  # log 2


@compiled
def dual_point(samples: Samples, u: FloatArray, b: float, point: Point, nearness: float) -> DualPoint:
    """Evaluate loss and dual point at the linear predictor ``u``, its intercept ``b`` first moved near its best value.

    Where Newton's method moves the intercept along with everything else, there is no need to find its best value in
    every step: the dual point is balanced all the same. That costs the bound about ``|b Σ α|``, and the loss is above
    its best by half of ``(Σ α)² / Σ curvature``; near is where both are no more than this part of the loss.
    """
    shift, sums = settle_intercept(samples, u, b, point, nearness)
    m = u.size
    entropy = sums.loss + sums.cross
    magnitude = sums.loss + sums.crossed
    slack = (m + 24.0) * UNIT * magnitude + TINY
    growth = 1.0
    if samples.intercept:
        entropy = balance(samples.loss, samples.y, point)
        slack += (8.0 * m + 64.0) * UNIT * magnitude
        growth = 4.0
    norm = np.sqrt(dot(point.alpha, point.alpha)) * (1.0 + 1e-9)
    return DualPoint(sums.loss, entropy - slack, growth * norm, shift, sums.slope)


@inlined
def unbalanced_point(samples: Samples, u: FloatArray, point: Point) -> DualPoint:
    """The same with the dual point left as it is, out of balance by as little as the intercept can be settled."""
    shift, sums = settle_intercept(samples, u, 0.0, point, INTERCEPT_AT_BEST)
    slack = (u.size + 24.0) * UNIT * (sums.loss + sums.crossed) + TINY
    norm = np.sqrt(dot(point.alpha, point.alpha)) * (1.0 + 1e-9)
    return DualPoint(sums.loss, sums.loss + sums.cross - slack, norm, shift, sums.slope)


@compiled
def settle_intercept(samples: Samples, u: FloatArray, b: float, point: Point, nearness: float) -> tuple[float, Sums]:
    """Fill the terms at ``u``; with an intercept, near the best shift of ``u`` (Newton steps on one number).

    Returns the shift and the sums, among them the slope that is left.
    """
    shift, attempt = 0.0, 0
    while True:
        terms(samples.loss, u, samples.y, samples.w, point)
        sums = sums_of(point)
        if not samples.intercept or sums.curvature <= 0.0 or attempt == 59:
            break
        size = abs(sums.slope)
        if size <= 1e-13 * sums.mass or size * (abs(b + shift) + size / sums.curvature) <= nearness * sums.loss:
            break
        move = min(max(sums.slope / sums.curvature, -2.0), 2.0)
        shift += move
        for i in range(u.size):
            u[i] += move
        attempt += 1
    return shift, sums


@reordered
def sums_of(point: Point) -> Sums:
    """What the terms add up to, in one look at them."""
    loss, cross, crossed, slope, mass, curvature = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(point.loss.size):
        loss += point.loss[i]
        cross += point.cross[i]
        crossed += abs(point.cross[i])
        slope += point.alpha[i]
        mass += abs(point.alpha[i])
        curvature += point.curvature[i]
    return Sums(loss, cross, crossed, slope, mass, curvature)


_LOG2E = 1.4426950408889634
_LN2_HIGH = 0.693147180369123816490
_LN2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to an integer held in the low bits


@elementwise
def logistic_terms(u: FloatArray, y: FloatArray, w: FloatArray, point: Point) -> None:
    """Fill the logistic terms of every sample.

    These are ``p``, the dual ``alpha``, the curvature, ``w log(1 + exp(-a))`` and ``w p a`` with ``a = y u``. The
    entropy of ``p`` is the sum of the last two: ``H(p) = log(1 + exp(-a)) + p a`` at ``p = 1 / (1 + exp(a))``.
    """
    p, alpha, curvature, scratch = point.p, point.alpha, point.curvature, point.scratch
    m = u.size
    bits = scratch.view(np.int64)
    for i in range(m):
        scratch[i] = max(-abs(u[i]), -708.0) * _LOG2E + _ROUND
    for i in range(m):
        whole = scratch[i] - _ROUND
        t = max(-abs(u[i]), -708.0)
        r = (t - whole * _LN2_HIGH) - whole * _LN2_LOW
        e = 1.0 / 6227020800.0
        e = e * r + 1.0 / 479001600.0
        e = e * r + 1.0 / 39916800.0
        e = e * r + 1.0 / 3628800.0
        e = e * r + 1.0 / 362880.0
        e = e * r + 1.0 / 40320.0
        e = e * r + 1.0 / 5040.0
        e = e * r + 1.0 / 720.0
        e = e * r + 1.0 / 120.0
        e = e * r + 1.0 / 24.0
        e = e * r + 1.0 / 6.0
        e = e * r + 0.5
        e = e * r + 1.0
        p[i] = e * r + 1.0
    for i in range(m):
        bits[i] = (bits[i] + 1023) << 52
    for i in range(m):
        e = p[i] * scratch[i] if abs(u[i]) <= 708.0 else 0.0
        a = y[i] * u[i]
        inverse = 1.0 / (1.0 + e)
        s = e / (2.0 + e)
        s2 = s * s
        log1p = 1.0 / 31.0
        log1p = log1p * s2 + 1.0 / 29.0
        log1p = log1p * s2 + 1.0 / 27.0
        log1p = log1p * s2 + 1.0 / 25.0
        log1p = log1p * s2 + 1.0 / 23.0
        log1p = log1p * s2 + 1.0 / 21.0
        log1p = log1p * s2 + 1.0 / 19.0
        log1p = log1p * s2 + 1.0 / 17.0
        log1p = log1p * s2 + 1.0 / 15.0
        log1p = log1p * s2 + 1.0 / 13.0
        log1p = log1p * s2 + 1.0 / 11.0
        log1p = log1p * s2 + 1.0 / 9.0
        log1p = log1p * s2 + 1.0 / 7.0
        log1p = log1p * s2 + 1.0 / 5.0
        log1p = log1p * s2 + 1.0 / 3.0
        log1p = 2.0 * s + 2.0 * s * (s2 * log1p)
        q = e * inverse if a > 0.0 else inverse
        p[i] = q
        alpha[i] = y[i] * (w[i] * q)
        curvature[i] = w[i] * (e * inverse) * inverse
        point.loss[i] = w[i] * (log1p + max(-a, 0.0))
        point.cross[i] = w[i] * (q * a)


@inlined
def balance_logistic(y: FloatArray, point: Point) -> float:
    """Scale one class down until ``Σ α = 0``; returns a lower bound on the entropy then, rounding apart.

    The sums of the classes are taken apart from everything else, and from each other: so they are vectorised.
    """
    alpha, scratch = point.alpha, point.scratch
    part_above_zero(alpha, 1.0, scratch)
    positive = total(scratch)
    part_above_zero(alpha, -1.0, scratch)
    negative = total(scratch)
    up = negative / positive if positive > negative else 1.0
    down = positive / negative if negative > positive else 1.0
    return scale_classes(y, point, up, down)


@elementwise
def part_above_zero(a: FloatArray, factor: float, part: FloatArray) -> None:
    """What is above zero of every entry times a factor, and zero elsewhere."""
    for i in range(a.size):
        part[i] = max(factor * a[i], 0.0)


@reordered
def scale_classes(y: FloatArray, point: Point, up: float, down: float) -> float:
    """Scale the dual points of both classes down by these factors; returns a lower bound on the entropy then.

    Scaling down keeps ``p`` in [0, 1]. Between ``f p`` and ``p`` the second derivative of ``H`` is no less than
    ``-1 / (f p (1 - p))``, and ``H`` is concave and vanishes at 0, so that with ``H'(p) = a`` both

        H(f p) >= H(p) - (1 - f) p a - (1 - f)² p / (2 f (1 - p))    and    H(f p) >= f H(p)

    hold: the first is sharp near balance, the second anywhere, and alone where squares of tiny numbers would vanish.
    The floats sum to zero only up to rounding. The exact point that does sum to zero differs by a relative ``3 m``
    units at most, which the enlarged error bounds of :func:`dual_point` cover. A first bound that is the larger one
    subtracts no more than ``loss + |cross|``, to which its few roundings are relative.
    """
    alpha, entropy = point.alpha, 0.0
    for i in range(y.size):
        kept = up if y[i] > 0.0 else down
        gone, whole, flatness = 1.0 - kept, point.loss[i] + point.cross[i], kept * point.curvature[i]
        bend = gone * gone * alpha[i] * alpha[i] / max(flatness, SQUARABLE)
        sharp = whole - gone * point.cross[i] - 0.5 * bend if flatness > SQUARABLE else 0.0
        entropy += max(sharp, kept * whole)
        alpha[i] *= kept
    return entropy
