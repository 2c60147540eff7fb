"""The command line: one module per command, loaded light.

Heavy imports happen inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from safescreen import __version__
from safescreen.cli.commands.alternatives import alternatives
from safescreen.cli.commands.core import core
from safescreen.cli.commands.cv import cv
from safescreen.cli.commands.demo import demo
from safescreen.cli.commands.evaluate import evaluate
from safescreen.cli.commands.fit import fit
from safescreen.cli.commands.path import path
from safescreen.cli.commands.predict import predict
from safescreen.cli.commands.reproduce import reproduce
from safescreen.cli.commands.screen import screen
from safescreen.cli.commands.verify import verify
from safescreen.cli.failures import BAD_INPUT, STATUSES, SentenceGroup

__all__ = ["BAD_INPUT", "app", "main"]

app = typer.Typer(
    name="safescreen",
    cls=SentenceGroup,
    help="Provably optimal sparse logistic regression.",
    epilog=STATUSES,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"safescreen {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Provably optimal sparse logistic regression."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit


for _command in (demo, fit, alternatives, screen, core, predict, evaluate, path, cv, verify, reproduce):
    app.command()(_command)


def main() -> None:
    """Run the command line; bad input ends in one sentence on stderr, without a traceback."""
    for stream in (sys.stdout, sys.stderr):  # a terminal that lacks a letter shows another one
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    app()
