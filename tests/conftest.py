"""Fixtures of the whole suite."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
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


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the kernels in a process that does nothing else, before several do so at once.

    What tests have compiled in pieces is optimised in pieces: the last bits would depend on which test comes first.
    """
    is_worker = hasattr(session.config, "workerinput")
    if not is_worker and not session.config.option.collectonly and os.environ.get("NUMBA_DISABLE_JIT") != "1":
        subprocess.run([sys.executable, "-c", "from safescreen import kernels; kernels.warm_up()"], check=True)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Unit tests of kernels are quick either way."""
    if item.path.parent.name == "kernels":
        item.add_marker("interpreted")
