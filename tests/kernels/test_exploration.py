"""The steps around a relaxation, one at a time, and whole explorations against brute force."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from kernel_cases import as_case, low_level, random_case, random_problem, set_iterate, sparse_columns

from safescreen import kernels
from safescreen.kernels import exploration as kernel
from safescreen.kernels.exploration import (
    CLOSED,
    EXHAUSTED,
    LOG_FULL,
    NODES_FULL,
    OPENED,
    PAUSED,
    Now,
    Orders,
    RootBounds,
    make_exploration,
    make_shared,
)
from safescreen.kernels.goals import BEST_MODEL, Goal
from safescreen.kernels.listing import make_listing
from safescreen.kernels.node import make_node
from safescreen.kernels.node_relaxation import GRAM, NEWTON, split
from safescreen.kernels.open_nodes import add_root, arrange, count_waiting, enlarged, make_open_nodes, pop, unpack
from safescreen.kernels.outward import Order
from safescreen.kernels.proof_log import empty_log, make_proof_log
from safescreen.kernels.subproblem import FREE, IN, OUT
from safescreen.testing.reference import brute_force, fit_support
from safescreen.tuning import NODE_PATIENCE, PAIR_PATIENCE, SWEEP_TRIALS

# by design, and silent where compiled: the hash overflows, and relaxations meet inf - inf and zero times infinity
pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar multiply:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:invalid value encountered in scalar (subtract|multiply):RuntimeWarning"),
]
ORDERS = Orders(Goal(BEST_MODEL, 0.0), True, 10**6, 10**12)


def explorer_of(problem, upper=np.inf, slots=64, log=None, width=6, most=1000):
    """A worker with one open node, the root, in which only the user's choices are made; and its work space."""
    case = as_case(problem)
    n = problem.n_features
    nodes = make_open_nodes(slots, n, width, most)
    add_root(nodes, case.node.status, np.zeros(n), (-np.inf, low_level(problem), 0.0))
    proves_nothing = np.full(n, -np.inf), np.full(n, -np.inf), np.empty(0, np.int64)
    log = make_proof_log(0, 0, n, 0, 1) if log is None else log
    listing = make_listing(0, 0, np.zeros(0, np.bool_), BEST_MODEL, False)
    exploration = make_exploration(case.subproblem, np.ones(n), nodes, proves_nothing, make_shared(upper), log, listing)
    return exploration, case.workspace


def now_of(exploration):
    return Now(exploration.cursor[0], exploration.tally[0], exploration.shared[0])


@pytest.fixture
def exploration():
    return explorer_of(random_problem(0, k=2), upper=0.6, log=make_proof_log(50, 100, 6, 0, 1))[0]


def put(node, status, x, level=1.0):
    node.status[:] = status
    node.x[:] = x
    node.progress[0].level = level
    split(node)


# -- choosing a feature ----------------------------------------------------------------------------------


def test_most_fractional_free_feature_is_chosen(call):
    node = random_case(0).node
    put(node, [FREE, FREE, IN, FREE, OUT, FREE], [0.9, -0.6, 0.5, 0.2, 0.5, 2.0])
    assert call(kernel.choose, node) == (1, 3)


def test_without_a_fractional_one_the_strongest_is_chosen():
    node = random_case(0).node
    put(node, [FREE, FREE, IN, FREE, OUT, FREE], [0.0, 1.0, 0.5, 0.0, 0.5, 2.0])  # at the level counts as decided
    node.best_q[:] = [0.0, 0.5, 9.0, 3.0, 9.0, 0.5]
    assert kernel.choose(node) == (3, 0)
    node.best_q[5] = 1.5
    assert kernel.choose(node) == (5, 0)


def test_without_a_free_feature_none_is_chosen():
    node = random_case(0).node
    put(node, [IN, OUT, IN, OUT, OUT, IN], np.full(6, 0.5))
    assert kernel.choose(node) == (-1, 0)


def test_a_free_feature_can_be_branched_on_whatever_its_numbers():
    node = random_case(0).node
    put(node, [OUT, FREE, IN, FREE, OUT, IN], np.full(6, np.nan))
    node.best_q[:] = np.nan
    assert kernel.choose(node) == (1, 0)


# -- rounding --------------------------------------------------------------------------------------------


def rounded(status, x, k, level=1.0):
    case, refit = random_case(0), random_case(0)
    put(case.node, status, x, level)
    refit.node.status[:], refit.node.x[:] = 7, 7.0
    kernel.round_up(case.node, refit.node, k)
    chosen = refit.node.status == IN
    assert set(refit.node.status) <= {IN, OUT}
    assert np.array_equal(refit.node.x, np.where(chosen, case.node.x, 0.0))
    return np.flatnonzero(chosen).tolist()


