"""The status line of a long search."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from safescreen.search.solution import Moment


class Progress:
    """Shows where the search stands on standard error while active; vanishes when done, and costs nothing when off."""

    def __init__(self, enabled: bool) -> None:
        self._status: Any = None
        if enabled:
            from rich.console import Console
            from rich.status import Status

            console = Console(stderr=True)
            if console.is_terminal:
                self._status = Status("relaxing and screening", console=console)

    def __enter__(self) -> Progress:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, moment: Moment) -> None:
        """Update the line."""
        if self._status is not None:
            from rich.text import Text

            self._status.update(Text(describe(moment), no_wrap=True, overflow="ellipsis"))


def describe(moment: Moment) -> str:
    """Where the search stands, short enough for a terminal of 80 columns."""
    rate = moment.nodes / max(moment.seconds, 1e-9)
    return (
        f"{moment.features} features, gap {100.0 * moment.gap:.3g} % ({moment.lower_bound:.5g} to "
        f"{moment.upper_bound:.5g}), {_short(moment.nodes)} nodes, {_short(rate)}/s, {_short(moment.open_nodes)} open, "
        f"{moment.seconds:.0f} s"
    )


def _short(number: float) -> str:
    """At most four digits and a letter."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= size:
            return f"{number / (1e3 if letter == 'k' else size):.3g}{letter}"
    return f"{number:.0f}"
