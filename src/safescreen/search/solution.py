"""What a solve returns: the model, its proof in numbers, and how the search went."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from safescreen.arrays import FloatArray, IndexArray
from safescreen.formatting.digits import counted
from safescreen.problem import Problem
from safescreen.relaxation import Bound
from safescreen.screening import Screening, record_of
from safescreen.status import Status


class TracePoint(NamedTuple):
    """Where the search stood at one moment."""

    seconds: float
    nodes: int
    lower_bound: float
    upper_bound: float


class Moment(NamedTuple):
    """What a callback sees."""

    seconds: float
    nodes: int
    open_nodes: int
    lower_bound: float
    upper_bound: float
    gap: float
    features: int
    proved_exchanges: int = 0


@dataclass(frozen=True)
class Solution:
    """The best model found, with an honest account of how good it is.

    Attributes
    ----------
    coef : ndarray of shape (n_features,)
        Coefficients in the data's own units; zero outside ``support``.
    intercept : float
        Intercept in the data's own units. With ``standardize=True`` it carries the centring.
    support : ndarray of int
        The chosen features (those the user included among them), sorted.
    objective : float
        Objective of the model, rounded up: equal to ``problem.objective(coef, intercept)``.
    lower_bound : float
        No model has a smaller objective; holds in real arithmetic.
    gap : float
        ``(objective - lower_bound) / |objective|``.
    status : Status
        A string: ``"optimal"`` (the gap is at most the one requested), ``"time_limit"``, ``"node_limit"``,
        ``"interrupted"`` or, when the search is complete but floating-point numbers cannot express so small a gap,
        ``"numerical_limit"``; its ``sentence`` says the same in words.
    nodes : int
        Nodes of the search tree.
    seconds : float
        Time taken, compilation excluded.
    screening : Screening or None
        What the root proves against the final model; None with ``screening="none"``.
    trace : list of TracePoint
        Bounds over time.
    problem : Problem
        The problem solved.
    root : Bound or None
        What the dual point of the root relaxation proves, the source of ``screening``.
    rel_gap : float
        The gap asked for: no model counts as better that is so by no more than this.
    proved_exchanges : int
        How many features of the model may be exchanged for others without finding a better one: no model that does
        without at most so many of them is better. All of them once the model is proved optimal; 0 if nothing is proved
        of models near it. ``neighbourhood`` says it in words.
    neighbourhood : str
        The same in a sentence; empty if there is nothing to say beyond ``status``.
    """

    coef: FloatArray = field(repr=False)
    intercept: float
    support: IndexArray
    objective: float
    lower_bound: float
    status: Status
    nodes: int
    seconds: float
    trace: list[TracePoint] = field(repr=False)
    problem: Problem = field(repr=False)
    root: Bound | None = field(repr=False)
    rel_gap: float = field(default=0.0, repr=False)
    proved_exchanges: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "status", Status(self.status))  # who makes a copy may give a plain string
        if self.status == Status.OPTIMAL:
            object.__setattr__(self, "proved_exchanges", self.support.size)

    @property
    def gap(self) -> float:
        """Relative distance of the model from the safe lower bound."""
        return relative_gap(self.objective, self.lower_bound)

    @cached_property
    def screening(self) -> Screening | None:
        """What the root proves against this model."""
        return None if self.root is None else record_of(self.problem, self.root, self.objective, self.seconds)

    @property
    def neighbourhood(self) -> str:
        """What is proved of the models near this one, where not all models are covered."""
        return near_sentence(self.support.size, self.proved_exchanges, self.rel_gap)

    @property
    def feature_names(self) -> list[str]:
        """Names of the chosen features."""
        return self.problem.names(self.support)

    def __repr__(self) -> str:
        nearby = f"{counted(self.proved_exchanges, 'exchange')} proved, " if self.neighbourhood else ""
        return (
            f"Solution({self.status}, {self.support.size} features, objective {self.objective:.9g}, "
            f"lower bound {self.lower_bound:.9g}, gap {self.gap:.2g}, {nearby}{self.nodes} nodes, {self.seconds:.3g} s)"
        )

    def _repr_html_(self) -> str:
        from safescreen.formatting.cards import solution_card

        return solution_card(self)


def near_sentence(features: int, exchanges: int, rel_gap: float) -> str:
    """What is proved once so many exchanged features of a model are covered; empty if none or all of them are."""
    if not 0 < exchanges < features:
        return ""
    margin = f" by more than {100.0 * rel_gap:g}\u00a0%" if rel_gap > 0.0 else ""
    return f"No model that shares at least {features - exchanges:,} of these {features:,} features is better{margin}."


def relative_gap(objective: float, lower_bound: float) -> float:
    """The gap that MIP solvers report; an objective is always positive here."""
    return max(objective - lower_bound, 0.0) / abs(objective)
