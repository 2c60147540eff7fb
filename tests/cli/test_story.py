"""What a report of the command line says about its data, and that its command checks the proof."""

from __future__ import annotations

import html
import re
import shlex

import pytest
from typer.testing import CliRunner

from safescreen import cli

READING = ["-t", "label", "--exclude", "id", "--impute", "median", "--drop-missing", "--one-hot", "--positive", "no"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Forty patients: an id, text of two and of three categories, three gaps, a row without a label."""
    folder = tmp_path_factory.mktemp("story")
    rows = [
        f"p{i},{'' if i in (3, 5) else i * 7 % 11},{'fm'[i % 2]},{'' if i == 9 else 'rgb'[i % 3]},"
        f"{'' if i == 8 else 'yes' if i * 7 % 11 + i % 3 > 6 else 'no'}"
        for i in range(40)
    ]
    (folder / "my data.csv").write_text("\n".join(["id,age,sex,colour,label", *rows, ""]))
    return folder


def run(*words):
    result = CliRunner().invoke(cli.app, [*words])
    assert result.exit_code == 0, result.output
    return result.output


COMMANDS = [
    ["fit", "-k", "2"],
    ["cv", "-k", "1:2", "--criterion", "bic"],
    ["alternatives", "-k", "2", "--within", "5%"],
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_report_tells_what_was_done_and_how_to_check_it(folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    files = ["--proof", "p.npz", "--report", "r.html"]
    shown = run(command[0], "my data.csv", *READING, *command[1:], *files)
    page = html.unescape((folder / "r.html").read_text(encoding="utf-8"))
    for sentence in (
        "my data.csv has 40 rows and 5 columns.",
        "Left out 1 of 40 rows with missing values (--drop-missing).",
        "Filled 3 missing values: 2 in 'age' with 5, 1 in 'colour' with b.",
        "Left out as no features (--exclude): 'id'.",
        "'sex' became the indicator 'sex=m'; its reference level is 'f'.",
        "'colour' became 3 indicators, one for each category ('b', 'g', 'r'), none of them a reference level.",
    ):
        assert sentence in page, sentence
    assert page.count("missing value") == 2
    assert page.count("'id'") == 1
    found = re.search(r"<code>(safescreen verify .*?)</code>", page)
    assert found
    assert f"Check the proof with {found[1]}\n" in shown
    assert "The proof holds" in run(*shlex.split(found[1])[1:])


@pytest.mark.parametrize("command", COMMANDS[:2])
def test_a_model_says_how_its_data_were_read(folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    files = ["--proof", "p.npz", "--report", "r.html", "--model", "m.json"]
    shown = run(command[0], "my data.csv", *READING, *command[1:], *files)
    shorter = re.search(r"Check the proof with (safescreen verify .*)\n", shown)
    assert shorter
    assert "The proof holds" in run(*shlex.split(shorter[1])[1:])


def test_ids_are_told_once(folder, monkeypatch):
    monkeypatch.chdir(folder)
    said = [word for word in READING if word not in ("--exclude", "id")]
    run("fit", "my data.csv", *said, "-k", "2", "--report", "r.html")
    page = html.unescape((folder / "r.html").read_text(encoding="utf-8"))
    assert "Left out column 'id', whose texts are all different" in page
    assert "(--exclude)" not in page
