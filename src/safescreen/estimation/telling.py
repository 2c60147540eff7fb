"""Which ridge is which, in one sentence that summaries, commands, pages and cards share."""

from __future__ import annotations

from dataclasses import dataclass

from safescreen.formatting.digits import counted, percent_above
from safescreen.search.solution import Solution
from safescreen.status import Status

_PLAIN_GAP = 1e-4
"""Smaller gaps are told as this one: nobody wants to read powers of ten in a sentence."""


@dataclass(frozen=True)
class Choice:
    """How features were chosen, and how far that is proved, without any data.

    Attributes
    ----------
    gamma : float
        Ridge of the choice.
    status : str
        How the search ended.
    gap : float
        Relative distance to the proved bound.
    n_features : int
        Number of features to choose from.
    k, mu : int, float
        Budget and price; a budget of None is one that is not known.
    restricted : bool
        Whether features were included or excluded beforehand, copies of others among them.
    """

    gamma: float
    status: str
    gap: float
    n_features: int
    k: int | None = None
    mu: float | None = None
    restricted: bool = False

    @classmethod
    def of(cls, solution: Solution) -> Choice:
        """What a solution proves."""
        problem = solution.problem
        return cls(
            gamma=problem.gamma,
            status=str(solution.status),
            gap=solution.gap,
            n_features=problem.n_features,
            k=problem.k,
            mu=problem.mu,
            restricted=bool(problem.include.size or problem.exclude.size),
        )


def which_is_which(choice: Solution | Choice, refit_gamma: float) -> str:
    """What the proof is about, and at which ridge the coefficients were estimated."""
    if isinstance(choice, Solution):
        choice = Choice.of(choice)
    gap = "0.01\u00a0%" if choice.gap <= _PLAIN_GAP else percent_above(choice.gap)
    if choice.status == Status.OPTIMAL:
        proved = f"proved that no other {_others(choice)} has an objective lower by more than {gap}"
    else:
        proved = f"the best choice found, not proved (another one may have an objective lower by up to {gap})"
    if refit_gamma == choice.gamma:
        return f"Chosen and estimated at γ = {choice.gamma:g}: {proved}."
    return f"Chosen at γ = {choice.gamma:g}: {proved}; coefficients estimated at γ = {refit_gamma:g}."


def _others(choice: Choice) -> str:
    """The choices that the proof speaks about."""
    if choice.k is None:
        return "choice that was allowed"
    limit = f" of at most {counted(choice.k, 'feature')}" if choice.k < choice.n_features else " of features"
    price = f", at a price of {choice.mu:g} each," if choice.mu else ""
    return f"{'allowed ' if choice.restricted else ''}choice{limit}{price}"
