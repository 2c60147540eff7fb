"""What is asked for when the user does not say."""

from __future__ import annotations

import pytest

from safescreen.defaults import (
    AUTO_RIDGE,
    BUDGET,
    GAMMA,
    GAMMAS,
    REFIT_GAMMA,
    REFIT_GAMMAS,
    REFIT_PER_SAMPLE,
    SIZES,
    default_budget,
    default_refits,
    default_sizes,
)


def test_grids_ascend_and_hold_what_one_fit_uses():
    for grid in (SIZES, GAMMAS, REFIT_GAMMAS):
        assert list(grid) == sorted(set(grid))
    assert BUDGET in SIZES
    assert GAMMA in GAMMAS
    assert REFIT_GAMMA == "auto"
    assert AUTO_RIDGE in REFIT_GAMMAS


@pytest.mark.parametrize(
    ("required", "features", "budget"), [(0, 1000, BUDGET), (0, 3, 3), (BUDGET + 5, 1000, BUDGET + 5), (2, 2, 2)]
)
def test_budget(required, features, budget):
    assert default_budget(required, features) == budget


@pytest.mark.parametrize(
    ("required", "features", "sizes"),
    [
        (0, 1000, list(SIZES)),
        (1, 1000, list(SIZES)),
        (0, 1, [1]),
        (0, 7, [size for size in SIZES if size < 7] + [7]),
        (7, 1000, [7] + [size for size in SIZES if size > 7]),
        (SIZES[-1] + 3, 1000, [SIZES[-1] + 3]),
        (4, 4, [4]),
    ],
)
def test_sizes(required, features, sizes):
    assert default_sizes(required, features) == sizes


@pytest.mark.parametrize("samples", [2, 50, 500, 10**6])
def test_refits(samples):
    word, *ridges = default_refits(samples)
    assert word == "same"
    assert ridges == [gamma for gamma in REFIT_GAMMAS if gamma <= REFIT_PER_SAMPLE * samples] or ridges == [
        REFIT_GAMMAS[0]
    ]
    assert ridges
