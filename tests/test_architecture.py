"""The rooms of the package and the doors between them: imports go one way only, and every door is listed here."""

from __future__ import annotations

from pathlib import Path

import pytest

import safescreen as ss
from imports import attribute_uses, cycle, imports, modules, room, unused_doors, wrong_doors

PACKAGE = Path(ss.__file__).parent

ROOMS = {
    # leaves
    "arrays": "",
    "rounding": "",
    "tuning": "",
    "exact_sums": "arrays",
    "expiry": "",
    "working_memory": "tuning",
    "defaults": "",
    "sparsity": "",
    "status": "",
    "text": "",
    "files": "text",
    "prediction": "",
    "formatting": "",
    # the checker of proofs stands alone
    "verification": "",
    # the solver, from the matrix to the search
    "design": "arrays rounding tuning expiry working_memory",
    "problem": "arrays rounding exact_sums sparsity text formatting.cards design",
    "kernels": "arrays rounding tuning expiry design.columns",
    "relaxation": "arrays rounding exact_sums tuning expiry working_memory formatting.cards design problem kernels",
    "screening": "arrays rounding expiry formatting.cards problem relaxation",
    "incumbents": "arrays tuning expiry problem kernels relaxation screening",
    "search": "arrays rounding tuning expiry working_memory status text files formatting.cards formatting.digits "
    "verification problem kernels relaxation screening incumbents",
    "estimation": "arrays defaults status text prediction formatting.digits problem search.solution",
    "path": "status formatting.cards problem search estimation",
    "summary": "arrays formatting problem.labels search.solution estimation",
    "stability": "arrays status formatting problem search estimation",
    "good_models": "arrays status files formatting problem search",
    "cores": "arrays rounding working_memory status formatting problem relaxation screening incumbents search",
    # what users touch
    "datasets": "arrays files",
    "estimators": "arrays defaults status text prediction problem screening search estimation path summary stability "
    "cores",
    "plots": "arrays formatting.escaping problem screening search path stability good_models cores",
    "saving": "defaults files problem.copies problem.validation search.solution estimation estimators",
    "tables": "arrays sparsity text files",
    "reporting": "arrays status files prediction formatting problem search.solution estimation path summary "
    "good_models cores estimators",
    "safescreen": "status verification problem relaxation screening search estimation path summary stability "
    "good_models cores datasets estimators plots saving.model_files reporting",
    # what uses the public interface
    "testing": "status problem safescreen",
    "reproduction": "files formatting.digits plots.base safescreen testing",
    "cli": "arrays defaults status text files prediction formatting.documents problem.labels problem.terms search "
    "estimation path summary good_models cores estimators.choosing saving.record tables safescreen testing.conic "
    "reproduction",
    "__main__": "cli",
}
"""What each room may import from others: a room, or a single module in one. It may use rooms above it only."""

SOLVER = {"kernels", "relaxation", "incumbents", "search"}
"""The rooms that may use what is compiled."""

STORAGE = {"slot", "starts", "dense", "in_use"}
"""How `safescreen.design.Columns` are held."""

RESERVED = {"relax", "screen", "solve", "verify", "report", "core", "alternatives"}
"""Names of public functions, today's and tomorrow's: a module of that name would hide one."""


def test_every_room_is_listed():
    assert {room(module) for module in modules(PACKAGE)} == ROOMS.keys()


def test_tests_have_the_same_rooms():
    folders = {path.name for path in Path(__file__).parent.iterdir() if path.is_dir() and path.name[0] not in "._"}
    assert folders - {"data", "support"} <= ROOMS.keys()


def test_doors_lead_upwards():
    above: set[str] = set()
    for home, doors in ROOMS.items():
        assert {room(door) for door in doors.split()} <= above, home
        above.add(home)


def test_no_wrong_doors():
    assert wrong_doors(PACKAGE, ROOMS) == []


def test_no_door_is_listed_in_vain():
    assert unused_doors(PACKAGE, ROOMS) == []


def test_no_module_imports_itself_in_a_circle():
    assert cycle(PACKAGE) == []


def test_only_the_solver_uses_what_is_compiled():
    users = {room(module) for module, targets in imports(PACKAGE).items() if "kernels" in map(room, targets)}
    assert users == SOLVER


def test_nobody_else_knows_how_columns_are_held():
    elsewhere = {use for use in attribute_uses(PACKAGE, STORAGE) if room(use[0]) != "design"}
    assert {use for use in elsewhere if use[0] != "kernels.columns"} == set()


def test_no_module_hides_a_public_function():
    functions = {name for name in ss.__all__ if not isinstance(getattr(ss, name), type | str) and name != "datasets"}
    assert {room(module) for module in modules(PACKAGE)}.isdisjoint(RESERVED | functions)


@pytest.mark.parametrize(
    "line",
    [
        "import house.upper",
        "from house.upper import thing",
        "from house import upper",
        "from house.upper.window import thing",
        "def later():\n    from house.upper import thing",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from house.upper import thing",
        "import house",
    ],
)
def test_a_wrong_door_is_found(line, tmp_path):
    house = built(tmp_path, {"lower.py": f"from house import __version__\n{line}\n"})
    assert len(wrong_doors(house, {"upper": "lower", "house": "upper"})) == 1
    assert len(cycle(house)) >= 3


def test_a_right_door_is_none(tmp_path):
    house = built(tmp_path, {"lower.py": "import numpy\nfrom house import __version__\n"})
    assert wrong_doors(house, {"upper": "lower", "house": "upper"}) == cycle(house) == []
    assert wrong_doors(house, {"upper": "lower.cellar", "house": "upper"}) == [
        "upper -> lower", "upper.window -> lower"
    ]  # fmt: skip
    assert unused_doors(house, {"upper": "lower attic", "house": "upper"}) == ["upper -> attic"]


def test_a_leak_is_found(tmp_path):
    house = built(tmp_path, {"lower.py": "def look(columns):\n    return columns.slot[0]\n"})
    assert attribute_uses(house, STORAGE) == {("lower", "slot")}


def built(folder: Path, files: dict[str, str]) -> Path:
    """A package of two rooms, an upper one on a lower one."""
    house = folder / "house"
    (house / "upper").mkdir(parents=True)
    usual = {
        "__init__.py": "from house.upper import thing\n",
        "upper/__init__.py": "from house.lower import thing\n",
        "upper/window.py": "from house.lower import thing\n",
    }
    for name, text in {**usual, **files}.items():
        (house / name).write_text(text)
    return house
