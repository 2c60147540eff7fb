"""The columns of a search: the one kernel file that knows in which form they are held."""

import numpy as np
import numpy.typing as npt

from safescreen.arrays import AnyArray, FloatArray, IndexArray, PlaceArray, Record, StatusArray
from safescreen.design.columns import (
    BIG_ENDIAN,
    COLUMN_STEP,
    DOUBLES,
    FLOATS,
    ITEM_BYTES,
    KIND,
    N_COLUMNS,
    ORIGIN,
    ROW_STEP,
    SIGNED,
    SINGLES,
    Columns,
)
from safescreen.kernels.compiling import compiled, inlined
from safescreen.kernels.subproblem import IN
from safescreen.kernels.vectors import add_four, add_multiple, dot, dot_four, signed, square_and_three, total
from safescreen.tuning import SHORT_COLUMN


@inlined
def has_short_columns(columns: Columns) -> bool:
    """Whether columns are held compressed, beside dense copies of some."""
    return columns.ends.size > 0


@inlined
def is_short(columns: Columns, j: int, samples: int) -> bool:
    """Whether a column is best read entry by entry: it is held compressed alone, or has few entries."""
    if not has_short_columns(columns):
        return False
    short: bool = columns.slot[j] < 0 or SHORT_COLUMN * (columns.ends[j] - columns.starts[j]) < samples
    return short


@inlined
def dot_column(columns: Columns, j: int, a: FloatArray, total_of_a: float) -> float:
    """Inner product with a column that is held dense, from its entries alone where these are few."""
    if has_short_columns(columns) and SHORT_COLUMN * (columns.ends[j] - columns.starts[j]) < a.size:
        value: float = (dot_compressed(columns, j, a) - columns.means[j] * total_of_a) / columns.scales[j]
        return value
    return dot(a, columns.dense[columns.slot[j]])


@inlined
def dot_dense(columns: Columns, j: int, a: FloatArray) -> float:
    """Inner product with the dense copy of a column, in all of its entries."""
    return dot(a, columns.dense[columns.slot[j]])


@inlined
def add_column(columns: Columns, j: int, factor: float, u: FloatArray) -> None:
    """``u += factor * A^j`` for a column that is held dense."""
    add_multiple(u, factor, columns.dense[columns.slot[j]])


@compiled
def add_several_columns(columns: Columns, features: IndexArray, factors: FloatArray, u: FloatArray) -> None:
    """The same for several columns that are held dense, four at a time."""
    rows, slot = columns.dense, columns.slot
    whole = features.size - features.size % 4
    for i in range(0, whole, 4):
        first, second = rows[slot[features[i]]], rows[slot[features[i + 1]]]
        third, fourth = rows[slot[features[i + 2]]], rows[slot[features[i + 3]]]
        add_four(u, factors[i : i + 4], first, second, third, fourth)
    for i in range(whole, features.size):
        add_multiple(u, factors[i], rows[slot[features[i]]])


@inlined
def weigh_column(columns: Columns, j: int, weights: FloatArray, product: FloatArray) -> None:
    """``product = weights * A^j`` for a column that is held dense."""
    column = columns.dense[columns.slot[j]]
    for i in range(product.size):
        product[i] = weights[i] * column[i]


@inlined
def weigh_entries(columns: Columns, j: int, first: int, weights: FloatArray, product: FloatArray) -> None:
    """The same for as many of its entries as there are weights, from the first one on."""
    column = columns.dense[columns.slot[j], first : first + weights.size]
    for i in range(product.size):
        product[i] = weights[i] * column[i]


@compiled
def add_columns(columns: Columns, x: FloatArray, b: float, u: FloatArray) -> None:
    """Set ``u = A x + b``."""
    for i in range(u.size):
        u[i] = b
    for j in range(x.size):
        if x[j] != 0.0:
            add_column(columns, j, x[j], u)


@compiled
def correlate(
    columns: Columns, features: PlaceArray, count: int, alpha: FloatArray, c: FloatArray, progress: Record
) -> None:
    """Correlations of the listed features with the dual point, from whichever form a column is held in.

    A pass over a matrix may be halted, and then has no result.
    """
    if columns.starts.size == 0:
        correlate_dense(columns, features, count, alpha, c)
        return
    alpha_total = total(alpha)
    in_place = 0
    for i in range(count):
        j = features[i]
        if columns.slot[j] >= 0:
            c[j] = dot_column(columns, j, alpha, alpha_total)
        elif columns.ends.size == 0:
            in_place += 1
        else:
            c[j] = (dot_compressed(columns, j, alpha) - columns.means[j] * alpha_total) / columns.scales[j]
    if in_place > 0:
        correlate_in_place(columns, features[:count], alpha, c, progress)


