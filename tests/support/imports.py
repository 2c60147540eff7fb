"""Who imports whom, read from the sources: imports within functions and for type checkers count like all others.

Modules are named relative to their package (``design.base``), and the package itself by its own name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path


def modules(package: Path) -> dict[str, Path]:
    """All modules of a package."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts) or package.name] = path
    return found


def imports(package: Path) -> dict[str, set[str]]:
    """The modules of the package that each of its modules imports."""
    known = modules(package)
    return {module: _imported(path, package.name, known.keys()) - {module} for module, path in known.items()}


def _imported(path: Path, package: str, known: set[str]) -> set[str]:
    found = set()
    for name in _imported_names(path):
        relative = name.removeprefix(f"{package}.")
        if name == f"{package}.__version__" or (relative == name and name != package):
            continue  # the version is there before anything is imported, the other name is not ours
        while relative not in known:
            relative = relative.rpartition(".")[0] or package
        found.add(relative)
    return found


def _imported_names(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relative to itself"
            yield from (f"{node.module}.{name.name}" for name in node.names)


def room(module: str) -> str:
    """The folder or file directly in the package."""
    return module.partition(".")[0]


def wrong_doors(package: Path, rooms: dict[str, str]) -> list[str]:
    """Imports from one room into another that the table does not allow, as ``a.b -> c.d``."""
    return [
        f"{module} -> {target}"
        for module, targets in imports(package).items()
        for target in sorted(targets)
        if room(target) != room(module)
        and not any(_leads_to(door, target) for door in rooms.get(room(module), "").split())
    ]


def unused_doors(package: Path, rooms: dict[str, str]) -> list[str]:
    """Entries of the table that no import needs."""
    used = [(room(module), target) for module, targets in imports(package).items() for target in targets]
    return [
        f"{home} -> {door}"
        for home, doors in rooms.items()
        for door in doors.split()
        if not any(module == home and _leads_to(door, target) for module, target in used)
    ]


def _leads_to(door: str, target: str) -> bool:
    """Whether a door, a room or a single module in one, is the way to a module."""
    return f"{target}.".startswith(f"{door}.")


def cycle(package: Path) -> list[str]:
    """Modules that import each other in a circle, if there are any."""
    graph = imports(package)
    done: set[str] = set()

    def walk(module: str, trail: list[str]) -> list[str]:
        if module in trail:
            return [*trail[trail.index(module) :], module]
        if module not in done:
            for target in sorted(graph[module]):
                if found := walk(target, [*trail, module]):
                    return found
            done.add(module)
        return []

    return next((found for module in graph if (found := walk(module, []))), [])


def attribute_uses(package: Path, names: set[str]) -> set[tuple[str, str]]:
    """Which modules mention one of these attributes, as pairs of both."""
    return {
        (module, node.attr)
        for module, path in modules(package).items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in names
    }
