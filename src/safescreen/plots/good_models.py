"""Which features are in which of many good models, and what doing without them costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from safescreen.plots.base import QUIET, STRONG, WEAK, Display, draws, row_label

if TYPE_CHECKING:
    from safescreen.good_models import Alternatives

_ROW = 0.26  # inches
_SEPARATED = 60  # models between which there is room for a line
_ABSENT = "#f3f5f7"


class AlternativesDisplay(Display):
    """Features in models, the best model first, and the price of doing without each feature.

    Colour says whether a coefficient speaks for the modelled class or against it. A bar that ends in a paler part says
    that the price is somewhere in there, and one with an arrow that it is at least that. Extra arguments of `plot` go
    to ``ax.imshow``.

    Parameters
    ----------
    names : sequence of str
        Features to show, the first on top.
    signs : array-like of shape (n_shown, n_models)
        Of each feature in each model: 1 and -1 for the sign of its coefficient, 0 where it is not in.
    price, bound : array-like of shape (n_shown,)
        Price of doing without each feature, relative to the best objective, and what is proved of it; nan where there
        is none, and an infinite price where there is only a bound.
    n_models, n_features : int, optional
        How many models and features there are, if more than are shown.
    kind : str, default "models"
        What to call the models.
    """

    def __init__(
        self,
        names: Sequence[str],
        signs: npt.ArrayLike,
        price: npt.ArrayLike,
        bound: npt.ArrayLike | None = None,
        *,
        n_models: int | None = None,
        n_features: int | None = None,
        kind: str = "models",
    ) -> None:
        self.names = [str(name) for name in names]
        self.signs = np.asarray(signs, dtype=np.float64)
        self.price = np.asarray(price, dtype=np.float64)
        self.bound = self.price if bound is None else np.asarray(bound, dtype=np.float64)
        self.n_models = self.signs.shape[1] if n_models is None else n_models
        self.n_features = len(self.names) if n_features is None else n_features
        self.kind = kind
        self._size = (10.0, max(2.4, 1.5 + _ROW * len(self.names)))

    @classmethod
    @draws
    def from_alternatives(
        cls, alternatives: Alternatives, *, top: int = 30, most_models: int = 200, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw all good models, or the best of them.

        Parameters
        ----------
        alternatives : Alternatives
            From :func:`safescreen.alternatives`. Prices that take searches are found if they are not known yet.
        top : int, default 30
            Features to show at most, those in most models.
        most_models : int, default 200
            Models to show at most, the best ones.
        """
        for name, value in (("top", top), ("most_models", most_models)):
            if not (isinstance(value, int) and value >= 1):
                raise ValueError(f"{name} is {value!r}, but must be an integer >= 1.")
        order, best = alternatives.order(), alternatives.best.objective
        shown, prices = order[:top], alternatives.prices_without
        signs = np.sign(alternatives.coefs[:most_models][:, shown].toarray()).T
        display = cls(
            alternatives.problem.names(shown),
            signs,
            prices.price[shown] / best,
            prices.bound[shown] / best,
            n_models=len(alternatives),
            n_features=order.size,
            kind=("minimal model" if alternatives.minimal else "model") + ("" if len(alternatives) == 1 else "s"),
        )
        return display.plot(ax, **kwargs)

    def _new_axes(self, figure: Any) -> Any:
        return figure.subplots(1, 2, sharey=True, width_ratios=(3, 1))

    def _draw(self, models: Any, prices: Any, **kwargs: Any) -> None:
        self._draw_models(models, kwargs)
        self._draw_prices(prices)
        models.set_ylim(max(len(self.names), 1) - 0.5, -0.5)
        models.set_yticks(np.arange(len(self.names)), [row_label(name) for name in self.names])
        prices.set_ylim(max(len(self.names), 1) - 0.5, -0.5)
        if prices.get_shared_y_axes().joined(models, prices):
            prices.tick_params(labelleft=False)
        else:
            prices.set_yticks(np.arange(len(self.names)), [row_label(name) for name in self.names])

    def _draw_models(self, ax: Any, style: dict[str, Any]) -> None:
        """A cell per feature and model."""
        from matplotlib.colors import ListedColormap
        from matplotlib.patches import Patch

        look = {
            "cmap": ListedColormap([WEAK, _ABSENT, STRONG]),
            "vmin": -1.0,
            "vmax": 1.0,
            "aspect": "auto",
            "zorder": 2.0,
        }
        columns = self.signs.shape[1]
        if self.signs.size:
            extent = (0.5, columns + 0.5, len(self.names) - 0.5, -0.5)
            ax.imshow(self.signs, interpolation="nearest", extent=extent, **{**look, **style})
            lines = {"colors": "white", "linewidth": 1.0, "zorder": 3.0}
            ax.hlines(np.arange(1, len(self.names)) - 0.5, 0.5, columns + 0.5, **lines)
            ax.vlines(np.arange(1, columns) + 0.5 if columns <= _SEPARATED else [], *extent[2:], **lines)
        ax.set_xlim(0.5, max(columns, 1) + 0.5)
        ax.set_xticks([]) if columns == 0 else ax.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
        more = f"the best {columns:,} of " if columns < self.n_models else ""
        shown = f"{more}{self.n_models:,} {self.kind}"
        left = f"\n{len(self.names):,} of {self.n_features:,} features" if len(self.names) < self.n_features else ""
        ax.set_xlabel(f"{shown}, best first{left}")
        keys = [("coefficient > 0", STRONG), ("coefficient < 0", WEAK), ("not in the model", _ABSENT)]
        handles = [Patch(facecolor=colour, edgecolor=QUIET, linewidth=0.5, label=label) for label, colour in keys]
        ax.legend(handles=handles, frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, borderpad=0.0)

    def _draw_prices(self, ax: Any) -> None:
        """A bar per feature; where a price is not exact, what is proved of it."""
        places = np.arange(len(self.names))
        proved, cost = 100.0 * np.nan_to_num(self.bound), 100.0 * np.nan_to_num(self.price, nan=0.0, posinf=0.0)
        ax.barh(places, np.maximum(cost - proved, 0.0), left=proved, color=STRONG, alpha=0.3, height=0.7)
        ax.barh(places, proved, color=STRONG, height=0.7)
        beyond = np.isposinf(self.price)
        if beyond.any():
            ax.scatter(proved[beyond], places[beyond], marker=">", color=STRONG, s=30.0, clip_on=False)
        ax.set_xlim(0.0, 1.08 * max(cost.max(initial=0.0), proved.max(initial=0.0)) or 1.0)
        ax.set_xlabel("price of doing without,\n% of the best objective")
