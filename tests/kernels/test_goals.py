"""What is looked for: the cutoff that a model sets, and models that are taken or left."""

from __future__ import annotations

import numpy as np
import pytest

from safescreen.kernels.exploration import make_shared
from safescreen.kernels.goals import ALL_MODELS, BEST_MODEL, MINIMAL_MODELS, Goal, cutoff, make_models, take_model
from safescreen.kernels.subproblem import FREE, IN, OUT

GOAL = Goal(BEST_MODEL, 0.25)
STATUS = np.array([FREE, IN, OUT, IN], np.int8)


def test_cutoff_is_the_requested_gap_below_the_best_model(call):
    assert call(cutoff, GOAL, 8.0) == 6.0
    assert call(cutoff, GOAL, np.inf) == np.inf


@pytest.mark.parametrize("kind", [ALL_MODELS, MINIMAL_MODELS])
def test_the_cutoff_of_a_list_is_its_threshold(kind):
    assert cutoff(Goal(kind, 0.25), 8.0) == 8.0


def test_better_models_are_taken(call):
    models, shared = make_models(4), make_shared(8.0)
    assert call(take_model, GOAL, models, shared[0], STATUS, 7.0)
    assert models.support.tolist() == [False, True, False, True]
    assert models.objective[0] == shared["upper"][0] == 7.0
    assert call(take_model, GOAL, models, shared[0], -STATUS, 6.5)
    assert models.support.tolist() == [False, False, True, False]
    assert models.objective[0] == shared["upper"][0] == 6.5


@pytest.mark.parametrize("objective", [8.0, 9.0, np.inf, np.nan])
def test_others_are_left(objective):
    models, shared = make_models(4), make_shared(8.0)
    assert not take_model(GOAL, models, shared[0], STATUS, objective)
    assert not models.support.any()
    assert models.objective[0] == np.inf
    assert shared["upper"][0] == 8.0


@pytest.mark.parametrize("kind", [ALL_MODELS, MINIMAL_MODELS])
def test_no_single_model_changes_the_threshold_of_a_list(kind):
    models, shared = make_models(4), make_shared(8.0)
    assert not take_model(Goal(kind, 0.25), models, shared[0], STATUS, 1.0)
    assert shared["upper"][0] == 8.0


def test_a_worker_keeps_its_best_model_when_its_word_is_lost():
    """Another worker, which read the old bound, may write its own over ours: no lock, and no harm."""
    models, shared = make_models(4), make_shared(8.0)
    assert take_model(GOAL, models, shared[0], STATUS, 5.0)
    shared["upper"] = 7.0
    assert not take_model(GOAL, models, shared[0], -STATUS, 6.0)
    assert models.objective[0] == 5.0
    assert models.support.tolist() == [False, True, False, True]
