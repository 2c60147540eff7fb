"""``safescreen verify``: check a proof against the data, trusting nobody."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

import safescreen as ss
from safescreen.cli.failures import finish
from safescreen.cli.grouping import expand, only, without
from safescreen.cli.options import DataOptions, OutputOptions, QuestionOptions
from safescreen.cli.output.files import attributes, opening, print_json
from safescreen.cli.output.show import grid, make_console, plain, result_rows, show_notes
from safescreen.files import check_readable

if TYPE_CHECKING:
    from safescreen.tables import Prepared


@expand
def verify(
    *,
    proof: Annotated[Path, typer.Argument(metavar="PROOF", help="Proof written by fit.")],
    source: Annotated[DataOptions, without("test", "copies")],
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="JSON",
            help="Read the data as the fit of this model did, but for what is said anew.",
            rich_help_panel=DataOptions.panel,
        ),
    ] = None,
    asked: QuestionOptions,
    outputs: Annotated[OutputOptions, only("json", "quiet")],
) -> None:
    """Check whether the bounds of a proof hold for these data: they are about the choice of features at its ridge.

    The data are read as for fit, so the options about them must be the same. What is said about the problem must be
    what was proved.
    """
    from safescreen.cli.inputs import features, load, reading_of

    check_readable(proof)
    reading = source.reading() if model is None else reading_of(model, source.reading())
    data = load(source.data, reading)
    terms = {**vars(asked), "include": None if asked.include is None else features(data, asked.include)}
    result = ss.verify(proof, data.X, data.y, data.weights, positive_class=data.positive, **terms)
    console = make_console(outputs.silent)
    show_notes(console, data.notes)
    _show(console, result)
    if outputs.json:
        names = (
            "valid",
            "problem",
            "objective",
            "lower_bound",
            "gap",
            "proved_exchanges",
            "leaves",
            "nodes",
            "seconds",
            "reason",
            "identified",
        )
        told = {**attributes(result, *names), **_list(result)}
        print_json({**_opening(source.data, data, result), **told, "notes": data.notes})
    finish(proved=result.valid)


def _opening(path: str, data: Prepared, result: ss.Verification) -> dict[str, Any]:
    """The beginning of a document, with what the proof states; nothing where it cannot be read."""
    claims = result.claims
    classes = claims.get("classes")
    stated = SimpleNamespace(classes=classes, positive_class=classes and classes[1])
    terms = {**claims, "mu": claims.get("mu") or None, "exclude": [*claims.get("exclude", ())]}
    terms["exclude"] += data.encoding.reading.exclude
    opened = opening(path, data.target, stated, terms, data.encoding.names)
    return {**opened, "n_samples": data.X.shape[0], "n_features": data.X.shape[1]}


def _list(result: ss.Verification) -> dict[str, Any]:
    """What a proof of a list of models says besides."""
    if "goal" not in result.claims:
        return {}
    if result.claims["goal"] == "core":
        return {
            **{name: result.claims[name] for name in ("goal", "core", "at_least", "within")},
            **attributes(result, "avoiding_bound"),
        }
    stated = {"goal": result.claims["goal"], "complete": result.valid and result.claims["complete"]}
    return {**stated, **attributes(result, "models", "missing_bound")}


def _show(console: Console, result: ss.Verification) -> None:
    if not result.valid:
        console.print(f"[bold red]The proof does not hold[/bold red]: {plain(result.reason)}")
        if "another question" not in result.reason:
            console.print("[dim]The data must be the same, and be read with the same options, as for fit.[/dim]")
        return
    choice = (
        f"no choice of features has a lower objective at γ = {result.claims['gamma']:g} than the bound "
        f"says{result.near_statement}."
    )
    proved = result.statement if _list(result) else choice
    console.print(
        f"[bold green]The proof holds[/bold green]: {plain(proved)} It is about the choice; coefficients estimated at "
        "another ridge are no part of it."
    )
    console.print(f"Modelled: probability of {plain(result.modelled)}.")
    console.print(grid({"problem": result.problem, **result_rows(result), "leaves": f"{result.leaves:,}"}))
    if not result.identified:
        console.print("[dim]The proof has no fingerprint of its matrix: it was checked against the data given.[/dim]")
