"""The relaxation of the whole problem: a small dense block of columns, enlarged until no column outside it matters.

The compiled node solver works on the block alone. One full pass over the matrix then bounds the whole problem and
shows which columns the block lacks; two or three passes are enough. A weak ridge makes nearly every column look
promising at the start, so the price is then lowered in steps from one at which few are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
import numpy.typing as npt

from safescreen import kernels
from safescreen.bigm import solve_big_m
from safescreen.bounds import IN, Bound, Fixings, bound_at, sharp_bound_at
from safescreen.node import Data, make_state
from safescreen.problem import Problem, check_problem

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.int64]

_NO_FLOATS = np.empty(0)
_NO_INDICES = np.empty(0, np.int32)
_NO_STARTS = np.zeros(1, np.int64)
_NO_COLUMNS = np.empty(0, np.int64)
_FIRST_BLOCK = 192  # columns to begin with
_RETRIES = 2  # fresh starts from the point reached, where a solve falls short of its tolerance


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


@dataclass(frozen=True)
class Root:
    """The root relaxation as the solver uses it: in the units of the (standardised) matrix."""

    value: float
    bound: Bound
    x: FloatArray
    b: float
    level: float


def relax(problem: Problem, *, formulation: str = "perspective", M: float = 1.0) -> Relaxation:
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

    Returns
    -------
    Relaxation
        Value, safe lower bound, coefficients, fractional choice and dual point.
    """
    check_problem(problem)
    if formulation not in ("perspective", "big-m"):
        raise ValueError(f"formulation is {formulation!r}, but must be 'perspective' or 'big-m'.")
    if formulation == "perspective":
        kernels.warm_up()
    start = perf_counter()
    if formulation == "perspective":
        root = solve_root(problem)
        value, bound, x, b, dual = root.value, root.bound.value, root.x, root.b, root.bound.dual
        z = _fractional_choice(problem, x)
    else:
        value, bound, x, b, z, dual = solve_big_m(problem, M)
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


def block_data(problem: Problem, columns: IndexArray) -> Data:
    """The compiled solver's view of these columns, all held dense."""
    block = np.ascontiguousarray(problem.design.columns(columns).T)
    count = columns.size
    return Data(
        block, np.arange(count), np.array([count]), _NO_FLOATS, _NO_INDICES, _NO_STARTS, _NO_FLOATS, _NO_FLOATS,
        problem.design.block_error[columns], problem.y, problem.weights, problem.gamma,
        problem.mu, problem.k, problem.fit_intercept,
    )  # fmt: skip


def solve_root(problem: Problem, tolerance: float = 1e-10) -> Root:
    """Solve the perspective relaxation to a relative gap of about ``tolerance``, where the numbers allow it."""
    fixings = Fixings(problem.included, problem.excluded)
    lowest = float(np.sqrt(problem.gamma * problem.mu))
    kappa = problem.k - problem.include.size
    pull = np.where(fixings.free, np.abs(_first_correlations(problem)), 0.0)
    level, prices = _start(problem, pull, kappa, lowest)
    promising = np.flatnonzero(pull > 0.75 * 2.0 * level / problem.gamma)
    columns = _strongest(promising, pull, max(_FIRST_BLOCK, min(2 * kappa, 256)))
    complete = columns.size == promising.size
    block = _Block(problem, fixings, _joined(columns, problem.include))
    x, b, bound = np.zeros(problem.n_features), 0.0, None
    value, retries = np.inf, 0
    for price in prices:
        final = price == problem.mu
        accuracy = tolerance if final and complete else 1e-3
        for _ in range(60):
            value, alpha, b, level = block.solve(price, x, b, level, accuracy)
            trial = bound_at(problem, fixings, _dual_of(problem, alpha))
            bound = trial if bound is None or trial.value > bound.value else bound
            if final and value - bound.value <= tolerance * abs(value):
                break
            missing = _missing(problem, fixings, block.columns, trial, level)
            grown = missing.size > 0
            if grown:
                columns = _joined(block.columns, missing)
                del block  # two of them need not lie side by side
                block = _Block(problem, fixings, columns)
            retries += not grown
            if not grown and (not final or (accuracy <= tolerance and retries > _RETRIES)):
                trial = sharp_bound_at(problem, fixings, bound.dual) if final else bound
                bound = trial if trial.value > bound.value else bound
                break
            if final:
                accuracy = (
                    max(tolerance, min(accuracy, 0.02 * (value - bound.value) / abs(value))) if grown else tolerance
                )
    assert bound is not None, "there is at least one price"
    return Root(value, bound, x, b, level)


