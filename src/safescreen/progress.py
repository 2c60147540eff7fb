"""The status line of a long search."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from safescreen.solution import Moment


class Progress:
    """Shows bounds, gap and nodes on standard error while active; vanishes when done, and costs nothing when off."""

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
            rate = moment.nodes / max(moment.seconds, 1e-9)
            self._status.update(
                f"bounds {moment.lower_bound:.6g} to {moment.upper_bound:.6g}, gap {100.0 * moment.gap:.3g} %, "
                f"{moment.features} features, {moment.nodes} nodes ({rate:.0f}/s), {moment.open_nodes} open"
            )
