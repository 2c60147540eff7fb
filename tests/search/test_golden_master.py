"""The search takes the path it took when the answers were recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from golden_master import RECORD, circumstances
from safescreen import kernels

RECORDED = json.loads(RECORD.read_text())


@pytest.fixture(scope="module")
def found():
    """The answers of a process of its own, which loads the kernels.

    Where they have just been compiled, steps that are called by several others are optimised apart from them: the
    last bits may differ then.
    """
    kernels.warm_up()
    code = "import json; from golden_master import answers; print(json.dumps(answers()))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_all_cases_are_recorded(found):
    assert list(found) == list(RECORDED["answers"])
    assert len(found) >= 20


@pytest.mark.parametrize("name", RECORDED["answers"])
def test_same_answer(found, name):
    recorded, now = RECORDED["answers"][name], found[name]
    if circumstances() == RECORDED["circumstances"]:
        assert now == recorded
        return
    # another processor or library rounds differently: the path may vary, the answer hardly
    for key in ("objective", "lower_bound"):
        assert float.fromhex(now[key]) == pytest.approx(float.fromhex(recorded[key]), rel=2e-3)
    assert now["status"] == recorded["status"]
    assert now["nodes"] <= 2 * recorded["nodes"] + 10