def test_rounding_takes_the_largest_free_coefficients():
    free = [FREE] * 6
    x = [0.9, -0.8, 0.4, 0.0, 0.7, -0.6]
    assert rounded(free, x, 6) == [0, 1, 4, 5]  # above half the level
    assert rounded(free, x, 3) == [0, 1, 4]
    assert rounded(free, x, 1) == [0]
    assert rounded(free, [0.8] * 6, 2) == [0, 1]  # ties: the first ones
    assert rounded(free, [0.0] * 6, 2) == []


def test_rounding_keeps_what_is_decided():
    status = [IN, FREE, OUT, FREE, IN, FREE]
    x = [0.0, 0.8, 9.0, 0.9, 0.1, 0.7]
    assert rounded(status, x, 3) == [0, 3, 4]
    assert rounded(status, x, 2) == [0, 4]  # no place is left
    assert rounded(status, x, 6) == [0, 1, 3, 4, 5]


def node_of(status):
    """A node with this status."""
    node = make_node(len(status), 1, np.ones(len(status)))
    node.status[:] = status
    return node


def test_supports_are_new_once(call):
    rng = np.random.default_rng(0)
    tried = np.zeros(1 << 16, np.uint64)
    supports = {tuple(rng.choice([IN, OUT], 20).tolist()) for _ in range(50)}
    for support in supports:
        assert call(kernel.is_new, node_of(support), tried)
    for support in supports:
        assert not call(kernel.is_new, node_of(support), tried)


def test_hash_is_fnv(call):
    status = np.array([OUT, IN, FREE, IN, IN])
    code = 14695981039346656037
    for j in np.flatnonzero(status == IN):
        code = ((code ^ (int(j) + 1)) * 1099511628211) % 2**64
    tried = np.zeros(4096, np.uint64)
    assert call(kernel.is_new, node_of(status), tried)
    assert np.flatnonzero(tried).tolist() == [(code >> 32) % 4096]
    assert int(tried.max()) == code


def test_a_forgotten_support_is_new_again():
    tried = np.zeros(1, np.uint64)
    one, other = node_of([IN, OUT]), node_of([OUT, IN])
    assert [bool(kernel.is_new(node, tried)) for node in (one, one, other, one)] == [True, False, True, True]


def test_models_are_suggested_while_few_are_tried_or_few_features_fractional(exploration):
    now, node = now_of(exploration), exploration.node
    put(node, [FREE] * 6, [0.9, 0.8, 0.7, 0.6, 0.0, 0.0])
    node.progress[0].intercept = 0.5

    def suggested():
        return kernel.suggests_model(exploration.subproblem, node, exploration.refit_node, exploration.models, now)

    assert suggested()
    assert now.cursor.chosen == 3
    A = exploration.subproblem.columns.dense
    assert exploration.refit_node.u == pytest.approx(A.T @ [0.9, 0.8, 0.0, 0.0, 0.0, 0.0] + 0.5)
    assert not suggested()  # it is not new
    exploration.models.tried[:] = 0
    now.tally.refits = 100
    assert not suggested()  # four are fractional, and many have been tried
    now.tally.nodes = 16 * 100
    assert suggested()
    exploration.models.tried[:] = 0
    now.tally.nodes, node.x[3] = 0, 0.0
    assert suggested()  # three are


# -- budgets, decisions and screening --------------------------------------------------------------------


def test_features_are_ruled_out_where_the_budget_is_used_up(call):
    case = random_case(1, k=2)
    set_iterate(case, [1.0, 0.5, 0.0, -1.0, 0.0, 0.0])
    case.node.status[:] = [IN, FREE, OUT, IN, FREE, FREE]
    cursor = explorer_of(case.problem)[0].cursor[0]
    assert call(kernel.fits_budget, case.subproblem, case.node, cursor)
    assert cursor.is_leaf
    assert case.node.status.tolist() == [IN, OUT, OUT, IN, OUT, OUT]
    assert case.node.x.tolist() == [1.0, 0.0, 0.0, -1.0, 0.0, 0.0]
    A = case.subproblem.columns.dense
    assert case.node.u == pytest.approx(A[0] - A[3], abs=1e-12)


@pytest.mark.parametrize(
    ("status", "fits", "is_leaf"),
    [
        ([IN, FREE, OUT, FREE, FREE, FREE], True, False),
        ([IN, OUT, OUT, OUT, OUT, OUT], True, True),  # fewer than the budget, but all decided
        ([IN, IN, IN, FREE, FREE, FREE], False, False),  # screening proved more in than fit
    ],
)
def test_fits_budget(status, fits, is_leaf):
    case = random_case(1, k=2)
    case.node.status[:] = status
    cursor = explorer_of(case.problem)[0].cursor[0]
    assert bool(kernel.fits_budget(case.subproblem, case.node, cursor)) == fits
    assert bool(cursor.is_leaf) == is_leaf
    assert case.node.status.tolist() == status


