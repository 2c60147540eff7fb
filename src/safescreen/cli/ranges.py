"""Ranges and lists of numbers, as typed."""

from __future__ import annotations

from typing import Any


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


def parse_grid(k: str | None, mu: str | None, gamma: str) -> tuple[str, list[Any], dict[str, Any]]:
    """The one parameter that varies, its values, and the others."""
    lists = parse_lists(k, mu, gamma)
    varying = [name for name, values in lists.items() if values is not None and len(values) > 1]
    if not varying:
        varying = [name for name in ("k", "mu") if lists[name] is not None][:1]
    if len(varying) != 1:
        what = f"{' and '.join('--' + name for name in varying)} have several values" if varying else "none is given"
        raise ValueError(f"One of --k, --mu and --gamma must have several values, such as --k 1:20, but {what}.")
    if lists["k"] is None and lists["mu"] is None:
        raise ValueError("--k and --mu are both missing, but a budget --k >= 1, a price --mu >= 0 or both are needed.")
    name = varying[0]
    fixed = {other: None if values is None else values[0] for other, values in lists.items() if other != name}
    values = lists[name]
    assert values is not None
    return name, values, fixed


def parse_lists(k: str | None, mu: str | None, gamma: str) -> dict[str, list[Any] | None]:
    """All three parameters as lists of allowed values."""
    from safescreen.path import checked_values

    lists: dict[str, list[Any] | None] = {
        "k": None if k is None else parse_budgets(k),
        "mu": None if mu is None else parse_numbers(mu, "--mu"),
        "gamma": parse_numbers(gamma, "--gamma"),
    }
    return {name: None if values is None else checked_values(name, values) for name, values in lists.items()}


def clipped(name: str, values: list[Any], n_features: int) -> tuple[list[Any], list[str]]:
    """Budgets beyond the number of features are all the same one."""
    if name != "k" or max(values) <= n_features:
        return values, []
    kept = _once([min(value, n_features) for value in values])
    return kept, [f"There are only {n_features} features, so larger budgets are left out."]
