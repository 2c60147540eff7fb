"""Nodes whose models are listed: every way a node may end, against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from calling import interpreted
from kernel_cases import as_case, low_level, random_problem

from safescreen.kernels import listing as kernel
from safescreen.kernels.goals import ALL_MODELS, MINIMAL_MODELS
from safescreen.kernels.listing import HALTED, NO_ROOM, SETTLED, UNSETTLED, empty_listing, list_models, make_listing
from safescreen.kernels.node import make_node
from safescreen.kernels.node_relaxation import GRAM, Start, Target, relax
from safescreen.kernels.refitting import Fitted
from safescreen.kernels.subproblem import IN, OUT
from safescreen.search.found import FoundModels
from safescreen.testing.reference import brute_force, fit_support
from safescreen.tuning import MANY_CANDIDATES

# by design, and silent where compiled: a relaxation meets inf - inf
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered in scalar (subtract|multiply):RuntimeWarning")


class Listed:
    """A node that is relaxed, and what is listed of it."""

    def __init__(self, problem, decisions=(), goal=ALL_MODELS, models=512, entries=4096, capacity=None, refuted=False):
        self.problem = problem
        self.case = as_case(problem, capacity)
        n = problem.n_features
        for j, status in decisions:
            self.case.node.status[j] = status
        start = Start(low_level(problem), 0.0, GRAM)
        relax(self.case.subproblem, self.case.node, self.case.workspace, start, Target(np.inf, 1e-6, 0.0))
        self.refit_node = make_node(n, problem.n_samples, np.ones(n))
        self.listing = make_listing(models, entries, problem.included, goal, refuted)

    @property
    def counts(self):
        return self.listing.counts[0]

    def list(self, call, cutoff):
        case = self.case
        return call(
            list_models, case.subproblem, case.node, self.refit_node, case.workspace, self.listing, float(cutoff)
        )

    @property
    def found(self):
        """Models by their supports."""
        models = FoundModels.of(self.listing, np.arange(self.problem.n_features))
        supports = [tuple(s.tolist()) for s in models.supports()]
        assert len(set(supports)) == len(supports)
        return dict(zip(supports, zip(models.objective, models.bound, models.spare, strict=True), strict=True))


def below(table, cutoff, inside=(), outside=()):
    """The supports of a node that are below the cutoff, by brute force."""
    return {s for s, v in table.items() if v <= cutoff and set(inside) <= set(s) and not set(outside) & set(s)}


@pytest.mark.parametrize("within", [0.0, 0.05, 1.0])
@pytest.mark.parametrize(
    "options", [{"mu": 0.01}, {"mu": 0.003, "k": 3}, {"mu": 0.01, "fit_intercept": True, "weighted": True, "k": 4}]
)
def test_all_models_of_a_node(call, options, within):
    problem = random_problem(1, **options)
    truth = brute_force(problem)
    cutoff = truth.value * (1.0 + within) * (1.0 + 1e-8)
    node = Listed(problem)
    assert node.list(call, cutoff) == SETTLED
    assert set(node.found) == below(truth.table, cutoff)
    assert node.counts.below == len(node.found)
    assert node.counts.undecided == np.inf
    for support, (objective, bound, spare) in node.found.items():
        assert objective == pytest.approx(truth.table[support], rel=1e-9)
        assert bound <= truth.table[support] * (1.0 + 1e-13)
        assert not spare


@pytest.mark.parametrize("decisions", [[(1, IN), (4, OUT)], [(5, IN), (3, IN)], [(0, OUT)]])
def test_only_models_of_the_node(decisions):
    problem = random_problem(2, mu=0.005, k=3)
    truth = brute_force(problem)
    cutoff = truth.value * 1.3
    node = Listed(problem, decisions)
    assert node.list(interpreted, cutoff) == SETTLED
    inside, outside = ([j for j, s in decisions if s == status] for status in (IN, OUT))
    assert set(node.found) == below(truth.table, cutoff, inside, outside)


def minimal(models, included=()):
    return {s for s in models if not any(tuple(i for i in s if i != j) in models for j in s if j not in included)}


@pytest.mark.parametrize("within", [0.0, 0.02, 0.2])
@pytest.mark.parametrize("options", [{"k": 3}, {"k": 4, "include": (5,)}, {"k": 6, "fit_intercept": True}])
def test_minimal_models_of_a_node(call, options, within):
    problem = random_problem(3, **options)
    truth = brute_force(problem)
    cutoff = truth.value * (1.0 + within) * (1.0 + 1e-8)
    node = Listed(problem, goal=MINIMAL_MODELS)
    assert node.list(call, cutoff) == SETTLED
    models = below(truth.table, cutoff)
    kept = {s for s, (_, _, spare) in node.found.items() if not spare}
    assert kept == minimal(models, problem.include)
    assert {s for s, (_, _, spare) in node.found.items() if spare} <= models - kept


def test_refuted_supports_are_kept_for_a_proof():
    problem = random_problem(4, mu=0.01)
    truth = brute_force(problem)
    cutoff = truth.value * 1.1
    plain, kept = Listed(problem), Listed(problem, refuted=True)
    for node in (plain, kept):
        assert node.list(interpreted, cutoff) == SETTLED
    assert set(plain.found) == {s for s, (_, bound, _) in kept.found.items() if bound <= cutoff}
    refuted = {s: bound for s, (_, bound, _) in kept.found.items() if bound > cutoff}
    assert refuted
    assert all(cutoff < bound <= truth.table[s] * (1.0 + 1e-13) for s, bound in refuted.items())


def test_without_room_a_node_comes_again_or_is_branched_on(call):
    problem = random_problem(1, mu=0.01)
    cutoff = brute_force(problem).value * 2.0
    node = Listed(problem, models=60)
    assert node.list(call, cutoff) == UNSETTLED  # it would not fit into an empty list either
    assert node.counts.models == 0
    node = Listed(problem, entries=100)
    assert node.list(call, cutoff) == UNSETTLED
    node = Listed(problem, models=70)
    assert node.list(call, cutoff) == SETTLED
    models, entries = int(node.counts.models), int(node.counts.entries)
    assert node.list(call, cutoff) == NO_ROOM
    assert (node.counts.models, node.counts.entries) == (models, entries)
    empty_listing(node.listing)
    assert node.list(call, cutoff) == SETTLED
    assert node.counts.models == models


def test_a_halted_node_lists_nothing(call):
    problem = random_problem(1, mu=0.01)
    node = Listed(problem)
    node.refit_node.progress[0].halted = True
    assert node.list(call, 0.8) == HALTED
    assert (node.counts.models, node.counts.entries) == (0, 0)


def wide(**options):
    """Twelve features, of which more supports are left than are listed at once."""
    return random_problem(5, m=40, n=12, **options)


def test_too_many_supports_are_branched_on(call):
    node = Listed(wide(mu=1e-4))
    assert node.list(call, 0.9) == UNSETTLED
    assert node.counts.models == 0


def test_with_a_budget_a_good_model_settles_its_supersets(call):
    """However many they are: the node's decided features are the one minimal model."""
    problem = wide(k=12)
    truth = {support: value for support, value in brute_force(problem).table.items() if len(support) <= 1}
    cutoff = truth[0,] * (1.0 + 1e-6)
    assert cutoff < truth[()]
    node = Listed(problem, [(0, IN)], goal=MINIMAL_MODELS)
    assert node.list(call, cutoff) == SETTLED
    ((support, (objective, _, spare)),) = node.found.items()
    assert support == (0,)
    assert objective == pytest.approx(truth[0,], rel=1e-9)
    assert not spare
    nothing = Listed(problem, [(0, IN)], goal=MINIMAL_MODELS)
    assert nothing.list(call, truth[()] * 1.01) == SETTLED
    assert [spare for _, _, spare in nothing.found.values()] == [True]  # the model without features is below, too
    bad = Listed(problem, [(0, IN)], goal=MINIMAL_MODELS)
    assert bad.list(call, cutoff * (1.0 - 1e-3)) == UNSETTLED
    assert bad.counts.models == 0


