"""Resamples: drawn within classes, the same whatever the number of jobs, and honest about what was not done."""

from __future__ import annotations

import pickle
import signal
import threading

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_backend
from scipy import sparse

import safescreen as ss
from safescreen.defaults import GAMMA, REFIT_GAMMA
from safescreen.estimation import estimate, refit
from safescreen.problem import Problem
from safescreen.search import Settings, solve
from safescreen.stability import Resampling, Stability, run
from safescreen.stability.counter import Counter
from safescreen.stability.resampling import draw


@pytest.fixture(scope="module")
def data():
    X, y, _ = ss.datasets.make_sparse_logistic(120, 15, 3, 0.8, random_state=1)
    return pd.DataFrame(X, columns=[f"f{j}" for j in range(15)]), np.where(y > 0, "case", "control")


@pytest.fixture(scope="module")
def model(data):
    return ss.L0LogisticRegression(k=3, include="f4").fit(*data)


@pytest.fixture(scope="module")
def found(model, data):
    return model.stability(*data, n_resamples=20)


def made(supports=((0, 2), (2, 3), (2,)), **changes):
    values = {
        "supports": [np.array(support, dtype=np.int64) for support in supports],
        "coefficients": np.arange(6.0).reshape(3, 2),
        "support": np.array([0, 2]),
        "estimates": np.array([1.5, 2.5]),
        "n_features": 5,
        "n_asked": 3,
    }
    return Stability(**(values | changes))


def test_as_many_rows_of_each_class_as_there_are():
    groups = np.array([1.0] * 30 + [-1.0] * 5)
    counts = draw(groups, np.random.default_rng(0))
    assert counts[:30].sum() == 30
    assert counts[30:].sum() == 5
    assert (counts == 0.0).any()
    assert (counts != draw(groups, np.random.default_rng(1))).any()


def test_a_resample_is_a_fit_with_repeated_rows(model, data):
    X, y = data
    found = model.stability(X, y, n_resamples=1, rel_gap=1e-4, random_state=3)
    seed = np.random.RandomState(3).randint(np.iinfo(np.int32).max, size=1)[0]
    counts = draw(np.where(y == "control", 1.0, -1.0), np.random.default_rng(seed)).astype(int)
    repeated = ss.L0LogisticRegression(k=3, include="f4").fit(X.loc[X.index.repeat(counts)], np.repeat(y, counts))
    assert found.supports[0].tolist() == repeated.support_.tolist()
    problem = Problem(X.loc[X.index.repeat(counts)], np.repeat(y, counts), gamma=GAMMA, k=3)
    np.testing.assert_allclose(found.coefficients[0], refit(problem, model.support_, REFIT_GAMMA), rtol=1e-6)


def test_a_refit_is_an_estimate(data):
    solution = solve(Problem(*data, k=3, gamma=10.0))
    for refit_gamma in (100.0, "same", "cv"):
        wanted = estimate(solution, refit_gamma).coefficients
        np.testing.assert_allclose(refit(solution.problem, solution.support, refit_gamma), wanted, rtol=1e-5)


def test_frequencies_and_intervals(found, model):
    assert found.n_resamples == found.n_asked == 20
    assert found.ended == "finished"
    assert found.n_unproved == 0
    assert found.frequency.shape == (15,)
    assert found.frequency[4] == 1.0  # included by the user
    assert found.frequency.sum() == pytest.approx(np.mean([support.size for support in found.supports]))
    low, high = found.intervals.T
    assert (low < high).all()
    assert ((low < model.estimate_.coefficients) & (model.estimate_.coefficients < high)).sum() >= 2
    assert found.seconds > 0.0


def test_numbers_of_a_small_case():
    stability = made()
    assert stability.frequency.tolist() == pytest.approx([1 / 3, 0.0, 1.0, 1 / 3, 0.0])
    np.testing.assert_allclose(stability.intervals, np.quantile([[0, 2, 4], [1, 3, 5]], (0.025, 0.975), axis=1).T)
    assert stability.order() == [2, 0, 3]
    frame = stability.to_frame()
    assert frame.index.tolist() == ["x2", "x0", "x3"]
    assert frame["chosen"].tolist() == [True, True, False]
    assert frame["coefficient"].tolist()[:2] == [2.5, 1.5]
    assert frame.loc["x3", ["coefficient", "lower", "upper"]].isna().all()
    assert repr(stability) == "Stability(3 resamples; the model's 2 features chosen in 33 to 100 % of them)"


