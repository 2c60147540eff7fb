"""What has to be known of all columns before anything else, in as few reads of a matrix as possible.

A first look finds extremes and a good centre, a second one sums deviations from it. Where whole columns are at hand,
both are made of each block in one read; where rows are, they take two. The centre is the mean of the distances from a
value of the column itself, so that large means cost no digits; what it lacks is the mean deviation from it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from safescreen.arrays import BoolArray, FloatArray
from safescreen.design.block_reads import Block, in_pieces
from safescreen.design.elsewhere import check_extremes
from safescreen.rounding import NORM_SLACK

COMMON_SIZES = (1e-120, 1e120)
"""Columns of other sizes are scaled by a power of two before they are squared, so that nothing is lost."""


class Known(NamedTuple):
    """What a survey has found."""

    means: FloatArray
    scales: FloatArray
    constant: BoolArray
    norms: FloatArray  # upper bounds on the norms of the standardised columns


class Survey:
    """Sums and extremes of all columns, gathered block by block.

    Parameters
    ----------
    features : int
        Number of columns.
    weights : ndarray of shape (n_samples,)
        Sample weights. Rows of weight zero count for norms, and must be finite.
    standardize : bool
        Whether columns are to be centred and scaled. If not, the centre stays zero.
    """

    def __init__(self, features: int, weights: FloatArray, standardize: bool) -> None:
        self._weights = weights
        self._standardize = standardize
        self._counted = weights > 0.0
        self._first = int(np.argmax(self._counted))
        self._same = bool(weights.min() == weights.max())
        self._low, self._high = np.full(features, np.inf), np.full(features, -np.inf)
        self._size = np.zeros(features)
        self._centre, self._sums = np.zeros(features), np.zeros(features)
        self._unit = np.ones(features)
        self._drift, self._spread, self._squares = np.zeros(features), np.zeros(features), np.zeros(features)

    def look(self, block: Block) -> None:
        """First: extremes, and distances from the first row that counts."""
        for rows, columns, values in in_pieces(block):
            low, high = values.min(axis=0), values.max(axis=0)
            size = np.maximum(-low, high)
            check_extremes(bool(np.isnan(size).any()), float(size.max()))
            self._size[columns] = np.maximum(self._size[columns], size)
            counted = self._counted[rows]
            if not counted.all():
                low = values[counted].min(axis=0, initial=np.inf)
                high = values[counted].max(axis=0, initial=-np.inf)
            self._low[columns] = np.minimum(self._low[columns], low)
            self._high[columns] = np.maximum(self._high[columns], high)
            if self._standardize:
                if rows.start <= self._first < rows.stop:
                    self._centre[columns] = values[self._first - rows.start]
                self._sums[columns] += _weighted(self._weights[rows], values - self._centre[columns])

    def settle(self, columns: slice) -> None:
        """These columns have been looked at as a whole: their centre is known, and how to scale them."""
        if self._standardize:
            self._centre[columns] += self._sums[columns]
            size = self._high[columns] - self._low[columns]
        else:
            size = self._size[columns]
        odd = (size > 0.0) & ((size < COMMON_SIZES[0]) | (size > COMMON_SIZES[1]))
        self._unit[columns] = np.where(odd, np.ldexp(1.0, np.frexp(np.where(odd, size, 1.0))[1]), 1.0)

    def weigh(self, block: Block) -> None:
        """Second: deviations from the centre, and their squares."""
        for rows, columns, values in in_pieces(block):
            deviations = values - self._centre[columns] if self._standardize else values
            if np.any(self._unit[columns] != 1.0):
                deviations = deviations / self._unit[columns]
            with np.errstate(over="ignore"):  # rows that do not count may be out of proportion
                self._squares[columns] += np.einsum("ij,ij->j", deviations, deviations)
            if self._standardize:
                self._add_counted(rows, columns, deviations)

    def _add_counted(self, rows: slice, columns: slice, deviations: FloatArray) -> None:
        """Weighted sums over the rows that count."""
        weights, counted = self._weights[rows], self._counted[rows]
        if not counted.all():
            weights, deviations = weights[counted], deviations[counted]
        self._drift[columns] += _weighted(weights, deviations)
        if not self._same:
            self._spread[columns] += _weighted(weights, np.square(deviations))

    def known(self) -> Known:
        """The result, once all blocks have been looked at, settled and weighed."""
        samples = self._weights.size
        lengths = self._unit * np.sqrt(self._squares + samples * 1e-307) * NORM_SLACK
        if not self._standardize:
            features = lengths.size
            zero = (self._low == 0.0) & (self._high == 0.0)
            return Known(np.zeros(features), np.ones(features), zero, lengths)
        means = self._centre + self._drift * self._unit
        constant = self._low == self._high
        means[constant] = self._low[constant]
        lengths += np.sqrt(samples) * np.abs(means - self._centre) * NORM_SLACK
        spread = self._squares * self._weights[0] if self._same else self._spread
        scales = self._unit * np.sqrt(np.maximum(spread - self._drift**2, 0.0))
        constant |= ~(np.isfinite(scales) & (scales > 0.0))  # or differs on rows of negligible weight only
        scales[constant] = 1.0
        return Known(means, scales, constant, lengths / scales)


def _weighted(weights: FloatArray, values: FloatArray) -> FloatArray:
    """Weighted sums of columns; not by BLAS, which would start threads for every piece."""
    return np.asarray(np.einsum("i,ij->j", weights, values))
