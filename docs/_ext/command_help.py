"""The directive ``command-help``: every command of the command line with its help, as the program prints it."""

from __future__ import annotations

from typing import Any

import typer.main
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.testing import CliRunner

from safescreen.cli import app as command_line


class CommandHelp(SphinxDirective):
    """One section per command, so that the page lists what exists and nothing else."""

    def run(self) -> list[nodes.Node]:
        """Ask the program itself."""
        command_line.rich_markup_mode = None  # plain text instead of boxes
        group: Any = typer.main.get_command(command_line)
        return [self._section(name) for name in group.commands]

    @staticmethod
    def _section(name: str) -> nodes.section:
        printed = CliRunner().invoke(command_line, [name, "--help"], prog_name="safescreen", env={"COLUMNS": "96"})
        if printed.exit_code:
            raise RuntimeError(f"safescreen {name} --help ended with status {printed.exit_code}.")
        section = nodes.section(ids=[nodes.make_id(f"safescreen-{name}")])
        section += nodes.title(text=name)
        section += nodes.literal_block(text=printed.output.strip(), language="text")
        return section


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("command-help", CommandHelp)
    return {"version": "1", "parallel_read_safe": True}
