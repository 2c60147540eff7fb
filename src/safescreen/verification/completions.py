"""Nodes with one place left, each candidate for which is ruled out by a dual point of its own.

A *swept* node has a point, that of some model of the features that are in. Its own children aside, every other free
feature ``j`` completes them to a support, which is bounded by that point ``p``, or by the point that one Newton step
for ``j`` leads to. How the step is computed is of no importance: any point in [0, 1] bounds the support.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from safescreen.verification.arithmetic import ROUNDOFF, Array, batches
from safescreen.verification.dual_bounds import (
    DualPoints,
    NodeBounds,
    bound_nodes,
    evaluate_points,
    weigh_points,
    widened_gains,
)
from safescreen.verification.reading import require
from safescreen.verification.recognition import Columns, StatedProblem, to_dense
from safescreen.verification.search_tree import Tree

LARGEST_REACH = 0.9
"""A step changes no ``p`` and no ``1 - p`` by more than this part of it."""

SECTIONS, GOLDEN = 24, 0.381966011250105
"""The length of a step is enclosed to so many golden sections: bounds are off by no more than their square."""


def bound_completions(
    problem: StatedProblem, columns: Columns, tree: Tree, root_status: Array, enough: float
) -> tuple[Array, float]:
    """For every swept node the least bound of its features alone and with any candidate, and how uncertain they are.

    A candidate that the node's own point puts at ``enough`` or above needs no other one.
    """
    swept = tree.swept
    least, uncertainty = np.full(swept.size, np.inf), 0.0
    children = tree.children_of_swept()
    for batch in batches(swept.size, max(problem.samples.size, columns.norms.size)):
        nodes = swept[batch]
        inside, outside = tree.status(nodes, root_status)
        predictors = tree.predictors(nodes, columns)
        points = evaluate_points(problem, columns, tree.dual_points(nodes, columns, problem.samples.labels))
        alone = bound_nodes(points, inside, ~inside)
        for row, node in enumerate(nodes.tolist()):
            if (inside[row] & outside[row]).any() or alone.places[row] < 0:
                continue  # no model belongs to it
            require(alone.places[row] <= 1, "A node is marked as swept that has not one place left.")
            if alone.places[row] == 0:
                bound, own_uncertainty = bound_full(problem, columns, tree, node, inside[row], predictors[row], enough)
                taken_over = inside[row, children.get(node, [])].any()
                least[batch.start + row] = np.inf if taken_over else np.fmax(float(alone.lower[row]), bound)
                uncertainty = max(uncertainty, own_uncertainty)
                continue
            free = ~(inside[row] | outside[row])
            free[children.get(node, [])] = False
            candidates = np.flatnonzero(free)
            lower, surplus = float(alone.lower[row]), points.surplus[row, candidates]
            bounds = lower - surplus - 8.0 * ROUNDOFF * (abs(lower) + np.abs(surplus))
            completions = Completions(problem, columns.of(np.flatnonzero(inside[row])), predictors[row])
            left = np.flatnonzero(~(bounds >= enough))
            for part in batches(left.size, 4 * problem.samples.size):
                chosen = left[part]
                own, own_uncertainty = completions.bounds(columns.of(candidates[chosen]), enough)
                bounds[chosen] = np.fmax(bounds[chosen], own)
                uncertainty = max(uncertainty, own_uncertainty)
            least[batch.start + row] = np.minimum(lower, bounds.min(initial=np.inf))
    return least, uncertainty


def bound_full(
    problem: StatedProblem, columns: Columns, tree: Tree, node: int, inside: Array, predictor: Array, enough: float
) -> tuple[float, float]:
    """A bound of the one support of a node whose last place is taken, and how uncertain it is.

    What the root's point puts in may have been found out after the node was swept, so that its point is that of a model
    without one of the features in. One Newton step for that feature leads to a point of the support.
    """
    lacking = inside.copy()
    lacking[tree.feature[tree.point_parts.of(np.array([node]))[1]]] = False
    best, uncertainty = -np.inf, 0.0
    for feature in np.flatnonzero(lacking).tolist():
        others = inside.copy()
        others[feature] = False
        completions = Completions(problem, columns.of(np.flatnonzero(others)), predictor)
        bounds, own_uncertainty = completions.bounds(columns.of(np.array([feature])), enough)
        best, uncertainty = max(best, float(bounds[0])), max(uncertainty, own_uncertainty)
    return best, uncertainty


class Completions:
    """A model of some columns with a predictor, and the dual points of what one more column makes of it."""

    def __init__(self, problem: StatedProblem, fitted: Columns, predictor: Array) -> None:
        self.problem, self.predictor = problem, predictor
        self.fitted = replace(fitted, X=to_dense(fitted.X))
        self.p = 1.0 / (1.0 + np.exp(predictor * problem.samples.labels))

    def bounds(self, added: Columns, enough: float) -> tuple[Array, float]:
        """Bounds of the model with each of the added columns, by points of their own; and how uncertain they are.

        First the point itself is moved along the step, as far as its domain allows; where that is not enough, the
        predictor is, and at last the point as far as is best. No other length that keeps within the first one proves
        more, so that it does not matter how far a solver has gone.
        """
        added = replace(added, X=to_dense(added.X))
        labels = self.problem.samples.labels
        along, t, reach = self.newton_steps(added)
        limited = np.sign(t) * np.minimum(np.abs(t), LARGEST_REACH / reach)
        bounds = self.moved(added, limited, along)
        lower, uncertainty = bounds.lower, float(bounds.uncertainty.max(initial=0.0))
        left = np.flatnonzero(~(lower >= enough))
        if left.size:
            P = 1.0 / (1.0 + np.exp((self.predictor + t[left, None] * along[left]) * labels))
            bounds = self.evaluate(added.of(left), P)
            lower[left] = np.fmax(lower[left], bounds.lower)
            uncertainty = max(uncertainty, float(bounds.uncertainty.max()))
        left = np.flatnonzero(~(lower >= enough))
        if left.size:
            best, own_uncertainty = self.best_moved(added.of(left), limited[left], along[left])
            lower[left] = np.fmax(lower[left], best)
            uncertainty = max(uncertainty, own_uncertainty)
        return lower, uncertainty

    def moved(self, added: Columns, t: Array, along: Array) -> NodeBounds:
        """Bounds by the point itself, moved so far along each step."""
        P = self.p * (1.0 - (1.0 - self.p) * self.problem.samples.labels * (t[:, None] * along))
        return self.evaluate(added, np.clip(P, 0.0, 1.0))

    def best_moved(self, added: Columns, limited: Array, along: Array) -> tuple[Array, float]:
        """The best bounds by the point moved no farther than that, and how uncertain they are.

        They are concave in the length, whose best value golden sections enclose.
        """
        best, uncertainty = np.full(limited.size, -np.inf), 0.0
        low, high = np.zeros(limited.size), np.ones(limited.size)
        for _ in range(SECTIONS):
            inner = low + GOLDEN * (high - low), high - GOLDEN * (high - low)
            below, above = (self.moved(added, share * limited, along) for share in inner)
            best = np.fmax(best, np.fmax(below.lower, above.lower))
            uncertainty = max(uncertainty, float(below.uncertainty.max()), float(above.uncertainty.max()))
            falls = below.lower > above.lower
            low, high = np.where(falls, low, inner[0]), np.where(falls, inner[1], high)
        return best, uncertainty

    def newton_steps(self, added: Columns) -> tuple[Array, Array, Array]:
        """How the predictor changes by one Newton step for each column, the fitted ones following.

        Along ``d = a - B h`` with ``h = (BᵀC B + ridge)⁻¹ BᵀC a``, by ``t = aᵀα / (aᵀC d + 2/γ)``. A step of one
        changes no ``p`` and no ``1 - p`` by more than the third number times itself.
        """
        terms, samples, p = self.problem.terms, self.problem.samples, self.p
        A = (self.fitted.X - self.fitted.means) / self.fitted.scales
        B = np.hstack((A, np.ones((samples.size, int(terms.fit_intercept)))))
        ridge = np.zeros(B.shape[1])
        ridge[: A.shape[1]] = 2.0 / terms.gamma
        C = samples.weights * p * (1.0 - p)
        weighted, columns = B * C[:, None], ((added.X - added.means) / added.scales).T
        try:
            h = np.linalg.solve(B.T @ weighted + np.diag(ridge), (columns @ weighted).T).T
        except np.linalg.LinAlgError:
            h = np.zeros((len(columns), B.shape[1]))
        d = columns - h @ B.T
        curvature = np.maximum(np.einsum("ij,ij->i", columns * C, d), 0.0) + 2.0 / terms.gamma
        reach = (np.abs(d) * np.maximum(p, 1.0 - p)).max(axis=1, initial=1e-300)
        return d, columns @ (samples.weights * samples.labels * p) / curvature, reach

    def evaluate(self, added: Columns, P: Array) -> NodeBounds:
        """Bounds of the model with one added column per row of ``P``."""
        terms, fitted, weighed = self.problem.terms, self.fitted, weigh_points(self.problem, P)
        alpha, alpha_sum = weighed.alpha, weighed.alpha_sum
        c_fitted = np.abs(alpha @ fitted.X - alpha_sum[:, None] * fitted.means) / fitted.scales
        c_added = np.abs(np.einsum("ij,ji->i", alpha, added.X) - alpha_sum * added.means) / added.scales
        c = np.hstack((c_fitted, c_added[:, None]))
        norms = np.hstack((np.tile(fitted.norms, (len(P), 1)), added.norms[:, None]))
        q, from_columns = widened_gains(terms, c, weighed.c_error, norms)
        points = DualPoints(
            terms=terms,
            alpha=alpha,
            entropy=weighed.entropy,
            surplus=q - terms.mu,
            uncertainty=weighed.uncertainty + from_columns,
            useless=weighed.useless,
        )
        everything = np.ones(q.shape, np.bool_)
        return bound_nodes(points, everything, ~everything)
