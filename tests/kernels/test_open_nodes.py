"""Open nodes: a heap in the order of bounds, two bits per feature, and no node lost when they move."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_cases import random_case, sparse_columns

from safescreen.kernels import open_nodes as kernel
from safescreen.kernels.node import listed, make_node
from safescreen.kernels.open_nodes import (
    PER_NODE,
    count_waiting,
    enlarged,
    joined,
    make_open_nodes,
    smallest_bound,
    split_off,
    taken_out,
)
from safescreen.kernels.subproblem import FREE, IN, OUT

bounds = st.lists(st.integers(-3, 3).map(float) | st.floats(-1e9, 1e9), max_size=40)


def put(nodes, bound):
    """Store a bound in the next free slot, and push it."""
    nodes.counts[0].vacant -= 1
    slot = nodes.vacant[nodes.counts[0].vacant]
    nodes.bound[slot] = nodes.key[slot] = bound
    kernel.push(nodes, slot)


def take(nodes):
    """Pop a slot and give it back; returns its bound."""
    slot = kernel.pop(nodes)
    kernel.release(nodes, slot)
    return float(nodes.bound[slot])


# -- the heap --------------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(bounds)
def test_best_bound_first(values):
    nodes = make_open_nodes(40, 3, 2, 100)
    for value in values:
        put(nodes, value)
        assert smallest_bound(nodes) == min(values[: count_waiting(nodes)])
    assert [take(nodes) for _ in values] == sorted(values)
    assert count_waiting(nodes) == 0
    assert smallest_bound(nodes) == np.inf
    assert sorted(nodes.vacant) == list(range(40))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 9) | st.none(), max_size=80))
def test_pushes_and_pops_in_any_order(steps):
    nodes, model = make_open_nodes(80, 3, 2, 100), []
    for step in steps:
        if step is not None:
            put(nodes, step)
            model.append(step)
        elif model:
            model.remove(min(model))
            take(nodes)
        assert count_waiting(nodes) == len(model)
        assert smallest_bound(nodes) == min(model, default=np.inf)
    assert [take(nodes) for _ in model.copy()] == sorted(model)


def test_compiled_heap(call):
    nodes = make_open_nodes(50, 3, 2, 100)
    values = np.random.default_rng(0).integers(0, 20, 50).astype(float)
    nodes.bound[:] = nodes.key[:] = values
    for slot in range(50):
        call(kernel.push, nodes, slot)
    assert [nodes.bound[call(kernel.pop, nodes)] for _ in range(50)] == sorted(values)


@settings(max_examples=100, deadline=None)
@given(bounds, st.integers(0, 5))
def test_beyond_most_nodes_the_last_one_is_taken(values, most):
    """Which keeps the heap a heap; below that, the best one is taken again."""
    nodes = make_open_nodes(40, 3, 2, most)
    for value in values:
        put(nodes, value)
    left = list(values)
    while left:
        last = float(nodes.bound[nodes.heap[len(left) - 1]])
        taken = take(nodes)
        assert taken == (last if len(left) - 1 > most else min(left))
        left.remove(taken)
        assert smallest_bound(nodes) == min(left, default=np.inf)


# -- nodes in and out ------------------------------------------------------------------------------------


@pytest.mark.parametrize("features", range(1, 18))
def test_bits_round_trip(features):
    rng = np.random.default_rng(features)
    bits = np.full((features + 3) // 4, 255, np.uint8)
    for _ in range(5):
        node, found = (make_node(features, 4, np.ones(features)) for _ in range(2))
        node.status[:] = rng.choice([FREE, IN, OUT], features)
        kernel.pack(node, bits)
        found.status[:], found.x[:] = 9, 9.0
        for _again in range(2):  # what was listed before is forgotten
            kernel.unpack(bits, found)
            assert np.array_equal(found.status, node.status)
            assert np.array_equal(listed(found), np.flatnonzero(node.status != OUT))
            assert not found.x.any()
        used = 2 * (features % 4 or 4)
        assert bits[-1] < 1 << used  # nothing is written beyond the last feature


def test_compiled_bits(call):
    status = np.random.default_rng(0).choice([FREE, IN, OUT], 23).astype(np.int8)
    bits = np.full(6, 255, np.uint8)
    node, found = (make_node(23, 4, np.ones(23)) for _ in range(2))
    node.status[:] = status
    call(kernel.pack, node, bits)
    call(kernel.unpack, bits, found)
    assert np.array_equal(found.status, status)
    assert bits[0] == sum({FREE: 0, IN: 1, OUT: 2}[int(s)] << (2 * i) for i, s in enumerate(status[:4]))


def filled_node(case, x, status, level=0.4, intercept=-0.3):
    case.node.x[:] = x
    case.node.status[:] = status
    case.progress.level, case.progress.intercept = level, intercept
    return case.node


X = np.array([0.0, 0.5, 0.0, -1.25, 2.0, 0.0])  # exact in single precision
STATUS = np.array([FREE, IN, OUT, FREE, FREE, OUT], np.int8)


def test_node_round_trip(call):
    case = random_case(0)
    nodes = make_open_nodes(4, 6, 6, 4)
    node = filled_node(case, X, STATUS)
    call(kernel.save, nodes, node, 0.75, 12, -4)
    assert (count_waiting(nodes), nodes.counts[0].vacant) == (1, 3)
    slot = nodes.heap[0]
    assert (nodes.parent[slot], nodes.decision[slot], nodes.length[slot]) == (12, -4, 3)
    node = filled_node(case, np.full(6, 9.0), np.zeros(6), 0.0, 0.0)
    assert call(kernel.pop, nodes) == slot
    assert call(kernel.load, case.subproblem, nodes, node, slot, False) == 0.75
    assert np.array_equal(node.x, X)
    assert np.array_equal(node.status, STATUS)
    assert (case.progress.level, case.progress.intercept) == (0.4, -0.3)
    assert nodes.counts[0].vacant == 4


def test_the_root_is_stored_like_any_node():
    case = random_case(0)
    saved, added = make_open_nodes(4, 6, 6, 4), make_open_nodes(4, 6, 6, 4)
    kernel.save(saved, filled_node(case, X, STATUS), 0.75, -1, 0)
    kernel.add_root(added, STATUS, X, (0.75, 0.4, -0.3))
    slot = saved.heap[0]
    assert added.heap[0] == slot
    assert np.array_equal(added.counts, saved.counts)
    for name in PER_NODE:
        one, other = getattr(added, name)[slot], getattr(saved, name)[slot]
        length = saved.length[slot] if name in ("feature", "value") else None
        assert np.array_equal(np.atleast_1d(one)[:length], np.atleast_1d(other)[:length]), name


@pytest.mark.parametrize("store", ["save", "add_root"])
def test_warm_starts_are_cut_to_the_width(store):
    case, nodes = random_case(0), make_open_nodes(4, 6, 2, 4)
    node = filled_node(case, X, STATUS)
    if store == "save":
        kernel.save(nodes, node, 0.75, -1, 0)
    else:
        kernel.add_root(nodes, STATUS, X, (0.75, 0.4, -0.3))
    kernel.load(case.subproblem, nodes, node, kernel.pop(nodes), False)
    assert node.x.tolist() == [0.0, 0.5, 0.0, -1.25, 0.0, 0.0]


def test_of_a_node_to_be_swept_only_what_is_in_has_coefficients():
    case, nodes = random_case(0), make_open_nodes(4, 6, 6, 4)
    node = filled_node(case, X, STATUS)
    kernel.save(nodes, node, 0.75, -1, 0)
    slot = kernel.pop(nodes)
    assert nodes.inside[slot] == np.count_nonzero(STATUS == IN)
    kernel.load(case.subproblem, nodes, node, slot, True)
    assert node.x.tolist() == np.where(STATUS == IN, X, 0.0).tolist()
    assert node.status.tolist() == STATUS.tolist()


def test_coefficients_of_features_out_or_without_a_slot_are_dropped():
    case = random_case(0, k=1)
    columns = sparse_columns(np.random.default_rng(0).standard_normal((30, 6)), 3)
    subproblem, nodes = case.subproblem._replace(columns=columns), make_open_nodes(4, 6, 6, 4)
    status = STATUS.copy()
    status[3] = OUT
    node = filled_node(case, np.where(status == OUT, 3.0, X + 1.0), status)
    kernel.save(nodes, node, 0.75, -1, 0)
    kernel.load(subproblem, nodes, node, kernel.pop(nodes), False)
    assert node.x.tolist() == [1.0, 1.5, 0.0, 0.0, 0.0, 0.0]  # 0 and 1 took the two slots that are not reserved


# -- sets of open nodes ----------------------------------------------------------------------------------


def random_nodes(seed, count, slots, features=6):
    """Open nodes with everything random, and some that were there before."""
    rng = np.random.default_rng(seed)
    nodes, node = make_open_nodes(slots, features, 3, 77), make_node(features, 4, np.ones(features))
    for number in range(slots):
        node.status[:] = rng.choice([FREE, IN, OUT], features)
        node.x[:] = np.float32(rng.standard_normal(features)) * (rng.random(features) < 0.4)
        node.progress[0].level, node.progress[0].intercept = rng.standard_normal(2)
        kernel.save(nodes, node, rng.standard_normal(), number, int(rng.integers(-features, features)))
    while count_waiting(nodes) > count:
        kernel.release(nodes, nodes.heap[count_waiting(nodes) - 1])
        nodes.counts[0].waiting -= 1
    return nodes


def contents(nodes):
    """Everything about every open node, in an order that does not depend on slots."""
    found = []
    for slot in nodes.heap[: count_waiting(nodes)]:
        length = nodes.length[slot]
        lists = nodes.bits[slot], nodes.feature[slot, :length], nodes.value[slot, :length]
        numbers = [float(getattr(nodes, name)[slot]) for name in ("bound", "level", "intercept", "parent", "decision")]
        found.append((*numbers, *(tuple(array.tolist()) for array in lists)))
    return sorted(found)


def check_consistent(nodes):
    """Every slot is either vacant or on the heap, and the heap is one."""
    waiting, vacant = count_waiting(nodes), int(nodes.counts[0].vacant)
    slots = [*nodes.heap[:waiting], *nodes.vacant[:vacant]]
    assert sorted(slots) == list(range(nodes.bound.size))
    for i in range(1, waiting):
        assert nodes.bound[nodes.heap[(i - 1) // 2]] <= nodes.bound[nodes.heap[i]]


@pytest.mark.parametrize(("count", "slots"), [(0, 3), (1, 1), (5, 8), (8, 8)])
def test_enlarged_keeps_all_nodes(count, slots):
    nodes = random_nodes(1, count, slots)
    larger = enlarged(nodes)
    assert larger.bound.size == 2 * slots
    assert larger.counts[0].most == 77
    assert larger.bits.shape[1] == nodes.bits.shape[1]
    assert contents(larger) == contents(nodes)
    check_consistent(larger)
    assert larger.vacant[larger.counts[0].vacant - 1] in range(2 * slots)


@pytest.mark.parametrize(("count", "slots"), [(1, 4), (2, 4), (9, 9), (20, 32)])
@pytest.mark.parametrize("idle_slots", [1, 64])
def test_split_off_loses_nothing_and_shares_fairly(count, slots, idle_slots):
    nodes = random_nodes(2, count, slots)
    before = contents(nodes)
    given_away = split_off(nodes, make_open_nodes(idle_slots, 6, 3, 77))
    assert sorted(contents(nodes) + contents(given_away)) == before
    assert contents(nodes) == before[0::2]  # in the order of the bounds, in turn
    assert contents(given_away) == before[1::2]
    check_consistent(nodes)
    check_consistent(given_away)
    assert given_away.counts[0].vacant >= 2
    assert [take(nodes) for _ in before[0::2]] == [node[0] for node in before[0::2]]
    assert [take(given_away) for _ in before[1::2]] == [node[0] for node in before[1::2]]


@pytest.mark.parametrize(("every", "most"), [(2, 3), (3, None), (4, 2), (20, 9)])
def test_split_off_gives_as_much_as_it_is_asked_for(every, most):
    nodes = random_nodes(3, 17, 32)
    before = contents(nodes)
    given_away = split_off(nodes, make_open_nodes(4, 6, 3, 77), every, most)
    assert contents(given_away) == before[1::every][:most]
    assert sorted(contents(nodes) + contents(given_away)) == before
    check_consistent(nodes)
    check_consistent(given_away)


@pytest.mark.parametrize("count", [0, 1, 2, 17])
def test_what_is_taken_out_can_be_joined_again(count):
    nodes = random_nodes(4, count, 32)
    before = contents(nodes)
    package = taken_out(nodes, 4)
    assert contents(package) == before[1::2][:4]
    check_consistent(nodes)
    check_consistent(package)
    whole = joined(nodes, package)
    assert contents(whole) == before
    check_consistent(whole)
    assert count_waiting(package) == 0


@pytest.mark.parametrize("slots", [3, 4, 64])
def test_joined_makes_room(slots):
    nodes, others = random_nodes(5, 3, slots), random_nodes(6, 9, 16)
    expected = sorted(contents(nodes) + contents(others))
    whole = joined(nodes, others)
    assert contents(whole) == expected
    check_consistent(whole)
    assert whole.counts[0].vacant >= 2
