"""Ranges and lists of numbers, as typed."""

from __future__ import annotations

from typing import Any

from safescreen.cli.options import CandidateOptions, RangeOptions

Lists = dict[str, list[Any] | None]
"""The values to try of each parameter that may vary; None if it is not given."""


def parse_budgets(text: str) -> list[int]:
    """Budgets such as ``1:20``, ``1:20:5`` or ``1,2,5``, also mixed."""
    values: list[int] = []
    for part in text.split(","):
        try:
            numbers = [int(number) for number in part.split(":")]
        except ValueError:
            numbers = []
        if not 1 <= len(numbers) <= 3 or (len(numbers) == 3 and numbers[2] < 1):
            raise ValueError(
                f"--k is {text!r}, but must be a range or list of integers, such as 1:20, 1:20:5 or 1,2,5."
            )
        if len(numbers) == 1:
            values += numbers
            continue
        first, last, step = numbers if len(numbers) == 3 else (*numbers, 1)
        if first > last:
            raise ValueError(f"--k is {text!r}, but the range {part} is empty: its end comes before its start.")
        values += range(first, last + 1, step)
    return _once(values)


def parse_numbers(text: str, option: str) -> list[float]:
    """Numbers separated by commas."""
    try:
        return _once([float(part) for part in text.split(",")])
    except ValueError:
        raise ValueError(
            f"{option} is {text!r}, but must be a number or a list of numbers, such as 1,10,100."
        ) from None


def _once(values: list[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def parse_lists(terms: RangeOptions | CandidateOptions) -> Lists:
    """All parameters that may vary as lists of allowed values."""
    from safescreen.path import checked_values

    lists: Lists = {
        "k": None if terms.k is None else parse_budgets(terms.k),
        "mu": None if terms.mu is None else parse_numbers(terms.mu, "--mu"),
        "gamma": parse_numbers(terms.gamma, "--gamma"),
    }
    return {name: None if values is None else checked_values(name, values) for name, values in lists.items()}


def parse_path(terms: RangeOptions) -> tuple[Lists, dict[str, Any]]:
    """The one parameter that varies along a path, and the values of the others."""
    lists = parse_lists(terms)
    several = [name for name, values in lists.items() if values is not None and len(values) > 1]
    varying = several or [name for name in ("k", "mu") if lists[name] is not None][:1]
    if len(varying) != 1:
        what = f"{' and '.join('--' + name for name in varying)} have several values" if varying else "none is given"
        raise ValueError(f"One of --k, --mu and --gamma must have several values, such as --k 1:20, but {what}.")
    terms.check_size()
    fixed = {name: None if values is None else values[0] for name, values in lists.items() if name not in varying}
    return {name: lists[name] for name in varying}, fixed


def parse_candidates(terms: CandidateOptions) -> Lists:
    """What cross-validation chooses from: sizes of one kind, and ridges."""
    lists = parse_lists(terms)
    if all(values is not None and len(values) > 1 for values in (lists["k"], lists["mu"])):
        raise ValueError("--k and --mu both have several values, but only one of them may.")
    return lists


def clipped(lists: Lists, n_features: int) -> tuple[Lists, list[str]]:
    """Budgets beyond the number of features are all the same one."""
    budgets = lists.get("k")
    if budgets is None or max(budgets) <= n_features:
        return lists, []
    kept = _once([min(budget, n_features) for budget in budgets])
    return {**lists, "k": kept}, [f"There are only {n_features} features, so larger budgets are left out."]
