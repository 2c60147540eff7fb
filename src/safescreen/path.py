"""Certified solutions along a sequence of budgets, prices or ridge parameters.

Neighbours on a path help each other twice. The model of one is a start for the next. And what is proved about one
says something about all: with everything else fixed, the optimal value is

- nonincreasing in the budget ``k``, because a larger budget allows every model a smaller one does;
- nondecreasing, concave and nonnegative in the price ``μ ≥ 0``, and so it is in ``1/γ``, because it is a minimum over
  models of ``loss + ‖x‖²/γ + μ‖x‖₀``, and for each model that is an affine function of ``μ``, or of ``1/γ``, with
  nonnegative slope and value.

So a lower bound for one budget holds for all smaller ones, and lower bounds for several prices (or ``1/γ``) may be
joined by their upper concave hull, the trivial bound 0 at 0 included. The hull is computed in rational numbers and
rounded down once, so that the bounds it gives are as safe as those it comes from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from safescreen.estimation import Estimate, check_refit_gamma, estimate
from safescreen.problem import Problem
from safescreen.problem.terms import Features
from safescreen.problem.validation import check_budget, check_gamma, check_price
from safescreen.search import Settings, solve
from safescreen.search.interrupts import Interrupts
from safescreen.search.progress import Progress, describe
from safescreen.search.solution import Moment, Solution, relative_gap
from safescreen.status import Status

FloatArray = npt.NDArray[np.float64]

_CHECKS: dict[str, Callable[[Any], Any]] = {"k": check_budget, "mu": check_price, "gamma": check_gamma}
_FALLING = ("mu",)  # solved from the largest value down, so that models grow along the way as they do with k and gamma


@dataclass(frozen=True, repr=False)
class L0Path:
    """Certified solutions along one parameter, in the order in which its values were given.

    Behaves like a sequence of :class:`Solution`; the arrays collect what one usually wants of all of them. The proofs
    are about the choices and the coefficients in ``solutions``; ``coefs`` and ``intercepts`` are estimated for the same
    features at ``refit_gamma``.

    Attributes
    ----------
    parameter : {"k", "mu", "gamma"}
        What varies along the path.
    values : ndarray of shape (n_points,)
        Its values.
    solutions : tuple of Solution
        One per value.
    refit_gamma : float or str
        Ridge of the estimates, as it was asked for.
    estimates : tuple of Estimate
        One per value, made when somebody asks for them.
    supports : list of ndarray of int
        The chosen features.
    coefs : ndarray of shape (n_features, n_points)
        Coefficients in the data's own units, estimated at ``refit_gamma``, one column per point.
    intercepts : ndarray of shape (n_points,)
        Intercepts of the estimates in the data's own units.
    refit_gammas : ndarray of shape (n_points,)
        Ridge used for the estimates.
    objectives, lower_bounds, gaps : ndarray of shape (n_points,)
        Objective of each model, safe lower bound on its optimum, and the relative distance of the two.
    statuses : list of Status
        ``"optimal"`` or the reason for stopping early.
    nodes : ndarray of int
        Nodes searched.
    seconds : ndarray of shape (n_points,)
        Time taken.
    screened_percent : ndarray of shape (n_points,)
        Percentage of the features decided before the search.
    """

    parameter: str
    values: npt.NDArray[Any]
    solutions: tuple[Solution, ...] = field(repr=False)
    refit_gamma: float | str = "same"

    def __len__(self) -> int:
        return len(self.solutions)

    def __getitem__(self, index: int) -> Solution:
        return self.solutions[index]

    def __iter__(self) -> Iterator[Solution]:
        return iter(self.solutions)

    def __repr__(self) -> str:
        optimal = self.statuses.count(Status.OPTIMAL)
        return (
            f"L0Path({self.parameter} from {self.values[0]:g} to {self.values[-1]:g}, {len(self)} points, "
            f"{optimal} optimal, largest gap {self.gaps.max():.2g}, {self.seconds.sum():.3g} s)"
        )

    def _repr_html_(self) -> str:
        from safescreen.formatting.cards import path_card

        return path_card(self)

    @property
    def supports(self) -> list[npt.NDArray[np.int64]]:
        """The chosen features of each point."""
        return [solution.support for solution in self.solutions]

    @cached_property
    def estimates(self) -> tuple[Estimate, ...]:
        """Each point's features with their coefficients at the ridge of the estimates."""
        return tuple(estimate(solution, self.refit_gamma) for solution in self.solutions)

    @cached_property
    def coefs(self) -> FloatArray:
        """Estimated coefficients, one column per point."""
        if self.refit_gamma == "same":
            return np.column_stack([solution.coef for solution in self.solutions])
        size = self.solutions[0].problem.n_features
        return np.column_stack([estimated.coef(size) for estimated in self.estimates])

    @cached_property
    def intercepts(self) -> FloatArray:
        """Estimated intercept of each point."""
        if self.refit_gamma == "same":
            return self._floats(lambda solution: solution.intercept)
        return np.array([estimated.intercept for estimated in self.estimates])

    @cached_property
    def refit_gammas(self) -> FloatArray:
        """Ridge used for each point's estimates."""
        if self.refit_gamma == "same":
            return self._floats(lambda solution: solution.problem.gamma)
        return np.array([estimated.gamma for estimated in self.estimates])

    def at(self, places: Iterable[int]) -> L0Path:
        """The points at these places.

        Parameters
        ----------
        places : iterable of int
            Which points, in the order wanted.

        Returns
        -------
        L0Path
            A path of these points only.
        """
        chosen = list(places)
        part = replace(self, values=self.values[chosen], solutions=tuple(self.solutions[i] for i in chosen))
        if "estimates" in vars(self):  # made once is enough
            vars(part)["estimates"] = tuple(self.estimates[i] for i in chosen)
        return part

    @cached_property
    def objectives(self) -> FloatArray:
        """Objective of each point's model."""
        return self._floats(lambda solution: solution.objective)

    @cached_property
    def lower_bounds(self) -> FloatArray:
        """Safe lower bound on each point's optimum."""
        return self._floats(lambda solution: solution.lower_bound)

    @cached_property
    def gaps(self) -> FloatArray:
        """Relative gap of each point."""
        return self._floats(lambda solution: solution.gap)

    @property
    def statuses(self) -> list[Status]:
        """Status of each point."""
        return [solution.status for solution in self.solutions]

    @cached_property
    def nodes(self) -> npt.NDArray[np.int64]:
        """Nodes searched for each point."""
        return np.array([solution.nodes for solution in self.solutions], dtype=np.int64)

    @cached_property
    def seconds(self) -> FloatArray:
        """Time taken for each point."""
        return self._floats(lambda solution: solution.seconds)

    @cached_property
    def screened_percent(self) -> FloatArray:
        """Percentage of the features decided before each search."""
        return self._floats(lambda solution: solution.screening.percent if solution.screening else 0.0)

    def to_frame(self) -> Any:
        """One row per point as a pandas frame.

        Returns
        -------
        pandas.DataFrame
            Indexed by the parameter, with the number of features, their names, ridge and intercept of the estimates,
            objective, lower bound, gap, status, nodes, seconds and percentage screened.
        """
        import pandas as pd

        columns = {
            "n_features": [support.size for support in self.supports],
            "features": [solution.feature_names for solution in self.solutions],
            "refit_gamma": self.refit_gammas,
            "intercept": self.intercepts,
            "objective": self.objectives,
            "lower_bound": self.lower_bounds,
            "gap": self.gaps,
            "status": [str(status) for status in self.statuses],
            "nodes": self.nodes,
            "seconds": self.seconds,
            "screened_percent": self.screened_percent,
        }
        return pd.DataFrame(columns, index=pd.Index(self.values, name=self.parameter))

    def _floats(self, pick: Callable[[Solution], float]) -> FloatArray:
        return np.array([pick(solution) for solution in self.solutions], dtype=np.float64)