@inlined
def correlate_dense(columns: Columns, features: PlaceArray, count: int, alpha: FloatArray, c: FloatArray) -> None:
    """The same where all columns are rows of an array, four at a time."""
    whole = count - count % 4
    for i in range(0, whole, 4):
        j0, j1, j2, j3 = features[i], features[i + 1], features[i + 2], features[i + 3]
        rows = columns.dense
        c[j0], c[j1], c[j2], c[j3] = dot_four(alpha, rows[j0], rows[j1], rows[j2], rows[j3])
    for i in range(whole, count):
        c[features[i]] = dot(alpha, columns.dense[features[i]])


@inlined
def dot_compressed(columns: Columns, j: int, alpha: FloatArray) -> float:
    """Inner product with a raw compressed column, whose values are in double or in single precision."""
    value = 0.0
    if columns.memory.size == 0:
        for entry in range(columns.starts[j], columns.ends[j]):
            value += columns.values[entry] * alpha[columns.rows[entry]]
    else:
        singles = columns.memory.view(np.float32)
        for entry in range(columns.starts[j], columns.ends[j]):
            value += np.float64(singles[entry]) * alpha[columns.rows[entry]]
    return value


@compiled
def correlate_in_place(
    columns: Columns, features: PlaceArray, alpha: FloatArray, c: FloatArray, progress: Record
) -> None:
    """The same for those of the features that have no dense copy, in the order in which the matrix lies in memory."""
    if abs(columns.layout[ROW_STEP]) > abs(columns.layout[COLUMN_STEP]):
        correlate_by_rows(columns, features, alpha, c, progress)
        return
    for j in features:
        if columns.slot[j] < 0:
            if progress.halted:
                return
            c[j] = dot_in_place(columns, j, alpha) / columns.scales[j]


@inlined
def correlate_by_rows(
    columns: Columns, features: PlaceArray, alpha: FloatArray, c: FloatArray, progress: Record
) -> None:
    """One row of the matrix after the other, with all features that need it."""
    layout = columns.layout
    line = columns.line[: layout[N_COLUMNS]]
    for j in features:
        c[j] = c[j] if columns.slot[j] >= 0 else 0.0
    for i in range(alpha.size):
        if progress.halted:
            return
        copy_entries(columns.memory, layout, i * layout[ROW_STEP], layout[COLUMN_STEP], line)
        for j in features:
            if columns.slot[j] < 0:
                c[j] += alpha[i] * (line[columns.starts[j]] - columns.means[j])
    for j in features:
        c[j] = c[j] if columns.slot[j] >= 0 else c[j] / columns.scales[j]


@inlined
def dot_in_place(columns: Columns, j: int, alpha: FloatArray) -> float:
    """Inner product with a centred column of the matrix, a line of it at a time."""
    layout, line = columns.layout, columns.line
    start, step, value = columns.starts[j] * layout[COLUMN_STEP], layout[ROW_STEP], 0.0
    for first in range(0, alpha.size, line.size):
        count = min(line.size, alpha.size - first)
        copy_entries(columns.memory, layout, start + first * step, step, line[:count])
        for i in range(count):
            value += alpha[first + i] * (line[i] - columns.means[j])
    return value


