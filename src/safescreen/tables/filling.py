"""What fills gaps: computed from all rows for the model, and from the training rows alone in each fold.

A fold that saw a median or a most frequent category of all rows would have seen its test rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from safescreen.tables.encoding import BoolArray, columns_with_gaps

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.int64]

_GAP = -1  # the code of a missing category


def medians(matrix: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The median of each column, gaps aside; NaN where there is nothing else."""
    found: npt.NDArray[Any] = np.median(matrix, axis=0)
    for j in columns_with_gaps(matrix):
        present = matrix[~np.isnan(matrix[:, j]), j]
        if present.size:
            found[j] = np.median(present)
    return found


def coded(texts: Iterable[str | None], categories: Iterable[str]) -> IndexArray:
    """The place of each text among the categories."""
    codes: dict[str | None, int] = {category: code for code, category in enumerate(categories)}
    return np.array([codes.get(text, _GAP) for text in texts], dtype=np.int64)


def most_frequent(codes: IndexArray) -> int:
    """The first of the most frequent codes, gaps aside; a gap where there is nothing else."""
    counts = np.bincount(codes[codes != _GAP])
    return int(counts.argmax()) if counts.size else _GAP


class CategoryGaps(NamedTuple):
    """A column of categories with gaps, and the features made of it.

    The features alone would not do: they need not show all categories, so they cannot say which one is most frequent.
    """

    features: IndexArray
    shown: IndexArray  # the category that each feature indicates
    codes: IndexArray  # the category in each row

    @property
    def missing(self) -> BoolArray:
        """The rows with a gap."""
        return np.asarray(self.codes == _GAP)

    def fills(self, rows: IndexArray) -> FloatArray:
        """What the features are for the most frequent category of some rows; NaN if these have none."""
        category = most_frequent(self.codes[rows])
        return np.where(category == _GAP, np.nan, self.shown == category)


@dataclass(frozen=True)
class Gaps:
    """The missing values of a matrix, filled or to be filled; their number is its length."""

    numbers: Any  # a sparse array of bool: the cells where a number is missing
    categories: tuple[CategoryGaps, ...]  # the columns where a category is missing
    fills: FloatArray  # what fills the gaps of each feature

    def __len__(self) -> int:
        return int(self.numbers.nnz) + sum(int(column.missing.sum()) for column in self.categories)

    def among(self, rows: IndexArray | BoolArray) -> Gaps:
        """The gaps of the matrix that has these rows only."""
        categories = tuple(column._replace(codes=column.codes[rows]) for column in self.categories)
        return replace(self, numbers=self.numbers[rows], categories=categories)

    def fill(self, matrix: FloatArray) -> FloatArray:
        """Fill the gaps of a matrix, in place."""
        rows, columns = self.numbers.nonzero()
        matrix[rows, columns] = self.fills[columns]
        for column in self.categories:
            matrix[np.ix_(column.missing, column.features)] = self.fills[column.features]
        return matrix

    def refill(self, X: FloatArray, train: IndexArray, test: IndexArray) -> tuple[FloatArray, FloatArray]:
        """The training and the test rows of a filled matrix, filled anew from the training rows alone."""
        X_train, X_test = np.asarray(X)[train], np.asarray(X)[test]
        gaps = replace(self, fills=self._fills(X_train, train))
        return gaps.among(train).fill(X_train), gaps.among(test).fill(X_test)

    def _fills(self, X_train: FloatArray, train: IndexArray) -> FloatArray:
        """What fills the gaps according to the training rows; as before where these have no value."""
        columns = np.unique(self.numbers.indices)
        values = X_train[:, columns]
        values[self.numbers[train][:, columns].nonzero()] = np.nan
        fills = np.full(self.fills.size, np.nan)
        fills[columns] = medians(values)
        for column in self.categories:
            fills[column.features] = column.fills(train)
        return np.where(np.isnan(fills), self.fills, fills)