def test_deciding_a_feature_keeps_the_predictor_right():
    case = random_case(2)
    columns = sparse_columns(case.subproblem.columns.dense.T.copy(), 6, standardised=False)
    subproblem = case.subproblem._replace(columns=columns)
    kernel.make_dense(columns, 1, 0)
    set_iterate(case, [0.0, 2.0, 0.0, 0.0, 0.0, 0.0], 0.5)
    kernel.decide(subproblem, case.node, 4, IN)
    assert columns.slot[4] >= 0  # what is in is held dense
    kernel.decide(subproblem, case.node, 1, OUT)
    kernel.decide(subproblem, case.node, 3, OUT)
    assert case.node.status.tolist() == [FREE, OUT, FREE, OUT, IN, FREE]
    assert not case.node.x.any()
    assert case.node.u == pytest.approx(np.full(30, 0.5), abs=1e-12)
    assert columns.slot[3] == -1


def root_bounds(if_in, if_out):
    chosen = np.flatnonzero(np.array(if_out) > -np.inf)
    return RootBounds(np.array(if_in), np.array(if_out), np.empty(0, np.int64), chosen, np.zeros(6, np.bool_))


def test_the_root_decides_what_it_proves(call, exploration):
    no = -np.inf
    root = root_bounds([0.7, no, no, 0.5, 0.9, no], [no, 0.8, no, no, no, 0.75])
    node, tally = exploration.node, exploration.tally[0]
    put(node, [FREE, FREE, FREE, FREE, OUT, IN], [1.0] * 6)
    assert call(kernel.screen_by_root, node, root, tally, 0.6)
    assert node.status.tolist() == [OUT, IN, FREE, FREE, OUT, IN]
    assert node.x.tolist() == [0.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert root.used.tolist() == [True, True, False, False, False, False]  # the others were decided already
    assert tally.closed_bound == 0.7  # the smallest bound of what was screened away


@pytest.mark.parametrize(("status", "feature"), [(IN, 0), (OUT, 1)])
def test_a_node_against_the_roots_proof_is_empty(exploration, status, feature):
    no = -np.inf
    root = root_bounds([0.7, no, no, no, no, no], [no, 0.8, no, no, no, no])
    exploration.node.status[feature] = status
    assert not kernel.screen_by_root(exploration.node, root, exploration.tally[0], 0.6)
    assert root.used[feature]
    assert kernel.screen_by_root(exploration.node, root, exploration.tally[0], 0.9)  # a proof below the cutoff is none


def test_a_node_is_screened_by_its_own_bound(exploration):
    now, node, log = now_of(exploration), exploration.node, exploration.log
    progress = node.progress[0]
    progress.bound, progress.kth_gain, progress.next_gain = 0.5, 0.3, 0.1
    put(node, [FREE, FREE, FREE, FREE, OUT, IN], np.zeros(6))
    node.best_q[:] = [0.45, 0.3, 0.15, 0.02, 9.0, 9.0]
    now.cursor.cutoff = 0.75
    kernel.log_node(log, -1, 0, node, False)
    kernel.screen_node(exploration.subproblem, node, log, now)
    assert node.status.tolist() == [IN, FREE, FREE, OUT, OUT, IN]  # 0.5 + 0.45 - 0.1 and 0.5 + 0.3 - 0.02 are above it
    assert log.screened[:2].tolist() == [1, -4]
    assert now.tally.closed_bound == pytest.approx(0.78)


# -- branching -------------------------------------------------------------------------------------------


def branched(exploration, x, chosen, bound=0.3, waiting_bound=None):
    """Branch a free node on a feature; returns what waits, by decision."""
    node, nodes, cursor = exploration.node, exploration.open_nodes, exploration.cursor[0]
    while count_waiting(nodes):
        kernel.release(nodes, pop(nodes))
    put(node, [FREE, FREE, FREE, IN, OUT, FREE], x)
    kernel.add_columns(exploration.subproblem.columns, node.x, 0.0, node.u)
    if waiting_bound is not None:
        kernel.save(nodes, node, waiting_bound, -1, 0)
    cursor.chosen, cursor.bound, cursor.parent, cursor.cutoff, cursor.at_hand = chosen, bound, 17, 0.6, False
    kernel.branch(exploration.subproblem, node, nodes, exploration.root, cursor)
    return {int(nodes.decision[slot]): slot for slot in nodes.heap[: count_waiting(nodes)]}


def unpacked(exploration, slot):
    node = make_node(6, 1, np.ones(6))
    unpack(exploration.open_nodes.bits[slot], node)
    return node.status.tolist()


def test_the_likelier_child_is_next_and_the_other_one_waits(exploration):
    waiting = branched(exploration, [0.25, 0.75, 0.0, 0.0, 0.0, 0.0], 1)
    node, cursor, nodes = exploration.node, exploration.cursor[0], exploration.open_nodes
    assert list(waiting) == [-2]
    slot = waiting[-2]
    assert unpacked(exploration, slot) == [FREE, OUT, FREE, IN, OUT, FREE]
    assert nodes.feature[slot, : nodes.length[slot]].tolist() == [0]  # the feature that is out has left its warm start
    assert (nodes.bound[slot], nodes.parent[slot]) == (0.3, 17)
    assert cursor.at_hand
    assert (cursor.decision, cursor.parent) == (2, 17)
    assert node.status.tolist() == [FREE, IN, FREE, IN, OUT, FREE]
    assert node.x[1] == 0.75


def test_small_coefficients_are_likelier_out(exploration):
    waiting = branched(exploration, [0.25, 0.75, 0.0, 0.0, 0.0, 0.0], 0)
    nodes, node = exploration.open_nodes, exploration.node
    slot = waiting[1]
    assert unpacked(exploration, slot) == [IN, FREE, FREE, IN, OUT, FREE]
    assert nodes.feature[slot, : nodes.length[slot]].tolist() == [0, 1]
    assert exploration.cursor[0].decision == -1
    assert node.status.tolist() == [OUT, FREE, FREE, IN, OUT, FREE]
    assert node.u == pytest.approx(0.75 * exploration.subproblem.columns.dense[1], abs=1e-12)


def test_half_of_the_level_is_likelier_in(exploration):
    assert list(branched(exploration, [0.5, 0.75, 0.0, 0.0, 0.0, 0.0], 0)) == [-1]
    assert list(branched(exploration, [0.0, 0.75, 0.0, 0.0, 0.0, 0.0], 0)) == [1]


def test_both_children_wait_where_a_better_node_does(exploration):
    waiting = branched(exploration, [0.25, 0.75, 0.0, 0.0, 0.0, 0.0], 1, bound=0.3, waiting_bound=0.1)
    assert sorted(waiting) == [-2, 0, 2]
    assert not exploration.cursor[0].at_hand
    assert unpacked(exploration, waiting[2]) == [FREE, IN, FREE, IN, OUT, FREE]
    near = branched(exploration, [0.25, 0.75, 0.0, 0.0, 0.0, 0.0], 1, bound=0.14, waiting_bound=0.1)
    assert sorted(near) == [-2, 0]  # within a tenth of the gap
    assert exploration.cursor[0].at_hand


def test_depth_comes_first_when_memory_is_short():
    exploration, _ = explorer_of(random_problem(0, k=2), most=1)
    waiting = branched(exploration, [0.25, 0.75, 0.0, 0.0, 0.0, 0.0], 1, bound=0.3, waiting_bound=0.1)
    assert sorted(waiting) == [-2, 0]
    assert exploration.cursor[0].at_hand


def test_a_feature_that_screening_decided_is_replaced(exploration):
    assert list(branched(exploration, [0.25, 0.75, 0.0, 0.0, 0.0, 0.0], 3)) in (
        [-1],
        [1],
    )  # 3 is in: 0 is as fractional
    node, cursor = exploration.node, exploration.cursor[0]
    node.status[:] = [IN, OUT, OUT, IN, OUT, OUT]
    waiting = count_waiting(exploration.open_nodes)
    cursor.chosen, cursor.at_hand = 1, False
    nodes = exploration.open_nodes
    kernel.branch(exploration.subproblem, node, nodes, exploration.root, cursor)  # nothing is free: its own only child
    assert cursor.at_hand
    assert count_waiting(exploration.open_nodes) == waiting


# -- branching on many features at once, and without a relaxation ----------------------------------------


def with_tallies(exploration, worth, branched=0):
    """The node at hand, as if relaxing two places cost so many sweeps."""
    tally, cursor = exploration.tally[0], exploration.cursor[0]
    tally.pairs_relaxed, tally.pairs_relaxing = SWEEP_TRIALS, SWEEP_TRIALS * 100 * worth
    tally.last_swept, tally.last_sweeping = SWEEP_TRIALS, SWEEP_TRIALS * 100
    put(exploration.node, [FREE, FREE, IN, FREE, FREE, FREE], [0.9, 0.5, 0.7, 0.2, 0.0, 0.0])
    kernel.add_columns(exploration.subproblem.columns, exploration.node.x, 0.0, exploration.node.u)
    cursor.chosen, cursor.bound, cursor.branched, cursor.parent, cursor.places = 1, 0.3, branched, 7, 2
    return exploration


@pytest.mark.parametrize(
    ("worth", "branched", "out"), [(1, 0, []), (2, 0, [1]), (3, 0, [1, 3]), (1, 15, [1, 3]), (4, 15, [1, 3, 0])]
)
def test_relaxations_that_cost_many_sweeps_are_rare(call, worth, branched, out):
    exploration = with_tallies(
        explorer_of(random_problem(0, k=3), log=make_proof_log(50, 100, 6, 0, 1))[0], worth, branched
    )
    node, nodes, log, cursor = exploration.node, exploration.open_nodes, exploration.log, exploration.cursor[0]
    kernel.release(nodes, pop(nodes))
    call(kernel.branch_off, exploration, now_of(exploration))
    assert np.flatnonzero(node.status == OUT).tolist() == sorted(out)
    assert not node.x[out].any()
    A = exploration.subproblem.columns.dense
    assert node.u == pytest.approx(A.T @ node.x, abs=1e-12)
    assert cursor.branched == branched + len(out)
    assert log.counts[0].nodes == len(out)
    parents = [7, *range(len(out))]
    waiting = {int(nodes.decision[slot]): slot for slot in nodes.heap[: count_waiting(nodes)]}
    assert sorted(waiting) == sorted(j + 1 for j in out)
    for i, j in enumerate(out):  # each waits with what went out before it, below the node that went out last
        status = [OUT if other in out[:i] else IN if other in (2, j) else FREE for other in range(6)]
        assert unpacked(exploration, waiting[j + 1]) == status
        assert (nodes.bound[waiting[j + 1]], nodes.parent[waiting[j + 1]]) == (0.3, parents[i])
        assert (log.decision[i], log.parent[i], log.n_entries[i]) == (-j - 1, parents[i], -1)
    assert cursor.parent == parents[len(out)]


def test_branching_off_waits_for_sweeps_and_leaves_room():
    exploration = with_tallies(explorer_of(random_problem(0, k=3))[0], 100)
    exploration.tally[0].last_swept = SWEEP_TRIALS - 1  # nobody knows yet what they cost
    kernel.branch_off(exploration, now_of(exploration))
    assert not (exploration.node.status == OUT).any()
    exploration = with_tallies(explorer_of(random_problem(0, k=3), slots=6)[0], 100)
    kernel.branch_off(exploration, now_of(exploration))
    assert exploration.open_nodes.counts[0].vacant == 3
    exploration = with_tallies(explorer_of(random_problem(0, k=3))[0], 100)
    kernel.branch_off(exploration, now_of(exploration))
    assert np.flatnonzero(exploration.node.status == OUT).tolist() == [0, 1, 3, 4, 5]  # all that there are
    assert not exploration.node.x[[0, 1, 3]].any()


def test_next_to_the_model_nodes_are_branched_without_a_relaxation(call):
    exploration, _ = explorer_of(random_problem(0, k=3), log=make_proof_log(50, 100, 6, 0, 1))
    node, nodes, cursor = exploration.node, exploration.open_nodes, exploration.cursor[0]
    cursor.places = 3
    assert not call(kernel.is_branched_at_once, exploration, cursor)  # the order is that of bounds
    arrange(nodes, Order(1, np.array([0, 2, 4]), 3, 2.0))
    assert call(kernel.is_branched_at_once, exploration, cursor)
    node.status[0] = OUT
    assert call(kernel.is_branched_at_once, exploration, cursor)
    node.status[2] = OUT
    assert not call(kernel.is_branched_at_once, exploration, cursor)  # two are exchanged
    node.status[:5] = [IN, FREE, OUT, FREE, IN]
    cursor.places = 1
    assert not call(kernel.is_branched_at_once, exploration, cursor)  # swept
    node.status[:5] = [IN, FREE, OUT, FREE, FREE]
    cursor.places, cursor.parent, cursor.decision, cursor.bound, cursor.cutoff = 2, 7, -3, 0.3, 0.6
    kernel.release(nodes, pop(nodes))
    assert call(kernel.is_branched_at_once, exploration, cursor)
    kernel.branch_unrelaxed(exploration)
    assert node.status.tolist() == [IN, FREE, OUT, FREE, IN, FREE]
    assert (exploration.tally[0].nodes, exploration.log.n_entries[0], exploration.log.decision[0]) == (1, -1, -3)
    assert (cursor.parent, cursor.decision, cursor.at_hand) == (0, 5, True)


# -- opening, closing and putting back -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("done", "spent", "stop", "expected"),
    [
        (0, 10**9, 1, False),  # every call makes some progress
        (1, 10, 0, False),
        (1, 100, 0, True),
        (1, 10, 1, True),
        (5, 10, 0, True),
    ],
)
def test_when_time_is_up(exploration, done, spent, stop, expected):
    cursor = exploration.cursor[0]
    cursor.done, cursor.spent, cursor.stop = done, spent, stop
    assert bool(kernel.is_time_up(cursor, ORDERS._replace(node_limit=5, allowance=100))) == expected


