"""The checker on its own: what it imports, how it is run, and proofs of earlier versions, which stay valid."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from prover import load, save
from safescreen import verification
from safescreen.verification import verify
from safescreen.verification.__main__ import main, read_data

FOLDER = Path(verification.__file__).parent
DATA = Path(__file__).parents[1] / "data"

PROOFS = {
    "dense": (0.5473610833480868, 0.5473610833470566, 49),
    "sparse": (0.645909863009177, 0.6459096181228748, 47),
    "weights": (0.3900927058492932, 0.39009259254044154, 15),
}
"""Proofs of the first format: objective, lower bound and nodes."""


LISTS = {
    "dense": (0.5331644589830078, 0.5438277536009437, 9, 17),
    "sparse": (0.4955315101694355, 0.5054421454272409, 47, 11),
    "weights": (0.4793795791073266, 0.48614424094452113, 12, 1),
    "incomplete": (0.5296624815742057, 0.5492473248290153, 5, 5),
}
"""Lists of models, proofs of the second format: objective, bound of what is missing, models and nodes."""


def files(name, version=1):
    """A proof, and the data it is about."""
    return DATA / f"proof_v{version}_{name}.npz", DATA / f"proof_v{version}_{name}_data.npz"


# -- proofs of earlier versions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROOFS)
def test_proofs_of_the_first_format_stay_valid(name):
    """Budget, intercept and standardised columns; sparse data and a price; weights and features decided beforehand."""
    proof, data = files(name)
    result = verify(proof, *read_data(str(data)))
    objective, lower_bound, nodes = PROOFS[name]
    assert result.valid, result.reason
    assert result.objective == pytest.approx(objective, rel=1e-12)
    assert result.lower_bound == pytest.approx(lower_bound, rel=1e-12)
    assert result.nodes == nodes


def test_proofs_of_the_first_format_cover_all_terms():
    headers, arrays = zip(*(load(files(name)[0]) for name in PROOFS), strict=True)
    assert {header["version"] for header in headers} == {1}
    assert {header["matrix_form"] for header in headers} == {"dense", "sparse"}
    dense, _, weights = arrays
    assert headers[0]["fit_intercept"]
    assert headers[0]["standardize"]
    assert headers[0]["k"] == 4
    assert headers[1]["mu"] > 0.0
    assert dense["constant"].tolist() == [19]
    assert weights["include"].tolist() == [7]
    assert weights["exclude"].tolist() == [0, 9]
    assert (weights["weights"] == 0.0).any()
    assert all(array["tree000000_screened"].size for array in arrays)


@pytest.mark.parametrize("name", PROOFS)
def test_proofs_of_the_first_format_are_about_their_data(name):
    proof, data = files(name)
    X, y, sample_weight = read_data(str(data))
    assert verify(proof, -X, y, sample_weight).reason == "The matrix is not the one of the proof."
    assert verify(proof, X, y[::-1], sample_weight).reason == "The labels are not those of the proof."


@pytest.mark.parametrize("name", LISTS)
def test_proofs_of_the_second_format_stay_valid(name):
    """Minimal models of a budget; sparse data and a price; the best twelve, with weights; a list cut short."""
    proof, data = files(name, 2)
    X, y, sample_weight = read_data(str(data))
    result = verify(proof, X, y, sample_weight)
    objective, missing_bound, models, nodes = LISTS[name]
    assert result.valid, result.reason
    assert result.objective == pytest.approx(objective, rel=1e-12)
    assert result.missing_bound == pytest.approx(missing_bound, rel=1e-12)
    assert (result.models, result.nodes) == (models, nodes)
    assert verify(proof, -X, y, sample_weight).reason == "The matrix is not the one of the proof."


def test_proofs_of_the_second_format_cover_all_terms():
    headers, arrays = zip(*(load(files(name, 2)[0]) for name in LISTS), strict=True)
    assert {header["version"] for header in headers} == {2}
    assert [header["goal"] for header in headers] == ["minimal", "all", "all", "all"]
    assert [header["claims"]["complete"] for header in headers] == [True, True, True, False]
    assert [header["matrix_form"] for header in headers] == ["dense", "sparse", "dense", "dense"]
    assert all(array["models_size"].size > header["listed"] for header, array in zip(headers, arrays, strict=True))
    assert arrays[0]["constant"].tolist() == [19]
    assert arrays[0]["tree000000_screened"].size
    assert arrays[2]["include"].tolist() == [7]
    assert (arrays[2]["weights"] == 0.0).any()


# -- imports -----------------------------------------------------------------------------------------------------------


def imports(path):
    """All modules that a file imports, at the top or within a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} has a relative import"
            found.add(node.module)
    return found


