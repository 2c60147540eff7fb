"""How a search ended."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """How a search ended: a word that is a string, and a sentence for people."""

    OPTIMAL = "optimal"
    TIME_LIMIT = "time_limit"
    NODE_LIMIT = "node_limit"
    INTERRUPTED = "interrupted"
    NUMERICAL_LIMIT = "numerical_limit"
    MODEL_LIMIT = "model_limit"

    @property
    def sentence(self) -> str:
        """The same in plain words."""
        return _SENTENCES[self]

    def __repr__(self) -> str:
        return repr(self.value)  # at a prompt and in messages a status reads like the string it is


_SENTENCES = {
    Status.OPTIMAL: "The gap is no larger than was asked for.",
    Status.TIME_LIMIT: "The search stopped at its time limit.",
    Status.NODE_LIMIT: "The search stopped at its limit on nodes.",
    Status.INTERRUPTED: "The search was interrupted.",
    Status.NUMERICAL_LIMIT: (
        "The search is complete, but double precision cannot express as small a gap as was asked for."
    ),
    Status.MODEL_LIMIT: "The search stopped at its limit on models.",
}
