"""The node at hand: what is decided, the iterate, the best dual point, and how far its relaxation has come."""

from typing import NamedTuple

import numpy as np

from safescreen.arrays import AnyArray, BoolArray, FloatArray, PlaceArray, RecordArray, StatusArray
from safescreen.kernels.compiling import inlined, record_type

PROGRESS = record_type(
    [
        ("primal", "f8"),  # objective of the relaxation at the iterate
        ("bound", "f8"),  # the best bound so far, with the gains that belong to it
        ("kth_gain", "f8"),
        ("next_gain", "f8"),
        ("bound_here", "f8"),  # the bound of the current dual point
        ("gap", "f8"),  # the gap a round ago
        ("level", "f8"),  # τ
        ("intercept", "f8"),
        ("slope", "f8"),  # of the loss along it, with the other sign
        ("left", "f8"),  # the gap when the latest relaxation ended, or the one that would have been enough
        ("length", "f8"),  # of the step that is tried
        ("sharpness", "f8"),  # how exactly the quadratic model is minimised, relative to the gap
        ("listed", "i8"),  # features that may not be out: so many in `listed`
        ("decided", "i8"),  # features that are in
        ("kappa", "i8"),  # places left for free features
        ("hot", "i8"),  # features looked at in every round
        ("cold", "i8"),  # and those looked at when a bound is completed
        ("working", "i8"),  # features and intercept in the working set
        ("strategy", "i8"),
        ("idle", "i8"),  # rounds without progress, and how many are allowed
        ("idle_limit", "i8"),
        ("work", "i8"),  # multiplications so far, roughly
        ("refit", "?"),  # nothing is free: this is a ridge regression
        ("modelled", "?"),  # the workspace has the quadratic model that led to the iterate
        ("settled", "?"),  # the intercept must be at its best, as steps near it have failed
        ("stalled", "?"),
        ("restarted", "?"),
        ("halted", "?"),  # set from outside: return at the next opportunity
    ]
)
"""Where a relaxation stands: a record that its steps read and change by name."""


class Node(NamedTuple):
    """The node at hand: what is decided, the current iterate, and the best dual point seen."""

    status: StatusArray
    x: FloatArray
    u: FloatArray
    c: FloatArray
    q: FloatArray
    best_q: FloatArray
    best_alpha: FloatArray
    best_x: FloatArray  # the iterate behind `best_alpha`
    best_b: FloatArray  # [and its intercept]
    hot: BoolArray  # (features,): looked at in every round, not only when a bound is completed
    listed: PlaceArray  # (features,): all that are not out, in order, and some that are
    features: PlaceArray
    cold: PlaceArray
    scratch: FloatArray
    progress: RecordArray  # [a record of `PROGRESS`]


def make_node(features: int, samples: int, hot: AnyArray) -> Node:
    """A node in which nothing is decided; ``hot`` are the features to look at in every round."""
    x, c, q, best_q, best_x, scratch = np.zeros((6, features))
    u, best_alpha = np.zeros((2, samples))
    progress = np.zeros(1, PROGRESS)
    progress["listed"] = features
    return Node(
        status=np.zeros(features, np.int8),
        x=x,
        u=u,
        c=c,
        q=q,
        best_q=best_q,
        best_alpha=best_alpha,
        best_x=best_x,
        best_b=np.zeros(1),
        hot=hot.astype(np.bool_),
        listed=np.arange(features, dtype=np.uint32),
        features=np.empty(features, np.uint32),
        cold=np.empty(features, np.uint32),
        scratch=scratch,
        progress=progress,
    )


@inlined
def listed(node: Node) -> PlaceArray:
    """The features that are not out, in order, and some that are."""
    return node.listed[: node.progress[0].listed]