def test_a_round_begins_with_nothing_done(exploration):
    cursor = exploration.cursor[0]
    cursor.done, cursor.spent, cursor.at_hand = 3, 9, True
    kernel.begin_round(cursor)
    assert (cursor.done, cursor.spent, cursor.at_hand) == (0, 0, False)


def test_put_back_says_why():
    problem = random_problem(0, k=2)
    for slots, logged, outcome in ((4, 50, NODES_FULL), (5, 50, PAUSED), (64, 0, PAUSED), (64, 1, LOG_FULL)):
        exploration, _ = explorer_of(problem, slots=slots, log=make_proof_log(logged, 100 * logged, 6, 0, 1))
        nodes, log, cursor = exploration.open_nodes, exploration.log, exploration.cursor[0]
        if logged == 1:
            kernel.log_node(log, -1, 0, exploration.node, False)
        assert kernel.lacks_room(nodes, log) == (logged == 1)
        cursor.bound, cursor.parent, cursor.decision = 0.25, 3, -2
        assert kernel.put_back(nodes, exploration.node, log, cursor) == outcome
        assert kernel.lacks_room(nodes, log) == (outcome != PAUSED)
        assert count_waiting(nodes) == 2
        slot = next(slot for slot in nodes.heap[:2] if nodes.decision[slot] == -2)
        assert (nodes.bound[slot], nodes.parent[slot]) == (0.25, 3)


