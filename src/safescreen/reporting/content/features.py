"""What is known of each feature: the decision, its margin, and the spread of its values."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from safescreen.arrays import FloatArray, IndexArray
from safescreen.problem import Problem
from safescreen.search.solution import Solution

_BLOCK = 256  # columns held dense at a time


class Decision(StrEnum):
    """What is known of a feature: a letter, since there are many features. A reader wants them in this order."""

    REQUIRED = "r"
    IN = "i"
    OPEN = "u"
    UNKNOWN = "n"
    OUT = "o"
    FORBIDDEN = "f"
    COPY = "d"
    CONSTANT = "c"


_WORDS = ("required", "proved in", "undecided", "not screened", "ruled out", "excluded", "copy of another", "constant")
LABELS = dict(zip(Decision, _WORDS, strict=True))


def decisions(solution: Solution) -> str:
    """What is known of each feature, one letter per feature."""
    problem, screening = solution.problem, solution.screening
    letters = np.full(problem.n_features, str(Decision.UNKNOWN if screening is None else Decision.OPEN))
    if screening is not None:
        letters[screening.excluded] = Decision.OUT
        letters[screening.included] = Decision.IN
    letters[problem.excluded] = Decision.CONSTANT
    letters[problem.exclude] = Decision.FORBIDDEN
    letters[problem.left_out] = Decision.COPY
    letters[problem.include] = Decision.REQUIRED
    return "".join(letters.tolist())


def margins(solution: Solution) -> FloatArray:
    """By how much the proof of each feature's decision passes the model's objective; infinite without need of proof."""
    if solution.screening is None:
        return np.full(solution.problem.n_features, np.inf)
    margin = solution.screening.margin
    return np.where(margin < 1e200, margin, np.inf)  # a budget that is used up leaves no branch to speak of


def reading_order(letters: str, margin: FloatArray, support: IndexArray) -> IndexArray:
    """Features as a reader wants them: the model, what is proved in or open, and then what was hardest to rule out."""
    chosen = np.ones(len(letters), dtype=np.int64)
    chosen[support] = 0
    places = np.array(list(map("".join(Decision).index, letters)))
    return np.lexsort((margin, places, chosen))


def deviations(problem: Problem, features: IndexArray) -> FloatArray:
    """Standard deviations of these features in the data's units, with the problem's sample weights."""
    if problem.standardize:
        return problem.design.scales[features]
    found = []
    for start in range(0, features.size, _BLOCK):
        block = problem.design.columns(features[start : start + _BLOCK])
        centred = block - problem.weights @ block
        found.append(np.sqrt(problem.weights @ (centred * centred)))
    return np.concatenate(found) if found else np.empty(0)
