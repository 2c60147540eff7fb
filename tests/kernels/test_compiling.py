"""How functions are compiled: one entry point, and inner functions that Python may call all the same."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from calling import caller
from numba import config, njit

import safescreen.kernels
from safescreen.kernels import compiling, exploration, vectors
from safescreen.kernels.compiling import compiled, elementwise, inlined, reordered

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")

MODULES = sorted(Path(safescreen.kernels.__file__).parent.glob("*.py"))
DECORATORS = {"compiled", "inlined", "reordered", "elementwise", "entry"}


def compiled_functions():
    """Every compiled function of the kernels, with its module and decorator."""
    for path in MODULES:
        for function in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(function, ast.FunctionDef):
                for decorator in function.decorator_list:
                    if isinstance(decorator, ast.Name) and decorator.id in DECORATORS:
                        yield path.stem, decorator.id, function


def test_two_entry_points():
    """One for all who look for a model, and one for those who list models."""
    entries = [(module, function.name) for module, kind, function in compiled_functions() if kind == "entry"]
    assert entries == [("enumeration", "run_listing"), ("exploration", "run")]
    assert len(list(compiled_functions())) > 80


def test_every_compiled_function_is_typed_and_explained():
    for module, _, function in compiled_functions():
        name = f"{module}.{function.name}"
        assert ast.get_docstring(function), name
        assert function.returns is not None, name
        assert all(argument.annotation is not None for argument in function.args.args), name


def test_annotations_are_evaluated_nowhere_in_compiled_code():
    """They are for readers and type checkers; the types that Numba finds are its own."""
    assert vectors.dot.py_func.__annotations__["return"] is float
    single = np.ones(3, np.float32)
    assert caller(vectors.dot)(single, single) == 3.0


@pytest.mark.parametrize("decorator", [compiled, inlined, reordered, elementwise])
def test_called_from_python_it_runs_interpreted(decorator):
    lines = []

    def double(x):
        lines.append(x)
        return 2 * x

    assert decorator(double)(21) == 42  # a list from outside would not compile
    assert lines == [21]


def test_called_from_compiled_code_it_is_compiled_once_whatever_the_constants():
    @compiled
    def add(x, y):
        return x + y

    @njit
    def both(x):
        return add(x, 1) + add(x, 2)

    assert both(10) == 23
    assert len(add.signatures) == 1


def test_the_entry_point_has_one_signature_and_the_rest_none_of_their_own():
    safescreen.kernels.warm_up()
    assert len(exploration.run.signatures) == 1
    assert not vectors.dot.targetoptions.get("cache")


def test_sums_may_be_reordered_but_infinities_are_respected():
    """Only what the error bounds allow: no assumption that numbers are finite."""
    assert {"reassoc", "contract", "nsz"} == compiling.REORDER
    total = caller(vectors.total)
    assert np.isnan(total(np.array([1.0, np.nan])))
    assert total(np.array([1.0, np.inf])) == np.inf
    assert np.isnan(total(np.array([np.inf, -np.inf])))


@pytest.mark.slow
def test_without_compilation_everything_is_plain_python():
    code = "from safescreen.kernels import vectors, exploration as e; print(type(vectors.dot), type(e.run))"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["<class", "'function'>"] * 2
