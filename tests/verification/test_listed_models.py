"""Proofs of lists of models: honest ones pass, and nothing false can be made of them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import combinations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

import safescreen as ss
from exact import exact_bound, exact_objective
from prover import load, prove_list, save
from safescreen.testing.reference import brute_force
from safescreen.verification import listed_models, verify
from safescreen.verification.dual_bounds import weigh_points
from safescreen.verification.listed_models import (
    Evaluated,
    Leaf,
    ListedModels,
    Supports,
    evaluate_supports,
    read_supports,
    settle_leaf,
    supports_left,
)
from safescreen.verification.reading import RefusedError, read_proof
from safescreen.verification.recognition import recognise_problem
from tampering import LIST_TAMPERINGS, TAMPERINGS, assert_true_list, list_outcomes

# -- honest proofs -----------------------------------------------------------------------------------------------------


def some_problem(seed):
    """Data with ties, duplicated and constant columns, and terms of any kind; and what is asked."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(10, 40)), int(rng.integers(2, 8))
    X = rng.standard_normal((m, n))
    if rng.random() < 0.3:
        X[:, 0] = X[:, -1]
    if rng.random() < 0.2:
        X[:, n // 2] = 0.0
    if rng.random() < 0.3:
        X = np.where(np.abs(X) < 0.7, 0.0, X)
    y = np.where(X[:, 0] + rng.logistic(size=m) > 0.0, 1, -1)
    y[:2] = 1, -1
    price, budget = rng.choice([1e-4, 1e-3, 1e-2, 0.05, 3.0]), int(rng.integers(1, n + 3))
    terms = ({"mu": price}, {"k": budget}, {"mu": price, "k": budget})[seed % 3]
    terms |= {"gamma": rng.choice([0.3, 1.0, 10.0, 100.0]), "fit_intercept": rng.random() < 0.5}
    terms |= {"standardize": bool(rng.random() < 0.6)}
    if rng.random() < 0.3:
        terms["include"] = [int(rng.integers(n))]
    if rng.random() < 0.3:
        weights = rng.uniform(0.5, 1.5, m)
        weights[2] = 0.0
        terms["sample_weight"] = weights
    asked = [{"within": w} for w in (0.0, 0.001, 0.05, 0.3, 2.0)] + [{"n_best": k} for k in (1, 5, 1000)]
    asked = dict(asked[int(rng.integers(len(asked)))])
    if rng.random() < 0.25:
        asked["max_models"] = 2
    stored = sparse.csr_array(X) if rng.random() < 0.3 else X
    return stored, y, terms, asked


@pytest.mark.parametrize("first", range(0, 160, 40))
def test_honest_lists_hold(first, tmp_path):
    path, complete = tmp_path / "proof.npz", 0
    for seed in range(first, first + 40):
        X, y, terms, asked = some_problem(seed)
        problem = ss.Problem(X, y, **terms)
        found = ss.alternatives(problem, proof=path, **asked)
        result = verify(path, X, y, terms.get("sample_weight"))
        assert result.valid, f"{seed}: {result.reason}"
        assert result.models == len(found)
        assert result.claims["complete"] == found.complete
        header, arrays = load(path)
        assert header["version"] == 2
        assert_true_list(result, arrays, brute_force(problem).table)
        complete += found.complete
        if found.complete and arrays["models_objective"][0] < header["threshold"] * (1.0 - 1e-8):
            strict, _ = list_outcomes(LIST_TAMPERINGS["drop_the_best"], path, X, y, tmp_path)
            assert not strict.valid, seed
    assert 25 <= complete < 40


def test_a_price_above_every_gain(tmp_path):
    """Then nothing is in, and the empty model is listed."""
    X, y, terms = example(mu=3.0)
    found = ss.alternatives(ss.Problem(X, y, **terms), within=0.01, proof=tmp_path / "proof.npz")
    assert [support.tolist() for support in found.supports] == [[]]
    result = verify(tmp_path / "proof.npz", X, y)
    assert result.valid, result.reason
    header, arrays = load(tmp_path / "proof.npz")
    arrays["models_size"], arrays["models_intercept"] = np.zeros(2, np.int32), arrays["models_intercept"][[0, 0]]
    arrays["models_objective"] = arrays["models_objective"][[0, 0]]
    save(tmp_path / "twice.npz", header | {"listed": 2}, arrays)
    assert verify(tmp_path / "twice.npz", X, y).reason == "A model is listed twice."


def test_a_list_of_everything(tmp_path):
    """Without a threshold all supports there are must be listed."""
    X, y, terms = example(mu=0.01, k=None)
    X, path = X[:, :5], tmp_path / "proof.npz"
    found = ss.alternatives(ss.Problem(X, y, **terms), n_best=1000, proof=path)
    assert len(found) == 2**5
    result = verify(path, X, y)
    assert result.valid, result.reason
    assert "below any number is one of the 32 listed" in str(result)
    for i in range(0, 32, 5):
        strict, _ = list_outcomes(dropping(i), path, X, y, tmp_path)
        assert not strict.valid


def dropping(place):
    """The tampering that drops the support at this place of the file."""

    def tamper(header, arrays, data):
        size, kept = arrays["models_size"], np.arange(arrays["models_size"].size) != place
        for name in ("models_feature", "models_value"):
            arrays[name] = arrays[name][np.repeat(kept, size)]
        for name in ("models_size", "models_intercept"):
            arrays[name] = arrays[name][kept]
        if place < header["listed"]:
            header["listed"] -= 1
            arrays["models_objective"] = np.delete(arrays["models_objective"], place)

    return tamper


def test_a_list_with_a_time_limit_of_nothing(tmp_path):
    """An empty or short list is a valid one, as long as it does not say that it is complete."""
    X, y, terms = example()
    found = ss.alternatives(ss.Problem(X, y, **terms), within=0.1, time_limit=0.0, proof=tmp_path / "proof.npz")
    result = verify(tmp_path / "proof.npz", X, y)
    assert result.valid, result.reason
    assert result.claims["complete"] == found.complete


# -- tampering ---------------------------------------------------------------------------------------------------------


def example(**terms):
    """Correlated columns and a weak ridge, so that there is a tree and there are many good models."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 8)) + 0.7 * rng.standard_normal((40, 1))
    y = np.where(X @ np.array([1.0, -1.0, 0.7, 0.0, 0.5, 0.0, -0.4, 0.2]) + rng.logistic(size=40) > 0.0, 1, -1)
    return X, y, {"k": 4, "gamma": 60.0, "fit_intercept": False, **terms}


PROOFS = {
    "price": ({"mu": 0.004, "standardize": True}, {"within": 0.03}),
    "budget": ({"standardize": True}, {"within": 0.03}),
    "intercept": ({"fit_intercept": True, "standardize": False}, {"within": 0.2}),
    "n_best": ({"mu": 0.002, "fit_intercept": True}, {"n_best": 7}),
    "incomplete": ({"mu": 0.004}, {"within": 0.1, "max_models": 4}),
    "tree": ({"mu": 0.004, "standardize": True}, {"within": 0.04, "goal": "all"}),
    "minimal tree": ({"fit_intercept": True, "standardize": True}, {"within": 0.04, "goal": "minimal"}),
}
"""Lists that the solver makes, where the points of few nodes leave few supports; and two with a tree worth the name."""


@pytest.fixture(scope="module", params=PROOFS)
def proof(request, tmp_path_factory):
    """Its kind, and a proof with all parts: weights, decided features, a constant column, refuted supports."""
    terms, asked = PROOFS[request.param]
    X, y, terms = example(include=[6], exclude=[5], **terms)
    X[:, 7] = 3.0 if terms.get("standardize", True) else 0.0
    weights = np.random.default_rng(0).uniform(0.5, 1.5, 40)
    weights[3] = 0.0
    path = tmp_path_factory.mktemp("lists") / "proof.npz"
    terms["sample_weight"] = weights
    if "goal" in asked:
        made = prove_list(path, X, y, seed=3, chunk=4, detours=0.2, **asked, **terms)
        assert len(made.records) > 12
        assert made.screened
    else:
        ss.alternatives(ss.Problem(X, y, **terms), proof=path, **asked)
    header, arrays = load(path)
    assert header["chunks"]
    assert header["listed"] > 1
    assert arrays["models_size"].size > header["listed"]
    result = verify(path, X, y)
    assert result.valid, result.reason
    assert result.claims["complete"] == (request.param != "incomplete")
    return request.param, path, X, y


STILL_TRUE = {
    "raise_the_bound": "nothing is that little above the threshold",
    "raise_the_bound_and_the_threshold": "the same",
    "drop_what_is_refuted": "the tree refutes it as well, if it is deep enough",
    "drop_one_that_is_refuted": "the same",
    "the_other_goal": "no listed model is part of another, or all have as many features as the budget allows",
    "called_version_one_with_its_claims": "a modest proof that one model is good",
}
"""What may be accepted, because it is true; that it is true has been asserted by then."""


@pytest.mark.parametrize("name", LIST_TAMPERINGS)
def test_tampering_with_a_list_is_refused(name, proof, tmp_path):
    """Refused with one sentence, or what it says is still true; with modest claims never more than the truth."""
    _, path, X, y = proof
    strict, _ = list_outcomes(LIST_TAMPERINGS[name], path, X, y, tmp_path)
    assert not strict.valid or name in STILL_TRUE
    assert strict.valid or strict.reason.endswith(".")
    assert "\n" not in strict.reason
    if name == "called_version_one_with_its_claims":
        assert strict.statement.startswith("no model of this problem")
        assert "goal" not in strict.claims


def test_dropping_any_listed_model_is_refused(proof, tmp_path):
    """One that is at the threshold itself, as the last of the best so many, may go: none *below* it is missing then."""
    _, path, X, y = proof
    header, arrays = load(path)
    for place in np.flatnonzero(arrays["models_objective"] < header["claims"]["missing_bound"] * (1.0 - 1e-8)):
        strict, _ = list_outcomes(dropping(place), path, X, y, tmp_path)
        assert not strict.valid, place


@pytest.mark.parametrize("name", TAMPERINGS)
@pytest.mark.parametrize("proof", ["intercept", "tree", "minimal tree"], indirect=True)
def test_tampering_with_the_tree_of_a_list(name, proof, tmp_path):
    """What is done to proofs of one model, done to lists: whatever is accepted is true, as is asserted on the way."""
    kind, path, X, y = proof
    try:
        strict, _ = list_outcomes(TAMPERINGS[name], path, X, y, tmp_path)
    except (KeyError, IndexError):  # there is nothing of that kind to tamper with
        assert kind == "intercept" or name == "claim_a_better_bound"
        return
    assert strict.valid or strict.reason.endswith(".")
    if kind == "tree" and name.startswith(("drop a ", "drop both", "a third", "flip", "screen")):
        assert not strict.valid, name


def test_any_byte_of_a_list_may_flip(proof, tmp_path):
    """One flipped bit anywhere in the file: refused, or it was a bit without a meaning."""
    _, path, X, y = proof
    content, honest = path.read_bytes(), verify(path, X, y)
    rng = np.random.default_rng(0)
    for place in rng.choice(len(content), 100, replace=False):
        changed = bytearray(content)
        changed[place] ^= 1 << int(rng.integers(8))
        (tmp_path / "tampered.npz").write_bytes(changed)
        result = verify(tmp_path / "tampered.npz", X, y)
        assert not result.valid or result.missing_bound == honest.missing_bound


def test_the_empty_model_makes_no_list_of_minimal_ones(tmp_path):
    """It is part of every model, so that a tree would not matter; but it is above the threshold."""
    X, y, terms = example()
    path = tmp_path / "proof.npz"
    ss.alternatives(ss.Problem(X, y, **terms), within=0.01, proof=path)
    header, arrays = load(path)
    arrays |= {"models_size": np.zeros(1, np.int32), "models_feature": np.zeros(0, np.int32)}
    arrays |= {"models_value": np.zeros(0), "models_intercept": np.zeros(1), "models_objective": np.log([2.0])}
    save(path, header | {"listed": 1}, arrays)
    assert verify(path, X, y).reason == "A listed model is above the threshold."


def test_a_list_without_a_tree(tmp_path):
    """Then the root's bound is all there is: a list below it may be empty, and nothing above it is shown."""
    X, y, terms = example()
    path = tmp_path / "proof.npz"
    ss.alternatives(ss.Problem(X, y, **terms), within=0.01, proof=path)
    header, arrays = load(path)
    arrays = {name: array for name, array in arrays.items() if not name.startswith("tree")}
    header["chunks"] = 0
    save(path, header, arrays)
    assert "may be missing" in verify(path, X, y).reason
    header["claims"] |= {"missing_bound": 0.0, "complete": False}
    save(path, header, arrays)
    result = verify(path, X, y)
    assert result.valid
    assert result.missing_bound <= brute_force(ss.Problem(X, y, **terms)).value


def test_doubt_speaks_for_no_more_than_a_millionth(tmp_path):
    """Columns so large that rounding leaves much uncertain: dropped models are missed all the same."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5)) * 10.0 ** np.array([6.0, 0.0, 6.0, 3.0, -3.0])
    y = np.where(X[:, 1] + rng.logistic(size=60) > 0.0, 1, -1)
    problem = ss.Problem(X, y, mu=0.01, gamma=100.0, standardize=False)
    path = tmp_path / "proof.npz"
    ss.alternatives(problem, within=0.1, proof=path)
    assert verify(path, X, y).valid
    header, arrays = load(path)
    assert header["claims"]["complete"]
    for place in np.flatnonzero(arrays["models_objective"] < header["threshold"] * (1.0 - 2e-6)):
        strict, _ = list_outcomes(dropping(place), path, X, y, tmp_path)
        assert not strict.valid


# -- finding supports --------------------------------------------------------------------------------------------------


def listed(supports, n_listed, n_features, minimal=True):
    """Supports of any sizes, the first of which are listed."""
    groups = []
    for size in sorted({len(one) for one in supports}):
        place = np.array([i for i, one in enumerate(supports) if len(one) == size])
        features = np.array([sorted(supports[i]) for i in place], np.int64).reshape(place.size, size)
        groups.append(Supports(place, features, np.zeros(features.shape), np.zeros(place.size)))
    count = len(supports)
    return ListedModels(groups, Evaluated(np.ones(count), np.zeros(count), 0.0), n_listed, minimal, n_features)


subsets = st.lists(st.frozensets(st.integers(0, 5)), unique=True, max_size=12)


@settings(deadline=None, max_examples=100)
@given(supports=subsets, asked=subsets, one_by_one=st.booleans(), share=st.floats(0.0, 1.0))
def test_supports_are_found(supports, asked, one_by_one, share):
    n_listed = round(share * len(supports))
    models = listed(supports, n_listed, 6)
    with pytest.MonkeyPatch.context() as patch:
        if one_by_one:
            patch.setattr(listed_models, "MOST_PARTS", -1)
        for one in asked:
            row = np.array([sorted(one)], np.int64).reshape(1, len(one))
            assert models.place_of(row)[0] == (supports.index(one) if one in supports else -1)
            assert models.part_of(row)[0] == any(other <= one for other in supports[:n_listed])
            assert models.part_of(row, proper=True)[0] == any(other < one for other in supports[:n_listed])
        pairs = combinations(supports[:n_listed], 2)
        assert models.is_antichain() == (not any(one < other or other < one for one, other in pairs))


def test_supports_with_the_same_key_are_told_apart(monkeypatch):
    """A support that is not there is not found; two that are there cost the proof."""
    monkeypatch.setattr(listed_models, "codes_of", lambda n: np.arange(n, dtype=np.uint64))
    models = listed([{0, 5}, {1, 2}, {3}], 3, 6)
    assert models.place_of(np.array([[0, 5], [1, 4], [2, 3], [1, 2], [0, 3]])).tolist() == [0, -1, -1, 1, -1]
    assert not models.part_of(np.array([[1, 4, 5]]))[0]
    with pytest.raises(RefusedError, match="twice"):
        listed([{0, 3}, {1, 2}], 2, 6)
    with pytest.raises(RefusedError, match="twice"):
        listed([{0, 3}, {0, 3}], 2, 6)


# -- going through a leaf ----------------------------------------------------------------------------------------------

numbers = st.floats(-1.0, 1.0)


@settings(deadline=None, max_examples=300)
@given(
    surplus=st.lists(numbers | st.just(0.0) | st.just(0.25), max_size=7),
    places=st.integers(0, 9),
    bound=numbers,
    threshold=numbers | st.just(1e300),
)
def test_supports_left_are_those_that_no_bound_excludes(surplus, places, bound, threshold):
    """As many as brute force finds over all subsets; those at the threshold itself may or may not be left."""
    free = np.array([2, 0, 7, 5, 9, 4, 8][: len(surplus)], np.int64)
    leaf = Leaf(np.array([1, 6]), free, np.array(surplus), places, bound)
    left = {}
    for features, bounds in supports_left(leaf, threshold):
        assert (np.diff(features, axis=1) > 0).all()
        for row, value in zip(features.tolist(), bounds.tolist(), strict=True):
            assert tuple(row) not in left
            left[tuple(row)] = value
    for size in range(min(places, free.size) + 1):
        for chosen in combinations(range(free.size), size):
            support = tuple(sorted([1, 6, *free[list(chosen)].tolist()]))
            exact = Fraction(bound) - sum((Fraction(surplus[j]) for j in chosen), Fraction(0))
            if exact < Fraction(threshold):
                assert support in left
            if support in left:
                assert Fraction(left.pop(support)) <= exact
                assert float(exact) <= threshold + 1e-13
    assert not left


@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf])
def test_a_point_that_is_not_finite_settles_nothing(broken):
    models = listed([{0}, {1}], 2, 4)
    free, surplus = np.array([1, 2, 3]), np.array([0.1, 0.2, 0.3])
    assert settle_leaf(Leaf(np.array([0]), free, surplus, 2, broken), models, 0.5) == (-np.inf, -np.inf)
    leaf = Leaf(np.array([0]), free, np.array([0.1, broken, 0.3]), 2, 0.4)
    assert settle_leaf(leaf, models, 0.5) == (-np.inf, -np.inf)


def test_too_many_supports_are_refused(monkeypatch):
    monkeypatch.setattr(listed_models, "MOST_SUPPORTS", 50)
    leaf = Leaf(np.zeros(0, np.int64), np.arange(12), np.full(12, 0.1), 6, 0.0)
    with pytest.raises(RefusedError, match="too many"):
        [*supports_left(leaf, 0.5)]


def test_an_empty_list_leaves_everything_missing():
    leaf = Leaf(np.array([0]), np.array([1, 2]), np.array([0.1, 0.2]), 2, 0.4)
    missing, of_all = settle_leaf(leaf, listed([], 0, 3), 0.5)
    assert missing == of_all == pytest.approx(0.1)


# -- arithmetic --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
def test_supports_enclose_exact_arithmetic(intercept, standardize, tmp_path, monkeypatch):
    """Objectives are rounded up and bounds down, by little, however many supports are looked at together."""
    X, y, terms = example(fit_intercept=intercept, standardize=standardize, mu=0.01)
    X = (X + standardize * 3.0) * 10.0 ** np.arange(-3.0, 5.0)
    path = tmp_path / "proof.npz"
    ss.alternatives(ss.Problem(X, y, **terms), within=0.05, proof=path)
    monkeypatch.setattr(listed_models, "BLOCK_ENTRIES", 500)
    with open(path, "rb") as file, np.errstate(all="ignore"):
        header, arrays = read_proof(file)
        problem = recognise_problem(header, arrays, X, y)
        groups = read_supports(arrays, problem.terms)
        found = evaluate_supports(problem, groups)
    means, scales = problem.stated_means.tolist(), problem.stated_scales.tolist()
    A = [
        [(Fraction(v) - Fraction(a)) / Fraction(s) for v in c]
        for c, a, s in zip(X.T.tolist(), means, scales, strict=True)
    ]
    rows = [
        row for group in groups for row in zip(group.place, group.features, group.values, group.intercept, strict=True)
    ]
    for place, features, values, b in rows[:: max(len(rows) // 12, 1)]:
        exact = exact_objective(problem, A, features.tolist(), values.tolist(), float(b))
        assert exact <= Decimal(float(found.objective[place])) <= exact * (1 + Decimal("1e-11"))
        dense = ((problem.columns.X - problem.columns.means) / problem.columns.scales)[:, features]
        predictor = dense @ values + b
        alpha = weigh_points(problem, 1.0 / (1.0 + np.exp(y * predictor))[None]).alpha[0].tolist()
        status = np.full(8, -1)
        status[features] = 1
        exact = exact_bound(problem, A, alpha, status.tolist(), header)
        lower = Decimal(float(found.bound[place]))
        doubt = Decimal(found.uncertainty) + Decimal("1e-9") * exact  # of the point, which is rounded in another order
        assert lower <= exact + Decimal("1e-15")
        assert exact <= lower + doubt
