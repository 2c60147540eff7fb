"""The package as a whole: quick to import, complete, documented."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

import safescreen as ss


def seconds(*arguments: str) -> float:
    """Best of three runs of the interpreter, which filters out a busy machine."""
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        best = min(best, time.perf_counter() - start)
    return best


def test_import_is_quick():
    assert seconds("-c", "import safescreen") - seconds("-c", "pass") < 0.1


def test_help_is_quick():
    assert seconds("-m", "safescreen.cli", "--help") < 0.5


@pytest.mark.parametrize("statement", ["import safescreen", "import safescreen.cli"])
def test_import_stays_light(statement):
    code = f"{statement}, sys; print([m for m in ('numpy', 'scipy', 'numba', 'sklearn', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_version_on_the_command_line():
    command = [sys.executable, "-m", "safescreen.cli", "--version"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == f"safescreen {ss.__version__}"


def test_bad_input_on_the_command_line():
    command = [sys.executable, "-m", "safescreen.cli", "demo", "--k", "0"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.strip() == "safescreen: --k is 0, but must be an integer >= 1."


@pytest.mark.parametrize("name", [name for name in ss.__all__ if name != "__version__"])
def test_public_names_resolve_and_are_documented(name):
    assert getattr(ss, name).__doc__
    assert name in dir(ss)


@pytest.mark.parametrize(
    ("callee", "positional"),
    [
        (ss.Problem, ["X", "y"]),
        (ss.relax, ["problem"]),
        (ss.screen, ["problem"]),
        (ss.solve, ["problem"]),
        (ss.l0_path, ["X", "y"]),
        (ss.L0LogisticRegression, []),
        (ss.L0LogisticRegressionCV, []),
        (ss.SafeScreener, []),
    ],
)
def test_all_but_the_data_is_given_by_keyword(callee, positional):
    parameters = inspect.signature(callee).parameters.values()
    assert [one.name for one in parameters if one.kind is not inspect.Parameter.KEYWORD_ONLY] == positional


def test_type_checkers_see_the_same_names():
    """They read imports that never run, which therefore have to be compared with the list of names."""
    source = ast.parse(inspect.getsource(ss))
    block = next(part for part in source.body if isinstance(part, ast.If))
    seen = {
        alias.asname: (line.module or "").removeprefix("safescreen").lstrip(".")
        for line in block.body
        if isinstance(line, ast.ImportFrom)
        for alias in line.names
    }
    assert seen == ss._HOMES
    assert set(ss.__all__) == {"__version__", *ss._HOMES}


def test_version_is_the_same_everywhere():
    root = Path(__file__).parent.parent
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r'^version: "?([^"\n]+)"?$', citation, re.MULTILINE)[1] == ss.__version__
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]
    assert (root / project["tool"]["hatch"]["version"]["path"]).samefile(ss.__file__)


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = ss.nonsense


@pytest.mark.parametrize("leaf", ["formatting", "status"])
def test_leaves_import_nothing_else_of_the_package(leaf):
    """Everything may use them, so they must not lead anywhere."""
    root = Path(ss.__file__).parent
    for file in [*root.glob(f"{leaf}/**/*.py"), *root.glob(f"{leaf}.py")]:
        imports = re.findall(
            r"^\s*(?:from|import)\s+(safescreen[\w.]*|\.[\w.]*)", file.read_text("utf-8"), re.MULTILINE
        )
        assert all(name.startswith(f"safescreen.{leaf}") for name in imports), file