def test_what_was_not_done_is_said():
    assert "3 resamples of 50, all that the time limit allowed" in repr(made(n_asked=50, ended="time_limit"))
    assert "3 resamples of 50, then interrupted" in repr(made(n_asked=50, ended="interrupted"))
    assert "in 2 of them the choice is the best one found, not proved" in repr(made(n_unproved=2))


def test_html_is_escaped_and_honest():
    page = made(feature_names=np.array(["<a>", "b", "c", "d", "e"], dtype=object))._repr_html_()
    assert "&lt;a&gt;" in page
    assert "<a>" not in page
    assert "do not account for the selection" in page


def test_without_features():
    empty = made(
        supports=((), ()), coefficients=np.empty((2, 0)), support=np.array([], dtype=np.int64), estimates=np.empty(0)
    )
    assert empty.frequency.tolist() == [0.0] * 5
    assert empty.intervals.shape == (0, 2)
    assert len(empty.to_frame()) == 0
    assert "no feature chosen" in repr(empty)


@pytest.mark.parametrize(("backend", "n_jobs"), [("threading", 2), ("sequential", 1)])
def test_jobs_change_nothing(backend, n_jobs, model, data, found):
    with parallel_backend(backend):
        other = model.stability(*data, n_resamples=20, n_jobs=n_jobs)
    assert [support.tolist() for support in other.supports] == [support.tolist() for support in found.supports]
    np.testing.assert_array_equal(other.coefficients, found.coefficients)


def test_what_goes_to_other_processes_can_go_there(model, data):
    from safescreen.estimators.resampled import _resampling

    resampling = pickle.loads(pickle.dumps(_resampling(model, *data, None, 1e-2)))
    assert resampling.once(7, np.inf, np.inf).coefficients.size == 3


def test_copies_and_sparse_data(model, data, found):
    X, y = data
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.stability(X, y, n_resamples=20).coefficients, found.coefficients)
    plain = ss.L0LogisticRegression(k=3).fit(sparse.csr_array(X.to_numpy()), y)
    assert plain.stability(sparse.csr_array(X.to_numpy()), y, n_resamples=2).n_resamples == 2


def test_weights_of_zero_are_absent(data):
    X, y = data
    weights = np.where(np.arange(len(y)) < 80, 1.0, 0.0)
    model = ss.L0LogisticRegression(k=2, class_weight="balanced").fit(X, y, weights)
    shuffled = X.copy()
    shuffled.iloc[80:] = 1e3
    first = model.stability(X, y, 3, sample_weight=weights, random_state=5)
    second = model.stability(shuffled, y, 3, sample_weight=weights, random_state=5)
    np.testing.assert_allclose(first.coefficients, second.coefficients, rtol=1e-6)


def test_copies_stay_out_of_it(data):
    X, y = data
    X = X.assign(again=2.0 * X["f0"] + 1.0)
    with pytest.warns(ss.CopiesWarning):
        model = ss.L0LogisticRegression(k=3, include="f0").fit(X, y)
    assert model.stability(X, y, n_resamples=5).frequency[15] == 0.0


def test_cross_validated_models_have_one_too(data):
    X, y = data
    model = ss.L0LogisticRegressionCV(k=(1, 2), cv=3).fit(X, y)
    model.best_estimator_.time_limit = 0.0  # what the folds had left for it
    found = model.stability(X, y, n_resamples=3)
    assert found.n_unproved == 0
    assert max(support.size for support in found.supports) <= model.best_params_["k"]


def test_the_summary_shows_it(model, found, data):
    text = " ".join(str(model.summary(stability=found)).split())
    assert "95 % interval" in text
    assert "conditional on the choice of features" in text
    frame = model.summary(stability=found).to_frame()
    assert frame.loc["f4", "frequency"] == 1.0
    place = model.support_.tolist().index(4)
    assert frame.loc["f4", ["lower", "upper"]].tolist() == found.intervals[place].tolist()


