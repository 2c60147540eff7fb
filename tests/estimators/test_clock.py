"""How a total time is shared out."""

from __future__ import annotations

import pytest

from safescreen.estimators import clock
from safescreen.estimators.clock import Clock


@pytest.fixture
def later(monkeypatch):
    """A clock that can be moved on."""
    passed = [100.0]
    monkeypatch.setattr(clock, "monotonic", lambda: passed[0])

    def wait(seconds):
        passed[0] += seconds

    return wait


def test_what_is_left(later):
    watch = Clock(10.0)
    assert (watch.elapsed, watch.remaining, watch.until(0.6)) == (0.0, 10.0, 6.0)
    later(4.0)
    assert (watch.elapsed, watch.remaining, watch.until(0.6)) == (4.0, 6.0, 2.0)
    later(3.0)
    assert (watch.remaining, watch.until(0.6)) == (3.0, 0.0)
    later(30.0)
    assert (watch.elapsed, watch.remaining) == (37.0, 0.0)


def test_no_limit(later):
    watch = Clock(None)
    later(1e9)
    assert watch.remaining is None
    assert watch.until(0.1) is None
    assert watch.elapsed == 1e9


def test_no_time_at_all(later):
    assert Clock(0).remaining == 0.0
