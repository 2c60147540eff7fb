"""The columns of a search: the one kernel file that knows dense from sparse."""

from safescreen.arrays import FloatArray, IndexArray, StatusArray
from safescreen.design.columns import Columns
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
def correlate(columns: Columns, features: IndexArray, count: int, alpha: FloatArray, c: FloatArray) -> None:
    """Correlations of the listed features with the dual point, from whichever form a column is held in."""
    alpha_total = total(alpha)
    for i in range(count):
        j = features[i]
        if columns.slot[j] >= 0:
            c[j] = dot_column(columns, j, alpha)
        else:
            value = 0.0
            for entry in range(columns.starts[j], columns.starts[j + 1]):
                value += columns.values[entry] * alpha[columns.rows[entry]]
            c[j] = (value - columns.means[j] * alpha_total) / columns.scales[j]


@inlined
def reserved_slots(columns: Columns, k: int) -> int:
    """Dense slots kept for features decided in, so that these always find one; none where every feature has room."""
    slots = columns.dense.shape[0]
    return 0 if slots >= columns.slot.size else min(k, slots - 1)


@compiled
def make_dense(columns: Columns, j: int, spared: int) -> bool:
    """Give a sparse column a dense slot; False when no more than ``spared`` slots are left."""
    if columns.slot[j] >= 0:
        return True
    slot = columns.in_use[0]
    if slot + spared >= columns.dense.shape[0]:
        return False
    column = columns.dense[slot]
    for i in range(column.size):
        column[i] = (0.0 - columns.means[j]) / columns.scales[j]
    for entry in range(columns.starts[j], columns.starts[j + 1]):
        column[columns.rows[entry]] = (columns.values[entry] - columns.means[j]) / columns.scales[j]
    columns.slot[j] = slot
    columns.in_use[0] = slot + 1
    return True


@inlined
def make_decided_dense(columns: Columns, status: StatusArray) -> None:
    """Give every feature decided in its dense slot; the reserved ones are for them."""
    for j in range(status.size):
        if status[j] == IN:
            make_dense(columns, j, 0)


@inlined
def only_reserved_slots_left(columns: Columns, k: int) -> bool:
    """Whether sparse columns have used up all the dense slots they may have."""
    reserved = reserved_slots(columns, k)
    return reserved > 0 and columns.in_use[0] + reserved >= columns.dense.shape[0]


@inlined
def forget_dense(columns: Columns) -> None:
    """Take all dense slots back."""
    columns.in_use[0] = 0
    for j in range(columns.slot.size):
        columns.slot[j] = -1
