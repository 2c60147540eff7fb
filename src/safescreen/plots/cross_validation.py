"""Scores of a cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from safescreen.plots.base import STRONG, WEAK, Display, draws, label_parameter, pyplot

_REFIT = "refit_gamma"
"""What costs next to nothing to try is drawn at its best only."""

_SIZES = ("k", "mu")
"""What a picture with a ridge of the estimates is drawn along, if there are several."""


class CVDisplay(Display):
    """Cross-validated score against size, one line per ridge of the choice, each at its best ridge of the estimates.

    Results of other searches are drawn along their numeric parameter with most values, one line per value of the
    others. Extra arguments of `plot` go to ``ax.errorbar``.

    Parameters
    ----------
    cv_results : mapping
        With ``params``, ``mean_test_score`` and ``std_test_score`` as in scikit-learn's ``GridSearchCV``; if there are
        ``split…_test_score`` entries, bars show the standard error, otherwise the standard deviation. If there is a
        ``criterion``, it is drawn instead, without bars.
    best_index : int, optional
        The candidate to mark.
    score_name : str, default "score"
        Label of the vertical axis.
    """

    def __init__(self, cv_results: Mapping[str, Any], best_index: int | None = None, score_name: str = "score") -> None:
        missing = [name for name in ("params", "mean_test_score", "std_test_score") if name not in cv_results]
        if missing:
            raise ValueError(f"cv_results lacks {', '.join(missing)}, but a display needs it.")
        self.cv_results = cv_results
        self.best_index = best_index
        self.score_name = score_name

    @classmethod
    @draws
    def from_estimator(cls, estimator: Any, *, score_name: str | None = None, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the cross-validation of a fitted search.

        Parameters
        ----------
        estimator : L0LogisticRegressionCV, GridSearchCV or similar
            Fitted, with ``cv_results_`` and, for the mark, ``best_index_``.
        score_name : str, optional
            Label of the vertical axis; by default the estimator's ``scoring``.
        """
        if not hasattr(estimator, "cv_results_"):
            raise ValueError(f"{type(estimator).__name__} has no cv_results_: fit it first.")
        best_index = getattr(estimator, "best_index_", None)
        return cls(estimator.cv_results_, best_index, score_name or _score_name(estimator)).plot(ax, **kwargs)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        along, across, over = self._parameters()
        params = self.cv_results["params"]
        x = np.array([_place(p, along) for p in params], dtype=np.float64)
        labels = [", ".join(f"{_last_part(name)} = {_short(p[name])}" for name in across) for p in params]
        values, spread, axis_label = self._values()
        shown = self._shown(x, labels) if over else np.argsort(x, kind="stable").tolist()
        groups = list(dict.fromkeys(labels))
        colours = pyplot().get_cmap("viridis")(np.linspace(0.1, 0.8, len(groups))) if across else [STRONG]
        style = {"marker": "o", "markersize": 4.0, "linewidth": 1.5, "capsize": 2.5, "elinewidth": 0.9, **kwargs}
        for group, colour in zip(groups, colours, strict=True):
            order = [i for i in shown if labels[i] == group]
            bars = None if spread is None else spread[order]
            ax.errorbar(x[order], values[order], bars, **{"color": colour, "label": group or None, **style})
        label_parameter(ax, _last_part(along), x[np.isfinite(x)])
        if self.best_index is not None:
            star = {"linestyle": "", "marker": "*", "markersize": 15, "markeredgecolor": "white", "zorder": 5}
            label = f"chosen ({_last_part(over)} = {_short(params[self.best_index][over])})" if over else "chosen"
            ax.plot(x[self.best_index], values[self.best_index], color=WEAK, label=label, **star)
        ax.set(ylabel=axis_label)
        if ax.get_legend_handles_labels()[1]:
            title = f"each at its best {_last_part(over)}" if over else None
            ax.legend(title=title, frameon=False, fontsize="small", title_fontsize="small", alignment="left")

    def _values(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64] | None, str]:
        """What to draw, how far it may be off, and what it is called."""
        if "criterion" in self.cv_results:
            values = np.asarray(self.cv_results["criterion"], dtype=np.float64)
            return values, None, f"{self.score_name} (smaller is better)"
        spread, spread_name = self._spread()
        mean = np.asarray(self.cv_results["mean_test_score"], dtype=np.float64)
        return mean, spread, f"{self.score_name} (mean ± {spread_name})"

    def _spread(self) -> tuple[npt.NDArray[np.float64], str]:
        """Standard error of the mean where the number of folds is known, else the standard deviation."""
        folds = sum(name.startswith("split") and name.endswith("_test_score") for name in self.cv_results)
        deviation = np.asarray(self.cv_results["std_test_score"], dtype=np.float64)
        return (deviation / np.sqrt(folds), "standard error") if folds else (deviation, "standard deviation")

    def _shown(self, x: npt.NDArray[np.float64], labels: list[str]) -> list[int]:
        """The best candidate at each point of each line, from left to right."""
        mean = np.asarray(self.cv_results["mean_test_score"], dtype=np.float64)
        best: dict[tuple[str, float], int] = {}
        for i in np.argsort(-mean, kind="stable").tolist():  # what is no number comes last
            best.setdefault((labels[i], float(x[i])), i)
        return sorted(best.values(), key=lambda i: float(x[i]))

    def _parameters(self) -> tuple[str, list[str], str | None]:
        """The parameter to draw along, those with a line per value, and the one of which only the best is shown."""
        params = self.cv_results["params"]
        counts = {name: len({repr(p[name]) for p in params}) for name in params[0]}
        varied = [name for name in counts if counts[name] > 1]
        numeric = [name for name in counts if not any(np.isnan(_place(p, name)) for p in params)]
        over = next((name for name in varied if _last_part(name) == _REFIT and {*numeric} & {*varied} - {name}), None)
        if over is not None:
            numeric = [name for name in numeric if name != over]
            numeric = [name for name in varied if _last_part(name) in _SIZES and name in numeric] or numeric
        if not numeric:
            raise ValueError("cv_results has no numeric parameter, but a display needs one to draw along.")
        along = max(numeric, key=lambda name: counts[name])
        return along, [name for name in varied if name not in (along, over)], over


def _place(params: Mapping[str, Any], name: str) -> float:
    """Where a value lies on an axis: not a number for words, apart from the ridge that is the same as another."""
    value = params[name]
    if isinstance(value, str) and value == "same":
        value = params.get(name.removesuffix(_REFIT) + "gamma")
    return float(value) if isinstance(value, int | float | np.number) else np.nan


def _last_part(name: str) -> str:
    """The parameter's own name, without the steps of a pipeline before it."""
    return name.rpartition("__")[2]


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float | np.floating) else str(value)


def _score_name(estimator: Any) -> str:
    if "criterion" in estimator.cv_results_:
        return str(getattr(estimator, "criterion", None) or "criterion").upper()
    scoring = getattr(estimator, "scoring", None)
    default = getattr(estimator, "_default_scoring", "score")
    name = scoring if isinstance(scoring, str) else default if scoring is None else "score"
    return str(name).replace("_", " ")
