"""What a caller gives to the checker: other data than stated are refused, and so is a proof of another question."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from prover import prove
from safescreen.verification import verify
from safescreen.verification.__main__ import main
from safescreen.verification.given import check_parts
from safescreen.verification.reading import RefusedError
from safescreen.verification.recognition import Terms, recognise_columns

TERMS = {"k": 2, "mu": 0.01, "gamma": 10.0, "fit_intercept": True, "standardize": True, "include": [1], "exclude": [4]}


@pytest.fixture(scope="module")
def proof(tmp_path_factory):
    """A proof, and the data that it is about."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(-3, 4, (40, 6)).astype(float), rng.integers(0, 2, 40)
    path = tmp_path_factory.mktemp("proof") / "proof.npz"
    prove(path, X, y, node_limit=20, **TERMS)
    assert verify(path, X, y).valid
    return path, X, y


def masked(values):
    mask = np.zeros(np.shape(values), bool)
    mask.flat[0] = True
    return np.ma.array(values, mask=mask)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda X: X + 1j, ValueError, "Complex data not supported: X has dtype complex128"),
        (lambda X: X + 0j, ValueError, "Complex data not supported"),
        (lambda X: sparse.csr_array(X + 1j), ValueError, "Complex data not supported"),
        (masked, ValueError, "X is a masked array with masked entries"),
        (lambda X: X.astype(str), TypeError, "X has dtype <U32, but real numbers are needed"),
        (lambda X: X.astype(str).astype(object), TypeError, "X has dtype object"),
        (lambda X: X.astype(str).tolist(), TypeError, "real numbers are needed"),
        (lambda X: pd.DataFrame(X.astype(str)), TypeError, "real numbers are needed"),
        (lambda X: X.astype("S32"), TypeError, "real numbers are needed"),
        (lambda X: X.astype("M8[s]"), TypeError, "real numbers are needed"),
    ],
)
def test_matrices_that_are_not_real_numbers(proof, change, error, words):
    path, X, y = proof
    with pytest.raises(error, match=words):
        verify(path, change(X), y)


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X.astype(np.int8),
        lambda X: X.astype(object),
        lambda X: X.astype(np.longdouble),
        lambda X: np.ma.array(X),
        lambda X: pd.DataFrame(X).astype({0: object}),
    ],
)
def test_the_same_numbers_in_other_clothes(proof, change):
    path, X, y = proof
    assert verify(path, change(X), y).valid


@pytest.mark.parametrize(
    ("weights", "error"),
    [
        (lambda w: -w, ValueError),
        (lambda w: np.where(np.arange(w.size) == 3, -1.0, w), ValueError),
        (lambda w: 0.0 * w, ValueError),
        (lambda w: w * np.nan, ValueError),
        (lambda w: w * np.inf, ValueError),
        (lambda w: w + 0j, ValueError),
        (masked, ValueError),
        (lambda w: w[1:], ValueError),
        (lambda w: w.astype(str), TypeError),
    ],
)
def test_weights_that_are_none(proof, weights, error):
    path, X, y = proof
    with pytest.raises(error, match="sample_weight"):
        verify(path, X, y, weights(np.full(40, 0.5)))
    assert verify(path, X, y, np.full(40, 0.5)).valid


@pytest.mark.parametrize("labels", [lambda y: y + 0j, masked])
def test_labels_that_are_none(proof, labels):
    path, X, y = proof
    with pytest.raises(ValueError, match="y "):
        verify(path, X, labels(y))


def test_a_proof_of_what_was_asked(proof):
    path, X, y = proof
    assert verify(path, X, y, **TERMS).valid
    assert verify(path, X, y, k=np.int64(2), gamma=np.float32(10.0), fit_intercept=np.True_).valid
    frame = pd.DataFrame(X, columns=list("abcdef"))
    assert verify(path, frame, y, include="b", exclude=["e"]).valid


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("k", 3), ("mu", 0.0), ("gamma", 10.000000001), ("fit_intercept", False), ("standardize", False),
        ("include", ()), ("include", (1, 2)), ("exclude", ()), ("exclude", [5]),
    ],
)  # fmt: skip
def test_a_proof_of_another_question(proof, name, value):
    path, X, y = proof
    result = verify(path, X, y, **{name: value})
    assert not result.valid
    assert result.reason.startswith(f"The proof answers another question: it is about {name}={TERMS[name]!r}")
    assert math.isnan(result.lower_bound)
    assert result.claims["gamma"] == 10.0


