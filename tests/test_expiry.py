"""Time that runs out in the middle of work."""

from __future__ import annotations

import pytest

from safescreen import expiry
from safescreen.expiry import ExpiredError, expiring, grace, is_over, look_up


def test_there_is_no_limit_unless_somebody_sets_one():
    look_up()
    with grace():
        look_up()
    assert not is_over()


def test_time_that_is_up_ends_work_and_stays_up():
    answers = iter([False, True])
    with expiring(lambda: next(answers)):
        look_up()
        for _ in range(3):
            with pytest.raises(ExpiredError):
                look_up()
    assert not is_over()


def test_the_inner_limit_counts_inside():
    with expiring(lambda: True):
        with expiring(lambda: False):
            look_up()
        assert is_over()


def test_grace_is_short_and_given_once(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(expiry, "perf_counter", lambda: now[0])
    with expiring(lambda: True):
        with grace():
            look_up()
            with grace(0.5):
                look_up()
            look_up()  # the inner one does not end the outer
        assert is_over()
        now[0] += 0.9 * expiry.GRACE_SECONDS
        with grace():
            look_up()
        with grace(0.5):
            assert is_over()
            with grace():
                look_up()
        now[0] += 0.2 * expiry.GRACE_SECONDS
        with grace(), pytest.raises(ExpiredError):
            look_up()