def l0_path(
    X: Any,
    y: Any = None,
    *,
    k: int | Sequence[int] | npt.ArrayLike | None = None,
    mu: float | Sequence[float] | npt.ArrayLike | None = None,
    gamma: float | Sequence[float] | npt.ArrayLike | None = None,
    refit_gamma: float | str = "same",
    sample_weight: npt.ArrayLike | None = None,
    fit_intercept: bool | None = None,
    standardize: bool | None = None,
    include: Features | None = None,
    exclude: Features | None = None,
    feature_names: Iterable[str] | None = None,
    positive_class: Any = None,
    rel_gap: float = 1e-4,
    time_limit: float | None = None,
    node_limit: int | None = None,
    screening: str = "nodes",
    n_threads: int = 1,
    memory_limit: float | None = None,
    progress: bool = False,
) -> L0Path:
    """Solve for a sequence of budgets, prices or ridge parameters, each point with its own proof.

    Exactly one of ``k``, ``mu`` and ``gamma`` is a sequence. Each point starts from its neighbour's model, and lower
    bounds are carried over to the other points wherever they are valid there. What is not given is as in the
    :class:`Problem`, or its default.

    Parameters
    ----------
    X : Problem, array-like, SciPy sparse matrix, or frame, of shape (n_samples, n_features)
        A problem, or its data as for :class:`Problem`.
    y : array-like of shape (n_samples,)
        The labels, as for :class:`Problem`. Not with a problem, which has its own.
    k : int or sequence of int, optional
        Budget of features.
    mu : float or sequence of float, optional
        Price of a feature.
    gamma : float or sequence of float, optional
        Ridge parameter of the choice; by default 1.0.
    refit_gamma : float, "auto", "same" or "cv", default "same"
        Ridge at which the coefficients of each point's features are estimated, as for
        :class:`L0LogisticRegression`: the proofs are about the choices at `gamma`, ``coefs`` and ``intercepts`` are
        the estimates.
    sample_weight, fit_intercept, standardize, include, exclude, feature_names, positive_class
        As for :class:`Problem`, with its defaults. Not with a problem, which has its own.
    rel_gap : float, default 1e-4
        Relative gap at which a point counts as solved.
    time_limit : float, optional
        Seconds per point.
    node_limit : int, optional
        Nodes per point.
    screening : {"nodes", "root", "none"}
        As for :func:`solve`.
    n_threads : int, default 1
        Threads of each search.
    memory_limit : float, optional
        Gigabytes of working memory, as for :func:`solve`.
    progress : bool, default False
        Show on standard error where the path stands, as :func:`solve` does.

    Returns
    -------
    L0Path
        The solutions in the order of the values given. After Ctrl-C the points not yet searched have the status
        ``"interrupted"`` and the honest gap of a quick solution; a second Ctrl-C raises ``KeyboardInterrupt``.

    Examples
    --------
    >>> import safescreen as ss
    >>> X, y, _ = ss.datasets.make_sparse_logistic(100, 50, 3, 1.0, random_state=0)
    >>> path = ss.l0_path(X, y, k=range(1, 4))
    >>> [support.size for support in path.supports]
    [1, 2, 3]
    >>> problem = ss.Problem(X, y, k=3, include=[7])
    >>> [7 in support for support in ss.l0_path(problem, gamma=[1.0, 10.0]).supports]
    [True, True]
    """
    refit_gamma = check_refit_gamma(refit_gamma)
    parameters = {"k": k, "mu": mu, "gamma": gamma}
    name = _varying(parameters)
    values = checked_values(name, parameters[name])
    fixed = _given({**parameters, name: values[0]})
    details = {
        "sample_weight": sample_weight,
        "fit_intercept": fit_intercept,
        "standardize": standardize,
        "include": include,
        "exclude": exclude,
        "feature_names": feature_names,
        "positive_class": positive_class,
    }
    if isinstance(X, Problem):
        problem = _with_values(X, fixed, {"y": y, **details})
    else:
        problem = Problem(X, y, **fixed, **_given(details))
    settings = Settings(rel_gap, time_limit, node_limit, screening, n_threads, memory_limit)
    solutions = solve_along(problem, name, values, settings, progress=progress)
    return L0Path(name, np.array(values), tuple(solutions), refit_gamma)


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    """Those that the user has given; the others have a problem's defaults."""
    return {name: value for name, value in arguments.items() if value is not None}


