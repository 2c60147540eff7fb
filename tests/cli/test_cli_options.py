"""Option groups of the command line: said once, seen by typer one by one, handed over as one object."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, fields
from typing import Annotated, ClassVar, get_args

import pytest
import typer
from typer.testing import CliRunner

import safescreen as ss
from safescreen import cli
from safescreen.cli.commands.cv import ValidationOptions
from safescreen.cli.grouping import expand, only, without
from safescreen.cli.options import (
    CandidateOptions,
    DataOptions,
    EstimateOptions,
    OutputOptions,
    RangeOptions,
    SearchOptions,
    TermOptions,
)
from safescreen.cli.ranges import parse_candidates, parse_lists
from safescreen.defaults import BUDGET, GAMMA, REFIT_GAMMA
from safescreen.problem.terms import Terms
from safescreen.search import Settings
from safescreen.tables import Reading

LONGEST_SIGNATURE = 7


@dataclass(frozen=True)
class Pets:
    """A group with an argument, a number, a switch that turns something off, and a list."""

    panel: ClassVar[str] = "Pets"

    owner: Annotated[str, typer.Argument()]
    cats: Annotated[int, typer.Option("--cats", "-c", help="Cats.")] = 1
    fed: Annotated[bool, typer.Option("--no-food", help="Hungry.")] = True
    names: Annotated[list[str] | None, typer.Option()] = None


def run(command, *arguments: str):
    """What a command with these words gets."""
    app = typer.Typer()
    app.command()(command)
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def test_a_group_arrives_as_one_object():
    got = []

    @expand
    def command(*, loud: Annotated[bool, typer.Option("--loud")] = False, pets: Pets) -> None:
        got.append((loud, pets))

    run(command, "Ann")
    run(command, "Ann", "--loud", "-c", "3", "--no-food", "--names", "a", "--names", "b")
    assert got == [(False, Pets("Ann")), (True, Pets("Ann", 3, False, ["a", "b"]))]


@pytest.mark.parametrize(
    ("selection", "offered"),
    [(only("owner", "cats"), ["owner", "cats"]), (without("cats", "names"), ["owner", "fed"])],
)
def test_a_command_may_offer_a_part_of_a_group(selection, offered):
    def command(pets: Pets) -> None:
        assert pets == Pets("Ann")

    command.__annotations__["pets"] = Annotated[Pets, selection]
    expanded = expand(command)
    assert list(inspect.signature(expanded).parameters) == offered
    run(expanded, "Ann")


def test_options_are_shown_in_the_panel_of_their_group():
    def command(pets: Pets) -> None:
        """Nothing to do."""

    parameters = inspect.signature(expand(command)).parameters
    panels = {name: get_args(parameter.annotation)[1].rich_help_panel for name, parameter in parameters.items()}
    assert panels == {"owner": None, "cats": "Pets", "fed": "Pets", "names": "Pets"}


@pytest.mark.parametrize("group", [TermOptions, RangeOptions])
def test_every_term_is_an_option(group):
    """But for excluded features, which are columns that are not read as features."""
    assert {field.name for field in fields(group)} | {"exclude"} == set(Terms.names())
    assert "exclude" in {field.name for field in fields(DataOptions)}


def test_defaults_are_those_of_the_library():
    assert SearchOptions() == SearchOptions(**vars(Settings()))
    assert DataOptions("data.csv").reading() == Reading()


def test_defaults_are_those_of_the_estimators():
    parameters = ss.L0LogisticRegression().get_params()
    terms = TermOptions().asdict()
    assert terms == {name: parameters[name] for name in terms}
    assert EstimateOptions().ridge == parameters["refit_gamma"]
    [gamma] = parse_lists(RangeOptions())["gamma"]
    assert gamma == parameters["gamma"]
    demo = inspect.signature(cli.app.registered_commands[0].callback).parameters
    assert (demo["k"].default, demo["gamma"].default) == (BUDGET, parameters["gamma"])
    assert ss.SafeScreener().gamma == terms["gamma"]


@pytest.mark.parametrize("command", ["demo", "fit", "path"])
def test_help_shows_the_defaults(command):
    shown = CliRunner().invoke(cli.app, [command, "--help"], env={"COLUMNS": "200"}).output
    assert re.search(rf"--refit-gamma .*default: {REFIT_GAMMA}", shown)
    assert re.search(rf"--gamma .*default: {GAMMA:g}", shown)


@pytest.mark.parametrize(("typed", "meant"), [("same", "same"), ("cv", "cv"), ("30", 30.0), ("1e3", 1000.0)])
def test_the_ridge_of_the_estimates_is_a_number_or_a_word(typed, meant):
    assert EstimateOptions(typed).ridge == meant


def test_what_cross_validation_is_not_told_the_estimator_decides():
    defaults = {
        name: parameter.default for name, parameter in inspect.signature(ss.L0LogisticRegressionCV).parameters.items()
    }
    validation = ValidationOptions().asdict()
    assert validation == {name: defaults[name] for name in validation}
    terms = CandidateOptions().asdict()
    assert parse_candidates(CandidateOptions()) == {}
    fixed = ("fit_intercept", "standardize", "include")
    assert {name: terms[name] for name in fixed} == {name: defaults[name] for name in fixed}
    assert DataOptions("data.csv").copies == defaults["copies"]


def test_the_words_that_read_a_file_again():
    typed = ["-t", "label", "--exclude", "a,b", "--exclude", "c", "--one-hot", "--no-header"]
    typed += ["--delimiter", "tab", "--decimal", ",", "--encoding", "cp1252", "--sheet", "2"]
    got = []

    @expand
    def command(source: DataOptions) -> None:
        got.append(source)

    run(command, "my data.csv", *typed)
    run(command, *got[0].repeated())
    form = {"header": False, "delimiter": "tab", "decimal": ",", "encoding": "cp1252", "sheet": "2"}
    assert got[0] == got[1] == DataOptions("my data.csv", "label", ["a,b", "c"], one_hot=True, **form)


def test_files_to_be_written():
    assert OutputOptions().files == {}
    assert OutputOptions(json=True).silent
    assert not OutputOptions().silent


def test_commands_are_short_to_read():
    """Options are declared in groups: no command lists more than a few parameters by hand."""
    commands = [command.callback for command in cli.app.registered_commands if command.callback.__name__ != "reproduce"]
    assert len(commands) == 10
    for command in commands:
        assert len(inspect.signature(inspect.unwrap(command)).parameters) <= LONGEST_SIGNATURE
