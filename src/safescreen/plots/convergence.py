"""Bounds over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from safescreen.plots.base import STRONG, WEAK, Display, draws, solution_of

if TYPE_CHECKING:
    from safescreen.search.solution import Solution


class ConvergenceDisplay(Display):
    """Lower and upper bound over time, with the gap between them shaded.

    Extra arguments of `plot` go to ``ax.step`` for both bounds.

    Parameters
    ----------
    seconds, lower_bounds, upper_bounds : array-like of shape (n_moments,)
        Where the search stood, and when.
    """

    def __init__(self, seconds: npt.ArrayLike, lower_bounds: npt.ArrayLike, upper_bounds: npt.ArrayLike) -> None:
        self.seconds = np.asarray(seconds, dtype=np.float64)
        self.lower_bounds = np.asarray(lower_bounds, dtype=np.float64)
        self.upper_bounds = np.asarray(upper_bounds, dtype=np.float64)

    @classmethod
    @draws
    def from_solution(cls, solution: Solution, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw how a search went.

        Parameters
        ----------
        solution : Solution
            From :func:`solve`.
        """
        seconds, _, lower, upper = zip(*solution.trace, strict=True)
        end = (*seconds, max(solution.seconds, seconds[-1]))
        return cls(end, (*lower, solution.lower_bound), (*upper, solution.objective)).plot(ax, **kwargs)

    @classmethod
    @draws
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw how the search behind a fitted estimator went.

        Parameters
        ----------
        estimator : L0LogisticRegression
            Fitted, with a ``solution_``.
        """
        return cls.from_solution(solution_of(estimator), ax=ax, **kwargs)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        style = {"linewidth": 1.6, "where": "post", **kwargs}
        lower, upper = self.lower_bounds, self.upper_bounds
        ax.fill_between(self.seconds, lower, upper, step="post", color=WEAK, alpha=0.2, linewidth=0.0)
        ax.step(self.seconds, upper, color=STRONG, label="best model", **style)
        ax.step(self.seconds, lower, color=WEAK, label="lower bound", **style)
        gap = max(upper[-1] - lower[-1], 0.0) / abs(upper[-1])
        ax.set(xlabel="seconds", ylabel="objective", title=f"gap {100.0 * gap:.2g} % after {self.seconds[-1]:.3g} s")
        start = float(self.seconds[0])
        if start == self.seconds[-1]:  # one moment: steps have no length
            for bound, colour in ((upper[-1], STRONG), (lower[-1], WEAK)):
                ax.plot([start], [bound], "o", color=colour)
        ax.set_xlim(0.0 if start <= 0.5 * self.seconds[-1] or start == self.seconds[-1] else start, None)
        ax.ticklabel_format(axis="y", useOffset=False)
        ax.legend(frameon=False, loc="best")
