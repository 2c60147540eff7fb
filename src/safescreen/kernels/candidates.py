"""The supports that a node's dual point does not exclude, compiled.

For a support ``S`` of the node the dual point proves ``D(S) = D₀ - Σ_{free in S} (q_j - μ)``: one term per feature. So
the supports that it leaves below a cutoff are found without solving anything: features in the order of their gains,
depth first, and back as soon as even the best completion is excluded.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from safescreen.arrays import FloatArray, IndexArray
from safescreen.kernels.compiling import compiled, inlined
from safescreen.kernels.node import Node
from safescreen.kernels.subproblem import FREE, Subproblem
from safescreen.rounding import UNIT
from safescreen.tuning import CANDIDATES_AT_ONCE, VISITS_PER_CANDIDATE

TOO_MANY = -1


class Candidates(NamedTuple):
    """Supports as lists of places among a node's free features, those with the largest gain first."""

    feature: IndexArray  # (features,): the free features that some support may have
    gain: FloatArray  # (features,): and their gains
    ahead: FloatArray  # (features + 1,): the sum of positive gains before a place
    path: IndexArray  # (features + 1,): places of the support at hand
    total: FloatArray  # (features + 1,): the gain of its first places
    size: npt.NDArray[np.int32]  # (supports,): how many places each has
    place: npt.NDArray[np.int32]  # their places, one support after the other


class Room(NamedTuple):
    """By how much a support's gain may fall short of the largest, and how many free features it may have."""

    shortfall: float
    kappa: int


def make_candidates(features: int) -> Candidates:
    """No candidates yet; a node with one place left may have one per feature."""
    supports = max(CANDIDATES_AT_ONCE, features + 1)
    gain, ahead, total = np.empty((3, features + 1))
    return Candidates(
        feature=np.empty(features, np.int64),
        gain=gain,
        ahead=ahead,
        path=np.empty(features + 1, np.int64),
        total=total,
        size=np.empty(supports, np.int32),
        place=np.empty(16 * supports, np.int32),
    )


@compiled
def find_candidates(subproblem: Subproblem, node: Node, candidates: Candidates, cutoff: float) -> int:
    """List the supports of the node that its best dual point leaves below the cutoff; how many, or `TOO_MANY`.

    The node's status is the one its bound was computed for. Comparisons are such that what is no number excludes
    nothing.
    """
    progress, kappa = node.progress[0], node.progress[0].kappa
    sizes, largest = 0.0, 0.0
    count = 0
    for j in range(node.status.size if kappa > 0 else 0):
        if node.status[j] != FREE:
            continue
        gain = node.best_q[j] - subproblem.mu
        if gain > 0.0 and gain >= progress.kth_gain:
            sizes += gain
        elif progress.bound + (progress.kth_gain - gain) * (1.0 - 16.0 * UNIT) > cutoff + 16.0 * UNIT * abs(cutoff):
            continue
        candidates.feature[count] = j
        candidates.gain[count] = gain
        count += 1
    sort_by_gain(candidates, count)
    for i in range(count):
        candidates.ahead[i] = largest
        largest += max(candidates.gain[i], 0.0)
    candidates.ahead[count] = largest
    best = candidates.ahead[min(kappa, count)]
    slack = 4.0 * (count + 8.0) * UNIT * (abs(progress.bound) + sizes + best)
    return walk(candidates, count, Room(cutoff - progress.bound + slack, kappa), best)


@inlined
def walk(candidates: Candidates, count: int, room: Room, best: float) -> int:
    """Go through the supports depth first; ``best`` is the largest gain of any."""
    gain, ahead, path, total = candidates.gain, candidates.ahead, candidates.path, candidates.total
    most = candidates.size.size if room.kappa <= 1 else CANDIDATES_AT_ONCE
    found, used, depth, place, visits = 0, 0, 0, 0, 0
    total[0] = 0.0
    new = True  # the support at hand has not been looked at
    while True:
        if new and not best - total[depth] > room.shortfall:
            if found == most or used + depth > candidates.place.size:
                return TOO_MANY
            for i in range(depth):
                candidates.place[used + i] = path[i]
            candidates.size[found] = depth
            used += depth
            found += 1
        new = False
        if depth < room.kappa and place < count:
            last = min(place + room.kappa - depth, count)
            reachable = total[depth] + gain[place] + (ahead[last] - ahead[place + 1])
            if not best - reachable > room.shortfall:
                path[depth] = place
                total[depth + 1] = total[depth] + gain[place]
                depth += 1
                place += 1
                visits += 1
                new = True
                if visits > VISITS_PER_CANDIDATE * most:
                    return TOO_MANY
                continue
        if depth == 0:
            return found
        depth -= 1
        place = path[depth] + 1


@inlined
def sort_by_gain(candidates: Candidates, count: int) -> None:
    """Order features by their gains, the largest first: a heap sort, which needs no memory."""
    for start in range(count // 2 - 1, -1, -1):
        sift_down(candidates, start, count)
    for end in range(count - 1, 0, -1):
        swap(candidates, 0, end)
        sift_down(candidates, 0, end)


@compiled
def sift_down(candidates: Candidates, start: int, end: int) -> None:
    """Let a feature sink to its place in a heap whose smallest gain is on top."""
    parent = start
    while True:
        child = 2 * parent + 1
        if child >= end:
            return
        if child + 1 < end and candidates.gain[child + 1] < candidates.gain[child]:
            child += 1
        if not candidates.gain[child] < candidates.gain[parent]:
            return
        swap(candidates, parent, child)
        parent = child


@inlined
def swap(candidates: Candidates, i: int, j: int) -> None:
    """Let two features change places."""
    candidates.gain[i], candidates.gain[j] = candidates.gain[j], candidates.gain[i]
    candidates.feature[i], candidates.feature[j] = candidates.feature[j], candidates.feature[i]