def _with_values(problem: Problem, values: dict[str, Any], details: dict[str, Any]) -> Problem:
    """A problem with other values of price, budget or ridge, and nothing else said about it."""
    given = ", ".join(_given(details))
    if given:
        raise ValueError(f"{given} cannot be given together with a Problem, which has its own: make another Problem.")
    return problem.with_parameters(**values)


def solve_along(
    problem: Problem,
    name: str,
    values: Sequence[Any],
    settings: Settings,
    *,
    starts: Sequence[Solution] | None = None,
    progress: bool = False,
) -> list[Solution]:
    """Solutions of ``problem`` with the parameter ``name`` at each of the values, in their order.

    Parameters
    ----------
    problem : Problem
        Data and the other parameters.
    name : {"k", "mu", "gamma"}
        The parameter that varies.
    values : sequence
        Its values.
    settings : Settings
        How far each search goes.
    starts : sequence of Solution, optional
        A model per value to start from, where there are some from another path; otherwise each point starts from its
        neighbour on this one.
    progress : bool, default False
        Show on standard error where the path stands.
    """
    solved: dict[int, Solution] = {}
    with Interrupts() as interrupts, Progress(progress) as display:
        for i in sorted(range(len(values)), key=lambda i: values[i], reverse=name in _FALLING):
            variant = problem.with_parameters(**{name: values[i]})
            known = implied_bounds(name, [*solved.values()], [values[j] for j in solved], [values[i]])[0]
            place = f"{name} = {values[i]:g} ({len(solved) + 1} of {len(values)})"
            display.say(f"{place}: relaxing and screening")
            start = next(reversed(solved.values()), None) if starts is None else starts[i]
            solution = solve(
                variant,
                **asdict(replace(settings, time_limit=0.0) if interrupts.requested else settings),
                warm_start=start,
                callback=partial(_look, display=display, place=place, known=known, rel_gap=settings.rel_gap),
            )
            solution = _with_bound(solution, known, settings.rel_gap)
            if interrupts.requested and solution.status == Status.TIME_LIMIT:
                solution = replace(solution, status=Status.INTERRUPTED)
            solved[i] = solution
    solutions = [solved[i] for i in range(len(values))]
    known_bounds = implied_bounds(name, solutions, values, values)
    pairs = zip(solutions, known_bounds, strict=True)
    return [_with_bound(solution, known, settings.rel_gap) for solution, known in pairs]


