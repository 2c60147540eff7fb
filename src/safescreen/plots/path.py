"""Coefficients and bounds along a path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from safescreen.arrays import FloatArray, IndexArray
from safescreen.formatting.escaping import shortened
from safescreen.plots.base import QUIET, STRONG, WEAK, Display, draws, label_parameter

if TYPE_CHECKING:
    from safescreen.path import L0Path

_COLOURS = tuple(f"C{i}" for i in (0, 1, 2, 3, 4, 5, 6, 8, 9))  # without grey, which is for features not named
_LONGEST_NAME = 30
_BESIDE = {
    "loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False, "fontsize": "small", "alignment": "left",
    "title_fontsize": "small",
}  # a legend to the right of the axes, where it hides nothing  # fmt: skip


class PathDisplay(Display):
    """Coefficients along a path, and below them the objective with its proved lower bound.

    Extra arguments of `plot` go to ``ax.plot`` for the coefficients.

    Parameters
    ----------
    parameter : {"k", "mu", "gamma"}
        What varies.
    values : array-like of shape (n_points,)
        Its values.
    coefs : array-like of shape (n_features, n_points)
        Coefficients; features that are never chosen are not drawn.
    objectives, lower_bounds : array-like of shape (n_points,)
        Objective and lower bound of each point.
    feature_names : sequence of str, optional
        Names for the legend; without them features are called ``x0``, ``x1``, ...
    """

    _size = (8.0, 6.0)

    def __init__(
        self,
        parameter: str,
        values: npt.ArrayLike,
        coefs: npt.ArrayLike,
        objectives: npt.ArrayLike,
        lower_bounds: npt.ArrayLike,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        self.parameter = parameter
        self.values = np.asarray(values)
        self.coefs = np.asarray(coefs, dtype=np.float64)
        self.objectives = np.asarray(objectives, dtype=np.float64)
        self.lower_bounds = np.asarray(lower_bounds, dtype=np.float64)
        self.feature_names = feature_names

    @classmethod
    @draws
    def from_path(cls, path: L0Path, *, standardized: bool = True, ax: Any = None, **kwargs: Any) -> Self:
        """Draw a path.

        Parameters
        ----------
        path : L0Path
            From :func:`l0_path`.
        standardized : bool, default True
            Whether to show coefficients of the standardised features where the path was fitted to those, which makes
            them comparable, rather than in the units of the data.
        """
        problem = path[0].problem
        coefs = path.coefs * problem.design.scales[:, None] if standardized else path.coefs
        names = problem.names(np.arange(problem.n_features))
        display = cls(path.parameter, path.values, coefs, path.objectives, path.lower_bounds, names)
        return display.plot(ax, **kwargs)

    def _new_axes(self, figure: Any) -> Any:
        return figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))

    def _draw(self, upper: Any, lower: Any, **kwargs: Any) -> None:
        order = np.argsort(self.values, kind="stable")
        self._draw_coefficients(upper, order, {"marker": "o", "markersize": 3.5, "linewidth": 1.4, **kwargs})
        self._draw_bounds(lower, order)
        label_parameter(lower, self.parameter, self.values)
        upper.label_outer()

    def _draw_coefficients(self, ax: Any, order: IndexArray, style: dict[str, Any]) -> None:
        """The features that are ever chosen; the largest ones named, the others grey."""
        largest = np.abs(self.coefs).max(axis=1)
        chosen = np.argsort(-largest, kind="stable")[: np.count_nonzero(largest)]
        ax.axhline(0.0, color="0.35", linewidth=0.9)
        for place, j in reversed(list(enumerate(chosen.tolist()))):
            named = place < len(_COLOURS)
            look = {"color": _COLOURS[place] if named else QUIET, "label": self._name(j) if named else None}
            line, marked = _without_idle_zeros(self.coefs[j, order])
            ax.plot(self.values[order], line, markevery=marked, **{**look, **style})
        ax.set(ylabel="coefficient")
        handles, labels = ax.get_legend_handles_labels()
        title = f"largest of {chosen.size} features" if chosen.size > len(_COLOURS) else None
        if labels:
            ax.legend(handles[::-1], labels[::-1], title=title, **_BESIDE)

    def _draw_bounds(self, ax: Any, order: IndexArray) -> None:
        """Objective and lower bound, with what is open between them shaded."""
        x, above, below = self.values[order], self.objectives[order], self.lower_bounds[order]
        ax.fill_between(x, below, above, color=WEAK, alpha=0.25, linewidth=0.0)
        ax.plot(x, above, color=STRONG, marker="o", markersize=3.5, label="objective")
        ax.plot(x, below, color=WEAK, linestyle="--", linewidth=1.2, label="lower bound")
        ax.set(ylabel="objective")
        ax.legend(**_BESIDE)

    def _name(self, j: int) -> str:
        return f"x{j}" if self.feature_names is None else shortened(str(self.feature_names[j]), _LONGEST_NAME)


def _without_idle_zeros(values: FloatArray) -> tuple[FloatArray, list[int]]:
    """The values without those zeros that have no nonzero neighbour, and where to put markers: at the nonzeros."""
    active = values != 0.0
    near = np.convolve(active, np.ones(3))[1:-1] > 0.0
    return np.where(near, values, np.nan), np.flatnonzero(active).tolist()
