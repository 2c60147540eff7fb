"""What a report has to say about its data: where they come from, what was done to them, and how to check the proof."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from rich.console import Console

from safescreen.cli.inputs import split_names
from safescreen.cli.options import DataOptions, OutputOptions
from safescreen.cli.output.show import plain
from safescreen.cli.scoring import filled, filling_note
from safescreen.tables import Prepared
from safescreen.text import count, listed

_TOLD = 20  # columns whose coding is told


def about(source: DataOptions, data: Prepared, outputs: OutputOptions) -> dict[str, Any]:
    """Title, notes and the command that checks the proof, as `report` takes them."""
    check = None if outputs.proof is None else check_command(source, outputs.proof)
    return {"title": data.title, "notes": story(source, data), "check": check}


def check_command(source: DataOptions, proof: Path) -> str:
    """The command that checks a proof: it has to read the data in the same way."""
    return shlex.join(["safescreen", "verify", str(proof), *source.repeated()])


def show_check(console: Console, source: DataOptions, outputs: OutputOptions) -> None:
    """The command that checks the proof, if there is one: it has to read the data in the same way."""
    if outputs.proof is not None:
        reading = source.repeated() if outputs.model is None else [source.data, "--model", str(outputs.model)]
        command = plain(shlex.join(["safescreen", "verify", str(outputs.proof), *reading]))
        console.print(f"[dim]Check the proof with[/dim] {command}", soft_wrap=True)


def story(source: DataOptions, data: Prepared) -> list[str]:
    """What became of the file's rows and columns, one sentence each."""
    table, encoding, reading = data.table, data.encoding, data.encoding.reading
    told = [f"{table.source} has {count(table.n_rows, 'row')} and {count(table.n_columns, 'column')}."]
    filling = filling_note(encoding, filled(encoding, table))
    told += [note for note in data.notes if not (filling and note.startswith("Filled "))]  # by column says more
    told += filling
    if excluded := split_names(source.exclude, table.names):
        told.append(f"Left out as no features (--exclude): {listed(excluded, _TOLD)}.")
    if reading.weights is not None:
        told.append(f"Rows have the weights in {reading.weights!r}.")
    coded = [_coding(column, categories) for column, categories in encoding.categories.items()]
    more = count(len(coded) - _TOLD, "more column")
    return told + coded[:_TOLD] + ([f"{more} of text were coded alike."] if len(coded) > _TOLD else [])


def _coding(column: str, categories: list[str]) -> str:
    """How a column of text became numbers."""
    if len(categories) == 2:
        reference, shown = categories
        return f"{column!r} became the indicator {f'{column}={shown}'!r}; its reference level is {reference!r}."
    became = f"{column!r} became {count(len(categories), 'indicator')}, one for each category"
    return f"{became} ({listed(categories, 8)}), none of them a reference level."