def test_opening_the_root(exploration):
    gram = explorer_of(random_problem(0, k=2))[1].gram
    cursor = exploration.cursor[0]
    cursor.cutoff = 0.6
    assert kernel.open_next(exploration, gram, ORDERS) == OPENED
    assert cursor.at_hand
    assert (cursor.bound, cursor.parent, cursor.decision) == (-np.inf, -1, 0)
    assert count_waiting(exploration.open_nodes) == 0
    cursor.at_hand = False
    assert kernel.open_next(exploration, gram, ORDERS) == EXHAUSTED


def test_hopeless_nodes_are_closed_with_their_own_bound(exploration):
    gram = explorer_of(random_problem(0, k=2))[1].gram
    nodes, cursor = exploration.open_nodes, exploration.cursor[0]
    nodes.bound[nodes.heap[0]] = cursor.cutoff = 0.5
    assert kernel.open_next(exploration, gram, ORDERS) == CLOSED
    assert exploration.tally[0].closed_bound == 0.5
    assert (exploration.log.counts[0].nodes, exploration.log.n_entries[0]) == (1, -1)
    assert nodes.counts[0].vacant == nodes.bound.size


def test_nodes_against_the_roots_proof_are_closed_with_the_cutoff(exploration):
    gram = explorer_of(random_problem(0, k=2))[1].gram
    exploration.open_nodes.bits[exploration.open_nodes.heap[0], 0] = 1  # feature 0 is in
    exploration.root.if_in[0] = 0.7
    exploration.cursor[0].cutoff = 0.6
    assert kernel.open_next(exploration, gram, ORDERS) == CLOSED
    assert exploration.tally[0].closed_bound == 0.6
    assert not exploration.cursor[0].at_hand


