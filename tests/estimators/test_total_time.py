"""A cross-validation ends when its time is up or Ctrl-C is pressed, says what it left out, and keeps what it has."""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import sys
import threading
import time
import warnings

import joblib
import numpy as np
import pytest

import safescreen as ss
from safescreen import EndedEarlyWarning, L0LogisticRegressionCV, kernels
from safescreen.estimators import folds
from safescreen.estimators.candidates import make_candidates
from safescreen.search import progress

pytestmark = pytest.mark.filterwarnings("ignore::safescreen.GridEdgeWarning")

HARD = {"k": [15, 20], "gamma": 1e4, "refit_gamma": ["same", 2e4]}
"""Not proved in any reasonable time."""

EASY = {"k": [1, 2], "gamma": 0.5, "refit_gamma": 10.0}


@pytest.fixture(scope="module")
def data():
    X, y, _ = ss.datasets.make_sparse_logistic(100, 300, 10, 0.5, random_state=0)
    kernels.warm_up()
    return X, y


def timed(model, X, y):
    start = time.monotonic()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, y)
    return time.monotonic() - start, [str(one.message) for one in told if one.category is EndedEarlyWarning]


def test_a_hard_problem_ends_in_time(data):
    seconds, told = timed(L0LogisticRegressionCV(**HARD, time_limit=2.0), *data)
    assert 1.0 < seconds < 40.0  # without a limit: minutes
    assert re.match(r"Cross-validation .* 2 s.*: .*searches in the folds ended before .*time_limit", told[0])
    assert re.match(r"The search ended early \(status 'time_limit'\)", told[1])


def test_folds_left_out_are_said(data):
    model = L0LogisticRegressionCV(**HARD, time_limit=0.0)
    seconds, told = timed(model, *data)
    assert seconds < 40.0
    assert model.n_splits_ == 1
    assert "19 of 20 folds were left out; 2 of 2 searches in the folds ended before their gap of 0.01" in told[0]
    assert "split0_test_score" in model.cv_results_
    assert "split1_test_score" not in model.cv_results_
    assert model.support_.size == model.best_params_["k"]


def test_nothing_is_said_of_what_is_finished(data):
    model = L0LogisticRegressionCV(**EASY, time_limit=None)
    _, told = timed(model, *data)
    assert told == []
    assert model.n_splits_ == 20
    assert model.best_estimator_.time_limit is None


def test_the_final_model_gets_what_is_left(data):
    model = L0LogisticRegressionCV(**EASY, cv=2, time_limit=50.0)
    seconds, _ = timed(model, *data)
    assert 50.0 - seconds < model.best_estimator_.time_limit < 50.0


class Terminal(io.StringIO):
    """Whatever is said is shown here, if only for a moment; elsewhere lines come as time goes by."""

    def isatty(self):
        return True


def test_verbose_speaks_of_folds(data, monkeypatch):
    said, say = [], progress.Progress.say
    monkeypatch.setattr(progress.Progress, "say", lambda self, text: (said.append(text), say(self, text)))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    L0LogisticRegressionCV(**EASY, cv=2, refit=False, verbose=1).fit(*data)
    assert any("2 of 4 fits, 1 of 2 folds done, about" in text for text in said)
    assert "4 of 4 fits" in terminal.getvalue()
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    L0LogisticRegressionCV(**EASY, cv=2, refit=False).fit(*data)
    assert terminal.getvalue() == ""


# -- Ctrl-C ----------------------------------------------------------------------------------------------

ctrl_c = [
    pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C reaches a process by other ways there"),
    pytest.mark.usefixtures("keyboard"),
]


def press_in_fold(number):
    """A maker of parts that presses Ctrl-C when so many folds are done."""
    folds = []

    def make_parts(X, train, test):
        folds.append(test)
        if len(folds) == number + 1:
            signal.raise_signal(signal.SIGINT)
        return X[train], X[test]

    return make_parts


@contextlib.contextmanager
def pressed_after(seconds):
    """Ctrl-C from outside, so many seconds from now."""
    timer = threading.Timer(seconds, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


class TestInterrupts:
    pytestmark = ctrl_c

    @pytest.mark.parametrize("done", [1, 2])
    def test_finished_folds_are_kept_with_a_model(self, data, done):
        model = L0LogisticRegressionCV(**EASY, cv=4, make_parts=press_in_fold(done))
        with pytest.raises(KeyboardInterrupt):
            model.fit(*data)
        whole = L0LogisticRegressionCV(**EASY, cv=4).fit(*data)
        assert model.n_splits_ == done
        last = f"split{done - 1}_test_score"
        np.testing.assert_array_equal(model.cv_results_[last], whole.cv_results_[last])
        assert f"split{done}_test_score" not in model.cv_results_
        assert model.predict(data[0]).shape == data[1].shape
        assert model.support_.size == model.best_params_["k"]

    def test_nothing_is_kept_where_nothing_is_finished(self, data):
        model = L0LogisticRegressionCV(**EASY, cv=4, make_parts=press_in_fold(0))
        with pytest.raises(KeyboardInterrupt):
            model.fit(*data)
        assert not hasattr(model, "cv_results_")
        assert not hasattr(model, "coef_")

    def test_without_refit_there_is_no_model(self, data):
        model = L0LogisticRegressionCV(**EASY, cv=4, make_parts=press_in_fold(1), refit=False)
        with pytest.raises(KeyboardInterrupt):
            model.fit(*data)
        assert model.n_splits_ == 1
        assert not hasattr(model, "coef_")

    @pytest.mark.parametrize("options", [{}, {"criterion": "ebic"}])
    def test_from_outside(self, data, options):
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt), pressed_after(0.5):
            L0LogisticRegressionCV(**HARD, **options, time_limit=60.0).fit(*data)
        assert time.monotonic() - start < 40.0

    def test_during_the_final_fit(self, data, monkeypatch):
        """A second of it is enough for a model."""
        finish, timers = L0LogisticRegressionCV._finish, [threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT])]

        def finish_and_press(*args):
            if timers:
                timers.pop().start()
            finish(*args)

        monkeypatch.setattr(L0LogisticRegressionCV, "_finish", finish_and_press)
        model = L0LogisticRegressionCV(**HARD, cv=2, fold_gap=0.999, time_limit=60.0)
        with pytest.raises(KeyboardInterrupt):
            model.fit(*data)
        assert model.n_splits_ == 2
        assert model.support_.size == model.best_params_["k"]

    def test_with_threads(self, data):
        start = time.monotonic()
        model = L0LogisticRegressionCV(**HARD, time_limit=60.0)
        threading_backend = joblib.parallel_config(backend="threading", n_jobs=2)
        with threading_backend, pytest.raises(KeyboardInterrupt), pressed_after(0.5):
            model.fit(*data)
        assert time.monotonic() - start < 40.0
        assert not hasattr(model, "cv_results_")

    def test_a_thread_does_not_go_on_with_the_next_ridge(self, data, monkeypatch):
        begun, ended = [], []

        def pressed_meanwhile(problem, *args, **options):
            begun.append(problem.gamma)
            monkeypatch.setattr("safescreen.search.interrupts._Keyboard.pressed", time.monotonic())
            return []

        def work():
            try:
                folds.solve_candidates(ss.Problem(*data, k=1), ss.L0LogisticRegression(), candidates, None)
            except KeyboardInterrupt:
                ended.append("interrupted")

        monkeypatch.setattr(folds, "solve_along", pressed_meanwhile)
        candidates = make_candidates([1], None, [2.0, 1.0], "same", n_samples=100, n_features=300, n_required=0)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert begun == [1.0]
        assert ended == ["interrupted"]
