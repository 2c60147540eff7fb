"""Data sets: fixed recipes and clear errors."""

from __future__ import annotations

import os

import numpy as np
import pytest

import safescreen as ss
from safescreen.datasets import load_breast_cancer_interactions, load_local, make_sparse_logistic


def test_synthetic_follows_the_recipe():
    A, y, x_true = make_sparse_logistic(60, 20, 4, 2.0, random_state=7)
    rng = np.random.default_rng(7)
    expected = rng.standard_normal((60, 20))
    np.testing.assert_array_equal(A, expected)
    assert A.flags.c_contiguous
    assert np.flatnonzero(x_true).tolist() == np.linspace(0, 19, 4).astype(int).tolist()
    probability = 1.0 / (1.0 + np.exp(-2.0 * (expected @ x_true)))
    np.testing.assert_array_equal(y, np.where(rng.random(60) < probability, 1.0, -1.0))


def test_synthetic_correlation():
    A, _, _ = make_sparse_logistic(20_000, 5, 2, 1.0, rho=-0.6, random_state=0)
    distance = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    np.testing.assert_allclose(np.corrcoef(A.T), (-0.6) ** distance, atol=0.03)


def test_synthetic_strong_signal_does_not_overflow():
    with np.errstate(all="raise", under="ignore"):
        _, y, _ = make_sparse_logistic(50, 10, 5, 1e6, random_state=0)
    assert set(y) == {-1.0, 1.0}


@pytest.mark.parametrize(
    ("arguments", "message"), [((9, 5, 6, 1.0), "n_informative is 6"), ((9, 5, 2, 1.0, 1.0), "rho is")]
)
def test_synthetic_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_sparse_logistic(*arguments)


def test_breast_cancer_interactions():
    X, y, names = load_breast_cancer_interactions()
    assert X.shape == (569, 495)
    assert len(set(names)) == 495
    assert names[0] == "mean radius"
    assert set(y.tolist()) == {0, 1}
    column = {name: X[:, j] for j, name in enumerate(names)}
    np.testing.assert_array_equal(column["mean radius²"], column["mean radius"] ** 2)
    np.testing.assert_array_equal(column["mean radius × mean texture"], column["mean radius"] * column["mean texture"])


def test_local_folder_missing(monkeypatch, tmp_path):
    monkeypatch.delenv("SAFESCREEN_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="SAFESCREEN_DATA is not set"):
        load_local("arcene")
    monkeypatch.setenv("SAFESCREEN_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"without arcene\.npz"):
        load_local("arcene")


def test_local_archives(monkeypatch, tmp_path):
    monkeypatch.setenv("SAFESCREEN_DATA", str(tmp_path))
    y = np.array([-1, 1], dtype=np.int8)
    np.savez(tmp_path / "dense.npz", X=np.eye(2, dtype=np.float32), y=y)
    np.savez(tmp_path / "thin.npz", data=[1, 2], indices=[0, 1], indptr=[0, 1, 2], shape=[2, 2], y=y)
    X, labels = load_local("dense")
    assert X.dtype == np.float32
    np.testing.assert_array_equal(labels, y)
    X, _ = load_local("thin")
    assert X.dtype == np.float64
    np.testing.assert_array_equal(X.toarray(), np.diag([1.0, 2.0]))


@pytest.mark.skipif("SAFESCREEN_DATA" not in os.environ, reason="needs the folder SAFESCREEN_DATA")
def test_newsgroups_stays_small():
    X, y = load_local("newsgroups_tfidf")
    assert X.shape == (1977, 28467)
    design = ss.Problem(X, y, k=10, standardize=True, fit_intercept=False).design
    assert not design.constant.any()
    assert np.abs(design.correlations(np.ones(1977))).max() <= design.error.max() * np.sqrt(1977)
