"""Ways of tampering with a proof, for tests of the checker: each changes header, arrays or data of a copy.

:func:`outcomes` tries one of them on any proof with a tree and few features: as it is, and with claims so modest that
only the structure and the checker's own arithmetic stand between the tamperer and a wrong bound.
"""

from __future__ import annotations

import hashlib
import json
import math

import numpy as np

from prover import load, save
from safescreen.problem import Problem
from safescreen.testing.reference import brute_force
from safescreen.verification import verify
from safescreen.verification.reading import TREE_ARRAYS


def sealed(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def join(arrays):
    """All chunks as one tree, which is easier to tamper with."""
    parts = sorted(name[:10] for name in arrays if name.endswith("_nodes"))
    return {kind: np.concatenate([arrays.pop(f"{part}_{kind}") for part in parts]) for kind in TREE_ARRAYS}


def split(header, arrays, tree):
    """Store a tree as a single chunk."""
    arrays |= {f"tree000000_{kind}": array for kind, array in tree.items()}
    header["chunks"] = 1


def on_tree(change):
    """Turn a change of the joined tree into a change of the proof."""

    def tamper(header, arrays, data):
        tree = join(arrays)
        change(tree)
        split(header, arrays, tree)

    return tamper


TAMPERINGS = {}


def tampering(function):
    """Register a way of tampering: it changes header, arrays and data in place, or returns the bytes of the header."""
    TAMPERINGS[function.__name__] = function
    return function


def on(name):
    """Register a change of the tree under a name."""

    def register(change):
        TAMPERINGS[name] = on_tree(change)
        return change

    return register


def leaves(tree):
    return np.flatnonzero(~np.isin(np.arange(len(tree["nodes"])), tree["nodes"]["parent"]))


def drop(tree, rows):
    """Remove nodes with all that belongs to them; a careful tamperer also corrects the parents of the others."""
    nodes = tree["nodes"]
    keep = np.ones(len(nodes), bool)
    keep[rows] = False
    place = np.where(keep, np.cumsum(keep) - 1, 10**6)
    nodes["parent"] = np.where(nodes["parent"] < 0, -1, place[nodes["parent"]])
    tree["screened"] = tree["screened"][np.repeat(keep, nodes["screened"])]
    entries = np.repeat(keep, np.maximum(nodes["size"], 0))
    tree["feature"], tree["value"], tree["nodes"] = tree["feature"][entries], tree["value"][entries], nodes[keep]


def add_code(tree, row, code):
    """Let a node make one more screening decision."""
    place = int(tree["nodes"]["screened"][: row + 1].sum())
    tree["screened"] = np.insert(tree["screened"], place, np.int32(code))
    tree["nodes"]["screened"][row] += 1


@on("drop a leaf")
def _(tree):
    drop(tree, leaves(tree)[-1:])


@on("drop both leaves of a node")
def _(tree):
    last = leaves(tree)[-1]
    drop(tree, np.flatnonzero(tree["nodes"]["parent"] == tree["nodes"]["parent"][last]))


@on("drop all but the root")
def _(tree):
    drop(tree, np.arange(1, len(tree["nodes"])))


@on("drop the root")
def _(tree):
    drop(tree, [0])


@on("flip a branch")
def _(tree):
    row = np.flatnonzero(tree["nodes"]["decision"])[-1]
    tree["nodes"]["decision"][row] *= -1


@on("branch on another feature on one side")
def _(tree):
    row = np.flatnonzero(tree["nodes"]["decision"])[0]
    code = tree["nodes"]["decision"][row]
    tree["nodes"]["decision"][row] = np.sign(code) * (abs(code) % 8 + 1)


@on("forget a branching decision")
def _(tree):
    tree["nodes"]["decision"][np.flatnonzero(tree["nodes"]["decision"])[0]] = 0


@on("branch on a feature out of range")
def _(tree):
    pair = tree["nodes"]["parent"] == tree["nodes"]["parent"][np.flatnonzero(tree["nodes"]["decision"])[0]]
    tree["nodes"]["decision"][pair] = np.sign(tree["nodes"]["decision"][pair]) * 9


@on("branch on the least number")
def _(tree):
    tree["nodes"]["decision"][-1] = -(2**31)


@on("swap parent links")
def _(tree):
    parents = tree["nodes"]["parent"]
    other = np.flatnonzero(parents != parents[-1])[-1]
    parents[[-1, other]] = parents[[other, -1]]


@on("a node is its own parent")
def _(tree):
    tree["nodes"]["parent"][-1] = len(tree["nodes"]) - 1


@on("a cycle")
def _(tree):
    parents = tree["nodes"]["parent"]
    inner = parents.max()
    parents[inner] = np.flatnonzero(parents == inner)[0]


@on("an unknown parent")
def _(tree):
    tree["nodes"]["parent"][-1] = 10**6


@on("an extra root")
def _(tree):
    tree["nodes"]["parent"][-1] = -1


@on("a root with a decision")
def _(tree):
    tree["nodes"]["decision"][0] = 1


@on("no root")
def _(tree):
    tree["nodes"]["parent"][0] = 0


@on("children before their parents")
def _(tree):
    size = np.maximum(tree["nodes"]["size"], 0)
    entries = np.split(np.arange(size.sum()), np.cumsum(size)[:-1])[::-1]
    codes = np.split(tree["screened"], np.cumsum(tree["nodes"]["screened"])[:-1])[::-1]
    tree["nodes"], tree["screened"] = tree["nodes"][::-1].copy(), np.concatenate(codes)
    parents = tree["nodes"]["parent"]
    tree["nodes"]["parent"] = np.where(parents < 0, -1, len(parents) - 1 - parents)
    tree["feature"], tree["value"] = tree["feature"][np.concatenate(entries)], tree["value"][np.concatenate(entries)]


@on("a third child")
def _(tree):
    extra = tree["nodes"][-1:].copy()
    extra["size"], extra["screened"] = -1, 0
    tree["nodes"] = np.concatenate((tree["nodes"], extra))


@on("a negative parent")
def _(tree):
    tree["nodes"]["parent"][-1] = -5


@on("the least parent")
def _(tree):
    tree["nodes"]["parent"][-1] = -(2**63)


@on("screen a feature that is not screened out")
def _(tree):
    add_code(tree, np.flatnonzero(tree["nodes"]["size"] >= 0)[0], -1)


@on("screen a feature that is not screened in")
def _(tree):
    add_code(tree, np.flatnonzero(tree["nodes"]["size"] >= 0)[0], 3)


@on("screen everything everywhere")
def _(tree):
    for row in np.flatnonzero(tree["nodes"]["size"] >= 0):
        for j in range(8):
            add_code(tree, row, -(j + 1))


@on("screen a feature both ways")
def _(tree):
    row = np.flatnonzero(tree["nodes"]["size"] >= 0)[0]
    add_code(tree, row, 2)
    add_code(tree, row, -2)


@on("screen at a node without a point")
def _(tree):
    row = np.flatnonzero(tree["nodes"]["size"] < 0)[0]
    add_code(tree, row, -1)


@on("screening code zero")
def _(tree):
    tree["screened"][0] = 0


@on("screening code out of range")
def _(tree):
    tree["screened"][0] = -100


@on("flip a screening decision")
def _(tree):
    tree["screened"][0] *= -1


@on("forget a screening decision")
def _(tree):
    tree["screened"] = tree["screened"][1:]


@on("wrong count of decisions")
def _(tree):
    tree["nodes"]["screened"][0] += 1


@on("negative count of decisions")
def _(tree):
    tree["nodes"]["screened"][0] -= 5
    tree["nodes"]["screened"][1] += 5


@on("wrong size of a point")
def _(tree):
    tree["nodes"]["size"][np.flatnonzero(tree["nodes"]["size"] > 0)[0]] -= 1


@on("impossible size of a point")
def _(tree):
    tree["nodes"]["size"][np.flatnonzero(tree["nodes"]["size"] < 0)[0]] = -2


@on("a point that is nan")
def _(tree):
    tree["value"][0] = np.nan


@on("a point that is infinite")
def _(tree):
    tree["value"][0] = np.inf


@on("an intercept that is nan")
def _(tree):
    tree["nodes"]["intercept"][0] = np.nan


@on("a huge point")
def _(tree):
    tree["value"][:] *= 1e300


@on("a point in a feature out of range")
def _(tree):
    tree["feature"][0] = 8


@on("a point in a negative feature")
def _(tree):
    tree["feature"][0] = -1


@on("points shuffled")
def _(tree):
    tree["value"] = np.random.default_rng(0).permutation(tree["value"])


@on("points without features")
def _(tree):
    tree["feature"] = tree["feature"][:-1]


@on("nodes of another type")
def _(tree):
    fields = [(name, "<i4" if name == "parent" else kind) for name, kind in tree["nodes"].dtype.descr]
    tree["nodes"] = tree["nodes"].astype(np.dtype(fields))


@on("values in single precision")
def _(tree):
    tree["value"] = tree["value"].astype(np.float32)


@on("values as a matrix")
def _(tree):
    tree["value"] = tree["value"][:, None]


@tampering
def drop_a_chunk(header, arrays, data):
    for kind in TREE_ARRAYS:
        del arrays[f"tree{header['chunks'] - 1:06d}_{kind}"]


@tampering
def drop_a_chunk_and_correct_the_header(header, arrays, data):
    drop_a_chunk(header, arrays, data)
    header["chunks"] -= 1


@tampering
def drop_the_tree(header, arrays, data):
    join(arrays)
    header["chunks"] = 0


@tampering
def drop_the_tree_but_keep_the_count(header, arrays, data):
    join(arrays)


@tampering
def keep_the_tree_but_not_the_count(header, arrays, data):
    header["chunks"] = 0


@tampering
def swap_two_chunks(header, arrays, data):
    for kind in TREE_ARRAYS:
        first, second = f"tree000000_{kind}", f"tree000001_{kind}"
        arrays[first], arrays[second] = arrays[second], arrays[first]


@tampering
def wrong_number_of_chunks(header, arrays, data):
    header["chunks"] += 1


@tampering
def enormous_number_of_chunks(header, arrays, data):
    header["chunks"] = 10**18


@tampering
def negative_number_of_chunks(header, arrays, data):
    header["chunks"] = -1


@tampering
def claim_a_better_objective(header, arrays, data):
    header["claims"]["objective"] *= 1.0 - 1e-6


@tampering
def claim_a_better_bound(header, arrays, data):
    header["claims"]["lower_bound"] += 1e-6


@tampering
def claim_optimality(header, arrays, data):
    on_tree(lambda tree: drop(tree, np.arange(1, len(tree["nodes"]))))(header, arrays, data)
    header["claims"] |= {"lower_bound": 0.0, "status": "optimal", "rel_gap": 1e-6}


@tampering
def claim_nothing(header, arrays, data):
    del header["claims"]


@tampering
def claim_a_word(header, arrays, data):
    header["claims"]["objective"] = "good"


@tampering
def root_dual_out_of_range(header, arrays, data):
    arrays["root_dual"][0] = 1.5


@tampering
def root_dual_negative(header, arrays, data):
    arrays["root_dual"][5] = -1e-9


@tampering
def root_dual_nan(header, arrays, data):
    arrays["root_dual"][0] = np.nan


@tampering
def root_dual_too_short(header, arrays, data):
    arrays["root_dual"] = arrays["root_dual"][1:]


@tampering
def root_dual_random(header, arrays, data):
    arrays["root_dual"] = np.random.default_rng(0).random(40)


@tampering
def root_screens_all_out(header, arrays, data):
    arrays["root_screened"] = -np.arange(1, 6, dtype=np.int32)


@tampering
def root_screens_all_in(header, arrays, data):
    arrays["root_screened"] = np.arange(1, 6, dtype=np.int32)


@tampering
def root_screens_twice(header, arrays, data):
    arrays["root_screened"] = np.array([1, -1], np.int32)


@tampering
def root_screens_an_included_feature_out(header, arrays, data):
    arrays["root_screened"] = np.array([-7], np.int32)


@tampering
def root_screens_an_excluded_feature_in(header, arrays, data):
    arrays["root_screened"] = np.array([6], np.int32)


@tampering
def swap_two_features_of_the_data(header, arrays, data):
    data["X"] = data["X"][:, [1, 0, *range(2, 8)]]


@tampering
def change_one_entry(header, arrays, data):
    data["X"][7, 2] = np.nextafter(data["X"][7, 2], 9.0)


@tampering
def permute_rows(header, arrays, data):
    order = np.random.default_rng(0).permutation(40)
    data["X"], data["y"] = data["X"][order], data["y"][order]


@tampering
def permute_rows_and_reseal(header, arrays, data):
    permute_rows(header, arrays, data)
    header["fingerprint"]["matrix"] = sealed(data["X"])
    header["fingerprint"]["labels"] = sealed(data["y"].astype(np.int8))


@tampering
def change_one_entry_and_reseal(header, arrays, data):
    data["X"][7, 2] += 1.0
    header["fingerprint"]["matrix"] = sealed(data["X"])


@tampering
def a_row_less(header, arrays, data):
    data["X"], data["y"] = data["X"][1:], data["y"][1:]


@tampering
def a_column_more(header, arrays, data):
    data["X"] = np.column_stack((data["X"], data["X"][:, 0]))


@tampering
def nan_in_the_data_and_reseal(header, arrays, data):
    data["X"][0, 0] = np.nan
    header["fingerprint"]["matrix"] = sealed(data["X"])


@tampering
def flip_all_labels(header, arrays, data):
    data["y"] = -data["y"]


@tampering
def flip_one_label(header, arrays, data):
    data["y"][0] *= -1


@tampering
def a_third_label(header, arrays, data):
    data["y"][0] = 0


@tampering
def swap_the_classes(header, arrays, data):
    header["classes"] = header["classes"][::-1]


@tampering
def flip_one_label_and_reseal(header, arrays, data):
    data["y"][0] *= -1
    header["fingerprint"]["labels"] = sealed(data["y"].astype(np.int8))


@tampering
def change_a_weight(header, arrays, data):
    arrays["weights"][0] *= 1.0 + 1e-12


@tampering
def change_weights_and_reseal(header, arrays, data):
    arrays["weights"] = np.roll(arrays["weights"], 1)
    header["fingerprint"]["weights"] = sealed(arrays["weights"])


@tampering
def negative_weight_and_reseal(header, arrays, data):
    arrays["weights"][0] = -arrays["weights"][0]
    header["fingerprint"]["weights"] = sealed(arrays["weights"])


@tampering
def double_the_weights_and_reseal(header, arrays, data):
    arrays["weights"] = 2.0 * arrays["weights"]
    header["fingerprint"]["weights"] = sealed(arrays["weights"])


@tampering
def no_weights(header, arrays, data):
    del arrays["weights"]


@tampering
def change_gamma(header, arrays, data):
    header["gamma"] *= 1.01


@tampering
def negative_gamma(header, arrays, data):
    header["gamma"] *= -1


@tampering
def change_mu(header, arrays, data):
    header["mu"] *= 1.01


@tampering
def negative_mu(header, arrays, data):
    header["mu"] *= -1


@tampering
def raise_the_budget(header, arrays, data):
    header["k"] += 1


@tampering
def lower_the_budget(header, arrays, data):
    header["k"] = 1


@tampering
def no_budget(header, arrays, data):
    header["k"] = 0


@tampering
def include_another_feature(header, arrays, data):
    arrays["include"] = np.array([0, 6])


@tampering
def include_nothing(header, arrays, data):
    arrays["include"] = np.zeros(0, np.int64)


@tampering
def exclude_nothing(header, arrays, data):
    arrays["exclude"] = np.zeros(0, np.int64)


@tampering
def exclude_a_chosen_feature(header, arrays, data):
    arrays["exclude"] = np.setdiff1d(arrays["support"], arrays["include"])[:1]


@tampering
def include_an_excluded_feature(header, arrays, data):
    arrays["include"] = np.array([5, 6])


@tampering
def include_out_of_range(header, arrays, data):
    arrays["include"] = np.array([8])


@tampering
def call_a_column_constant(header, arrays, data):
    arrays["constant"] = np.array([1, 7])


@tampering
def call_no_column_constant(header, arrays, data):
    arrays["constant"] = np.zeros(0, np.int64)


@tampering
def change_a_mean(header, arrays, data):
    arrays["means"][0] += 1e-6


@tampering
def change_a_scale(header, arrays, data):
    arrays["scales"][0] *= 1.0 + 1e-6


@tampering
def scale_zero(header, arrays, data):
    arrays["scales"][0] = 0.0


@tampering
def too_few_means(header, arrays, data):
    arrays["means"] = arrays["means"][1:]


@tampering
def no_scales(header, arrays, data):
    del arrays["scales"]


@tampering
def not_standardised_after_all(header, arrays, data):
    header["standardize"] = False
    del arrays["means"], arrays["scales"]


@tampering
def model_with_too_many_features(header, arrays, data):
    arrays["support"], arrays["coef"] = np.arange(5), np.ones(5) * 1e-3


@tampering
def model_with_an_excluded_feature(header, arrays, data):
    arrays["support"][0] = 5


@tampering
def model_with_a_constant_feature(header, arrays, data):
    arrays["support"][0] = 7


@tampering
def model_with_a_feature_twice(header, arrays, data):
    arrays["support"] = np.append(arrays["support"], arrays["support"][0])
    arrays["coef"] = np.append(arrays["coef"], 0.0)


@tampering
def model_with_a_feature_out_of_range(header, arrays, data):
    arrays["support"][0] = -1


@tampering
def model_without_coefficients(header, arrays, data):
    arrays["coef"] = arrays["coef"][:0]


@tampering
def change_a_coefficient(header, arrays, data):
    arrays["coef"][0] *= 1.5


@tampering
def coefficient_nan(header, arrays, data):
    arrays["coef"][0] = np.nan


@tampering
def intercept_smuggled_in(header, arrays, data):
    header["intercept"] += 0.01


@tampering
def intercept_allowed(header, arrays, data):
    header["fit_intercept"] = True


@tampering
def intercept_infinite(header, arrays, data):
    return json.dumps(header | {"intercept": math.inf}).encode()


@tampering
def intercept_nan(header, arrays, data):
    return json.dumps(header | {"intercept": math.nan}).encode()


@tampering
def intercept_true(header, arrays, data):
    header["intercept"] = True


@tampering
def number_too_large_for_a_double(header, arrays, data):
    header["intercept"] = 10**400


@tampering
def version_two(header, arrays, data):
    header["version"] = 2


@tampering
def another_format(header, arrays, data):
    header["format"] = "cake recipe"


@tampering
def header_without_a_field(header, arrays, data):
    del header["gamma"]


@tampering
def header_is_a_list(header, arrays, data):
    return b"[1, 2, 3]"


@tampering
def header_is_nested_deeply(header, arrays, data):
    return b"[" * 100_000


@tampering
def header_is_no_json(header, arrays, data):
    return b"{'format': 'safescreen-proof'}"


@tampering
def header_is_no_text(header, arrays, data):
    return bytes(range(128, 256))


@tampering
def absent_member(header, arrays, data):
    del arrays["root_dual"]


@tampering
def unknown_member(header, arrays, data):
    arrays["more"] = np.zeros(3)


@tampering
def object_array(header, arrays, data):
    arrays["support"] = arrays["support"].astype(object)


@tampering
def support_of_floats(header, arrays, data):
    arrays["support"] = arrays["support"].astype(float)


@tampering
def big_endian(header, arrays, data):
    arrays["coef"] = arrays["coef"].astype(">f8")


# -- trying them out ---------------------------------------------------------------------------------------------------


def tampered(name, path, X, y, target, modest):
    """Write a tampered copy of a proof; returns its header, its arrays and the data to check it with."""
    header, arrays = load(path)
    arrays = {key: array.copy() for key, array in arrays.items()}
    data = {"X": X.copy(), "y": y.copy()}
    text = TAMPERINGS[name](header, arrays, data)
    if modest and isinstance(header.get("claims"), dict):
        header["claims"] = {"objective": 1e9, "lower_bound": -1e9, "status": "node_limit", "rel_gap": 0.0}
    save(target, header if text is None else text, arrays)
    return header, arrays, data["X"], data["y"]


def stated_problem(header, arrays, X, y):
    """The problem a proof is about, by its own words."""
    lists = {name: arrays[name].tolist() for name in ("include", "exclude") if name in arrays}
    flags = {name: header[name] for name in ("mu", "k", "gamma", "fit_intercept", "standardize")}
    return Problem(X, y, sample_weight=arrays.get("weights"), **flags, **lists)


def outcomes(name, path, X, y, folder):
    """The verifications of a tampered proof, as it is and with modest claims.

    Whatever is valid must be true of the problem the tampered proof states: that is asserted here.
    """
    results = []
    for modest in (False, True):
        header, arrays, X_now, y_now = tampered(name, path, X, y, folder / "tampered.npz", modest)
        result = verify(folder / "tampered.npz", X_now, y_now)
        if result.valid:
            found = brute_force(stated_problem(header, arrays, X_now, y_now))
            truth = found.value
            assert result.lower_bound <= truth + 1e-13 * abs(truth)
            assert result.objective >= truth - 1e-13 * abs(truth)
            check_neighbourhood(
                result, {*arrays["support"].tolist(), *arrays.get("include", np.empty(0, int)).tolist()}, found.table
            )
        results.append(result)
    return results


def check_neighbourhood(result, model, table):
    """No model that exchanges as few features of this one is better than the checker says."""
    assert result.features == len(model)
    if result.proved_exchanges:
        near = [value for support, value in table.items() if len(model.difference(support)) <= result.proved_exchanges]
        assert result.near_bound <= min(near) * (1.0 + 1e-13) + 1e-300


# -- lists of models ---------------------------------------------------------------------------------------------------

LIST_TAMPERINGS = {}


def on_list(function):
    """Register a way of tampering with a list of models: it changes the header and the supports in place."""

    def tamper(header, arrays, data):
        supports = separate(arrays)
        function(header, supports)
        arrays |= together(supports)

    LIST_TAMPERINGS[function.__name__] = tamper
    return function


def on_list_file(function):
    """Register one that changes header, arrays and data, as those of a single model do."""
    LIST_TAMPERINGS[function.__name__] = function
    return function


def separate(arrays):
    """The supports of a proof, one by one; those that are listed have an objective."""
    cuts = np.cumsum(arrays["models_size"])[:-1]
    feature, value = np.split(arrays["models_feature"], cuts), np.split(arrays["models_value"], cuts)
    objective = [*arrays["models_objective"].tolist(), *[None] * arrays["models_size"].size]
    rows = zip(feature, value, arrays["models_intercept"].tolist(), objective, strict=False)
    return [dict(zip(("feature", "value", "intercept", "objective"), row, strict=True)) for row in rows]


def together(supports):
    """The arrays of such supports."""
    return {
        "models_size": np.array([support["feature"].size for support in supports], np.int32),
        "models_feature": np.concatenate([np.zeros(0, np.int32), *(one["feature"] for one in supports)]).astype("<i4"),
        "models_value": np.concatenate([np.zeros(0), *(one["value"] for one in supports)]),
        "models_intercept": np.array([one["intercept"] for one in supports], np.float64),
        "models_objective": np.array([one["objective"] for one in supports if one["objective"] is not None], float),
    }


def largest(supports):
    """Of the listed models the first with the most features."""
    return max(listed_ones(supports), key=lambda one: one["feature"].size)


def listed_ones(supports):
    return [one for one in supports if one["objective"] is not None]


@on_list
def drop_the_best(header, supports):
    header["listed"] -= 1
    del supports[0]


@on_list
def drop_the_last_listed(header, supports):
    header["listed"] -= 1
    del supports[header["listed"]]


@on_list
def list_nothing(header, supports):
    del supports[: header["listed"]]
    header["listed"] = 0


@on_list
def no_supports_at_all(header, supports):
    supports.clear()
    header["listed"] = 0


@on_list
def drop_what_is_refuted(header, supports):
    del supports[header["listed"] :]


@on_list
def drop_one_that_is_refuted(header, supports):
    del supports[-1]


@on_list
def hide_a_listed_model_among_the_refuted(header, supports):
    header["listed"] -= 1
    supports.append(supports.pop(0) | {"objective": None})


@on_list
def list_the_refuted(header, supports):
    for one in supports[header["listed"] :]:
        one["objective"] = supports[0]["objective"]
    header["listed"] = len(supports)


@on_list
def a_lower_objective(header, supports):
    supports[0]["objective"] *= 1.0 - 1e-6


@on_list
def a_higher_objective(header, supports):
    supports[0]["objective"] *= 1.0 + 1e-6


@on_list
def a_huge_objective(header, supports):
    supports[0]["objective"] = 1.7e308


@on_list
def an_objective_that_is_nan(header, supports):
    supports[0]["objective"] = math.nan


@on_list
def another_coefficient(header, supports):
    largest(supports)["value"][0] += 0.01


@on_list
def coefficients_that_are_nan(header, supports):
    largest(supports)["value"][0] = math.nan


@on_list
def coefficients_that_are_infinite(header, supports):
    largest(supports)["value"][0] = math.inf


@on_list
def huge_coefficients(header, supports):
    largest(supports)["value"][:] = 1e200


@on_list
def huge_points_of_the_refuted(header, supports):
    for one in supports[header["listed"] :]:
        one["value"] = one["value"] * 1e300


@on_list
def another_intercept(header, supports):
    supports[0]["intercept"] += 0.01


@on_list
def an_intercept_that_is_infinite(header, supports):
    supports[0]["intercept"] = -math.inf


@on_list
def another_feature(header, supports):
    one = largest(supports)
    free = [j for j in range(5) if j not in one["feature"]]
    one["feature"] = np.sort(np.append(one["feature"][1:], free[:1]))


@on_list
def a_feature_out_of_range(header, supports):
    largest(supports)["feature"][-1] = 8


@on_list
def a_negative_feature(header, supports):
    largest(supports)["feature"][0] = -1


@on_list
def features_out_of_order(header, supports):
    one = largest(supports)
    one["feature"], one["value"] = one["feature"][::-1], one["value"][::-1]


@on_list
def a_feature_twice(header, supports):
    one = largest(supports)
    one["feature"][-1] = one["feature"][0]


@on_list
def a_listed_model_with_an_excluded_feature(header, supports):
    one = min(supports, key=lambda one: one["feature"].size)
    one["feature"], one["value"] = np.append(one["feature"], 5), np.append(one["value"], 0.0)


@on_list
def a_listed_model_with_a_constant_column(header, supports):
    one = min(supports, key=lambda one: one["feature"].size)
    one["feature"], one["value"] = np.append(one["feature"], 7), np.append(one["value"], 0.0)


@on_list
def a_listed_model_without_what_is_included(header, supports):
    one = largest(supports)
    kept = one["feature"] != 6
    one["feature"], one["value"] = one["feature"][kept], one["value"][kept]


@on_list
def a_listed_model_over_the_budget(header, supports):
    supports[0]["feature"], supports[0]["value"] = np.array([0, 1, 2, 3, 4, 6]), np.zeros(6)


@on_list
def a_model_twice(header, supports):
    supports.insert(0, dict(supports[0]))
    header["listed"] += 1


@on_list
def a_listed_model_is_refuted_as_well(header, supports):
    supports.append(supports[0] | {"objective": None})


@on_list
def the_included_features_alone_in_place_of_all(header, supports):
    """Every model contains them, so that nothing would be missing from a list of minimal models."""
    objective = header["claims"]["objective"]
    supports[:] = [{"feature": np.array([6]), "value": np.zeros(1), "intercept": 0.0, "objective": objective}]
    header["listed"], header["goal"] = 1, "minimal"


@on_list
def a_superset_of_a_listed_model(header, supports):
    one = min(listed_ones(supports), key=lambda one: one["feature"].size)
    j = next(j for j in range(5) if j not in one["feature"])
    order = np.argsort(np.append(one["feature"], j))
    more = {"feature": np.append(one["feature"], j)[order], "value": np.append(one["value"], 0.0)[order]}
    supports.insert(0, one | more | {"objective": one["objective"] + header["mu"]})
    header["listed"] += 1


@on_list_file
def listed_one_more(header, arrays, data):
    header["listed"] += 1


@on_list_file
def listed_one_less(header, arrays, data):
    header["listed"] -= 1


@on_list_file
def listed_negative(header, arrays, data):
    header["listed"] = -1


@on_list_file
def listed_true(header, arrays, data):
    header["listed"] = True


@on_list_file
def one_objective_less(header, arrays, data):
    arrays["models_objective"] = arrays["models_objective"][:-1]


@on_list_file
def one_feature_less(header, arrays, data):
    arrays["models_feature"] = arrays["models_feature"][:-1]


@on_list_file
def one_size_negative(header, arrays, data):
    arrays["models_size"][0] -= 100
    arrays["models_size"][1] += 100


@on_list_file
def raise_the_bound(header, arrays, data):
    header["claims"]["missing_bound"] *= 1.0 + 1e-5


@on_list_file
def raise_the_bound_and_the_threshold(header, arrays, data):
    header["threshold"] = header["claims"]["missing_bound"] = header["threshold"] * 1.001


@on_list_file
def no_threshold(header, arrays, data):
    header["threshold"] = header["claims"]["missing_bound"] = 1e300


@on_list_file
def lower_the_threshold(header, arrays, data):
    header["threshold"] = header["claims"]["missing_bound"] = header["claims"]["objective"] * 0.99


@on_list_file
def a_threshold_that_is_nan(header, arrays, data):
    return json.dumps(header | {"threshold": math.nan}).encode()


@on_list_file
def a_bound_that_is_infinite(header, arrays, data):
    return json.dumps(header | {"claims": header["claims"] | {"missing_bound": math.inf}}).encode()


@on_list_file
def the_opposite_of_complete(header, arrays, data):
    header["claims"]["complete"] = not header["claims"]["complete"]


@on_list_file
def complete_is_a_number(header, arrays, data):
    header["claims"]["complete"] = int(header["claims"]["complete"])


@on_list_file
def the_other_goal(header, arrays, data):
    header["goal"] = {"all": "minimal", "minimal": "all"}[header["goal"]]


@on_list_file
def an_unknown_goal(header, arrays, data):
    header["goal"] = "some"


@on_list_file
def no_goal(header, arrays, data):
    del header["goal"]


@on_list_file
def no_objectives(header, arrays, data):
    del arrays["models_objective"]


@on_list_file
def one_array_more(header, arrays, data):
    arrays["models_gap"] = np.zeros(header["listed"])


@on_list_file
def sizes_of_another_type(header, arrays, data):
    arrays["models_size"] = arrays["models_size"].astype(np.int64)


@on_list_file
def called_version_one(header, arrays, data):
    header["version"] = 1


@on_list_file
def called_version_one_with_its_claims(header, arrays, data):
    """Cut down to what the first version knows, with claims of the second among its own."""
    header["version"] = 1
    header["claims"] |= {"lower_bound": 0.0, "rel_gap": 1.0, "status": "node_limit", "goal": "all", "listed": 0}
    for name in ("goal", "listed", "threshold"):
        del header[name]
    for name in [name for name in arrays if name.startswith("models_")]:
        del arrays[name]


@on_list_file
def version_three(header, arrays, data):
    header["version"] = 3


@on_list_file
def version_true(header, arrays, data):
    header["version"] = True


@on_list_file
def version_with_a_fraction(header, arrays, data):
    header["version"] = 2.0


TABLES = {}
"""The best objectives of all supports, of the problems that were met."""


def table_of(problem):
    """The best objective of every support; most ways of tampering leave the problem as it is."""
    arrays = (problem.include, problem.exclude, problem.weights, problem.y, problem.design.constant)
    terms = (problem.mu, problem.k, problem.gamma, problem.fit_intercept, problem.standardize)
    key = (terms, *(array.tobytes() for array in arrays), problem.fingerprint["matrix"])
    if key not in TABLES:
        TABLES[key] = brute_force(problem).table
    return TABLES[key]


def list_outcomes(change, path, X, y, folder):
    """The verifications of a tampered list of models, as it is and with a modest claim; what is valid must be true."""
    results = []
    for modest in (False, True):
        header, arrays = load(path)
        arrays = {key: array.copy() for key, array in arrays.items()}
        data = {"X": X.copy(), "y": y.copy()}
        text = change(header, arrays, data)
        if modest and isinstance(header.get("claims"), dict):
            header["claims"] |= {"objective": 1e9, "missing_bound": -1e9, "complete": False}
        save(folder / "tampered.npz", header if text is None else text, arrays)
        result = verify(folder / "tampered.npz", data["X"], data["y"])
        if result.valid and "goal" in result.claims:
            problem = stated_problem(header, arrays, data["X"], data["y"])
            assert_true_list(result, arrays, table_of(problem))
        results.append(result)
    return results


def assert_true_list(result, arrays, table):
    """What a valid list says, held against the best objective of every support."""
    listed = [(frozenset(one["feature"].tolist()), one["objective"]) for one in separate(arrays)]
    listed = dict(listed[: result.models])
    below = {frozenset(support): value for support, value in table.items() if value < result.missing_bound - 1e-12}
    minimal = result.claims["goal"] == "minimal"
    assert result.claims["missing_bound"] <= result.missing_bound * (1.0 + 2e-6) or result.claims["missing_bound"] < 0.0
    for support, objective in listed.items():
        assert objective >= table[tuple(sorted(support))] * (1.0 - 2e-9)
        assert objective <= result.claims["threshold"] * (1.0 + 2e-9)
        if minimal and result.claims["complete"]:
            assert not any(support - {j} in below for j in support)
    for support in below:
        assert any(one <= support for one in listed) if minimal else support in listed, support
    truth = min(table.values())
    assert result.lower_bound <= truth * (1.0 + 1e-13)
    assert result.objective >= truth * (1.0 - 1e-13)
