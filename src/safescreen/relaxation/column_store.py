"""Dense columns of a matrix that is too large to have them all: those in use, as many as there is room for."""

from __future__ import annotations

import numpy as np

from safescreen.arrays import FloatArray, IndexArray
from safescreen.design import Columns
from safescreen.problem import Problem
from safescreen.relaxation.restriction import restricted_to


class ColumnStore:
    """Columns at hand for the compiled solver; the ones that nobody has asked for longest make room for others.

    Attributes
    ----------
    subproblem : Subproblem
        The problem on all places of the store.
    features : ndarray of shape (capacity,)
        The feature at each place, -1 where there is none.
    replacements : int
        How often some place got another column: whatever was computed from columns before is void.
    """

    def __init__(self, problem: Problem, capacity: int) -> None:
        self._design = problem.design
        self._rows, self._errors = np.zeros((capacity, problem.n_samples)), np.zeros(capacity)
        self.subproblem = restricted_to(problem, Columns.all_dense(self._rows, self._errors))
        self.features = np.full(capacity, -1)
        self.replacements = 0
        self._places: dict[int, int] = {}
        self._last_use, self._clock = np.zeros(capacity, np.int64), 0

    @property
    def capacity(self) -> int:
        """Columns it has room for."""
        return self.features.size

    def places(self, features: IndexArray) -> IndexArray:
        """Where these features are, -1 for those that are not at hand."""
        return np.array([self._places.get(j, -1) for j in features.tolist()], np.int64)

    def has(self, features: IndexArray) -> bool:
        """Whether all of these are at hand."""
        return all(j in self._places for j in features.tolist())

    def rows(self, features: IndexArray) -> FloatArray:
        """The columns of features at hand, as rows."""
        return np.asarray(self._rows[self.places(features)])

    def take_in(self, features: IndexArray) -> None:
        """Have these columns at hand, the first ones first, as far as there is room: one gather for all new ones."""
        _, first = np.unique(features, return_index=True)
        wanted = features[np.sort(first)][: self.capacity]
        places = self.places(wanted)
        new = wanted[places < 0]
        rows = self._design.columns(new).T if new.size else self._rows[:0]
        self._clock += 1
        self._last_use[places[places >= 0]] = self._clock
        vacated = np.argsort(self._last_use, kind="stable")[: new.size]
        gone = self.features[vacated]
        for j in gone[gone >= 0].tolist():
            del self._places[j]
        self.replacements += bool((gone >= 0).any())
        self._rows[vacated], self._errors[vacated] = rows, self._design.block_error[new]
        self.features[vacated], self._last_use[vacated] = new, self._clock
        self._places.update(zip(new.tolist(), vacated.tolist(), strict=True))
