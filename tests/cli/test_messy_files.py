"""Messy files on the command line: what a first attempt advises, a second one can follow."""

from __future__ import annotations

import json
import shlex

import pytest
from test_cli_errors import runner

from safescreen import cli


def run(*arguments: object):
    result = runner.invoke(cli.app, [str(argument) for argument in arguments], prog_name="safescreen")
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_advised_command(folder):
    rows = ["patient,age,colour,when,x,label"]
    for i in range(60):
        age = "unknown" if i == 7 else "" if i % 9 == 4 else str(30.5 + i % 30)
        rows.append(f"P{i:03},{age},{'red' if i % 3 else 'blue'},2024-01-{1 + i % 30:02},{i * i % 7},{i % 2}")
    (folder / "data.csv").write_text("\n".join(rows))
    fit = ("fit", "data.csv", "--target", "label", "--k", 1, "--model", "m.json")
    refused = run(*fit)
    assert refused.exit_code == 2
    assert "1 value that is not a number in column 'age' ('unknown' in line 9)" in refused.stderr
    words = shlex.split(refused.stderr.strip().rstrip(".").partition(": add ")[2])
    assert words == ["--one-hot", "--exclude", "age,when"]
    done = run(*fit, *words)
    assert done.exit_code == 0
    assert "Left out column 'patient'" in done.stdout
    predicted = run("predict", "m.json", "data.csv")
    assert predicted.exit_code == 0
    assert "Ignored" not in predicted.stderr


def test_a_file_from_another_country(folder):
    rows = ["größe;n;label", *(f"{i % 7},5;{i};{'ja' if i % 2 else 'nein'}" for i in range(20))]
    (folder / "data.csv").write_text("\n".join(rows), encoding="cp1252")
    fit = ("fit", "data.csv", "--target", "label", "--k", 2, "--json")
    notes = json.loads(run(*fit).stdout)["notes"]
    assert [word for note in notes for word in ("decimal", "Windows-1252") if word in note] == [
        "Windows-1252",
        "decimal",
    ]
    told = run(*fit, "--decimal", ",", "--encoding", "cp1252", "--model", "m.json")
    assert json.loads(told.stdout)["notes"] == []
    assert json.loads((folder / "m.json").read_text())["encoding"]["reading"]["decimal"] == ","
    assert run("predict", "m.json", "data.csv", "--quiet").exit_code == 0
