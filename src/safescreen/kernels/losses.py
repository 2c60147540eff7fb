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
from safescreen.kernels.subproblem import Subproblem
from safescreen.kernels.vectors import absolute_total, dot, total
from safescreen.rounding import UNIT

LOGISTIC = 0

INTERCEPT_NEARNESS = 1e-3
"""How far from balance, relatively, the dual point of an intercept may be before it is scaled."""

INTERCEPT_AT_BEST = 1e-13
"""The same where the intercept must be at its best value, as far as numbers tell."""


class Point(NamedTuple):
    """A dual point and the sums behind it, one entry per sample."""

    p: FloatArray
    alpha: FloatArray
    curvature: FloatArray
    loss: FloatArray
    cross: FloatArray
    scratch: FloatArray


class DualPoint(NamedTuple):
    """What a linear predictor amounts to."""

    loss: float
    entropy: float  # rounded down
    error_scale: float  # rounding moves a correlation by at most this times the column's error
    shift: float  # of the intercept, already added to the predictor


@inlined
def terms(code: int, u: FloatArray, y: FloatArray, w: FloatArray, point: Point) -> None:
    """Fill the terms of every sample: ``p``, the dual ``alpha``, curvature, loss, and what adds up to the entropy."""
    if code == LOGISTIC:
        logistic_terms(u, y, w, point)


@inlined
def balance(code: int, y: FloatArray, w: FloatArray, u: FloatArray, point: Point, slack: float) -> tuple[float, float]:
    """Move the dual point into the domain that an intercept demands, ``Σ α = 0``; returns entropy and error bound."""
    if code == LOGISTIC:
        return balance_logistic(y, w, u, point, slack)
    return -np.inf, slack


@inlined
def largest_curvature(code: int) -> float:
    """No sample of weight one bends the loss more than this, wherever it is: steps that rely on it never overshoot."""
    return 0.25 if code == LOGISTIC else np.inf


@inlined
def loss_without_model(code: int) -> float:
    """A loss that no sensible model exceeds: that of the predictor zero, rounded up."""
    return 0.6932 if code == LOGISTIC else np.inf  # log 2


@compiled
def dual_point(subproblem: Subproblem, u: FloatArray, point: Point) -> DualPoint:
    """Evaluate loss and dual point at the linear predictor ``u``, with the intercept first moved to its best value."""
    shift = _settle_intercept(subproblem, u, point)
    m = u.size
    loss = total(point.loss)
    entropy = loss + total(point.cross)
    slack = (m + 24.0) * UNIT * (loss + absolute_total(point.cross))
    growth = 1.0
    if subproblem.intercept:
        entropy, slack = balance(subproblem.loss, subproblem.y, subproblem.w, u, point, slack)
        growth = 4.0
    norm = np.sqrt(dot(point.alpha, point.alpha)) * (1.0 + 1e-9)
    return DualPoint(loss, entropy - slack, growth * norm, shift)


@inlined
def unbalanced_point(subproblem: Subproblem, u: FloatArray, point: Point) -> DualPoint:
    """The same with the dual point left as it is, out of balance by as little as the intercept can be settled."""
    shift = _settle_intercept(subproblem, u, point)
    loss, cross = total(point.loss), total(point.cross)
    slack = (u.size + 24.0) * UNIT * (loss + absolute_total(point.cross))
    norm = np.sqrt(dot(point.alpha, point.alpha)) * (1.0 + 1e-9)
    return DualPoint(loss, loss + cross - slack, norm, shift)


@inlined
def _settle_intercept(subproblem: Subproblem, u: FloatArray, point: Point) -> float:
    """Fill the terms at ``u``; with an intercept, at the best shift of ``u`` (Newton steps on one number)."""
    shift = 0.0
    for attempt in range(60):
        terms(subproblem.loss, u, subproblem.y, subproblem.w, point)
        if not subproblem.intercept:
            break
        gradient = total(point.alpha)
        curvature = total(point.curvature)
        size = absolute_total(point.alpha)
        if abs(gradient) <= INTERCEPT_AT_BEST * size or curvature <= 0.0 or attempt == 59:
            break
        move = min(max(gradient / curvature, -2.0), 2.0)
        shift += move
        for i in range(u.size):
            u[i] += move
    return shift


class NearPoint(NamedTuple):
    """What a linear predictor amounts to, its intercept not quite at its best."""

    loss: float
    entropy: float  # rounded down
    error_scale: float  # see `DualPoint`
    shift: float
    slope: float  # of the loss along the intercept, with the other sign


