"""``safescreen verify``: check a proof against the data, trusting nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import safescreen.cli.options as o


def verify(
    proof: Annotated[Path, typer.Argument(metavar="PROOF", show_default=False, help="Proof written by fit.")],
    data: o.DataFile,
    target: o.Target = None,
    exclude: o.Exclude = None,
    weights: o.Weights = None,
    impute: o.Impute = None,
    one_hot: o.OneHot = False,
    drop_missing: o.DropMissing = False,
    header: o.Header = None,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="JSON",
            help="Read the data as the fit of this model did, instead of saying so again.",
            show_default=False,
            rich_help_panel="Data",
        ),
    ] = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Check whether the bounds of a proof hold for these data.

    The data are read as for fit, so the options about them must be the same.
    """
    import safescreen as ss

    from ..files import check_readable
    from .failures import LIMIT_HIT
    from .inputs import load, reading_from
    from .outputs import print_json
    from .show import make_console, show_notes

    check_readable(proof)
    reading = reading_from(target, weights, exclude, impute, one_hot, drop_missing, header)
    loaded = load(data, reading if model is None else _reading_of(model, target))
    result = ss.verify(proof, loaded.data.X, loaded.data.y, loaded.data.weights)
    console = make_console(quiet or json)
    show_notes(console, loaded.data.notes)
    _show(console, result)
    if json:
        names = ("valid", "problem", "objective", "lower_bound", "gap", "leaves", "nodes", "seconds", "reason")
        print_json({name: getattr(result, name) for name in names})
    if not result.valid:
        raise typer.Exit(LIMIT_HIT)


def _reading_of(model: Path, target: str | None) -> Any:
    """How a model's training data were read."""
    from dataclasses import replace

    from ..files import check_readable
    from ..records import Record
    from ..tables import Encoding

    check_readable(model)
    record = Record.read(model)
    if record.encoding is None:
        raise ValueError(f"--model is {model}, but that model was not fitted on the command line.")
    reading = Encoding.from_json(record.encoding).reading
    return reading if target is None else replace(reading, target=target)


def _show(console: Any, result: Any) -> None:
    from .show import grid, plain

    if not result.valid:
        console.print(f"[bold red]The proof does not hold[/bold red]: {plain(result.reason)}")
        console.print("[dim]The data must be the same, and be read with the same options, as for fit.[/dim]")
        return
    console.print("[bold green]The proof holds[/bold green]: no model is better than the lower bound says.")
    rows = {
        "problem": result.problem,
        "objective": f"{result.objective:.10f}",
        "lower bound": f"{result.lower_bound:.10f}",
        "gap": f"{100.0 * result.gap:.4f} %",
        "leaves": f"{result.leaves:,}",
        "nodes": f"{result.nodes:,}",
        "seconds": f"{result.seconds:.2f}",
    }
    console.print(grid(rows))
