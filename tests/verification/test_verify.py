"""The proof checker: honest proofs pass with a bound below the truth, tampered ones never prove too much."""

from __future__ import annotations

import hashlib
import math
import subprocess
import sys
import zipfile
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.special import expit

import safescreen as ss
from exact import exact_bound
from prover import load, prove, save
from safescreen.testing.hard_problems import hard_problem
from safescreen.testing.reference import brute_force
from safescreen.verification import arithmetic, checker, recognition, verify
from safescreen.verification.arithmetic import LN2, ROUNDOFF, log, log1p, logistic_loss, weighted_entropy
from safescreen.verification.dual_bounds import bound_nodes, evaluate_points
from safescreen.verification.given import as_doubles
from safescreen.verification.reading import NODE, TREE_ARRAYS, read_proof
from safescreen.verification.recognition import recognise_problem
from tampering import TAMPERINGS, check_neighbourhood, outcomes

ROUNDING = 1e-13  # of the reference


def never_too_much(result, truth):
    """What no verification may do, whatever the file: be valid and contradict the truth."""
    if result.valid:
        assert result.lower_bound <= truth + ROUNDING * abs(truth)
        assert result.objective >= truth - ROUNDING * abs(truth)
        assert result.lower_bound <= result.enclosure[1]


# -- honest proofs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", range(0, 300, 20))
def test_honest_proofs_hold(first, tmp_path):
    """Weights, intercept, standardisation, sparse storage, decided features, price and budget, all mixed."""
    for seed in range(first, first + 20):
        hard = hard_problem(seed)
        terms = dict(hard.kwargs)
        X, y = terms.pop("X"), terms.pop("y")
        options = {
            "screening": ("nodes", "root", "none")[seed % 3],
            "gap": (1e-6, 1e-3, 1e-9)[seed // 3 % 3],
            "node_limit": (200, 10, 40, 0)[seed % 4],
            "chunk": (1, 7, 50)[seed % 3],
        }
        made = prove(tmp_path / "proof.npz", X, y, seed=seed, **options, **terms)
        result = verify(tmp_path / "proof.npz", X, y)
        found = brute_force(hard.problem())
        truth = found.value
        assert result.valid, f"{hard.description}: {result.reason}"
        never_too_much(result, truth)
        _, arrays = load(tmp_path / "proof.npz")
        check_neighbourhood(result, {*arrays["support"].tolist(), *map(int, hard.problem().include)}, found.table)
        assert result.nodes == len(made.records)
        assert result.gap == pytest.approx((result.objective - result.lower_bound) / abs(result.objective))
        claims = result.claims
        assert result.enclosure[1] >= claims["lower_bound"] - 1e-9 * abs(claims["objective"])
        assert result.enclosure[0] == result.lower_bound <= result.enclosure[1]


# -- proofs without a fingerprint of the matrix ------------------------------------------------------------------------


def without_fingerprint(path, **changes):
    """The proof as it is written where there is no time to hash the matrix, and with these changes of its header."""
    header, arrays = load(path)
    header["fingerprint"]["matrix"] = None
    save(path.with_name("unhashed.npz"), header | changes, arrays)
    return path.with_name("unhashed.npz")


def test_a_matrix_that_was_not_hashed(proof):
    path, X, y, truth = proof
    known, unknown = verify(path, X, y), verify(without_fingerprint(path), X, y)
    assert known.identified
    assert not unknown.identified
    assert unknown.valid
    never_too_much(unknown, truth)
    assert unknown.fingerprint == known.fingerprint
    assert (unknown.objective, unknown.enclosure) == (known.objective, known.enclosure)
    assert "(of the data given: the proof has no fingerprint of its matrix)" in str(unknown)
    assert "no fingerprint" not in str(known)
    sparse_form = verify(without_fingerprint(path), sparse.csr_array(X), y)
    assert sparse_form.valid
    assert sparse_form.lower_bound == pytest.approx(known.lower_bound, rel=1e-9)


@pytest.mark.parametrize("matrix", ["", 0, False, [], {}, "null", "0" * 64])
def test_nothing_else_stands_for_a_matrix_that_was_not_hashed(proof, matrix):
    path, X, y, _ = proof
    prints = load(path)[0]["fingerprint"]
    changed = without_fingerprint(path, fingerprint={**prints, "matrix": matrix})
    assert verify(changed, X, y).reason == "The matrix is not the one of the proof."
    missing = without_fingerprint(path, fingerprint={name: prints[name] for name in ("labels", "weights")})
    assert verify(missing, X, y).reason == "The matrix is not the one of the proof."
    assert "matrix_form" in verify(without_fingerprint(path, matrix_form="any"), X, y).reason


def _swapped(X):
    X[:, [0, 1]] = X[:, [1, 0]]


def _set(place, value):
    def change(X):
        X[place] = value

    return change


OTHER_DATA = {
    "another row": (_set((5, slice(0, 6)), 0.1), "means and scales"),
    "columns swapped": (_swapped, "means and scales"),
    "an entry that is missing": (_set((0, 0), np.nan), "not finite"),
    "an entry that is infinite": (_set((0, 2), np.inf), "not finite"),
    "an entry that is too large": (_set((0, 2), 1e200), "not finite"),
    "a constant column that is none": (_set((0, 7), 3.0 + 1e-15), "constant"),
    "one more constant column": (_set((slice(None), 4), 2.0), "means and scales"),
    "one more column of zeros": (_set((slice(None), 4), 0.0), "means and scales"),
}


@pytest.mark.parametrize("kind", [np.asarray, sparse.csc_array])
@pytest.mark.parametrize("change", OTHER_DATA)
def test_other_data_are_told_without_a_fingerprint(proof, change, kind):
    path, X, y, _ = proof
    alter, reason = OTHER_DATA[change]
    other = X.copy()
    alter(other)
    result = verify(without_fingerprint(path), kind(other), y)
    assert not result.valid
    assert reason in result.reason


def test_all_else_is_checked_as_ever(proof):
    path, X, y, _ = proof
    unhashed = without_fingerprint(path)
    assert "shape" in verify(unhashed, X[:, :-1], y).reason
    assert "labels" in verify(unhashed, X, np.where(np.arange(40) == 7, -y, y)).reason
    assert "weights" in verify(unhashed, X, y, np.ones(40)).reason
    assert "another question" in verify(unhashed, X, y, k=5).reason
    assert verify(unhashed, X.astype(np.float32), y).reason


@pytest.mark.parametrize("first", [0, 10, 20])
def test_without_a_fingerprint_a_bound_holds_for_whatever_data_are_given(first, tmp_path):
    """A proof of other data is refused, or what it is found to prove is true of the data at hand."""
    accepted = 0
    for seed in range(first, first + 10):
        hard = hard_problem(seed)
        terms = dict(hard.kwargs)
        X, y = terms.pop("X"), terms.pop("y")
        prove(tmp_path / "proof.npz", X, y, seed=seed, gap=1e-6, node_limit=60, **terms)
        unhashed, rng = without_fingerprint(tmp_path / "proof.npz"), np.random.default_rng(seed)
        dense = X.toarray() if sparse.issparse(X) else np.asarray(X, np.float64)
        for size in (0.0, 1e-12, 1e-4, 1.0):
            other = dense * (1.0 + size * rng.standard_normal(dense.shape))
            result = verify(unhashed, other, y)
            accepted += result.valid and size > 0.0
            assert result.valid or size > 0.0
            truth = brute_force(ss.Problem(other, y, **terms)).value  # with means and scales of its own
            assert not result.valid or result.lower_bound <= truth * (1.0 + 1e-8)
            assert not result.valid or result.objective >= truth * (1.0 - 1e-8)
    assert accepted >= 5


def example(**terms):
    """Data with a tree worth the name: correlated columns and a weak ridge."""
    rng = np.random.default_rng(terms.pop("seed", 5))
    X = rng.standard_normal((40, 8)) + 0.7 * rng.standard_normal((40, 1))
    y = np.where(X @ np.array([1.0, -1.0, 0.7, 0.0, 0.5, 0.0, -0.4, 0.2]) + rng.logistic(size=40) > 0.0, 1, -1)
    return X, y, {"mu": 0.01, "k": 4, "gamma": 30.0, **terms}


@pytest.fixture(scope="module")
def proof(tmp_path_factory):
    """A proof with all parts: weights, standardised data, decided features, a constant column, several chunks."""
    X, y, terms = example(standardize=True, include=[6], exclude=[5], mu=0.004, gamma=60.0)
    X[:, 7] = 3.0
    weights = np.random.default_rng(0).uniform(0.5, 1.5, 40)
    weights[3] = 0.0
    terms |= {"sample_weight": weights}
    path = tmp_path_factory.mktemp("proofs") / "proof.npz"
    made = prove(path, X, y, seed=3, gap=1e-9, chunk=4, detours=0.2, **terms)
    assert len(made.records) > 12
    assert made.screened
    return path, X, y, brute_force(made.problem).value


def test_parts_of_a_result(proof):
    path, X, y, truth = proof
    result = verify(path, X, y)
    assert result.valid
    assert result.reason == ""
    never_too_much(result, truth)
    header, arrays = load(path)
    assert result.nodes == sum(array.size for name, array in arrays.items() if name.endswith("_nodes"))
    assert 1 < result.leaves < result.nodes
    assert result.points > 1
    assert result.fingerprint == header["fingerprint"]["matrix"]
    assert result.claims["mu"] == header["mu"]
    assert result.claims["include"] == arrays["include"].tolist()
    assert "Valid" in str(result)
    assert f"{result.nodes} nodes" in str(result)
    assert result.seconds > 0.0
    refused = verify(path, X + 1.0, y)
    assert str(refused) == "Refused: The matrix is not the one of the proof."
    assert math.isnan(refused.objective)
    assert math.isnan(refused.lower_bound)
    assert math.isnan(refused.gap)


@pytest.mark.parametrize(
    "form",
    [
        np.asarray,
        np.asfortranarray,
        lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
        np.ndarray.tolist,
        sparse.csr_matrix,
        sparse.csc_array,
        sparse.coo_array,
        sparse.lil_array,
        lambda X: pd.DataFrame(X),
        lambda X: pl.DataFrame(X),
        lambda X: pd.DataFrame(X).astype(pd.SparseDtype(float, 0.0)),
    ],
)
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
def test_any_form_of_the_data(form, stored, tmp_path):
    X, y, terms = example()
    X[np.abs(X) < 0.5] = 0.0
    prove(tmp_path / "proof.npz", stored(X), y, node_limit=10, **terms)
    assert verify(tmp_path / "proof.npz", form(X), y).valid
    X[0, 0] += 1e-9
    assert not verify(tmp_path / "proof.npz", form(X), y).valid


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.int8, np.bool_, np.uint16])
def test_any_type_of_number(kind, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (30, 5)).astype(kind)
    y = rng.integers(0, 2, 30)
    prove(tmp_path / "proof.npz", X, y, k=2, node_limit=10)
    assert verify(tmp_path / "proof.npz", X, y).valid
    assert verify(tmp_path / "proof.npz", X.astype(float), y).valid
    assert verify(tmp_path / "proof.npz", sparse.csc_array(X), y).valid


