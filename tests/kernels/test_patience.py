"""Compiled code that is called back when time is up, or when Ctrl-C raises."""

from __future__ import annotations

import threading
from time import sleep

import numpy as np
import pytest
from numba import config

from safescreen import kernels
from safescreen.design.columns import Columns
from safescreen.expiry import expiring
from safescreen.kernels import GRAM, LOGISTIC, Start, Subproblem, Target, patience
from safescreen.kernels.node import make_node
from safescreen.kernels.node_relaxation import make_workspace


@pytest.fixture
def node():
    return make_node(2, 3, np.ones(2))


def until_halted(node):
    """What stands for compiled code: it goes on until it is told to halt."""

    def function():
        for _ in range(6000):
            if node.progress["halted"][0]:
                return 7
            sleep(0.005)
        raise AssertionError("was never told to halt")

    return function


def test_a_call_is_halted_when_time_is_up(node):
    with expiring(lambda: True):
        assert patience.call(until_halted(node), node) == 7


def test_a_call_begins_afresh(node):
    patience.halt([node])
    assert patience.call(lambda: int(node.progress["halted"][0]), node) == 0


def test_what_is_raised_while_waiting_halts_first(node):
    def press():
        raise KeyboardInterrupt

    with expiring(press), pytest.raises(KeyboardInterrupt):
        patience.call(until_halted(node), node)
    assert node.progress["halted"][0]
    assert threading.active_count() < 50


def relaxation_of(rows, k):
    """One over these columns, at a weak ridge."""
    rng = np.random.default_rng(0)
    features, samples = rows.shape
    y = np.where(rng.random(samples) < 0.5, 1.0, -1.0)
    weights = np.full(samples, 1.0 / samples)
    columns = Columns.all_dense(rows, np.full(features, 1e-12))
    subproblem = Subproblem(columns, y, weights, gamma=1e4, mu=0.0, k=k, intercept=True, loss=LOGISTIC)
    return subproblem, make_node(features, samples, np.ones(features)), make_workspace(features, weights, features)


compiled_only = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="takes minutes where nothing is compiled")


@compiled_only
def test_a_relaxation_that_is_halted_has_a_valid_bound():
    kernels.warm_up()
    rows = np.random.default_rng(0).standard_normal((300, 2_000))  # exact Hessians take long
    subproblem, node, workspace = relaxation_of(rows, 100)
    assert patience.is_long(*rows.shape)
    assert not patience.is_long(10, 1_000)
    target = Target(np.inf, 1e-13, 0.0)
    with expiring(lambda: True):
        relaxed = kernels.relax(subproblem, node, workspace, Start(1.0, 0.0, GRAM), target)
    assert node.progress["halted"][0]
    assert relaxed.bound.value <= relaxed.primal  # and both may be infinite
    halted_work = int(node.progress["work"][0])
    whole = kernels.relax(subproblem, node, workspace, Start(1.0, 0.0, GRAM), target)
    assert not node.progress["halted"][0]
    assert int(node.progress["work"][0]) > halted_work
    assert relaxed.bound.value <= whole.primal


def test_a_short_relaxation_is_not_halted_because_a_long_one_was():
    kernels.warm_up()
    subproblem, node, workspace = relaxation_of(np.random.default_rng(0).standard_normal((4, 20)), 2)
    start, target = Start(1.0, 0.0, GRAM), Target(np.inf, 1e-9, 0.0)
    whole = kernels.relax(subproblem, node, workspace, start, target)
    node.x[:] = 0.0
    node.u[:] = 0.0
    patience.halt([node])
    assert kernels.relax(subproblem, node, workspace, start, target) == whole


@compiled_only
def test_a_relaxation_of_few_samples_is_halted_in_its_model():
    """Hundreds of columns of very different scales: one model takes long, whatever the samples."""
    kernels.warm_up()
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((440, 100)) * 10.0 ** rng.uniform(-4.0, 4.0, (440, 1))
    subproblem, node, workspace = relaxation_of(rows, 220)
    with expiring(lambda: True):
        relaxed = kernels.relax(subproblem, node, workspace, Start(1.0, 0.0, GRAM), Target(np.inf, 1e-13, 0.0))
    assert node.progress["halted"][0]
    assert relaxed.bound.value <= relaxed.primal
