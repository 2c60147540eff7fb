"""Models that a search has listed, as a few arrays: there may be a million of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from safescreen.arrays import BoolArray, FloatArray, IndexArray
from safescreen.kernels.listing import Listing

_LARGE_PRIME = 2_147_483_647


@dataclass(frozen=True)
class FoundModels:
    """Supports with their coefficients for the (standardised) matrix, one after the other in flat arrays."""

    objective: FloatArray
    bound: FloatArray  # no coefficients make the support better than this
    intercept: FloatArray
    spare: BoolArray  # whether a feature can be left out without leaving the set, where that matters
    size: IndexArray
    feature: IndexArray  # those of a model are sorted
    value: FloatArray

    @classmethod
    def none(cls) -> FoundModels:
        """No models."""
        floats, indices = np.empty(0), np.empty(0, np.int64)
        return cls(floats, floats, floats, np.empty(0, np.bool_), indices, indices, floats)

    @classmethod
    def of(cls, listing: Listing, columns: IndexArray) -> FoundModels:
        """What is listed now; its features are positions in ``columns``."""
        models, entries = int(listing.counts["models"][0]), int(listing.counts["entries"][0])
        size = listing.size[:models].astype(np.int64)
        feature, value = columns[listing.feature[:entries]], listing.value[:entries]
        order = np.lexsort((feature, np.repeat(np.arange(models), size)))
        return cls(
            listing.objective[:models].copy(),
            listing.bound[:models].copy(),
            listing.intercept[:models].copy(),
            listing.spare[:models].copy(),
            size,
            feature[order],
            value[order],
        )

    @classmethod
    def joined(cls, parts: list[FoundModels]) -> FoundModels:
        """All models of several lists, in this order."""
        names = cls.__dataclass_fields__
        return (
            cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names)) if parts else cls.none()
        )

    def __len__(self) -> int:
        return int(self.objective.size)

    @property
    def ends(self) -> IndexArray:
        """Where the entries of each model end."""
        return np.cumsum(self.size)

    def chosen(self, which: Any) -> FoundModels:
        """These models, by a mask or by their positions, in this order."""
        which = np.flatnonzero(which) if np.asarray(which).dtype == np.bool_ else np.asarray(which, np.int64)
        size = self.size[which]
        shift = (self.ends - self.size)[which] - (np.cumsum(size) - size)
        entries = np.arange(int(size.sum())) + np.repeat(shift, size)
        return FoundModels(
            self.objective[which],
            self.bound[which],
            self.intercept[which],
            self.spare[which],
            size,
            self.feature[entries],
            self.value[entries],
        )

    def supports(self) -> list[IndexArray]:
        """The features of each model."""
        ends = self.ends.tolist()
        return [self.feature[end - size : end] for end, size in zip(ends, self.size.tolist(), strict=True)]

    def among(self, others: FoundModels) -> BoolArray:
        """Which of these models are also among the others."""
        known = {support.tobytes() for support in others.supports()}
        return np.array([support.tobytes() in known for support in self.supports()], np.bool_)

    def contain(self, parts: FoundModels) -> BoolArray:
        """Which of these models have one of the others as a part, or are one."""
        known = {support.tobytes() for support in parts.supports()}
        sizes = np.unique(parts.size).tolist()
        supports = self.supports()
        if sum(math.comb(int(self.size.max(initial=0)), size) for size in sizes) > len(parts):
            sets = [set(support.tolist()) for support in parts.supports()]
            return np.array([any(one <= set(support.tolist()) for one in sets) for support in supports], np.bool_)
        return np.array([_has_part(support, sizes, known) for support in supports], np.bool_)

    def best_first(self) -> FoundModels:
        """Sorted by objective; equal ones by a number made of their features, so that the search does not show."""
        codes = (self.feature + 1) * 1_640_531_527 % _LARGE_PRIME
        sums = np.concatenate([[0], np.cumsum(codes)])
        keys = sums[self.ends] - sums[self.ends - self.size]
        return self.chosen(np.lexsort((keys, self.objective)))

    def __iter__(self) -> Iterator[tuple[IndexArray, FloatArray, float]]:
        """Features, coefficients and intercept of each model."""
        ends = self.ends.tolist()
        for end, size, intercept in zip(ends, self.size.tolist(), self.intercept.tolist(), strict=True):
            yield self.feature[end - size : end], self.value[end - size : end], intercept


def _has_part(support: IndexArray, sizes: list[int], known: set[bytes]) -> bool:
    """Whether some features of a support, so many as these, are among the known supports."""
    for size in sizes:
        for part in combinations(support, size):
            if np.array(part, np.int64).tobytes() in known:
                return True
    return False