def test_sparse_with_duplicates_and_zeros_is_not_changed(tmp_path):
    rows, columns, values = [0, 0, 1, 2, 3, 3], [0, 0, 1, 1, 0, 1], [1.0, 2.0, 3.0, 0.0, 5.0, -1.0]
    X = sparse.coo_array((values, (rows, columns)), shape=(4, 2))
    prove(tmp_path / "proof.npz", X.toarray(), [0, 1, 0, 1], k=1)
    unsorted = sparse.csc_array(X)
    unsorted.indices[:2], unsorted.data[:2] = unsorted.indices[:2][::-1], unsorted.data[:2][::-1]
    unsorted.has_sorted_indices = False
    before = unsorted.indices.copy(), unsorted.data.copy()
    assert verify(tmp_path / "proof.npz", X, [0, 1, 0, 1]).valid
    assert verify(tmp_path / "proof.npz", unsorted, [0, 1, 0, 1]).valid
    assert X.nnz == 6
    np.testing.assert_array_equal(unsorted.indices, before[0])
    np.testing.assert_array_equal(unsorted.data, before[1])


@pytest.mark.parametrize(
    "recode",
    [
        lambda y: y,
        lambda y: y.astype(float),
        lambda y: y > 0,
        lambda y: np.where(y > 0, "yes", "no"),
        lambda y: np.where(y > 0, "yes", "no").astype(object),
        lambda y: np.where(y > 0, "yes", "no").tolist(),
        lambda y: pd.Series(np.where(y > 0, "b", "a")),
        lambda y: pl.Series(np.where(y > 0, "b", "a")),
        lambda y: y[:, None],
    ],
)
def test_any_labels(recode, tmp_path):
    X, y, terms = example()
    prove(tmp_path / "proof.npz", X, recode(y), node_limit=5, **terms)
    assert verify(tmp_path / "proof.npz", X, recode(y)).valid
    assert "labels" in verify(tmp_path / "proof.npz", X, recode(-y)).reason
    assert "labels" in verify(tmp_path / "proof.npz", X, np.where(y > 0, 7, 5)).reason