def _look(moment: Moment, *, display: Progress, place: str, known: float, rel_gap: float) -> bool:
    """Show where the search of a point stands; whether a bound known beforehand already proves the model at hand."""
    display.say(f"{place}: {describe(moment)}")
    return relative_gap(moment.upper_bound, known) <= rel_gap


def _with_bound(solution: Solution, known: float, rel_gap: float) -> Solution:
    """The solution with a bound known from elsewhere, if that is better than its own."""
    known = min(known, solution.objective)
    if known <= solution.lower_bound:
        return solution
    trace = [*solution.trace, solution.trace[-1]._replace(lower_bound=known, upper_bound=solution.objective)]
    closed = relative_gap(solution.objective, known) <= rel_gap
    return replace(solution, lower_bound=known, status=Status.OPTIMAL if closed else solution.status, trace=trace)


def implied_bounds(
    name: str, solutions: Sequence[Solution], values: Sequence[Any], targets: Sequence[Any]
) -> list[float]:
    """What lower bounds at some values of a parameter prove about the optima at others, all else being equal."""
    bounds = [solution.lower_bound for solution in solutions]
    if name == "k":
        return [max((b for v, b in zip(values, bounds, strict=True) if v >= k), default=0.0) for k in targets]
    hull = _concave_hull([(_abscissa(name, v), Fraction(b)) for v, b in zip(values, bounds, strict=True)])
    return [_rounded_down(_height(hull, _abscissa(name, target))) for target in targets]


def _abscissa(name: str, value: float) -> Fraction:
    """The parameter in which models have affine objectives, as an exact number."""
    return Fraction(value) if name == "mu" else 1 / Fraction(value)


Point = tuple[Fraction, Fraction]


def _concave_hull(points: list[Point]) -> list[Point]:
    """Corners of the least nondecreasing concave function above the points and above 0 at 0, from left to right."""
    zero = Fraction(0)
    top = max([b for _, b in points], default=zero)
    last = max([t for t, _ in points], default=zero)
    hull: list[Point] = []
    for point in sorted([*points, (zero, zero), (last, max(top, zero))]):
        while hull and (hull[-1][0] == point[0] or _is_below(hull, point)):
            hull.pop()
        hull.append(point)
    return hull


def _is_below(hull: list[Point], point: Point) -> bool:
    """Whether the last corner is on or below the line from the one before it to the point."""
    if len(hull) < 2:
        return False
    (t0, b0), (t1, b1) = hull[-2:]
    return (b1 - b0) * (point[0] - t0) <= (point[1] - b0) * (t1 - t0)


def _height(hull: list[Point], t: Fraction) -> Fraction:
    """The value of the piecewise linear function with these corners; constant to the right of the last."""
    for (t0, b0), (t1, b1) in pairwise(hull):
        if t <= t1:
            return b0 + (b1 - b0) * (t - t0) / (t1 - t0)
    return hull[-1][1]


def _rounded_down(value: Fraction) -> float:
    """The largest float that is not above an exact number, or the one before it."""
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def _varying(parameters: dict[str, Any]) -> str:
    """The one parameter that is a sequence."""
    varying = [name for name, value in parameters.items() if is_sequence(value)]
    if len(varying) != 1:
        found = f"{' and '.join(varying)} are" if varying else "none is"
        raise ValueError(f"Exactly one of k, mu and gamma must be a sequence, but {found}.")
    return varying[0]


def is_sequence(value: Any) -> bool:
    """Whether a parameter holds several values rather than one."""
    return hasattr(value, "__len__") and not isinstance(value, str | bytes) and np.ndim(value) > 0


def checked_values(name: str, values: Any) -> list[Any]:
    """The values of a parameter as plain numbers, each of them allowed."""
    if np.ndim(values) != 1:
        raise ValueError(f"{name} has {np.ndim(values)} dimensions, but a flat sequence of numbers is needed.")
    items = [item.item() if isinstance(item, np.generic) else item for item in values]
    if not items:
        raise ValueError(f"{name} is an empty sequence, but at least one value is needed.")
    if any(item is None for item in items):
        raise ValueError(f"{name} contains None, but only numbers are allowed in a sequence.")
    return [_CHECKS[name](item) for item in items]
