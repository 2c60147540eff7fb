"""Nodes that are closed candidate by candidate: proofs of the solver hold, and whoever tampers with them is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import safescreen as ss
from prover import load, save
from safescreen.testing.hard_problems import hard_problem
from safescreen.testing.reference import brute_force
from safescreen.verification import verify
from safescreen.verification.completions import Completions
from safescreen.verification.reading import TREE_ARRAYS
from safescreen.verification.recognition import to_dense


def data(seed=0, m=40, n=9):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    return X, np.where(X[:, :3].sum(axis=1) + rng.logistic(size=m) > 0.0, 1, -1)


def joined(arrays):
    """The tree as one chunk, with the places of its swept nodes."""
    parts = sorted(name[:10] for name in arrays if name.endswith("_nodes"))
    tree = {kind: np.concatenate([arrays.pop(f"{part}_{kind}") for part in parts]) for kind in TREE_ARRAYS}
    found = [arrays.pop(f"{part}_swept") for part in parts if f"{part}_swept" in arrays]
    return tree | {"swept": np.concatenate(found)}


@pytest.fixture(scope="module")
def proof(tmp_path_factory):
    """A proof with swept nodes, some of which have children."""
    path = tmp_path_factory.mktemp("proofs") / "proof.npz"
    X, y = data()
    terms = {"k": 3, "gamma": 300.0, "fit_intercept": True}
    solution = ss.solve(ss.Problem(X, y, **terms), rel_gap=1e-7, proof=path, screening="none")
    assert solution.status == "optimal"
    return path, X, y, brute_force(ss.Problem(X, y, **terms)).value


def tampered(proof, tmp_path, change, **claims):
    path, X, y, truth = proof
    header, arrays = load(path)
    tree = joined(arrays)
    change(header, tree)
    header["claims"] |= claims
    header["chunks"] = 1
    arrays |= {f"tree000000_{kind}": array for kind, array in tree.items()}
    other = tmp_path / "other.npz"
    save(other, header, arrays)
    result = verify(other, X, y)
    assert not result.lower_bound > truth * (1.0 + 1e-9)
    return result


def test_proofs_with_swept_nodes_are_version_4(proof, tmp_path):
    path, X, y, truth = proof
    header, arrays = load(path)
    tree = joined(arrays)
    assert header["version"] == 4
    assert tree["swept"].size > 0
    assert np.isin(tree["nodes"]["parent"], tree["swept"]).any()
    result = verify(path, X, y)
    assert result.valid, result.reason
    assert truth * (1.0 - 1e-6) <= result.lower_bound <= truth * (1.0 + 1e-9)
    assert tampered(proof, tmp_path, lambda header, tree: None).valid


def _without_child(header, tree):
    """Forget the best completion that a swept node spells out."""
    nodes = tree["nodes"]
    child = int(np.flatnonzero(np.isin(nodes["parent"], tree["swept"]))[-1])
    assert child == nodes.size - 1 or not (nodes["parent"] == child).any()
    first, size = int(np.maximum(nodes["size"][:child], 0).sum()), int(nodes["size"][child])
    for kind in ("feature", "value"):
        tree[kind] = np.delete(tree[kind], np.arange(first, first + size))
    nodes = np.delete(nodes, child)
    nodes["parent"][nodes["parent"] > child] -= 1
    tree["swept"] = np.where(tree["swept"] > child, tree["swept"] - 1, tree["swept"])
    tree["nodes"] = nodes


def _mark(place):
    def change(header, tree):
        tree["swept"] = np.unique(np.append(tree["swept"], place(tree)))

    return change


def _unmark(header, tree):
    tree["swept"] = tree["swept"][:0]


def _child(change):
    def change_child(header, tree):
        nodes = tree["nodes"].copy()
        children = np.flatnonzero(np.isin(nodes["parent"], tree["swept"]))
        change(nodes, children)
        tree["nodes"] = nodes

    return change_child


def _out(nodes, children):
    nodes["decision"][children[0]] *= -1


def _nothing_decided(nodes, children):
    nodes["decision"][children[0]] = 0


def _twice(header, tree):
    """One child more, which is the same as another one but for its point."""
    nodes = tree["nodes"]
    twin = nodes[np.isin(nodes["parent"], tree["swept"])][:1].copy()
    twin["size"] = -1
    tree["nodes"] = np.concatenate([nodes, twin])


def _screens(header, tree):
    nodes = tree["nodes"].copy()
    place = tree["swept"][0]
    before = int(nodes["screened"][:place].sum())
    nodes["screened"][place] = 1
    tree["nodes"], tree["screened"] = nodes, np.insert(tree["screened"], before, 1).astype(np.int32)


def _without_point(header, tree):
    nodes = tree["nodes"].copy()
    place = tree["swept"][0]
    first, size = int(np.maximum(nodes["size"][:place], 0).sum()), int(nodes["size"][place])
    for kind in ("feature", "value"):
        tree[kind] = np.delete(tree[kind], np.arange(first, first + size))
    nodes["size"][place] = -1
    tree["nodes"] = nodes


def _version(version):
    return lambda header, tree: header.update(version=version)


REFUSED = {
    "a survivor is dropped, and a model lost": (_without_child, "lower bound"),
    "the root is marked": (_mark(lambda tree: 0), ""),
    "a place beyond the tree": (_mark(lambda tree: tree["nodes"].size), "in their order"),
    "a place before the tree": (_mark(lambda tree: -1), "in their order"),
    "no marks": (_unmark, ""),
    "a child with its feature out": (_child(_out), "does not have a feature in"),
    "a child with nothing decided": (_child(_nothing_decided), "does not have a feature in"),
    "two children with the same feature": (_twice, "have the same feature in"),
    "screening at a swept node": (_screens, "screens features"),
    "no point": (_without_point, "has no point"),
    "version 1": (_version(1), "has no use for"),
    "version 5": (_version(5), "only 1, 2, 3 and 4"),
    "marks out of order": (lambda header, tree: tree.update(swept=np.repeat(tree["swept"][:1], 2)), "in their order"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_tampering_is_refused(name, proof, tmp_path):
    change, reason = REFUSED[name]
    result = tampered(proof, tmp_path, change)
    assert not result.valid
    assert reason in result.reason


@pytest.mark.parametrize("name", REFUSED)
def test_modest_claims_make_no_bound_wrong(name, proof, tmp_path):
    """What the checker says itself holds whatever the structure, or there is no bound; `tampered` compares."""
    tampered(proof, tmp_path, REFUSED[name][0], lower_bound=-1.0, status="node_limit")


def test_any_point_will_do(proof, tmp_path):
    """The points of swept nodes may be anything: bounds become weaker, and never wrong."""
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 1e3, 1e200):

        def change(header, tree, scale=scale):
            tree["value"] = tree["value"] + scale * rng.standard_normal(tree["value"].size)

        tampered(proof, tmp_path, change, lower_bound=-1.0, status="node_limit")


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("seed", range(6))
def test_proofs_of_the_solver(form, seed, tmp_path):
    X, y = data(seed, m=25, n=7)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    given = X if form == "dense" else sparse.csr_array(X)
    options = {"mu": 0.01} if seed % 2 else {"sample_weight": np.arange(25.0)}
    problem = ss.Problem(
        given, y, k=1 + seed % 3, gamma=10.0**seed, fit_intercept=seed > 1, standardize=True, **options
    )
    path = tmp_path / "proof.npz"
    solution = ss.solve(problem, rel_gap=1e-8, proof=path)
    truth = brute_force(problem).value
    result = verify(path, given, y, sample_weight=options.get("sample_weight"))
    assert result.valid, result.reason
    assert solution.lower_bound <= truth * (1.0 + 1e-9)
    assert result.lower_bound <= truth * (1.0 + 1e-9)
    assert solution.objective == pytest.approx(truth, rel=1e-7)


@pytest.mark.parametrize("seed", [10152, 17607, 17941])
def test_what_the_root_puts_in_later_takes_the_last_place(seed, tmp_path):
    """A node is swept, and afterwards a better model lets the root's point put another feature in, everywhere."""
    hard, path = hard_problem(seed), tmp_path / "proof.npz"
    for n_threads in (1, 2):
        ss.solve(hard.problem(), rel_gap=1e-6, n_threads=n_threads, proof=path)
        checked = ss.verify(path, hard.kwargs["X"], hard.kwargs["y"])
        assert checked.valid, checked.reason