def test_unusable_arguments(proof, tmp_path):
    path, X, y, _ = proof
    with pytest.raises(FileNotFoundError):
        verify(tmp_path / "absent.npz", X, y)
    with pytest.raises(TypeError, match="X has dtype"):
        verify(path, np.array([["a", "b"], ["c", "d"]]), [0, 1])
    with pytest.raises(ValueError, match="X has shape"):
        verify(path, X[0], y)
    with pytest.raises(ValueError, match="y has shape"):
        verify(path, X, y[1:])


def test_large_blocks_are_split(proof, monkeypatch):
    """The same verdict when nothing fits into one block or batch."""
    path, X, y, _ = proof
    whole = verify(path, X, y)
    monkeypatch.setattr(arithmetic, "BATCH_ENTRIES", 100)
    monkeypatch.setattr(arithmetic, "PASS_ENTRIES", 200)
    split = verify(path, X, y)
    assert split.valid
    assert split.lower_bound == pytest.approx(whole.lower_bound, rel=1e-12)
    assert split.points == whole.points
    assert verify(path, sparse.csr_array(X), y).valid


@pytest.mark.parametrize("step", ["check_upper_bound", "check_lower_bound"])
def test_an_interrupted_check_gives_the_hashing_up(step, proof, monkeypatch):
    """Hashing much data takes longer than anybody waits after Ctrl-C."""
    path, X, y, _ = proof
    hashed = []

    def endless(matrix):
        while len(hashed) < 10**7:
            hashed.append(1)
            yield np.zeros(1)

    def pressed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(recognition, "dense_pieces", endless)
    monkeypatch.setattr(checker, step, pressed)
    with pytest.raises(KeyboardInterrupt):
        verify(path, X, y)
    assert len(hashed) < 10**7


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_])
def test_other_numbers_become_doubles_in_pieces(order, dtype, monkeypatch):
    monkeypatch.setattr(arithmetic, "PASS_ENTRIES", 10)
    X = np.asarray(np.arange(35).reshape(7, 5) % 3, dtype=dtype, order=order)
    doubles = as_doubles(X)
    assert doubles.dtype == np.float64
    assert np.array_equal(doubles, X)
    assert as_doubles(X[::2, ::-1]).tolist() == X[::2, ::-1].astype(float).tolist()
    assert as_doubles(X[:0]).shape == (0, 5)
    assert as_doubles(doubles) is doubles


