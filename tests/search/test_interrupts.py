"""Ctrl-C: the first ends a search, a second soon after raises, and in an estimator's `fit` the first one does, too."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import safescreen as ss
from safescreen import kernels
from safescreen import path as path_module
from safescreen.search import interrupts
from safescreen.search.interrupts import Interrupts, raising_interrupts

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C reaches a process by other ways there"),
    pytest.mark.usefixtures("keyboard"),
]

PROMPTLY = 20.0
"""Seconds, on a very busy machine; what is interrupted would take sixty."""


def press(*_):
    signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def pressed_soon():
    """Ctrl-C from outside, a little after each call of what this gives."""
    kernels.warm_up()
    timers = []

    def soon():
        timers.append(threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT]))
        timers[-1].start()

    try:
        yield soon
    finally:
        for timer in timers:
            timer.cancel()
            timer.join()


def at_first(function):
    """A callback for searches that calls this the first time only."""
    calls = [function]
    return lambda moment: calls.pop()() if calls else None


@pytest.fixture
def later(monkeypatch):
    """A clock that can be moved on."""
    passed = [0.0]
    monkeypatch.setattr(interrupts, "monotonic", lambda: passed[0])

    def wait(seconds):
        passed[0] += seconds

    return wait


# -- the rule --------------------------------------------------------------------------------------------


@pytest.mark.interpreted
@pytest.mark.parametrize(("pause", "raises"), [(0.1, True), (1.9, True), (2.1, False)])
def test_second_within_two_seconds_raises_in_another_search(later, pause, raises):
    with Interrupts() as first:
        press()
        assert first.requested
    later(pause)
    with Interrupts() as second:
        assert not second.requested
        with pytest.raises(KeyboardInterrupt) if raises else contextlib.nullcontext():
            press()


@pytest.mark.interpreted
def test_second_in_the_same_search_always_raises(later):
    with Interrupts():
        press()
        later(60.0)
        with pytest.raises(KeyboardInterrupt):
            press()


@pytest.mark.interpreted
def test_nested_ones_share_the_request():
    with Interrupts() as outer:
        with Interrupts() as inner:
            press()
            assert inner.requested
        assert outer.requested
        with Interrupts() as next_one:
            assert not next_one.requested


@pytest.mark.interpreted
@pytest.mark.parametrize("policies", [(True,), (True, False), (False, True), (True, True), (False, False, True, False)])
def test_raising_wins_inside(policies):
    went_on = []

    def work():
        with contextlib.ExitStack() as stack:
            for raising in policies:
                stack.enter_context(Interrupts(raising=raising))
            press()
            went_on.append("after it was pressed")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert went_on == []


@pytest.mark.interpreted
def test_requests_are_requests_again_after_raising_is_over(later):
    with Interrupts() as outer:
        with pytest.raises(KeyboardInterrupt), raising_interrupts():
            press()
        assert outer.requested
    later(3.0)
    with Interrupts() as after:
        press()
        assert after.requested


@pytest.mark.interpreted
def test_other_threads_see_the_request_and_raise_where_they_should():
    seen, ready, go_on = [], threading.Barrier(3), threading.Event()

    def work(raising):
        try:
            with Interrupts(raising=raising) as here:
                ready.wait()
                go_on.wait()
                seen.append(here.requested)
        except KeyboardInterrupt:
            seen.append("raised")

    threads = [threading.Thread(target=work, args=[raising]) for raising in (False, True)]
    for thread in threads:
        thread.start()
    with Interrupts():
        ready.wait()
        press()
        go_on.set()
        for thread in threads:
            thread.join()
    assert sorted(map(str, seen)) == ["True", "True", "raised"]


# -- searches --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("calls", [1, 3])
def test_first_ends_the_search(endless, calls, n_threads):
    seen = []

    def callback(moment):
        seen.append(moment)
        if len(seen) == calls:
            press()

    solution = ss.solve(endless, callback=callback, n_threads=n_threads, time_limit=60.0)
    assert solution.status == "interrupted"
    assert len(seen) == calls
    assert 0.0 < solution.lower_bound <= solution.objective == endless.objective(solution.coef, solution.intercept)


def test_first_ends_the_search_while_the_kernel_runs(endless):
    with pressed_soon() as soon:
        solution = ss.solve(endless, time_limit=60.0, callback=at_first(soon))
    assert solution.status == "interrupted"
    assert solution.seconds < PROMPTLY


def test_pressing_twice_stops_a_loop(endless, monkeypatch):
    solved, ticks = [], itertools.count()
    monkeypatch.setattr(interrupts, "monotonic", lambda: 0.01 * next(ticks))  # or a busy machine takes two seconds

    def loop(soon):
        for _ in range(20):
            solved.append(ss.solve(endless, time_limit=60.0, callback=at_first(soon)))

    with pytest.raises(KeyboardInterrupt), pressed_soon() as soon:
        loop(soon)
    assert [solution.status for solution in solved] == ["interrupted"]


def test_path_ends_with_what_is_found(endless, monkeypatch):
    with pressed_soon() as soon:
        first, look = at_first(soon), path_module._look
        monkeypatch.setattr(path_module, "_look", lambda moment, **known: first(moment) or look(moment, **known))
        path = ss.l0_path(endless, k=[19, 20, 21], time_limit=60.0)
    assert path.statuses == ["interrupted"] * 3
    assert (path.lower_bounds <= path.objectives).all()


# -- estimators ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hard():
    X, y, _ = ss.datasets.make_sparse_logistic(100, 400, 10, 0.5, random_state=0)
    return X, y


def endless_model(**settings):
    return ss.L0LogisticRegression(k=20, gamma=1e4, time_limit=60.0, **settings)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_fit_raises_at_once_and_leaves_nothing(hard, tmp_path, n_threads):
    proof = tmp_path / "proof.npz"
    proof.write_bytes(b"the last one")
    model = endless_model(n_threads=n_threads, proof=proof, verbose=1)
    threads = threading.active_count()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt), pressed_soon() as soon:
        model.set_params(callback=at_first(soon)).fit(*hard)
    assert time.monotonic() - start < PROMPTLY
    while threading.active_count() > threads:  # whoever hashes the matrix ends for himself
        assert time.monotonic() - start < PROMPTLY
        time.sleep(0.01)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("proof.npz", b"the last one")]
    assert not hasattr(model, "coef_")


def test_fit_ended_by_a_callback_is_a_result(hard):
    with pytest.warns(ss.EndedEarlyWarning, match="interrupted"):
        model = endless_model(callback=lambda moment: True).fit(*hard)
    assert model.status_ == "interrupted"


def test_grid_search_stops(hard):
    fits = []

    class Counted(ss.L0LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            fits.append(self.k)
            return super().fit(X, y, sample_weight)

    search = GridSearchCV(Counted(gamma=1e4, time_limit=60.0), {"k": [19, 20]}, cv=3)
    with pytest.raises(KeyboardInterrupt), pressed_soon() as soon:
        search.set_params(estimator__callback=at_first(soon)).fit(*hard)
    assert fits == [19]


def test_screener_raises():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2000, 3000)), np.arange(2000) % 2

    def loop(soon):
        soon()
        for _ in range(50):
            ss.SafeScreener(k=10, gamma=1e4).fit(X, y)

    with pytest.raises(KeyboardInterrupt), pressed_soon() as soon:
        loop(soon)
