"""The documentation: its Python runs and prints what the page says, and what it refers to exists."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from itertools import pairwise
from pathlib import Path

import pytest
import typer.main
from sklearn.datasets import load_breast_cancer
from test_architecture import ROOMS
from typer.testing import CliRunner

import safescreen as ss
from safescreen import cli

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
MADE_BY_THE_BUILD = {"_build", "gallery", "generated"}


def made_by_the_build(path: Path) -> bool:
    return bool(MADE_BY_THE_BUILD & {*path.parts})


PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
    ROOT / "benchmarks" / "README.md",
    *sorted(page for page in DOCS.rglob("*.md") if not made_by_the_build(page.relative_to(DOCS))),
]

PYTHON = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```)?", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#)(?P<target>[^)#\s]+)")
ROLE = re.compile(r"\{(?:class|func|meth|attr|data)\}`~?safescreen\.(?P<name>[\w.]+)`")
CONTENTS = re.compile(r"^```\{toctree\}\n(.*?)^```", re.DOTALL | re.MULTILINE)
DIRECTIVE = re.compile(r"^```\{.*?^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"^```[^\n`]*\n(?P<block>.*?)^```|`(?P<inline>[^`\n]+)`", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"^(?:benchmarks|docs|examples|src|tests)/[\w./-]+$|^[\w/]+\.py$")


def label(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def commands(page: Path) -> list[str]:
    """Lines of code blocks and code within text that are not Python."""
    text = DIRECTIVE.sub("", PYTHON.sub("", read(page)))
    return [
        line.strip() for found in CODE.finditer(text) for line in (found["block"] or found["inline"] or "").splitlines()
    ]


@pytest.mark.parametrize("page", [page for page in PAGES if PYTHON.search(read(page))], ids=label)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in PYTHON.finditer(read(page)):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block["code"], label(page), "exec"), names)
        if block["output"] is not None:
            agrees = doctest.OutputChecker().check_output(block["output"], printed.getvalue(), doctest.ELLIPSIS)
            assert agrees, f"{block['code']}\nprints\n{printed.getvalue()}\nand not\n{block['output']}"
    plt.close("all")


def test_commands_on_the_page_of_the_command_line_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = load_breast_cancer(as_frame=True).frame.rename(columns={"target": "label"})
    frame.to_csv("data.csv", index=False)
    frame.drop(columns="label").head().to_csv("new.csv", index=False)
    frame.to_csv("test.csv", index=False)
    lines = [line for line in read(DOCS / "command-line.md").splitlines() if line.startswith("safescreen ")]
    assert len(lines) == 7
    for line in lines:
        result = CliRunner().invoke(cli.app, line.split()[1:])
        assert result.exit_code == 0, f"{line}\n{result.output}"
    assert len((tmp_path / "predictions.csv").read_text(encoding="utf-8").splitlines()) == 6


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_links_lead_somewhere(page):
    for found in LINK.finditer(read(page)):
        target = (page.parent / found["target"]).resolve()
        if target == (DOCS / "gallery" / "index.rst").resolve():  # made from the examples
            target = ROOT / "examples" / "README.rst"
        assert target.exists(), f"{label(page)} links to {found['target']}"


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_names_exist(page):
    for found in ROLE.finditer(read(page)):
        thing = ss
        for part in found["name"].split("."):
            thing = getattr(thing, part)


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_commands_and_files_exist(page):
    targets = set(re.findall(r"^([a-z-]+):", read(ROOT / "Makefile"), re.MULTILINE))
    subcommands = {*typer.main.get_command(cli.app).commands, "COMMAND"}
    for command in commands(page):
        words = command.split()
        for first, second in pairwise(words):
            if first == "make" and re.fullmatch(r"[a-z-]+", second):
                assert second in targets, f"{label(page)}: {command}"
            if first == "python" and second.endswith(".py"):
                assert (ROOT / second).is_file(), f"{label(page)}: {command}"
        if words and words[0] == "safescreen" and len(words) > 1 and not words[1].startswith("-"):
            assert words[1] in subcommands, f"{label(page)}: {command}"
        if FILE.match(command) and not made_by_the_build(Path(command)):
            places = (ROOT, ROOT / "src" / "safescreen", page.parent, ROOT / "benchmarks")
            assert any((place / command).exists() for place in places), f"{label(page)}: {command}"


def rooms() -> dict[str, set[str]]:
    """The table of rooms: what each may use."""
    table = re.search(
        r"\| room \| holds \| may use \|\n\|[-|]+\n(.*?)\n\n", read(DOCS / "design" / "architecture.md"), re.DOTALL
    )
    assert table
    found = {}
    for row in table[1].splitlines():
        _, names, _, doors, _ = row.split("|")
        found |= {room: {*re.findall(r"`([\w.]+)`", doors)} for room in re.findall(r"`(\w+)`", names)}
    return found


def test_no_page_is_listed_below_itself_or_twice():
    """A pattern in a table of contents that fits its own page shows that page twice at the side."""
    listed = []
    for page in (page for page in PAGES if page.is_relative_to(DOCS)):
        for block in CONTENTS.findall(read(page)):
            words = [line for line in block.splitlines() if line and not line.startswith(":")]
            found = [path for word in words for path in page.parent.glob(f"{word}.md")]
            assert page not in found, page
            listed += found
    assert len(listed) == len(set(listed)) > 10


def test_architecture_names_every_room():
    package = ROOT / "src" / "safescreen"
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    modules = {path.stem for path in package.glob("*.py")} - {"__init__"}
    assert rooms().keys() == folders | modules | {"safescreen"}


def test_architecture_names_every_door():
    for room, doors in rooms().items():
        assert doors == {*ROOMS[room].split()}, room


def test_every_public_name_is_in_the_reference():
    listed = set(re.findall(r"^   ~?([\w.]+)$", read(DOCS / "api.md"), re.MULTILINE))
    assert {*ss.__all__} - {"__version__", "datasets"} <= listed
    assert {*ss.datasets.__all__} <= listed


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("plot_*.py")), ids=lambda path: path.stem)
def test_examples_have_a_title_and_compile(example):
    code = compile(read(example), example.name, "exec")
    title, underline = [*code.co_consts[0].strip().splitlines(), "", ""][:2]
    assert title
    assert underline == "=" * len(title)
