"""A model as an equation: for readers, for papers, for databases and for spreadsheets."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

QUANTITIES = ("probability", "log_odds")
DIGITS = 4
"""Significant digits for people; programs get all of them."""

_LARGEST_EXPONENT = 700
"""Beyond it the exponential function overflows (or, in some databases, underflows with an error)."""

_LONGEST_FORMULA = 8192
_TERMS_PER_LINE = 3

_OPERATORS = re.compile(r"[+\-−·*/=()\[\]]")
_CELL = re.compile(r"(?:(?:'(?:[^']|'')+'|[\w.]+)!)?\$?[A-Za-z]{1,3}\$?[1-9]\d{0,6}")
_SPECIAL = re.compile(r"['#@\[\]]")
_COLUMN = re.compile(r"\$?[A-Za-z]{1,3}")
_TEX = {
    "\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip


class Model(NamedTuple):
    """A linear model of the log-odds of a class: coefficients beside the names of their features."""

    positive: str
    intercept: float
    coefficients: Sequence[float]
    names: Sequence[str]


def equation(
    model: Model,
    form: str = "text",
    *,
    quantity: str | None = None,
    digits: int | None = None,
    columns: Mapping[str, str] | None = None,
    row: int = 2,
) -> str:
    """The model in one of the `FORMS`; see :meth:`L0LogisticRegression.equation`."""
    if form not in FORMS:
        raise ValueError(f"format is {form!r}, but must be one of {', '.join(map(repr, FORMS))}.")
    if quantity is not None and quantity not in QUANTITIES:
        raise ValueError(f"quantity is {quantity!r}, but must be None, 'probability' or 'log_odds'.")
    if digits is not None and not (isinstance(digits, int) and digits >= 1):
        raise ValueError(f"digits is {digits!r}, but must be None or an integer >= 1.")
    if not (isinstance(row, int) and row >= 1):
        raise ValueError(f"row is {row!r}, but must be an integer >= 1.")
    terms = [(float(c), str(name)) for c, name in zip(model.coefficients, model.names, strict=True) if c != 0.0]
    renamed = [(c, name if columns is None else _column(columns, name)) for c, name in terms]
    if form == "excel" and columns is not None:
        renamed = [(c, _cell(place, row)) for c, place in renamed]
    elif form == "excel":
        renamed = [(c, structured(name)) for c, name in renamed]
    return FORMS[form](model, renamed, quantity, digits)


def _as_text(model: Model, terms: list[tuple[float, str]], quantity: str | None, digits: int | None) -> str:
    """Two lines that people can read."""

    def number(value: float) -> str:
        return f"{value:.{digits or DIGITS}g}"

    named = [(c, f"·{f'[{name}]' if _OPERATORS.search(name) else name}") for c, name in terms]
    label = model.positive
    lines = {
        "log_odds": f"log-odds({label}) = {_sum(model.intercept, named, number)}",
        "probability": f"probability({label}) = 1 / (1 + exp(-log-odds({label})))",
    }
    return "\n".join(lines.values()) if quantity is None else lines[quantity]


def _as_latex(model: Model, terms: list[tuple[float, str]], quantity: str | None, digits: int | None) -> str:
    """An ``align*`` environment of the package amsmath."""

    def number(value: float) -> str:
        mantissa, _, exponent = f"{value:.{digits or DIGITS}g}".partition("e")
        return rf"{mantissa} \times 10^{{{int(exponent)}}}" if exponent else mantissa

    pieces = _pieces(model.intercept, [(c, rf"\,\text{{{tex(name)}}}") for c, name in terms], number)
    lines = [" ".join(pieces[i : i + _TERMS_PER_LINE]) for i in range(0, len(pieces), _TERMS_PER_LINE)]
    total = " \\\\\n&\\quad ".join(lines)
    probability = rf"P(\text{{{tex(model.positive)}}})"
    parts = {
        "log_odds": rf"\log\frac{{{probability}}}{{1 - {probability}}} &= {total}",
        "probability": rf"{probability} &= \frac{{1}}{{1 + e^{{-z}}}}",
    }
    chosen = [parts["log_odds"]] if quantity == "log_odds" else [f"z &= {total}", parts["probability"]]
    joined = " \\\\\n".join(chosen)
    return f"\\begin{{align*}}\n{joined}\n\\end{{align*}}"


def _as_sql(model: Model, terms: list[tuple[float, str]], quantity: str | None, digits: int | None) -> str:
    """A standard expression.

    Numbers have an exponent, which makes them double precision: without one, some databases would compute in decimals
    of few digits. The sum is compared first, so that no exponential function overflows.
    """

    def number(value: float) -> str:
        text = _exact(value, digits)
        return text if "e" in text else f"{text}e0"

    total = _sum(model.intercept, [(c, f" * {quoted(name)}") for c, name in terms], number)
    if quantity == "log_odds":
        return total
    return (
        f"CASE WHEN {total} > {_LARGEST_EXPONENT} THEN 1e0\n"
        f"WHEN {total} < -{_LARGEST_EXPONENT} THEN 0e0\n"
        f"ELSE 1e0 / (1e0 + EXP(-({total}))) END"
    )


def _as_excel(model: Model, terms: list[tuple[float, str]], quantity: str | None, digits: int | None) -> str:
    """A formula with English names and decimal points, as files of spreadsheets store it."""
    total = _sum(
        model.intercept, [(c, f"*{place}") for c, place in terms], lambda value: _exact(value, digits).upper(), ""
    )
    formula = f"={total}" if quantity == "log_odds" else f"=1/(1+EXP(MIN({_LARGEST_EXPONENT},-({total}))))"
    if len(formula) > _LONGEST_FORMULA:
        raise ValueError(
            f"The formula has {len(formula):,} characters, but Excel takes at most {_LONGEST_FORMULA:,}: give columns, "
            "whose letters are shorter than names, or digits."
        )
    return formula


FORMS: dict[str, Callable[[Model, list[tuple[float, str]], str | None, int | None], str]] = {
    "text": _as_text,
    "latex": _as_latex,
    "sql": _as_sql,
    "excel": _as_excel,
}


def quoted(name: str) -> str:
    """An identifier of standard SQL."""
    if "\0" in name:
        raise ValueError(f"The name {name!r} holds a null character, which SQL has no way to write: give columns.")
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def structured(name: str) -> str:
    """A column of the table that an Excel formula stands in, at the formula's own row."""
    escaped = _SPECIAL.sub(r"'\g<0>", name)
    return f"[@[{escaped}]]"


