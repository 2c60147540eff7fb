"""The options of all commands, said once, in groups."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from safescreen.defaults import AUTO_RIDGE, BUDGET, GAMMA, GAMMAS, REFIT_GAMMA, REFIT_GAMMAS, SIZES

if TYPE_CHECKING:
    from safescreen.tables import Reading


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


def _column(*names: str, help: str) -> Any:
    return typer.Option(*names, metavar="COLUMN", help=help, autocompletion=complete_columns)


def _columns(help: str) -> Any:
    return typer.Option(metavar="NAMES", help=help, autocompletion=complete_columns)


FORM = ("header", "delimiter", "decimal", "encoding", "sheet")
"""The options about how a file is written, which hold for any file with data."""


@dataclass(frozen=True)
class DataOptions:
    """Which file to read, and how."""

    panel: ClassVar[str] = "Data"

    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="CSV, TSV, Excel, Parquet, Arrow, Feather, .npz or SVMlight file, also compressed; - is standard "
            "input.",
        ),
    ]
    target: Annotated[
        str | None,
        _column("--target", "-t", help="Column with the two labels, by name or index (0 is the first, -1 the last)."),
    ] = None
    exclude: Annotated[list[str] | None, _columns("Columns that are no features, separated by commas.")] = None
    positive: Annotated[
        str | None,
        typer.Option(metavar="LABEL", help="Label to model; by default the larger of two. Others are the rest."),
    ] = None
    weights: Annotated[str | None, _column(help="Column with sample weights.")] = None
    impute: Annotated[
        str | None,
        typer.Option(
            metavar="median",
            help="Fill missing numbers with the median, missing categories with the most frequent one.",
            autocompletion=lambda: ["median"],
        ),
    ] = None
    one_hot: Annotated[
        bool, typer.Option("--one-hot", help="Turn columns of text into indicators of their categories.")
    ] = False
    drop_missing: Annotated[bool, typer.Option("--drop-missing", help="Leave out rows with missing values.")] = False
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first row has names; found out by default."),
    ] = None
    delimiter: Annotated[
        str | None, typer.Option(metavar="CHARACTER", help="What separates columns of text, also tab or space.")
    ] = None
    decimal: Annotated[str | None, typer.Option(metavar=".|,", help="The decimal point.")] = None
    encoding: Annotated[str | None, typer.Option(metavar="NAME", help="Encoding of text, as in cp1252.")] = None
    sheet: Annotated[
        str | None, typer.Option(metavar="SHEET", help="Sheet of a workbook, by name or index; by default the first.")
    ] = None
    test: Annotated[str | None, typer.Option(metavar="DATA", help="Held-out data.")] = None
    copies: Annotated[
        str,
        typer.Option(
            metavar="one|allow",
            help="Whether only one of several columns that are copies of each other may be chosen.",
            autocompletion=lambda: ["one", "allow"],
        ),
    ] = "one"

    def __post_init__(self) -> None:
        """Refuse what is none of the choices before any file is read."""
        if self.copies not in ("one", "allow"):
            raise ValueError(f"--copies is {self.copies!r}, but must be 'one' or 'allow'.")

    def reading(self) -> Reading:
        """What is said about the columns, checked."""
        from safescreen.tables import Reading

        said = {field.name: getattr(self, field.name) for field in fields(Reading)}
        return Reading(**{**said, "exclude": tuple(self.exclude or ())})

    def repeated(self) -> list[str]:
        """The words that make another command read the same file in the same way."""
        valued = {"--target": self.target, "--positive": self.positive, "--weights": self.weights}
        valued |= {f"--{name}": getattr(self, name) for name in ("impute", "delimiter", "decimal", "encoding", "sheet")}
        words = [word for name, value in valued.items() if value is not None for word in (name, value)]
        words += [word for names in self.exclude or () for word in ("--exclude", names)]
        flags = {"--one-hot": self.one_hot, "--drop-missing": self.drop_missing}
        flags |= {"--header": self.header is True, "--no-header": self.header is False}
        return [self.data, *words, *(flag for flag, given in flags.items() if given)]


@dataclass(frozen=True)
class _TermOptions:
    """The terms of a problem under the library's names; columns that are excluded are not even read, see above."""

    panel: ClassVar[str] = "Problem"

    k: Any = None
    mu: Any = None
    gamma: Any = None
    fit_intercept: Annotated[bool, typer.Option("--no-intercept", help="Without an intercept.")] = True
    standardize: Annotated[
        bool, typer.Option("--no-standardize", help="Take features as they are instead of scaling them.")
    ] = True
    include: Annotated[list[str] | None, _columns("Features that must be in the model, separated by commas.")] = None

    def asdict(self) -> dict[str, Any]:
        """All terms by name."""
        return {**vars(self), "include": self.include or ()}


