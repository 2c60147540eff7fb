"""A page in a notebook: a link to its file, or the page in a frame, but never its text."""

from __future__ import annotations

import copy
import html
import json
import pickle
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import safescreen as ss
from safescreen.reporting.notebook import Page


class Tags(HTMLParser):
    """The elements of a fragment."""

    def __init__(self, fragment):
        super().__init__()
        self.found, self.text = [], ""
        self.feed(fragment)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def test_a_page_is_text():
    page = Page("<!doctype html>", "a.html")
    assert isinstance(page, str)
    assert page == "<!doctype html>"
    assert page.startswith("<!doctype")
    assert type(str(page)) is str
    assert f"{page}" == "<!doctype html>"
    assert json.loads(json.dumps(page)) == page
    for twin in (copy.copy(page), copy.deepcopy(page), pickle.loads(pickle.dumps(page))):
        assert (twin, repr(twin), twin._repr_html_()) == (page, repr(page), page._repr_html_())


NAMES = ["r.html", "r & d.html", "c#d%20.html", "it's.html", "ä/é.html"]
if sys.platform != "win32":
    NAMES += ["a:b?c.html", 'so "so".html', "<b>.html"]


@pytest.mark.parametrize("name", NAMES)
def test_link_leads_to_the_file(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    for given in (name, Path(name), tmp_path / name):
        shown = Tags(Page("page", given)._repr_html_())
        ((tag, attributes),) = shown.found
        assert (tag, attributes["target"]) == ("a", "_blank")
        parts = urlsplit(attributes["href"])
        assert parts[:2] + parts[3:] == ("", "", "", "")
        assert unquote(parts.path) == name
        assert shown.text == f"Report: {given}"


def test_link_to_a_file_elsewhere(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for given in ("../r d.html", tmp_path / "r d.html"):
        ((_, attributes),) = Tags(Page("page", given)._repr_html_()).found
        assert attributes["href"] == (tmp_path / "r d.html").as_uri()


def test_frame_holds_the_page():
    text = "<!doctype html>\n<p title=\"a&amp;b\">'x' &lt; y</p>"
    ((tag, attributes),) = Tags(Page(text)._repr_html_()).found
    assert tag == "iframe"
    assert attributes["srcdoc"] == text
    assert attributes["sandbox"] == "allow-scripts"


def test_report_shows_little(solution, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written, loose = ss.report(solution, "r.html"), ss.report(solution)
    assert repr(written) == f"<safescreen report in r.html: {len(written):,} characters>"
    assert repr(loose) == f"<safescreen report: {len(loose):,} characters>"
    assert len(written._repr_html_()) < 200
    assert written.startswith("<!doctype html>")
    assert Path("r.html").read_text(encoding="utf-8") == written
    assert html.escape(loose[:100]) in loose._repr_html_()