def test_the_stability_of_another_model_is_refused(model, found, data):
    other = ss.L0LogisticRegression(k=2).fit(*data)
    with pytest.raises(ValueError, match="a model with other features"):
        other.summary(stability=found)
    with pytest.raises(TypeError, match="stability is a int"):
        other.summary(stability=3)


def test_time_that_does_not_suffice(model, data):
    with pytest.raises(ValueError, match="not one resample was finished"):
        model.stability(*data, time_limit=0.0)


def test_the_time_limit_keeps_what_is_finished(monkeypatch):
    resampling = counting_down(3, monkeypatch)
    done, ended = run(resampling, [0] * 10, n_jobs=1, time_limit=60.0, progress=False)
    assert (len(done), ended) == (3, "time_limit")


def counting_down(finished, monkeypatch):
    """Resamples, and a clock that passes the deadline after some of them."""
    import safescreen.stability.resampling as module

    now = [0.0]
    monkeypatch.setattr(module.time, "time", lambda: now[0])

    def once(resampling, seed, share, deadline):
        now[0] += 60.0 / (finished + 0.5)
        return None if now[0] > deadline else "done"

    monkeypatch.setattr(module, "_once", once)
    return Resampling(None, np.empty(0), Settings(), 1.0, np.empty(0), np.empty(0))


def test_interrupts_keep_what_is_finished(model, data, monkeypatch):
    import safescreen.stability.resampling as module

    calls, once = [], module._once

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return once(*arguments)

    monkeypatch.setattr(module, "_once", interrupted)
    found = model.stability(*data, n_resamples=10)
    assert (found.n_resamples, found.ended) == (2, "interrupted")
    calls[:] = [1, 1]
    with pytest.raises(KeyboardInterrupt):
        model.stability(*data, n_resamples=10)


def test_a_signal_during_a_search_keeps_what_is_finished():
    X, y, _ = ss.datasets.make_sparse_logistic(150, 300, 10, 0.3, random_state=0)
    model = ss.L0LogisticRegression(k=3).fit(X, y)
    hard = ss.L0LogisticRegression(k=12, gamma=1e4, node_limit=1)
    with pytest.warns(ss.EndedEarlyWarning):
        hard.fit(X, y)
    hard.node_limit = None
    timer = threading.Timer(1.0, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        hard.stability(X, y, n_resamples=5, rel_gap=0.0, time_limit=100.0)
    timer.join()
    assert model.stability(X, y, n_resamples=1).n_resamples == 1


def test_hard_resamples_are_not_called_proved():
    X, y, _ = ss.datasets.make_sparse_logistic(60, 80, 8, 0.3, random_state=0)
    with pytest.warns(ss.EndedEarlyWarning):
        model = ss.L0LogisticRegression(k=8, gamma=1000.0, node_limit=1).fit(X, y)
    found = model.stability(X, y, n_resamples=2)
    assert found.n_unproved == found.n_resamples == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_resamples": 0}, "n_resamples is 0, but must be an integer >= 1."),
        ({"n_resamples": 2.5}, "n_resamples is 2.5"),
        ({"rel_gap": 2.0}, "rel_gap is 2.0"),
        ({"time_limit": -1.0}, "time_limit is -1.0"),
    ],
)
def test_mistakes_are_named(options, said, model, data):
    with pytest.raises(ValueError, match=said):
        model.stability(*data, **options)


def test_other_features_are_refused(model, data):
    X, y = data
    with pytest.raises(ValueError, match="feature names"):
        model.stability(X.rename(columns={"f0": "g"}), y)


def test_progress_speaks_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr("safescreen.stability.counter._PAUSE", 0.0)
    with Counter(4, True) as counter:
        counter.show(1)
    assert capsys.readouterr().err.startswith("1 of 4 resamples in 0 s, about ")
    with Counter(4, False) as counter:
        counter.show(1)
    assert capsys.readouterr().err == ""
