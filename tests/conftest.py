"""Fixtures of the whole suite."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

import safescreen as ss
from problems import synthetic

settings.register_profile("untimed", deadline=None)  # how long an example takes depends on what else runs
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def bushy() -> ss.Problem:
    """Solved in some hundred nodes."""
    return synthetic(60, 40, k=6, gamma=100.0)


@pytest.fixture(scope="session")
def endless() -> ss.Problem:
    """Not solved in any reasonable time."""
    return synthetic(100, 400, snr=0.5, k=20, gamma=1e4)


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A keyboard on which nobody has pressed Ctrl-C lately, and that is as before when the test is over."""
    monkeypatch.setattr("safescreen.search.interrupts._Keyboard.pressed", -math.inf)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    after = signal.signal(signal.SIGINT, before)
    assert after is signal.default_int_handler, "a handler was left behind"


def pytest_itemcollected(item: pytest.Item) -> None:
    """Unit tests of kernels are quick either way."""
    if item.path.parent.name == "kernels":
        item.add_marker("interpreted")
