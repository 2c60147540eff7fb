"""Which ridge is which, in one sentence that commands, pages and cards share."""

from __future__ import annotations

from safescreen.formatting.digits import percent_above
from safescreen.search.solution import Solution
from safescreen.status import Status

_PLAIN_GAP = 1e-4
"""Smaller gaps are told as this one: nobody wants to read powers of ten in a sentence."""


def which_is_which(solution: Solution, refit_gamma: float) -> str:
    """What the proof is about, and at which ridge the coefficients were estimated."""
    gap = "0.01\u00a0%" if solution.gap <= _PLAIN_GAP else percent_above(solution.gap)
    if solution.status == Status.OPTIMAL:
        proved = f"proved that no other choice of features has an objective lower by more than {gap}"
    else:
        proved = f"the best choice found, not proved (another one may have an objective lower by up to {gap})"
    gamma = solution.problem.gamma
    if refit_gamma == gamma:
        return f"Chosen and estimated at γ = {gamma:g}: {proved}."
    return f"Chosen at γ = {gamma:g}: {proved}; coefficients estimated at γ = {refit_gamma:g}."
