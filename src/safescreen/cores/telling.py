"""A core in a sentence, in one line and as a card. It is never said that its features are selected: they are not."""

from __future__ import annotations

from typing import Any

from safescreen.formatting.cards import table_card
from safescreen.formatting.digits import above, below, counted, duration, nearest
from safescreen.formatting.escaping import shortened

_MOST_ROWS = 20
_LONGEST_NAME = 40
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

CAUTION = "It is the list as a whole that no good model does without; any single feature of it may be in none."


def sentence(core: Any) -> str:
    """What is proved."""
    beside = " beside those included" if core.problem.include.size else ""
    return f"Every model within {percent(core)} of the best uses {phrase(core)}{beside}."


def phrase(core: Any) -> str:
    """How many of how many features."""
    size = len(core)
    if core.at_least == size:
        return "this feature" if size == 1 else f"all of these {size:,} features"
    return f"at least {in_words(core.at_least)} of these {counted(size, 'feature')}"


def percent(core: Any) -> str:
    """The tolerance."""
    return f"{100.0 * core.within:g} %"


def in_words(number: int) -> str:
    """A small number as a word."""
    return _WORDS[number] if number < len(_WORDS) else f"{number:,}"


def in_one_line(core: Any) -> str:
    """What a prompt shows."""
    return (
        f"Core({counted(len(core), 'feature')} of {core.problem.n_features:,}; every model within {percent(core)} of "
        f"the best uses at least {core.at_least:,})"
    )


def card(core: Any) -> str:
    """What notebooks show: the sentence, and the features that matter most."""
    shown = core.features[:_MOST_ROWS]
    rows = [
        (shortened(name, _LONGEST_NAME), nearest(float(gain), 3))
        for name, gain in zip(core.problem.names(shown), core.gain, strict=False)
    ]
    rest = len(core) - shown.size
    notes = [f"and {counted(rest, 'feature')} of less weight"] if rest else []
    notes += [CAUTION] if len(core) > core.at_least else []
    notes.append(
        f"Proved by one dual point: models that use fewer cost at least {below(core.lower_bound, 6)}, the best at most "
        f"{above(core.objective, 6)}."
    )
    title = f"Core: {counted(len(core), 'feature')} of {core.problem.n_features:,}"
    return table_card(title, f"in {duration(core.seconds)}", sentence(core), ("feature", "gain"), rows, notes)