@dataclass(frozen=True)
class TermOptions(_TermOptions):
    """One problem."""

    k: Annotated[
        int | None,
        typer.Option("--k", "-k", help=f"Budget: at most so many features; {BUDGET} with neither --k nor --mu."),
    ] = None
    mu: Annotated[float | None, typer.Option(help="Price of each feature.")] = None
    gamma: Annotated[
        float, typer.Option(help="Ridge of the choice: small values shrink more, and make proofs easier.")
    ] = GAMMA

    def __post_init__(self) -> None:
        """Refuse a wrong question before any file is read."""
        from safescreen.problem.terms import Terms

        Terms(**{**self.asdict(), "k": BUDGET if self.k is None and self.mu is None else self.k})


@dataclass(frozen=True)
class QuestionOptions:
    """The problem that a proof must be about, as far as one cares."""

    panel: ClassVar[str] = "Problem that must have been proved"

    k: Annotated[int | None, typer.Option("--k", "-k", help="Budget of features.")] = None
    mu: Annotated[float | None, typer.Option(help="Price of each feature; 0 for none.")] = None
    gamma: Annotated[float | None, typer.Option(help="Ridge of the choice.")] = None
    fit_intercept: Annotated[
        bool | None, typer.Option("--intercept/--no-intercept", help="With or without an intercept.")
    ] = None
    standardize: Annotated[
        bool | None, typer.Option("--standardize/--no-standardize", help="With or without scaling of features.")
    ] = None
    include: Annotated[list[str] | None, _columns("Features that had to be in the model, separated by commas.")] = None


@dataclass(frozen=True)
class RangeOptions(_TermOptions):
    """Several problems: those along a path, or those to choose from."""

    k: Annotated[str | None, typer.Option("--k", "-k", help="Budgets: 1:20, 1:20:5 or 1,2,5.")] = None
    mu: Annotated[str | None, typer.Option(help="Prices, as in 0.1,0.01,0.001.")] = None
    gamma: Annotated[str | None, typer.Option(help="Ridges of the choice, as in 1,10,100.")] = f"{GAMMA:g}"


@dataclass(frozen=True)
class CandidateOptions(RangeOptions):
    """What to choose from; where nothing is said, what the estimator tries."""

    k: Annotated[
        str | None,
        typer.Option("--k", "-k", help=f"Budgets: 1:20, 1:20:5 or 1,2,5; by default up to {SIZES[-1]}."),
    ] = None
    gamma: Annotated[
        str | None,
        typer.Option(help=f"Ridges of the choice to try; by default {', '.join(f'{gamma:g}' for gamma in GAMMAS)}."),
    ] = None
    refit_gamma: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS|same|cv",
            help=f"Ridges of the estimates to try; by default same, {REFIT_GAMMAS[0]:g} and weaker ones.",
        ),
    ] = None


def parsed_ridge(text: str) -> float | str:
    """A number, or a word in its place."""
    try:
        return float(text)
    except ValueError:
        return text.strip()


@dataclass(frozen=True)
class EstimateOptions:
    """At which ridge to estimate what is chosen."""

    panel: ClassVar[str] = _TermOptions.panel

    refit_gamma: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|auto|same|cv",
            help="Ridge of the coefficients, estimated once the features are chosen; "
            f"auto is {AUTO_RIDGE:g}, or --gamma if that is weaker.",
            autocompletion=lambda: ["auto", "same", "cv"],
        ),
    ] = REFIT_GAMMA

    def __post_init__(self) -> None:
        """Refuse a wrong ridge before any file is read."""
        from safescreen.estimation import check_refit_gamma

        if self.refit_gamma is not None:
            check_refit_gamma(self.ridge)

    @property
    def ridge(self) -> float | str:
        """A number, or a word in its place."""
        return parsed_ridge(str(self.refit_gamma))


