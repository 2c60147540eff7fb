"""How far a search goes, and how."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from safescreen.problem.validation import about, check_memory_limit
from safescreen.text import brief

MOST_THREADS = 256
"""Each thread has memory of its own; nobody has so many cores, but a slip of the finger has."""

MOST_NODES = 2**62
LONGEST = 1e12  # seconds

SCREENINGS = ("none", "root", "nodes")


@dataclass(frozen=True)
class Settings:
    """How far to go, and how."""

    rel_gap: float = 1e-4
    time_limit: float | None = None
    node_limit: int | None = None
    screening: str = "nodes"
    n_threads: int = 1
    memory_limit: float | None = None

    def checked(self) -> Settings:
        """The same settings, if they make sense, as Python's own numbers: kernels are compiled for no others."""
        if not (_is_number(self.rel_gap) and 0.0 <= self.rel_gap < 1.0):
            raise about("rel_gap", ValueError(f"rel_gap is {brief(self.rel_gap)}, but must be a number >= 0 and < 1."))
        if self.time_limit is not None and not (_is_number(self.time_limit) and self.time_limit >= 0.0):
            raise about(
                "time_limit",
                ValueError(f"time_limit is {brief(self.time_limit)}, but must be None or a number of seconds >= 0."),
            )
        if self.node_limit is not None and not (_is_count(self.node_limit) and self.node_limit >= 0):
            raise about(
                "node_limit",
                ValueError(f"node_limit is {brief(self.node_limit)}, but must be None or an integer >= 0."),
            )
        if self.screening not in SCREENINGS:
            raise about(
                "screening",
                ValueError(f"screening is {brief(self.screening)}, but must be one of 'none', 'root' and 'nodes'."),
            )
        if not (_is_count(self.n_threads) and 1 <= self.n_threads <= MOST_THREADS):
            too_many = _is_count(self.n_threads) and self.n_threads > MOST_THREADS
            allowed = f"at most {MOST_THREADS}" if too_many else "an integer >= 1"
            raise about("n_threads", ValueError(f"n_threads is {brief(self.n_threads)}, but must be {allowed}."))
        return Settings(
            rel_gap=float(self.rel_gap),
            time_limit=None if self.time_limit is None else _seconds(self.time_limit),
            node_limit=None if self.node_limit is None else min(int(self.node_limit), MOST_NODES),
            screening=self.screening,
            n_threads=int(self.n_threads),
            memory_limit=check_memory_limit(self.memory_limit),
        )


def check_jobs(n_jobs: Any) -> int | None:
    """How many processes work at once, in joblib's way of counting; each is started, whether there is work for it."""
    if n_jobs is None:
        return None
    if not _is_count(n_jobs) or n_jobs == 0:
        raise about("n_jobs", ValueError(f"n_jobs is {brief(n_jobs)}, but must be None or an integer other than 0."))
    if n_jobs > MOST_THREADS:
        raise about("n_jobs", ValueError(f"n_jobs is {brief(n_jobs)}, but must be at most {MOST_THREADS}."))
    return max(int(n_jobs), -MOST_THREADS)


def _seconds(value: float) -> float:
    """Any number as one that a clock can be compared with."""
    try:
        return min(float(value), LONGEST)
    except OverflowError:
        return LONGEST


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
