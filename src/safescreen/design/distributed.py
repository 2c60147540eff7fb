"""A dense matrix in chunks, on a cluster: a `dask.array`, chunked by rows, by columns or by both.

The chunks stay where they are. Every question becomes one small reduction, chunk by chunk: vectors over the rows go
out, sums per column come back, and a few columns are gathered when somebody asks for them. Whoever is responsible for
Dask at the moment computes: the current client of `dask.distributed`, or one of Dask's own schedulers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from time import sleep
from typing import Any, NamedTuple

import numpy as np

from safescreen.arrays import AnyArray, BoolArray, FloatArray, IndexArray
from safescreen.design.base import Design
from safescreen.design.elsewhere import check_extremes, entry_type
from safescreen.design.kept import KeptColumns
from safescreen.design.memory import CHUNK_ENTRIES, SAFE_SQUARES, pieces, slices, zeros
from safescreen.expiry import aside
from safescreen.rounding import NORM_SLACK, UNIT
from safescreen.working_memory import allowed

ADDED_AT_A_TIME = 16
"""Partial sums that meet in one task: with more rows of chunks the sums are added in several steps."""

GATHERED_BYTES = 1 << 26
"""Raw columns, or rows to be hashed, that travel in one go."""

KEPT_PART = 16
"""One such part of the working memory holds columns that were gathered lately."""

PAUSES = (0.1, 0.3, 1.0, 3.0)
"""Seconds before a question that got lost is asked again: so many times at most."""

LOSSES = ("KilledWorker", "CommClosedError", "FutureCancelledError", "CancelledError")
"""How Dask says so, by name: not all of its schedulers know these errors."""

MODEST_MEAN = 8.0
"""Means up to so many deviations are subtracted after the product: one pass without copies, and accurate enough."""


class _Facts(NamedTuple):
    """What turns raw sums over some columns into correlations, and bounds their error."""

    means: FloatArray
    scales: FloatArray
    constant: BoolArray
    error: FloatArray
    norms: FloatArray

    def of(self, columns: slice) -> _Facts:
        """The same for some of them."""
        return _Facts(
            self.means[columns],
            self.scales[columns],
            self.constant[columns],
            self.error[columns],
            self.norms[columns],
        )


class _Near(NamedTuple):
    """Sums of squares of all columns about a centre near their means."""

    centre: FloatArray
    left: FloatArray  # the weighted mean of what is left after subtracting it
    weighted: FloatArray
    plain: FloatArray


class DistributedDesign(Design):
    """A `dask.array` of any real dtype, whose shape is known and whose chunks are NumPy arrays.

    One pass over the matrix is made at once, since it shows whether all entries are finite: raw norms, and the means.
    """

    def __init__(self, X: Any, weights: FloatArray, standardize: bool = False) -> None:
        super().__init__((int(X.shape[0]), int(X.shape[1])), weights, standardize)
        self._X = X
        self._chunks = X.to_delayed()
        self._rows, self._columns = (_intervals(lengths) for lengths in X.chunks)
        self._kept = KeptColumns()
        counted = np.stack((np.ones(weights.size), np.where(weights > 0.0, 1.0, 0.0)))
        answer = self._pass(weights[None], counted, None)
        self._first_means, self._raw_squares, self._counted_squares = answer
        self._check_finite()

    @property
    def matrix(self) -> Any:
        """The raw matrix, brought here, in float64."""
        self._check_room_for_copy()
        return np.asarray(aside(self._X.compute), dtype=np.float64)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type in which the raw matrix is held."""
        return entry_type(self._X)

    @property
    def nbytes(self) -> int:
        """Memory that the raw matrix takes here: none."""
        return 0

    def correlations_of(self, alphas: FloatArray) -> FloatArray:
        """All of ``Aᵀα`` for several dual points in one pass."""
        sums = self._pass(alphas, _no_factors(self.shape[0]), self._centre)
        return _correlations(sums, alphas.sum(axis=1), self._facts, self._centre is None)

    def strongest(self, alphas: FloatArray, drifts: FloatArray, count: int) -> tuple[IndexArray, FloatArray]:
        """As `Design.strongest`; each column of chunks names its own, and only these come here."""
        from dask import delayed

        lengths = np.linalg.norm(alphas, axis=1) * (1.0 + 1e-9)
        points = _Points(alphas.sum(axis=1), lengths, np.asarray(drifts, np.float64), self._centre is None)
        name = delayed(_strongest_of, pure=False)
        sums = self._sums_by_column(alphas, _no_factors(self.shape[0]), self._centre)
        facts = self._facts
        parts = self._computed(
            [name(part, points, facts.of(columns), count) for part, columns in zip(sums, self._columns, strict=True)]
        )
        indices = np.concatenate(
            [chosen + columns.start for (chosen, _), columns in zip(parts, self._columns, strict=True)], axis=1
        )
        widened = np.concatenate([sizes for _, sizes in parts], axis=1)
        order = np.argsort(-widened, axis=1, kind="stable")[:, :count]
        return np.take_along_axis(indices, order, axis=1), np.take_along_axis(widened, order, axis=1)

    def _canonical_parts(self) -> Iterator[AnyArray]:
        """Float64 entries row by row, without negative zeros; rows come here in pieces of bounded size."""
        from dask import delayed

        cut = delayed(_some_rows, pure=False)
        step = GATHERED_BYTES // (8 * self.shape[1])
        for rows, chunks in zip(self._rows, self._chunks, strict=True):
            for piece in slices(rows.stop - rows.start, step):
                parts = self._computed([cut(chunk, piece) for chunk in chunks])
                yield np.concatenate([part.astype(np.float64) for part in parts], axis=1) + 0.0

    def _gather(self, indices: IndexArray) -> FloatArray:
        rows = zeros(indices.size, self.shape[0])
        wanted = np.flatnonzero(~self._kept.fill(indices, rows))
        for piece in pieces(wanted.size, GATHERED_BYTES // (self.dtype.itemsize * self.shape[0])):
            self._fetch(indices, wanted[piece], rows)
        return rows

    def _fetch(self, indices: IndexArray, places: IndexArray, rows: FloatArray) -> None:
        """Bring the columns in these places here, and keep them while there is room."""
        from dask import delayed

        take = delayed(_some_columns, pure=False)
        targets, parts = [], []
        for number, columns in enumerate(self._columns):
            inside = places[(indices[places] >= columns.start) & (indices[places] < columns.stop)]
            if inside.size:
                local = indices[inside] - columns.start
                parts += [take(chunk, local) for chunk in self._chunks[:, number]]
                targets += [(inside, samples) for samples in self._rows]
        for (inside, samples), part in zip(targets, self._computed(parts), strict=True):
            rows[inside, samples] = part
        most = allowed(self.nbytes) // KEPT_PART // (8 * self.shape[0])
        if places.size <= most:
            self._kept.keep(indices[places], [row.copy() for row in rows[places]], most)

    def _sums(self, factors: FloatArray, centre: FloatArray | None) -> FloatArray:
        late = centre is not None and "_moments" in vars(self) and self._centred_late
        sums = self._pass(factors[None], _no_factors(factors.size), None if late else centre)[0]
        return np.asarray(sums - centre * factors.sum()) if centre is not None and late else sums

    def _squares(self, factors: FloatArray, centre: FloatArray | None) -> FloatArray:
        found: FloatArray = self._pass(_no_factors(factors.size), factors[None], centre)[0]
        return found

    def _means_and_variances(self) -> tuple[FloatArray, FloatArray]:
        """Weighted means, and the squares about them: ``Σ w (x - c)² = Σ w (x - c₀)² - (c - c₀)²``."""
        near = self._near
        return near.centre + near.left, np.maximum(near.weighted - np.square(near.left), 0.0)

    @cached_property
    def _near(self) -> _Near:
        """Squares about the first means; the same pass gives the mean of what is left after subtracting them."""
        squares = np.stack((self._weights, np.ones(self.shape[0])))
        return _Near(self._first_means, *self._pass(self._weights[None], squares, self._first_means))

    def _norm_bounds(self, centre: FloatArray | None) -> FloatArray:
        """By ``‖x - c‖ ≤ ‖x - c₀‖ + √m |c - c₀|``, from sums that are known: no pass of its own."""
        samples = self.shape[0]
        if centre is None:
            return np.asarray(np.sqrt(self._raw_squares + samples * 1e-307) * NORM_SLACK)
        near = self._near
        shift = np.sqrt(samples) * np.abs(centre - near.centre)
        return np.asarray((np.sqrt(near.plain + samples * 1e-307) + shift) * NORM_SLACK)

    @property
    def _centre(self) -> FloatArray | None:
        """What is subtracted from the entries before the product: nothing, unless some mean dwarfs its scale."""
        return None if not self.standardize or self._centred_late else self.means

    @cached_property
    def _centred_late(self) -> bool:
        return bool(np.all((np.abs(self.means) <= MODEST_MEAN * self.scales) | self.constant))

    def _correlation_error(self) -> FloatArray:
        """Chunk by chunk or not, a term meets at most as many roundings as there are samples, and a few more."""
        samples = self.shape[0]
        error = (samples + 6) * UNIT * self._norms
        if self.standardize and self._centred_late:  # ‖X^j‖ ≤ scale ‖A^j‖ + √m |mean|, and the correction's own error
            error += 2.0 * (samples + 8) * UNIT * np.sqrt(samples) * np.abs(self.means) / self.scales * NORM_SLACK
        return error

    def _zero_candidates(self) -> IndexArray:
        return np.flatnonzero(self._counted_squares < SAFE_SQUARES[0])

    @cached_property
    def _facts(self) -> _Facts:
        return _Facts(self.means, self.scales, self.constant, self.error, self.norms)

    def _check_finite(self) -> None:
        """A sum of squares is finite only if all its terms are; which of them are not takes a second look."""
        if np.isfinite(self._raw_squares).all():
            return
        from dask import delayed

        look = delayed(_extremes, pure=False)
        found = self._computed([look(chunk) for chunk in self._chunks.ravel()])
        check_extremes(any(has_nan for has_nan, _ in found), max(largest for _, largest in found))

    def _computed(self, tasks: list[Any]) -> list[Any]:
        """The results of tasks, which are left to themselves when time is up, and tried again when workers are lost."""
        import dask

        for pause in PAUSES:
            try:
                return list(aside(lambda: dask.compute(*tasks)))
            except Exception as error:
                if type(error).__name__ not in LOSSES:
                    raise
            self._revive()
            sleep(pause)  # until the scheduler has forgotten that these failed
        return list(aside(lambda: dask.compute(*tasks)))

    def _revive(self) -> None:
        """Let chunks that the caller keeps on a cluster be computed again, if they failed with their worker."""
        import distributed

        lost = [future for future in distributed.futures_of(self._X) if future.status == "error"]
        if lost:
            lost[0].client.retry(lost)

    def _pass(self, sums: FloatArray, squares: FloatArray, centre: FloatArray | None) -> FloatArray:
        """For all columns ``Σ f (x - centre)`` per row ``f`` of ``sums``, then ``Σ f (x - centre)²`` of ``squares``."""
        return np.concatenate(self._computed(self._sums_by_column(sums, squares, centre)), axis=1)

    def _sums_by_column(self, sums: FloatArray, squares: FloatArray, centre: FloatArray | None) -> list[Any]:
        """These sums as a task for each column of chunks, which adds those of its chunks in their order."""
        from dask import delayed

        self.passes += 1
        partial, added = delayed(_partial_sums, pure=False), delayed(_added, pure=False)
        factors = [delayed((sums[:, rows], squares[:, rows]), pure=False, traverse=False) for rows in self._rows]
        totals = []
        for number, columns in enumerate(self._columns):
            middle = None if centre is None else delayed(centre[columns], pure=False)
            chunks = self._chunks[:, number]
            parts = [partial(chunk, part, middle) for chunk, part in zip(chunks, factors, strict=True)]
            while len(parts) > 1:
                parts = [added(parts[some]) for some in slices(len(parts), ADDED_AT_A_TIME)]
            totals += parts
        return totals


class _Points(NamedTuple):
    """What else is to be known of dual points: sums, lengths, drifts, and whether columns are centred afterwards."""

    totals: FloatArray
    lengths: FloatArray
    drifts: FloatArray
    centred_late: bool


def _intervals(lengths: tuple[int, ...]) -> list[slice]:
    """Chunks of these lengths as slices."""
    ends = np.cumsum(lengths).tolist()
    return [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]


def _no_factors(samples: int) -> FloatArray:
    return np.empty((0, samples))


def _read(chunk: Any) -> Iterator[tuple[slice, slice, FloatArray]]:
    """A chunk in pieces along its memory, as float64: never a whole copy."""
    chunk = _checked(chunk)
    rows, columns = chunk.shape
    if abs(chunk.strides[0]) < abs(chunk.strides[1]):
        for piece in slices(columns, CHUNK_ENTRIES // max(rows, 1)):
            yield slice(0, rows), piece, chunk[:, piece].astype(np.float64, copy=False)
    else:
        for piece in slices(rows, CHUNK_ENTRIES // max(columns, 1)):
            yield piece, slice(0, columns), chunk[piece].astype(np.float64, copy=False)


def _checked(chunk: Any) -> AnyArray:
    if not isinstance(chunk, np.ndarray) or np.ma.is_masked(chunk):
        raise TypeError(
            f"X has chunks of type {type(chunk).__name__}, but NumPy arrays without masked entries are needed: "
            "convert them with X.map_blocks."
        )
    return np.asarray(chunk)  # also one that could have masked entries, and has none


def _partial_sums(chunk: Any, factors: tuple[FloatArray, FloatArray], centre: FloatArray | None) -> FloatArray:
    """What one chunk adds to the sums over its columns."""
    sums, squares = factors
    found = np.zeros((len(sums) + len(squares), chunk.shape[1]))
    for rows, columns, piece in _read(chunk):
        centred = piece if centre is None else piece - centre[columns]
        with np.errstate(over="ignore", invalid="ignore"):
            found[: len(sums), columns] += sums[:, rows] @ centred
            if len(squares):
                found[len(sums) :, columns] += squares[:, rows] @ np.square(centred)
    return found


def _added(parts: list[FloatArray]) -> FloatArray:
    """Their sum, in the order of the chunks."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def _correlations(sums: FloatArray, totals: FloatArray, facts: _Facts, centred_late: bool) -> FloatArray:
    """Raw sums, the rows for one dual point each, as correlations with standardised columns."""
    found = (sums - totals[:, None] * facts.means if centred_late else sums) / facts.scales
    found[:, facts.constant] = 0.0
    return found


def _strongest_of(sums: FloatArray, points: _Points, facts: _Facts, count: int) -> tuple[IndexArray, FloatArray]:
    """The strongest of some columns for each dual point, by their positions, and how strong they may be."""
    sizes = np.abs(_correlations(sums, points.totals, facts, points.centred_late))
    with np.errstate(invalid="ignore"):  # an infinite norm times no drift
        sizes += points.lengths[:, None] * (facts.error + points.drifts[:, None] * facts.norms)
    sizes[np.isnan(sizes)] = np.inf  # nothing smaller is known
    count = min(count, sizes.shape[1])
    if count == 0:
        return np.empty((len(sizes), 0), np.int64), np.empty((len(sizes), 0))
    top = np.sort(np.argpartition(-sizes, count - 1, axis=1)[:, :count], axis=1)
    return top, np.take_along_axis(sizes, top, axis=1)


def _some_columns(chunk: Any, indices: IndexArray) -> AnyArray:
    """These columns of a chunk as rows."""
    return np.ascontiguousarray(_checked(chunk)[:, indices].T)


def _some_rows(chunk: Any, rows: slice) -> AnyArray:
    """These rows of a chunk, and no more of it."""
    return np.ascontiguousarray(_checked(chunk)[rows])


def _extremes(chunk: Any) -> tuple[bool, float]:
    """Whether a chunk has missing entries, and the largest size of the others."""
    has_nan, largest = False, 0.0
    for _, _, piece in _read(chunk):
        missing = np.isnan(piece)
        has_nan = has_nan or bool(missing.any())
        largest = max(largest, float(np.abs(np.where(missing, 0.0, piece)).max(initial=0.0)))
    return has_nan, largest
