"""`relax`: a convex relaxation of the whole problem, solved for users."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from safescreen import kernels
from safescreen.arrays import FloatArray
from safescreen.problem import Problem, check_problem
from safescreen.problem.validation import check_memory_limit
from safescreen.relaxation.big_m import solve_big_m
from safescreen.relaxation.bounds import trivial_bound
from safescreen.relaxation.perspective import solve_root
from safescreen.working_memory import within


@dataclass(frozen=True)
class Relaxation:
    """A solved relaxation.

    Attributes
    ----------
    lower_bound : float
        No model is better than this, rounding included.
    value : float
        Objective of the relaxation at ``coef``, ``intercept`` and ``z``.
    coef : ndarray of shape (n_features,)
        Coefficients in the data's own units.
    intercept : float
        Intercept in the data's own units.
    z : ndarray of shape (n_features,)
        Fractional choice of features, between 0 (out) and 1 (in).
    dual : ndarray of shape (n_samples,)
        The dual point ``p`` behind ``lower_bound``.
    seconds : float
        Time taken.
    """

    lower_bound: float
    value: float
    coef: FloatArray = field(repr=False)
    intercept: float
    z: FloatArray = field(repr=False)
    dual: FloatArray = field(repr=False)
    seconds: float

    def _repr_html_(self) -> str:
        from safescreen.formatting.cards import relaxation_card

        return relaxation_card(self)


def relax(
    problem: Problem, *, formulation: str = "perspective", M: float = 1.0, memory_limit: float | None = None
) -> Relaxation:
    """Solve a convex relaxation of the problem.

    Parameters
    ----------
    problem : Problem
        The problem.
    formulation : {"perspective", "big-m"}
        The strong (conic) relaxation the solver uses, or the weak one for comparison.
    M : float, default 1.0
        Bound on the (standardised) coefficients for ``"big-m"``, whose results hold for models within it only; not
        used otherwise.
    memory_limit : float, optional
        Gigabytes of memory to work with beside the data; by default one, and a quarter of the size of the data. With
        less, fewer columns are held at a time: it takes longer, and the bound is as safe. With ``"big-m"``, whose
        solution may use more columns than that, value and bound may then lie apart.

    Returns
    -------
    Relaxation
        Value, safe lower bound, coefficients, fractional choice and dual point.
    """
    check_problem(problem)
    limit = check_memory_limit(memory_limit)
    if formulation not in ("perspective", "big-m"):
        raise ValueError(f"formulation is {formulation!r}, but must be 'perspective' or 'big-m'.")
    if formulation == "perspective":
        kernels.warm_up()
    start = perf_counter()
    with within(limit):
        if formulation == "perspective":
            root = solve_root(problem)
            value, bound, x, b, dual = root.value, root.bound.value, root.x, root.b, root.bound.dual
            z = _fractional_choice(problem, x)
        else:
            value, bound, x, b, z, dual = solve_big_m(problem, M)
    bound = max(trivial_bound(problem), bound)
    coef, intercept = problem.to_data_units(x, b)
    return Relaxation(bound, max(value, bound), coef, intercept, z, dual, perf_counter() - start)


def _fractional_choice(problem: Problem, x: FloatArray) -> FloatArray:
    """The best ``z`` for given coefficients: a water-filling of the budget, or of the price where that binds first."""
    size = np.where(problem.included, 0.0, np.abs(x))
    kappa = problem.k - problem.include.size
    level = float(np.sqrt(problem.gamma * problem.mu))
    if np.count_nonzero(size) > kappa:
        ordered = np.sort(size[size > 0.0])
        rest = np.cumsum(ordered)  # all but the largest ones, by how many are left out of it
        above = np.arange(ordered.size - 1, -1, -1)
        fits = (above < kappa) & (ordered * (kappa - above) <= rest)
        last = int(np.flatnonzero(fits)[-1]) if fits.any() else 0
        level = max(level, float(rest[last]) / max(kappa - int(above[last]), 1))
    z = np.where(size > 0.0, np.minimum(size / level, 1.0) if level > 0.0 else 1.0, 0.0)
    z[problem.included] = 1.0
    return np.asarray(z)
