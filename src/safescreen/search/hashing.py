"""The fingerprint of a matrix, computed beside a search.

A proof knows its data by a SHA-256, which takes some two seconds per gigabyte of double precision and cannot be had
in pieces. Hashing needs no interpreter lock, so that a thread of its own is done with it before most searches are.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread

from safescreen.expiry import SECONDS_BETWEEN_LOOKS, ExpiredError, expiring
from safescreen.problem import Problem

LAST_SECONDS = 0.2
"""How long it is waited for after Ctrl-C."""


class Hashing:
    """The matrix of a problem that is being hashed; afterwards its fingerprint is at hand.

    Parameters
    ----------
    problem : Problem
        The problem.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._given_up = Event()
        self._thread = Thread(target=self._hash, name="hashing", daemon=True)
        self._thread.start()

    def _hash(self) -> None:
        with expiring(self._given_up.is_set), suppress(ExpiredError):
            _ = self._problem.design.fingerprint  # which is kept there

    def is_done(self, unless: Callable[[], bool]) -> bool:
        """Wait until the matrix is hashed, or not long any more if somebody wants to go; whether it is."""
        while self._thread.is_alive() and not unless():
            self._thread.join(SECONDS_BETWEEN_LOOKS)
        self._thread.join(LAST_SECONDS)
        return not self._thread.is_alive()

    def give_up(self) -> None:
        """Hash no further."""
        self._given_up.set()