def test_imports_numpy_and_nothing_of_the_solver():
    """The checker must not share a line with the solver; SciPy is needed to read sparse data from a file."""
    for path in FOLDER.glob("*.py"):
        foreign = {name for name in imports(path) if name.split(".")[0] not in sys.stdlib_module_names}
        ours = {name for name in foreign if name.split(".")[0] == "safescreen"}
        assert all(name.startswith("safescreen.verification") for name in ours), path.name
        allowed = {"numpy", "numpy.typing"} | ({"scipy"} if path.name == "__main__.py" else set())
        assert foreign - ours <= allowed, path.name


def test_the_files_can_be_read_one_after_the_other():
    """Each needs only those before it."""
    names = [
        "arithmetic",
        "reading",
        "recognition",
        "dual_bounds",
        "search_tree",
        "completions",
        "listed_models",
        "cores",
    ]
    names += ["neighbourhood", "checker", "given", "__init__", "__main__"]
    modules = ["safescreen.verification" + ("" if name == "__init__" else f".{name}") for name in names]
    assert {path.stem for path in FOLDER.glob("*.py")} == {*names}
    for place, name in enumerate(names):
        ours = imports(FOLDER / f"{name}.py") & {*modules}
        assert ours <= {*modules[:place]}, name


def lines_of_code(path):
    """Lines that are neither empty nor comments nor documentation."""
    source = path.read_text(encoding="utf-8")
    lines = {number for number, line in enumerate(source.splitlines(), 1) if line.split("#")[0].strip()}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines -= {*range(node.lineno, node.end_lineno + 1)}
    return len(lines)


def test_it_is_as_long_as_the_readme_says():
    length = sum(lines_of_code(path) for path in FOLDER.glob("[a-z]*.py"))
    readme = (DATA.parent.parent / "README.md").read_text(encoding="utf-8")
    assert "eleven short\nfiles](src/safescreen/verification), some 1,500 lines of code" in readme
    assert 1450 <= length < 1600
    assert len([*FOLDER.glob("[a-z]*.py")]) == 11


