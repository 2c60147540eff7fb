"""What a search looks for, compiled: which nodes hold none of it, and what happens to a model that is found.

A goal is a kind and its numbers; the search asks it two questions and knows nothing else about it.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from safescreen.arrays import BoolArray, FloatArray, Record, StatusArray
from safescreen.kernels.compiling import compiled, inlined
from safescreen.kernels.subproblem import IN

BEST_MODEL, ALL_MODELS, MINIMAL_MODELS = 0, 1, 2
"""The best model up to a relative gap; every model below a threshold; those of them with no feature to spare."""


class Goal(NamedTuple):
    """What is sought, and to which relative gap bounds matter."""

    kind: int
    rel_gap: float


class Models(NamedTuple):
    """The models a worker has found since it was last asked."""

    support: BoolArray  # (features,): its best model
    objective: FloatArray  # [and its objective; infinite if there is none]
    tried: npt.NDArray[np.uint64]  # hashes of supports refitted lately


def make_models(features: int) -> Models:
    """No models yet."""
    return Models(np.zeros(features, np.bool_), np.array([np.inf]), np.zeros(4096, np.uint64))


@inlined
def cutoff(goal: Goal, upper: float) -> float:
    """A node whose bound reaches this holds nothing sought; ``upper`` is the best objective, or the threshold."""
    return upper * (1.0 - goal.rel_gap) if goal.kind == BEST_MODEL else upper


@compiled
def take_model(goal: Goal, models: Models, shared: Record, status: StatusArray, objective: float) -> bool:
    """Deal with a model and its objective, rounded up; whether that changed the cutoff."""
    known = min(shared.upper, models.objective[0])  # another worker's write may have undone one of ours
    if goal.kind != BEST_MODEL or not objective < known:
        return False
    shared.upper = min(shared.upper, objective)
    models.objective[0] = objective
    for j in range(status.size):
        models.support[j] = status[j] == IN
    return True
