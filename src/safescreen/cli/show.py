"""What the commands show, made to fit 80 columns."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..problem import Problem
    from ..screening import Screening
    from ..solution import Solution
    from .inputs import Loaded
    from .scores import Scores


def make_console(quiet: bool = False, stderr: bool = False) -> Console:
    """A console without guesses about what numbers mean; colours vanish when piped."""
    from rich.console import Console

    return Console(quiet=quiet, highlight=False, emoji=False, file=sys.stderr if stderr else sys.stdout)


def plain(text: object) -> str:
    """Names, labels and paths as they are: no markup, nothing that a terminal would obey."""
    from rich.markup import escape

    return escape("".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(text)))


def screening_line(screening: Screening, seconds: bool = True) -> str:
    """What screening proves before any search."""
    started = f"Screened in {screening.seconds:.2f} s" if seconds else "Screened"
    return (
        f"{started}: [green]{len(screening.excluded)} out[/green], "
        f"[cyan]{len(screening.included)} in[/cyan], {len(screening.undecided)} undecided "
        f"({screening.percent:.1f} % decided)"
    )


def question(loaded: Loaded, problem: Problem) -> str:
    """The problem in words."""
    positive = problem.classes[1]
    if problem.k < problem.n_features:
        which = f"Which {problem.k} of {problem.n_features:,} features"
        price = f" at a price of {problem.mu:g} each" if problem.mu > 0.0 else ""
    else:
        which = f"Which of {problem.n_features:,} features"
        price = f", at a price of {problem.mu:g} each," if problem.mu > 0.0 else ""
    aim = plain(f"{loaded.target} = {positive}")
    verb = "predicts" if problem.k == 1 else "predict"
    return f"[bold]{which}[/bold]{price} best {verb} [bold]{aim}[/bold]? ({problem.n_samples:,} rows)"


def settings_line(problem: Problem, without: str = "") -> str:
    """The rest of the problem, but for a parameter that varies."""
    parts = {
        "k": f"at most {problem.k} features" if without and problem.k < problem.n_features else "",
        "mu": f"mu = {problem.mu:g}" if without and problem.mu > 0.0 else "",
        "gamma": f"gamma = {problem.gamma:g}",
        "scaling": "standardised" if problem.standardize else "not standardised",
        "intercept": "with intercept" if problem.fit_intercept else "without intercept",
        "include": f"{problem.include.size} included beforehand" if problem.include.size else "",
        "weights": "weighted" if problem.weights.min() < problem.weights.max() else "",
    }
    return f"[dim]{', '.join(part for name, part in parts.items() if part and name != without)}[/dim]"


def show_notes(console: Console, notes: Iterable[str]) -> None:
    """What happened to the data."""
    for note in notes:
        console.print(f"[yellow]Note:[/yellow] {plain(note)}")


def show_files(console: Console, **files: Path | None) -> None:
    """What was written where."""
    for what, path in files.items():
        if path is not None:
            console.print(f"{what.capitalize()} written to [bold]{plain(path)}[/bold]", soft_wrap=True)


def features_table(solution: Solution, spread: Any) -> Table:
    """The chosen features, those that matter most first."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("chosen feature", overflow="fold")
    table.add_column("coefficient", justify="right", no_wrap=True)
    table.add_column("odds ratio per std. dev.", justify="right", no_wrap=True)
    support, names = solution.support.tolist(), solution.feature_names
    effects = [solution.coef[j] * s for j, s in zip(support, spread, strict=True)]
    for i in sorted(range(len(support)), key=lambda i: -abs(effects[i])):
        table.add_row(plain(names[i]), f"{solution.coef[support[i]]:.4g}", odds_ratio(effects[i]))
    table.add_row("[dim]intercept[/dim]", f"{solution.intercept:.4g}", "")
    return table


def odds_ratio(effect: float) -> str:
    """The factor on the odds; huge ones as powers."""
    return f"{math.exp(effect):.4g}" if effect < 700.0 else f"e^{effect:.4g}"


def result_rows(solution: Solution) -> dict[str, str]:
    """How good the model is, and how far that is proved."""
    return {
        "status": solution.status,
        "objective": f"{solution.objective:.10f}",
        "safe lower bound": f"{solution.lower_bound:.10f}",
        "gap": f"{100.0 * solution.gap:.4f} %",
        "nodes": f"{solution.nodes:,}",
        "seconds": f"{solution.seconds:.2f}",
    }


def score_row(scores: Scores) -> str:
    """Two numbers that people ask for."""
    auc = "undefined" if math.isnan(scores.auc) else f"{scores.auc:.4f}"
    return f"accuracy {100.0 * scores.accuracy:.1f} %, AUC {auc}"


def grid(rows: dict[str, str], align: str = "right") -> Table:
    """Names and values."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(justify=align, overflow="fold")  # type: ignore[arg-type]
    for name, value in rows.items():
        table.add_row(name, value)
    return table