def test_nothing_is_opened_while_the_log_is_full(exploration):
    log = exploration.log
    while not kernel.is_full(log):
        kernel.log_node(log, -1, 0, exploration.node, False)
    assert kernel.open_next(exploration, explorer_of(random_problem(0, k=2))[1].gram, ORDERS) == LOG_FULL
    assert count_waiting(exploration.open_nodes) == 1


def test_slots_are_recycled_when_only_reserved_ones_are_left():
    case = random_case(3, n=9, k=2)
    columns = sparse_columns(case.subproblem.columns.dense.T.copy(), 8)
    subproblem, gram = case.subproblem._replace(columns=columns), case.workspace.gram
    for j in range(5):
        kernel.make_dense(columns, j, 0)
    gram.size[0], gram.slot_of[2] = 2, 1
    kernel.recycle_slots(subproblem, case.node, gram)
    assert columns.in_use[0] == 5
    assert case.node.hot.all()
    kernel.make_dense(columns, 5, 0)
    kernel.recycle_slots(subproblem, case.node, gram)
    assert columns.in_use[0] == 0
    assert not case.node.hot.any()
    assert gram.size[0] == 0
    assert (gram.slot_of == -1).all()


def settled(exploration, primal, bound, is_leaf=False, parent_bound=0.1, strategy=GRAM):
    now, progress = now_of(exploration), exploration.node.progress[0]
    progress.primal, progress.bound, progress.strategy, progress.work = primal, bound, strategy, 5
    now.cursor.bound, now.cursor.cutoff, now.cursor.is_leaf = parent_bound, 0.6, is_leaf
    now.cursor.parent, now.cursor.decision, now.cursor.at_hand = -1, 3, True
    return bool(kernel.settle(exploration.node, exploration.models, exploration.log, now, ORDERS)), now


def test_a_node_that_survives_is_logged_with_its_point(exploration):
    exploration.node.best_x[2] = 1.0
    closed, now = settled(exploration, 0.5, 0.4, strategy=NEWTON)
    assert not closed
    assert (now.cursor.bound, now.cursor.parent, now.cursor.decision) == (0.4, 0, 0)
    assert now.cursor.at_hand
    assert now.cursor.proves_more
    assert (now.tally.nodes, now.tally.exact_nodes, now.tally.closed_bound) == (1, 1, np.inf)
    assert (exploration.log.decision[0], exploration.log.n_entries[0]) == (3, 1)
    assert now.cursor.spent > 0


def test_a_node_that_is_pruned_is_closed(exploration):
    closed, now = settled(exploration, 0.9, 0.65)
    assert closed
    assert not now.cursor.at_hand
    assert now.tally.closed_bound == 0.65


