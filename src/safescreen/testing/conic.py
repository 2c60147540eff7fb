"""The problem as a cone program for general solvers (extra ``conic``), which share nothing with ours.

Two exponential cones per sample carry the loss, one second-order cone per feature carries ``x² ≤ z t``:

    min  Σ w log(1 + exp(-y (A x + b))) + (1/γ) Σ t + μ Σ z    s.t.  x² ≤ z t,   0 ≤ z ≤ 1,   Σ z ≤ k
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from safescreen.problem import Problem

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class ConicModel:
    """A CVXPY model over the features that are kept, with the variables that matter."""

    model: Any
    x: Any
    z: Any
    kept: Mask

    @property
    def coefficients(self) -> Vector:
        """The coefficients of all features, once the model is solved."""
        return self._among_zeros(self.x.value)

    @property
    def choice(self) -> Vector:
        """How far every feature is chosen, once the model is solved."""
        return np.clip(self._among_zeros(self.z.value), 0.0, 1.0)

    def _among_zeros(self, values: Vector) -> Vector:
        full = np.zeros(self.kept.size)
        full[self.kept] = values
        return full


def conic_model(
    problem: Problem,
    out: Mask,
    chosen: Mask,
    formulation: str = "perspective",
    M: float = 1.0,
    integer: bool = False,
) -> ConicModel:
    """The problem with some features decided ``out`` and others ``chosen``; relaxed, unless ``integer``.

    ``formulation`` is ``"perspective"`` or ``"big-m"`` (then ``|x_j| ≤ M z_j`` and the ridge stands outside). Features
    that are out are left out rather than bounded: ``x² ≤ 0 · t`` has no interior, which interior-point methods need.
    """
    cp = import_cvxpy()
    kept, used = ~out, problem.weights > 0.0
    size = np.count_nonzero(kept)
    A = np.asarray(problem.design.columns(np.flatnonzero(kept)), dtype=np.float64)[used]
    x, z = cp.Variable(size), cp.Variable(size, boolean=integer)
    b = cp.Variable() if problem.fit_intercept else 0.0
    constraints = [z <= 1.0]  # and z ≥ 0, which either form of the ridge implies
    if chosen.any():
        constraints.append(z[np.flatnonzero(chosen[kept])] == 1.0)
    if problem.k < size:
        constraints.append(cp.sum(z) <= problem.k)
    if formulation == "perspective":
        t = cp.Variable(size)
        constraints.append(cp.SOC(z + t, cp.vstack([2.0 * x, z - t]), axis=0))  # x² ≤ z t
        ridge = cp.sum(t)
    elif formulation == "big-m":
        constraints += [x <= M * z, x >= -M * z]
        ridge = cp.sum_squares(x)
    else:
        raise ValueError(f"formulation must be 'perspective' or 'big-m', got {formulation!r}.")
    loss = problem.weights[used] @ cp.logistic(-cp.multiply(problem.y[used], A @ x + b))
    cost = loss + ridge / problem.gamma + problem.mu * cp.sum(z)
    return ConicModel(cp.Problem(cp.Minimize(cost), constraints), x, z, kept)


def conic_relaxation(problem: Problem, formulation: str = "perspective", M: float = 1.0) -> float:
    """The relaxation's value at the tightest tolerance Clarabel reaches: interior points may stall before the first."""
    cp = import_cvxpy()
    model = conic_model(problem, problem.excluded, problem.included, formulation, M).model
    for tolerance in (1e-10, 1e-9, 1e-8):
        settings = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), tolerance)
        try:
            model.solve(solver=cp.CLARABEL, **settings)
        except cp.SolverError:
            continue
        if model.status == cp.OPTIMAL:
            return float(model.value)
    raise RuntimeError(f"Clarabel stopped with status {model.status!r}.")


def import_cvxpy() -> Any:
    """CVXPY, which brings Clarabel, or one sentence on how to get it."""
    try:
        import cvxpy
    except ImportError as error:
        raise ImportError("the conic model needs CVXPY and Clarabel: pip install 'safescreen[conic]'.") from error
    return cvxpy
