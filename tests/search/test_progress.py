"""The status line of a search: short, on terminals only, and gone at the end."""

from __future__ import annotations

import io

import pytest

from safescreen.search.progress import Progress, describe
from safescreen.search.solution import Moment

pytestmark = pytest.mark.interpreted

MOMENT = Moment(3.2, 9999, 123, 0.123456789, 0.123567891, 0.001, 5)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_fits_the_line():
    line = describe(Moment(12345.6, 123_456_789, 1_234_567, 0.123456789, 0.234567891, 0.4736841, 100))
    assert line == "100 features, gap 47.4 % (0.12346 to 0.23457), 123M nodes, 10k/s, 1.23M open, 12346 s"
    line = describe(MOMENT)
    assert line == "5 features, gap 0.1 % (0.12346 to 0.12357), 9999 nodes, 3125/s, 123 open, 3 s"
    assert len(line) <= 78


def test_very_many_nodes_are_counted_in_billions():
    assert "1.23G nodes" in describe(MOMENT._replace(nodes=1_234_567_890))


@pytest.mark.parametrize(("enabled", "stream"), [(False, Terminal()), (True, io.StringIO())])
def test_nothing_is_shown_where_nobody_looks(enabled, stream, monkeypatch):
    monkeypatch.setattr("sys.stderr", stream)
    with Progress(enabled) as progress:
        progress.show(MOMENT)
    assert stream.getvalue() == ""


def test_a_terminal_shows_where_the_search_stands(monkeypatch):
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", terminal)
    with Progress(True) as progress:
        progress.show(MOMENT)
    assert "5 features, gap 0.1 %" in terminal.getvalue()
