"""The columns of a search: the one kernel file that knows in which form they are held."""

import numpy as np
import numpy.typing as npt

from safescreen.arrays import AnyArray, FloatArray, IndexArray, Record, StatusArray
from safescreen.design.columns import COLUMN_STEP, N_COLUMNS, ROW_STEP, TYPE, Columns
from safescreen.kernels.compiling import compiled, inlined
from safescreen.kernels.subproblem import IN
from safescreen.kernels.vectors import add_multiple, dot, total


@inlined
def dot_column(columns: Columns, j: int, a: FloatArray) -> float:
    """Inner product with a column that is held dense."""
    return dot(a, columns.dense[columns.slot[j]])


@inlined
def add_column(columns: Columns, j: int, factor: float, u: FloatArray) -> None:
    """``u += factor * A^j`` for a column that is held dense."""
    add_multiple(u, factor, columns.dense[columns.slot[j]])


@inlined
def weigh_column(columns: Columns, j: int, weights: FloatArray, product: FloatArray) -> None:
    """``product = weights * A^j`` for a column that is held dense."""
    column = columns.dense[columns.slot[j]]
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
    columns: Columns, features: IndexArray, count: int, alpha: FloatArray, c: FloatArray, progress: Record
) -> None:
    """Correlations of the listed features with the dual point, from whichever form a column is held in.

    A pass over a matrix may be halted, and then has no result.
    """
    alpha_total = total(alpha)
    in_place = 0
    for i in range(count):
        j = features[i]
        if columns.slot[j] >= 0:
            c[j] = dot_column(columns, j, alpha)
        elif columns.memory.size > 0:
            in_place += 1
        else:
            value = 0.0
            for entry in range(columns.starts[j], columns.ends[j]):
                value += columns.values[entry] * alpha[columns.rows[entry]]
            c[j] = (value - columns.means[j] * alpha_total) / columns.scales[j]
    if in_place > 0:
        correlate_in_place(columns, features[:count], alpha, c, progress)


@compiled
def correlate_in_place(
    columns: Columns, features: IndexArray, alpha: FloatArray, c: FloatArray, progress: Record
) -> None:
    """The same for those of the features that have no dense copy, in the order in which the matrix lies in memory."""
    if columns.layout[ROW_STEP] > columns.layout[COLUMN_STEP]:
        correlate_by_rows(columns, features, alpha, c, progress)
        return
    for j in features:
        if columns.slot[j] < 0:
            if progress.halted:
                return
            c[j] = dot_in_place(columns, j, alpha) / columns.scales[j]


@inlined
def correlate_by_rows(
    columns: Columns, features: IndexArray, alpha: FloatArray, c: FloatArray, progress: Record
) -> None:
    """One row of the matrix after the other, with all features that need it."""
    layout = columns.layout
    line = columns.line[: layout[N_COLUMNS]]
    for j in features:
        c[j] = c[j] if columns.slot[j] >= 0 else 0.0
    for i in range(alpha.size):
        if progress.halted:
            return
        copy_entries(columns.memory, layout[TYPE], i * layout[ROW_STEP], layout[COLUMN_STEP], line)
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
        copy_entries(columns.memory, layout[TYPE], start + first * step, step, line[:count])
        for i in range(count):
            value += alpha[first + i] * (line[i] - columns.means[j])
    return value


@compiled
def copy_entries(memory: npt.NDArray[np.uint8], code: int, start: int, step: int, target: FloatArray) -> None:
    """Fill ``target`` with entries of a matrix of one of the `safescreen.design.columns.ENTRY_TYPES`."""
    if code == 0:
        copy_steps(memory.view(np.float64), start, step, target)
    elif code == 1:
        copy_steps(memory.view(np.float32), start, step, target)
    elif code == 2:
        copy_steps(memory.view(np.int64), start, step, target)
    else:
        wrap = 128.0 if code == 3 else 256.0  # from where on a byte stands for a negative number
        copy_steps(memory, start, step, target)
        for i in range(target.size):
            target[i] -= 256.0 if target[i] >= wrap else 0.0


@inlined
def copy_steps(entries: AnyArray, start: int, step: int, target: FloatArray) -> None:
    """Every ``step``-th entry from ``start`` on."""
    for i in range(target.size):
        target[i] = entries[start + i * step]


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
    column = columns.dense[slot]
    if columns.memory.size > 0:
        layout = columns.layout
        start = columns.starts[j] * layout[COLUMN_STEP]
        copy_entries(columns.memory, layout[TYPE], start, layout[ROW_STEP], column)
        for i in range(column.size):
            column[i] = (column[i] - columns.means[j]) / columns.scales[j]
    else:
        for i in range(column.size):
            column[i] = (0.0 - columns.means[j]) / columns.scales[j]
        for entry in range(columns.starts[j], columns.ends[j]):
            column[columns.rows[entry]] = (columns.values[entry] - columns.means[j]) / columns.scales[j]
    columns.slot[j] = slot
    columns.in_use[0] = slot + 1
    return True


@compiled
def make_decided_dense(columns: Columns, status: StatusArray) -> bool:
    """Give every feature decided in its dense slot; False if there are not enough of them."""
    if columns.in_use[0] >= columns.slot.size:
        return True
    found = True
    for j in range(status.size):
        if status[j] == IN and not make_dense(columns, j, 0):
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
