"""Local searches here and beside."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from safescreen.expiry import is_over
from safescreen.search.errands import ErrandsBeside, ErrandsHere
from safescreen.working_memory import allowed, within


def test_here_means_at_once():
    errands, taken = ErrandsHere(), []
    with errands:
        errands.run(lambda: 1, taken.append)
        assert taken == [1]
        assert not errands.busy
        errands.collect()
        errands.finish()
    assert taken == [1]


def test_beside_means_later():
    errands, taken, go_on = ErrandsBeside(lambda: False), [], threading.Event()
    with errands:
        errands.run(lambda: go_on.wait() and threading.current_thread(), taken.append)
        assert errands.busy
        errands.collect()
        assert taken == []
        go_on.set()
        errands.finish()
    assert not errands.busy
    assert taken != [threading.current_thread()]
    assert len(taken) == 1


def test_only_the_latest_waits():
    errands, taken, go_on = ErrandsBeside(lambda: False), [], threading.Event()
    errands.run(lambda: go_on.wait() and 1, taken.append)
    errands.run(lambda: 2, taken.append)
    errands.run(lambda: 3, taken.append)
    go_on.set()
    while errands.busy:
        errands.collect()
    assert taken == [1, 3]


def test_what_waits_is_dropped_at_the_end():
    errands, taken = ErrandsBeside(lambda: False), []
    begun = threading.Event()

    def until_called_off():
        begun.set()
        while not errands.called_off:
            pass
        return 1

    errands.run(until_called_off, taken.append)
    errands.run(lambda: 2, taken.append)
    begun.wait()
    errands.finish()
    assert taken == [1]
    assert not errands.called_off  # for those to come


def test_failures_come_through():
    errands = ErrandsBeside(lambda: False)
    errands.run(lambda: 1 / 0, lambda model: None)
    with pytest.raises(ZeroDivisionError):
        errands.finish()


def test_what_is_raised_elsewhere_calls_it_off():
    errands = ErrandsBeside(lambda: False)
    with pytest.raises(LookupError), errands:
        raise LookupError
    assert errands.called_off


def test_limits_hold_there():
    found = SimpleNamespace()

    def look():
        found.over, found.allowed = is_over(), allowed(0)
        return 1

    with within(0.5):
        errands = ErrandsBeside(lambda: True)
        errands.run(look, lambda model: None)
        errands.finish()
        assert found.over
        assert found.allowed == allowed(0) != 0
    assert allowed(0) != found.allowed
