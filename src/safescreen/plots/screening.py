"""Margins of all features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from safescreen.plots.base import GOOD, STRONG, WEAK, Display, draws, solution_of

if TYPE_CHECKING:
    from safescreen.problem import Problem
    from safescreen.screening import Screening

_GROUPS = (
    ("in no optimal model", STRONG, 10.0),
    ("undecided", WEAK, 16.0),
    ("in every optimal model", GOOD, 36.0),
)  # label, colour and size of dots: the rarer, the larger


class ScreeningDisplay(Display):
    """Margins of all features, sorted, coloured by what is proved about them.

    A margin above zero is a proof: the bound with the feature's choice flipped passes the best model by that much.
    Extra arguments of `plot` go to ``ax.scatter``.

    Parameters
    ----------
    margin : array-like of shape (n_features,)
        By how much the proof of each feature's decision passes the upper bound.
    excluded, included : array-like of int
        Features in no, and in every optimal model.
    """

    def __init__(self, margin: npt.ArrayLike, excluded: npt.ArrayLike, included: npt.ArrayLike) -> None:
        self.margin = np.asarray(margin, dtype=np.float64)
        self.excluded = np.asarray(excluded, dtype=np.int64)
        self.included = np.asarray(included, dtype=np.int64)

    @classmethod
    @draws
    def from_screening(cls, screening: Screening, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw a screening.

        Parameters
        ----------
        screening : Screening
            From :func:`screen`, or a solution's.
        """
        return cls(screening.margin, screening.excluded, screening.included).plot(ax, **kwargs)

    @classmethod
    @draws
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw what was screened while fitting an estimator.

        Parameters
        ----------
        estimator : SafeScreener or L0LogisticRegression
            Fitted, with a ``screening_`` or a ``solution_``.
        """
        screening = getattr(estimator, "screening_", None)
        return cls.from_screening(screening or solution_of(estimator).screening, ax=ax, **kwargs)

    @classmethod
    @draws
    def from_problem(
        cls, problem: Problem, *, upper_bound: float | None = None, ax: Any = None, **kwargs: Any
    ) -> Self:  # fmt: skip
        """Screen a problem and draw the result.

        Parameters
        ----------
        problem : Problem
            The problem.
        upper_bound : float, optional
            As for :func:`screen`.
        """
        from safescreen.search import screen

        return cls.from_screening(screen(problem, upper_bound=upper_bound), ax=ax, **kwargs)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        group_of = np.full(self.margin.size, 1)
        group_of[self.excluded], group_of[self.included] = 0, 2
        order = np.argsort(-self.margin, kind="stable")
        order = order[np.isfinite(self.margin[order])]
        ax.axhline(0.0, color="0.35", linewidth=0.9)
        for group, (label, colour, size) in enumerate(_GROUPS):
            members, ranks = np.count_nonzero(group_of == group), np.flatnonzero(group_of[order] == group)
            if members:
                look = {"color": colour, "s": size, "label": f"{label} ({members:,})", "linewidths": 0.0, **kwargs}
                ax.scatter(ranks + 1, self.margin[order[ranks]], **look)
        decided = 100.0 * (self.excluded.size + self.included.size) / max(self.margin.size, 1)
        decided = decided if decided == 100.0 else min(decided, 99.9)
        ax.set_title(f"{decided:.1f} % of {self.margin.size:,} features decided")
        ax.set(xlabel="features, sorted by margin", ylabel="margin of the proof")
        ax.legend(loc="lower left", markerscale=1.5, framealpha=1.0, edgecolor="none")  # margins fall: a free corner
