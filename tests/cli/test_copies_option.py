"""``--copies``: one of several equal columns by default, all of them if wanted, and a line about it."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import safescreen as ss
from safescreen import cli

_SEPARATE = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
runner = CliRunner(**_SEPARATE)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((120, 4)), 4)
    y = (X[:, 1] + 0.3 * rng.standard_normal(120) > 0.0).astype(int)
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "twin": 2 * X[:, 1] + 1, "y": y}
    lines = [",".join(columns), *(",".join(map(repr, row)) for row in np.column_stack([*columns.values()]).tolist())]
    path = tmp_path_factory.mktemp("copies") / "data.csv"
    path.write_text("\n".join(lines))
    return str(path)


def run(*words, status=0):
    result = runner.invoke(cli.app, [*words], env={"COLUMNS": "200"})
    assert result.exit_code == status, result.output + result.stderr
    return result


LINE = "b has 1 copy (twin) up to scale and offset: only b may be chosen; --copies allow lets them compete."
COMMANDS = [("fit", "-k", "2"), ("alternatives", "-k", "2"), ("path", "-k", "1:2"), ("cv", "-k", "1:2", "--folds", "3")]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_one_copy_is_chosen_and_told(command, path):
    name, *options = command
    said = run(name, path, "-t", "y", "--gamma", "0.1", *options).stdout
    assert said.count(LINE) == 1
    free = run(name, path, "-t", "y", "--gamma", "0.1", *options, "--copies", "allow").stdout
    assert "copy" not in free
    assert "twin" in free


def test_fit_keeps_and_proves_it(path, tmp_path):
    files = {name: str(tmp_path / name) for name in ("model.json", "proof.npz")}
    words = ("fit", path, "-t", "y", "-k", "2", "--model", files["model.json"], "--proof", files["proof.npz"])
    document = json.loads(run(*words, "--json").stdout)
    assert document["copies"] == [["b", "twin"]]
    assert "twin" not in [feature["name"] for feature in document["features"]]
    model = ss.load_model(files["model.json"])
    assert [group.tolist() for group in model.copies_] == [[1, 3]]
    assert (model.copies, model.exclude) == ("one", ())
    assert "The proof holds" in run("verify", files["proof.npz"], path, "--model", files["model.json"]).stdout


def test_other_values_are_refused(path):
    refused = run("fit", path, "-t", "y", "-k", "1", "--copies", "two", status=2)
    assert "--copies is 'two', but must be 'one' or 'allow'." in refused.stderr
