"""The model that a proof is about, without the data it was found on."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from safescreen.arrays import FloatArray, IndexArray
from safescreen.search import Solution


@dataclass(frozen=True)
class Selection:
    """The choice of features at the ridge ``gamma``: what is proved, as far as it is.

    Its coefficients are those of the problem solved, shrunk by the ridge that made the proof possible. For predictions
    use the estimator's ``coef_``, which are estimated at ``refit_gamma``.

    Attributes
    ----------
    gamma : float
        Ridge of the choice.
    coef : ndarray of shape (n_features,)
        Coefficients at that ridge, in the data's own units.
    intercept : float
        Intercept at that ridge.
    support : ndarray of int
        The chosen features, sorted.
    objective, lower_bound, gap, status, nodes
        As of a :class:`Solution`.
    k, mu : int, float
        Budget and price under which the choice was made; None where they are not known.
    restricted : bool
        Whether features were included or excluded beforehand.
    """

    gamma: float
    coef: FloatArray = field(repr=False)
    intercept: float
    support: IndexArray
    objective: float
    lower_bound: float
    gap: float
    status: str
    nodes: int
    k: int | None = None
    mu: float | None = None
    restricted: bool = False

    @classmethod
    def of(cls, solution: Solution) -> Selection:
        """What a solution proves, apart from its data."""
        return cls(
            gamma=solution.problem.gamma,
            coef=np.array(solution.coef),
            intercept=solution.intercept,
            support=np.array(solution.support),
            objective=solution.objective,
            lower_bound=solution.lower_bound,
            gap=solution.gap,
            status=solution.status,
            nodes=solution.nodes,
            k=solution.problem.k,
            mu=solution.problem.mu,
            restricted=bool(solution.problem.include.size or solution.problem.exclude.size),
        )