def test_models_larger_than_a_working_set_are_left_undecided():
    problem = random_problem(6, mu=0.001)
    decided = [(j, IN) for j in range(4)]
    node = Listed(problem, decided)
    case = node.case
    small = case.workspace._replace(quadratic=case.workspace.quadratic._replace(x=np.empty(4)))
    node.case = case._replace(workspace=small)
    assert node.list(interpreted, 0.9) == UNSETTLED
    node.case.node.status[4:] = OUT
    assert node.list(interpreted, 0.9) == SETTLED
    assert node.counts.models == 0
    assert node.counts.undecided == node.case.progress.bound  # so the list is not complete, and says so


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("decided", [[], [0, 7]])
def test_one_place_left_among_many_features(call, decided, intercept):
    """The decided features' own point leaves fewer supports, and still all that are below."""
    problem = random_problem(7, m=60, n=80, k=len(decided) + 1, fit_intercept=intercept)

    def value(support):
        columns = problem.design.columns(np.asarray(support, int))
        return fit_support(columns, problem.y, problem.weights, problem.gamma, intercept).value

    table = {(): value(decided)} | {(j,): value([*decided, j]) for j in range(80) if j not in decided}
    values = np.sort(list(table.values()))
    cutoff = 0.5 * (values[MANY_CANDIDATES + 5] + values[MANY_CANDIDATES + 6])
    node = Listed(problem, [(j, IN) for j in decided])
    before = float(node.case.progress.bound)
    assert node.list(call, cutoff) == SETTLED
    expected = {tuple(sorted([*decided, *s])) for s, v in table.items() if v <= cutoff}
    assert set(node.found) == expected
    for support, (objective, _, _) in node.found.items():
        assert objective == pytest.approx(table[tuple(j for j in support if j not in decided)], rel=1e-9)
    assert node.counts.own_point or node.case.progress.bound == before
    assert node.case.progress.bound <= values[0] * (1.0 + 1e-13)