def test_a_budget_of_everything_is_none(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 3)), rng.integers(0, 2, 20)
    prove(tmp_path / "proof.npz", X, y, k=3, mu=0.1, node_limit=20)
    assert verify(tmp_path / "proof.npz", X, y, k=100).valid
    assert not verify(tmp_path / "proof.npz", X, y, k=2).valid


@pytest.mark.parametrize(
    "said",
    [{"k": "2"}, {"k": 2.0}, {"k": True}, {"gamma": "10"}, {"mu": 1j}, {"fit_intercept": 1}, {"standardize": 0.0}],
)
def test_questions_that_are_none(proof, said):
    with pytest.raises(TypeError, match=next(iter(said))):
        verify(*proof, **said)


@pytest.mark.parametrize("features", ["a", ["a"], [1.0], [None], 0.5])
def test_features_that_are_none(proof, features):
    with pytest.raises(ValueError, match="include contains"):
        verify(*proof, include=features)


def test_questions_on_the_command_line(proof, tmp_path, capsys):
    path, X, y = proof
    np.savez(tmp_path / "data.npz", X=X, y=y)
    command = [str(path), str(tmp_path / "data.npz")]
    assert main([*command, "--k", "2", "--mu", "0.01", "--gamma", "10"]) == 0
    assert main([*command, "--k", "3"]) == 1
    assert "another question" in capsys.readouterr().out


@pytest.mark.parametrize("form", [np.asarray, sparse.csc_array])
@pytest.mark.parametrize("offset", [1e2, 1e6, 1e10, 1e13])
def test_a_forged_mean_far_from_zero(form, offset):
    """Rounding of sums of large numbers must not hide it: without an intercept, it would change the problem."""
    rng = np.random.default_rng(0)
    m = 500
    X, weights = offset + rng.standard_normal((m, 3)), np.full(m, 1.0 / m)
    means = X.mean(axis=0)
    means += (X - means).mean(axis=0)
    scales = np.sqrt(((X - means) ** 2).mean(axis=0))
    nothing = np.zeros(3, bool)
    terms = Terms(0.0, 3, 1.0, False, nothing, nothing, nothing)
    recognise_columns(form(X), means, scales, terms, weights, standardize=True)
    means[1] += max(0.02, 5 * np.spacing(offset))
    with pytest.raises(RefusedError, match="means and scales"):
        recognise_columns(form(X), means, scales, terms, weights, standardize=True)


FORMS = ["csc", "csr", "coo", "bsr", "lil", "dia", "dok"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [np.int32, np.uint32, np.uint8])
def test_sparse_matrices_of_every_form(form, kind):
    X = sparse.random_array((12, 8), density=0.3, rng=np.random.default_rng(0)).asformat(form)
    for name in {"indices", "indptr"} & {*vars(X)}:
        setattr(X, name, getattr(X, name).astype(kind))
    check_parts(X)


@pytest.mark.parametrize(
    ("form", "name", "change"),
    [
        ("lil", "rows", lambda rows: [[800], *rows[1:]]),
        ("lil", "rows", lambda rows: [[*row, 1] for row in rows]),
        ("lil", "rows", lambda rows: rows[:3]),
        ("lil", "rows", lambda rows: [[10**30] * len(row) for row in rows]),
        ("lil", "_shape", lambda _: (5, 8)),
        ("dia", "offsets", lambda offsets: offsets[:2]),
        ("dia", "data", lambda data: data.ravel()),
        ("bsr", "data", lambda data: data[:, :0]),
        ("coo", "coords", lambda coords: coords[:1]),
        ("coo", "data", lambda _: None),
        ("csr", "indptr", lambda indptr: indptr.tolist()),
        ("csr", "data", lambda data: np.ma.masked_less(data, 0.5)),
        ("csc", "indptr", lambda indptr: indptr[::-1]),
        ("csc", "indices", lambda indices: indices.astype(np.uint64) + 2**63),
    ],
)
def test_sparse_matrices_whose_parts_do_not_fit(form, name, change):
    """Were one of them let through, SciPy might end the process."""
    X = sparse.random_array((12, 8), density=0.5, rng=np.random.default_rng(0)).asformat(form)
    changed = change(getattr(X, name))
    setattr(X, name, changed if name != "rows" else np.fromiter(changed, dtype=object))
    with pytest.raises(ValueError, match="X is a damaged sparse matrix"):
        check_parts(X)
