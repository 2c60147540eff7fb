"""Safe screening: what one dual point proves about each free feature.

Flipping the relaxation's own choice for a feature raises the dual bound by a known margin. Once the raised bound
passes the value of a model we hold, the flipped branch is proved empty of optima and the choice is final:
Propositions 1 and 2 of the paper as one rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
import numpy.typing as npt

from safescreen import kernels
from safescreen.bounds import Bound, Fixings
from safescreen.incumbents import Incumbent, first_incumbent, improve
from safescreen.problem import Problem, check_problem
from safescreen.relaxation import Root, solve_root

IndexArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Screening:
    """What is proved about every optimal model before any search.

    Attributes
    ----------
    excluded : ndarray of int
        Features in no optimal model (those the user excluded and constant columns among them).
    included : ndarray of int
        Features in every optimal model (those the user included among them).
    undecided : ndarray of int
        All others.
    margin : ndarray of shape (n_features,)
        By how much the proof of a feature's decision passes ``upper_bound``; negative where there is no proof,
        infinite for what was decided beforehand.
    lower_bound, upper_bound : float
        Safe bounds on the optimal objective.
    seconds : float
        Time taken.
    """

    excluded: IndexArray
    included: IndexArray
    undecided: IndexArray
    margin: npt.NDArray[np.float64] = field(repr=False)
    lower_bound: float
    upper_bound: float
    seconds: float

    @property
    def percent(self) -> float:
        """Percentage of the features decided."""
        decided = self.excluded.size + self.included.size
        return 100.0 * decided / (decided + self.undecided.size)

    def __repr__(self) -> str:
        return (
            f"Screening({self.excluded.size} excluded, {self.included.size} included, {self.undecided.size} undecided: "
            f"{self.percent:.1f} % decided)"
        )

    def _repr_html_(self) -> str:
        from safescreen.formatting.cards import screening_card

        return screening_card(self)


def report(problem: Problem, bound: Bound, upper: float, seconds: float) -> Screening:
    """The public record of a screening with this bound."""
    given = Fixings(problem.included, problem.excluded)
    fixings = bound.decide(given, upper)
    _, raised = bound.raised(given)
    return Screening(
        excluded=np.flatnonzero(fixings.excluded),
        included=np.flatnonzero(fixings.included),
        undecided=np.flatnonzero(fixings.free),
        margin=np.where(given.free, raised - upper, np.inf),
        lower_bound=min(bound.value, upper),
        upper_bound=upper,
        seconds=seconds,
    )


def screen(problem: Problem, *, upper_bound: float | None = None) -> Screening:
    """Prove which features are in no, and which in every optimal model.

    Parameters
    ----------
    problem : Problem
        The problem.
    upper_bound : float, optional
        The objective of a model you have, or any other proved upper bound on the optimum. By default the relaxation
        is rounded, refitted and improved by local search.

    Returns
    -------
    Screening
        The decisions, the bounds behind them and the margin of each proof.

    Examples
    --------
    >>> import safescreen as ss
    >>> X, y, _ = ss.datasets.make_sparse_logistic(200, 100, 5, 1.0, random_state=0)
    >>> ss.screen(ss.Problem(X, y, mu=1e-2, gamma=1.0)).percent > 50
    True
    """
    check_problem(problem)
    kernels.warm_up()
    start = perf_counter()
    root = solve_root(problem)
    upper = _checked(upper_bound, root) if upper_bound is not None else _default_upper(problem, root).objective
    return report(problem, root.bound, upper, perf_counter() - start)


def _default_upper(problem: Problem, root: Root) -> Incumbent:
    """The best model found without a search: here every bit of it decides features."""
    return improve(problem, first_incumbent(problem, root), root, lambda: False)


def _checked(upper_bound: float, root: Root) -> float:
    upper = float(upper_bound)
    if math.isnan(upper) or upper < root.bound.value:
        raise ValueError(
            f"upper_bound is {upper_bound!r}, but every model has an objective of at least {root.bound.value:.9g}: "
            "give the objective of a model that exists."
        )
    return upper
