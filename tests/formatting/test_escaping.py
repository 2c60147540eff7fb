"""Any text inside a page: it stays text, whatever it holds."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from pages import Page
from safescreen.formatting.escaping import escaped, script_json, shortened


@given(st.text(st.characters(codec=None, exclude_categories=[])))
def test_escaping_keeps_any_text_inside(text):
    page = Page(f'<p title="{escaped(text)}">{escaped(text)}</p><script>{script_json([text])}</script>')
    assert [tag for tag, _ in page.tags] == ["p", "script"]
    assert "<" not in script_json([text])
    restored = json.loads(script_json([text]))[0]
    assert restored == re.sub("[\ud800-\udfff]", "\ufffd", text)
    assert script_json([text]).encode("utf-8")


@given(st.text(), st.integers(1, 30))
def test_shortened_names_keep_their_ends(name, length):
    short = shortened(name, length)
    assert len(short) <= length
    if short != name:
        start, _, end = short.partition("…")
        assert name.startswith(start)
        assert name.endswith(end)