def claiming(path, target, **claims):
    """Verify a copy of a proof that claims something else."""
    header, arrays = load(path)
    save(target, header | {"claims": header["claims"] | claims}, arrays)
    return target


def test_claims_are_held_against_the_enclosure(tmp_path):
    """Two large columns that nearly cancel: rounding leaves the claim in doubt, but does not contradict it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 2)) * 1e5
    X[:, 1] = X[:, 0] + 1e-4 * X[:, 1]
    y = np.where(X[:, 0] - X[:, 1] + 5.0 * rng.logistic(size=3000) > 0.0, 1, -1)
    path, other = tmp_path / "proof.npz", tmp_path / "other.npz"
    made = prove(path, X, y, k=2, gamma=1e3, gap=1e-6)
    result = verify(path, X, y)
    assert result.valid, result.reason
    low, high = result.enclosure
    assert low + 2e-9 * result.objective < result.claims["lower_bound"] <= made.upper
    assert low < high < low + 1e-6 * result.objective
    assert verify(claiming(path, other, lower_bound=high), X, y).lower_bound == low
    assert "only" in verify(claiming(path, other, lower_bound=high + 2e-9 * result.objective), X, y).reason


def test_a_wide_enclosure_supports_no_claim(tmp_path):
    """Where rounding leaves more than a millionth in doubt, the certified bound counts."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2)) * 1e7
    y = rng.choice([-1, 1], 300)
    path, other = tmp_path / "proof.npz", tmp_path / "other.npz"
    prove(path, X, y, k=1, gamma=1e4, gap=1e-6)
    result = verify(claiming(path, other, lower_bound=0.0, status="node_limit"), X, y)
    assert result.valid, result.reason
    low, high = result.enclosure
    assert high > low + 1e-5 * result.objective
    wrong = claiming(path, other, lower_bound=low + 2e-6 * result.objective, status="node_limit")
    assert "only" in verify(wrong, X, y).reason


