"""Pictures of proofs: displays in scikit-learn's style, for matplotlib (extra ``plot``).

A display is made by one of its ``from_...`` methods, which draws at once, or from plain arrays, to be drawn by
``plot``. Either way it keeps the figure as ``figure_`` and the axes as ``ax_`` for further changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from safescreen.path import L0Path
    from safescreen.problem import Problem
    from safescreen.screening import Screening
    from safescreen.solution import Solution

FloatArray = npt.NDArray[np.float64]

_LABELS = {"k": "budget k", "mu": "price μ", "gamma": "ridge parameter γ"}
_STRONG, _WEAK, _GOOD, _QUIET = "#0b5394", "#d9822b", "#2e8b57", "#c9d0d8"
_COLOURS = tuple(f"C{i}" for i in (0, 1, 2, 3, 4, 5, 6, 8, 9))  # without grey, which is for features not named
_LONGEST_NAME = 30


def _pyplot() -> Any:
    """matplotlib, or one sentence on how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Displays need matplotlib: pip install 'safescreen[plot]'.") from error
    return plt


def _axes(ax: Any) -> Any:
    """The axes given, or new ones."""
    plt = _pyplot()
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def _tidy(ax: Any) -> None:
    """Fewer lines around the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)


class _Display:
    """What all displays have: the axes they were drawn on, and their figure."""

    ax_: Any
    figure_: Any

    def _keep(self, ax: Any) -> None:
        self.ax_ = ax
        self.figure_ = ax.figure


def _solution_of(estimator: Any) -> Any:
    """The solution a fitted estimator holds."""
    solution = getattr(estimator, "solution_", None)
    if solution is None:
        raise ValueError(
            f"{type(estimator).__name__} holds no solution: it is not fitted, or was copied or loaded, which leaves "
            "the solution behind."
        )
    return solution


class ScreeningDisplay(_Display):
    """Margins of all features, sorted, coloured by what is proved about them.

    A margin above zero is a proof: the bound with the feature's choice flipped passes the best model by that much.

    Parameters
    ----------
    margin : array-like of shape (n_features,)
        By how much the proof of each feature's decision passes the upper bound.
    excluded, included : array-like of int
        Features in no, and in every optimal model.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Their figure.
    """

    def __init__(self, margin: npt.ArrayLike, excluded: npt.ArrayLike, included: npt.ArrayLike) -> None:
        self.margin = np.asarray(margin, dtype=np.float64)
        self.excluded = np.asarray(excluded, dtype=np.int64)
        self.included = np.asarray(included, dtype=np.int64)

    @classmethod
    def from_screening(cls, screening: Screening, *, ax: Any = None, **kwargs: Any) -> ScreeningDisplay:
        """Draw a screening.

        Parameters
        ----------
        screening : Screening
            From :func:`screen`, or a solution's.
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        **kwargs
            Passed on to :meth:`plot`.

        Returns
        -------
        ScreeningDisplay
            The display, drawn.
        """
        return cls(screening.margin, screening.excluded, screening.included).plot(ax, **kwargs)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> ScreeningDisplay:
        """Draw what was screened while fitting an estimator.

        Parameters
        ----------
        estimator : SafeScreener or L0LogisticRegression
            Fitted, with a ``screening_`` or a ``solution_``.
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        **kwargs
            Passed on to :meth:`plot`.

        Returns
        -------
        ScreeningDisplay
            The display, drawn.
        """
        screening = getattr(estimator, "screening_", None)
        return cls.from_screening(screening or _solution_of(estimator).screening, ax=ax, **kwargs)

    @classmethod
    def from_problem(
        cls, problem: Problem, *, upper_bound: float | None = None, ax: Any = None, **kwargs: Any
    ) -> ScreeningDisplay:
        """Screen a problem and draw the result.

        Parameters
        ----------
        problem : Problem
            The problem.
        upper_bound : float, optional
            As for :func:`screen`.
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        **kwargs
            Passed on to :meth:`plot`.

        Returns
        -------
        ScreeningDisplay
            The display, drawn.
        """
        from safescreen.screening import screen

        return cls.from_screening(screen(problem, upper_bound=upper_bound), ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> ScreeningDisplay:
        """Draw the margins.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        **kwargs
            Passed on to ``ax.scatter``.

        Returns
        -------
        ScreeningDisplay
            This display.
        """
        ax = _axes(ax)
        style = {"linewidths": 0.0, **kwargs}
        order = np.argsort(-self.margin, kind="stable")
        order = order[np.isfinite(self.margin[order])]
        height, rank = self.margin[order], np.arange(1, order.size + 1)
        ax.axhline(0.0, color="0.35", linewidth=0.9)
        for label, colour, size, mask in self._groups():
            chosen = mask[order]
            if mask.any():
                look = {"color": colour, "s": size, "label": f"{label} ({mask.sum():,})", **style}
                ax.scatter(rank[chosen], height[chosen], **look)
        ax.set(xlabel="features, sorted by margin", ylabel="margin of the proof")
        decided = 100.0 * (self.excluded.size + self.included.size) / max(self.margin.size, 1)
        ax.set_title(f"{decided:.1f} % of {self.margin.size:,} features decided")
        ax.legend(loc="lower left", markerscale=1.5, framealpha=1.0, edgecolor="none")  # margins fall: a free corner
        _tidy(ax)
        self._keep(ax)
        return self

    def _groups(self) -> list[tuple[str, str, float, npt.NDArray[np.bool_]]]:
        """Label, colour, size and mask of what is excluded, undecided and included: the rarer, the larger."""
        out, inside = np.zeros((2, self.margin.size), dtype=np.bool_)
        out[self.excluded] = True
        inside[self.included] = True
        return [
            ("in no optimal model", _STRONG, 10.0, out),
            ("undecided", _WEAK, 16.0, ~(out | inside)),
            ("in every optimal model", _GOOD, 36.0, inside),
        ]


class PathDisplay(_Display):
    """Coefficients along a path, and below them the objective with its proved lower bound.

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

    Attributes
    ----------
    ax_ : ndarray of two matplotlib Axes
        Coefficients, and objective with bound.
    figure_ : matplotlib Figure
        Their figure.
    """

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
    def from_path(cls, path: L0Path, *, standardized: bool = True, ax: Any = None, **kwargs: Any) -> PathDisplay:
        """Draw a path.

        Parameters
        ----------
        path : L0Path
            From :func:`l0_path`.
        standardized : bool, default True
            Whether to show coefficients of the standardised features where the path was fitted to those, which makes
            them comparable, rather than in the units of the data.
        ax : pair of matplotlib Axes, optional
            Where to draw; by default in a new figure.
        **kwargs
            Passed on to :meth:`plot`.

        Returns
        -------
        PathDisplay
            The display, drawn.
        """
        problem = path[0].problem
        coefs = path.coefs * problem.design.scales[:, None] if standardized else path.coefs
        names = problem.names(np.arange(problem.n_features))
        display = cls(path.parameter, path.values, coefs, path.objectives, path.lower_bounds, names)
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> PathDisplay:
        """Draw coefficients and bounds.

        Parameters
        ----------
        ax : pair of matplotlib Axes, optional
            Where to draw; by default in a new figure.
        **kwargs
            Passed on to ``ax.plot`` for the coefficients.

        Returns
        -------
        PathDisplay
            This display.
        """
        plt = _pyplot()
        if ax is None:
            _, ax = plt.subplots(
                2, 1, sharex=True, height_ratios=(3, 2), figsize=(8.0, 6.0), layout="constrained"
            )  # fmt: skip
        upper, lower = ax
        order = np.argsort(self.values, kind="stable")
        self._plot_coefficients(upper, order, {"marker": "o", "markersize": 3.5, "linewidth": 1.4, **kwargs})
        self._plot_bounds(lower, order)
        _parameter_axis(lower, self.parameter, self.values)
        upper.label_outer()
        self.ax_ = np.array([upper, lower], dtype=object)
        self.figure_ = upper.figure
        return self

    def _plot_coefficients(self, ax: Any, order: npt.NDArray[np.int64], style: dict[str, Any]) -> None:
        """The features that are ever chosen; the largest ones named, the others grey."""
        largest = np.abs(self.coefs).max(axis=1)
        chosen = np.argsort(-largest, kind="stable")[: np.count_nonzero(largest)]
        ax.axhline(0.0, color="0.35", linewidth=0.9)
        for place, j in reversed(list(enumerate(chosen.tolist()))):
            named = place < len(_COLOURS)
            look = {"color": _COLOURS[place] if named else _QUIET, "label": self._name(j) if named else None}
            line, marked = _without_idle_zeros(self.coefs[j, order])
            ax.plot(self.values[order], line, markevery=marked, **{**look, **style})
        ax.set(ylabel="coefficient")
        _tidy(ax)
        handles, labels = ax.get_legend_handles_labels()
        unnamed = chosen.size - len(_COLOURS)
        title = f"largest of {chosen.size} features" if unnamed > 0 else None
        if labels:
            _legend_beside(ax, handles[::-1], labels[::-1], title=title)

    def _plot_bounds(self, ax: Any, order: npt.NDArray[np.int64]) -> None:
        """Objective and lower bound, with what is open between them shaded."""
        x, above, below = self.values[order], self.objectives[order], self.lower_bounds[order]
        ax.fill_between(x, below, above, color=_WEAK, alpha=0.25, linewidth=0.0)
        ax.plot(x, above, color=_STRONG, marker="o", markersize=3.5, label="objective")
        ax.plot(x, below, color=_WEAK, linestyle="--", linewidth=1.2, label="lower bound")
        ax.set(ylabel="objective")
        _legend_beside(ax, *ax.get_legend_handles_labels())
        _tidy(ax)

    def _name(self, j: int) -> str:
        name = f"x{j}" if self.feature_names is None else str(self.feature_names[j])
        return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def _without_idle_zeros(values: FloatArray) -> tuple[FloatArray, list[int]]:
    """The values without those zeros that have no nonzero neighbour, and where to put markers: at the nonzeros."""
    active = values != 0.0
    near = active.copy()
    near[1:] |= active[:-1]
    near[:-1] |= active[1:]
    return np.where(near, values, np.nan), np.flatnonzero(active).tolist()


def _legend_beside(ax: Any, handles: list[Any], labels: list[str], title: str | None = None) -> None:
    """A legend to the right of the axes, where it hides nothing."""
    ax.legend(
        handles, labels, title=title, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small",
        title_fontsize="small", alignment="left",
    )  # fmt: skip


def _parameter_axis(ax: Any, parameter: str, values: npt.NDArray[Any]) -> None:
    """Label and scale for a parameter: prices and ridge parameters are spread over orders of magnitude."""
    ax.set_xlabel(_LABELS.get(parameter, parameter))
    if parameter == "k":
        ax.xaxis.get_major_locator().set_params(integer=True)
    elif values.min() > 0.0 and values.max() > 10.0 * values.min():
        ax.set_xscale("log")


class ConvergenceDisplay(_Display):
    """Lower and upper bound over time, with the gap between them shaded.

    Parameters
    ----------
    seconds, lower_bounds, upper_bounds : array-like of shape (n_moments,)
        Where the search stood, and when.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Their figure.
    """

    def __init__(self, seconds: npt.ArrayLike, lower_bounds: npt.ArrayLike, upper_bounds: npt.ArrayLike) -> None:
        self.seconds = np.asarray(seconds, dtype=np.float64)
        self.lower_bounds = np.asarray(lower_bounds, dtype=np.float64)
        self.upper_bounds = np.asarray(upper_bounds, dtype=np.float64)

    @classmethod
    def from_solution(cls, solution: Solution, *, ax: Any = None, **kwargs: Any) -> ConvergenceDisplay:
        """Draw how a search went.

        Parameters
        ----------
        solution : Solution
            From :func:`solve`.
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        **kwargs
            Passed on to :meth:`plot`.

        Returns
        -------
        ConvergenceDisplay
            The display, drawn.
        """
        seconds, _, lower, upper = zip(*solution.trace, strict=True)
        end = (*seconds, max(solution.seconds, seconds[-1]))
        display = cls(end, (*lower, solution.lower_bound), (*upper, solution.objective))
        return display.plot(ax, **kwargs)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> ConvergenceDisplay:
        """Draw how the search behind a fitted estimator went.

        Parameters
        ----------
        estimator : L0LogisticRegression
            Fitted, with a ``solution_``.
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        **kwargs
            Passed on to :meth:`plot`.

        Returns
        -------
        ConvergenceDisplay
            The display, drawn.
        """
        return cls.from_solution(_solution_of(estimator), ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> ConvergenceDisplay:
        """Draw the bounds.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        **kwargs
            Passed on to ``ax.step`` for both bounds.

        Returns
        -------
        ConvergenceDisplay
            This display.
        """
        ax = _axes(ax)
        style = {"linewidth": 1.6, "where": "post", **kwargs}
        lower, upper = self.lower_bounds, self.upper_bounds
        ax.fill_between(self.seconds, lower, upper, step="post", color=_WEAK, alpha=0.2, linewidth=0.0)
        ax.step(self.seconds, upper, color=_STRONG, label="best model", **style)
        ax.step(self.seconds, lower, color=_WEAK, label="lower bound", **style)
        gap = max(upper[-1] - lower[-1], 0.0) / abs(upper[-1])
        ax.set(xlabel="seconds", ylabel="objective", title=f"gap {_percentage(gap)} after {self.seconds[-1]:.3g} s")
        ax.set_xlim(0.0, None)
        ax.ticklabel_format(axis="y", useOffset=False)
        ax.legend(frameon=False, loc="best")
        _tidy(ax)
        self._keep(ax)
        return self


def _percentage(share: float) -> str:
    """A share in percent, never shown as zero when it is not."""
    return f"{100.0 * share:.2g} %"


class CVDisplay(_Display):
    """Cross-validated score along a parameter, one line per value of the other one.

    Parameters
    ----------
    cv_results : mapping
        With ``params``, ``mean_test_score`` and ``std_test_score`` as in scikit-learn's ``GridSearchCV``; if there are
        ``split…_test_score`` entries, bars show the standard error, otherwise the standard deviation.
    best_index : int, optional
        The candidate to mark.
    score_name : str, default "score"
        Label of the vertical axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Their figure.
    """

    def __init__(self, cv_results: Mapping[str, Any], best_index: int | None = None, score_name: str = "score") -> None:
        missing = [name for name in ("params", "mean_test_score", "std_test_score") if name not in cv_results]
        if missing:
            raise ValueError(f"cv_results lacks {', '.join(missing)}, but a display needs it.")
        self.cv_results = cv_results
        self.best_index = best_index
        self.score_name = score_name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, score_name: str | None = None, ax: Any = None, **kwargs: Any
    ) -> CVDisplay:
        """Draw the cross-validation of a fitted search.

        Parameters
        ----------
        estimator : L0LogisticRegressionCV, GridSearchCV or similar
            Fitted, with ``cv_results_`` and, for the mark, ``best_index_``.
        score_name : str, optional
            Label of the vertical axis; by default the estimator's ``scoring``.
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        **kwargs
            Passed on to :meth:`plot`.

        Returns
        -------
        CVDisplay
            The display, drawn.
        """
        if not hasattr(estimator, "cv_results_"):
            raise ValueError(f"{type(estimator).__name__} has no cv_results_: fit it first.")
        display = cls(
            estimator.cv_results_, getattr(estimator, "best_index_", None), score_name or _score_name(estimator)
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> CVDisplay:
        """Draw the scores.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        **kwargs
            Passed on to ``ax.errorbar``.

        Returns
        -------
        CVDisplay
            This display.
        """
        ax = _axes(ax)
        along, across = self._parameters()
        params = list(self.cv_results["params"])
        mean = np.asarray(self.cv_results["mean_test_score"], dtype=np.float64)
        groups = self._groups(params, across)
        colours = _pyplot().get_cmap("viridis")(np.linspace(0.1, 0.8, len(groups)))
        style = {"marker": "o", "markersize": 4.0, "linewidth": 1.5, "capsize": 2.5, "elinewidth": 0.9, **kwargs}
        for (label, members), colour in zip(groups.items(), colours, strict=True):
            members = sorted(members, key=lambda i: params[i][along])
            x = [params[i][along] for i in members]
            colour = _STRONG if len(groups) == 1 else colour
            ax.errorbar(
                x, mean[members], self._spread()[members], **{"color": colour, "label": label or None, **style}
            )  # fmt: skip
        _parameter_axis(ax, _last_part(along), np.array([p[along] for p in params], dtype=np.float64))
        if self.best_index is not None:
            best = params[self.best_index][along], mean[self.best_index]
            ax.plot(*best, linestyle="", marker="*", markersize=15, color=_WEAK, zorder=5, label="chosen",
                    markeredgecolor="white")  # fmt: skip
        ax.set(ylabel=f"{self.score_name} (mean ± {self._spread_name()})")
        if ax.get_legend_handles_labels()[1]:
            ax.legend(frameon=False, fontsize="small")
        _tidy(ax)
        self._keep(ax)
        return self

    def _folds(self) -> int:
        return sum(name.startswith("split") and name.endswith("_test_score") for name in self.cv_results)

    def _spread(self) -> FloatArray:
        """Standard error of the mean where the number of folds is known, else the standard deviation."""
        spread = np.asarray(self.cv_results["std_test_score"], dtype=np.float64)
        return np.asarray(spread / np.sqrt(max(self._folds(), 1)))

    def _spread_name(self) -> str:
        return "standard error" if self._folds() else "standard deviation"

    def _parameters(self) -> tuple[str, list[str]]:
        """The numeric parameter with most values, along which to draw, and the others that vary."""
        params = self.cv_results["params"]
        counts = {name: len({repr(p[name]) for p in params}) for name in params[0]}
        numeric = [name for name in counts if all(isinstance(p[name], int | float | np.number) for p in params)]
        if not numeric:
            raise ValueError("cv_results has no numeric parameter, but a display needs one to draw along.")
        along = max(numeric, key=lambda name: counts[name])
        return along, [name for name in counts if name != along and counts[name] > 1]

    @staticmethod
    def _groups(params: list[dict[str, Any]], across: list[str]) -> dict[str, list[int]]:
        """Candidates by the values of the parameters that are not drawn along."""
        groups: dict[str, list[int]] = {}
        for i, candidate in enumerate(params):
            label = ", ".join(f"{_last_part(name)} = {_short(candidate[name])}" for name in across)
            groups.setdefault(label, []).append(i)
        return groups


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
