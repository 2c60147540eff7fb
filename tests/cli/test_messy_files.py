"""Messy files on the command line: what a first attempt advises, a second one can follow."""

from __future__ import annotations

import json
import shlex
import subprocess

import pandas as pd
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
    sentence, advised = refused.stderr.splitlines()
    assert sentence.endswith(": add --one-hot --exclude age,when.")
    name, *words = shlex.split(advised.removeprefix("Try: "))
    assert [name, *words] == ["safescreen", *map(str, fit), "--one-hot", "--exclude", "age,when"]
    done = run(*words)
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


COLUMNS = {
    "x": lambda i: i * i % 11,
    "a, b": lambda i: f"words {i % 30}",
    "it's": lambda i: f"2024-03-{1 + i % 28:02}",
    '$HOME `x` "y"': lambda i: "n/a" if i in (6, 13) else 20.5 + i,
    "-q": lambda i: "" if i == 3 else i % 5,
    "--help": lambda i: 1,
    " blank ": lambda i: i * i % 11,
    "colour": lambda i: "rgb"[i % 3],
    "größe": lambda i: None,
    "label": lambda i: None if i == 30 else i % 2,
}


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
@pytest.mark.parametrize("command", ["fit", "screen", "path", "cv"])
def test_the_advised_command_is_one_for_a_shell(folder, kind, command):
    """Names that a shell or the command line would take for something else, in every format."""
    frame = pd.DataFrame({name: [value(i) for i in range(40)] for name, value in COLUMNS.items()})
    if kind == "parquet":
        frame = frame.astype(object).map(lambda value: None if pd.isna(value) else str(value))
    getattr(frame, WRITERS[kind][0])(f"my data.{kind}", **WRITERS[kind][1])
    few = ["--criterion", "bic"] if command == "cv" else []
    refused = run(command, f"my data.{kind}", "-t", "label", "-k", "1", *few, "-q")
    assert refused.exit_code == 2
    advised = refused.stderr.splitlines()[1].removeprefix("Try: ")
    shown = subprocess.run(["sh", "-c", f"printf '%s\\n' {advised}"], capture_output=True, text=True, check=True)
    _, *words = shown.stdout.splitlines()
    done = run(*words)
    assert done.exit_code == 0, done.stderr


WRITERS = {
    "csv": ("to_csv", {"index": False}),
    "xlsx": ("to_excel", {"index": False}),
    "parquet": ("to_parquet", {}),
}


def test_a_wanted_feature_is_not_advised_against(folder):
    rows = [f"{i},{i},{'' if i == 2 else i % 5},{i % 2}" for i in range(20)]
    (folder / "data.csv").write_text("\n".join(["a,b,gap,label", *rows]))
    plain = run("fit", "data.csv", "-t", "label", "-k", 1)
    assert "Try: safescreen fit data.csv -t label -k 1 --impute median --exclude b" in plain.stderr
    assert "Try" not in run("fit", "data.csv", "-t", "label", "-k", 1, "--include", "b").stderr


@pytest.mark.parametrize("command", [["fit"], ["screen"], ["path"], ["cv", "--criterion", "bic"]])
def test_useless_columns_of_a_good_file_are_named(folder, command):
    rows = [f"{i * i % 11},{i * i % 11},{3 - 2 * (i * i % 11)},7,{i % 7},{i % 2}" for i in range(40)]
    (folder / "data.csv").write_text("\n".join(["x,again,scaled,same,z,label", *rows]))
    name, *options = command
    words = [name, "data.csv", "-t", "label", "-k", "1", *options]
    notes = json.loads(run(*words, "--json").stdout)["notes"]
    assert notes[0] == "1 column has one value only and cannot be chosen: 'same'."
    assert notes[1].startswith("2 columns repeat others up to scale and offset")
    assert notes[1].endswith(": 'again' ('x'), 'scaled' ('x').")
    assert ("cannot be chosen" in notes[1]) == (name != "screen")
    shown = " ".join(run(*words).stdout.split())
    for note in notes:
        assert f"Note: {note}" in shown
    wanted = run(*words, "--json", "--include", "again")
    assert json.loads(wanted.stdout)["notes"][1].endswith(": 'x' ('again'), 'scaled' ('again').")


