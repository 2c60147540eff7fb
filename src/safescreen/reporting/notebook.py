"""A page as prompts and notebooks show it: not as its forty thousand characters."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from safescreen.formatting.escaping import escaped, plain

_FRAME = "width:100%;height:40em;border:1px solid #8884;background:#fff"


class Page(str):
    """The text of a page, shown as a link to its file; without one, notebooks show the page itself in a frame.

    Parameters
    ----------
    text : str
        The page.
    path : str or path-like, optional
        The file it was written to.
    """

    __slots__ = ("_link", "_path")
    _path: str | None
    _link: str

    def __new__(cls, text: str, path: str | os.PathLike[str] | None = None) -> Page:
        """The same text, knowing where it lies."""
        page = super().__new__(cls, text)
        page._path = None if path is None else plain(os.fspath(path))
        page._link = "" if path is None else _link(Path(path))
        return page

    def __repr__(self) -> str:
        where = "" if self._path is None else f" in {self._path}"
        return f"<safescreen report{where}: {len(self):,} characters>"

    def _repr_html_(self) -> str:
        if self._path is None:
            return f'<iframe srcdoc="{escaped(self)}" sandbox="allow-scripts" title="Report" style="{_FRAME}"></iframe>'
        return f'Report: <a href="{escaped(self._link)}" target="_blank" rel="noopener">{escaped(self._path)}</a>'


def _link(path: Path) -> str:
    """The address of a file: from the current folder, which is where a notebook lies, unless the file is elsewhere."""
    absolute = Path(os.path.abspath(path))
    folder = Path.cwd()
    if absolute.is_relative_to(folder):
        return quote(os.fsencode(absolute.relative_to(folder).as_posix()))
    return absolute.as_uri()
