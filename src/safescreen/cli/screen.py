"""``safescreen screen``: what is proved about the features before any search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

import safescreen.cli.options as o

if TYPE_CHECKING:
    from safescreen.problem import Problem
    from safescreen.screening import Screening

DECISIONS = ("in", "undecided", "out")


def screen(
    data: o.DataFile,
    target: o.Target = None,
    k: o.K = None,
    mu: o.Mu = None,
    gamma: o.Gamma = 1.0,
    no_intercept: o.NoIntercept = False,
    no_standardize: o.NoStandardize = False,
    include: o.Include = None,
    exclude: o.Exclude = None,
    weights: o.Weights = None,
    impute: o.Impute = None,
    one_hot: o.OneHot = False,
    drop_missing: o.DropMissing = False,
    header: o.Header = None,
    top: Annotated[int, typer.Option(help="Features to show of each kind.", rich_help_panel="Output")] = 5,
    output: o.TableOutput = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Prove which features are in no, and which in every optimal model."""
    import safescreen as ss
    from safescreen.cli.inputs import check_parameters, load, make_problem, reading_from
    from safescreen.cli.outputs import check_outputs, print_json, write_csv
    from safescreen.cli.show import make_console, question, screening_line, settings_line, show_files, show_notes

    check_parameters(k, mu, gamma)
    check_outputs((data,), output=output)
    loaded = load(data, reading_from(target, weights, exclude, impute, one_hot, drop_missing, header), include)
    problem = make_problem(
        loaded, k, mu, gamma, include=include, fit_intercept=not no_intercept, standardize=not no_standardize
    )
    console = make_console(quiet or json)
    show_notes(console, loaded.data.notes)
    console.print(question(loaded, problem))
    console.print(settings_line(problem))
    screening = ss.screen(problem)
    rows = _rows(problem, screening)
    if output is not None:
        write_csv(output, ("feature", "decision", "margin"), [(name, what, repr(m)) for name, what, m in rows])
    console.print(screening_line(screening))
    console.print(f"Optimal objective between {screening.lower_bound:.8g} and {screening.upper_bound:.8g}")
    _show(console, rows, max(top, 0))
    show_files(console, decisions=output)
    if json:
        print_json(_document(problem, screening, rows, loaded.data.notes))


def _rows(problem: Problem, screening: Screening) -> list[tuple[str, str, float]]:
    """Name, decision and margin of every feature, in their order."""
    decisions = ["undecided"] * problem.n_features
    for j in screening.excluded.tolist():
        decisions[j] = "out"
    for j in screening.included.tolist():
        decisions[j] = "in"
    names = problem.names(range(problem.n_features))
    return list(zip(names, decisions, screening.margin.tolist(), strict=True))


def _show(console: Any, rows: list[tuple[str, str, float]], top: int) -> None:
    """The features of each kind with the largest margins."""
    from rich import box
    from rich.table import Table

    from safescreen.cli.show import plain

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("feature", overflow="fold")
    table.add_column("decision", no_wrap=True)
    table.add_column("margin of the proof", justify="right", no_wrap=True)
    styles = {"in": "cyan", "out": "green", "undecided": ""}
    for decision in DECISIONS:
        chosen = sorted((row for row in rows if row[1] == decision), key=lambda row: -row[2])
        for name, what, margin in chosen[:top]:
            shown = "decided beforehand" if margin == float("inf") else f"{margin:+.3g}"
            table.add_row(plain(name), f"[{styles[what]}]{what}[/]" if styles[what] else what, shown)
        if 0 < top < len(chosen):
            table.add_row(f"[dim]and {len(chosen) - top:,} more[/dim]", f"[dim]{decision}[/dim]", "")
    if top:
        console.print(table)


def _document(
    problem: Problem, screening: Screening, rows: list[tuple[str, str, float]], notes: tuple[str, ...]
) -> dict[str, Any]:
    return {
        "n_samples": problem.n_samples,
        "n_features": problem.n_features,
        "excluded": screening.excluded.size,
        "included": screening.included.size,
        "undecided": screening.undecided.size,
        "percent": screening.percent,
        "lower_bound": screening.lower_bound,
        "upper_bound": screening.upper_bound,
        "seconds": screening.seconds,
        "features": [{"name": name, "decision": what, "margin": margin} for name, what, margin in rows],
        "notes": notes,
    }