@pytest.mark.parametrize("form", [np.asarray, sparse.csc_array])
def test_large_means_and_extreme_scales(form, tmp_path):
    """Columns whose quick moments lose all digits, one that leaves the range of squares, and a nearly constant one."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 5)) * np.array([1.0, 1e-3, 1e-145, 1e140, 1.0]) + np.array([1e9, 1e5, 0.0, 0.0, 0.0])
    X[:, 4] = 7.0
    X[0, 4] = np.nextafter(7.0, 8.0)
    y = np.where(X[:, 0] - 1e9 + rng.logistic(size=50) > 0.0, 1, 0)
    for terms in ({"standardize": True}, {"standardize": True, "fit_intercept": True}):
        made = prove(tmp_path / "proof.npz", form(X), y, k=2, gamma=3.0, **terms)
        result = verify(tmp_path / "proof.npz", form(X), y)
        assert result.valid, result.reason
        never_too_much(result, brute_force(made.problem).value)


def test_weights_that_hardly_exist(tmp_path):
    X, y, terms = example()
    weights = np.ones(40)
    weights[:4] = 1e-320, 1e-300, 1e-200, 0.0
    made = prove(tmp_path / "proof.npz", X, y, node_limit=20, sample_weight=weights, **terms)
    result = verify(tmp_path / "proof.npz", X, y)
    assert result.valid, result.reason
    never_too_much(result, brute_force(made.problem).value)


@pytest.mark.parametrize("seed", range(40))
def test_proofs_of_the_solver(seed, tmp_path):
    hard, path = hard_problem(seed), tmp_path / "proof.npz"
    mode = ("nodes", "root", "none")[seed % 3]
    solution = ss.solve(hard.problem(), rel_gap=1e-9, screening=mode, n_threads=1 + seed % 2, proof=path)
    result = verify(path, hard.kwargs["X"], hard.kwargs["y"])
    assert result.valid, f"{hard.description}: {result.reason}"
    never_too_much(result, brute_force(hard.problem()).value)
    assert result.objective == pytest.approx(solution.objective, rel=1e-9)
    assert solution.lower_bound <= result.enclosure[1] + 1e-9 * solution.objective


# -- arithmetic --------------------------------------------------------------------------------------------------------


def arguments():
    """Numbers in (0, 1]: subnormal, tiny, near powers of two, near 1/√2, near 1 and 1/2, and random ones."""
    rng = np.random.default_rng(0)
    special = [5e-324, 1e-310, 2.0**-1022, 1e-300, 1e-20, 2.0**-53, 0.25, 0.5, 1.0 - 2.0**-53, 1.0, math.sqrt(0.5)]
    near = [np.nextafter(x, side) for x in (0.5, 0.25, math.sqrt(0.5), 1.0 - math.sqrt(0.5)) for side in (0.0, 1.0)]
    return np.concatenate(
        (special, near, rng.random(400), 10.0 ** rng.uniform(-320, 0, 400), 1.0 - 10.0 ** rng.uniform(-16, -1, 200))
    )


def test_constants():
    with localcontext(prec=60):
        ln2 = Decimal(2).ln()
        assert abs(Decimal(LN2) - ln2) < Decimal(2) ** -54
    assert Fraction(ROUNDOFF) > Fraction(1, 2**53)


def test_logarithm():
    x = -arguments()
    x = x[x >= -0.5]
    computed = log1p(x)
    with localcontext(prec=400):
        for value, argument in zip(computed.tolist(), x.tolist(), strict=True):
            exact = (1 + Decimal(argument)).ln()
            assert abs(Decimal(value) - exact) <= 10 * Decimal(2) ** -53 * abs(exact) + Decimal("1e-323")
    assert log1p(np.zeros(1))[0] == 0.0


def test_logarithm_of_small_numbers():
    x = arguments()
    x = x[x < 1.0]
    with localcontext(prec=60):
        for value, argument in zip(log(x).tolist(), x.tolist(), strict=True):
            exact = Decimal(argument).ln()
            assert abs(Decimal(value) - exact) <= 12 * Decimal(2) ** -53 * abs(exact)


def test_loss():
    """Rounded up but for 20 units, wherever the margin lies."""
    rng = np.random.default_rng(0)
    sizes = np.concatenate((arguments(), 10.0 ** rng.uniform(-5, 5, 300), [0.0, 36.0, 699.9, 700.0, 701.0, 1e300]))
    margin = np.concatenate((sizes, -sizes))
    with localcontext(prec=60):
        for value, argument in zip(logistic_loss(margin).tolist(), margin.tolist(), strict=True):
            tail = (-abs(Decimal(argument))).exp()
            exact = max(-Decimal(argument), 0) + ((1 + tail).ln() if tail > Decimal("1e-40") else tail)
            assert Decimal(value) >= exact * (1 - 20 * Decimal(2) ** -53)
            if argument < 700.0:
                assert Decimal(value) <= exact * (1 + Decimal("1e-10"))


def test_entropy():
    p = np.concatenate((arguments(), [0.0]))
    computed = [weighted_entropy(np.array([[value]]), np.ones(1))[0] for value in p]
    with localcontext(prec=400):
        for value, argument in zip(computed, p.tolist(), strict=True):
            s = Decimal(argument)
            exact = -sum(t * t.ln() for t in (s, 1 - s) if t > 0)
            assert abs(Decimal(float(value)) - exact) <= 25 * Decimal(2) ** -53 * exact + Decimal("1e-320")


def test_entropy_of_rows():
    rng = np.random.default_rng(0)
    P, w = rng.random((70, 900)), rng.random(900)
    expected = [math.fsum(-w * (p * np.log(p) + (1.0 - p) * np.log1p(-p))) for p in P]
    np.testing.assert_allclose(weighted_entropy(P, w), expected, rtol=1e-13)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
def test_bounds_enclose_exact_arithmetic(intercept, standardize, tmp_path):
    """D of random nodes in rational arithmetic (logarithms to 60 digits) lies within the ends computed."""
    X, y, terms = example(fit_intercept=intercept, standardize=standardize)
    sizes = 10.0 ** np.arange(-3.0, 5.0)
    X = (X + standardize * 3.0) * sizes
    sizes = np.ones(8) if standardize else sizes
    path = tmp_path / "proof.npz"
    prove(path, X, y, node_limit=0, **terms)
    with open(path, "rb") as file, np.errstate(all="ignore"):
        header, arrays = read_proof(file)
        problem = recognise_problem(header, arrays, X, y)
    rng = np.random.default_rng(1)
    x = rng.standard_normal((20, 8)) / sizes * 10.0 ** rng.uniform(-3, 1, (20, 1))
    columns = problem.columns
    scores = x @ ((columns.X - columns.means) / columns.scales).T + rng.standard_normal((20, 1)) * intercept
    status = rng.choice([-1, 0, 1], (20, 8), p=[0.2, 0.7, 0.1])
    status[status.cumsum(axis=1) > 3] = 0
    points = evaluate_points(problem, columns, expit(-y * scores))
    bounds = bound_nodes(points, status == 1, status == -1)
    ends = bounds.lower
    row, column = np.nonzero(status == 0)
    side = rng.choice([0, 1], row.size)
    flips = bounds.flipped(row, column, side)
    moments = [
        (Fraction(mean), Fraction(scale))
        for mean, scale in zip(problem.stated_means, problem.stated_scales, strict=True)
    ]
    A = [
        [(Fraction(v) - mean) / scale for v in line] for line, (mean, scale) in zip(X.T.tolist(), moments, strict=True)
    ]
    for node in range(20):
        alpha, doubt = points.alpha[node].tolist(), Decimal(float(bounds.uncertainty[node]))
        exact = exact_bound(problem, A, alpha, status[node].tolist(), header)
        assert Decimal(ends[node]) <= exact <= Decimal(ends[node]) + doubt
        for i in np.flatnonzero(row == node):
            flipped = status[node].copy()
            flipped[column[i]] = -1 if side[i] == 0 else 1
            if (flipped == 1).sum() > problem.terms.budget:
                assert flips[i] == np.inf
                continue
            exact = exact_bound(problem, A, alpha, flipped.tolist(), header)
            assert Decimal(flips[i]) <= exact <= Decimal(flips[i]) + doubt


@pytest.mark.parametrize("terms", [{}, {"fit_intercept": True}, {"standardize": True, "fit_intercept": True}])
def test_objective_is_rounded_up(terms, tmp_path):
    X, y, terms = example(**terms)
    X = X + 100.0 * ("standardize" in terms)
    made = prove(tmp_path / "proof.npz", X, y, node_limit=0, **terms)
    problem, (support, coef, intercept) = made.problem, made.model
    result = verify(tmp_path / "proof.npz", X, y)
    scales = [Fraction(v) for v in problem.design.scales]
    with localcontext(prec=60):
        total = Decimal(0)
        for row, label, weight in zip(X.tolist(), problem.y.tolist(), problem.weights.tolist(), strict=True):
            score = Fraction(intercept) + sum(
                Fraction(c) * Fraction(row[j]) for c, j in zip(coef, support, strict=True)
            )
            score = Decimal(score.numerator) / Decimal(score.denominator)
            total += Decimal(weight) * (1 + (-Decimal(label) * score).exp()).ln()
        ridge = sum((Fraction(c) * scales[j]) ** 2 for c, j in zip(coef, support, strict=True)) / Fraction(
            problem.gamma
        )
        total += Decimal(ridge.numerator) / Decimal(ridge.denominator) + Decimal(problem.mu) * len(support)
        assert total <= Decimal(result.objective) <= total * (1 + Decimal("1e-12"))


# -- tampering ---------------------------------------------------------------------------------------------------------

STILL_TRUE = {
    "root_dual_random",  # the tree does not need it
    "include_another_feature",  # which was in the best model anyway
}


def test_enough_ways_of_tampering():
    assert len(TAMPERINGS) >= 45


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_is_refused(name, proof, tmp_path):
    """Refused with one sentence, and with modest claims never more than the truth."""
    path, X, y, _ = proof
    strict, _ = outcomes(name, path, X, y, tmp_path)
    assert strict.valid == (name in STILL_TRUE)
    assert strict.valid or strict.reason.endswith(".")
    assert "\n" not in strict.reason


def test_tampering_with_an_intercept(tmp_path):
    """The same on a proof with an intercept and without standardisation, where other paths are taken."""
    X, y, terms = example(fit_intercept=True, include=[6], exclude=[5], mu=0.004, gamma=60.0)
    X[:, 7] = 0.0
    path = tmp_path / "proof.npz"
    prove(path, X, y, seed=3, gap=1e-9, chunk=4, detours=0.2, **terms)
    assert verify(path, X, y).valid
    accepted = set()
    for name in TAMPERINGS:
        try:
            strict, _ = outcomes(name, path, X, y, tmp_path)
        except KeyError:  # there are no means and scales to tamper with
            continue
        accepted |= {name} if strict.valid else set()
    assert accepted <= STILL_TRUE | {
        "call_no_column_constant",  # a column of zeros changes nothing
        "change_one_entry_and_reseal",  # of a feature without use
        "change_weights_and_reseal",  # which are all the same
        "intercept_allowed",  # it is already
        "no_weights",  # as they are all the same
        "permute_rows_and_reseal",
    }


def test_any_byte_may_flip(proof, tmp_path):
    """One flipped bit anywhere in the file: refused, or it was a bit without a meaning."""
    path, X, y, _ = proof
    content, honest = path.read_bytes(), verify(path, X, y)
    rng = np.random.default_rng(0)
    target = tmp_path / "tampered.npz"
    refused = 0
    for place in rng.choice(len(content), 400, replace=False):
        changed = bytearray(content)
        changed[place] ^= 1 << int(rng.integers(8))
        target.write_bytes(changed)
        result = verify(target, X, y)
        if result.valid:
            assert (result.objective, result.lower_bound) == (honest.objective, honest.lower_bound)
        refused += not result.valid
    assert refused > 300


def test_a_truncated_file_is_refused(proof, tmp_path):
    path, X, y, _ = proof
    content = path.read_bytes()
    for size in (0, 1, 30, len(content) // 2, len(content) - 1):
        (tmp_path / "short.npz").write_bytes(content[:size])
        assert not verify(tmp_path / "short.npz", X, y).valid


def test_garbage_is_refused(proof, tmp_path):
    _, X, y, _ = proof
    rng = np.random.default_rng(0)
    for content in (b"", b"PK", b"no proof at all", rng.bytes(5000), b"PK\x03\x04" + rng.bytes(5000)):
        (tmp_path / "garbage.npz").write_bytes(content)
        result = verify(tmp_path / "garbage.npz", X, y)
        assert not result.valid
        assert result.reason
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    assert verify(tmp_path / "other.npz", X, y).reason == "The file is no safescreen proof."


def test_a_member_twice_is_refused(proof, tmp_path):
    path, X, y, _ = proof
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(tmp_path / "twice.npz", "w") as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
        with pytest.warns(UserWarning, match="Duplicate name"):
            target.writestr("coef.npy", source.read("coef.npy"))
    assert "same name" in verify(tmp_path / "twice.npz", X, y).reason


@pytest.mark.parametrize("more", [1, 8])
def test_a_member_that_goes_on_is_refused(more, proof, tmp_path):
    path, X, y, _ = proof
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(tmp_path / "longer.npz", "w") as target:
        for name in source.namelist():
            target.writestr(name, source.read(name) + b"." * more * (name == "coef.npy"))
    assert not verify(tmp_path / "longer.npz", X, y).valid


def test_a_pickle_is_never_loaded(proof, tmp_path):
    """An object array whose pickle would create a file."""
    path, X, y, _ = proof
    header, arrays = load(path)

    class Trap:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "sprung",))

    trap = np.empty(1, object)
    trap[0] = Trap()
    save(tmp_path / "trap.npz", header, {**arrays, "support": trap})
    assert not verify(tmp_path / "trap.npz", X, y).valid
    assert not (tmp_path / "sprung").exists()


def test_compressed_files_are_fine(proof, tmp_path):
    path, X, y, _ = proof
    with np.load(path) as file:
        np.savez_compressed(tmp_path / "small.npz", **{name: file[name] for name in file.files})
    assert verify(tmp_path / "small.npz", X, y).valid


# -- attacks that once worked, or nearly ------------------------------------------------------------------------------


def forged(path):
    """A copy of a proof without its tree, and with modest claims, for a forger to go on with."""
    header, arrays = load(path)
    arrays = {name: array.copy() for name, array in arrays.items() if not name.startswith("tree")}
    header["chunks"], header["claims"] = (
        0,
        {"objective": 1e9, "lower_bound": -1e9, "status": "node_limit", "rel_gap": 0.0},
    )
    return header, arrays


def sapling(*nodes, screened=(), feature=(), value=()):
    """The arrays of a tree in one chunk."""
    lists = {"screened": np.array(screened, np.int32), "feature": np.array(feature, np.int32), "value": np.array(value)}
    parts = {"nodes": np.array(list(nodes), NODE), **lists}
    return {f"tree000000_{name}": array.astype(TREE_ARRAYS[name]) for name, array in parts.items()}


@pytest.mark.parametrize("terms", [{}, {"fit_intercept": True}, {"standardize": True}])
def test_a_tree_that_gives_no_number_gives_no_bound(terms, tmp_path):
    """Its only point overflows; what the root cuts off has a bound, but that is not all there is."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 8))
    y = np.where(2.0 * X[:, 0] + rng.logistic(size=40) > 0.0, 1, -1)
    path = tmp_path / "proof.npz"
    made = prove(path, X, y, node_limit=0, mu=0.02, k=4, gamma=6.0, **terms)
    header, arrays = forged(path)
    arrays["root_screened"] = np.array([1], np.int32)  # without this feature all models are poor
    arrays["support"], arrays["coef"], header["intercept"] = np.zeros(0, np.int64), np.zeros(0), 0.0
    arrays |= sapling((-1, 0, 0, 8, 0.0), feature=np.arange(8), value=1.7e308 * (-1.0) ** np.arange(8))
    save(path, header | {"chunks": 1}, arrays)
    result = verify(path, X, y)
    never_too_much(result, brute_force(made.problem).value)
    assert result.valid or result.reason == "The proof gives no lower bound."


