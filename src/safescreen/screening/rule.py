"""Safe screening: what one dual point proves about each free feature.

Flipping the relaxation's own choice for a feature raises the dual bound by a known margin. Once the raised bound
passes the value of a model we hold, the flipped branch is proved empty of optima and the choice is final:
Propositions 1 and 2 of the paper as one rule. Its compiled twin, for the nodes of a search, is
:func:`safescreen.kernels.dual_bound.flipped`.
"""

from __future__ import annotations

import numpy as np

from safescreen.arrays import BoolArray, FloatArray
from safescreen.relaxation import Bound, Fixings
from safescreen.rounding import UNIT


def flipped(bound: Bound, fixings: Fixings) -> tuple[BoolArray, FloatArray]:
    """The relaxation's own choice for each feature, and the bound once that choice is flipped.

    Flipping a chosen feature loses its gain and lets the next one in; flipping another one displaces the last that
    was chosen. Decided features are never flipped: their entry is minus infinity.
    """
    chosen = (bound.gain > 0.0) & (bound.gain >= bound.kth_gain)
    with np.errstate(invalid="ignore"):  # gains that overflow: what is no number proves nothing
        margin = np.where(chosen, bound.gain - bound.next_gain, bound.kth_gain - bound.gain)
        slack = 4.0 * UNIT * (abs(bound.value) + np.abs(bound.gain) + bound.kth_gain + bound.next_gain)
        return chosen, np.where(fixings.free, bound.value + margin - slack, -np.inf)


def decide(bound: Bound, fixings: Fixings, upper: float) -> Fixings:
    """Decide every free feature on which one branch cannot hold an optimum. Strict: a tie proves nothing."""
    chosen, raised = flipped(bound, fixings)
    decided = fixings.free & (raised > upper)
    return Fixings(fixings.included | (decided & chosen), fixings.excluded | (decided & ~chosen))