@compiled
def copy_entries(
    memory: npt.NDArray[np.uint8], layout: IndexArray, distance: int, step: int, target: FloatArray
) -> None:
    """Fill ``target`` with entries of a matrix that are ``step`` bytes apart, the first so far from its first one."""
    start = layout[ORIGIN] + distance
    if layout[KIND] == DOUBLES:
        copy_steps(memory.view(np.float64), start // 8, step // 8, target)
    elif layout[KIND] == SINGLES:
        copy_steps(memory.view(np.float32), start // 4, step // 4, target)
    else:
        put_together(memory, layout, start, step, target)


@inlined
def copy_steps(entries: AnyArray, start: int, step: int, target: FloatArray) -> None:
    """Every ``step``-th entry from ``start`` on."""
    for i in range(target.size):
        target[i] = entries[start + i * step]


@inlined
def put_together(memory: npt.NDArray[np.uint8], layout: IndexArray, start: int, step: int, target: FloatArray) -> None:
    """The numbers that bytes stand for, of any size and order, wherever they lie: their bits first, the highest on top.

    A float in fewer bytes has fewer digits and a smaller exponent. Once its parts are where a double has them, only
    the offset of the exponent differs, which is a product with a power of two: exact, for the smallest ones as well.
    """
    kind, size, bits_of, integers = layout[KIND], layout[ITEM_BYTES], target.view(np.uint64), target.view(np.int64)
    unused = 8 * (8 - size)
    highest, down = (0, 1) if layout[BIG_ENDIAN] else (size - 1, -1)
    shift, factor, sign = np.uint64(0), 1.0, np.uint64(1 << 63)
    if size < 8:
        shift, factor = (np.uint64(3), 2.0**896) if size == 4 else (np.uint64(6), 2.0**1008)
    for i in range(target.size):
        place, bits = start + i * step + highest, np.uint64(0)
        for byte in range(size):
            bits = (bits << np.uint64(8)) | np.uint64(memory[place + byte * down])
        bits_of[i] = bits << np.uint64(unused)
        if kind == FLOATS:
            bits_of[i] = (bits_of[i] & sign) | ((bits_of[i] & ~sign) >> shift)
            target[i] *= factor
        elif kind == SIGNED:
            target[i] = integers[i] >> unused
        else:
            target[i] = bits


@compiled
def dot_raw(columns: Columns, j: int, a: FloatArray) -> float:
    """The same where it is not all there is to do."""
    return dot_compressed(columns, j, a)


@inlined
def weighted_products(
    columns: Columns,
    j: int,
    rows: FloatArray,
    totals: FloatArray,
    weights: FloatArray,
    scratch: FloatArray,
    products: FloatArray,
) -> tuple[float, float]:
    """Products of a column, in whichever form, with rows whose sums are ``totals``; and its weighted sum of squares.

    The sum of squares comes with the size of its terms, the weights being nonnegative.
    """
    count = rows.shape[0]
    if is_short(columns, j, weights.size):
        mean, scale = columns.means[j], columns.scales[j]
        for a in range(count):
            products[a] = (dot_raw(columns, j, rows[a]) - mean * totals[a]) / scale
        squares, once, whole = (
            squares_compressed(columns, j, weights),
            dot_raw(columns, j, weights),
            total(weights),
        )
        square = (squares - 2.0 * mean * once + mean * mean * whole) / (scale * scale)
        return max(square, 0.0), 2.0 * (squares + mean * mean * whole) / (scale * scale)
    column = columns.dense[columns.slot[j]] if columns.slot[j] >= 0 else scratch
    if columns.slot[j] < 0:
        copy_standardised(columns, j, scratch)
    last = count - 1
    square, products[0], second, third = square_and_three(
        column, weights, rows[0], rows[min(1, last)], rows[min(2, last)]
    )
    if count > 1:
        products[1] = second
    if count > 2:
        products[2] = third
    whole = count - (count - min(3, count)) % 4
    for a in range(3, whole, 4):
        four = dot_four(column, rows[a], rows[a + 1], rows[a + 2], rows[a + 3])
        products[a], products[a + 1], products[a + 2], products[a + 3] = four
    for a in range(max(whole, 3), count):
        products[a] = dot(column, rows[a])
    return square, square


@inlined
def dot_any_column(columns: Columns, j: int, a: FloatArray, copy: FloatArray) -> float:
    """Inner product with a column in whichever form; ``copy`` is the column if it is neither dense nor compressed."""
    if columns.slot[j] >= 0:
        return dot(a, columns.dense[columns.slot[j]])
    if has_short_columns(columns):
        value: float = (dot_raw(columns, j, a) - columns.means[j] * total(a)) / columns.scales[j]
        return value
    return dot(a, copy)


@inlined
def add_any_column(columns: Columns, j: int, factor: float, u: FloatArray, copy: FloatArray) -> None:
    """``u += factor * A^j`` likewise."""
    if columns.slot[j] >= 0:
        add_multiple(u, factor, columns.dense[columns.slot[j]])
    elif columns.ends.size > 0:
        factor /= columns.scales[j]
        for i in range(u.size):
            u[i] -= factor * columns.means[j]
        add_compressed(columns, j, factor, u)
    else:
        add_multiple(u, factor, copy)


@inlined
def add_compressed(columns: Columns, j: int, factor: float, u: FloatArray) -> None:
    """Add a multiple of a raw compressed column."""
    if columns.memory.size == 0:
        for entry in range(columns.starts[j], columns.ends[j]):
            u[columns.rows[entry]] += factor * columns.values[entry]
    else:
        singles = columns.memory.view(np.float32)
        for entry in range(columns.starts[j], columns.ends[j]):
            u[columns.rows[entry]] += factor * singles[entry]


@inlined
def copy_entries_of_short(columns: Columns, j: int, entries: FloatArray) -> int:
    """The stored entries of a compressed column, centred and scaled; returns how many there are."""
    first: int = columns.starts[j]
    count: int = columns.ends[j] - first
    if columns.memory.size == 0:
        for e in range(count):
            entries[e] = (columns.values[first + e] - columns.means[j]) / columns.scales[j]
    else:
        singles = columns.memory.view(np.float32)
        for e in range(count):
            entries[e] = (np.float64(singles[first + e]) - columns.means[j]) / columns.scales[j]
    return count


@inlined
def rows_of_short(columns: Columns, j: int) -> npt.NDArray[np.integer]:
    """In which samples these entries are."""
    rows: npt.NDArray[np.integer] = columns.rows[columns.starts[j] : columns.ends[j]]
    return rows


@inlined
def value_elsewhere(columns: Columns, j: int) -> float:
    """What a compressed column is in all other samples."""
    value: float = -columns.means[j] / columns.scales[j]
    return value


@inlined
def add_in_rows(columns: Columns, j: int, factor: float, rows: npt.NDArray[np.integer], entries: FloatArray) -> None:
    """Add a multiple of a column that is held dense, in some samples only."""
    column = columns.dense[columns.slot[j]]
    for e in range(rows.size):
        entries[e] += factor * column[rows[e]]


@inlined
def squares_compressed(columns: Columns, j: int, weights: FloatArray) -> float:
    """Weighted sum of squares of a raw compressed column."""
    value = 0.0
    if columns.memory.size == 0:
        for entry in range(columns.starts[j], columns.ends[j]):
            value += columns.values[entry] * columns.values[entry] * weights[columns.rows[entry]]
    else:
        singles = columns.memory.view(np.float32)
        for entry in range(columns.starts[j], columns.ends[j]):
            single = np.float64(singles[entry])
            value += single * single * weights[columns.rows[entry]]
    return value


@inlined
def largest_entry(columns: Columns, j: int, weights: FloatArray, scratch: FloatArray) -> float:
    """The largest entry of a column in size, in rows of positive weight."""
    largest = 0.0
    if columns.slot[j] < 0:
        copy_standardised(columns, j, scratch)
    column = columns.dense[columns.slot[j]] if columns.slot[j] >= 0 else scratch
    for i in range(weights.size):
        if weights[i] > 0.0 and not abs(column[i]) <= largest:
            largest = abs(column[i])
    return largest


@inlined
def reserved_slots(columns: Columns, k: int) -> int:
    """Dense slots kept for features decided in, a quarter of all at most; none where every feature has room."""
    slots = columns.dense.shape[0]
    return 0 if slots >= columns.slot.size else min(k, (slots + 3) // 4)


@compiled
def make_dense(columns: Columns, j: int, spared: int) -> bool:
    """Give a column a dense slot; False when no more than ``spared`` slots are left."""
    if columns.slot[j] >= 0:
        return True
    slot = columns.in_use[0]
    if slot + spared >= columns.dense.shape[0]:
        return False
    copy_standardised(columns, j, columns.dense[slot])
    columns.slot[j] = slot
    columns.in_use[0] = slot + 1
    return True


@compiled
def copy_standardised(columns: Columns, j: int, column: FloatArray) -> None:
    """The whole of a column that has no dense copy, centred and scaled."""
    if columns.ends.size == 0:
        layout = columns.layout
        start = columns.starts[j] * layout[COLUMN_STEP]
        copy_entries(columns.memory, layout, start, layout[ROW_STEP], column)
        for i in range(column.size):
            column[i] = (column[i] - columns.means[j]) / columns.scales[j]
    else:
        for i in range(column.size):
            column[i] = 0.0
        scatter(columns, j, column)
        for i in range(column.size):
            column[i] = (column[i] - columns.means[j]) / columns.scales[j]


@inlined
def scatter(columns: Columns, j: int, column: FloatArray) -> None:
    """Put the entries of a raw compressed column where they belong."""
    if columns.memory.size == 0:
        for entry in range(columns.starts[j], columns.ends[j]):
            column[columns.rows[entry]] = columns.values[entry]
    else:
        singles = columns.memory.view(np.float32)
        for entry in range(columns.starts[j], columns.ends[j]):
            column[columns.rows[entry]] = singles[entry]


@compiled
def make_decided_dense(columns: Columns, status: StatusArray, features: PlaceArray) -> bool:
    """Give every one of these features that is decided in its dense slot; False if there are not enough of them."""
    if columns.in_use[0] >= columns.slot.size:
        return True
    found = True
    for j in features:
        if status[j] == IN and not make_dense(columns, signed(j), 0):
            found = False
    return found


@inlined
def only_reserved_slots_left(columns: Columns, k: int) -> bool:
    """Whether columns have used up all the dense slots they may have."""
    slots = columns.dense.shape[0]
    free: int = slots - columns.in_use[0]
    return slots < columns.slot.size and free <= reserved_slots(columns, k)


@inlined
def forget_dense_soon(columns: Columns) -> None:
    """Let no slot be left, so that all are taken back before the next node is loaded."""
    columns.in_use[0] = columns.dense.shape[0]


@inlined
def forget_dense(columns: Columns) -> None:
    """Take all dense slots back."""
    columns.in_use[0] = 0
    for j in range(columns.slot.size):
        columns.slot[j] = -1
