"""Words for messages: what was probably meant, a few names of many, a number with its noun."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def nearest(wanted: str, names: Iterable[str], cutoff: float = 0.0) -> str:
    """The name most like the one a user typed, empty if none is; case matters less than letters."""
    import difflib  # only mistakes need it

    known = list(names)
    folded = [name.casefold() for name in known]
    best = difflib.get_close_matches(wanted.casefold(), folded, n=1, cutoff=cutoff)
    return known[folded.index(best[0])] if best else ""


def listed(items: Sequence[str], limit: int = 5) -> str:
    """A few quoted names."""
    shown = ", ".join(repr(str(item)) for item in items[:limit])
    return f"{shown} and {len(items) - limit} more" if len(items) > limit else shown


def count(number: int, noun: str) -> str:
    """A number with its noun: 1 row, 2,000 rows."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
