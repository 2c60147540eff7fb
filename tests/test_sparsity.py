"""Sparse matrices whose parts do not fit together: one sentence, wherever they enter, and never a crash."""

from __future__ import annotations

import json
import subprocess
import sys
from textwrap import dedent

import numpy as np
import pytest
from scipy import sparse

from safescreen.sparsity import check_parts

DAMAGES = {
    "an index too large": "matrix.indices[3] = 10**9",
    "an index just too large": "matrix.indices[-1] = matrix.shape[1]",
    "a negative index": "matrix.indices[0] = -10**6",
    "starts that fall": "matrix.indptr[3] = 10**6",
    "negative starts": "matrix.indptr[2] = -10**6",
    "starts beyond the end": "matrix.indptr[-1] = 10**8",
    "too few starts": "matrix.indptr = matrix.indptr[:-4]",
    "too few indices": "matrix.indices = matrix.indices[:5]",
    "too few values": "matrix.data = matrix.data[:5]",
    "starts that do not begin with zero": "matrix.indptr[0] = -7",
}

SURFACES = (
    "Problem",
    "fit",
    "cv",
    "screen",
    "predict",
    "transform",
    "inverse transform",
    "verify",
    "held-out data",
    "file",
)

SCRIPT = """
    import json, sys
    import numpy as np
    from scipy import sparse
    import safescreen as ss
    from safescreen.problem.validation import check_matrix
    from safescreen.tables import read_table

    folder, damages = sys.argv[1], json.loads(sys.argv[2])
    y = np.tile([0, 1], 20)
    fitted = ss.L0LogisticRegression()
    fitted.coef_, fitted.intercept_, fitted.n_features_in_ = np.ones((1, 12)), np.zeros(1), 12
    fitted.classes_, fitted.positive_class_ = np.array([0, 1]), 1
    screener = ss.SafeScreener()
    screener.support_, screener.n_features_in_ = np.arange(6), 12
    wider = ss.SafeScreener()
    wider.support_, wider.n_features_in_ = np.arange(12), 20

    def damaged(damage):
        matrix = sparse.random(40, 12, density=0.3, format="csr", random_state=0)
        exec(damage)
        return matrix

    def from_file(matrix):
        np.savez(folder + "/data.npz", y=y, **{name: getattr(matrix, name) for name in ("data", "indices", "indptr")},
                 shape=(40, 12), format=b"csr")
        return read_table(folder + "/data.npz")

    surfaces = {
        "Problem": lambda X: ss.Problem(X, y, k=2),
        "fit": lambda X: ss.L0LogisticRegression(k=2).fit(X, y),
        "cv": lambda X: ss.L0LogisticRegressionCV(k=[2]).fit(X, y),
        "screen": lambda X: ss.SafeScreener(k=2).fit(X, y),
        "predict": fitted.predict,
        "transform": screener.transform,
        "inverse transform": wider.inverse_transform,
        "verify": lambda X: ss.verify(folder + "/none.npz", X, y),
        "held-out data": check_matrix,
        "file": from_file,
    }
    for name, damage in damages.items():
        for surface, enter in surfaces.items():
            try:
                enter(damaged(damage))
                said = "nothing"
            except Exception as error:
                said = type(error).__name__ + ": " + str(error)
            print(json.dumps([name, surface, said]), flush=True)
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> dict[tuple[str, str], str]:
    """What every surface says to every damage; in a process of its own, which a crash would end."""
    folder = tmp_path_factory.mktemp("damaged")
    command = [sys.executable, "-c", dedent(SCRIPT), str(folder), json.dumps(DAMAGES)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    said = {}
    for line in run.stdout.splitlines():
        name, surface, answer = json.loads(line)
        said[name, surface] = answer
    return said


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("surface", SURFACES)
def test_damage_is_refused_in_one_sentence(answers, surface, damage):
    said = answers.get((damage, surface), "the process had ended")
    assert said.startswith("ValueError: "), said
    assert "damaged sparse matrix" in said
    assert "\n" not in said


def sound(form: str):
    return sparse.random_array((12, 8), density=0.3, format="csr", rng=np.random.default_rng(0)).asformat(form)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sound_matrices_pass_unchanged(form, kind):
    matrix = sound(form)
    if kind == "matrix":
        matrix = getattr(sparse, f"{form}_matrix")(matrix)
    before = matrix.toarray()
    check_parts("X", matrix)
    np.testing.assert_array_equal(matrix.toarray(), before)


def test_no_entries_and_no_sparse_matrix_pass():
    check_parts("X", sparse.csr_array((3, 4)))
    check_parts("X", sparse.coo_array((3, 4)))
    check_parts("X", np.ones((2, 2)))
    check_parts("X", [[1.0]])


def test_room_that_is_not_in_use_passes_and_stays():
    matrix = sound("csr")
    used = matrix.nnz
    matrix.indices, matrix.data = np.append(matrix.indices, [99, -1]), np.append(matrix.data, [1.0, 2.0])
    check_parts("X", matrix)
    assert matrix.indices.size == used + 2


@pytest.mark.parametrize(
    ("form", "damage"),
    [
        ("coo", lambda matrix: matrix.coords[1].__setitem__(0, 8)),
        ("coo", lambda matrix: matrix.coords[0].__setitem__(0, -1)),
        ("coo", lambda matrix: setattr(matrix, "data", matrix.data[:-1])),
        ("csc", lambda matrix: matrix.indices.__setitem__(0, 12)),
        ("csc", lambda matrix: setattr(matrix, "indices", matrix.indices.astype(float))),
        ("csr", lambda matrix: setattr(matrix, "data", matrix.data[:, None])),
        ("bsr", lambda matrix: matrix.indices.__setitem__(0, 8)),
        ("bsr", lambda matrix: setattr(matrix, "data", matrix.data[:, :0])),
        ("lil", lambda matrix: matrix.rows.__setitem__(0, [800])),
        ("lil", lambda matrix: matrix.rows[np.flatnonzero([len(row) for row in matrix.rows])[0]].append(-1)),
        ("lil", lambda matrix: matrix.data.__setitem__(0, [1.0] * 7)),
        ("lil", lambda matrix: matrix.rows.__setitem__(0, [0.5] * len(matrix.rows[0]))),
        ("lil", lambda matrix: matrix.rows.__setitem__(0, [1, float("nan"), 900][: len(matrix.rows[0])] or [-1])),
        ("dia", lambda matrix: setattr(matrix, "offsets", matrix.offsets[:-1])),
        ("dia", lambda matrix: setattr(matrix, "offsets", matrix.offsets + 0.5)),
        ("dia", lambda matrix: setattr(matrix, "offsets", 0 * matrix.offsets)),
        ("dia", lambda matrix: setattr(matrix, "data", matrix.data.ravel())),
        ("coo", lambda matrix: setattr(matrix, "coords", (*matrix.coords, matrix.coords[0]))),
        ("csr", lambda matrix: setattr(matrix, "indptr", matrix.indptr.tolist())),
        ("csr", lambda matrix: setattr(matrix, "data", None)),
        ("csc", lambda matrix: setattr(matrix, "data", np.ma.masked_less(matrix.data, 0.5))),
        ("dok", lambda matrix: matrix._dict.__setitem__((0.5, 1), 1.0)),
        ("dok", lambda matrix: matrix._dict.__setitem__((10**40, 1), 1.0)),
    ],
)
def test_other_forms(form, damage):
    matrix = sound(form)
    damage(matrix)
    with pytest.raises(ValueError, match=r"^Data is a damaged sparse matrix \(.*\): make it again from sound parts\.$"):
        check_parts("Data", matrix)
