"""The size of a core over the tolerance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from safescreen.plots.base import STRONG, Display, draws

if TYPE_CHECKING:
    from safescreen.cores import Core

_TOLERANCES = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1)


class CoreDisplay(Display):
    """How many features a core has, by tolerance: the fewer, the more all good models have in common.

    Tolerances without a core are left out. Extra arguments of `plot` go to ``ax.plot``.

    Parameters
    ----------
    within : array-like of float
        The tolerances.
    size : array-like of float
        Features of a core for each; nan where there is none.
    at_least : int, default 1
        How many of them every model within the tolerance uses.
    """

    def __init__(self, within: npt.ArrayLike, size: npt.ArrayLike, at_least: int = 1) -> None:
        self.within = np.asarray(within, dtype=np.float64)
        self.size = np.asarray(size, dtype=np.float64)
        self.at_least = at_least

    @classmethod
    @draws
    def from_core(
        cls, core: Core, *, within: npt.ArrayLike = _TOLERANCES, ax: Any = None, **kwargs: Any
    ) -> Self:  # fmt: skip
        """Draw the curve of a core.

        Parameters
        ----------
        core : Core
            From :func:`core`; it is found again for every tolerance.
        within : array-like of float
            The tolerances.
        """
        curve = core.curve(np.asarray(within, dtype=np.float64).tolist())
        return cls(curve.within, curve.size, core.at_least).plot(ax, **kwargs)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        exists = np.isfinite(self.size)
        look = {"color": STRONG, "marker": "o", **kwargs}
        ax.plot(100.0 * self.within[exists], self.size[exists], **look)
        ax.set_ylim(bottom=0.0)
        ax.set(xlabel="tolerance, % above the best objective", ylabel="features of the core")
        ax.set_title(f"every model within the tolerance uses at least {self.at_least}")
