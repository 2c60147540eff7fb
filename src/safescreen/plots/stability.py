"""How often features are chosen on resamples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from safescreen.plots.base import QUIET, STRONG, Display, draws, row_label

if TYPE_CHECKING:
    from safescreen.stability import Stability

_ROW = 0.28  # inches


class StabilityDisplay(Display):
    """Share of resamples in which features were chosen: the most frequent ones, the model's own marked.

    Extra arguments of `plot` go to ``ax.barh``.

    Parameters
    ----------
    names : sequence of str
        Features to show, the first on top.
    frequency : array-like of shape (n_shown,)
        Share of resamples that chose each.
    chosen : array-like of bool of shape (n_shown,)
        Whether the model has it.
    n_resamples : int, optional
        Number of resamples, for the title.
    """

    def __init__(
        self, names: Sequence[str], frequency: npt.ArrayLike, chosen: npt.ArrayLike, n_resamples: int | None = None
    ) -> None:
        self.names = [str(name) for name in names]
        self.frequency = np.asarray(frequency, dtype=np.float64)
        self.chosen = np.asarray(chosen, dtype=np.bool_)
        self.n_resamples = n_resamples
        self._size = (6.4, max(2.0, 1.3 + _ROW * len(self.names)))

    @classmethod
    @draws
    def from_stability(cls, stability: Stability, *, top: int = 20, ax: Any = None, **kwargs: Any) -> Self:
        """Draw what resamples chose.

        Parameters
        ----------
        stability : Stability
            From :meth:`L0LogisticRegression.stability`.
        top : int, default 20
            Features to show at most, beside the model's own, which are always shown.
        """
        if not (isinstance(top, int) and top >= 1):
            raise ValueError(f"top is {top!r}, but must be an integer >= 1.")
        own = set(stability.support.tolist())
        order = stability.order()
        shown = [j for place, j in enumerate(order) if place < top or j in own]
        marks = [j in own for j in shown]
        display = cls(stability.names(shown), stability.frequency[shown], marks, stability.n_resamples)
        return display.plot(ax, **kwargs)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        places = np.arange(len(self.names))
        groups = (("chosen by the model", STRONG, self.chosen), ("not chosen", QUIET, ~self.chosen))
        for label, colour, members in groups:
            if members.any():
                look = {"color": colour, "height": 0.7, "label": label, **kwargs}
                ax.barh(places[members], 100.0 * self.frequency[members], **look)
        ax.set_yticks(places, [row_label(name) for name in self.names])
        ax.set_ylim(len(self.names) - 0.4, -0.6)
        ax.set_xlim(0.0, 100.0)
        counted = "" if self.n_resamples is None else f"{self.n_resamples:,} "
        ax.set_xlabel(f"chosen in % of {counted}resamples")
        if len(self.names):
            ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)  # bars may fill everything
