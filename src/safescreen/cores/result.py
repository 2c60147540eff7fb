"""What is proved of a group of features: the list, the tolerance and the dual point behind it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from safescreen.arrays import FloatArray, IndexArray
from safescreen.cores.question import Known, check_within
from safescreen.cores.telling import card, in_one_line, sentence
from safescreen.problem import Problem
from safescreen.relaxation import Bound
from safescreen.screening import CoreFinder
from safescreen.search import Solution

if TYPE_CHECKING:
    import pandas as pd

TOLERANCES = (0.0, 0.01, 0.02, 0.05, 0.1)
"""Of a curve, where nothing is said."""


class CoreCurve(NamedTuple):
    """How many features a core has, by tolerance.

    Attributes
    ----------
    within : ndarray
        The tolerances.
    size : ndarray of float
        Features of a core for each; nan where there is none.
    """

    within: FloatArray
    size: FloatArray


@dataclass(frozen=True, repr=False)
class Core:
    """Features of which every model within a tolerance of the best uses at least so many.

    Made by :func:`safescreen.core`. It speaks of the list as a whole: none of its features need be in a good model.

    Attributes
    ----------
    features : ndarray of int
        The features, those that matter most to models that avoid them first.
    gain : ndarray of float
        By how much each would lower the bound of a model that avoids them, alone, before any displaces another.
    within : float
        The tolerance, relative to the best objective.
    at_least : int
        How many of the features every such model uses.
    known : Known
        The problem, and the relaxation and the model that were used.
    bound : Bound
        What the dual point proves, all gains included.
    seconds : float
        Time taken, compilation excluded.
    """

    features: IndexArray
    gain: FloatArray = field(repr=False)
    within: float
    at_least: int
    known: Known = field(repr=False)
    bound: Bound = field(repr=False)
    seconds: float

    @property
    def problem(self) -> Problem:
        """The problem."""
        return self.known.problem

    @property
    def objective(self) -> float:
        """An upper bound on the best objective, rounded up."""
        return self.known.objective

    @property
    def threshold(self) -> float:
        """``(1 + within)`` times the objective: what is proved holds for every model with at most this objective."""
        return self.known.threshold(self.within)

    @property
    def best(self) -> Solution | None:
        """The model that everything is measured against; None if `upper_bound` was a number."""
        return self.known.solution(self.seconds)

    @property
    def is_searched(self) -> bool:
        """Whether a search for the best model was made; otherwise local searches found the one at hand."""
        return isinstance(self.known.model, Solution)

    @property
    def names(self) -> list[str]:
        """Names of the features, in the same order."""
        return self.problem.names(self.features)

    @property
    def lower_bound(self) -> float:
        """No model that uses fewer of the features is better than this, rounding included."""
        return self.bound.value

    @property
    def dual(self) -> FloatArray:
        """The dual point that proves it."""
        return self.bound.dual

    @property
    def sentence(self) -> str:
        """What is proved, in words."""
        return sentence(self)

    def curve(self, within: Iterable[float] = TOLERANCES) -> CoreCurve:
        """How the number of features grows with the tolerance; each is a core of its own, for the same model.

        Parameters
        ----------
        within : iterable of float
            The tolerances.

        Returns
        -------
        CoreCurve
            Tolerances and sizes; the size is nan where there is no core.
        """
        shares = sorted(check_within(share) for share in within)
        finder, sizes = CoreFinder(self.problem, self.known.root, self.at_least - 1), np.full(len(shares), np.nan)
        for i, share in enumerate(shares):
            result = finder.find(self.known.cutoff(share))
            if result is None:
                break  # a larger tolerance has no core either
            sizes[i] = np.count_nonzero(result[0])
        return CoreCurve(np.array(shares), sizes)

    def to_frame(self) -> pd.DataFrame:
        """One row per feature, the most important first: its ``index`` and ``gain``.

        Returns
        -------
        DataFrame
            Indexed by the features' names.
        """
        import pandas as pd

        rows = {"index": self.features, "gain": self.gain}
        return pd.DataFrame(rows, index=pd.Index(self.names, name="feature", dtype=object))

    def __len__(self) -> int:
        return int(self.features.size)

    def __repr__(self) -> str:
        return in_one_line(self)

    def _repr_html_(self) -> str:
        return card(self)
