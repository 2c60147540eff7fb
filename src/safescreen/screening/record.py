"""What is proved about every optimal model before any search, for users."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from safescreen.arrays import FloatArray, IndexArray
from safescreen.problem import Problem
from safescreen.relaxation import Bound, Fixings, trivial_bound
from safescreen.screening.rule import decided, flipped


@dataclass(frozen=True)
class Screening:
    """What is proved about every optimal model before any search.

    Attributes
    ----------
    excluded : ndarray of int
        Features in no optimal model (those the user excluded and constant columns among them).
    included : ndarray of int
        Features in every optimal model (those the user included among them).
    undecided : ndarray of int
        All others.
    margin : ndarray of shape (n_features,)
        By how much the proof of a feature's decision passes ``upper_bound``; negative where there is no proof,
        infinite for what was decided beforehand.
    lower_bound, upper_bound : float
        Safe bounds on the optimal objective.
    seconds : float
        Time taken.
    """

    excluded: IndexArray
    included: IndexArray
    undecided: IndexArray
    margin: FloatArray = field(repr=False)
    lower_bound: float
    upper_bound: float
    seconds: float

    @property
    def percent(self) -> float:
        """Percentage of the features decided."""
        decided = self.excluded.size + self.included.size
        return 100.0 * decided / (decided + self.undecided.size)

    @property
    def share(self) -> str:
        """The percentage in words: 100.0 % only where nothing is undecided."""
        return f"{min(self.percent, 99.9) if self.undecided.size else 100.0:.1f} % decided"

    def __repr__(self) -> str:
        return (
            f"Screening({self.excluded.size:,} excluded, {self.included.size:,} included, "
            f"{self.undecided.size:,} undecided: {self.share})"
        )

    def _repr_html_(self) -> str:
        from safescreen.formatting.cards import screening_card

        return screening_card(self)


def record_of(problem: Problem, bound: Bound, upper: float, seconds: float) -> Screening:
    """The public record of a screening with this bound."""
    given = Fixings.given(problem)
    chosen, raised = flipped(bound, given)
    fixings = decided(chosen, raised, given, upper)
    raised -= upper
    raised[~given.free] = np.inf
    return Screening(
        excluded=np.flatnonzero(fixings.excluded),
        included=np.flatnonzero(fixings.included),
        undecided=np.flatnonzero(fixings.free),
        margin=raised,
        lower_bound=min(max(trivial_bound(problem), bound.value), upper),
        upper_bound=upper,
        seconds=seconds,
    )
