"""How far around its model a proof reaches that does not reach everywhere.

A region of the tree says what is in and what is out. So all its models do without those features of the proof's model
that are out, and without those for which no place is left: they *exchange* so many at least. Once every region with
fewer exchanges has a high bound, no model that shares the other features is better.
"""

from __future__ import annotations

import numpy as np

from safescreen.verification.arithmetic import Array


def exchanged(inside: Array, outside: Array, model: Array, budget: int) -> Array:
    """How many features of a model all models of each region do without; one row of masks per region."""
    out = (outside & model).sum(axis=1)
    free = (~(inside | outside) & model).sum(axis=1)
    places = budget - inside.sum(axis=1)
    return np.asarray(out + np.maximum(free - places, 0))


def bounds_within(exchanges: Array, contribution: Array, n_features: int) -> Array:
    """For 0, 1, 2, ... exchanges the least contribution of all regions with models that exchange no more.

    What is not a number stays, so that nothing is proved with it.
    """
    least = np.full(n_features + 1, np.inf)
    np.minimum.at(least, np.minimum(exchanges, n_features), contribution)
    return np.asarray(np.minimum.accumulate(least))


def proved_exchanges(within: Array, needed: float) -> int:
    """The most exchanges up to which no bound is below what is needed; 0 if not even one is proved."""
    return max(int(np.count_nonzero(np.logical_and.accumulate(within >= needed))) - 1, 0)
