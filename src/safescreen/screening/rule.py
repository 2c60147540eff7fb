"""Safe screening: what one dual point proves about each free feature.

Flipping the relaxation's own choice for a feature raises the dual bound by a known margin. Once the raised bound
passes the value of a model we hold, the flipped branch is proved empty of optima and the choice is final:
Propositions 1 and 2 of the paper as one rule. Its compiled twin, for the nodes of a search, is
:func:`safescreen.kernels.dual_bound.flipped`.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from safescreen.arrays import BoolArray, FloatArray
from safescreen.relaxation import Bound, Fixings
from safescreen.relaxation.bounds import FEATURES_AT_A_TIME
from safescreen.rounding import UNIT


class Gains(Protocol):
    """A bound, and what the features that may be flipped gain."""

    @property
    def value(self) -> float:
        """The bound."""

    @property
    def gain(self) -> FloatArray:
        """``q - μ`` per feature, rounded up."""

    @property
    def kth_gain(self) -> float:
        """The κ-th largest."""

    @property
    def next_gain(self) -> float:
        """And the next one."""


def flipped_free(bound: Gains) -> tuple[BoolArray, FloatArray]:
    """The relaxation's own choice for each feature, all of them free, and the bound once that choice is flipped.

    Flipping a chosen feature loses its gain and lets the next one in; flipping another one displaces the last that
    was chosen.
    """
    return _flipped(bound, bound.gain)


def flipped(bound: Bound, fixings: Fixings) -> tuple[BoolArray, FloatArray]:
    """The same where some features are decided. These are never flipped: their entry is minus infinity."""
    chosen, raised = np.empty(bound.gain.size, np.bool_), np.empty(bound.gain.size)
    free = fixings.free
    for start in range(0, raised.size, FEATURES_AT_A_TIME):
        some = slice(start, start + FEATURES_AT_A_TIME)
        chosen[some], flips = _flipped(bound, bound.gain[some])
        raised[some] = np.where(free[some], flips, -np.inf)
    return chosen, raised


def _flipped(bound: Gains, gain: FloatArray) -> tuple[BoolArray, FloatArray]:
    """Choice and flipped bound for features of these gains."""
    chosen = (gain > 0.0) & (gain >= bound.kth_gain)
    with np.errstate(invalid="ignore"):  # gains that overflow: what is no number proves nothing
        margin = np.where(chosen, gain - bound.next_gain, bound.kth_gain - gain)
        slack = 4.0 * UNIT * (abs(bound.value) + np.abs(gain) + bound.kth_gain + bound.next_gain)
        return chosen, bound.value + margin - slack


def decide(bound: Bound, fixings: Fixings, upper: float) -> Fixings:
    """Decide every free feature on which one branch cannot hold an optimum. Strict: a tie proves nothing."""
    return decided(*flipped(bound, fixings), fixings, upper)


def decided(chosen: BoolArray, raised: FloatArray, fixings: Fixings, upper: float) -> Fixings:
    """The same from what flipping each feature's choice raises the bound to, which is finite for free ones only."""
    final = raised > upper
    return Fixings(fixings.included | (final & chosen), fixings.excluded | (final & ~chosen))
