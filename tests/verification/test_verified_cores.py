"""Proofs of cores: accepted as they are, and once changed refused, or about something that is still true."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import safescreen as ss
from safescreen.testing.reference import brute_force

WITHIN = 0.02


@pytest.fixture(scope="module", params=[1, 2])
def proved(request, tmp_path_factory):
    """Data, problem, brute force, core and its proof."""
    X, y, _ = ss.datasets.make_sparse_logistic(60, 10, 3, 1.0, random_state=1)
    problem = ss.Problem(X, y, k=3, gamma=10.0)
    path = tmp_path_factory.mktemp("cores") / "core.npz"
    core = ss.core(problem, within=WITHIN, at_least=request.param, proof=path)
    return X, y, brute_force(problem), core, path


def rewritten(path, change, folder):
    """A copy of the proof after a change of header and arrays."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(arrays.pop("header").tobytes())
    change(header, arrays)
    copy = folder / "copy.npz"
    np.savez(copy, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)
    return copy


def test_a_proof_is_accepted_for_what_it_says(proved):
    X, y, truth, core, path = proved
    check = ss.verify(path, X, y, k=3, gamma=10.0)
    assert check.valid, check.reason
    assert check.claims["core"] == sorted(core.features.tolist())
    assert check.objective == pytest.approx(core.objective, rel=1e-12)
    assert check.avoiding_bound == pytest.approx(core.lower_bound, rel=1e-9)
    assert check.lower_bound <= truth.value <= check.objective
    assert f"within 2 % of the best, uses at least {core.at_least} of the {len(core)} features" in str(check)


def test_other_data_and_other_questions(proved):
    X, y, _, _, path = proved
    assert not ss.verify(path, X + 1e-3 * np.arange(10), y).valid
    assert not ss.verify(path, X, 1 - y).valid
    assert "another question" in ss.verify(path, X, y, k=4).reason


def ask_for_more(header, arrays):
    header["at_least"] += 1


def widen(header, arrays):
    header["within"] = 0.9


def claim_more(header, arrays):
    header["claims"]["lower_bound"] *= 1.001


def worse_model(header, arrays):
    arrays["coef"] = 0.3 * arrays["coef"]
    header["claims"]["objective"] = 1e9


def better_objective(header, arrays):
    header["claims"]["objective"] *= 0.99


def other_point(header, arrays):
    arrays["root_dual"] = np.full(arrays["root_dual"].size, 0.5)


def other_ridge(header, arrays):
    header["gamma"] = 100.0


@pytest.mark.parametrize(
    "change", [ask_for_more, widen, claim_more, worse_model, better_objective, other_point, other_ridge]
)
def test_tampering_is_refused(proved, change, tmp_path):
    X, y, _, _, path = proved
    assert not ss.verify(rewritten(path, change, tmp_path), X, y).valid


def test_every_feature_of_the_core_is_needed_for_the_proof(proved, tmp_path):
    """Whatever is dropped or exchanged, an accepted proof is true by brute force."""
    X, y, truth, core, path = proved
    refused = 0
    for place in range(len(core)):
        for other in (None, *range(10)):

            def change(header, arrays, place=place, other=other):
                kept = np.delete(arrays["core"], place)
                arrays["core"] = kept if other is None else np.append(kept, other)

            check = ss.verify(rewritten(path, change, tmp_path), X, y)
            refused += not check.valid
            if check.valid:
                members = set(check.claims["core"])
                few = [v for s, v in truth.table.items() if len(members & set(s)) < core.at_least]
                assert min(few) > (1.0 + WITHIN) * truth.value
    assert refused >= len(core)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda header, arrays: arrays.update(core=np.array([0, 0])), "twice"),
        (lambda header, arrays: arrays.update(core=np.array([99])), "out of range"),
        (lambda header, arrays: arrays.update(core=arrays["core"].astype(np.int32)), "wrong type|cannot be read"),
        (lambda header, arrays: arrays.pop("core"), "lacks"),
        (lambda header, arrays: header.update(goal="all"), "goal"),
        (lambda header, arrays: header.update(at_least=0), "impossible"),
        (lambda header, arrays: header.update(within=-0.5), "impossible"),
        (lambda header, arrays: header.update(version=5), "version"),
        (lambda header, arrays: header.update(chunks=-1), "tree"),
        (lambda header, arrays: header.update(more=1), "does not know"),
        (lambda header, arrays: arrays.update(include=arrays["core"][:1]), "decided beforehand|not those|budget"),
    ],
)
def test_malformed_proofs(proved, change, words, tmp_path):
    X, y, _, _, path = proved
    check = ss.verify(rewritten(path, change, tmp_path), X, y)
    assert not check.valid
    assert re.search(words, check.reason), check.reason