def test_a_parents_better_bound_is_kept(exploration):
    closed, now = settled(exploration, 0.5, 0.2, parent_bound=0.3)
    assert not closed
    assert now.cursor.bound == 0.3
    assert not now.cursor.proves_more
    assert exploration.log.n_entries[0] == -1  # its point adds nothing to the proof


def test_a_leaf_is_a_model_and_closed(exploration):
    exploration.node.status[:] = [IN, OUT, IN, OUT, OUT, OUT]
    closed, now = settled(exploration, 0.5, 0.4999, is_leaf=True)
    assert closed
    assert 0.5 < exploration.models.objective[0] < 0.5 * (1.0 + 1e-12)  # rounded up
    assert now.shared.upper == exploration.models.objective[0]
    assert exploration.models.support.tolist() == [True, False, True, False, False, False]
    assert now.tally.closed_bound == 0.4999


def test_a_refit_may_close_the_node_at_hand(exploration):
    now = now_of(exploration)
    now.cursor.bound, now.cursor.cutoff, now.cursor.at_hand = 0.5, 0.6, True
    exploration.refit_node.status[:] = OUT
    exploration.refit_node.progress[0].primal = 0.7
    assert not kernel.take_refit(exploration.refit_node, exploration.models, now, ORDERS)  # worse than the model known
    exploration.refit_node.progress[0].primal = 0.55
    assert not kernel.take_refit(exploration.refit_node, exploration.models, now, ORDERS)
    assert now.cursor.cutoff == pytest.approx(0.55)
    assert now.cursor.at_hand
    exploration.refit_node.progress[0].primal = 0.5
    gap = ORDERS._replace(goal=Goal(BEST_MODEL, 0.01))
    assert kernel.take_refit(exploration.refit_node, exploration.models, now, gap)
    assert not now.cursor.at_hand
    assert now.tally.closed_bound == 0.5
    assert now.tally.refits == 3


def test_starts_and_targets(exploration):
    now, node = now_of(exploration), exploration.node
    node.progress[0].level, node.progress[0].intercept, node.progress[0].strategy = 0.3, 0.2, GRAM
    assert kernel.node_start(node, now.tally) == (0.3, 0.2, GRAM)
    now.tally.nodes, now.tally.exact_nodes = 129, 80
    assert kernel.node_start(node, now.tally) == (0.3, 0.2, NEWTON)
    now.tally.nodes = 128
    assert kernel.node_start(node, now.tally).strategy == GRAM  # a try now and then
    now.cursor.cutoff, now.cursor.is_leaf = 0.6, False
    orders = ORDERS._replace(goal=Goal(BEST_MODEL, 1e-2))
    assert kernel.node_target(now, orders) == pytest.approx((0.6, 5e-4, NODE_PATIENCE))
    now.cursor.places, now.tally.pairs_relaxed, now.tally.last_swept = 2, SWEEP_TRIALS, SWEEP_TRIALS
    now.tally.pairs_relaxing, now.tally.last_sweeping = 100, 10
    assert kernel.node_target(now, orders).patience == NODE_PATIENCE
    now.tally.pairs_relaxing = 1000  # what such a node does not close costs many sweeps
    assert kernel.node_target(now, orders).patience == PAIR_PATIENCE
    now.cursor.is_leaf = True
    assert kernel.node_target(now, orders).patience == 0.0
    subproblem = exploration.subproblem._replace(gamma=4.0, mu=0.25)
    assert kernel.refit_start(subproblem, node) == (1.0, 0.2, GRAM)
    node.progress[0].strategy = 2
    assert kernel.refit_start(subproblem, node) == (1.0, 0.2, NEWTON)
    assert kernel.refit_target().cutoff == np.inf


# -- whole explorations ----------------------------------------------------------------------------------

PROBLEMS = {
    "budget": {"k": 3, "gamma": 50.0},
    "price": {"mu": 0.004, "gamma": 20.0},
    "price and budget": {"mu": 0.002, "k": 3, "gamma": 20.0},
    "intercept": {"k": 2, "gamma": 20.0, "fit_intercept": True, "weighted": True},
    "decided": {"k": 4, "gamma": 50.0, "include": (5,), "exclude": (0,)},
}


@pytest.mark.parametrize("screen_nodes", [False, True])
@pytest.mark.parametrize("name", PROBLEMS)
def test_exploration_against_brute_force(name, screen_nodes):
    for seed in range(3):
        problem = random_problem(seed, n=8, **PROBLEMS[name])
        truth = brute_force(problem)
        exploration, workspace = explorer_of(problem)
        orders = ORDERS._replace(screen_nodes=screen_nodes, goal=Goal(BEST_MODEL, 1e-9))
        assert kernels.explore(exploration, workspace, orders) == EXHAUSTED
        assert exploration.models.objective[0] == exploration.shared["upper"][0] == pytest.approx(truth.value, rel=1e-8)
        assert exploration.tally[0].closed_bound <= truth.value
        assert exploration.tally[0].closed_bound == pytest.approx(truth.value, rel=1e-8)
        support = tuple(np.flatnonzero(exploration.models.support).tolist())
        assert support in truth.ties(1e-8)
        fit = fit_support(
            problem.design.columns(support), problem.y, problem.weights, problem.gamma, problem.fit_intercept
        )
        assert exploration.models.objective[0] >= fit.value + problem.mu * len(support)


