"""``fit --checkpoint``: the same command until it is done."""

from __future__ import annotations

import errno
import inspect
import json
import os

import numpy as np
import pytest
from typer.testing import CliRunner

import safescreen as ss
from safescreen import cli

_SEPARATE = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
runner = CliRunner(**_SEPARATE)  # older versions mix the streams

FIT = ["fit", "data.csv", "--target", "label", "--k", "6", "--gamma", "200", "--json", "--quiet"]
KEEP = ["--checkpoint", "run.npz", "--resume"]


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y, _ = ss.datasets.make_sparse_logistic(100, 40, 8, 0.3, random_state=3)
    head = ",".join([*(f"x{j}" for j in range(X.shape[1])), "label"])
    np.savetxt("data.csv", np.column_stack((X, y)), delimiter=",", header=head, comments="", fmt="%.6g")


def test_the_same_command_until_it_is_done():
    whole = json.loads(runner.invoke(cli.app, FIT).stdout)
    statuses = []
    while not statuses or statuses[-1] == 1:
        result = runner.invoke(cli.app, [*FIT, *KEEP, "--node-limit", "100", "--proof", "proof.npz"])
        statuses.append(result.exit_code)
    assert len(statuses) > 2
    assert statuses[-1] == 0
    assert json.loads(result.stdout)["objective"] == pytest.approx(whole["objective"], rel=1e-4)
    assert runner.invoke(cli.app, ["verify", "proof.npz", "data.csv", "--target", "label"]).exit_code == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--resume"], "--resume is True, but checkpoint is None: name the file to go on from."),
        (["--checkpoint", "data.csv"], "--checkpoint is data.csv, but that is an input already"),
        (["--checkpoint", "run.npz", "--proof", "run.npz"], "--checkpoint is run.npz, but that is the file of --proof"),
        (["--checkpoint", "no/run.npz"], "--checkpoint is 'no/run.npz', but must name a file in a folder that exists."),
        ([*KEEP, "--checkpoint-every", "0"], "--checkpoint-every is 0.0, but must be a finite number > 0."),
        (
            [*KEEP, "--gamma", "100"],
            "--checkpoint is 'run.npz', but it belongs to another problem (its gamma is 200.0,",
        ),
    ],
)
def test_what_does_not_fit_is_one_sentence(options, sentence):
    runner.invoke(cli.app, [*FIT, *KEEP, "--node-limit", "50"])
    result = runner.invoke(cli.app, [*FIT, *options])
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_full_disk_is_told_and_costs_nothing(monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = runner.invoke(cli.app, [*FIT, *KEEP])
    assert result.exit_code == 0
    assert result.stderr.startswith("safescreen: The checkpoint 'run.npz' was not written (no space left on device)")