@pytest.fixture
def trained(folder):
    """A model, and data like its own that are written in another way."""
    frame = pd.DataFrame(
        {"größe": [i % 7 + 0.5 for i in range(30)], "label": ["ja" if i % 7 > 3 else "nein" for i in range(30)]}
    )
    frame.to_csv("train.csv", sep=";", decimal=",", encoding="cp1252", index=False)
    said = ["--delimiter", ";", "--decimal", ",", "--encoding", "cp1252"]
    assert run("fit", "train.csv", "-t", "label", "-k", 1, *said, "-m", "m.json", "--proof", "p.npz").exit_code == 0
    frame.to_csv("new.csv", sep="|", encoding="utf-16", index=False)
    with pd.ExcelWriter("new.xlsx") as book:
        pd.DataFrame({"notes": ["none"]}).to_excel(book, sheet_name="First", index=False)
        frame.to_excel(book, sheet_name="Data", index=False)
    return folder


FORMS = {
    "new.csv": ["--delimiter", "|", "--decimal", ".", "--encoding", "utf-16"],
    "new.xlsx": ["--sheet", "Data"],
    "train.csv": [],
}


@pytest.mark.parametrize("data", FORMS)
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_new_data_may_be_written_in_another_way(trained, command, data):
    done = run(command, "m.json", data, *FORMS[data], "--json")
    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["n_samples"] == 30
    assert (document["scores"] if command == "predict" else document)["accuracy"] == 1.0
    if FORMS[data]:
        refused = run(command, "m.json", data)
        assert refused.exit_code == 2
        assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize("data", FORMS)
def test_a_proof_may_be_checked_with_the_same_data_in_another_file(trained, data):
    done = run("verify", "p.npz", data, "--model", "m.json", *FORMS[data])
    assert done.exit_code == 0, done.output
    assert "The proof holds" in done.stdout


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_a_wrong_form_is_refused(trained, command):
    refused = run(command, "m.json", "new.csv", "--decimal", ";")
    assert refused.exit_code == 2
    assert refused.stderr == "safescreen: --decimal is ';', but must be '.' or ','.\n"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (["-t", "x"], "The target 'x' of data.csv has 11 classes (0, 1, 2, 3, 4, ...), but exactly two are needed"),
        (["-t", "label", "--positive", "maybe"], "--positive is 'maybe', but must be one of the labels"),
        (["-t", "same"], "The target 'same' of data.csv has only one class, 3, but two are needed"),
    ],
)
def test_no_command_is_advised_that_its_target_would_stop(folder, said, words):
    rows = [f"{i % 11},{'rgb'[i % 3]},3,{'' if i == 30 else 'yes' if i % 2 else 'no'}" for i in range(40)]
    (folder / "data.csv").write_text("\n".join(["x,colour,same,label", *rows]))
    refused = run("fit", "data.csv", *said)
    assert refused.exit_code == 2
    assert refused.stderr.startswith(f"safescreen: {words}")
    assert "Try" not in refused.stderr


def test_a_feature_of_the_model_is_no_text_where_it_is_called_the_target(trained):
    refused = run("evaluate", "m.json", "train.csv", "--target", "größe")
    assert refused.exit_code == 2
    assert refused.stderr == "safescreen: train.csv has the label '0.5', but the model knows ja and nein.\n"


@pytest.mark.parametrize(
    "words",
    [["fit", "--time-limit", "-1"], ["fit", "--node-limit", "-1"], ["cv", "--criterion", "bi"], ["fit", "--k", "-1"]],
)
def test_nobody_is_told_to_type_none(trained, words):
    refused = run(words[0], "train.csv", "-t", "label", *words[1:])
    assert refused.exit_code == 2
    assert refused.stderr.startswith(f"safescreen: {words[1]} is ")
    assert "but must be " in refused.stderr
    assert "None" not in refused.stderr
