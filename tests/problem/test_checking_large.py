"""Large matrices are checked piece by piece, and without waking the threads of BLAS for each."""

from __future__ import annotations

import numpy as np
import pytest

import safescreen as ss
from safescreen.design import dense
from safescreen.design.memory import CHUNK_ENTRIES
from safescreen.problem import validation


def no_threads(*args, **options):
    raise AssertionError("a pass over the matrix calls BLAS piece by piece")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_check_goes_in_pieces_of_its_own(dtype, order, monkeypatch):
    X = np.ones((3 * CHUNK_ENTRIES // 4, 3), dtype, order=order)
    assert max(piece.size for piece in validation._pieces(X)) <= CHUNK_ENTRIES
    for name in ("vdot", "dot", "inner"):
        monkeypatch.setattr(np, name, no_threads)
    validation.check_matrix(X)
    X[-1, -1] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        validation.check_matrix(X)


def test_long_columns_are_summed_one_by_one(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((CHUNK_ENTRIES, 3)) + 5.0)
    sums = []
    weighted = dense._weighted_sums
    monkeypatch.setattr(dense, "_weighted_sums", lambda f, block: sums.append(len(block)) or weighted(f, block))
    problem = ss.Problem(X, rng.integers(0, 2, CHUNK_ENTRIES), k=1)
    assert problem.design.means == pytest.approx(X.mean(axis=0), rel=1e-12)
    assert problem.design.scales == pytest.approx(X.std(axis=0), rel=1e-12)
    assert set(sums) == {CHUNK_ENTRIES}
