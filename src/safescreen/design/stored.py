"""A matrix on disk that need not fit into memory: all answers come from passes over blocks of it.

What takes time is reading, so that reads are few. Means, scales, norms and whether all entries are finite take one
read together where whole columns can be read, and two where rows are stored. A read serves any number of dual points.
Columns that were asked for are kept for a while; those of a question that are not at hand are found in one read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np

from safescreen.arrays import AnyArray, BoolArray, FloatArray, IndexArray
from safescreen.design.base import Design, Moments
from safescreen.design.block_reads import Block, ahead, block_entries, blocks, in_pieces, plan_of, products
from safescreen.design.kept import KeptColumns
from safescreen.design.memory import CHUNK_ENTRIES, SAFE_SQUARES, pieces, slices, zeros
from safescreen.design.sources import Source
from safescreen.design.survey import Known, Survey
from safescreen.rounding import NORM_SLACK, UNIT
from safescreen.working_memory import allowed

KEPT_PART = 8
"""Columns that are kept may take this part of the working memory."""

ANSWERS_PART = 8
"""And so may the answers for several dual points at once, where they are wanted for a moment only."""

ROWS_PART = 4
"""And rows of a matrix that is stored by columns, while it is hashed row by row."""

LONG_RUN = 1 << 16
"""Bytes of a column that are read at once for hardly more than one byte of it."""

FAR_FROM_ZERO = 8.0
"""Means beyond so many deviations are subtracted before anything is summed; other sums are corrected afterwards."""

MOST_OF_IT = 0.5
"""A read of so much counts as one of the whole matrix."""


class StoredDesign(Design):
    """A dense matrix on disk, read in blocks.

    Its default working memory is the same however large the matrix is: ``nbytes`` counts what lies in memory.
    """

    def __init__(self, source: Source, weights: FloatArray, standardize: bool = False) -> None:
        super().__init__(source.shape, weights, standardize)
        self._source = source
        self._kept = KeptColumns()

    @property
    def nbytes(self) -> int:
        """Memory of the raw matrix: none, unless it is a table that lies there."""
        return self._source.held_bytes

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type in which the raw matrix is stored."""
        return self._source.dtype

    @property
    def matrix(self) -> Any:
        """The raw matrix in float64: a map of the file where it holds that, else all of it, in memory."""
        array = getattr(self._source, "array", None)
        if array is not None and array.dtype == np.float64:
            return array
        self._check_room_for_copy()
        return self._source.whole().astype(np.float64, copy=False)

    # -- moments -----------------------------------------------------------------------------------------

    @cached_property
    def _known(self) -> Known:
        """Moments, norms and constant columns; whether all entries are finite is found out on the way."""
        survey = Survey(self.shape[1], self._weights, self.standardize)
        if plan_of(self._source).has_whole_columns:
            for block in self._blocks():
                survey.look(block)
                survey.settle(block.columns)
                survey.weigh(block)
            return survey.known()
        for block in self._blocks():
            survey.look(block)
        survey.settle(slice(0, self.shape[1]))
        for block in self._blocks():
            survey.weigh(block)
        return survey.known()

    @cached_property
    def _moments(self) -> Moments:
        known = self._known
        return Moments(known.means, known.scales, known.constant)

    @cached_property
    def _norms(self) -> FloatArray:
        return self._known.norms

    def _zero_candidates(self) -> IndexArray:
        return np.flatnonzero(self.constant & (self._norms < np.sqrt(SAFE_SQUARES[0])))

    # -- correlations ------------------------------------------------------------------------------------

    def correlations_of(self, alphas: FloatArray) -> FloatArray:
        """All of ``Aᵀα`` for several dual points in one read."""
        sums = np.zeros((len(alphas), self.shape[1]))
        totals = alphas.sum(axis=1)
        for block in self._blocks():
            self._add_products(alphas, block, sums[:, block.columns])
        for columns in slices(self.shape[1], CHUNK_ENTRIES):
            self._finish(sums[:, columns], columns, totals)
        return sums

    def strongest(self, alphas: FloatArray, drifts: FloatArray, count: int) -> tuple[IndexArray, FloatArray]:
        """Per dual point the features whose correlation may be the largest: one read where columns are whole.

        Then answers are needed for one block at a time. Where rows are stored, there is room for so many dual points.
        """
        if plan_of(self._source).has_whole_columns:
            return self._strongest(alphas, drifts, count)
        step = allowed(self.nbytes) // ANSWERS_PART // (8 * self.shape[1])
        parts = [self._strongest(alphas[part], drifts[part], count) for part in slices(len(alphas), step)]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def _strongest(self, alphas: FloatArray, drifts: FloatArray, count: int) -> tuple[IndexArray, FloatArray]:
        lengths = np.linalg.norm(alphas, axis=1) * (1.0 + 1e-9)
        indices, widened = np.empty((len(alphas), 0), dtype=np.int64), np.empty((len(alphas), 0))
        for columns, correlations in self._answers(alphas):
            wider = self.error[columns] + drifts[:, None] * self.norms[columns]
            sizes = np.abs(correlations) + lengths[:, None] * wider
            sizes[np.isnan(sizes)] = np.inf  # nothing smaller is known
            numbers = np.broadcast_to(np.arange(columns.start, columns.stop), sizes.shape)
            indices, widened = np.hstack((indices, numbers)), np.hstack((widened, sizes))
            if widened.shape[1] > count:
                top = np.argpartition(-widened, count - 1, axis=1)[:, :count]
                indices, widened = np.take_along_axis(indices, top, 1), np.take_along_axis(widened, top, 1)
        order = np.argsort(-widened, axis=1, kind="stable")
        return np.take_along_axis(indices, order, 1), np.take_along_axis(widened, order, 1)

    def _answers(self, alphas: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """All correlations of several dual points, block by block where columns are whole."""
        if not plan_of(self._source).has_whole_columns:
            correlations = self.correlations_of(alphas)
            for columns in slices(self.shape[1], CHUNK_ENTRIES):
                yield columns, correlations[:, columns]
            return
        totals = alphas.sum(axis=1)
        for block in self._blocks():
            sums = np.zeros((len(alphas), block.columns.stop - block.columns.start))
            self._add_products(alphas, block, sums)
            self._finish(sums, block.columns, totals)
            yield block.columns, sums

    def _add_products(self, alphas: FloatArray, block: Block, sums: FloatArray) -> None:
        """Add what a block contributes to the sums of its columns."""
        start = block.columns.start
        for rows, columns, values in in_pieces(block):
            part = slice(columns.start - start, columns.stop - start)
            sums[:, part] += products(alphas[:, rows], self._less_large_means(columns, values))

    def _less_large_means(self, columns: slice, values: FloatArray) -> FloatArray:
        if not self.standardize:
            return values
        subtracted = self._subtracted[columns]
        return values - subtracted if subtracted.any() else values

    def _finish(self, sums: FloatArray, columns: slice, totals: FloatArray) -> None:
        """Sums over the raw columns, or over what is left without large means, as correlations; in place."""
        if self.standardize:
            sums -= totals[:, None] * (self.means[columns] - self._subtracted[columns])
            sums /= self.scales[columns]
        sums[:, self.constant[columns]] = 0.0

    @cached_property
    def _subtracted(self) -> FloatArray:
        """Means that are subtracted first, zero for those that are not."""
        return np.where(np.abs(self.means) > FAR_FROM_ZERO * self.scales, self.means, 0.0)

    def _correlation_error(self) -> FloatArray:
        """As for a dense matrix in memory, column by column: each term is in at most ``m`` additions.

        ``‖X^j‖ ≤ scale ‖A^j‖ + √m |mean|`` where the mean is subtracted from the sum, which has an error of its own.
        """
        samples = self.shape[0]
        error = (samples + 6) * UNIT * self._norms
        if self.standardize:
            late = np.abs(self.means - self._subtracted) / self.scales
            error += 2.0 * (samples + 8) * UNIT * np.sqrt(samples) * late * NORM_SLACK
        return error

    def correlations(self, alpha: FloatArray) -> FloatArray:
        """All of ``Aᵀα`` in one read."""
        return np.asarray(self.correlations_of(alpha[None, :])[0])

    def _sums(self, factors: FloatArray, centre: FloatArray | None) -> FloatArray:
        sums = np.zeros(self.shape[1])
        for block in self._blocks():
            for rows, columns, values in in_pieces(block):
                centred = values if centre is None else values - centre[columns]
                sums[columns] += products(factors[None, rows], centred)[0]
        return sums

    def _squares(self, factors: FloatArray, centre: FloatArray | None) -> FloatArray:
        squares = np.zeros(self.shape[1])
        for block in self._blocks():
            for rows, columns, values in in_pieces(block):
                centred = values if centre is None else values - centre[columns]
                squares[columns] += products(factors[None, rows], np.square(centred))[0]
        return squares

    def _blocks(self) -> Iterator[Block]:
        """One read of the whole matrix."""
        self.passes += 1
        return blocks(self._source, plan_of(self._source))

    # -- columns -----------------------------------------------------------------------------------------

    def _gather(self, indices: IndexArray) -> FloatArray:
        """The raw columns as rows; those that are not kept come from one read."""
        wanted, places = np.unique(indices, return_inverse=True)
        rows = zeros(wanted.size, self.shape[0])
        here = self._kept.fill(wanted, rows)
        if not here.all():
            self._read_columns(wanted, np.flatnonzero(~here), rows)
        return rows if np.array_equal(wanted, indices) else rows[places]

    def _read_columns(self, wanted: IndexArray, missing: IndexArray, rows: FloatArray) -> None:
        """Read the columns in these places into their rows, and keep as many as there is room for."""
        self._count_columns(wanted[missing])
        most = self._most_kept
        kept = np.empty((min(missing.size, most), self.shape[0]), self.dtype)
        for samples, part, values in ahead(self._column_reads(wanted[missing])):
            rows[missing[part], samples] = values.T
            held = slice(part.start, min(part.stop, len(kept)))
            kept[held, samples] = values.T[: max(held.stop - held.start, 0)]
        self._kept.keep(wanted[missing[: len(kept)]], [column.copy() for column in kept], most)

    def _column_reads(self, wanted: IndexArray) -> Iterator[Callable[[], tuple[slice, slice, AnyArray]]]:
        """Calls that read these columns, in blocks that end where the storage has a border."""
        entries = block_entries(self._source)
        if self._source.by_columns:
            parts = list(_along_borders(wanted // self._source.grain[1], entries // self.shape[0]))
            widest = max(part.stop - part.start for part in parts)
            spans = list(self._source.spans(0, max(entries // widest, 1))) if self._is_tall else None
        else:
            parts, spans = [slice(0, wanted.size)], list(plan_of(self._source).rows)
        for part in parts:
            for rows in spans or [slice(0, self.shape[0])]:
                yield partial(self._read_part, rows, part, wanted[part])

    def _read_part(self, rows: slice, part: slice, columns: IndexArray) -> tuple[slice, slice, AnyArray]:
        return rows, part, self._source.read(rows, columns)

    @property
    def _is_tall(self) -> bool:
        """Whether not even a few whole columns are read at once."""
        return not plan_of(self._source).has_whole_columns

    @property
    def _most_kept(self) -> int:
        return allowed(self.nbytes) // KEPT_PART // (self.shape[0] * self.dtype.itemsize)

    def _count_columns(self, wanted: IndexArray) -> None:
        """Where columns cannot be read alone, all of the matrix is."""
        grain = self._source.grain[1]
        read = np.unique(wanted // grain).size * grain
        if not self._source.by_columns or read >= MOST_OF_IT * self.shape[1]:
            self.passes += 1

    def exact_correlations(self, indices: IndexArray, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
        """As ever, after a read for as many columns as can be kept."""
        sums, left = np.empty(indices.size), np.empty(indices.size)
        for part in pieces(indices.size, self._most_kept):
            self._fetch(indices[part])
            sums[part], left[part] = super().exact_correlations(indices[part], alpha)
        return sums, left

    def same_columns(self, first: IndexArray, second: IndexArray) -> BoolArray:
        """As ever, after a read for as many columns as can be kept."""
        same = np.zeros(first.size, dtype=np.bool_)
        for part in slices(first.size, self._most_kept // 2):
            self._fetch(np.concatenate((first[part], second[part])))
            same[part] = super().same_columns(first[part], second[part])
        return same

    def _fetch(self, indices: IndexArray) -> None:
        """Have these columns at hand."""
        self._gather(np.unique(indices))

    # -- the proof ---------------------------------------------------------------------------------------

    def _canonical_parts(self) -> Iterator[AnyArray]:
        """Float64 entries row by row, without negative zeros.

        A matrix stored by columns is read once for as many of its rows as there is room for. Only where columns are
        long, so many rows of them can be read without the others.
        """
        for rows in self._rows_in_order():
            for piece in pieces(len(rows), CHUNK_ENTRIES // self.shape[1]):
                yield np.ascontiguousarray(rows[piece], dtype=np.float64) + 0.0

    def _rows_in_order(self) -> Iterator[AnyArray]:
        """Whole rows, as many at a time as there is room for."""
        source, (samples, features) = self._source, self.shape
        room = max(allowed(self.nbytes) // ROWS_PART // (features * self.dtype.itemsize), 1)
        short = room < source.grain[0] or room * self.dtype.itemsize < LONG_RUN
        if source.by_columns and short and room < samples:
            return (self._rows(rows) for rows in slices(samples, room))
        self.passes += 1
        everything = slice(0, features)
        return ahead(partial(source.read, rows, everything) for rows in source.spans(0, max(room // 2, 1)))

    def _rows(self, rows: slice) -> AnyArray:
        """These rows, by a read of the whole matrix."""
        values = np.empty((rows.stop - rows.start, self.shape[1]), self.dtype)
        for block in self._blocks():
            first, last = max(rows.start, block.rows.start), min(rows.stop, block.rows.stop)
            if first < last:
                inside = slice(first - block.rows.start, last - block.rows.start)
                values[first - rows.start : last - rows.start, block.columns] = block.values[inside]
        return values


def _along_borders(groups: IndexArray, most: int) -> Iterator[slice]:
    """Pieces of a sorted sequence with about so many entries, or one group, that divide no group."""
    ends = np.append(np.flatnonzero(np.diff(groups)) + 1, groups.size)
    start, before = 0, 0
    for end in ends.tolist():
        if before > start and end - start > most:
            yield slice(start, before)
            start = before
        before = end
    yield slice(start, groups.size)
