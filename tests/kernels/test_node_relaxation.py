"""The relaxation of a node: each step on its own, and the whole against an interior-point method."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import as_case, empty_point, low_level, random_case, random_problem, set_iterate, sparse_columns

from safescreen import kernels
from safescreen.kernels import node_relaxation as kernel
from safescreen.kernels.dual_bound import NodeBound
from safescreen.kernels.losses import INTERCEPT_AT_BEST, DualPoint, dual_point
from safescreen.kernels.node_relaxation import GRAM, NEWTON, NEWTON_EXACT, UPPER_CURVATURE, Start, Target
from safescreen.kernels.quadratic import INTERCEPT, RIDGE
from safescreen.kernels.subproblem import FREE, IN, OUT
from safescreen.testing.conic import conic_relaxation
from safescreen.testing.reference import brute_force, fit_support
from safescreen.tuning import FEW_SAMPLES, HOT_FEATURES, IDLE_ROUNDS

# by design, and silent where compiled: inf - inf in a first round, and no patience times an infinite cutoff
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered in scalar (subtract|multiply):RuntimeWarning")

# -- beginning -------------------------------------------------------------------------------------------


def test_features_are_split_into_hot_and_cold():
    case = random_case(0, n=7)
    node = case.node
    node.status[:] = [FREE, OUT, IN, FREE, FREE, FREE, OUT]
    node.hot[:] = [True, True, False, False, False, True, False]
    node.x[:] = [0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0]
    assert kernel.split(node) == 1
    assert node.features[: case.progress.hot].tolist() == [0, 2, 3, 5]  # decided in or not zero: hot whatever was said
    assert node.cold[: case.progress.cold].tolist() == [4]


def test_begin_makes_the_iterate_the_first_trial(call):
    case = random_case(1, k=3, fit_intercept=True)
    set_iterate(case, [0.0, 1.0, 0.0, -2.0, 0.0, 0.0], 0.5)
    case.node.status[:] = [FREE, IN, OUT, FREE, FREE, FREE]
    case.workspace.step.fill(7.0)
    case.progress.work, case.progress.stalled, case.progress.restarted = 99, True, True
    call(kernel.begin, case.subproblem, case.node, Start(0.3, 0.5, GRAM))
    call(kernel.stand_still, case.subproblem, case.node, case.workspace)
    progress, model = case.progress, case.workspace.quadratic
    assert (progress.kappa, progress.strategy, progress.refit, progress.idle_limit) == (2, GRAM, False, IDLE_ROUNDS)
    assert (progress.level, progress.intercept, progress.primal, progress.bound) == (0.3, 0.5, np.inf, -np.inf)
    assert (progress.work, progress.stalled, progress.restarted, progress.idle) == (0, False, False, 0)
    assert not case.workspace.step.any()
    assert progress.working == 3
    assert model.kind[:3].tolist() == [RIDGE, FREE, INTERCEPT]
    assert model.feature[:2].tolist() == [1, 3]
    assert model.x[:3].tolist() == model.start[:3].tolist() == [1.0, -2.0, 0.5]


def test_a_node_where_nothing_is_free_is_a_refit():
    case = random_case(2, k=2)
    case.node.status[:] = [IN, OUT, OUT, IN, OUT, OUT]
    kernel.begin(case.subproblem, case.node, Start(0.3, 0.0, GRAM))
    assert case.progress.refit
    assert case.progress.strategy == NEWTON  # no Gram matrix for a single fit
    assert (case.progress.kappa, case.progress.idle_limit) == (0, 0)


# -- steps that are tried, taken or shortened ------------------------------------------------------------


@pytest.fixture
def case():
    case = random_case(3, fit_intercept=True)
    kernel.begin(case.subproblem, case.node, Start(0.3, 0.0, GRAM))
    kernel.stand_still(case.subproblem, case.node, case.workspace)
    return case


def test_try_step():
    trial = np.empty(3)
    kernel.try_step(np.ones(3), np.array([1.0, 0.0, -2.0]), 0.5, trial)
    assert trial.tolist() == [1.5, 1.0, 0.0]


def test_strategies_escalate_up_to_the_exact_one(call):
    case = random_case(0)
    found = []
    for _ in range(4):
        call(kernel.escalate, case.progress)
        found.append(int(case.progress.strategy))
    assert found == [NEWTON, NEWTON_EXACT, NEWTON_EXACT, NEWTON_EXACT]
    case.progress.strategy = UPPER_CURVATURE
    call(kernel.escalate, case.progress)
    assert case.progress.strategy == UPPER_CURVATURE


def test_steps_are_halved_then_given_up(case):
    progress, model = case.progress, case.workspace.quadratic
    progress.working, progress.length, progress.strategy = 2, 1.0, GRAM
    model.start[:2], model.move[:2] = [1.0, -1.0], [4.0, 8.0]
    lengths = []
    while progress.length > 0.0:
        kernel.shorten_step(progress, model, case.workspace.step)
        lengths.append(float(progress.length))
        assert model.x[:2].tolist() == [1.0 + 4.0 * lengths[-1], -1.0 + 8.0 * lengths[-1]]
    assert lengths == [*(0.5**i for i in range(1, 11)), 0.0]
    assert progress.strategy == UPPER_CURVATURE
    assert not progress.stalled
    progress.length = 1e-3
    kernel.shorten_step(progress, model, case.workspace.step)  # even the model that never overshoots did
    assert progress.stalled


@pytest.mark.parametrize("wrong", [np.inf, -np.inf, np.nan])
def test_a_step_that_is_not_finite_leaves_nothing_behind(case, wrong):
    progress, model, step = case.progress, case.workspace.quadratic, case.workspace.step
    progress.working, progress.length = 2, 1e-3
    model.start[:2], model.move[:2], step[:] = [1.0, -1.0], [wrong, 8.0], wrong
    kernel.shorten_step(progress, model, step)
    assert progress.length == 0.0
    assert model.x[:2].tolist() == [1.0, -1.0]
    assert not step.any()


def loss_of(loss):
    """A dual point with this loss, and nothing wrong with it."""
    return DualPoint(loss, 0.5, 1.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("before", "primal", "length", "expected"),
    [
        (np.inf, 1.0, 1.0, False),
        (1.0, 0.9, 1.0, False),
        (1.0, 1.0, 1.0, False),
        (1.0, 1.0 + 4e-16, 1.0, False),  # within rounding
        (1.0, 1.0 + 1e-15, 1.0, True),
        (1.0, np.nan, 1.0, True),
        (1.0, 2.0, 0.0, False),  # it cannot be any shorter
    ],
)
def test_overshooting(case, before, primal, length, expected):
    case.progress.primal, case.progress.length = before, length
    assert bool(kernel.overshoots(case.progress, primal, loss_of(primal))) == expected


def test_an_infinite_predictor_overshoots_however_small_its_loss(case):
    case.progress.primal, case.progress.length = 1.0, 1.0
    assert kernel.overshoots(case.progress, 0.0, loss_of(0.0)._replace(entropy=np.nan))


def test_accepted_steps_move_the_iterate(case):
    progress, model, node = case.progress, case.workspace.quadratic, case.node
    progress.working, progress.length, progress.strategy = 3, 1.0, UPPER_CURVATURE
    model.kind[:3], model.feature[:2], model.x[:3] = [FREE, FREE, INTERCEPT], [4, 1], [0.5, -0.25, 2.0]
    case.workspace.trial[:] = np.arange(30.0)
    kernel.accept_step(node, case.workspace, 0.6, loss_of(0.5)._replace(shift=0.125, slope=0.25))
    assert node.x.tolist() == [0.0, -0.25, 0.0, 0.0, 0.5, 0.0]
    assert node.u.tolist() == list(range(30))
    assert (progress.intercept, progress.primal, progress.idle, progress.slope) == (2.125, 0.6, 0, 0.25)
    assert progress.strategy == NEWTON_EXACT  # a step was found: models may overshoot again
    assert progress.work > 0


def test_idle_rounds_stall(case):
    progress = case.progress
    progress.settled, progress.length = True, 1.0
    for primal in (1.0, 0.5, 0.5, 0.5, 0.5, 0.5):
        assert not progress.stalled
        kernel.accept_step(case.node, case.workspace, primal, loss_of(0.5))
    assert progress.idle == IDLE_ROUNDS
    kernel.accept_step(case.node, case.workspace, 0.5, loss_of(0.5))
    assert progress.stalled
    kernel.accept_step(case.node, case.workspace, 0.1, loss_of(0.5))
    assert progress.idle == 0
    assert progress.stalled  # for good


def test_looking_again_at_the_iterate_is_not_idle(case):
    """A refit would be stalled at once, before a model that never overshoots has been tried."""
    progress = case.progress
    progress.settled, progress.length, progress.primal, progress.idle_limit = True, 0.0, 0.5, 0
    kernel.accept_step(case.node, case.workspace, 0.5, loss_of(0.5))
    assert not progress.stalled
    progress.length = 0.5
    kernel.accept_step(case.node, case.workspace, 0.5, loss_of(0.5))
    assert progress.stalled


def test_before_a_step_is_given_up_the_intercept_is_settled(case):
    progress, model, step = case.progress, case.workspace.quadratic, case.workspace.step
    progress.gap, progress.primal = 0.1, 1.0
    assert 0.0 < kernel.nearness(progress) <= 1e-3
    progress.working, progress.length, model.start[:2], model.x[:2], step[:] = 2, 1.0, [1.0, 2.0], [5.0, 6.0], 3.0
    kernel.settle_intercept(progress, model, step)
    assert kernel.nearness(progress) == INTERCEPT_AT_BEST
    assert model.x[:2].tolist() == [1.0, 2.0]
    assert progress.length == 0.0
    assert not step.any()


def test_worse_than_no_model_leads_nowhere_once(case):
    progress = case.progress
    assert not kernel.leads_nowhere(kernels.LOGISTIC, progress, loss_of(0.69))
    assert kernel.leads_nowhere(kernels.LOGISTIC, progress, loss_of(0.70))
    progress.stalled, progress.primal, progress.bound = True, 1.0, 0.9
    assert kernel.leads_nowhere(kernels.LOGISTIC, progress, loss_of(0.1))
    progress.bound = 1.0 - 1e-8
    assert not kernel.leads_nowhere(kernels.LOGISTIC, progress, loss_of(0.1))
    progress.restarted = True
    assert not kernel.leads_nowhere(kernels.LOGISTIC, progress, loss_of(99.0))


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")  # where it is interpreted
@pytest.mark.parametrize("wrong", [np.inf, np.nan])
def test_a_start_that_is_not_finite_is_dropped(wrong):
    case = random_case(3, k=2, fit_intercept=True)
    set_iterate(case, [wrong, 0.0, 0.0, 0.0, 0.0, 0.0], 0.5)
    start, target = Start(0.3, 0.5, GRAM), Target(np.inf, 1e-6, 0.0)
    relaxed = kernels.relax(case.subproblem, case.node, case.workspace, start, target)
    assert np.isfinite(case.node.x).all()
    assert relaxed.primal - relaxed.bound.value <= 1e-6 * relaxed.primal


def test_restart_forgets_the_iterate_but_not_the_bound(case):
    set_iterate(case, np.ones(6), 3.0)
    progress = case.progress
    progress.bound, progress.primal, progress.stalled, progress.idle = 0.25, 2.0, True, 9
    progress.strategy = UPPER_CURVATURE
    kernel.restart(case.subproblem, case.node, case.workspace)
    assert not case.node.x.any()
    assert not case.node.u.any()
    assert (progress.bound, progress.primal, progress.intercept) == (0.25, np.inf, 0.0)
    assert (progress.restarted, progress.stalled, progress.idle) == (True, False, 0)
    assert progress.strategy == NEWTON_EXACT
    assert progress.working == 1  # the intercept


# -- deciding --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("primal", "bound", "target", "state", "finished"),
    [
        (1.0, 0.9, Target(0.9, 0.0, 0.0), "", True),  # pruned
        (1.0, 0.9, Target(0.95, 0.0, 0.0), "", False),
        (1.0, 0.9, Target(0.95, 0.2, 0.0), "", True),  # solved
        (1.0, 0.99, Target(2.0, 0.0, 0.1), "", True),  # survives: the gap is a hundredth of what the bound lacks
        (1.0, 0.5, Target(2.0, 0.0, 0.1), "", False),
        (1.0, 0.5, Target(0.8, 0.0, 9.0), "", False),  # may not survive
        (1.0, -np.inf, Target(2.0, 0.0, np.inf), "", False),  # there is no bound yet
        (1.0, 0.5, Target(np.inf, 0.0, 0.0), "stalled", False),  # it begins again first
        (1.0, 0.5, Target(np.inf, 0.0, 0.0), "stalled, restarted", True),
        (1.0, 1.0 - 1e-8, Target(np.inf, 0.0, 0.0), "stalled", True),  # as good as it gets
    ],
)
def test_when_a_relaxation_is_finished(case, primal, bound, target, state, finished):
    case.progress.primal, case.progress.bound = primal, bound
    case.progress.stalled, case.progress.restarted = "stalled" in state, "restarted" in state
    assert bool(kernel.is_finished(case.progress, target)) == finished


@pytest.mark.parametrize(
    ("value", "best", "target", "worthwhile"),
    [
        (0.5, -np.inf, Target(0.9, 0.0, 0.0), False),
        (0.9, -np.inf, Target(0.9, 0.0, 0.0), True),
        (0.5, 0.9, Target(0.9, 0.0, 0.0), True),
        (0.95, -np.inf, Target(np.inf, 0.1, 0.0), True),
        (0.85, -np.inf, Target(np.inf, 0.1, 0.0), False),
        (0.95, -np.inf, Target(1.95, 0.0, 0.1), True),
        (0.95, -np.inf, Target(1.35, 0.0, 0.1), False),
    ],
)
def test_when_cold_features_are_worth_a_look(case, value, best, target, worthwhile):
    case.progress.primal, case.progress.bound = 1.0, best
    assert bool(kernel.may_decide(case.progress, value, target)) == worthwhile


def test_slow_contraction_escalates_and_sharpens(case):
    progress = case.progress
    progress.primal, progress.bound, progress.bound_here, progress.gap = 1.0, 0.0, 0.5, np.inf
    kernel.choose_strategy(progress)
    assert (progress.strategy, progress.sharpness, progress.gap) == (GRAM, 0.01, 0.5)
    progress.bound_here, progress.idle = 0.9, 3
    kernel.choose_strategy(progress)  # a fifth of the gap is left
    assert (progress.strategy, progress.sharpness, progress.idle) == (GRAM, 0.01, 0)
    progress.idle = 3
    progress.bound_here = 0.94
    kernel.choose_strategy(progress)  # three fifths
    assert (progress.strategy, progress.sharpness, progress.idle) == (NEWTON, pytest.approx(1e-4), 3)
    for _ in range(9):
        kernel.choose_strategy(progress)
    assert (progress.strategy, progress.sharpness) == (NEWTON_EXACT, 1e-12)


def test_a_sharper_model_is_tried_before_an_exact_one(case):
    progress = case.progress
    progress.primal, progress.bound, progress.bound_here, progress.gap = 1.0, 0.0, 0.5, 0.6
    progress.strategy = NEWTON
    kernel.choose_strategy(progress)
    assert (progress.strategy, progress.sharpness) == (NEWTON, pytest.approx(1e-4))
    kernel.choose_strategy(progress)
    assert (progress.strategy, progress.sharpness) == (NEWTON_EXACT, pytest.approx(1e-6))


def test_refits_close_to_their_optimum_take_one_more_step(case):
    progress = case.progress
    progress.refit, progress.idle_limit = True, 0
    progress.primal, progress.bound, progress.bound_here, progress.gap = 1.0, 0.0, 1.0 - 1e-9, np.inf
    kernel.choose_strategy(progress)
    assert progress.idle_limit == 0
    progress.bound_here = 1.0 - 1e-11
    kernel.choose_strategy(progress)
    assert progress.idle_limit == -1


@pytest.mark.parametrize(("gap", "tolerance", "expected"), [(0.05, 0.0, 5e-4), (np.inf, 0.0, 1e-3), (0.0, 0.1, 1e-4)])
def test_model_tolerance_is_a_part_of_the_gap(case, gap, tolerance, expected):
    case.progress.primal, case.progress.gap, case.progress.sharpness = 1.0, gap, 0.01
    assert kernel.model_tolerance(case.progress, Target(np.inf, tolerance, 0.0)) == pytest.approx(expected)


def test_keep_best_remembers_what_the_bound_covers(case):
    node = case.node
    node.features[:3], node.q[:], node.x[:] = [4, 0, 2], np.arange(6.0), np.arange(6.0) / 10.0
    case.progress.intercept = 0.75
    alpha = np.linspace(0.0, 1.0, 30)
    kernel.keep_best(node, alpha, NodeBound(0.5, 0.2, 0.1), 2)
    assert (case.progress.bound, case.progress.kth_gain, case.progress.next_gain) == (0.5, 0.2, 0.1)
    assert node.best_q.tolist() == [0.0, 0.0, 0.0, 0.0, 4.0, 0.0]
    assert np.array_equal(node.best_alpha, alpha)
    assert np.array_equal(node.best_x, node.x)
    assert node.best_b[0] == 0.75


# -- cold features ---------------------------------------------------------------------------------------


def cold_case(slots=None):
    """Six features of which three are hot, at the model zero; the correlations are those of a sparse matrix."""
    case = random_case(4, mu=0.05)
    if slots is not None:
        columns = sparse_columns(case.subproblem.columns.dense.T.copy(), slots, standardised=False)
        case = case._replace(subproblem=case.subproblem._replace(columns=columns))
    case.node.hot[:] = [False, True, False, True, False, True]
    return case


def test_looking_at_cold_features_warms_those_that_matter(call):
    case = cold_case()
    node, progress = case.node, case.progress
    kernel.begin(case.subproblem, node, Start(0.5, 0.0, GRAM))
    point = empty_point(30)
    dual_point(case.subproblem, np.zeros(30), 0.0, point, INTERCEPT_AT_BEST)
    correlations = case.subproblem.columns.dense @ point.alpha
    progress.level = 0.5 * case.subproblem.gamma * abs(correlations[2]) / 0.9  # feature 2 is near where it enters
    strong = [j for j in (0, 2, 4) if abs(correlations[j]) > 0.8 * abs(correlations[2]) / 0.9]
    call(kernel.look_at_cold, case.subproblem, node, point.alpha)
    assert 2 in strong
    assert node.c[[0, 2, 4]] == pytest.approx(correlations[[0, 2, 4]], rel=1e-12)
    assert node.features[: progress.hot].tolist() == [1, 3, 5, *strong]
    assert sorted(node.features[:6]) == list(range(6))  # all others lie behind
    assert progress.cold == 3 - len(strong)
    assert np.flatnonzero(node.hot).tolist() == sorted([1, 3, 5, *strong])  # so few features never cool


@pytest.mark.parametrize(
    ("target", "at_last", "complete"),
    [
        (Target(np.inf, 0.0, 0.0), False, False),
        (Target(np.inf, 0.0, 0.0), True, True),  # a relaxation never ends without a bound
        (Target(-1.0, 0.0, 0.0), False, True),  # the hot ones alone would prune the node
    ],
)
def test_a_bound_counts_once_it_covers_the_cold_features(target, at_last, complete):
    case = cold_case()
    kernel.begin(case.subproblem, case.node, Start(0.5, 0.0, GRAM))
    case.progress.primal = 1.0
    point = empty_point(30)
    dual = dual_point(case.subproblem, np.zeros(30), 0.0, point, INTERCEPT_AT_BEST)
    kernel.evaluate_bound(case.subproblem, case.node, point, dual, target, at_last)
    gains = np.maximum(0.25 * case.subproblem.gamma * (case.subproblem.columns.dense @ point.alpha) ** 2 - 0.05, 0.0)
    covered = gains if complete else gains[[1, 3, 5]]
    assert case.progress.bound_here == pytest.approx(dual.entropy - covered.sum(), rel=1e-12)
    assert case.progress.bound == (case.progress.bound_here if complete else -np.inf)
    assert np.array_equal(case.node.best_alpha, point.alpha if complete else np.zeros(30))


def test_only_a_better_bound_is_kept():
    case = random_case(4)
    kernel.begin(case.subproblem, case.node, Start(0.5, 0.0, GRAM))
    case.progress.primal, case.progress.bound = 1.0, 0.999
    point = empty_point(30)
    dual = dual_point(case.subproblem, np.zeros(30), 0.0, point, INTERCEPT_AT_BEST)
    kernel.evaluate_bound(case.subproblem, case.node, point, dual, Target(np.inf, 0.0, 0.0), True)
    assert case.progress.bound == 0.999
    assert case.progress.bound_here < 0.999
    assert not case.node.best_alpha.any()


def test_cold_features_without_a_slot_stay_cold():
    case = cold_case(slots=3)
    for j in (1, 3, 5):
        kernel.make_dense(case.subproblem.columns, j, 0)
    kernel.begin(case.subproblem, case.node, Start(0.5, 0.0, GRAM))
    case.progress.level = 0.0  # everything matters
    kernel.look_at_cold(case.subproblem, case.node, np.full(30, 0.1))
    assert (case.progress.hot, case.progress.cold) == (3, 3)


def test_hot_features_cool_where_there_are_many():
    n = HOT_FEATURES + 10
    case = random_case(5, m=20, n=n)
    case.node.hot[0] = False
    set_iterate(case, np.eye(n)[7])
    kernel.begin(case.subproblem, case.node, Start(1.0, 0.0, GRAM))
    case.node.c[:] = 1e-9
    case.node.c[8] = 0.7 * 2.0 * 1.0 / case.subproblem.gamma
    kernel.look_at_cold(case.subproblem, case.node, np.zeros(20))
    assert np.flatnonzero(case.node.hot).tolist() == [7, 8]  # in the model, or strong enough still


@pytest.mark.parametrize("options", [{"mu": 0.01}, {"k": 2}, {"k": 2, "fit_intercept": True}])
def test_cold_features_do_not_change_the_answer(options):
    problem = random_problem(6, **options)
    hot, cold = as_case(problem), as_case(problem)
    cold.node.hot[:] = False
    start, target = Start(low_level(problem), 0.0, GRAM), Target(np.inf, 1e-9, 0.0)
    for case in (hot, cold):
        kernel.relax(case.subproblem, case.node, case.workspace, start, target)
    assert cold.progress.bound == pytest.approx(hot.progress.bound, rel=1e-8)
    assert cold.progress.bound == pytest.approx(cold.progress.primal, rel=1e-8)


# -- the model -------------------------------------------------------------------------------------------


def test_working_set_holds_what_matters_and_fits():
    case = random_case(7, fit_intercept=True, capacity=3)
    node, progress, model = case.node, case.progress, case.workspace.quadratic
    node.status[:] = [IN, FREE, FREE, FREE, OUT, FREE]
    node.x[:] = [0.0, 0.5, 0.0, 0.0, 0.0, 0.0]
    node.c[:] = [0.1, -0.2, 0.8, 0.9, 9.0, -0.7]
    kernel.split(node)
    progress.intercept, progress.slope = 0.25, 0.5
    kernel.gather(node, model, 0.75, True)
    assert progress.working == 4  # the third and last place went to feature 3, which is stronger than 2
    assert model.feature[:3].tolist() == [0, 1, 3]
    assert model.kind[:4].tolist() == [RIDGE, FREE, FREE, INTERCEPT]
    assert model.gradient[:4].tolist() == [-0.1, 0.2, -0.9, -0.5]
    assert model.x[:4].tolist() == model.start[:4].tolist() == [0.0, 0.5, 0.0, 0.25]
    kernel.gather(node, model, np.inf, False)
    assert model.feature[: progress.working].tolist() == [0, 1]


def test_what_is_in_use_comes_before_what_is_strong():
    case = random_case(7, capacity=2)
    node, model = case.node, case.workspace.quadratic
    node.status[:] = [FREE, FREE, IN, FREE, FREE, IN]
    node.c[:] = [9.0, 8.0, 0.0, 7.0, 6.0, 0.0]
    kernel.split(node)
    kernel.gather(node, model, 0.5, False)
    assert model.feature[: case.progress.working].tolist() == [2, 5]
    node.x[3] = 1.0  # too many for the room there is
    kernel.gather(node, model, 0.5, False)
    assert case.progress.working == 2


@pytest.mark.parametrize("samples", [30, FEW_SAMPLES + 2])
@pytest.mark.parametrize("strategy", [GRAM, NEWTON, NEWTON_EXACT, UPPER_CURVATURE])
def test_hessian_of_each_strategy(strategy, samples):
    """With few samples even the first one is exact."""
    case = random_case(3, samples, fit_intercept=True)
    kernel.begin(case.subproblem, case.node, Start(0.3, 0.0, GRAM))
    progress, w = case.progress, case.subproblem.w
    progress.strategy, progress.level = strategy, 0.0
    dual_point(case.subproblem, case.node.u, 0.0, case.workspace.point, INTERCEPT_AT_BEST)
    case.node.c[:] = 1.0
    kernel.build_model(case.subproblem, case.node, case.workspace)
    size = int(progress.working)
    assert size == 7
    curvature = case.workspace.point.curvature
    weights = {GRAM: w * (1.02 * curvature.sum() / w.sum()), UPPER_CURVATURE: 0.25 * w}.get(strategy, curvature)
    if strategy == GRAM and samples <= FEW_SAMPLES:
        weights = curvature
    B = np.vstack([case.subproblem.columns.dense, np.ones(samples)])
    assert case.workspace.quadratic.hessian[:size, :size] == pytest.approx((B * weights) @ B.T, rel=1e-11, abs=1e-14)


def test_features_just_below_the_level_are_in_the_working_set(case):
    """A coefficient becomes non-zero where its correlation is ``2 τ / γ``; a little less is enough."""
    case.progress.level, entering = 0.5, 2.0 * 0.5 / case.subproblem.gamma
    dual_point(case.subproblem, case.node.u, 0.0, case.workspace.point, INTERCEPT_AT_BEST)
    case.node.c[:] = np.array([0.5, -0.99, 0.97, 0.99, -1.5, -0.97]) * entering
    kernel.build_model(case.subproblem, case.node, case.workspace)
    assert case.workspace.quadratic.feature[: case.progress.working - 1].tolist() == [1, 3, 4]


def test_direction_in_coordinates_and_predictor(case):
    model, A = case.workspace.quadratic, case.subproblem.columns.dense
    model.kind[:3], model.feature[:2] = [FREE, RIDGE, INTERCEPT], [5, 2]
    model.start[:3], model.x[:3] = [1.0, 0.0, 0.5], [1.0, 2.0, 0.25]
    kernel.direction(case.subproblem.columns, model, 3, case.workspace.step)
    assert model.move[:3].tolist() == [0.0, 2.0, -0.25]
    assert case.workspace.step == pytest.approx(2.0 * A[2] - 0.25, rel=1e-14)


# -- the whole relaxation --------------------------------------------------------------------------------

PROBLEMS = {
    "price": {"mu": 0.01},
    "budget": {"k": 2},
    "price and budget": {"mu": 0.003, "k": 3},
    "intercept": {"k": 2, "fit_intercept": True, "weighted": True},
    "decided": {"k": 3, "include": (4,), "exclude": (0,)},
    "weak ridge": {"k": 2, "gamma": 1e4, "standardize": True},
}


@pytest.mark.parametrize("strategy", [GRAM, NEWTON_EXACT, UPPER_CURVATURE])
@pytest.mark.parametrize("name", PROBLEMS)
def test_relaxation_against_an_interior_point_method(name, strategy):
    pytest.importorskip("cvxpy")
    problem = random_problem(8, m=40, **PROBLEMS[name])
    case = as_case(problem)
    start, target = Start(low_level(problem), 0.0, strategy), Target(np.inf, 1e-9, 0.0)
    relaxed = kernels.relax(case.subproblem, case.node, case.workspace, start, target)
    truth = conic_relaxation(problem)
    assert relaxed.primal == pytest.approx(truth, rel=1e-6)
    assert relaxed.bound.value == pytest.approx(truth, rel=1e-6)
    assert relaxed.bound.value <= relaxed.primal
    assert relaxed.bound.value <= brute_force(problem).value
    b = relaxed.intercept
    assert case.node.u == pytest.approx(case.node.x @ case.subproblem.columns.dense + b, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", PROBLEMS)
def test_interpreted_relaxation_is_the_compiled_one(name):
    problem = random_problem(9, **PROBLEMS[name])
    compiled, interpreted = as_case(problem), as_case(problem)
    start, target = Start(low_level(problem), 0.0, GRAM), Target(np.inf, 1e-8, 0.0)
    relaxed = kernels.relax(compiled.subproblem, compiled.node, compiled.workspace, start, target)
    kernel.relax(interpreted.subproblem, interpreted.node, interpreted.workspace, start, target)
    assert interpreted.progress.bound == pytest.approx(relaxed.bound.value, rel=1e-9)
    assert interpreted.progress.primal == pytest.approx(relaxed.primal, rel=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
def test_refit_reaches_the_optimum(intercept):
    problem = random_problem(10, mu=0.01, fit_intercept=intercept)
    case = as_case(problem)
    case.node.status[:] = [IN, OUT, IN, IN, OUT, OUT]
    target = Target(np.inf, 1e-10, 0.0)
    relaxed = kernels.relax(case.subproblem, case.node, case.workspace, Start(0.2, 0.0, GRAM), target)
    fit = fit_support(problem.design.columns([0, 2, 3]), problem.y, problem.weights, problem.gamma, intercept)
    assert relaxed.primal == pytest.approx(fit.value + 3 * problem.mu, rel=1e-10)
    assert case.node.x[[0, 2, 3]] == pytest.approx(fit.x, rel=1e-4)
    assert relaxed.intercept == pytest.approx(fit.b, rel=1e-4, abs=1e-9)


def test_a_hopeless_start_begins_again():
    problem = random_problem(11, mu=0.01)
    good, bad = as_case(problem), as_case(problem)
    set_iterate(bad, 1e3 * np.ones(6))
    start, target = Start(low_level(problem), 0.0, GRAM), Target(np.inf, 1e-9, 0.0)
    relaxed = [kernels.relax(case.subproblem, case.node, case.workspace, start, target) for case in (good, bad)]
    assert bad.progress.restarted
    assert relaxed[1].primal == pytest.approx(relaxed[0].primal, rel=1e-8)


@pytest.mark.parametrize("hot", [True, False])
@pytest.mark.parametrize("options", [{"k": 1}, {"k": 3}, {"mu": 0.02}, {"k": 2, "include": [5]}])
def test_the_bound_is_the_same_wherever_the_level_begins(options, hot):
    """At a level that is far too high nothing would ever enter, and the bound would be that of no feature at all."""
    bounds = []
    for level in (1e-300, 1e-3, 1.0, 1e3, 1e6):
        case = random_case(14, n=HOT_FEATURES + 8 if not hot else 6, **options)
        case.node.hot[:] = hot
        start = Start(max(level, low_level(case.problem)), 0.0, GRAM)
        relaxed = kernels.relax(case.subproblem, case.node, case.workspace, start, Target(np.inf, 1e-9, 0.0))
        assert relaxed.primal - relaxed.bound.value <= 1e-8 * relaxed.primal
        bounds.append(relaxed.bound.value)
    np.testing.assert_allclose(bounds, bounds[0], rtol=1e-8)


def test_a_relaxation_stops_once_it_is_decided():
    problem = random_problem(12, k=2)
    start = Start(low_level(problem), 0.0, GRAM)

    def solved(target):
        case = as_case(problem)
        return kernels.relax(case.subproblem, case.node, case.workspace, start, target), case.progress.work

    tight, most_work = solved(Target(np.inf, 1e-12, 0.0))
    pruned, work = solved(Target(0.9 * tight.bound.value, 1e-12, 0.0))
    assert 0.9 * tight.bound.value <= pruned.bound.value <= tight.bound.value
    assert work < most_work
    survivor, work = solved(Target(10.0 * tight.primal, 1e-12, 0.5))
    assert survivor.primal < 10.0 * tight.primal
    assert work < most_work


# -- a child begins with its parent's model --------------------------------------------------------------


def test_a_childs_model_is_its_parents_with_what_is_decided_since(call, case):
    node, progress, model = case.node, case.progress, case.workspace.quadratic
    node.status[:] = [FREE, IN, FREE, FREE, OUT, FREE]
    kernel.split(node)
    rng = np.random.default_rng(0)
    B = rng.standard_normal((7, 7))
    hessian = B @ B.T
    x = np.array([0.5, -1.0, 2.0, 0.25])
    progress.working, progress.intercept, progress.slope = 4, 0.75, 0.125
    progress.decided = 1
    model.hessian[:4, :4] = hessian[:4, :4]
    model.kind[:4], model.feature[:3] = [FREE, FREE, FREE, INTERCEPT], [1, 4, 5]
    model.x[:4] = x
    model.x[2] = 9.0  # a step that was not taken
    node.x[[1, 5]] = x[[0, 2]]
    node.c[:] = np.arange(6.0)
    assert call(kernel.adapt_model, node, model)
    kept = [0, 2, 3]
    assert progress.working == 3
    assert model.kind[:3].tolist() == [RIDGE, FREE, INTERCEPT]
    assert model.feature[:2].tolist() == [1, 5]
    assert model.x[:3].tolist() == model.start[:3].tolist() == [0.5, 2.0, 0.75]  # the intercept is where it is now
    assert model.hessian[:3, :3] == pytest.approx(hessian[np.ix_(kept, kept)])
    gradient = -np.array([1.0, 4.0, 5.0, 0.125]) - x[1] * hessian[:4, 1]  # feature 4 went back to zero
    assert model.gradient[:3] == pytest.approx(gradient[kept])


def test_a_model_without_a_feature_decided_in_is_of_no_use(case):
    node, progress, model = case.node, case.progress, case.workspace.quadratic
    node.status[:] = [FREE, IN, IN, FREE, FREE, FREE]
    progress.decided = 2
    progress.working, model.hessian[:2, :2] = 2, np.eye(2)
    model.kind[:2], model.feature[:2], model.x[:2] = FREE, [1, 4], 0.0
    assert not kernel.adapt_model(node, model)


@pytest.mark.parametrize("first", [IN, OUT])
def test_a_child_that_follows_its_parents_model_has_the_same_relaxation(first):
    problem = random_problem(8, k=3, gamma=20.0, fit_intercept=True)
    start, target = Start(low_level(problem), 0.0, GRAM), Target(np.inf, 1e-9, 0.0)
    followed, fresh = as_case(problem), as_case(problem)
    for case in (followed, fresh):
        kernel.relax(case.subproblem, case.node, case.workspace, start, target)
        assert case.progress.modelled
        j = int(np.argmax(np.abs(case.node.x)))
        if first == OUT:
            case.node.u[:] -= case.node.x[j] * case.subproblem.columns.dense[j]
            case.node.x[j] = 0.0
        case.node.status[j] = first
    fresh.progress.modelled = False
    for case in (followed, fresh):
        again = Start(float(case.progress.level), float(case.progress.intercept), GRAM)
        kernel.relax(case.subproblem, case.node, case.workspace, again, target)
    assert followed.progress.primal == pytest.approx(fresh.progress.primal, rel=1e-8)
    assert followed.progress.bound == pytest.approx(followed.progress.primal, rel=1e-8)
    A, node = followed.subproblem.columns.dense, followed.node
    assert node.u == pytest.approx(node.x @ A + followed.progress.intercept, abs=1e-9)