@dataclass(frozen=True)
class SearchOptions:
    """How far to search, and how, under the names that `solve` has for it."""

    panel: ClassVar[str] = "Search"

    rel_gap: Annotated[float, typer.Option("--gap", help="Stop at this relative gap.")] = 1e-4
    time_limit: Annotated[float | None, typer.Option(metavar="SECONDS", help="Stop then.")] = None
    node_limit: Annotated[int | None, typer.Option(help="Stop after so many nodes.")] = None
    n_threads: Annotated[int, typer.Option("--threads", help="Threads that search.")] = 1
    memory_limit: Annotated[
        float | None,
        typer.Option(
            metavar="GB", help="Memory beside the data; by default 1 and a quarter of the data.", show_default=False
        ),
    ] = None
    screening: Annotated[
        str,
        typer.Option(
            metavar="nodes|root|none", help="Where to screen.", autocompletion=lambda: ["nodes", "root", "none"]
        ),
    ] = "nodes"

    def __post_init__(self) -> None:
        """Refuse wrong settings before any file is read."""
        from safescreen.search import Settings

        Settings(**vars(self)).checked()


@dataclass(frozen=True)
class CheckpointOptions:
    """What to keep of a search, under the names that `solve` has for it."""

    panel: ClassVar[str] = SearchOptions.panel

    checkpoint: Annotated[
        Path | None, typer.Option(metavar="NPZ", help="Keep the search in this file, so that it can go on later.")
    ] = None
    checkpoint_every: Annotated[float, typer.Option(metavar="SECONDS", help="How often.")] = 60.0
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint, if there is one.")] = False

    def __post_init__(self) -> None:
        """Refuse a wrong wish before any file is read."""
        from safescreen.search import check_checkpoint

        check_checkpoint(**vars(self))

    @property
    def files(self) -> dict[str, Path]:
        """The files to be written, under the names of their options."""
        return {} if self.checkpoint is None else {"checkpoint": self.checkpoint}


def parsed_share(text: str) -> float:
    """A share as a number or in percent."""
    number, percent, rest = text.strip().partition("%")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if rest or not value >= 0.0 or value == math.inf:
        raise ValueError(f"--within is {text!r}, but must be a share >= 0, such as 1% or 0.01.")
    return value / 100.0 if percent else value


@dataclass(frozen=True)
class ListOptions:
    """Which models to list."""

    panel: ClassVar[str] = "Models"

    within: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="How much worse than the best a model may be, as in 1% or 0.01; 1% unless --n-best is given.",
        ),
    ] = None
    n_best: Annotated[int | None, typer.Option(help="List so many, the best ones.")] = None
    max_models: Annotated[int, typer.Option(help="Stop once there are more than that.")] = 10_000

    def __post_init__(self) -> None:
        """Refuse a wrong wish before any file is read."""
        from safescreen.good_models.asking import checked_wish

        checked_wish(**self.asdict())

    def asdict(self) -> dict[str, Any]:
        """All of them by the names that `alternatives` has."""
        return {**vars(self), "within": None if self.within is None else parsed_share(self.within)}


@dataclass(frozen=True)
class CoreOptions:
    """Which models are to use the features, and how many of them."""

    panel: ClassVar[str] = "Models"

    within: Annotated[
        str, typer.Option(metavar="SHARE", help="How much worse than the best a model may be, as in 5% or 0.05.")
    ] = "5%"
    at_least: Annotated[int, typer.Option(help="How many of the features every such model uses.")] = 1

    def __post_init__(self) -> None:
        """Refuse a wrong question before any file is read."""
        from safescreen.cores.question import check_count

        parsed_share(self.within)
        check_count(self.at_least)

    def asdict(self) -> dict[str, Any]:
        """All of them by the names that `core` has."""
        return {"within": parsed_share(self.within), "at_least": self.at_least}


@dataclass(frozen=True)
class OutputOptions:
    """What to write and to print."""

    panel: ClassVar[str] = "Output"

    model: Annotated[Path | None, typer.Option("--model", "-m", metavar="JSON", help="Write the model.")] = None
    proof: Annotated[Path | None, typer.Option(metavar="NPZ", help="Write the proof.")] = None
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="CSV", help="Write the table.")] = None
    models_out: Annotated[
        Path | None, typer.Option("--models-out", metavar="CSV", help="Write all models, one per row.")
    ] = None
    plot: Annotated[Path | None, typer.Option(metavar="PICTURE", help="Draw it (.png, .svg, .pdf).")] = None
    report: Annotated[Path | None, typer.Option(metavar="HTML", help="Write a report.")] = None
    json: Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False
    accept_limit: Annotated[
        bool, typer.Option("--accept-limit", help="Exit status 0 also when a limit was hit, for makefiles.")
    ] = False

    @property
    def files(self) -> dict[str, Path]:
        """The files to be written, under the names of their options."""
        return {name.replace("_", "-"): value for name, value in vars(self).items() if isinstance(value, Path)}

    @property
    def silent(self) -> bool:
        """Whether nothing is shown on standard output."""
        return self.json or self.quiet
