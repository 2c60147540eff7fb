"""The supports that a dual point leaves, against all subsets."""

from __future__ import annotations

from itertools import combinations
from math import fsum

import numpy as np
import pytest
from calling import interpreted
from kernel_cases import random_case

from safescreen.kernels.candidates import TOO_MANY, Room, find_candidates, make_candidates, sort_by_gain, walk
from safescreen.kernels.subproblem import FREE, IN, OUT
from safescreen.tuning import CANDIDATES_AT_ONCE

# by design, and silent where compiled: what is no number excludes nothing
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered in scalar (add|subtract):RuntimeWarning")

BOUND = 0.3


def node_with(gains, kappa, status=None, bound=BOUND, mu=0.05):
    """A node whose dual point gives each feature such a gain."""
    gains = np.asarray(gains, dtype=float)
    case = random_case(0, m=5, n=gains.size, mu=mu)
    node, progress = case.node, case.progress
    node.status[:] = FREE if status is None else status
    node.best_q[:] = gains + mu
    free = np.sort(np.maximum(gains[node.status == FREE], 0.0))[::-1]
    progress.kappa, progress.bound = kappa, bound
    progress.kth_gain = free[kappa - 1] if 0 < kappa <= free.size else 0.0
    progress.next_gain = free[kappa] if kappa < free.size else 0.0
    return case


def supports_of(candidates, found):
    """The supports as sorted tuples of features."""
    ends = np.cumsum(candidates.size[:found])
    parts = np.split(candidates.place[: ends[-1]], ends[:-1]) if found else []
    return [tuple(sorted(candidates.feature[part].tolist())) for part in parts]


def found_in(call, case, cutoff):
    candidates = make_candidates(case.node.status.size)
    count = call(find_candidates, case.subproblem, case.node, candidates, cutoff)
    assert count >= 0
    found = supports_of(candidates, count)
    assert len(set(found)) == count
    return set(found)


def bounds_of(case):
    """What the dual point proves of each support, by the definition."""
    free = np.flatnonzero(case.node.status == FREE).tolist()
    gain = {j: float(case.node.best_q[j] - case.subproblem.mu) for j in free}
    kappa = int(case.progress.kappa)
    best = fsum(sorted((max(g, 0.0) for g in gain.values()), reverse=True)[:kappa])
    subsets = [s for size in range(min(kappa, len(free)) + 1) for s in combinations(free, size)]
    return {s: float(case.progress.bound) + best - fsum(gain[j] for j in s) for s in subsets}


def check(call, case, cutoff):
    found, bounds = found_in(call, case, cutoff), bounds_of(case)
    missing = [s for s, bound in bounds.items() if bound <= cutoff and s not in found]
    assert not missing
    assert not [s for s in found if s not in bounds or bounds[s] > cutoff + 1e-12]
    return found


@pytest.mark.parametrize("kappa", [0, 1, 2, 7])
@pytest.mark.parametrize("shortfall", [0.0, 0.02, 0.1])
def test_candidates_are_all_subsets_that_are_left(call, kappa, shortfall):
    rng = np.random.default_rng([kappa, round(100 * shortfall)])
    for _ in range(10):
        gains = rng.normal(0.0, 0.05, 7)
        status = rng.choice([FREE, FREE, FREE, IN, OUT], 7)
        case = node_with(gains, kappa, status)
        assert check(call, case, BOUND + shortfall)


def test_many_random_nodes():
    rng = np.random.default_rng(1)
    for _ in range(200):
        n = int(rng.integers(1, 8))
        gains = rng.choice([0.0, 0.01, 0.02, -0.01, 0.05], n) if rng.random() < 0.5 else rng.normal(0.0, 0.05, n)
        check(interpreted, node_with(gains, int(rng.integers(0, n + 1))), BOUND + rng.choice([0.0, 0.01, 0.03, 0.2]))


def test_ties_are_all_left(call):
    assert check(call, node_with([0.1] * 5, 2), BOUND) == set(combinations(range(5), 2))


def test_worthless_features_are_left_out_unless_there_is_room(call):
    case = node_with([0.1, -0.02, -0.05], 3)
    assert check(call, case, BOUND + 0.01) == {(0,)}
    assert check(call, case, BOUND + 0.03) == {(0,), (0, 1)}


