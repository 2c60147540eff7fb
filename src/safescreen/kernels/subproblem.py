"""What a search is about, as the compiled solver sees it: columns, labels, weights and the problem's numbers."""

from typing import NamedTuple

from safescreen.arrays import FloatArray
from safescreen.design.columns import Columns
from safescreen.kernels.compiling import inlined

FREE, IN, OUT = 0, 1, -1  # what is decided about a feature


class Subproblem(NamedTuple):
    """A problem restricted to the columns that may matter."""

    columns: Columns
    y: FloatArray
    w: FloatArray
    gamma: float
    mu: float
    k: int
    intercept: bool
    loss: int  # see `safescreen.kernels.losses`


class Samples(NamedTuple):
    """What a loss needs to know: compiled functions are handed every array of a tuple, so a small one is quicker."""

    y: FloatArray
    w: FloatArray
    intercept: bool
    loss: int


@inlined
def samples_of(subproblem: Subproblem) -> Samples:
    """The samples of a problem, without its columns."""
    return Samples(subproblem.y, subproblem.w, subproblem.intercept, subproblem.loss)
