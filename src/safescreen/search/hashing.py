"""The fingerprint of a matrix, computed beside a search.

A proof knows its data by a SHA-256, which takes some two seconds per gigabyte of double precision and cannot be had
in pieces. Hashing needs no interpreter lock, so that a thread of its own is done with it before most searches are.
Where it is not when time is up, the proof does without: no bound in it rests on the fingerprint.
"""

from __future__ import annotations

from contextlib import suppress
from threading import Event, Thread

from safescreen.expiry import SECONDS_BETWEEN_LOOKS, ExpiredError, expiring, is_over
from safescreen.problem import Problem


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

    def is_done_in_time(self) -> bool:
        """Wait until the matrix is hashed, or time is up; whether it is hashed."""
        while self._thread.is_alive() and not is_over():
            self._thread.join(SECONDS_BETWEEN_LOOKS)
        return is_hashed(self._problem)

    def give_up(self) -> None:
        """Hash no further."""
        self._given_up.set()


def is_hashed(problem: Problem) -> bool:
    """Whether the fingerprint of the matrix is known."""
    return "fingerprint" in vars(problem.design)
