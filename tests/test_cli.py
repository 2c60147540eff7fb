"""The command line: the demo shows its numbers, help and version answer, bad input gets status 2."""

from __future__ import annotations

import re
import sys

import pytest
from typer.testing import CliRunner

import safescreen as ss
from safescreen import cli, kernels

runner = CliRunner()


@pytest.fixture(scope="module")
def demo() -> str:
    kernels.warm_up()
    result = runner.invoke(cli.app, ["demo"], env={"COLUMNS": "120"})
    assert result.exit_code == 0, result.output
    return result.output


def number(name: str, text: str) -> float:
    """The number that follows a label."""
    found = re.search(rf"{name}\s+([-\d.,e]+)", text)
    assert found, f"no {name!r} in\n{text}"
    return float(found[1].replace(",", ""))


def test_demo_names_the_data(demo):
    assert "569 samples, 495 features" in demo
    assert "at most k=5 features, gamma=10" in demo


def test_demo_shows_what_screening_decides(demo):
    counts = re.search(r"(\d+) out, (\d+) in, (\d+) undecided \(([\d.]+) % decided\)", demo)
    assert counts
    out, kept, undecided = (int(count) for count in counts.groups()[:3])
    assert out + kept + undecided == 495
    assert float(counts[4]) == pytest.approx(100.0 * (out + kept) / 495, abs=0.051)


def test_demo_shows_the_solution(demo):
    X, y, names = ss.datasets.load_breast_cancer_interactions()
    problem = ss.Problem(X, y, k=5, gamma=10.0, fit_intercept=True, standardize=True, feature_names=names)
    solution = ss.solve(problem)
    assert number("objective", demo) == pytest.approx(solution.objective, abs=1e-10)
    assert number("safe lower bound", demo) == pytest.approx(solution.lower_bound, abs=1e-10)
    assert number("gap", demo) == pytest.approx(100.0 * solution.gap, abs=1e-4)
    assert number("nodes", demo) == solution.nodes
    assert number("seconds", demo) >= 0.0
    assert re.search(r"status\s+optimal", demo)
    assert len(solution.feature_names) == 5
    for j, name in zip(solution.support, solution.feature_names, strict=True):
        assert re.search(rf"{re.escape(name)}\s.*{re.escape(f'{solution.coef[j]:.4g}')}", demo)
    assert re.search(rf"intercept\s.*{re.escape(f'{solution.intercept:.4g}')}", demo)


def test_demo_takes_a_budget_and_a_ridge():
    result = runner.invoke(cli.app, ["demo", "--k", "2", "--gamma", "0.5"], env={"COLUMNS": "120"})
    assert result.exit_code == 0
    assert "at most k=2 features, gamma=0.5" in result.output
    assert number("objective", result.output) > number("safe lower bound", result.output) - 1e-10


def test_help():
    result = runner.invoke(cli.app, ["--help"])
    assert result.exit_code == 0
    assert "Usage" in result.output
    assert "demo" in result.output


def test_help_of_the_demo():
    result = runner.invoke(cli.app, ["demo", "--help"], env={"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"})
    assert result.exit_code == 0
    plain = re.sub(r"\x1b\[[\d;]*m", "", result.output)
    assert "--gamma" in plain
    assert "--k" in plain


def test_version():
    result = runner.invoke(cli.app, ["--version"])
    assert result.exit_code == 0
    assert result.output.strip() == f"safescreen {ss.__version__}"


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["demo", "--nonsense"], ["demo", "--k", "five"], ["demo", "extra"]]
)
def test_bad_usage(arguments):
    result = runner.invoke(cli.app, arguments)
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--k", "0"], "safescreen: k is 0, but must be an integer >= 1."),
        (["--k", "-3"], "safescreen: k is -3, but must be an integer >= 1."),
        (["--gamma", "0"], "safescreen: gamma is 0.0, but must be"),
        (["--gamma", "nan"], "safescreen: gamma is nan, but must be"),
    ],
)
def test_bad_input_is_one_sentence(arguments, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["safescreen", "demo", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out, err = capsys.readouterr()
    assert ended.value.code == 2
    assert err.startswith(message)
    assert err.count("\n") == 1
    assert out == ""


def test_no_command_shows_the_help():
    result = runner.invoke(cli.app, [])
    assert "Usage" in result.output


def test_demo_can_be_saved_as_a_picture(tmp_path):
    picture = tmp_path / "demo.svg"
    result = runner.invoke(cli.app, ["demo", "--svg", str(picture)])
    assert result.exit_code == 0, result.output
    assert "</svg>" in picture.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [picture]
