"""What is said of a search that will be long, and when nothing is."""

from __future__ import annotations

import io

import numpy as np
import pytest

import safescreen as ss
from safescreen.expiry import ExpiredError, expiring
from safescreen.relaxation import solve_root
from safescreen.screening import CoreFinder
from safescreen.search import forecast as module
from safescreen.search import progress
from safescreen.search.forecast import WIDE_GAP, Forecast
from safescreen.search.settings import Settings
from safescreen.search.watch import Watch


class Listener:
    """A display that keeps what it is told."""

    def __init__(self, enabled=True):
        self.enabled = enabled
        self.remarks = []

    def remark(self, text):
        self.remarks.append(text)


class Finder:
    """A core of a size that is known; counts how often somebody asks."""

    asked = 0
    answer = (330, True)

    def __init__(self, *_):
        pass

    def size(self, _):
        type(self).asked += 1
        return self.answer


@pytest.fixture
def finder(monkeypatch):
    monkeypatch.setattr(Finder, "asked", 0)
    monkeypatch.setattr(module, "CoreFinder", Finder)
    return Finder


def noise(m=40, n=400, **terms):
    rng = np.random.default_rng(0)
    return ss.Problem(rng.normal(size=(m, n)), rng.random(m) < 0.5, gamma=1000.0, **(terms or {"k": 3}))


def told(*, problem=None, listener=None, gap=0.3, first=0.1, later=2.5, looks=3, **limits):
    """What is remarked of a search that had a first model after so many seconds, and is looked at so much later."""
    listener = listener or Listener()
    watch = Watch(Settings(**limits), display=listener)
    watch.start -= first
    forecast = Forecast(problem or noise(), None, watch)
    forecast.look(0.5, gap)
    watch.start -= later
    for _ in range(looks):
        forecast.look(0.5, gap)
    return listener.remarks


@pytest.mark.parametrize(
    ("limits", "fate"),
    [({"time_limit": 60.0}, "a gap to remain"), ({"node_limit": 10**6}, "a gap to remain"), ({}, "a long search")],
)
def test_a_hopeless_search_is_said_to_be_one(finder, limits, fate):
    assert told(**limits) == [f"some 330 columns must be told apart: expect {fate}"]
    assert finder.asked == 1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((1234, True), "some 1,200 columns must be told apart: expect a gap to remain"),
        ((1234, False), "over 1,200 columns must be told apart: expect a gap to remain"),
        ((199, True), "some 200 columns must be told apart: expect a long search"),
        ((50, True), "some 50 columns must be told apart: expect a long search"),
        ((49, True), ""),
        ((0, False), ""),
    ],
)
def test_how_many(finder, monkeypatch, answer, said):
    monkeypatch.setattr(Finder, "answer", answer)
    assert told(time_limit=60.0) == [said] * bool(said)


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"k": 1}, ""),
        ({"k": 2}, ""),  # a branch for each, which ends there
        ({"k": 3}, "a gap to remain"),
        ({"k": 3, "include": [0]}, ""),
        ({"k": 1, "include": [0]}, ""),
        ({"k": 10, "include": [0]}, "a gap to remain"),
        ({"mu": 0.01}, "a gap to remain"),
    ],
)
def test_how_many_features_a_model_has_room_for(finder, terms, said):
    remarks = told(problem=noise(**terms), time_limit=60.0)
    assert [line.split("expect ")[1] for line in remarks] == [said] * bool(said)


@pytest.mark.parametrize(
    "case",
    [
        {"listener": Listener(enabled=False)},
        {"gap": 0.99 * WIDE_GAP},
        {"first": 1.5},  # one step of it could take as long
        {"later": 1.0},  # nobody is told anything by then
        {"time_limit": 2.0},  # it is over
    ],
)
def test_nothing_is_computed_that_nobody_needs(finder, case):
    assert told(**case) == []
    assert finder.asked == 0


def test_no_time(monkeypatch):
    """What is found in no time is not said."""
    monkeypatch.setattr(module, "SECONDS", 0.0)
    problem, listener = noise(), Listener()
    watch = Watch(Settings(), display=listener)
    forecast = Forecast(problem, solve_root(problem), watch)
    forecast.look(0.1, 0.5)
    watch.start -= 10.0
    forecast.look(0.1, 0.5)
    assert listener.remarks == []


def test_a_core_is_not_smaller_than_said(monkeypatch):
    problem = noise()
    core = ss.core(problem, within=0.0)
    size, complete = CoreFinder(problem, core.known.root, 0).size(core.objective)
    assert complete
    assert len(core) <= size <= 2 * len(core) + 10


def test_a_finder_looks_up():
    problem = noise()
    core = ss.core(problem, within=0.0)
    finder, looks = CoreFinder(problem, core.known.root, 0), iter([False] * 6)
    with expiring(lambda: next(looks, True)):
        size, complete = finder.size(core.objective)
        assert not complete
        assert size < len(core)
        with pytest.raises(ExpiredError):
            finder.find(core.objective)


def test_whoever_watches_is_told(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    for room in (module, progress):
        monkeypatch.setattr(room, "FIRST_AFTER", 0.05)
    monkeypatch.setattr(module, "LEAD", 0.0)
    monkeypatch.setattr(progress, "THEN_EVERY", 0.1)
    monkeypatch.setattr(module, "SECONDS", 60.0)
    monkeypatch.setattr(module, "SHARE", 1.0)
    monkeypatch.setattr(module, "SLOW", 60.0)
    ss.solve(noise(), time_limit=3.0, progress=True)
    assert stream.getvalue().count("columns must be told apart: expect ") == 1