def test_claims_cannot_restate_the_problem(tmp_path):
    X, y, terms = example()
    path = tmp_path / "proof.npz"
    prove(path, X, y, node_limit=0, **terms)
    header, arrays = load(path)
    header["claims"] |= {"mu": "nothing", "k": 8, "gamma": 1e6, "include": [1], "weighted": True}
    save(path, header, arrays)
    result = verify(path, X, y)
    assert result.valid
    assert result.claims["mu"] == terms["mu"]
    assert result.problem == "mu=0.01, k=4, gamma=30"


@pytest.mark.parametrize("scale", [1e-100, 2.0**-57])
@pytest.mark.parametrize("last", [3.0, np.nextafter(3.0, 4.0)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csc_array])
def test_a_constant_column_is_no_intercept(form, last, scale, tmp_path):
    """A constant or nearly constant column with a mean one unit off and a tiny scale would be one."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    X[:, 2] = 3.0
    X[0, 2] = last
    y = np.where(rng.random(40) < 0.9, 1, -1)
    path = tmp_path / "proof.npz"
    prove(path, form(X), y, node_limit=0, standardize=True, k=1, gamma=1.0)
    assert verify(path, form(X), y).valid
    header, arrays = forged(path)
    arrays["constant"] = np.zeros(0, np.int64)
    arrays["means"][2], arrays["scales"][2] = np.nextafter(3.0, 0.0), scale
    arrays["support"], arrays["coef"] = np.array([2]), np.array([2.2 / (3.0 - arrays["means"][2])])
    header["intercept"] = float(-arrays["coef"][0] * arrays["means"][2])
    save(path, header, arrays)
    assert not verify(path, form(X), y).valid


@pytest.mark.parametrize("factor", [0.5, 0.99, 1.01, 2.0])
def test_a_nearly_constant_column_has_the_scale_it_has(factor, tmp_path):
    """Even if its mean could hide its deviation."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 3)), rng.choice([-1, 1], 400)
    X[:, 2] = 3.0 + 2e-14 * rng.standard_normal(400)
    path = tmp_path / "proof.npz"
    prove(path, X, y, node_limit=0, standardize=True, k=2, gamma=1.0)
    assert verify(path, X, y).valid
    header, arrays = forged(path)
    arrays["scales"][2] *= factor
    save(path, header, arrays)
    assert verify(path, X, y).reason == "The means and scales are not those of the matrix."


