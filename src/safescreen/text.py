"""Words for messages: what was probably meant, a few names of many, a value in brief, a number with its noun."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

_ALIKE = 0.6  # the share of common letters from which on one name may be meant by another
_AS_ALIKE = 0.05  # how much less a name may be alike to be a candidate, too


def nearest(wanted: str, names: Iterable[str], cutoff: float = 0.0) -> str:
    """The name most like the one a user typed, empty if none is; case matters less than letters."""
    import difflib  # only mistakes need it

    known = list(names)
    folded = [name.casefold() for name in known]
    best = difflib.get_close_matches(wanted.casefold(), folded, n=1, cutoff=cutoff)
    return known[folded.index(best[0])] if best else ""


def suggestion(wanted: str, names: Iterable[str]) -> str:
    """What was probably meant, as a question; what there is if nothing is like it."""
    import difflib

    known = {name.casefold(): name for name in reversed(list(names))}
    close = difflib.get_close_matches(wanted.casefold(), known, n=3, cutoff=_ALIKE)
    if not close:
        return f"there are {listed(list(reversed(known.values())), 8)}." if known else "there is none."
    likeness = [difflib.SequenceMatcher(None, name, wanted.casefold()).ratio() for name in close]
    meant = [known[name] for name, ratio in zip(close, likeness, strict=True) if ratio >= likeness[0] - _AS_ALIKE]
    return f"did you mean {' or '.join(map(repr, meant))}?"


def listed(items: Sequence[str], limit: int = 5) -> str:
    """A few quoted names."""
    shown = ", ".join(repr(str(item)) for item in items[:limit])
    return f"{shown} and {len(items) - limit} more" if len(items) > limit else shown


def brief(value: Any, longest: int = 120) -> str:
    """A value as it is written in Python, on one line and without its middle if that is long."""
    try:
        words = " ".join(repr(value).split())
    except Exception:  # somebody else's code
        return f"<{type(value).__name__}>"
    half = (longest - 5) // 2
    return words if len(words) <= longest else f"{words[:half]} ... {words[-half:]}"


def count(number: int, noun: str) -> str:
    """A number with its noun: 1 row, 2,000 rows."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