def test_the_solver_may_go_less_far_than_the_checker(tmp_path):
    """In its sight is what samples without weight allow as well, and a shorter step happens to prove more here."""
    hard, path = hard_problem(101_011_595), tmp_path / "proof.npz"
    ss.solve(hard.problem(), rel_gap=0.01, screening="nodes", proof=path)
    checked = ss.verify(path, hard.kwargs["X"], hard.kwargs["y"])
    assert checked.valid, checked.reason


def test_no_shorter_step_proves_more(proof, monkeypatch):
    path, X, y, _ = proof
    rng, bounds, looked_at = np.random.default_rng(0), Completions.bounds, []

    def compared(self, added, enough):
        lower, uncertainty = bounds(self, added, np.inf)
        dense = replace(added, X=to_dense(added.X))
        along, t, reach = self.newton_steps(dense)
        limited = np.sign(t) * np.minimum(np.abs(t), 0.9 / reach)
        for share in rng.random(20):
            shorter = self.moved(dense, share * limited, along).lower
            assert (lower >= shorter - 1e-9 * np.abs(shorter)).all()
            looked_at.append(shorter.size)
        return lower, uncertainty

    monkeypatch.setattr(Completions, "bounds", compared)
    assert verify(path, X, y).valid
    assert sum(looked_at) > 100