def test_without_a_place_only_what_is_decided_is_left(call):
    assert check(call, node_with([0.1, 0.2], 0, [FREE, FREE]), BOUND) == {()}
    assert check(call, node_with([0.1, 0.2], 0, [IN, OUT]), BOUND) == {()}


def test_a_node_above_the_cutoff_leaves_nothing(call):
    assert check(call, node_with([0.1, 0.2], 1), BOUND - 0.01) == set()


def everything(n, kappa):
    return {s for size in range(kappa + 1) for s in combinations(range(n), size)}


@pytest.mark.parametrize("kappa", [1, 2, 4])
@pytest.mark.parametrize("gains", [[np.inf, 0.1, -0.1, 0.0], [np.inf] * 4, [-np.inf, np.inf, 0.1, 0.2]])
def test_infinite_gains_exclude_nothing(call, gains, kappa):
    """They belong to a bound that is minus infinity."""
    assert found_in(call, node_with(gains, kappa, bound=-np.inf), 0.5) == everything(4, kappa)


@pytest.mark.parametrize("kappa", [1, 2, 4])
@pytest.mark.parametrize("gains", [[np.nan, 0.1, -0.1, 0.0], [0.1, np.nan, np.inf, np.nan]])
def test_what_is_no_number_excludes_nothing(call, gains, kappa):
    assert found_in(call, node_with(gains, kappa, bound=np.nan), 0.5) == everything(4, kappa)


def test_too_many_subsets_are_not_listed(call):
    case = node_with(np.linspace(0.01, 0.02, 12), 12)
    candidates = make_candidates(12)
    assert call(find_candidates, case.subproblem, case.node, candidates, BOUND + 1.0) == TOO_MANY


def test_with_one_place_left_there_may_be_one_per_feature(call):
    n = CANDIDATES_AT_ONCE + 50
    case = node_with(np.linspace(0.01, 0.02, n), 1)
    assert found_in(call, case, BOUND + 1.0) == everything(n, 1)
    case = node_with(np.linspace(0.01, 0.02, n), 2)
    assert call(find_candidates, case.subproblem, case.node, make_candidates(n), BOUND + 1.0) == TOO_MANY


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 33])
def test_sorting(n):
    rng = np.random.default_rng(n)
    candidates = make_candidates(n)
    gains = rng.choice([0.0, -1.0, 2.0, 3.5, 0.25], n)
    candidates.gain[:n], candidates.feature[:] = gains, np.arange(n)
    sort_by_gain(candidates, n)
    assert candidates.gain[:n].tolist() == sorted(gains.tolist(), reverse=True)
    assert gains[candidates.feature].tolist() == candidates.gain[:n].tolist()
    assert sorted(candidates.feature.tolist()) == list(range(n))


def test_a_walk_goes_depth_first_in_the_order_of_gains(call):
    candidates = make_candidates(3)
    candidates.feature[:], candidates.gain[:3], candidates.ahead[:] = [4, 2, 7], [3.0, 2.0, 1.0], [0.0, 3.0, 5.0, 6.0]
    assert call(walk, candidates, 3, Room(10.0, 2), 5.0) == 7
    ends = np.cumsum(candidates.size[:7])
    assert [part.tolist() for part in np.split(candidates.place[: ends[-1]], ends[:-1])] == [
        [], [0], [0, 1], [0, 2], [1], [1, 2], [2],
    ]  # fmt: skip
    assert call(walk, candidates, 3, Room(1.0, 2), 5.0) == 2
    assert candidates.place[:4].tolist() == [0, 1, 0, 2]


def test_a_walk_through_supports_of_many_features_ends_where_there_is_no_room():
    """Few supports, each with more features than lists of places have room for."""
    n = 40
    candidates = make_candidates(n)
    candidates = candidates._replace(place=np.empty(60, np.int32))
    candidates.feature[:], candidates.gain[:n] = np.arange(n), 1.0
    candidates.ahead[:] = np.arange(n + 1.0)
    assert walk(candidates, n, Room(0.5, n), float(n)) == 1
    assert walk(candidates, n, Room(1.0, n), float(n)) == TOO_MANY
