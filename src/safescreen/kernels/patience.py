"""Compiled code that can be called back: a large relaxation takes seconds, in which Python sees neither clock nor keys.

Such a one runs in a thread of its own, while the caller's looks up every few hundredths of a second. If time is up or
Ctrl-C raises, the node is told to halt: its relaxation returns with the iterate and the bound it has.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any

from safescreen import expiry
from safescreen.kernels.node import Node
from safescreen.tuning import PATIENT_WORK


def is_long(size: int, samples: int) -> bool:
    """Whether a relaxation over so many columns may take longer than handing it to another thread is worth.

    A round fills a Hessian, and factorises it a few times. Badly scaled or correlated columns need many rounds.
    """
    return size * (size + 64) * max(samples, 4 * size) > PATIENT_WORK


def call(function: Callable[[], int], node: Node) -> int:
    """Call compiled code that works on this node, and halt it when time is up."""
    node.progress["halted"] = False
    task = expiry.begun(function)
    try:
        attend([task], [node], expiry.is_over)
    finally:
        wait([task])  # once halted, it is there soon
    return task.result()


def attend(tasks: list[Future[Any]], nodes: list[Node], expired: Callable[[], bool]) -> None:
    """Wait for tasks that relax these nodes, and halt them when time is up or anything is raised here."""
    try:
        while wait(tasks, expiry.SECONDS_BETWEEN_LOOKS).not_done:
            if expired():
                halt(nodes)
    except BaseException:
        halt(nodes)
        raise


def halt(nodes: list[Node]) -> None:
    """Tell whoever relaxes these nodes to return."""
    for node in nodes:
        node.progress["halted"] = True
