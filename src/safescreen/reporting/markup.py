"""The few pieces of HTML that all sections share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import Any, NamedTuple

from safescreen.formatting.escaping import escaped, shortened

LONGEST_TEXT = 200  # characters of a name or value: nobody reads more, and column numbers tell features apart
SYMBOLS = {"k": "k", "mu": "μ", "gamma": "γ", "refit_gamma": "γ of the estimates"}
PARAMETERS = {"k": "budget k", "mu": "price μ", "gamma": "ridge parameter γ", "refit_gamma": "ridge of the estimates"}

_LONG_NAME = 60  # may be cut off on a small screen


class Column(NamedTuple):
    """A table's column: its title, a remark below that, its look, and whether its cells name their rows."""

    title: str
    remark: str = ""
    look: str = ""
    names_rows: bool = False


def ingredient(name: str) -> str:
    """A file that the page is made of."""
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def filled(name: str, **values: Any) -> str:
    """A template of the page with its gaps filled."""
    return Template(ingredient(name)).substitute(values)


def section(anchor: str, heading: str, *parts: str) -> str:
    """A section with its heading."""
    return f'<section id="{anchor}"><h2>{escaped(heading)}</h2>\n{joined(parts)}\n</section>'


def joined(parts: Iterable[str]) -> str:
    """Pieces of a page, without the empty ones."""
    return "\n".join(part for part in parts if part)


def paragraph(text: str, look: str = "") -> str:
    """A paragraph of plain text."""
    return f'<p class="{look}">{escaped(text)}</p>' if look else f"<p>{escaped(text)}</p>"


def name(text: str, length: int = LONGEST_TEXT) -> str:
    """A user's name for something, isolated so that its direction of writing cannot disturb the line."""
    if not text.strip():
        return "<i>no name</i>"
    hint = f' title="{escaped(shortened(text, LONGEST_TEXT))}"' if len(text) > _LONG_NAME else ""
    return f"<bdi{hint}>{escaped(shortened(text, length))}</bdi>"


def setting(parameter: str, value: float | str) -> str:
    """A parameter and its value, a number or a word in its place."""
    return f"{SYMBOLS[parameter]} = {value if isinstance(value, str) else f'{value:g}'}"


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
    told = [(key, "not set" if value is None else value) for key, value in facts.items()]
    cells = [[escaped(shortened(str(text), LONGEST_TEXT)) for text in fact] for fact in told]
    rows = "".join(f'<tr><th scope="row">{key}</th><td>{value}</td></tr>' for key, value in cells)
    return f'<table class="facts {look}"><tbody>{rows}</tbody></table>'


def table(look: str, columns: Iterable[Column], rows: Iterable[str]) -> str:
    """A table that scrolls on its own if it must; :func:`row` makes its rows."""
    heads = "".join(
        f'<th scope="col"{_class(column.look)}>{escaped(column.title)}'
        f"{f'<small>{escaped(column.remark)}</small>' if column.remark else ''}</th>"
        for column in columns
    )
    return (
        f'<div class="scroll"><table class="{look}"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def row(columns: Sequence[Column], cells: Iterable[str], look: str = "") -> str:
    """A row of a table; the cells are HTML."""
    parts = (
        f'<th scope="row"{_class(column.look)}>{cell}</th>'
        if column.names_rows
        else f"<td{_class(column.look)}>{cell}</td>"
        for column, cell in zip(columns, cells, strict=True)
    )
    return f"<tr{_class(look)}>{''.join(parts)}</tr>"


def _class(look: str) -> str:
    return f' class="{look}"' if look else ""
