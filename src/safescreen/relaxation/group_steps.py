"""Which features of a group that is out cannot return: steps of the relaxation towards each of them, all at a time.

A value of the relaxation is never below its optimum. So where a feature that was out and all that are in use, moved
together, have a value below a threshold, the optimum with this feature is below it, too. That takes no solved
relaxation, and one matrix serves all features: Newton's, at the point they start from. Where the penalty is linear a
coefficient should not change its sign. Springs see to that, the stiffer the smaller it is.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from safescreen.arrays import BoolArray, FloatArray
from safescreen.problem import Problem

ROUNDS = 16
"""Steps after which a feature is left to a relaxation of its own, which costs many times as much as all of them."""

STIFFNESS = 0.1
"""A spring of stiffness 1 never lets a step go too far. Weaker ones let most steps go farther, and some fail."""

FARTHER = 2.0
"""A step is as long as a fall so many times as large as what is wanted needs: models of the loss hold nearby."""


@dataclass(frozen=True)
class _Points:
    """Where the steps are, one line per feature."""

    feature: FloatArray  # its column, with the sign that its coefficient will have
    x: FloatArray  # (features, in use): all other coefficients, the intercept at last
    t: FloatArray  # the size of its own
    value: FloatArray  # of the relaxation, but for a constant
    length: FloatArray  # of the next step, at most: 1 is Newton's
    answer: FloatArray  # how the others move with it
    bend: FloatArray  # second derivative along this

    def only(self, some: BoolArray) -> _Points:
        """Some of them."""
        return _Points(*(getattr(self, field.name)[some] for field in fields(self)))

    def moved(self, x: FloatArray, t: FloatArray, value: FloatArray) -> _Points:
        """These points where they are lower; the others are to take shorter steps."""
        lower = value < self.value
        return _Points(
            self.feature,
            np.where(lower[:, None], x, self.x),
            np.where(lower, t, self.t),
            np.where(lower, value, self.value),
            np.where(lower, self.length, 0.5 * self.length),
            self.answer,
            self.bend,
        )


class GroupSteps:
    """Steps from one point of a relaxation, at which some features are in use.

    Parameters
    ----------
    problem : Problem
        The problem.
    rows, x, included : ndarray
        The columns in use, as rows, their coefficients, and whether the user has included them.
    b, level : float
        Intercept and level.
    """

    def __init__(
        self, problem: Problem, rows: FloatArray, x: FloatArray, included: BoolArray, b: float, level: float
    ) -> None:
        intercept = int(problem.fit_intercept)
        whole = included | (np.abs(x) >= level * (1.0 - 1e-9))
        self.problem = problem
        self._rows = np.vstack((rows, np.ones((intercept, rows.shape[1]))))
        self._start = np.append(x, np.full(intercept, b))
        self._whole = np.append(whole, np.zeros(intercept, np.bool_))  # have a place of their own
        self._shared = np.append(~whole, np.zeros(intercept, np.bool_))  # share the places that are left
        self._places = problem.k - int(np.count_nonzero(whole))
        self._level = level
        self._binds = level > np.sqrt(problem.gamma * problem.mu) * (1.0 + 1e-9)

    def reach(self, columns: FloatArray, fall: float) -> BoolArray:
        """For which of these features, columns as rows, some point has a value that is lower than here by ``fall``."""
        reached, left = np.zeros(len(columns), np.bool_), np.arange(len(columns))
        if self._level <= 0.0 or self._places <= 0 or (self._binds and not self._shared.any()):
            return reached
        with np.errstate(all="ignore"):  # of badly scaled columns, whose steps lead nowhere
            points, inverse = self._begin(columns)
            before = float(self._value(self._start @ self._rows, self._start[None, :], np.zeros(1))[0])
            for _ in range(ROUNDS):
                points = self._step(points, inverse, points.value - before + fall)
                done = before - points.value >= fall
                reached[left[done]] = True
                if done.all():
                    break
                points, left = points.only(~done), left[~done]
        return reached

    def _begin(self, columns: FloatArray) -> tuple[_Points, FloatArray]:
        """All features at the start, and the inverse of Newton's matrix with springs."""
        problem, count = self.problem, len(columns)
        p = self._dual(self._start @ self._rows)
        curvature = problem.weights * problem.loss.curvature(p)
        feature = columns * np.sign(columns @ (problem.y * problem.weights * p))[:, None]
        bend = 2.0 / (self._places * problem.gamma) if self._binds else 0.0
        signs = np.where(self._shared, np.sign(self._start), 0.0)
        weighed = self._rows * curvature
        matrix = weighed @ self._rows.T + bend * np.outer(signs, signs) + np.diag(self._springs(curvature))
        inverse = np.asarray(np.linalg.inv(matrix), np.float64)
        pull = feature @ weighed.T + bend * signs
        answer = -pull @ inverse
        own = np.square(feature) @ curvature + bend
        least = 1e-12 * (own + float(curvature.sum())) + 1e-300
        start, zeros = np.repeat(self._start[None, :], count, axis=0), np.zeros(count)
        value = self._value(start @ self._rows, start, zeros)
        bends = np.maximum(own + np.einsum("ij,ij->i", answer, pull), least)
        return _Points(feature, start, zeros, value, np.ones(count), answer, bends), inverse

    def _springs(self, curvature: FloatArray) -> FloatArray:
        """What holds each coefficient in use: its ridge, or the sign it is to keep; and something against rounding."""
        force = 2.0 * self._level / self.problem.gamma
        size = np.maximum(np.abs(self._start), 1e-9 * self._level)
        springs = np.where(self._shared, STIFFNESS * force / size, 0.0)
        springs += np.where(self._whole, 2.0 / self.problem.gamma, 0.0)
        return np.asarray(springs + 1e-12 * float(curvature.sum()) + 1e-300)

    def _step(self, points: _Points, inverse: FloatArray, wanted: FloatArray) -> _Points:
        """One step of each, towards a fall that is somewhat larger than what is wanted."""
        problem, level = self.problem, self._levels(points.x, points.t)
        u = points.x @ self._rows + points.t[:, None] * points.feature
        alpha = problem.y * problem.weights * self._dual(u)
        force = 2.0 / problem.gamma * level
        slope = np.where(self._shared, force[:, None] * np.sign(points.x), 0.0) - alpha @ self._rows.T
        slope += np.where(self._whole, 2.0 / problem.gamma * points.x, 0.0)
        own_slope = force - np.einsum("ij,ij->i", points.feature, alpha)
        along = own_slope + np.einsum("ij,ij->i", points.answer, slope)
        own = -along / points.bend
        others = points.answer * own[:, None] - slope @ inverse
        promise = -(np.einsum("ij,ij->i", others, slope) + own * own_slope)
        share = np.clip(2.0 * FARTHER * wanted / np.maximum(promise, 1e-300), 0.0, 1.0)
        length = points.length * (1.0 - np.sqrt(1.0 - share))
        x, t = points.x + length[:, None] * others, np.maximum(points.t + length * own, 0.0)
        return points.moved(x, t, self._value(x @ self._rows + t[:, None] * points.feature, x, t))

    def _dual(self, u: FloatArray) -> FloatArray:
        return self.problem.loss.dual_point(self.problem.y * u)

    def _levels(self, x: FloatArray, t: FloatArray) -> FloatArray:
        """The level at which the coefficients that share places fill these; or the lowest, if they do not."""
        if not self._binds:
            return np.full(t.size, self._level)
        return np.asarray((np.abs(x[:, self._shared]).sum(axis=1) + t) / self._places)

    def _value(self, u: FloatArray, x: FloatArray, t: FloatArray) -> FloatArray:
        """No less than the value of the relaxation, but for a constant: at shares that are a choice among others."""
        loss = -np.log(self._dual(-u)) @ self.problem.weights
        size, level = np.abs(x[:, self._shared]), self._levels(x, t)
        total = size.sum(axis=1) + t
        cost = (size * np.maximum(size, level[:, None])).sum(axis=1) + t * np.maximum(t, level)
        if not self._binds:
            cost = np.where(total <= level * self._places, cost + level * total, np.inf)
        return np.asarray(loss + (cost + np.square(x[:, self._whole]).sum(axis=1)) / self.problem.gamma)
