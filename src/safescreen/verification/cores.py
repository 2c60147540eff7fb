"""Cores: what every good model uses, proved by one dual point.

A model that uses at most ``t - 1`` features of a core is, for any dual point, no better than

    Σ w_i H(p_i) + Σ_in (μ - q_j) - max over s < t of [ s largest (q_j - μ)₊ of the core, κ - s largest of the others ].
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from safescreen.verification.arithmetic import ROUNDOFF, Array
from safescreen.verification.dual_bounds import bound_nodes, evaluate_points
from safescreen.verification.reading import Arrays, Header, require
from safescreen.verification.recognition import StatedProblem, mask_of


class CoreBounds(NamedTuple):
    """What the dual point of a core proves, rounded down."""

    avoiding: float
    """No model that uses too few features of the core is better."""
    of_all: float
    """No model at all is better."""
    uncertainty: float


def core_bounds(problem: StatedProblem, header: Header, arrays: Arrays) -> CoreBounds:
    """The bounds, if the core is a set of features that a model may use or not."""
    terms, core = problem.terms, arrays["core"]
    require(header["chunks"] == 0, "The proof of a core has no tree.")
    require(header["at_least"] >= 1 and header["within"] >= 0.0, "The header has an impossible at_least or within.")
    members = mask_of(core, terms.n_features)
    require(np.count_nonzero(members) == core.size, "A feature of the core is listed twice.")
    require(not (members & (terms.included | terms.excluded)).any(), "A feature of the core is decided beforehand.")
    point = evaluate_points(problem, problem.columns, problem.samples.root_dual[None])
    inside, outside = terms.included[None], terms.excluded[None]
    alone, everything = bound_nodes(point, inside, ~inside), bound_nodes(point, inside, outside)
    gains = np.maximum(point.surplus[0], 0.0) * ~(terms.included | terms.excluded)
    places = int(alone.places[0])
    gained = largest_sum(gains[members], gains[~members], header["at_least"] - 1, places)
    avoiding = float(alone.lower[0]) - gained
    avoiding -= 8.0 * ROUNDOFF * (abs(float(alone.lower[0])) + gained)
    trivial = terms.mu * int(terms.included.sum()) * (1.0 - 4.0 * ROUNDOFF)
    of_all = max(trivial, float(everything.lower[0]))  # in this order also of what is not a number
    return CoreBounds(avoiding, of_all, float(everything.uncertainty[0]))


def largest_sum(in_core: Array, others: Array, most: int, places: int) -> float:
    """The most that gains of a model add up to, at most so many of them in the core; what is no number stays none."""
    in_core, others = np.sort(in_core)[::-1], np.sort(others)[::-1]
    if np.isnan(in_core).any() or np.isnan(others).any():
        return math.nan
    chosen = range(min(most, places, in_core.size) + 1)
    return max(math.fsum((*in_core[:s], *others[: places - s])) for s in chosen)
