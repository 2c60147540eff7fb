"""The few pieces of HTML that all sections share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from safescreen.formatting.escaping import escaped, shortened

LONGEST_NAME = 200
"""Characters of a name that are shown: nobody reads more, and column numbers tell features apart."""

SYMBOLS = {"k": "k", "mu": "μ", "gamma": "γ"}
PARAMETERS = {"k": "budget k", "mu": "price μ", "gamma": "ridge parameter γ"}

_LONGEST_VALUE = 200
_LONG_NAME = 60  # may be cut off on a small screen


def section(anchor: str, heading: str, *parts: str) -> str:
    """A section with its heading."""
    return f'<section id="{anchor}"><h2>{escaped(heading)}</h2>\n{joined(parts)}\n</section>'


def joined(parts: Iterable[str]) -> str:
    """Pieces of a page, without the empty ones."""
    return "\n".join(part for part in parts if part)


def paragraph(text: str, look: str = "") -> str:
    """A paragraph of plain text."""
    return f'<p class="{look}">{escaped(text)}</p>' if look else f"<p>{escaped(text)}</p>"


def name_html(name: str, length: int = LONGEST_NAME) -> str:
    """A user's name for something, isolated so that its direction of writing cannot disturb the line."""
    if not name.strip():
        return "<i>no name</i>"
    hint = f' title="{escaped(shortened(name, LONGEST_NAME))}"' if len(name) > _LONG_NAME else ""
    return f"<bdi{hint}>{escaped(shortened(name, length))}</bdi>"


def tiles(facts: Iterable[tuple[str, str, str]]) -> str:
    """A row of numbers, each with its meaning and a remark."""
    cells = "".join(
        f'<div><dt>{escaped(what)}</dt><dd>{escaped(value)}</dd><dd class="remark">{escaped(remark)}</dd></div>'
        for what, value, remark in facts
    )
    return f'<dl class="tiles">{cells}</dl>'


def folded(summary: str, content: str, unfolded: bool = False) -> str:
    """Something most readers can skip."""
    return f"<details{' open' if unfolded else ''}><summary>{escaped(summary)}</summary>{content}</details>"


def fact_table(facts: Mapping[str, Any], look: str) -> str:
    """Names and values in two columns."""
    rows = "".join(
        f'<tr><th scope="row">{escaped(shortened(str(key), 80))}</th><td>{escaped(_value(value))}</td></tr>'
        for key, value in facts.items()
    )
    return f'<table class="facts {look}"><tbody>{rows}</tbody></table>'


def table(look: str, heads: Iterable[tuple[str, str, str]], rows: str) -> str:
    """A table that scrolls on its own if it must; each head is a title, a remark below it and the column's look."""
    titles = "".join(
        f'<th scope="col" class="{style}">{escaped(title)}{f"<small>{escaped(remark)}</small>" if remark else ""}</th>'
        for title, remark, style in heads
    )
    return (
        f'<div class="scroll"><table class="{look}"><thead><tr>{titles}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def code(text: str) -> str:
    """Something to type or paste."""
    return f"<pre><code>{escaped(text)}</code></pre>"


def _value(value: Any) -> str:
    return repr(float(value)) if isinstance(value, float) else shortened(str(value), _LONGEST_VALUE)