@pytest.mark.parametrize("name", PROOFS)
def test_running_it_imports_nothing_else(name):
    code = """
import runpy, sys
sys.argv = ["verification", *sys.argv[1:]]
try:
    runpy.run_module("safescreen.verification", run_name="__main__")
except SystemExit as end:
    print("status", end.code)
print(*sorted(sys.modules))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, files(name))], check=True, capture_output=True, text=True
    )
    verdict, modules = done.stdout.rsplit("\n", 2)[:2]
    loaded = set(modules.split())
    assert "status 0" in verdict
    packages = {module.split(".")[0] for module in loaded}
    assert "numpy" in packages
    assert not packages & {"numba", "typer", "rich", "sklearn", "pandas", "polars"}
    assert ("scipy" in packages) == (name == "sparse")
    ours = {module for module in loaded if module.startswith("safescreen.")}
    assert all(module.startswith("safescreen.verification") for module in ours)


# -- on the command line -----------------------------------------------------------------------------------------------


def run(*arguments):
    command = [sys.executable, "-m", "safescreen.verification", *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


@pytest.mark.parametrize("name", PROOFS)
def test_a_valid_proof(name):
    done = run(*files(name))
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.startswith("Valid: no model of this problem (mu=")
    assert f"objective    {PROOFS[name][0]:.12g}"[:24] in done.stdout
    assert f"{PROOFS[name][2]} nodes" in done.stdout


def test_a_valid_list():
    done = run(*files("dense", 2))
    assert done.returncode == 0
    assert done.stdout.startswith("Valid: every model of this problem (mu=0, k=4, gamma=30, with intercept")
    assert "below 0.543827753601 contains one of the 9 listed, none of whose features can be left out." in done.stdout
    assert "below 0.549247324829 is one of the 5 listed.\n" in run(*files("incomplete", 2)).stdout


def test_a_refused_proof(tmp_path):
    done = run(files("dense")[0], files("weights")[1])
    assert done.returncode == 1
    assert done.stdout == "Refused: The matrix is not the one of the proof.\n"
    assert done.stderr == ""


def complaint(capsys, *arguments):
    """What is said about unusable input: one sentence, on standard error."""
    assert main([str(argument) for argument in arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("python -m safescreen.verification: ")
    assert printed.err.endswith(".\n")
    assert printed.err.count("\n") == 1
    return printed.err


def test_missing_files(capsys, tmp_path):
    proof, data = files("dense")
    assert "'absent.npz' cannot be read: No such file" in complaint(capsys, proof, "absent.npz")
    assert "'absent.npz' cannot be read: No such file" in complaint(capsys, "absent.npz", data)
    complaint(capsys, proof, tmp_path)
    complaint(capsys, tmp_path, data)


def test_missing_arguments(capsys):
    with pytest.raises(SystemExit) as end:
        main(["proof.npz"])
    assert end.value.code == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert "required: data" in printed


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 no archive"])
def test_data_that_are_no_archive(content, capsys, tmp_path):
    (tmp_path / "data.npz").write_bytes(content)
    assert "no NumPy archive" in complaint(capsys, files("dense")[0], tmp_path / "data.npz")


def test_a_damaged_archive(capsys, tmp_path):
    proof, data = files("dense")
    content = bytearray(data.read_bytes())
    content[300:310] = bytes(10)
    (tmp_path / "data.npz").write_bytes(content)
    assert "is damaged" in complaint(capsys, proof, tmp_path / "data.npz")


def test_a_single_array_is_no_archive(capsys, tmp_path):
    np.save(tmp_path / "X.npy", np.zeros((3, 2)))
    assert "no NumPy archive" in complaint(capsys, files("dense")[0], tmp_path / "X.npy")


def test_a_pickle_in_the_data_is_never_loaded(capsys, tmp_path):
    class Trap:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "sprung",))

    np.savez(tmp_path / "data.npz", X=np.zeros((3, 2)), y=np.array([Trap()], object))
    complaint(capsys, files("dense")[0], tmp_path / "data.npz")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"X": np.zeros((60, 20))}, "an array y is needed"),
        ({"y": np.zeros(60)}, "an array X, or all of data, indices, indptr, shape, is needed"),
        ({"y": np.zeros(60), "data": np.zeros(2), "indices": np.zeros(2)}, "an array X, or all of"),
        ({"X": np.zeros((60, 20)), "y": np.zeros(59)}, "y has shape (59,)"),
        ({"X": np.zeros(60), "y": np.zeros(60)}, "X has shape (60,)"),
        ({"X": np.full((60, 20), "a"), "y": np.zeros(60)}, "X has dtype <U1"),
        ({"X": np.zeros((60, 20)), "y": np.zeros(60), "sample_weight": np.ones(3)}, "sample_weight has shape (3,)"),
        ({"y": np.zeros(60), "format": np.array("cake"), "shape": np.array([60, 20])}, "holds no sparse matrix"),
    ],
)
def test_unusable_data(arrays, reason, capsys, tmp_path):
    np.savez(tmp_path / "data.npz", **arrays)
    assert reason in complaint(capsys, files("dense")[0], tmp_path / "data.npz")


@pytest.mark.parametrize("part", ["indices", "indptr", "shape"])
def test_sparse_parts_that_do_not_fit_together(part, capsys, tmp_path):
    """An index out of range must not reach compiled code."""
    proof, data = files("sparse")
    with np.load(data) as file:
        arrays = {name: file[name] for name in file.files}
    arrays[part] = arrays[part] + 1000 * (np.arange(arrays[part].size) == 1)
    if part == "shape":
        arrays[part] = np.array([3, 3])
    np.savez(tmp_path / "data.npz", **arrays)
    assert "holds no sparse matrix" in complaint(capsys, proof, tmp_path / "data.npz")


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
def test_what_scipy_saves_is_read(form, kind, capsys, tmp_path):
    proof, data = files("sparse")
    X, y, _ = read_data(str(data))
    stream = io.BytesIO()
    sparse.save_npz(stream, kind(X).asformat(form))
    stream.seek(0)
    with np.load(stream) as saved:
        np.savez(tmp_path / "data.npz", y=y, **{name: saved[name] for name in saved.files})
    assert main([str(proof), str(tmp_path / "data.npz")]) == 0
    assert capsys.readouterr().out.startswith("Valid")


def test_other_weights_are_refused(capsys, tmp_path):
    proof, data = files("weights")
    X, y, sample_weight = read_data(str(data))
    np.savez(tmp_path / "data.npz", X=X, y=y, sample_weight=sample_weight + 1.0)
    assert main([str(proof), str(tmp_path / "data.npz")]) == 1
    assert capsys.readouterr().out == "Refused: The weights are not those of the proof.\n"


def test_a_false_claim_is_refused(capsys, tmp_path):
    proof, data = files("dense")
    header, arrays = load(proof)
    header["claims"]["lower_bound"] = 0.6
    save(tmp_path / "proof.npz", header, arrays)
    assert main([str(tmp_path / "proof.npz"), str(data)]) == 1
    assert "not 0.6 as claimed" in capsys.readouterr().out


def test_help(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    assert "0 if the proof is valid, 1 if it is refused" in " ".join(capsys.readouterr().out.split())