def test_an_exploration_in_pieces_is_the_same():
    """It stops after so many nodes, while slots or the log are full, and goes on where it was."""
    problem = random_problem(7, m=60, n=14, k=5, gamma=1000.0)
    whole, workspace = explorer_of(problem, slots=1024)
    orders = ORDERS._replace(goal=Goal(BEST_MODEL, 1e-6))
    assert kernels.explore(whole, workspace, orders) == EXHAUSTED
    assert whole.tally[0].nodes > 20

    pieces, workspace = explorer_of(problem, slots=4, log=make_proof_log(5, 1000, 14, 0, 1))
    numbers, outcomes = [], set()
    while True:
        outcome = kernels.explore(pieces, workspace, orders._replace(node_limit=7))
        outcomes.add(outcome)
        numbers += pieces.log.number[: pieces.log.counts[0].nodes].tolist()
        empty_log(pieces.log)
        if outcome == EXHAUSTED:
            break
        if outcome == NODES_FULL:
            pieces = pieces._replace(open_nodes=enlarged(pieces.open_nodes))
    assert outcomes >= {EXHAUSTED, NODES_FULL, LOG_FULL}
    assert numbers == list(range(len(numbers)))  # every node once
    assert pieces.models.objective[0] == pytest.approx(whole.models.objective[0], rel=1e-9)
    assert pieces.tally[0].closed_bound == pytest.approx(whole.tally[0].closed_bound, rel=1e-5)


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_node_limits_are_kept(limit):
    exploration, workspace = explorer_of(random_problem(7, m=60, n=14, k=5, gamma=1000.0), slots=1024)
    assert kernels.explore(exploration, workspace, ORDERS._replace(node_limit=limit)) == PAUSED
    assert exploration.cursor[0].done == limit
    assert exploration.tally[0].nodes <= limit
    assert count_waiting(exploration.open_nodes) >= 1


def test_allowances_and_calls_from_others_pause():
    exploration, workspace = explorer_of(random_problem(7, m=60, n=14, k=5, gamma=1000.0), slots=1024)
    assert kernels.explore(exploration, workspace, ORDERS._replace(allowance=1)) == PAUSED
    assert exploration.tally[0].nodes == 1
    exploration.cursor["stop"] = 1
    assert kernels.explore(exploration, workspace, ORDERS) == PAUSED
    assert exploration.tally[0].nodes == 2


def test_nothing_to_explore():
    exploration, workspace = explorer_of(random_problem(0, k=2))
    pop(exploration.open_nodes)
    assert kernels.explore(exploration, workspace, ORDERS) == EXHAUSTED
    assert exploration.tally[0].nodes == 0


def test_interpreted_exploration_is_the_compiled_one():
    problem = random_problem(3, n=8, k=3, gamma=50.0)
    compiled, workspace = explorer_of(problem)
    kernels.explore(compiled, workspace, ORDERS)
    interpreted, workspace = explorer_of(problem)
    run = getattr(kernel.run, "py_func", kernel.run)
    run(kernel.EXPLORE, interpreted, workspace, kernels._START, kernels._TARGET, ORDERS)
    assert interpreted.tally[0].nodes == compiled.tally[0].nodes
    assert interpreted.models.objective[0] == pytest.approx(compiled.models.objective[0], rel=1e-12)
    assert np.array_equal(interpreted.models.support, compiled.models.support)


SOLVE = """
import json, sys
import numpy as np
import safescreen as ss
rng = np.random.default_rng(0)
X = rng.standard_normal((40, 12))
y = X[:, 0] + rng.logistic(size=40) > 0
found = ss.solve(ss.Problem(X, y, k=4, gamma=100.0), n_threads=1)
json.dump([found.objective, found.lower_bound, found.nodes, found.support.tolist()], sys.stdout)
"""


@pytest.mark.slow
def test_without_compilation_a_solve_is_the_same():
    found = []
    for disabled in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disabled, "PYTHONWARNINGS": "ignore::RuntimeWarning"}
        done = subprocess.run(
            [sys.executable, "-c", SOLVE], env=environment, capture_output=True, text=True, check=True
        )
        found.append(json.loads(done.stdout))
    (objective, bound, nodes, support), (other_objective, other_bound, other_nodes, other_support) = found
    assert other_objective == pytest.approx(objective, rel=1e-12)
    assert other_bound == pytest.approx(bound, rel=1e-9)
    assert (other_nodes, other_support) == (nodes, support)
    assert nodes > 10
