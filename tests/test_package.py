"""The package as a whole: quick to import, complete, documented."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import safescreen as ss

HEAVY = {
    "numpy",
    "scipy",
    "numba",
    "llvmlite",
    "sklearn",
    "joblib",
    "pandas",
    "polars",
    "pyarrow",
    "matplotlib",
    "cvxpy",
}
"""What takes a moment to load. ``benchmarks/first_use.py`` measures the seconds."""


def imported(*arguments: str) -> set[str]:
    """What a fresh interpreter imports from elsewhere than its own library; less than it starts with anyway."""
    return _imports(*arguments) - _imports("-c", "pass") - sys.stdlib_module_names - {"safescreen"}


def _imports(*arguments: str) -> set[str]:
    command = [sys.executable, "-X", "importtime", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8")
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


def test_importing_the_package_loads_nothing_else():
    assert imported("-c", "import safescreen") == set()


@pytest.mark.parametrize(
    "arguments",
    [
        ("-c", "import safescreen.cli"),
        ("-m", "safescreen.cli", "--help"),
        ("-m", "safescreen.cli", "fit", "--help"),
        ("-m", "safescreen.cli", "--version"),
    ],
)
def test_asking_for_help_loads_little(arguments):
    found = imported(*arguments)
    assert "typer" in found
    assert not found & HEAVY


@pytest.mark.parametrize("module", ["safescreen", "safescreen.cli"])
def test_version_on_the_command_line(module):
    command = [sys.executable, "-m", module, "--version"]
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
