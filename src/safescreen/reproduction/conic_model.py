"""The perspective relaxation of a node as a cone program for Clarabel: the paper's model, written out.

Two exponential cones per sample carry the loss, one second-order cone per free feature carries ``x² ≤ z t``:

    min  Σ w_i u_i + (1/γ) Σ_F t_j + (1/γ) Σ_in x_j² + μ Σ_F z_j
    exp(-y_i A_i x - u_i) ≤ r_i,   exp(-u_i) ≤ 1 - r_i,   x_j² ≤ z_j t_j,   z ≤ 1,   Σ_F z ≤ κ
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.int64]

EXTRA = "pip install 'safescreen[conic]'"


class NodeSolution(NamedTuple):
    """What the interior-point method returns: coefficients of all columns, and the choice of the free ones."""

    x: FloatArray
    z: FloatArray


def clarabel() -> Any:
    """The solver, or one sentence on how to get it."""
    try:
        import clarabel
    except ImportError as error:
        raise ImportError(f"the yardstick needs Clarabel: {EXTRA}.") from error
    return clarabel


class ConicModel:
    """The data of a problem, from which the cone program of any node is made.

    Fixed features are taken out of the program rather than bounded: ``x² ≤ 0 · t`` has no interior, which
    interior-point methods need.
    """

    def __init__(self, columns: FloatArray, y: FloatArray, weights: FloatArray, gamma: float, mu: float) -> None:
        self.signed = -y[:, None] * columns
        self.weights = weights
        self.gamma = gamma
        self.mu = mu

    def solve(self, free: IndexArray, fixed: IndexArray, kappa: int, time_limit: float) -> NodeSolution | None:
        """Relax the node with these ``free`` and ``fixed`` (included) features; None if the time is up."""
        solver = clarabel()
        settings = solver.DefaultSettings()
        settings.verbose = False
        settings.max_threads = 1
        settings.time_limit = max(time_limit, 1e-3)
        result = solver.DefaultSolver(*self._program(solver, free, fixed, kappa), settings).solve()
        if result.status == solver.SolverStatus.MaxTime:
            return None
        values = np.asarray(result.x)
        x, z = np.zeros(self.signed.shape[1]), np.zeros(self.signed.shape[1])
        x[free], x[fixed] = values[: free.size], values[free.size : free.size + fixed.size]
        z[free] = np.clip(values[free.size + fixed.size : 2 * free.size + fixed.size], 0.0, 1.0)
        z[fixed] = 1.0
        return NodeSolution(x, z)

    def _program(self, solver: Any, free: IndexArray, fixed: IndexArray, kappa: int) -> tuple[Any, ...]:
        """Objective, constraints and cones over the unknowns ``x_F, x_in, z, t, u, r``."""
        m, f, i = self.signed.shape[0], free.size, fixed.size
        n = f + i
        at_z, at_t, at_u, at_r, size = n, n + f, n + 2 * f, n + 2 * f + m, n + 2 * f + 2 * m
        quadratic = np.zeros(size)
        quadratic[f:n] = 2.0 / self.gamma
        cost = np.zeros(size)
        cost[at_z:at_t], cost[at_t:at_u], cost[at_u:at_r] = self.mu, 1.0 / self.gamma, self.weights

        def unit(start: int, count: int) -> Any:
            return sparse.eye_array(count, size, k=start, format="csr")

        budget = sparse.csr_array((np.ones(f), (np.zeros(f, np.int64), np.arange(at_z, at_t))), shape=(1, size))
        u, r = unit(at_u, m), unit(at_r, m)
        nothing = sparse.csr_array((m, size))
        loss = sparse.hstack([sparse.csr_array(self.signed[:, np.concatenate([free, fixed])]), nothing[:, n:]])
        x, z, t = unit(0, f), unit(at_z, f), unit(at_t, f)
        # a row of each block gives one entry of the cone's vector: rhs - row · unknowns
        above, above_rhs = _interleaved([u - loss, nothing, -r], [0.0, 1.0, 0.0])
        below, below_rhs = _interleaved([u, nothing, r], [0.0, 1.0, 1.0])
        shape, shape_rhs = _interleaved([-z - t, -2.0 * x, t - z], [0.0, 0.0, 0.0])
        rows = sparse.vstack([z, budget, above, below, shape], format="csc")
        rhs = np.concatenate([np.ones(f), [float(kappa)], above_rhs, below_rhs, shape_rhs])
        cones = [solver.NonnegativeConeT(f + 1)]
        cones += [solver.ExponentialConeT()] * (2 * m) + [solver.SecondOrderConeT(3)] * f
        return sparse.csc_matrix(sparse.diags_array(quadratic)), cost, sparse.csc_matrix(rows), rhs, cones


def _interleaved(blocks: list[Any], constants: list[float]) -> tuple[Any, FloatArray]:
    """Row i of the first block, row i of the second and so on: the three entries of the i-th cone together."""
    count, parts = blocks[0].shape[0], len(blocks)
    order = np.arange(count * parts).reshape(parts, count).T.ravel()
    return sparse.vstack(blocks, format="csr")[order], np.tile(constants, count)
