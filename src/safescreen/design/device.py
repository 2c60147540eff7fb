"""A dense matrix on a device: a CuPy array or a tensor of torch, read where it is.

Passes, norms and the choice of the strongest columns happen on the device. What comes to the host are vectors with one
number per feature, and the few columns a solve works with. The matrix is never copied, and only a block of it is ever
held in another type than its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from safescreen.arrays import AnyArray, FloatArray, IndexArray
from safescreen.design.base import Design, Moments
from safescreen.design.device_arrays import largest, lies_on_host, plain, to_device, to_host
from safescreen.design.device_kernels import make_reader
from safescreen.design.device_reader import Sums
from safescreen.design.elsewhere import check_extremes, entry_type
from safescreen.design.memory import SAFE_SQUARES, pieces, slices, zeros
from safescreen.rounding import NORM_SLACK, UNIT

POINTS = 16
"""Dual points that one read serves: the sums of more would not fit into the registers of a device."""

CARRIED_ENTRIES = 1 << 23
"""Entries that come to the host at a time."""


class _PerFeature(NamedTuple):
    """What answers are made of, one float64 per feature, on the device."""

    means: Any
    scales: Any
    norms: Any
    error: Any
    constant: Any  # or one truth value


class DeviceDesign(Design):
    """A dense array of any real dtype and memory layout in a library of the array API, read on its device.

    Every entry is widened to float64 exactly, and everything is added up in float64. The first read, which a
    standardised matrix needs anyway, also shows whether all entries are finite, so it is made at once.
    """

    def __init__(self, X: Any, weights: FloatArray, standardize: bool = False) -> None:
        super().__init__((int(X.shape[0]), int(X.shape[1])), weights, standardize)
        self._X = plain(X)
        self._reader = make_reader(self._X)
        self._xp = self._reader.xp
        self._factors = self._to_device(weights)
        self._raw_sums = self._read_sums(None)
        if not bool(self._xp.all(self._xp.isfinite(self._raw_sums.squares))):
            check_extremes(*self._reader.extremes())

    @property
    def matrix(self) -> FloatArray:
        """The raw matrix, dense, in float64, on the host, where the checker of proofs runs."""
        if not lies_on_host(self._X):
            self._check_room_for_copy()
        copied = np.empty(self.shape)
        for rows in self._rows_to_carry():
            copied[rows] = to_host(self._X[rows, :])
        return copied

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type in which the raw matrix is held."""
        return entry_type(self._X)

    @property
    def nbytes(self) -> int:
        """What the raw matrix takes of the machine's own memory, by which working memory is measured."""
        return int(self._X.nbytes) if lies_on_host(self._X) else 0

    def correlations(self, alpha: FloatArray) -> FloatArray:
        """All of ``Aᵀα`` in one full pass over the matrix, accumulated in float64."""
        return np.asarray(self.correlations_of(alpha[None, :])[0])

    def correlations_of(self, alphas: FloatArray) -> FloatArray:
        """``Aᵀα`` for each row of ``alphas``; one pass serves up to 16 of them."""
        answers = [to_host(answer) for _, answer in self._answers(alphas)]
        return answers[0] if len(answers) == 1 else np.concatenate(answers)

    def strongest(self, alphas: FloatArray, drifts: FloatArray, count: int) -> tuple[IndexArray, FloatArray]:
        """For each dual point the features with the largest correlations, widened by their errors, and these.

        A correlation is widened by ``‖α‖₂ (error + drift · norm)``, where ``drift`` is the relative distance to the
        dual point that is meant; the largest come first.
        """
        chosen, widened = np.empty((len(alphas), count), np.int64), np.empty((len(alphas), count))
        lengths = np.linalg.norm(alphas, axis=1) * (1.0 + 1e-9)
        held = self._per_feature
        for points, answers in self._answers(alphas):
            for point, answer in zip(range(*points.indices(len(alphas))), answers, strict=True):
                with np.errstate(invalid="ignore"):  # an infinite norm times no drift
                    slack = held.error + float(drifts[point]) * held.norms
                    sizes = self._xp.abs(answer) + float(lengths[point]) * slack
                known = self._xp.where(self._xp.isnan(sizes), np.inf, sizes)  # nothing smaller is known
                chosen[point], widened[point] = largest(known, count)
        return chosen, widened

    @cached_property
    def error(self) -> FloatArray:
        """Coefficients with ``|correlations(α)_j - (A^j)ᵀα| ≤ error_j ‖α‖₂`` in real arithmetic."""
        return to_host(self._per_feature.error)

    @cached_property
    def block_error(self) -> FloatArray:
        """The same for columns on the host, which have the same terms and roundings."""
        return self.error

    @cached_property
    def _norms(self) -> FloatArray:
        return to_host(self._per_feature.norms)

    def _answers(self, alphas: FloatArray) -> Iterator[tuple[slice, Any]]:
        """Correlations on the device, for as many points at a time as one read serves."""
        held = self._per_feature
        centre = held.means if self.standardize else None
        for points in slices(len(alphas), POINTS):
            self.passes += 1
            sums = self._reader.products(self._to_device(alphas[points]), centre)
            yield points, self._xp.where(held.constant, 0.0, sums / held.scales)

    def _standardized_moments(self) -> Moments:
        """Weighted means, corrected once, and population deviations: two reads, the first of which was made before.

        With ``d`` the correction of a mean, the variance about the new one is that about the old one less ``d²``.
        Doubtful columns are looked at on the host, as for any other matrix.
        """
        xp, centred = self._xp, self._centred_sums
        means = self._raw_sums.weighted + centred.weighted
        spread = centred.weighted_squares - centred.weighted * centred.weighted
        extreme = ~((spread > SAFE_SQUARES[0]) & (spread < SAFE_SQUARES[1]))
        scales = xp.sqrt(xp.where(spread > 0.0, spread, 0.0))
        noise = 4.0 * (self.shape[0] + 8) * UNIT * xp.abs(means)
        (doubtful,) = xp.nonzero(extreme | (scales <= noise))
        constant = np.zeros(self.shape[1], dtype=np.bool_)
        moments = Moments(to_host(means), to_host(scales), constant)
        return self._settled(moments, to_host(doubtful), to_host(xp.take(extreme, doubtful, axis=0)))

    @cached_property
    def _centred_sums(self) -> Sums:
        """The sums about the means of the first read."""
        return self._read_sums(self._raw_sums.weighted)

    @cached_property
    def _per_feature(self) -> _PerFeature:
        """Means, scales, upper bounds on norms, and errors, where the matrix is.

        A column is as far from its mean as from the centre of the read that squared it, plus the distance of the two.
        A correlation has a rounding for the difference to the mean, one for the product, one for the scale, and one
        for each of the ``m`` additions, in whatever order: less than ``(m + 6)`` of them in all.
        """
        xp, samples = self._xp, self.shape[0]
        means, scales = self._to_device(self.means), self._to_device(self.scales)
        constant = self._to_device(self.constant)
        squares = self._centred_sums.squares if self.standardize else self._raw_sums.squares
        norms = xp.sqrt(squares + samples * 1e-307)
        if self.standardize:
            norms = norms + np.sqrt(samples) * xp.abs(means - self._raw_sums.weighted)
        norms = norms * NORM_SLACK / scales
        error = xp.where(constant, 0.0, (samples + 6) * UNIT * norms)
        return _PerFeature(means, scales, norms, error, constant)

    def _read_sums(self, centre: Any | None) -> Sums:
        self.passes += 1
        with np.errstate(over="ignore", invalid="ignore"):  # NumPy alone would tell
            return self._reader.sums(self._factors, centre)

    def _to_device(self, values: AnyArray) -> Any:
        return to_device(values, self._X)

    def _rows_to_carry(self) -> Iterator[slice]:
        return pieces(self.shape[0], CARRIED_ENTRIES // self.shape[1])

    def _canonical_parts(self) -> Iterator[AnyArray]:
        """Float64 entries row by row, without negative zeros."""
        for rows in self._rows_to_carry():
            yield np.ascontiguousarray(to_host(self._X[rows, :]), dtype=np.float64) + 0.0

    def _gather(self, indices: IndexArray) -> FloatArray:
        rows = zeros(indices.size, self.shape[0])
        for part in pieces(indices.size, CARRIED_ENTRIES // self.shape[0]):
            rows[part] = to_host(self._xp.take(self._X.T, self._to_device(indices[part]), axis=0))
        return rows

    def _sums(self, factors: FloatArray, centre: FloatArray | None) -> FloatArray:
        self.passes += 1
        middle = None if centre is None else self._to_device(centre)
        return to_host(self._reader.products(self._to_device(factors[None, :]), middle)[0])

    def _squares(self, factors: FloatArray, centre: FloatArray | None) -> FloatArray:
        self.passes += 1
        middle = None if centre is None else self._to_device(centre)
        return to_host(self._reader.sums(self._to_device(factors), middle).weighted_squares)

    def _correlation_error(self) -> FloatArray:
        return self.error

    def _zero_candidates(self) -> IndexArray:
        (candidates,) = self._xp.nonzero(self._raw_sums.weighted_squares < SAFE_SQUARES[0])
        return to_host(candidates)