def test_a_constant_column_has_no_coefficient(tmp_path):
    """Its mean and scale are not checked, so a model that used it could be anything."""
    X, y, terms = example(standardize=True, include=[7])
    X[:, 7] = 3.0
    path = tmp_path / "proof.npz"
    prove(path, X, y, node_limit=0, **terms)
    assert verify(path, X, y).valid
    header, arrays = forged(path)
    arrays["means"][7] = 0.0
    arrays["coef"][arrays["support"] == 7] = -1000.0
    save(path, header, arrays)
    assert "constant" in verify(path, X, y).reason


def two_samples(path, X, weights, dual, gamma, fit_intercept, coef=None):
    """A proof about two samples and one feature, by hand."""
    problem = ss.Problem(
        X, [-1, 1], k=1, gamma=1.0, sample_weight=weights, fit_intercept=fit_intercept, standardize=False
    )
    prints = problem.fingerprint | {"weights": hashlib.sha256(np.array(weights).tobytes()).hexdigest()}
    header = {
        "format": "safescreen-proof", "version": 1, "n_samples": 2, "n_features": 1, "mu": 0.0, "k": 1, "gamma": gamma,
        "fit_intercept": fit_intercept, "standardize": False, "classes": [-1, 1], "matrix_form": "dense",
        "fingerprint": prints, "intercept": 0.0, "chunks": 0,
        "claims": {"objective": 1e9, "lower_bound": -1e9, "status": "node_limit", "rel_gap": 0.0},
    }  # fmt: skip
    support = np.arange(0 if coef is None else 1)
    arrays = {"weights": np.array(weights), "root_dual": np.array(dual), "support": support}
    save(path, header, arrays | {"coef": np.zeros(0) if coef is None else np.array([coef])})
    return verify(path, X, [-1, 1])


