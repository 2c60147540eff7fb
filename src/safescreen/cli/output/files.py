"""What a command writes: refused before the work begins if it cannot be written."""

from __future__ import annotations

import csv
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

import safescreen as ss
from safescreen.cli.failures import about_file, complain
from safescreen.cli.options import DataOptions, OutputOptions
from safescreen.cli.output.show import plain
from safescreen.files import write_whole
from safescreen.formatting.documents import json_text

if TYPE_CHECKING:
    from safescreen.tables import Prepared

_PICTURES = (".png", ".svg", ".pdf")


def check_outputs(outputs: OutputOptions, *inputs: str | None) -> None:
    """Refuse files that cannot be written, before anything takes long."""
    check_files(outputs.files, *inputs)
    if outputs.plot is None:
        return
    if outputs.plot.suffix.lower() not in _PICTURES:
        raise ValueError(f"--plot is {outputs.plot}, but its name must end in one of {', '.join(_PICTURES)}.")
    if find_spec("matplotlib") is None:
        raise ImportError("--plot needs matplotlib: pip install 'safescreen[plot]'.")


def check_files(files: dict[str, Path], *inputs: str | None) -> None:
    """Refuse files in folders that do not exist, twice the same file, and overwriting an input."""
    taken = {Path(name).resolve(): "an input" for name in inputs if name not in (None, "-")}
    for name, path in files.items():
        if path.is_dir():
            raise ValueError(f"--{name} is {path}, but that is a folder: a file name is needed.")
        if not path.parent.is_dir():
            raise ValueError(f"--{name} is {path}, but there is no folder {path.parent}: make it first.")
        if not os.access(path.parent, os.W_OK):
            raise ValueError(f"--{name} is {path}, but nothing can be written into the folder {path.parent}.")
        if path.resolve() in taken:
            raise ValueError(f"--{name} is {path}, but that is {taken[path.resolve()]} already: choose another name.")
        taken[path.resolve()] = f"the file of --{name}"


def write_files(
    console: Console, outputs: OutputOptions, table: str = "table", **writers: Callable[[Path], object]
) -> bool:
    """Write the files asked for, and say where they are; what has no writer has been written on the way.

    One that cannot be written, say because the disk is full, must not cost the others. Returns whether all are there.
    """
    nouns = {"output": table, "plot": "picture", "models-out": "models"}
    complete = True
    for name, path in outputs.files.items():
        try:
            if name.replace("-", "_") in writers:
                writers[name.replace("-", "_")](path)
        except OSError as error:
            complain(about_file(error))
            complete = False
            continue
        console.print(f"{nouns.get(name, name).capitalize()} written to [bold]{plain(path)}[/bold]", soft_wrap=True)
    return complete


@contextmanager
def keeping_proof_failures() -> Iterator[list[str]]:
    """Say on standard error if a proof could not be written, and have the sentence in the list; pass other warnings on.

    The result is worth showing and keeping all the same, but the exit status is to tell. A checkpoint is no result.
    """
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ss.ProofNotWrittenWarning)
        warnings.simplefilter("always", ss.CheckpointNotWrittenWarning)
        yield said
    for one in caught:
        if issubclass(one.category, ss.ProofNotWrittenWarning):
            said.append(str(one.message))
            complain(said[-1])
        elif issubclass(one.category, ss.CheckpointNotWrittenWarning):
            complain(str(one.message))
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def write_plot(path: Path, display: Callable[[Any], Any], shown: object) -> None:
    """Draw something into a file, without a window."""
    import matplotlib

    matplotlib.use("Agg")
    figure = display(shown).figure_
    with write_whole(path) as temporary:
        figure.savefig(temporary, dpi=150, bbox_inches="tight")


def write_records(path: Path | None, records: list[dict[str, Any]]) -> None:
    """Write records with the same keys as a table, to a file or to standard output."""
    text = io.StringIO()
    writer = csv.DictWriter(text, records[0] if records else (), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _harmless(value) for name, value in record.items()} for record in records)
    if path is None:
        sys.stdout.write(text.getvalue())
        return
    with write_whole(path) as temporary:
        temporary.write_text(text.getvalue(), encoding="utf-8", newline="")


def opening(data: str, target: str | None, classified: Any, terms: Mapping[str, Any], names: Any) -> dict[str, Any]:
    """How every document begins: which data, which labels, and all terms in one place, features by name.

    What is `classified` has classes: a problem, or the record of a model.
    """
    from safescreen.problem.terms import Terms

    said = {name: terms[name] for name in (*Terms.names(), "refit_gamma", "copies") if name in terms}
    for name in ("include", "exclude"):
        features = [*said.get(name, ())]
        said[name] = features if names is None else [names[j] if isinstance(j, int) else j for j in features]
    return {"data": data, "target": target, **attributes(classified, "classes", "positive_class"), "terms": said}


def problem_opening(source: DataOptions, data: Prepared, problem: ss.Problem, **terms: Any) -> dict[str, Any]:
    """The same for training data; `terms` are those that the problem does not have, or has several values of."""
    said = {**problem.asked.asdict(), "copies": source.copies, "exclude": data.encoding.reading.exclude, **terms}
    opened = opening(source.data, data.target, problem, said, data.encoding.names)
    return {**opened, **attributes(problem, "n_samples", "n_features")}


def _harmless(value: Any) -> Any:
    """A cell of a table; a text that a spreadsheet would take for a formula gets an apostrophe before it.

    Labels and names come from files of others, and formulas can send data away; numbers keep their signs.
    """
    if not isinstance(value, str) or not value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def attributes(found: object, *names: str) -> dict[str, Any]:
    """Some attributes of a result, for other programs."""
    return {name: getattr(found, name) for name in names}


def screening_document(screening: ss.Screening) -> dict[str, Any]:
    """What screening decided, for other programs."""
    counts = {name: getattr(screening, name).size for name in ("excluded", "included", "undecided")}
    return {**counts, "percent": screening.percent}


def print_json(document: dict[str, Any]) -> None:
    """Print a document; numbers that JSON does not have become null."""
    sys.stdout.write(json_text(document))