@inlined
def near_dual_point(subproblem: Subproblem, u: FloatArray, point: Point, nearness: float) -> NearPoint:
    """Evaluate loss and dual point at the linear predictor, with the intercept moved near its best value only.

    Where Newton's method moves the intercept along with everything else, there is no need to find its best value in
    every step. The dual point is balanced all the same: ``H(f p) >= f H(p)`` for the class that is scaled down by
    ``f``, as ``H`` is concave and vanishes at 0. The error bounds are those of :func:`balance_logistic`.
    """
    shift, slope = 0.0, 0.0
    for attempt in range(60):
        terms(subproblem.loss, u, subproblem.y, subproblem.w, point)
        if not subproblem.intercept:
            break
        slope = total(point.alpha)
        curvature = total(point.curvature)
        if abs(slope) <= nearness * absolute_total(point.alpha) or curvature <= 0.0 or attempt == 59:
            break
        move = min(max(slope / curvature, -2.0), 2.0)
        shift += move
        for i in range(u.size):
            u[i] += move
    m = u.size
    loss = total(point.loss)
    magnitude = loss + absolute_total(point.cross)
    slack = (m + 24.0) * UNIT * magnitude
    entropy, growth = loss + total(point.cross), 1.0
    if subproblem.intercept:
        entropy = balance_below(subproblem.y, point)
        slack += (8.0 * m + 64.0) * UNIT * magnitude
        growth = 4.0
    norm = np.sqrt(dot(point.alpha, point.alpha)) * (1.0 + 1e-9)
    return NearPoint(loss, entropy - slack, growth * norm, shift, slope)


@reordered
def balance_below(y: FloatArray, point: Point) -> float:
    """Scale one class down until ``Σ α = 0``; returns a lower bound on the entropy then, rounding apart."""
    positive, negative, entropy_positive, entropy_negative = 0.0, 0.0, 0.0, 0.0
    for i in range(y.size):
        alpha, entropy = point.alpha[i], point.loss[i] + point.cross[i]
        positive += alpha if y[i] > 0.0 else 0.0
        negative -= 0.0 if y[i] > 0.0 else alpha
        entropy_positive += entropy if y[i] > 0.0 else 0.0
        entropy_negative += 0.0 if y[i] > 0.0 else entropy
    up = negative / positive if positive > negative else 1.0
    down = positive / negative if negative > positive else 1.0
    for i in range(y.size):
        point.alpha[i] *= up if y[i] > 0.0 else down
    return up * entropy_positive + down * entropy_negative


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


@compiled
def balance_logistic(y: FloatArray, w: FloatArray, u: FloatArray, point: Point, slack: float) -> tuple[float, float]:
    """Scale one class down until ``Σ α = 0``, as the dual of an intercept demands; returns entropy and error bound.

    Scaling down keeps ``p`` in [0, 1], so the bound stays valid. The floats sum to zero only up to rounding. The
    exact point that does sum to zero differs by a relative 3 m u at most, which the enlarged error bounds cover.
    """
    m = u.size
    positive, negative = 0.0, 0.0
    for i in range(m):
        if y[i] > 0.0:
            positive += point.alpha[i]
        else:
            negative -= point.alpha[i]
    if positive == negative:
        factor, side = 1.0, 1.0
    elif positive > negative:
        factor, side = negative / positive, 1.0
    else:
        factor, side = positive / negative, -1.0
    log_factor = np.log(factor) if factor > 0.0 else 0.0
    entropy, magnitude = 0.0, 0.0
    for i in range(m):
        a = y[i] * u[i]
        whole = point.loss[i] + point.cross[i]
        size = point.loss[i] + abs(point.cross[i])
        if y[i] == side and factor < 1.0:
            point.alpha[i] *= factor
            q = point.p[i] * factor
            if q > 0.0:
                rest = 1.0 - q
                log_q = log_factor - max(a, 0.0) - np.log1p(np.exp(-abs(a)))
                log_rest = np.log1p(-q) if q < 0.5 else np.log(max(rest, 1e-300))
                whole = -w[i] * (q * log_q + rest * log_rest)
                size = w[i] * (q * (abs(log_q) + 8.0) + 4.0)
            else:
                whole, size = 0.0, w[i]
        entropy += whole
        magnitude += size
    return entropy, (8.0 * m + 64.0) * UNIT * magnitude + slack
