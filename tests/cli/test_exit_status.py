"""What the exit status says, and limits that a makefile may accept."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import safescreen as ss
from safescreen import cli
from safescreen.cli.failures import is_enough
from safescreen.status import Status

COMMANDS = {
    "fit": ["-k", "20", "--node-limit", "0"],
    "alternatives": ["-k", "20", "--time-limit", "0"],
    "path": ["-k", "19,20", "--time-limit", "0"],
    "cv": ["-k", "20", "--criterion", "bic", "--gap", "0", "--fold-gap", "0", "--time-limit", "0"],
}


@pytest.fixture(scope="module")
def hard(tmp_path_factory):
    X, y, _ = ss.datasets.make_sparse_logistic(60, 80, 8, 0.5, random_state=0)
    path = tmp_path_factory.mktemp("hard") / "hard.npz"
    np.savez(path, X=X, y=y)
    return str(path)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_limit_may_be_accepted(command, hard):
    words = [command, hard, "--gamma", "1e4", *COMMANDS[command]]
    assert CliRunner().invoke(cli.app, words).exit_code == 1
    assert CliRunner().invoke(cli.app, [*words, "--accept-limit"]).exit_code == 0


def test_ctrl_c_is_no_limit():
    assert not is_enough([Status.INTERRUPTED], accept_limit=True)
    assert not is_enough([Status.OPTIMAL, Status.TIME_LIMIT], accept_limit=False)
    assert is_enough([Status.OPTIMAL, Status.TIME_LIMIT, Status.NUMERICAL_LIMIT], accept_limit=True)


def test_help_says_what_the_status_means():
    shown = " ".join(CliRunner().invoke(cli.app, ["--help"]).output.split())
    assert "130 Ctrl-C before there was anything to keep" in shown
