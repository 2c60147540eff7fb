"""The options that commands share, each said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_DATA, _PROBLEM, _SEARCH, _OUTPUT = "Data", "Problem", "Search", "Output"


def complete_columns(context: typer.Context, incomplete: str) -> list[str]:
    """The data's column names, for the shell's completion; a file that cannot be read completes nothing."""
    from safescreen.tables import column_names

    typed = [context.params.get("data"), *context.args]  # an option without a value leaves the rest unparsed
    files = [str(word) for word in typed if word and Path(word).is_file()]
    try:
        names = column_names(files[0]) if files else []
    except (ValueError, OSError, ImportError):
        return []
    return [name for name in names if name.startswith(incomplete)]


DataFile = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="CSV, TSV, Parquet, Arrow, Feather, .npz or SVMlight file, also compressed; - is standard input.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="COLUMN",
        help="Column with the two labels, by name or index (0 is the first, -1 the last).",
        autocompletion=complete_columns,
        show_default=False,
        rich_help_panel=_DATA,
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column with sample weights.",
        autocompletion=complete_columns,
        show_default=False,
        rich_help_panel=_DATA,
    ),
]
Include = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="Features that must be in the model, separated by commas.",
        autocompletion=complete_columns,
        show_default=False,
        rich_help_panel=_PROBLEM,
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="Columns that are no features, separated by commas.",
        autocompletion=complete_columns,
        show_default=False,
        rich_help_panel=_DATA,
    ),
]
Impute = Annotated[
    str | None,
    typer.Option(
        metavar="median",
        help="Fill missing numbers with the median, missing categories with the most frequent one.",
        autocompletion=lambda: ["median"],
        show_default=False,
        rich_help_panel=_DATA,
    ),
]
OneHot = Annotated[
    bool,
    typer.Option("--one-hot", help="Turn columns of text into indicators of their categories.", rich_help_panel=_DATA),
]
DropMissing = Annotated[
    bool,
    typer.Option("--drop-missing", help="Leave out rows with missing values.", rich_help_panel=_DATA),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first row has names; found out by default.",
        show_default=False,
        rich_help_panel=_DATA,
    ),
]

K = Annotated[
    int | None,
    typer.Option("--k", "-k", help="Budget: at most so many features.", show_default=False, rich_help_panel=_PROBLEM),
]
Mu = Annotated[
    float | None,
    typer.Option(help="Price of each feature.", show_default=False, rich_help_panel=_PROBLEM),
]
Gamma = Annotated[
    float,
    typer.Option(help="Ridge parameter: 1 shrinks strongly; for prediction try 10 to 1000.", rich_help_panel=_PROBLEM),
]
NoIntercept = Annotated[bool, typer.Option("--no-intercept", help="Without an intercept.", rich_help_panel=_PROBLEM)]
NoStandardize = Annotated[
    bool,
    typer.Option(
        "--no-standardize", help="Take features as they are instead of scaling them.", rich_help_panel=_PROBLEM
    ),
]

Gap = Annotated[float, typer.Option(help="Stop at this relative gap.", rich_help_panel=_SEARCH)]
TimeLimit = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Stop then.", show_default=False, rich_help_panel=_SEARCH)
]
NodeLimit = Annotated[
    int | None, typer.Option(help="Stop after so many nodes.", show_default=False, rich_help_panel=_SEARCH)
]
Threads = Annotated[int, typer.Option(help="Threads that search.", rich_help_panel=_SEARCH)]
Screening = Annotated[
    str,
    typer.Option(
        metavar="nodes|root|none",
        help="Where to screen.",
        autocompletion=lambda: ["nodes", "root", "none"],
        rich_help_panel=_SEARCH,
    ),
]

Json = Annotated[bool, typer.Option("--json", help="Print JSON for other programs.", rich_help_panel=_OUTPUT)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.", rich_help_panel=_OUTPUT)]
TableOutput = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="CSV", help="Write the table.", show_default=False, rich_help_panel=_OUTPUT),
]
Plot = Annotated[
    Path | None,
    typer.Option(metavar="PICTURE", help="Draw it (.png, .svg, .pdf).", show_default=False, rich_help_panel=_OUTPUT),
]
Report = Annotated[
    Path | None,
    typer.Option(metavar="HTML", help="Write a report.", show_default=False, rich_help_panel=_OUTPUT),
]
ModelOutput = Annotated[
    Path | None,
    typer.Option("--model", "-m", metavar="JSON", help="Write the model.", show_default=False, rich_help_panel=_OUTPUT),
]
TestFile = Annotated[
    str | None,
    typer.Option("--test", metavar="DATA", help="Held-out data.", show_default=False, rich_help_panel=_DATA),
]