def _first_correlations(problem: Problem) -> FloatArray:
    """Correlations at the dual point of the model without features."""
    p = np.full(problem.n_samples, 0.5)
    if problem.fit_intercept:
        positive = float(problem.weights[problem.y > 0.0].sum())
        p = np.where(problem.y > 0.0, 1.0 - positive, positive)
    return problem.design.correlations(problem.y * (problem.weights * p))


def _start(problem: Problem, pull: FloatArray, kappa: int, lowest: float) -> tuple[float, list[float]]:
    """A first level, and the prices to solve for one after the other."""
    crowd = min(max(2 * kappa, 64), 256, pull.size)
    ordered = np.sort(pull)[::-1]
    level = lowest
    if 0 < kappa < pull.size:
        level = max(level, 0.5 * problem.gamma * float(ordered[kappa]))
    prices = [problem.mu]
    crowded = 0.25 * problem.gamma * float(ordered[crowd - 1]) ** 2
    while prices[0] < 0.1 * crowded and kappa >= crowd and len(prices) < 40:
        prices.insert(0, max(prices[0] * 8.0, 1e-6 * crowded))
    if len(prices) > 1:
        level = float(np.sqrt(problem.gamma * prices[0]))
    return level, prices


class _Block:
    """The columns at hand, gathered once, and the compiled solver's work space for them."""

    def __init__(self, problem: Problem, fixings: Fixings, columns: IndexArray) -> None:
        self.columns = columns
        self._data = block_data(problem, columns)
        self._state = make_state(self._data, np.ones(columns.size), problem.weights, columns.size)
        self._state.status[fixings.included[columns]] = IN

    def solve(
        self, price: float, x: FloatArray, b: float, level: float, tolerance: float
    ) -> tuple[float, FloatArray, float, float]:
        """Solve the relaxation over the block from the iterate in ``x``, which is updated in place."""
        data, state = self._data._replace(mu=price), self._state
        state.x[:] = x[self.columns]
        state.u[:] = state.x @ data.columns + b
        level = max(level, float(np.sqrt(data.gamma * price)))
        value, _, _, _, level, b, _ = kernels.relax(data, state, level, b, np.inf, 0.5 * tolerance, 0.0, False)
        x[self.columns] = state.x
        return value, state.best_alpha, b, level


def _dual_of(problem: Problem, alpha: FloatArray) -> FloatArray:
    """The dual point ``p`` behind ``α = w y p``; rows of weight zero do not matter."""
    mass = problem.weights
    return np.divide(problem.y * alpha, mass, out=np.zeros_like(alpha), where=mass > 0.0)


def _missing(problem: Problem, fixings: Fixings, block: IndexArray, bound: Bound, level: float) -> IndexArray:
    """Columns that matter at this level and are not in the block."""
    pull = np.where(fixings.free, np.abs(bound.correlation), 0.0)
    pull[block] = 0.0
    needed = 2.0 * level / problem.gamma
    if not (pull > needed * (1.0 + 1e-12)).any():
        return _NO_COLUMNS
    return _strongest(np.flatnonzero(pull > 0.95 * needed), pull, max(_FIRST_BLOCK, block.size))


def _joined(columns: IndexArray, others: IndexArray) -> IndexArray:
    """Both, sorted, each once."""
    return np.union1d(columns, others) if others.size else np.sort(columns)


def _strongest(columns: IndexArray, pull: FloatArray, most: int) -> IndexArray:
    """The ``most`` columns with the strongest pull."""
    if columns.size <= most:
        return columns
    return columns[np.argpartition(-pull[columns], most)[:most]]
