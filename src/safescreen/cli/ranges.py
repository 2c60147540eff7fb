"""Ranges and lists of numbers, as typed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from safescreen.cli.options import CandidateOptions, RangeOptions, parsed_ridge

if TYPE_CHECKING:
    from safescreen.tables import Prepared

Lists = dict[str, list[Any]]
"""The values of each parameter that is given."""

_RANGE = re.compile(r"([+-]?\d+)(?::([+-]?\d+)(?::([1-9]\d*))?)?")


def parse_lists(terms: RangeOptions) -> Lists:
    """The parameters that may vary, as far as they are given, as lists of allowed values."""
    from safescreen.path import checked_values

    given = {name: text for name in ("k", "mu", "gamma") if (text := getattr(terms, name)) is not None}
    lists = {name: _budgets(text) if name == "k" else _numbers(text, name) for name, text in given.items()}
    return {name: checked_values(name, _once(values)) for name, values in lists.items()}


def _budgets(text: str) -> list[int]:
    """Budgets such as ``1:20``, ``1:20:5`` or ``1,2,5``, also mixed."""
    values: list[int] = []
    for part in text.split(","):
        found = _RANGE.fullmatch(part.strip())
        if found is None:
            raise ValueError(f"--k is {text!r}, but must be a range or list of integers: 1:20, 1:20:5 or 1,2,5.")
        first, last, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
        if first > last:
            raise ValueError(f"--k is {text!r}, but the range {part} is empty: its end comes before its start.")
        values += range(first, last + 1, step)
    return values


def _numbers(text: str, name: str) -> list[float]:
    """Numbers separated by commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--{name} is {text!r}, but must be a number or a list such as 1,10,100.") from None


def _once(values: Sequence[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def parse_path(terms: RangeOptions) -> tuple[Lists, dict[str, Any]]:
    """The one parameter that varies along a path, and the values of the others."""
    lists = parse_lists(terms)
    several = [name for name, values in lists.items() if len(values) > 1]
    varying = several or [name for name in lists if name != "gamma"][:1]
    if len(varying) != 1:
        what = f"{' and '.join('--' + name for name in varying)} have several values" if varying else "none is given"
        raise ValueError(f"One of --k, --mu and --gamma must have several values, such as --k 1:20, but {what}.")
    fixed = {name: values[0] for name, values in lists.items() if name not in varying}
    return {name: lists[name] for name in varying}, fixed


def parse_candidates(terms: CandidateOptions) -> Lists:
    """What cross-validation chooses from: sizes of one kind, and ridges."""
    lists = parse_lists(terms)
    if all(len(lists.get(name, ())) > 1 for name in ("k", "mu")):
        raise ValueError("--k and --mu both have several values, but only one of them may.")
    if terms.refit_gamma is not None:
        from safescreen.estimation import check_refit_gamma

        ridges = [check_refit_gamma(parsed_ridge(part)) for part in terms.refit_gamma.split(",")]
        lists["refit_gamma"] = _once(ridges)
    return lists


def clipped(lists: Lists, data: Prepared) -> tuple[Lists, Prepared]:
    """Budgets beyond the number of features are all the same one; the data come with a note about it."""
    n_features = len(data.encoding.inputs)
    if max(lists.get("k", [0])) <= n_features:
        return lists, data
    note = f"There are only {n_features:,} features, so larger budgets are left out."
    kept = _once([min(budget, n_features) for budget in lists["k"]])
    return {**lists, "k": kept}, replace(data, notes=(*data.notes, note))
