"""The log of a proof: numbers, points and decisions of nodes, and when it must be handed over."""

from __future__ import annotations

import numpy as np
import pytest

from safescreen.kernels import proof_log as kernel
from safescreen.kernels.node import make_node
from safescreen.kernels.proof_log import empty_log, make_proof_log


@pytest.fixture
def node():
    node = make_node(4, 3, np.ones(4))
    node.best_x[:] = [0.0, 1.5, 0.0, -2.0]
    node.best_b[0] = 0.25
    node.x[:] = 99.0  # the current iterate is not what a bound belongs to
    return node


def counts(log):
    return tuple(int(log.counts[name][0]) for name in ("nodes", "screened", "entries", "next_number"))


def test_nodes_are_numbered_by_their_worker(call, node):
    log = make_proof_log(10, 40, 4, 2, 3)
    assert [call(kernel.log_node, log, parent, 0, node, False) for parent in (-1, 2, 5)] == [2, 5, 8]
    assert log.number[:3].tolist() == [2, 5, 8]
    assert log.parent[:3].tolist() == [-1, 2, 5]
    assert counts(log) == (3, 0, 0, 11)


def test_points_are_stored_where_they_prove_something(call, node):
    log = make_proof_log(10, 40, 4, 0, 1)
    call(kernel.log_node, log, -1, 0, node, True)
    call(kernel.log_node, log, 0, -3, node, False)
    node.best_x[0], node.best_b[0] = 7.0, -1.0
    call(kernel.log_node, log, 0, 3, node, True)
    assert log.decision[:3].tolist() == [0, -3, 3]
    assert log.n_entries[:3].tolist() == [2, -1, 3]
    assert log.intercept[:3].tolist() == [0.25, 0.0, -1.0]
    assert log.feature[:5].tolist() == [1, 3, 0, 1, 3]
    assert log.value[:5].tolist() == [1.5, -2.0, 7.0, 1.5, -2.0]
    assert counts(log) == (3, 0, 5, 3)


def test_screening_decisions_belong_to_the_latest_node(node):
    log = make_proof_log(10, 40, 4, 0, 1)
    kernel.log_node(log, -1, 0, node, True)
    kernel.log_decision(log, 2)
    kernel.log_decision(log, -4)
    kernel.log_node(log, 0, 1, node, True)
    kernel.log_decision(log, 3)
    assert log.n_screened[:2].tolist() == [2, 1]
    assert log.screened[:3].tolist() == [2, -4, 3]
    assert counts(log) == (2, 3, 4, 2)


def test_no_log_is_kept_where_no_proof_is_wanted(call, node):
    log = make_proof_log(0, 0, 4, 0, 1)
    assert call(kernel.log_node, log, 17, 3, node, True) == 17
    call(kernel.log_decision, log, 2)
    assert not call(kernel.is_full, log)
    assert counts(log) == (0, 0, 0, 0)


def test_full_of_nodes(node):
    """One more node may be logged twice, with another point."""
    log = make_proof_log(4, 1000, 4, 0, 1)
    for _ in range(3):
        assert not kernel.is_full(log)
        kernel.log_node(log, -1, 0, node, False)
    assert kernel.is_full(log)


@pytest.mark.parametrize("what", ["entries", "decisions"])
def test_full_where_one_more_node_might_not_fit(node, what):
    """A node may need as many entries, and as many decisions, as there are features; another point as many again."""
    log = make_proof_log(100, 13, 4, 0, 1)
    stored = 0
    while not kernel.is_full(log):
        assert stored <= 13 - 2 * 4
        kernel.log_node(log, -1, 0, node, what == "entries")
        for _ in range(2 if what == "decisions" else 0):
            kernel.log_decision(log, 1)
        stored += 2
    assert stored == 6


def test_numbers_go_on_after_the_log_was_handed_over(node):
    log = make_proof_log(2, 40, 4, 1, 2)
    for _ in range(2):
        kernel.log_node(log, -1, 0, node, True)
        kernel.log_decision(log, 1)
    assert kernel.is_full(log)
    empty_log(log)
    assert counts(log) == (0, 0, 0, 5)
    assert not kernel.is_full(log)
    assert kernel.log_node(log, 3, 0, node, True) == 5