def test_squares_do_not_vanish_before_a_huge_ridge_parameter_counts(tmp_path):
    """Here some model has an objective below 1e-170."""
    X = np.array([[0.0], [1e-62]])
    result = two_samples(tmp_path / "proof.npz", X, [1.0, 1e-100], [1e-100, 1.0], 1.7e308, True)
    assert not result.lower_bound > 1e-170


@pytest.mark.parametrize("gamma", [5e-324, 1e-320, 1e-312])
def test_squares_do_not_vanish_before_a_tiny_ridge_parameter_counts(gamma, tmp_path):
    X = np.array([[-1e153], [1e153]])
    result = two_samples(tmp_path / "proof.npz", X, [0.5, 0.5], [0.5, 0.5], gamma, False, coef=1.5e-162)
    ridge = float(Fraction(1.5e-162) ** 2 / Fraction(gamma))
    assert not result.objective < ridge


def test_a_useless_point_leaves_claims_in_no_doubt(tmp_path):
    """A point far out of balance would otherwise excuse a claim that is wrong by nearly a millionth."""
    X, y, terms = example(fit_intercept=True)
    path = tmp_path / "proof.npz"
    prove(path, X, y, node_limit=0, **terms)
    header, arrays = load(path)
    arrays = {name: array for name, array in arrays.items() if not name.startswith("tree")}
    arrays |= sapling((-1, 0, 0, 0, 1e6), (0, 0, 0, -1, 0.0))
    arrays["root_screened"], header["chunks"] = np.zeros(0, np.int32), 1
    save(path, header, arrays)
    result = verify(path, X, y)
    assert result.valid
    assert result.enclosure[1] - result.enclosure[0] < 1e-11
    assert "only" in verify(claiming(path, path, lower_bound=result.lower_bound * (1.0 + 5e-9)), X, y).reason


def test_weights_that_are_given_must_be_those_of_the_proof(tmp_path):
    X, y, terms = example()
    path = tmp_path / "proof.npz"
    weights = np.random.default_rng(0).uniform(0.5, 1.5, 40)
    weights[3] = 0.0
    prove(path, X, y, node_limit=5, sample_weight=weights, **terms)
    assert verify(path, X, y).claims["weighted"]
    assert verify(path, X, y, 7.0 * weights).valid
    assert verify(path, X, y, 1e308 * weights).valid
    assert verify(path, X, y, sample_weight=weights.tolist()).valid
    for wrong in (np.ones(40), weights[::-1], weights + 1e-9):
        assert verify(path, X, y, wrong).reason == "The weights are not those of the proof."
    with pytest.raises(ValueError, match="sample_weight has shape"):
        verify(path, X, y, weights[1:])


# -- the module --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["import safescreen.verification", "from safescreen.verification import verify", ""])
def test_verify_is_a_function_in_any_order(first):
    code = (
        f"{first}\nimport safescreen as ss\nassert callable(ss.verify) and ss.Verification\nassert callable(ss.verify)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert ss.verify is verify
