"""Scores of a cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from safescreen.plots.base import STRONG, WEAK, Display, draws, label_parameter, pyplot


class CVDisplay(Display):
    """Cross-validated score along a parameter, one line per value of the other one.

    Extra arguments of `plot` go to ``ax.errorbar``.

    Parameters
    ----------
    cv_results : mapping
        With ``params``, ``mean_test_score`` and ``std_test_score`` as in scikit-learn's ``GridSearchCV``; if there are
        ``split…_test_score`` entries, bars show the standard error, otherwise the standard deviation.
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
        along, across = self._parameters()
        params, mean = self.cv_results["params"], np.asarray(self.cv_results["mean_test_score"], dtype=np.float64)
        x = np.array([p[along] for p in params], dtype=np.float64)
        spread, spread_name = self._spread()
        labels = [", ".join(f"{_last_part(name)} = {_short(p[name])}" for name in across) for p in params]
        groups = list(dict.fromkeys(labels))
        colours = pyplot().get_cmap("viridis")(np.linspace(0.1, 0.8, len(groups))) if across else [STRONG]
        style = {"marker": "o", "markersize": 4.0, "linewidth": 1.5, "capsize": 2.5, "elinewidth": 0.9, **kwargs}
        for group, colour in zip(groups, colours, strict=True):
            order = [i for i in np.argsort(x, kind="stable") if labels[i] == group]
            ax.errorbar(x[order], mean[order], spread[order], **{"color": colour, "label": group or None, **style})
        label_parameter(ax, _last_part(along), x)
        if self.best_index is not None:
            star = {"linestyle": "", "marker": "*", "markersize": 15, "markeredgecolor": "white", "zorder": 5}
            ax.plot(x[self.best_index], mean[self.best_index], color=WEAK, label="chosen", **star)
        ax.set(ylabel=f"{self.score_name} (mean ± {spread_name})")
        if ax.get_legend_handles_labels()[1]:
            ax.legend(frameon=False, fontsize="small")

    def _spread(self) -> tuple[npt.NDArray[np.float64], str]:
        """Standard error of the mean where the number of folds is known, else the standard deviation."""
        folds = sum(name.startswith("split") and name.endswith("_test_score") for name in self.cv_results)
        deviation = np.asarray(self.cv_results["std_test_score"], dtype=np.float64)
        return (deviation / np.sqrt(folds), "standard error") if folds else (deviation, "standard deviation")

    def _parameters(self) -> tuple[str, list[str]]:
        """The numeric parameter with most values, along which to draw, and the others that vary."""
        params = self.cv_results["params"]
        counts = {name: len({repr(p[name]) for p in params}) for name in params[0]}
        numeric = [name for name in counts if all(isinstance(p[name], int | float | np.number) for p in params)]
        if not numeric:
            raise ValueError("cv_results has no numeric parameter, but a display needs one to draw along.")
        along = max(numeric, key=lambda name: counts[name])
        return along, [name for name in counts if name != along and counts[name] > 1]


def _last_part(name: str) -> str:
    """The parameter's own name, without the steps of a pipeline before it."""
    return name.rpartition("__")[2]


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float | np.floating) else str(value)


def _score_name(estimator: Any) -> str:
    scoring = getattr(estimator, "scoring", None)
    default = getattr(estimator, "_default_scoring", "score")
    name = scoring if isinstance(scoring, str) else default if scoring is None else "score"
    return str(name).replace("_", " ")
