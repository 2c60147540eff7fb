"""Where a search stands: one line on a terminal, gone at the end; elsewhere a line now and then."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import threading
import time

import pytest

from safescreen.search import progress as module
from safescreen.search.progress import Progress, describe
from safescreen.search.solution import Moment

pytestmark = pytest.mark.interpreted

MOMENT = Moment(3.2, 9999, 123, 0.123456789, 0.123567891, 0.001, 5)
LINE = re.compile(r"safescreen, \d+ s: (.*)\n")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def impatient(monkeypatch):
    """Lines come sixty times as often."""
    monkeypatch.setattr(module, "FIRST_AFTER", 2.0 / 60.0)
    monkeypatch.setattr(module, "THEN_EVERY", 5.0 / 60.0)


def wait_for(condition):
    """Until it holds, which it must soon."""
    deadline = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_progress_fits_the_line():
    line = describe(Moment(12345.6, 123_456_789, 1_234_567, 0.123456789, 0.234567891, 0.4736841, 100))
    assert line == "100 features, gap 47.4 % (0.12346 to 0.23457), 123M nodes, 10k/s, 1.23M open"
    line = describe(MOMENT)
    assert line == "5 features, gap 0.1 % (0.12346 to 0.12357), 9999 nodes, 3125/s, 123 open"
    assert len(line) <= 74


def test_very_many_nodes_are_counted_in_billions():
    assert "1.23G nodes" in describe(MOMENT._replace(nodes=1_234_567_890))


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_nothing_is_shown_unasked(stream, monkeypatch, impatient):
    monkeypatch.setattr("sys.stderr", stream)
    with Progress(False) as progress:
        progress.show(MOMENT)
        progress.say("here")
        time.sleep(0.1)
    assert stream.getvalue() == ""


@pytest.mark.parametrize("say", [lambda it: it.show(MOMENT), lambda it: it.say("5 features, gap 0.1 %")])
def test_a_terminal_shows_where_the_search_stands(say, monkeypatch):
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", terminal)
    with Progress(True) as progress:
        say(progress)
    assert "0 s: 5 features, gap 0.1 %" in terminal.getvalue()


def test_quick_work_says_nothing(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with Progress(True) as progress:
        progress.show(MOMENT)
    assert stream.getvalue() == ""


@pytest.mark.parametrize("terminal", ["not one", "dumb"])
def test_lines_elsewhere(terminal, monkeypatch, impatient):
    stream = Terminal() if terminal == "dumb" else io.StringIO()
    monkeypatch.setenv("TERM", "dumb" if terminal == "dumb" else "xterm")
    monkeypatch.setattr("sys.stderr", stream)
    threads, start = threading.active_count(), time.monotonic()
    with Progress(True, "thinking") as progress:
        wait_for(lambda: stream.getvalue())
        progress.say("first this")
        progress.show(MOMENT)
        wait_for(lambda: stream.getvalue().count("5 features") == 2)
    seconds = time.monotonic() - start
    said = LINE.findall(stream.getvalue())
    assert threading.active_count() <= threads
    assert LINE.sub("", stream.getvalue()) == ""
    assert said[0] == "thinking"
    assert set(said) == {"thinking", describe(MOMENT)}
    assert len(said) <= 1 + seconds / (5.0 / 60.0)


def test_remarks_stay_where_work_is_not_quick(monkeypatch, impatient):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with Progress(True, "thinking") as progress:
        progress.remark("this will take long")
        wait_for(lambda: stream.getvalue().count("thinking") == 2)
    assert LINE.findall(stream.getvalue())[:2] == ["this will take long", "thinking"]
    assert stream.getvalue().count("this will take long") == 1


def test_remarks_on_a_terminal(monkeypatch, impatient):
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", terminal)
    with Progress(True) as progress:
        progress.remark("this will take long")
        progress.say("quick so far")
        assert "this will" not in terminal.getvalue()
        time.sleep(0.1)
        progress.say("still at work")
    assert terminal.getvalue().count("this will take long\n") == 1


def test_nobody_is_told_a_remark():
    with Progress(False) as progress:
        progress.remark("this will take long")
        assert not progress.enabled


class Closed(io.StringIO):
    def __init__(self):
        super().__init__()
        self.close()


class Broken(io.StringIO):
    def write(self, text):
        raise BrokenPipeError


class Odd:
    """Neither tells whether it is a terminal nor can be written to."""


@pytest.mark.parametrize("stream", [None, Closed(), Broken(), Odd()])
def test_nobody_listening_does_no_harm(stream, monkeypatch, impatient):
    failed = []
    monkeypatch.setattr("threading.excepthook", failed.append)
    monkeypatch.setattr("sys.stderr", stream)
    with Progress(True) as progress:
        progress.show(MOMENT)
        time.sleep(0.1)
    assert failed == []


def test_log_files_get_lines_at_once(tmp_path):
    """Not only at the end, as a stream that is not flushed would."""
    code = (
        "import time; from safescreen.search import progress as p; p.FIRST_AFTER = 0.1\n"
        "with p.Progress(True) as it: it.say('at work'); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) as process:
        try:
            assert LINE.fullmatch(process.stderr.readline()).group(1) == "at work"
        finally:
            process.kill()
