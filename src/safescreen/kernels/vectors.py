"""Small compiled building blocks: sums, Cholesky, selection. Elementary linear algebra on plain arrays."""

import numpy as np

from safescreen.arrays import FloatArray
from safescreen.kernels.compiling import compiled, inlined, reordered
from safescreen.tuning import FEW_OF_MANY


@inlined
def signed(place: int) -> int:
    """A place in an array, as it is kept in a `PlaceArray`, as a number that may be negated and added to others."""
    return np.int64(place)  # type: ignore[return-value]


@reordered
def dot(a: FloatArray, b: FloatArray) -> float:
    """Inner product, summed in whatever order is fastest."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@reordered
def square_and_three(
    a: FloatArray, weights: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray
) -> tuple[float, float, float, float]:
    """Weighted sum of squares, and three inner products, in one look at ``a``."""
    square, first, second, third = 0.0, 0.0, 0.0, 0.0
    for i in range(a.size):
        square += weights[i] * a[i] * a[i]
        first += a[i] * b[i]
        second += a[i] * c[i]
        third += a[i] * d[i]
    return square, first, second, third


@reordered
def dot_four(
    a: FloatArray, b0: FloatArray, b1: FloatArray, b2: FloatArray, b3: FloatArray
) -> tuple[float, float, float, float]:
    """Four inner products with the same array, which is read once."""
    total0, total1, total2, total3 = 0.0, 0.0, 0.0, 0.0
    for i in range(a.size):
        total0 += a[i] * b0[i]
        total1 += a[i] * b1[i]
        total2 += a[i] * b2[i]
        total3 += a[i] * b3[i]
    return total0, total1, total2, total3


@reordered
def total(a: FloatArray) -> float:
    """Sum of an array, in whatever order is fastest."""
    result = 0.0
    for i in range(a.size):
        result += a[i]
    return result


@reordered
def absolute_total(a: FloatArray) -> float:
    """Sum of absolute values."""
    result = 0.0
    for i in range(a.size):
        result += abs(a[i])
    return result


@reordered
def add_multiple(target: FloatArray, factor: float, a: FloatArray) -> None:
    """``target += factor * a`` in place."""
    for i in range(target.size):
        target[i] += factor * a[i]


@reordered
def add_four(
    target: FloatArray, factors: FloatArray, a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray
) -> None:
    """The same for four arrays with four factors, so that the target is read and written once."""
    factor_a, factor_b, factor_c, factor_d = factors[0], factors[1], factors[2], factors[3]
    for i in range(target.size):
        target[i] += factor_a * a[i] + factor_b * b[i] + factor_c * c[i] + factor_d * d[i]


@reordered
def copy_into(target: FloatArray, source: FloatArray) -> None:
    """Copy an array; plain assignment would compile checks that can never fail."""
    for i in range(target.size):
        target[i] = source[i]


@reordered
def clear(a: FloatArray) -> None:
    """Set an array to zero."""
    for i in range(a.size):
        a[i] = 0.0


@compiled
def kth_and_next_largest(values: FloatArray, count: int, k: int) -> tuple[float, float]:
    """The k-th and the (k+1)-th largest of ``values[:count]`` (0 where there is none); reorders ``values``."""
    if k <= 0:
        largest = 0.0
        for i in range(count):
            largest = max(largest, values[i])
        return 0.0, largest
    if count < k:
        return 0.0, 0.0
    return kth_of_few(values, count, k) if k <= FEW_OF_MANY else kth_of_many(values, count, k)


@inlined
def kth_of_many(values: FloatArray, count: int, k: int) -> tuple[float, float]:
    """The same by quickselect."""
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
    next_value = 0.0
    for i in range(k, count):
        next_value = max(next_value, values[i])
    return values[k - 1], next_value


@inlined
def kth_of_few(values: FloatArray, count: int, k: int) -> tuple[float, float]:
    """The same by keeping the ``k + 1`` largest in front, in order: most values are compared once and left."""
    kept = min(k + 1, count)
    for i in range(count):
        value = values[i]
        if i >= kept:
            if not value > values[kept - 1]:
                continue
            values[i] = values[kept - 1]
        place = min(i, kept - 1)
        while place > 0 and values[place - 1] < value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value
    return values[k - 1], (values[k] if count > k else 0.0)


@reordered
def factorise_column(matrix: FloatArray, size: int, a: int) -> None:
    """The next column of a Cholesky factor in place (lower triangle), with a negligible pivot blocked.

    One after the other, since all of them take long where there are thousands. A pivot that vanishes against its
    diagonal belongs to a direction without curvature (duplicated columns): a huge pivot instead makes the solution
    leave that coordinate where it is.
    """
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
def solve_factorised(factor: FloatArray, size: int, rhs: FloatArray) -> None:
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
