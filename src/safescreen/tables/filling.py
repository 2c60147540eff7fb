"""What fills gaps: computed from all rows for the model, and from the training rows alone in each fold.

A fold that saw a median or a most frequent category of all rows would have seen its test rows.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from safescreen.arrays import AnyArray, BoolArray, FloatArray, IndexArray
from safescreen.tables.encoding import Input
from safescreen.tables.table import Texts, columns_with, missing


def medians(matrix: AnyArray) -> FloatArray:
    """The median of each column, gaps aside; NaN where there is nothing else."""
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        return np.asarray(np.nanmedian(matrix, axis=0), dtype=np.float64)


def most_frequent(texts: Texts) -> str | None:
    """The first of the most frequent texts, gaps aside; None where there is nothing else."""
    counts = Counter(text for text in texts.tolist() if text is not None)
    return min(counts, key=lambda text: (-counts[text], text), default=None)


@dataclass(frozen=True)
class Gaps:
    """The missing values of a matrix, filled or to be filled; their number is its length."""

    cells: Any  # a sparse array of bool: where a feature is missing
    fills: FloatArray  # what fills the gaps of each feature
    indicators: dict[int, Input]  # the features with gaps that indicate categories
    texts: dict[int, Texts]  # the columns they come from, since features need not show all categories

    @classmethod
    def found(cls, matrix: AnyArray, inputs: Sequence[Input], texts: dict[int, Texts]) -> Gaps:
        """The gaps of a matrix that was made of `inputs`."""
        fills = np.array([source.filler for source in inputs])
        indicators = {j: inputs[j] for j in columns_with(np.isnan, matrix) if inputs[j].category is not None}
        columns = {source.position: texts[source.position] for source in indicators.values()}
        return cls(sparse.csr_array(np.isnan(matrix)), fills, indicators, columns)

    def __len__(self) -> int:
        numbers = self.cells.nnz - self.cells[:, list(self.indicators)].nnz
        return int(numbers + sum(missing(texts).sum() for texts in self.texts.values()))

    def among(self, rows: IndexArray | BoolArray) -> Gaps:
        """The gaps of the matrix that has these rows only."""
        return replace(self, cells=self.cells[rows], texts={place: texts[rows] for place, texts in self.texts.items()})

    def fill(self, matrix: FloatArray) -> FloatArray:
        """Fill the gaps of a matrix, in place."""
        rows, columns = self.cells.nonzero()
        matrix[rows, columns] = self.fills[columns]
        return matrix

    def refill(self, X: FloatArray, train: IndexArray, test: IndexArray) -> tuple[FloatArray, FloatArray]:
        """The training and the test rows of a filled matrix, filled anew from the training rows alone."""
        X_train, X_test = np.asarray(X)[train], np.asarray(X)[test]
        gaps = replace(self, fills=self._fills(X_train, train))
        return gaps.among(train).fill(X_train), gaps.among(test).fill(X_test)

    def _fills(self, X_train: FloatArray, train: IndexArray) -> FloatArray:
        """What fills the gaps according to the training rows; as before where these have no value."""
        columns = np.unique(self.cells.indices)
        values = X_train[:, columns]
        values[self.cells[train][:, columns].nonzero()] = np.nan
        fills = np.full(self.fills.size, np.nan)
        fills[columns] = medians(values)
        common = {place: most_frequent(texts[train]) for place, texts in self.texts.items()}
        for j, source in self.indicators.items():
            fills[j] = replace(source, fill=common[source.position]).filler
        return np.where(np.isnan(fills), self.fills, fills)
