"""The search takes the path it took when the answers were recorded."""

from __future__ import annotations

import json

import pytest

from golden_master import RECORD, answers, circumstances

RECORDED = json.loads(RECORD.read_text())


@pytest.fixture(scope="module")
def found():
    return answers()


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
