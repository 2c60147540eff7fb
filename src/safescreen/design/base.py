"""The matrix behind two questions: all correlations ``Aᵀα``, and "these columns, dense".

A solve touches the whole matrix only for bounds and screening, so nothing outside this module needs to know
how it is stored. Standardisation happens here as well, and never copies: ``A = (X - means) / scales`` exists
only as the pair ``(means, scales)`` that corrects each answer.

Every answer comes with an a-priori bound on its rounding error, because the solver's bounds must hold for
the real matrix ``A`` (with the floating-point ``means`` and ``scales`` taken as exact), not for its rounded
image. The bounds leave out underflow, which is far below anything a double-precision objective can show.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from safescreen.arrays import BoolArray, FloatArray, IndexArray
from safescreen.design.columns import Columns, Raw
from safescreen.design.copies import agree, find_copies, tolerances
from safescreen.design.memory import CHUNK_ENTRIES, EXACT_CHUNK, SAFE_SQUARES, SMALL_ENTRIES, pieces, slices
from safescreen.rounding import NORM_SLACK, UNIT
from safescreen.tuning import CACHED_BYTES, DENSE_BYTES, SHORT_COLUMN
from safescreen.working_memory import allowed


class Moments(NamedTuple):
    """Column means, scales, and which columns are identically zero once standardised."""

    means: FloatArray
    scales: FloatArray
    constant: BoolArray


class Design(ABC):
    """A matrix ``A = (X - means) / scales``, seen through correlations and dense column blocks.

    Parameters
    ----------
    shape : tuple of int
        Samples and features.
    weights : ndarray of shape (n_samples,)
        Non-negative, summing to one. They define means and variances, and rows of weight zero are ignored
        when looking for constant columns.
    standardize : bool
        Whether columns are centred and scaled to unit (population) variance.

    Attributes
    ----------
    passes : int
        How often the whole matrix has been read so far: what a solve costs where reading is what takes time.
    """

    def __init__(self, shape: tuple[int, int], weights: FloatArray, standardize: bool) -> None:
        self.shape = shape
        self.standardize = standardize
        self._weights = weights
        self.passes = 0

    @property
    def means(self) -> FloatArray:
        """What is subtracted from each column; zero without standardisation."""
        return self._moments.means

    @property
    def scales(self) -> FloatArray:
        """What each column is divided by; one without standardisation."""
        return self._moments.scales

    @property
    def constant(self) -> BoolArray:
        """Columns that are identically zero on all rows of positive weight, once centred.

        They act as exactly zero in every answer.
        """
        return self._moments.constant

    @cached_property
    def error(self) -> FloatArray:
        """Coefficients with ``|correlations(α)_j - (A^j)ᵀα| ≤ error_j ‖α‖₂`` in real arithmetic."""
        return self._zero_constant(self._correlation_error())

    @cached_property
    def block_error(self) -> FloatArray:
        """Coefficients with ``|fl(B_jᵀα) - (A^j)ᵀα| ≤ block_error_j ‖α‖₂`` for columns ``B`` of `columns`."""
        return self._zero_constant((self.shape[0] + 6) * UNIT * self._norms)

    def correlations(self, alpha: FloatArray) -> FloatArray:
        """All of ``Aᵀα`` in one full pass over the matrix, accumulated in float64."""
        sums = self._sums(alpha, self.means if self.standardize else None)
        if self.standardize:
            sums /= self.scales
        return self._zero_constant(sums)

    def correlations_of(self, alphas: FloatArray) -> FloatArray:
        """All of ``Aᵀα`` for several dual points, the rows of ``alphas``: one row of answers each.

        Each row is as exact as `correlations` would have it. A matrix that is read slowly answers all in one pass.
        """
        return np.stack([self.correlations(alpha) for alpha in alphas])

    def strongest(self, alphas: FloatArray, drifts: FloatArray, count: int) -> tuple[IndexArray, FloatArray]:
        """Per dual point the ``count`` features whose correlation may be the largest, and how large it may be.

        That is ``|c_j| + ‖α‖ (error_j + drift norms_j)``: what rounding may have taken is added, and what a distance of
        ``drift ‖α‖`` from the point may change. What is no number counts as infinite, since nothing smaller is known. A
        matrix held elsewhere sends this small answer instead of all numbers.

        Parameters
        ----------
        alphas : ndarray of shape (n_points, n_samples)
            Dual points.
        drifts : ndarray of shape (n_points,)
            How far each may be from the point that is meant, relative to its length.
        count : int
            From 1 to the number of features.

        Returns
        -------
        indices : ndarray of int of shape (n_points, count)
            Features, the strongest first.
        widened : ndarray of shape (n_points, count)
            How large their correlations may be, in the same order.
        """
        indices = np.empty((len(alphas), count), dtype=np.int64)
        widened = np.empty((len(alphas), count))
        for row, (alpha, drift, correlation) in enumerate(
            zip(alphas, drifts, self.correlations_of(alphas), strict=True)
        ):
            scale = float(np.linalg.norm(alpha)) * (1.0 + 1e-9)
            sizes = np.abs(correlation) + scale * (self.error + drift * self.norms)
            sizes[np.isnan(sizes)] = np.inf
            top = np.argpartition(-sizes, count - 1)[:count]
            indices[row] = top[np.argsort(-sizes[top], kind="stable")]
            widened[row] = sizes[indices[row]]
        return indices, widened

    def columns(self, indices: npt.ArrayLike) -> FloatArray:
        """These columns of ``A`` as a dense, Fortran-ordered float64 block."""
        chosen = np.asarray(indices, dtype=np.int64).reshape(-1)
        if self.shape[0] * self.shape[1] <= SMALL_ENTRIES:
            return np.take(self._all_columns, chosen, axis=0).T
        return self._standardized_rows(chosen).T

    @cached_property
    def _all_columns(self) -> FloatArray:
        """Every column as a row: kept for small matrices, whose solves would else spend their time gathering."""
        return self._standardized_rows(np.arange(self.shape[1]))

    def _standardized_rows(self, chosen: IndexArray) -> FloatArray:
        """These columns of ``A`` as the C-ordered rows of a new array."""
        rows = self._gather(chosen)
        if self.standardize:
            for part in pieces(chosen.size, 8 * CHUNK_ENTRIES // self.shape[0]):
                rows[part] -= self.means[chosen[part], None]
                rows[part] /= self.scales[chosen[part], None]
        rows[self.constant[chosen]] = 0.0
        return rows

    def exact_correlations(self, indices: IndexArray, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``Aᵀα`` for a few columns without rounding in the sum, and the error that is left per column.

        Products are split into a rounded part and its error, and all parts are summed exactly: worthwhile where badly
        scaled columns would make the ordinary error bound the weakest link. What is left is the rounding of the
        standardised entries themselves and of the result.
        """
        sums = np.empty(indices.size)
        for part in pieces(indices.size, EXACT_CHUNK // self.shape[0]):
            rows = self.columns(indices[part]).T
            products = rows * alpha
            errors = _product_errors(rows, alpha, products)
            sums[part] = [math.fsum(chain(p.tolist(), e.tolist())) for p, e in zip(products, errors, strict=True)]
        entries = 3.0 * UNIT * self._norms[indices] if self.standardize else np.zeros(indices.size)
        left = entries * float(np.linalg.norm(alpha)) * NORM_SLACK + 2.0 * UNIT * np.abs(sums)
        return sums, np.asarray(left + self.shape[0] * 1e-300)

    @property
    def columns_at_a_time(self) -> int:
        """So many dense columns, and as many that are weighted, fit into the working memory."""
        return allowed(self.nbytes) // (16 * self.shape[0])

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Memory of the raw matrix."""

    @property
    def norms(self) -> FloatArray:
        """Upper bounds on ``‖A^j‖₂``."""
        return self._norms

    def dense_columns(self, indices: IndexArray) -> Columns:
        """These columns for the compiled solver, all of them dense."""
        rows = np.ascontiguousarray(self.columns(indices).T)
        return Columns.all_dense(rows, self.block_error[indices])

    def search_columns(self, indices: IndexArray, urgency: IndexArray, slots: int) -> Columns:
        """These columns for a long search: dense, unless they are many and sparse, or do not fit into ``slots`` rows.

        Others get a dense row when they first matter. Those of positive urgency, the most urgent first, have one from
        the start, as far as half of the rows go.
        """
        raw = self._raw(indices, slots)
        if raw is None:
            return self.dense_columns(indices)
        moments = self.means[indices], self.scales[indices]
        error = np.maximum(self.error[indices], self.block_error[indices])
        columns = Columns.partly_dense(raw, moments, error, np.empty((min(indices.size, slots), self.shape[0])))
        order = np.argsort(-urgency, kind="stable")
        first = order[urgency[order] > 0][: slots if slots >= indices.size else slots // 2]
        columns.dense[: first.size] = self.columns(indices[first]).T
        columns.slot[first] = np.arange(first.size)
        columns.in_use[0] = first.size
        return columns

    readable_in_place = False
    """Whether compiled code can read all columns beside a few dense ones: then a search never has too many."""

    def has_room_for(self, columns: int, slots: int) -> bool:
        """Whether a search can have so many columns at hand, so many of them dense."""
        return self.readable_in_place or columns <= slots

    def _raw(self, indices: IndexArray, slots: int) -> Raw | None:
        """These columns in the form in which a search reads them beside dense copies, or None if all are dense."""
        dense_bytes = 8 * indices.size * self.shape[0]
        if slots >= indices.size and dense_bytes <= min(CACHED_BYTES, DENSE_BYTES):
            return None
        compressed = self._compressed(indices)
        if compressed is not None:
            share = 16 if dense_bytes > DENSE_BYTES else 8 * SHORT_COLUMN
            if slots < indices.size or share * compressed.rows.size <= dense_bytes:
                return compressed
        return self._in_place(indices) if slots < indices.size else None

    @cached_property
    def copies(self) -> tuple[IndexArray, ...]:
        """Groups of columns that are copies of one another; once standardised, also those of other scale and offset."""
        return find_copies(self)

    @property
    @abstractmethod
    def matrix(self) -> Any:
        """The raw matrix as the checker of proofs takes it: dense, or sparse columns without zeros, in float64."""

    def _check_room_for_copy(self) -> None:
        """Refuse to bring a matrix here that working memory has no room for: a proof is lost then, and nothing else."""
        needed = 8 * self.shape[0] * self.shape[1]
        if needed > allowed(self.nbytes):
            raise OSError(
                f"the matrix has {needed / 1e9:.1f} GB in double precision, and the machine on which proofs are "
                "checked has less working memory (memory_limit)"
            )

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """The type in which the raw matrix is held."""

    def same_columns(self, first: IndexArray, second: IndexArray) -> BoolArray:
        """Whether each of these columns is a copy of its partner, entry by entry, a few at a time."""
        same = np.zeros(first.size, dtype=np.bool_)
        for piece in slices(first.size, 4 * CHUNK_ENTRIES // self.shape[0]):
            same[piece] = self._same_block(first[piece], second[piece])
        return same

    def _same_block(self, first: IndexArray, second: IndexArray) -> BoolArray:
        one, other = self.columns(first), self.columns(second)
        if not self.standardize:
            return np.asarray((one == other).all(axis=0))
        sign = np.where(np.einsum("ij,ij->j", one, other) < 0.0, -1.0, 1.0)
        tolerance = np.maximum(tolerances(self)[first], tolerances(self)[second])
        return np.asarray(agree(one, sign * other, tolerance).all(axis=0))

    def _compressed(self, indices: IndexArray) -> Raw | None:
        """These raw columns in compressed form, or None where they are stored dense anyway."""
        return None

    def _in_place(self, indices: IndexArray) -> Raw | None:
        """These raw columns where they are, or None where compiled code cannot read them there."""
        return None

    form = "dense"
    """How the matrix is stored."""

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the raw matrix: the same for equal values in the same `form`, whatever their dtype or order."""
        digest = hashlib.sha256()
        for part in self._canonical_parts():
            digest.update(part.data)
        return digest.hexdigest()

    @abstractmethod
    def _canonical_parts(self) -> Iterator[npt.NDArray[Any]]:
        """The raw matrix as a sequence of arrays that depends on its values and its `form` alone."""

    @abstractmethod
    def _gather(self, indices: IndexArray) -> FloatArray:
        """The raw columns as the rows of a new C-ordered float64 array."""

    @abstractmethod
    def _sums(self, factors: FloatArray, centre: FloatArray | None) -> FloatArray:
        """``Σ_i factors_i (X_ij - centre_j)`` for every column, in one pass."""

    @abstractmethod
    def _squares(self, factors: FloatArray, centre: FloatArray | None) -> FloatArray:
        """``Σ_i factors_i (X_ij - centre_j)²`` for every column, in one pass, as a sum of positive terms."""

    @abstractmethod
    def _correlation_error(self) -> FloatArray:
        """`error`, before constant columns are set to zero."""

    @abstractmethod
    def _zero_candidates(self) -> IndexArray:
        """Columns that may be all zero on rows of positive weight: a superset of those that are."""

    @cached_property
    def _moments(self) -> Moments:
        return self._standardized_moments() if self.standardize else self._trivial_moments()

    @cached_property
    def _positive(self) -> BoolArray | slice:
        """Selects the rows of positive weight."""
        positive = self._weights > 0.0
        return slice(None) if positive.all() else positive

    @cached_property
    def _norms(self) -> FloatArray:
        """Upper bounds on ``‖A^j‖₂``."""
        return self._norm_bounds(self.means if self.standardize else None) / self.scales

    def _norm_bounds(self, centre: FloatArray | None) -> FloatArray:
        """Upper bounds on ``‖X^j - centre_j‖₂``; the small term stands for squares lost to underflow."""
        samples = self.shape[0]
        with np.errstate(over="ignore"):
            squares = self._squares(np.ones(samples), centre)
        return np.sqrt(squares + samples * 1e-307) * NORM_SLACK

    def _zero_constant(self, values: FloatArray) -> FloatArray:
        values[self.constant] = 0.0
        return values

    def _trivial_moments(self) -> Moments:
        """Without standardisation a column can only be useless by being all zero."""
        features = self.shape[1]
        constant = np.zeros(features, dtype=np.bool_)
        for batch, values in self._candidate_values(self._zero_candidates()):
            constant[batch] = ~values.any(axis=1)
        return Moments(np.zeros(features), np.ones(features), constant)

    def _standardized_moments(self) -> Moments:
        """Weighted means and population deviations, in passes that stay accurate for large means.

        Whether a column is constant is decided on its exact values. Only columns whose deviation is within
        the rounding of their mean need that look.
        """
        means, variances = self._means_and_variances()
        scales = np.sqrt(variances)
        noise = 4.0 * (self.shape[0] + 8) * UNIT * np.abs(means)
        in_range = (variances > SAFE_SQUARES[0]) & (variances < SAFE_SQUARES[1])
        doubtful = np.flatnonzero(~in_range | (scales <= noise))
        return self._settled(Moments(means, scales, np.zeros(self.shape[1], np.bool_)), doubtful, ~in_range[doubtful])

    def _settled(self, moments: Moments, doubtful: IndexArray, extreme: BoolArray) -> Moments:
        """Moments after a look at the doubtful columns, in place; those of extreme size have their deviation again."""
        means, scales, constant = moments
        extremes = doubtful[extreme]
        for batch, values in self._candidate_values(doubtful):
            same = values.min(axis=1) == values.max(axis=1)
            constant[batch[same]] = True
            means[batch[same]], scales[batch[same]] = values[same, 0], 1.0
            for row in np.flatnonzero(~same & np.isin(batch, extremes)):
                j = batch[row]
                scales[j] = _scaled_deviation(values[row], means[j], self._weights[self._positive])
        unusable = doubtful[~(np.isfinite(scales[doubtful]) & (scales[doubtful] > 0.0))]
        constant[unusable], scales[unusable] = True, 1.0  # they differ only on rows of negligible weight
        return moments

    def _means_and_variances(self) -> tuple[FloatArray, FloatArray]:
        """Weighted means, and the squares about them."""
        means = self._means()
        with np.errstate(over="ignore"):
            return means, self._squares(self._weights, means)

    def _candidate_values(self, indices: IndexArray) -> Iterator[tuple[IndexArray, FloatArray]]:
        """A few columns at a time, as rows, on the samples of positive weight only."""
        for piece in pieces(indices.size, CHUNK_ENTRIES // self.shape[0]):
            yield indices[piece], self._gather(indices[piece])[:, self._positive]

    def _means(self) -> FloatArray:
        """Weighted means, corrected once by the mean of what is left after subtracting them."""
        means = self._sums(self._weights, None)
        means += self._sums(self._weights, means)
        return means


def _scaled_deviation(values: FloatArray, mean: float, weights: FloatArray) -> float:
    """A standard deviation whose squares would leave the range of float64."""
    deviations = values - mean
    largest = float(np.abs(deviations).max())
    if largest == 0.0:
        return 0.0
    return largest * float(np.sqrt(weights @ (deviations / largest) ** 2))


def _product_errors(a: FloatArray, b: FloatArray, products: FloatArray) -> FloatArray:
    """The exact errors of rounded products (Dekker's splitting into halves of the significand)."""
    a_high, b_high = _high_half(a), _high_half(b)
    a_low, b_low = a - a_high, b - b_high
    return ((a_high * b_high - products) + a_high * b_low + a_low * b_high) + a_low * b_low


def _high_half(a: FloatArray) -> FloatArray:
    scaled = 134217729.0 * a  # 2**27 + 1
    return np.asarray(scaled - (scaled - a))
