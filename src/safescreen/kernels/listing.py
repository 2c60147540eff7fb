"""Listing all models below a threshold, compiled: a node whose dual point leaves few supports is settled at once.

Each of these supports is fitted. Its own dual point either proves that it is above the threshold, or it is listed. With
a budget alone more features never hurt, and a support below the threshold has countless useless supersets: then only
*minimal* models are listed, none of whose features can be left out, and what contains one below the threshold is
settled with it.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from safescreen.arrays import BoolArray, FloatArray, IndexArray, RecordArray
from safescreen.kernels.candidates import TOO_MANY, Candidates, find_candidates, make_candidates
from safescreen.kernels.columns import correlate, make_dense, reserved_slots
from safescreen.kernels.compiling import compiled, inlined, record_type
from safescreen.kernels.dual_bound import dual_bound
from safescreen.kernels.goals import MINIMAL_MODELS
from safescreen.kernels.losses import INTERCEPT_AT_BEST, dual_point
from safescreen.kernels.node import Node
from safescreen.kernels.node_relaxation import Workspace, keep_best
from safescreen.kernels.quadratic import Quadratic
from safescreen.kernels.refitting import Fitted, fit_support
from safescreen.kernels.subproblem import FREE, IN, OUT, Subproblem, samples_of
from safescreen.kernels.vectors import copy_into
from safescreen.rounding import UNIT
from safescreen.tuning import MANY_CANDIDATES, REFIT_TOLERANCE

SETTLED, UNSETTLED, NO_ROOM, HALTED = 0, 1, 2, 3  # what became of a node
ABOVE, BELOW, UNDECIDED = 0, 1, 2  # what is proved of a support, given the threshold

COUNTS = record_type(
    [
        ("models", "i8"),
        ("entries", "i8"),
        ("goal", "i8"),  # the kind of goal
        ("own_point", "?"),  # whether the latest node has got another dual point here
        ("below", "i8"),  # supports found below the threshold in the latest node
        ("undecided", "f8"),  # the smallest bound of a support that cannot be told from the threshold there
        ("keep_refuted", "?"),  # whether supports above the threshold are kept too, for a proof
    ]
)


class Listing(NamedTuple):
    """Models found since Python last asked, and room to find more."""

    counts: RecordArray  # [a record of `COUNTS`]
    size: npt.NDArray[np.int32]  # (models,)
    objective: FloatArray  # (models,)
    bound: FloatArray  # (models,): no coefficients make the support better than this
    intercept: FloatArray  # (models,)
    spare: BoolArray  # (models,): where minimal ones are sought, whether a feature can be left out
    feature: npt.NDArray[np.int32]  # features and coefficients, one model after the other
    value: FloatArray
    decided: IndexArray  # (features,): what all candidates of a node have in common
    start: FloatArray  # (features,): and the coefficients of their own fit
    slope: FloatArray  # (features,): correlations of a model's own columns
    indispensable: BoolArray  # (features,): what the user includes is never left out
    candidates: Candidates


def make_listing(models: int, entries: int, indispensable: BoolArray, goal: int, keep_refuted: bool) -> Listing:
    """An empty list with room for so many models and so many coefficients."""
    return Listing(
        counts=np.array([(0, 0, goal, False, 0, np.inf, keep_refuted)], COUNTS),
        size=np.empty(models, np.int32),
        objective=np.empty(models),
        bound=np.empty(models),
        intercept=np.empty(models),
        spare=np.zeros(models, np.bool_),
        feature=np.empty(entries, np.int32),
        value=np.empty(entries),
        decided=np.empty(indispensable.size, np.int64),
        start=np.empty(indispensable.size),
        slope=np.empty(indispensable.size),
        indispensable=indispensable,
        candidates=make_candidates(indispensable.size),
    )


def empty_listing(listing: Listing) -> None:
    """Forget what has been taken over."""
    listing.counts["models"] = 0
    listing.counts["entries"] = 0


class Batch(NamedTuple):
    """The candidates of a node: how many, how many features they have in common, and the threshold."""

    supports: int
    decided: int
    cutoff: float


@compiled
def list_models(
    subproblem: Subproblem, node: Node, refit_node: Node, workspace: Workspace, listing: Listing, cutoff: float
) -> int:
    """Settle a node whose dual point leaves few supports, or whose decided features are a model to be listed alone.

    A node that is not settled must be branched on; without room for its models it must come again.
    """
    counts, candidates = listing.counts[0], listing.candidates
    counts.own_point = False
    decided, free = list_decided(node, listing.decided)
    count = find_candidates(subproblem, node, candidates, cutoff)
    if node.progress[0].kappa == 1 and count > MANY_CANDIDATES and decided < workspace.quadratic.x.size:
        if use_own_point(subproblem, node, refit_node, workspace, listing, Batch(count, decided, cutoff)):
            counts.own_point = True
            count = find_candidates(subproblem, node, candidates, cutoff)
    if count != TOO_MANY and not can_be_fitted(subproblem, workspace.quadratic, candidates, count, decided):
        count = TOO_MANY
    alone = count == TOO_MANY
    if alone:
        if decided >= workspace.quadratic.x.size:
            counts.undecided = node.progress[0].bound
            return UNSETTLED if free > 0 else SETTLED
        if counts.goal != MINIMAL_MODELS and free > 0:
            return UNSETTLED
        count = 1
        candidates.size[0] = 0
    if lacks_room_for(listing, Batch(count, decided, cutoff)):
        return UNSETTLED if counts.models == 0 and free > 0 else NO_ROOM
    models, entries = counts.models, counts.entries
    fit_candidates(subproblem, node, refit_node, workspace, listing, Batch(count, decided, cutoff))
    halted = refit_node.progress[0].halted
    if halted or (alone and free > 0 and counts.below == 0):
        counts.models, counts.entries = models, entries
        return HALTED if halted else UNSETTLED
    return SETTLED


@inlined
def use_own_point(
    subproblem: Subproblem, node: Node, refit_node: Node, workspace: Workspace, listing: Listing, batch: Batch
) -> bool:
    """Give a node with one place left the dual point of its decided features' own fit, if that leaves fewer supports.

    The relaxation's point balances the features that compete for the place, and may say nothing about all others. The
    fit's own has a larger entropy, and excludes whatever gains less than the fit is above the threshold.
    """
    intercept = node.progress[0].intercept
    for a in range(batch.decided):
        listing.start[a] = node.x[listing.decided[a]]
    intercept = fit_decided(subproblem, refit_node, workspace, listing, batch.decided, intercept)
    copy_into(workspace.trial, refit_node.u)
    dual = dual_point(samples_of(subproblem), workspace.trial, intercept, workspace.point, INTERCEPT_AT_BEST)
    count = 0
    for j in range(node.status.size):
        if node.status[j] != OUT:
            node.features[count] = j
            count += 1
    correlate(subproblem.columns, node.features, count, workspace.point.alpha, node.c, node.progress[0])
    if node.progress[0].halted:
        return False
    bound = dual_bound(subproblem, node, count, dual, 1)
    left = 0
    for i in range(count):
        j = node.features[i]
        if node.status[j] == FREE and bound.value + bound.kth_gain - (node.q[j] - subproblem.mu) <= batch.cutoff:
            left += 1
    if left >= batch.supports:
        return False
    keep_best(node, workspace.point.alpha, bound, count)
    for j in range(node.best_x.size):
        node.best_x[j] = 0.0
    for a in range(batch.decided):
        node.best_x[listing.decided[a]] = listing.start[a]
    node.best_b[0] = intercept + dual.shift
    return True


@inlined
def list_decided(node: Node, features: IndexArray) -> tuple[int, int]:
    """List the features that are in; returns how many, and how many are free."""
    decided, free = 0, 0
    for j in range(node.status.size):
        if node.status[j] == IN:
            features[decided] = j
            decided += 1
        elif node.status[j] == FREE:
            free += 1
    return decided, free


@inlined
def can_be_fitted(
    subproblem: Subproblem, quadratic: Quadratic, candidates: Candidates, count: int, decided: int
) -> bool:
    """Whether the largest candidate fits into a working set, and all columns of the candidates can be held dense."""
    deepest, used = 0, 0
    for i in range(count):
        deepest = max(deepest, candidates.size[i])
        used += candidates.size[i]
    if decided + deepest >= quadratic.x.size:
        return False
    reserved = reserved_slots(subproblem.columns, subproblem.k)
    dense = True
    for i in range(used):
        dense = dense and make_dense(subproblem.columns, candidates.feature[candidates.place[i]], reserved)
    return dense


@inlined
def lacks_room_for(listing: Listing, batch: Batch) -> bool:
    """Whether the models of a batch might not fit."""
    counts, entries = listing.counts[0], listing.counts[0].entries
    for i in range(batch.supports):
        entries += batch.decided + listing.candidates.size[i]
    too_many: bool = counts.models + batch.supports > listing.size.size
    return too_many or entries > listing.value.size


@inlined
def fit_candidates(
    subproblem: Subproblem, node: Node, refit_node: Node, workspace: Workspace, listing: Listing, batch: Batch
) -> None:
    """Fit every candidate, and list those that are not proved to be above the threshold."""
    counts, candidates, minimal = listing.counts[0], listing.candidates, listing.counts[0].goal == MINIMAL_MODELS
    counts.below = 0
    counts.undecided = np.inf
    node.progress[0].work = 0
    near = candidates.size[batch.supports - 1] <= 2 and node.progress[0].kappa <= 2
    intercept = node.progress[0].intercept
    for a in range(batch.decided):
        listing.start[a] = node.x[listing.decided[a]]
    if near and batch.supports > 1:
        intercept = fit_decided(subproblem, refit_node, workspace, listing, batch.decided, intercept)
    at, settled, settled_size = 0, 0, -1
    for i in range(batch.supports):
        size = candidates.size[i]
        if settled_size >= 0 and extends(candidates, at, size, settled, settled_size):
            at += size
            continue
        length = load_candidate(node, workspace.quadratic, listing, batch.decided, at, size)
        if near:
            for a in range(batch.decided, length):
                workspace.quadratic.x[a] = 0.0
        fitted = fit_support(subproblem, refit_node, workspace, length, intercept, batch.cutoff)
        node.progress[0].work += refit_node.progress[0].work
        if refit_node.progress[0].halted:
            return
        verdict = judge(fitted, batch.cutoff)
        write_model(listing, workspace.quadratic, length, fitted)
        if verdict == BELOW:
            counts.below += 1
            if minimal:
                settled, settled_size = at, size
                listing.spare[counts.models] = not is_minimal(subproblem, refit_node, workspace, listing, batch.cutoff)
                node.progress[0].work += refit_node.progress[0].work
        elif verdict == UNDECIDED:
            counts.undecided = min(counts.undecided, fitted.bound)
        if verdict == BELOW or (verdict == ABOVE and counts.keep_refuted):
            counts.models += 1
            counts.entries += length
        at += size


@inlined
def extends(candidates: Candidates, at: int, size: int, settled: int, settled_size: int) -> bool:
    """Whether a candidate has all features of one that is settled: these come next after it."""
    same = size >= settled_size
    for i in range(settled_size):
        same = same and candidates.place[at + i] == candidates.place[settled + i]
    return same


@inlined
def fit_decided(
    subproblem: Subproblem, refit_node: Node, workspace: Workspace, listing: Listing, decided: int, intercept: float
) -> float:
    """Fit what all candidates have in common: where they differ from it in little, it is a good start for each."""
    for a in range(decided):
        workspace.quadratic.feature[a] = listing.decided[a]
        workspace.quadratic.x[a] = listing.start[a]
    fitted = fit_support(subproblem, refit_node, workspace, decided, intercept, np.inf)
    for a in range(decided):
        listing.start[a] = workspace.quadratic.x[a]
    return fitted.intercept


@inlined
def load_candidate(node: Node, quadratic: Quadratic, listing: Listing, decided: int, at: int, size: int) -> int:
    """Make a candidate the working set, with coefficients to start from; returns its number of features."""
    candidates = listing.candidates
    for a in range(decided):
        quadratic.feature[a] = listing.decided[a]
        quadratic.x[a] = listing.start[a]
    for i in range(size):
        j = candidates.feature[candidates.place[at + i]]
        quadratic.feature[decided + i] = j
        quadratic.x[decided + i] = node.x[j]
    return decided + size


@inlined
def judge(fitted: Fitted, cutoff: float) -> int:
    """What a fit proves of its support. One that equals the threshold, as far as numbers tell, is below it."""
    if fitted.bound > cutoff:
        return ABOVE
    solved = fitted.bound >= fitted.objective * (1.0 - 10.0 * REFIT_TOLERANCE)  # not so where nothing is finite
    return BELOW if fitted.objective <= cutoff or solved else UNDECIDED


@inlined
def write_model(listing: Listing, quadratic: Quadratic, length: int, fitted: Fitted) -> None:
    """Write a fitted support behind those listed; it is one of them once it is counted."""
    counts = listing.counts[0]
    i: int = counts.models
    listing.size[i] = length
    listing.objective[i] = fitted.objective
    listing.bound[i] = fitted.bound
    listing.intercept[i] = fitted.intercept
    listing.spare[i] = False
    for a in range(length):
        listing.feature[counts.entries + a] = quadratic.feature[a]
        listing.value[counts.entries + a] = quadratic.x[a]


@inlined
def is_minimal(subproblem: Subproblem, refit_node: Node, workspace: Workspace, listing: Listing, cutoff: float) -> bool:
    """Whether every feature of the model just written is needed: without it nothing is below the threshold.

    A support that is below, rounding included, is not proved to be above wherever else it is met: so a model that makes
    way for a smaller one does not get lost.
    """
    counts, quadratic, work = listing.counts[0], workspace.quadratic, 0
    length = listing.size[counts.models]
    first = counts.entries
    bound = listing.bound[counts.models]
    for dropped in range(length):
        listing.slope[dropped] = workspace.quadratic.gradient[dropped]
    for dropped in range(length):
        c = listing.slope[dropped]
        q = 0.25 * subproblem.gamma * c * c * (1.0 - 1e-9)
        if listing.indispensable[listing.feature[first + dropped]] or bound + q - subproblem.mu > cutoff:
            continue
        kept = 0
        for a in range(length):
            if a != dropped:
                quadratic.feature[kept] = listing.feature[first + a]
                quadratic.x[kept] = listing.value[first + a]
                kept += 1
        fitted = fit_support(subproblem, refit_node, workspace, kept, listing.intercept[counts.models], cutoff)
        work += refit_node.progress[0].work
        if fitted.objective * (1.0 + 8.0 * refit_node.u.size * UNIT) <= cutoff:
            refit_node.progress[0].work = work
            return False
    refit_node.progress[0].work = work
    return True