def tex(name: str) -> str:
    """A name in the text mode of LaTeX, where most signs have a meaning of their own."""
    return "".join(_TEX.get(letter, letter) if letter.isprintable() else " " for letter in name)


def _column(columns: Any, name: str) -> str:
    if not isinstance(columns, Mapping):
        raise TypeError(f"columns is a {type(columns).__name__}, but must be a mapping from features to their columns.")
    if name not in columns:
        raise ValueError(f"columns lacks {name!r}, but must name the column of every chosen feature.")
    return str(columns[name])


def _cell(place: str, row: int) -> str:
    """A cell, or the cell of a column in a row."""
    if _COLUMN.fullmatch(place):
        return f"{place}{row}"
    if _CELL.fullmatch(place):
        return place
    raise ValueError(f"columns holds {place!r}, but must hold letters of columns such as 'B', or cells such as 'B2'.")


def _exact(value: float, digits: int | None) -> str:
    """A number from which the same one is read again, unless fewer digits are wanted."""
    return repr(value) if digits is None else f"{value:.{digits}g}"


def _sum(
    intercept: float, terms: list[tuple[float, str]], number: Callable[[float], str], space: str = " "
) -> str:  # fmt: skip
    return space.join(_pieces(intercept, terms, number, space))


def _pieces(
    intercept: float, terms: list[tuple[float, str]], number: Callable[[float], str], space: str = " "
) -> list[str]:
    """The intercept and each term with its sign, so that no sign ever follows another."""
    signs = ("-" if c < 0.0 else "+" for c, _ in terms)
    return [
        number(float(intercept)),
        *(f"{sign}{space}{number(abs(c))}{rest}" for sign, (c, rest) in zip(signs, terms, strict=True)),
    ]
