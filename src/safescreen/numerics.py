"""Small compiled building blocks: logistic sums, dot products, Cholesky, selection.

Everything here is elementary linear algebra on plain arrays. The logistic sums are written so that the compiler
vectorises them (a polynomial exponential and logarithm, accurate to two units in the last place): with a few hundred
samples they would otherwise cost more than the rest of a node.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

#: Reductions may be reordered: every error bound used on them holds for any order of summation.
REORDER = {"reassoc", "contract", "nsz"}


def _inner(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for functions called from compiled code only: no Python wrapper, no cache entry of their own."""
    decorate: Callable[[Callable[..., Any]], Callable[..., Any]] = njit(
        nogil=True, error_model="numpy", _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options
    )
    return decorate


#: For the functions that Python calls: cached on disk, see :mod:`safescreen.kernels`.
entry = njit(nogil=True, error_model="numpy", _nrt=False, cache=True)
compiled = _inner()
reordered = _inner(fastmath=REORDER)
elementwise = _inner(fastmath={"contract"})

_LOG2E = 1.4426950408889634
_LN2_HIGH = 0.693147180369123816490
_LN2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to an integer held in the low bits


@elementwise
def logistic_terms(u, y, w, p, alpha, curvature, loss_terms, cross_terms, scratch):
    """Fill the logistic terms of every sample.

    These are ``p``, the dual ``alpha``, the curvature, ``w log(1 + exp(-a))`` and ``w p a`` with ``a = y u``. The
    entropy of ``p`` is the sum of the last two: ``H(p) = log(1 + exp(-a)) + p a`` at ``p = 1 / (1 + exp(a))``.
    """
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
        loss_terms[i] = w[i] * (log1p + max(-a, 0.0))
        cross_terms[i] = w[i] * (q * a)


@reordered
def dot(a, b):
    """Inner product, summed in whatever order is fastest."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@reordered
def weighted_dot(weights, a, b):
    """Inner product with weights: one entry of a Gram matrix."""
    total = 0.0
    for i in range(a.size):
        total += weights[i] * a[i] * b[i]
    return total


@reordered
def total(a):
    """Sum of an array, in whatever order is fastest."""
    result = 0.0
    for i in range(a.size):
        result += a[i]
    return result


@reordered
def absolute_total(a):
    """Sum of absolute values."""
    result = 0.0
    for i in range(a.size):
        result += abs(a[i])
    return result


@reordered
def add_multiple(target, factor, a):
    """``target += factor * a`` in place."""
    for i in range(target.size):
        target[i] += factor * a[i]


@reordered
def copy_into(target, source):
    """Copy an array; plain assignment would compile checks that can never fail."""
    for i in range(target.size):
        target[i] = source[i]


@compiled
def two_largest_cuts(values, count, k):
    """The k-th and the (k+1)-th largest of ``values[:count]`` (0 where there is none); reorders ``values``."""
    if k <= 0:
        largest = 0.0
        for i in range(count):
            largest = max(largest, values[i])
        return 0.0, largest
    if count < k:
        return 0.0, 0.0
    low, high, goal = 0, count - 1, k - 1
    while low < high:  # quickselect, descending
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if goal <= j:
            high = j
        elif goal >= i:
            low = i
        else:
            break
    following = 0.0
    for i in range(k, count):
        following = max(following, values[i])
    return values[k - 1], following


@reordered
def factorise(matrix, size):
    """Cholesky factor in place (lower triangle), with negligible pivots blocked.

    A pivot that vanishes against its diagonal belongs to a direction without curvature (duplicated columns): a huge
    pivot instead makes the solution leave that coordinate where it is.
    """
    for a in range(size):
        diagonal = matrix[a, a]
        pivot = diagonal
        for i in range(a):
            pivot -= matrix[a, i] * matrix[a, i]
        if pivot <= 1e-13 * diagonal or pivot <= 0.0:
            pivot = 1e100
        pivot = np.sqrt(pivot)
        matrix[a, a] = pivot
        for b in range(a + 1, size):
            value = matrix[b, a]
            for i in range(a):
                value -= matrix[b, i] * matrix[a, i]
            matrix[b, a] = value / pivot


@reordered
def solve_factorised(factor, size, rhs):
    """Solve with the Cholesky factor, in place of the right-hand side."""
    for a in range(size):
        value = rhs[a]
        for i in range(a):
            value -= factor[a, i] * rhs[i]
        rhs[a] = value / factor[a, a]
    for a in range(size - 1, -1, -1):
        value = rhs[a] / factor[a, a]
        rhs[a] = value
        for i in range(a):
            rhs[i] -= factor[a, i] * value
