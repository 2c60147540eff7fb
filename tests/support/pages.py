"""Pages and cards taken apart, and what they are about: patients, and names that no page should trust."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import numpy as np

import safescreen as ss

NASTY = [
    "</script><script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 2">',
    "<!-- <script> ]]> &lt;b&gt; &amp;",
    "'single' \"double\" `back` ${window.hacked = 3} $title \\ \\u003c",
    "line\u2028separator\u2029and\nnewline\ttab",
    "\ud800 half a pair \x00 nul \x1b escape",
    "\u202eright to left\u202c עברית 中文 🧬",
    "x" * 5000,
    "",
    "__proto__",
]
VOID = {"meta", "link", "input", "br", "img", "hr"}


def data(m: int = 120, n: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) * np.linspace(0.5, 20.0, n) + 3.0
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, np.where(z[:, :3] @ [1.5, -1.0, 0.8] + rng.logistic(size=m) > 0, "ill", "healthy")


def solved(n: int = 12, **options) -> ss.Solution:
    X, y = data(n=n)
    given = {"k": 3, "gamma": 5.0, "fit_intercept": True, "standardize": True, **options}
    return ss.solve(ss.Problem(X, y, **given))


class Page(HTMLParser):
    """A page taken apart: tags with attributes, what is inside scripts, and whether all tags are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self.stack: list[str] = []
        self.feed(text)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"attributes of {tag} twice"
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.stack, f"</{tag}> without a start"
        assert self.stack.pop() == tag

    def handle_data(self, text):
        inside = self.stack[-1] if self.stack else ""
        if inside != "style":
            (self.scripts if inside == "script" else self.texts).append(text)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    @property
    def data(self) -> dict:
        return json.loads(self.scripts[0])