def test_an_own_point_is_taken_where_it_leaves_fewer():
    problem = random_problem(8, m=60, n=80, k=1)
    node = Listed(problem)
    case, alpha = node.case, node.case.node.best_alpha.copy()
    case.node.best_q[:] = case.node.best_q.max()  # a point that excludes nothing
    case.progress.kth_gain = case.node.best_q.max()
    cutoff = 0.69
    assert node.list(interpreted, cutoff) == SETTLED
    assert node.counts.own_point
    assert not np.array_equal(case.node.best_alpha, alpha)
    assert not case.node.best_x.any()  # no feature is decided: the point is that of no model
    assert case.node.best_alpha == pytest.approx(problem.weights * problem.y * 0.5)


def test_what_a_fit_proves():
    assert kernel.judge(Fitted(1.0, 0.9, 0.0), 0.8) == kernel.ABOVE
    assert kernel.judge(Fitted(1.0, 0.9, 0.0), 1.0) == kernel.BELOW
    assert kernel.judge(Fitted(1.0, 0.9, 0.0), 0.95) == kernel.UNDECIDED
    assert kernel.judge(Fitted(1.0, 1.0 - 1e-12, 0.0), 1.0 - 1e-13) == kernel.BELOW  # a tie, as far as numbers tell
    assert kernel.judge(Fitted(np.nan, np.nan, 0.0), 1.0) == kernel.UNDECIDED
    assert kernel.judge(Fitted(np.inf, -np.inf, 0.0), 1.0) == kernel.UNDECIDED


def test_undecided_supports_say_what_may_be_missing(monkeypatch):
    """Fits that stop at once prove little."""
    monkeypatch.setattr("safescreen.kernels.refitting.REFIT_ROUNDS", 1)
    problem = random_problem(1, mu=0.01)
    truth = brute_force(problem)
    cutoff = truth.value * 1.01
    node = Listed(problem)
    assert node.list(interpreted, cutoff) == SETTLED
    missing = below(truth.table, cutoff) - set(node.found)
    assert missing
    assert node.counts.undecided <= min(truth.table[s] for s in missing)
