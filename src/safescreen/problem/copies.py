"""Which one of several copies of a column stands for all of them, and how that is said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from safescreen.arrays import BoolArray, IndexArray
from safescreen.problem.validation import about
from safescreen.text import brief

ONE, ALLOW = "one", "allow"

_MOST_NAMES = 5


def check_copies(copies: Any) -> str:
    """Whether only one of several copies may be chosen, or all of them."""
    if not isinstance(copies, str) or copies not in (ONE, ALLOW):
        raise about("copies", ValueError(f"copies is {brief(copies)}, but must be {ONE!r} or {ALLOW!r}."))
    return copies


def represented(group: IndexArray, included: BoolArray, excluded: BoolArray) -> IndexArray:
    """A group with the column that stands for it first: one the user wants, else the first one that may be chosen."""
    wanted = np.where(included[group], 0, np.where(excluded[group], 2, 1))
    place = int(np.argmin(wanted))
    return np.concatenate((group[place : place + 1], np.delete(group, place)))


def superfluous(groups: Sequence[IndexArray], included: BoolArray) -> IndexArray:
    """All columns of groups but those that stand for them or that the user wants."""
    rest: IndexArray = np.concatenate([group[1:] for group in groups]) if groups else np.empty(0, dtype=np.int64)
    wanted: BoolArray = included[rest]
    return rest[~wanted]


def touching(groups: Sequence[IndexArray], support: npt.ArrayLike) -> list[IndexArray]:
    """The groups with a chosen feature."""
    chosen = set(np.asarray(support).tolist())
    return [group for group in groups if not chosen.isdisjoint(group.tolist())]


def told(group: IndexArray, included: BoolArray) -> IndexArray:
    """What there is to say of a group: whoever stands for it, and those that are left out for that."""
    rest = group[1:]
    return np.concatenate((group[:1], superfluous([group], included))) if included[rest].any() else group


def sentence(groups: Sequence[IndexArray], names: Callable[[IndexArray], list[str]], *, scaled: bool) -> str:
    """Which features stand for others, without a full stop; empty if there are no groups."""
    if not groups:
        return ""
    some = [_told(names(group[: _MOST_NAMES + 1]), group.size - 1) for group in groups[:_MOST_NAMES]]
    more = f" and {len(groups) - _MOST_NAMES:,} more such features" if len(groups) > _MOST_NAMES else ""
    upto = " up to scale and offset" if scaled else ""
    which = names(groups[0][:1])[0] if len(groups) == 1 else "the first of each"
    return f"{'; '.join(some)}{more}{upto}: only {which} may be chosen"


def counted(copies: int) -> str:
    """A number of copies."""
    return "1 copy" if copies == 1 else f"{copies:,} copies"


def _told(names: list[str], count: int) -> str:
    rest = f" and {count - _MOST_NAMES:,} more" if count > _MOST_NAMES else ""
    return f"{names[0]} has {counted(count)} ({', '.join(names[1:])}{rest})"
