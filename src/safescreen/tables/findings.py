"""All that keeps the columns of a file from being features, found in one go, and the words that would do about it."""

from __future__ import annotations

import hashlib
import re
import reprlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from safescreen.arrays import AnyArray, FloatArray
from safescreen.tables.encoding import Reading
from safescreen.tables.layout import THOUSANDS, parsed_number
from safescreen.tables.table import Table, columns_with, missing, quoted_columns
from safescreen.text import count

_MANY = 20  # categories of which a column may always have so many
_MOSTLY = 0.5  # the share of numbers from which on the other texts of a column are mistakes
_SHOWN = 3  # mistakes of a column that are shown
_DATE = re.compile(r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([T ]\d{1,2}:\d{2}.*)?")

_QUANTITY = re.compile(r"[-+<>≤≥~$€£ ]*\d[\d.,' ]*\s*(%|[€£$]|[^\W\d]{1,3})?")  # a number in other words: 5 %, < 3, $4


class UnusableError(ValueError):
    """A file that cannot be used as it is; `words` are the options with which it can, if there are any."""

    def __init__(self, message: str, words: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.words = list(words)


@dataclass(frozen=True)
class _Finding:
    """What is wrong, what to do if nothing else is, and the columns or words that would do."""

    what: str
    advice: str
    exclude: Sequence[int] = ()
    words: Sequence[str] = ()


def id_columns(table: Table, used: Sequence[int]) -> list[int]:
    """Columns whose texts are all different, neither numbers nor dates."""
    return [j for j in used if j in table.texts and _kind(table, j) == "id"]


def refuse_unusable(
    table: Table, reading: Reading, used: Sequence[int], labels: AnyArray, weights: FloatArray | None
) -> None:
    """Raise one error about everything that is wrong with these columns, if anything is."""
    if sparse.issparse(table.matrix):
        return
    kinds = {j: _kind(table, j) for j in used if j in table.texts}
    gaps = columns_with(np.isnan, table.matrix)
    findings = [*_about_texts(table, reading, kinds), *_about_numbers(table, kinds, used, gaps)]
    gone = {j for finding in findings for j in finding.exclude}
    if not (reading.impute or reading.drop_missing):
        findings += _about_gaps(table, [j for j in used if j not in gone], gaps)
    for what, values in (("target", labels), ("weight", weights)):
        absent = 0 if values is None or reading.drop_missing else int(missing(values).sum())
        if absent:
            advice = "leave such rows out with --drop-missing"
            findings.append(_Finding(f"{count(absent, 'row')} without a {what}", advice, words=["--drop-missing"]))
    if not findings:
        return
    findings += _useless(table, [j for j in used if j not in table.texts and j not in gone])
    raise _error(table, used, findings)


def _error(table: Table, used: Sequence[int], findings: Sequence[_Finding]) -> UnusableError:
    exclude = [j for finding in findings for j in finding.exclude]
    words = list(dict.fromkeys(word for finding in findings for word in finding.words))
    names = [table.names[j] if table.named else str(j) for j in exclude]
    odd = [name for name in names if "," in name or name != name.strip()]  # which only stand alone
    plain = ",".join(name for name in names if name not in odd)
    words += [word for name in (plain, *odd) if name for word in ("--exclude", name)]
    said = "; ".join(finding.what for finding in findings)
    if set(used) <= set(exclude):
        return UnusableError(f"{table.source} has {said}: no column is left that could be a feature.")
    advice = findings[0].advice if len(findings) == 1 else f"add {shlex.join(words)}"
    return UnusableError(f"{table.source} has {said}: {advice}.", words)


def _kind(table: Table, j: int) -> str:
    """What a column of text holds: nothing, numbers but for a few texts, dates, ids, too many texts, or categories."""
    present = _present(table, j)
    different = set(present)
    if not different:
        return "nothing"
    if all(_DATE.fullmatch(value) for value in different):
        return "dates"
    numeric = {
        value for value in different if parsed_number(value, table.decimal) is not None or _otherwise(table, value)
    }
    if sum(value in numeric for value in present) >= _MOSTLY * len(present):
        return "numbers" if len(different) > 2 else "categories"
    if len(different) == table.n_rows > _MANY and not all(_QUANTITY.fullmatch(value) for value in different):
        return "id"
    return "texts" if len(different) > max(_MANY, len(present) // 2) else "categories"


def _present(table: Table, j: int) -> list[str]:
    return [value for value in table.texts[j].tolist() if value is not None]


def _otherwise(table: Table, value: str) -> bool:
    """Whether a text is a number with the other decimal point only."""
    other = "." if table.decimal == "," else ","
    return parsed_number(value, table.decimal) is None and parsed_number(value, other) is not None


def _about_texts(table: Table, reading: Reading, kinds: dict[int, str]) -> list[_Finding]:
    """Columns of text that cannot be features, or not without being told how."""
    findings = []
    different = {j: len(set(_present(table, j))) for j in kinds}
    by_kind: dict[str, list[int]] = {}
    for j, kind in kinds.items():
        if not (reading.one_hot and kind in ("numbers", "dates") and different[j] <= _MANY):
            by_kind.setdefault(kind, []).append(j)
    for j in by_kind.get("numbers", []):
        coded = different[j] <= min(_MANY, table.n_rows // 2)
        categories = "take all as categories with --one-hot, " if coded else ""
        other = "points with --decimal ." if table.decimal == "," else "commas with --decimal ','"
        swapped = [value for value in _present(table, j) if _otherwise(table, value)]
        points = f"read decimal {other}, " if any(not THOUSANDS.fullmatch(value) for value in swapped) else ""
        advice = f"correct them, {points}{categories}or leave the column out with --exclude {table.names[j]!r}"
        findings.append(_Finding(_mistakes(table, j), advice, *(((), ["--one-hot"]) if coded else ([j],))))
    if dates := by_kind.get("dates"):
        advice = f"turn them into numbers, or leave them out with --exclude {_joined(table, dates)}"
        findings.append(_Finding(f"dates in {table.example(dates)}", advice, dates))
    for j in [*by_kind.get("texts", []), *by_kind.get("id", [])]:
        what = f"{different[j]:,} different texts in column {table.names[j]!r}, too many to be categories"
        findings.append(_Finding(what, f"leave it out with --exclude {table.names[j]!r}", [j]))
    if (texts := by_kind.get("categories")) and not reading.one_hot:
        advice = "turn categories into numbers with --one-hot, or leave columns out, as in --exclude "
        what = f"text in {table.example(texts)}"
        findings.append(_Finding(what, advice + _joined(table, texts[:5]), words=["--one-hot"]))
    return findings


def _mistakes(table: Table, j: int) -> str:
    """The texts in a column of numbers, with their lines."""
    values = table.texts[j].tolist()
    wrong = [i for i, value in enumerate(values) if value is not None and parsed_number(value, table.decimal) is None]
    places = table.places(wrong[:_SHOWN])
    shown = [f"{reprlib.repr(values[i])} in {place}" for i, place in zip(wrong, places, strict=False)]
    more = ", ..." if len(wrong) > _SHOWN else ""
    number = "1 value that is not a number" if len(wrong) == 1 else f"{len(wrong):,} values that are not numbers"
    return f"{number} in column {table.names[j]!r} ({', '.join(shown)}{more})"


def _about_numbers(table: Table, kinds: dict[int, str], used: Sequence[int], gaps: Sequence[int]) -> list[_Finding]:
    """Columns without any number, and columns with infinite ones."""
    findings = []
    numeric = {*used} - {*kinds}
    empty = [j for j in gaps if j in numeric and np.isnan(table.matrix[:, j]).all()]
    empty = sorted([*empty, *(j for j, kind in kinds.items() if kind == "nothing")])
    if empty:
        what = f"no value at all in {quoted_columns([table.names[j] for j in empty])}"
        findings.append(_Finding(what, f"leave it out with --exclude {_joined(table, empty)}", empty))
    infinite = sorted({*columns_with(np.isinf, table.matrix)} & numeric)
    if infinite:
        what = f"infinite or far too large numbers in {quoted_columns([table.names[j] for j in infinite])}"
        findings.append(_Finding(what, "correct them, or leave columns out with --exclude", infinite))
    return findings


def _about_gaps(table: Table, used: Sequence[int], gaps: Sequence[int]) -> list[_Finding]:
    """Missing values that nobody has said anything about."""
    rows = np.zeros(table.n_rows, dtype=np.bool_)
    names = []
    for j in sorted({*used} & {*gaps, *table.texts}):
        absent = missing(table.texts[j]) if j in table.texts else np.isnan(table.matrix[:, j])
        if absent.any():
            rows |= absent
            names.append(table.names[j])
    if not names:
        return []
    advice = "fill them with --impute median, leave those rows out with --drop-missing, or leave columns out with "
    what = f"missing values in {count(int(rows.sum()), 'row')}, {quoted_columns(names)}"
    return [_Finding(what, f"{advice}--exclude", words=["--impute", "median"])]


def _useless(table: Table, numeric: Sequence[int]) -> list[_Finding]:
    """Columns that do no harm but are no help, either: constant ones, and copies of others."""
    seen: set[bytes] = set()
    constant, copied = [], []
    for j in numeric:
        column = np.asarray(table.matrix[:, j], dtype=np.float64)
        content = hashlib.sha256(column.tobytes()).digest()  # the columns themselves would be the table again
        if (column == column[0]).all():
            constant.append(j)
        elif content in seen:
            copied.append(j)
        seen.add(content)
    kinds = {"one value only": constant, "copies of other columns": copied}
    what = {kind: quoted_columns([table.names[j] for j in places]) for kind, places in kinds.items() if places}
    return [_Finding(f"{kind} in {names}", "", kinds[kind]) for kind, names in what.items()]


def _joined(table: Table, places: Sequence[int]) -> str:
    return repr(",".join(table.names[j] for j in places))
