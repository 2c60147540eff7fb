"""Displays: they draw what they are given, on the axes they are given."""

from __future__ import annotations

import sys
import warnings
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

import safescreen as ss
from problems import plain

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    X, y, _ = ss.datasets.make_sparse_logistic(60, 30, 3, 1.0, random_state=0)
    return X, y


@pytest.fixture(scope="module")
def problem(data):
    return plain(*data, k=3, exclude=[4])


@pytest.fixture(scope="module")
def path(data):
    return ss.l0_path(*data, k=range(1, 5))


def cv_results(**extra):
    params = [{"step__k": k, "step__gamma": g} for g in (0.1, 1.0) for k in (1, 2, 3)]
    return {"params": params, "mean_test_score": np.arange(6.0), "std_test_score": np.ones(6), **extra}


def test_screening(problem):
    screening = ss.screen(problem)
    display = ss.ScreeningDisplay.from_screening(screening)
    drawn = sum(len(points.get_offsets()) for points in display.ax_.collections)
    assert drawn == 29  # the feature excluded by hand has no margin
    assert display.figure_ is display.ax_.figure
    labels = display.ax_.get_legend_handles_labels()[1]
    assert f"in no optimal model ({screening.excluded.size})" in labels
    assert f"{screening.percent:.1f} %" in display.ax_.get_title()
    margin = np.full(20_000, 0.1)
    nearly = ss.ScreeningDisplay(margin, np.arange(19_993), np.arange(0)).plot()
    assert nearly.ax_.get_title().startswith("99.9 % of 20,000 features")


def test_screening_from_problem(problem):
    _, ax = plt.subplots()
    assert ss.ScreeningDisplay.from_problem(problem, ax=ax, s=3.0).ax_ is ax


def test_path(path):
    display = ss.PathDisplay.from_path(path)
    upper, lower = display.ax_
    chosen = np.unique(np.concatenate(path.supports))
    assert len(upper.get_lines()) == 1 + chosen.size
    np.testing.assert_array_equal(lower.get_lines()[0].get_ydata(), path.objectives)
    np.testing.assert_array_equal(lower.get_lines()[1].get_ydata(), path.lower_bounds)
    assert lower.get_xlabel() == "budget k"


def test_path_on_given_axes(path):
    _, axes = plt.subplots(1, 2)
    display = ss.PathDisplay.from_path(path, ax=axes, standardized=False, linewidth=1.0)
    assert list(display.ax_) == list(axes)


def test_path_over_prices(data):
    path = ss.l0_path(*data, mu=[1e-4, 1e-2, 1.0])
    display = ss.PathDisplay.from_path(path)
    assert display.ax_[1].get_xscale() == "log"


def test_path_without_any_feature(data):
    ss.PathDisplay.from_path(ss.l0_path(*data, mu=[10.0, 20.0]))


def test_convergence(problem):
    solution = ss.solve(problem)
    display = ss.ConvergenceDisplay.from_solution(solution)
    upper, lower = display.ax_.get_lines()
    assert upper.get_ydata()[-1] == solution.objective
    assert lower.get_ydata()[-1] == solution.lower_bound
    assert (np.diff(display.seconds) >= 0.0).all()


@pytest.mark.parametrize("seconds", [[0.016, 0.016], [0.0159, 0.0161]])
def test_a_search_that_ends_at_once_leaves_no_empty_picture(seconds):
    display = ss.ConvergenceDisplay(seconds, [0.3, 0.31], [0.4, 0.32]).plot()
    left, right = display.ax_.get_xlim()
    reach = max(np.ptp(line.get_xdata()) / (right - left) for line in display.ax_.get_lines())
    dots = [line for line in display.ax_.get_lines() if line.get_marker() == "o"]
    assert reach > 0.5 or len(dots) == 2


def test_from_estimator(problem):
    fitted = SimpleNamespace(solution_=ss.solve(problem))
    assert ss.ConvergenceDisplay.from_estimator(fitted).ax_ is not None
    assert ss.ScreeningDisplay.from_estimator(fitted).ax_ is not None
    assert ss.ScreeningDisplay.from_estimator(SimpleNamespace(screening_=ss.screen(problem))).ax_ is not None
    for display in (ss.ConvergenceDisplay, ss.ScreeningDisplay):
        with pytest.raises(ValueError, match="holds no solution"):
            display.from_estimator(SimpleNamespace(solution_=None))


def test_cv():
    class Fitted:
        cv_results_ = cv_results(split0_test_score=np.arange(6.0), split1_test_score=np.arange(6.0))
        best_index_ = 5
        scoring = "neg_log_loss"

    display = ss.CVDisplay.from_estimator(Fitted())
    assert display.ax_.get_ylabel() == "neg log loss (mean ± standard error)"
    assert set(display.ax_.get_legend_handles_labels()[1]) == {"chosen", "gamma = 0.1", "gamma = 1"}
    assert display.ax_.get_xlabel() == "budget k"


def test_cv_from_plain_results():
    display = ss.CVDisplay(cv_results()).plot()
    assert "standard deviation" in display.ax_.get_ylabel()


def three_parameters(k=(1, 2, 3), gamma=(1.0, 10.0), refit=("same", 30.0), prefix=""):
    names = [f"{prefix}{name}" for name in ("gamma", "k", "refit_gamma")]
    return [dict(zip(names, values, strict=True)) for values in product(gamma, k, refit)]


def drawn(display):
    """The lines with bars: label, places and heights."""
    lines = {bars.get_label(): bars.lines[0] for bars in display.ax_.containers}
    return {label: (line.get_xdata().tolist(), line.get_ydata().tolist()) for label, line in lines.items()}


@pytest.mark.parametrize("prefix", ["", "step__"])
def test_cv_shows_each_size_at_its_best_second_ridge(prefix):
    mean = np.array([1.0, 2.0, 4.0, 3.0, np.nan, 5.0, 1.5, 2.5, 4.5, 3.5, 5.5, 5.0])
    splits = {f"split{i}_test_score": mean for i in range(4)}
    params = three_parameters(prefix=prefix)
    results = {"params": params, "mean_test_score": mean, "std_test_score": np.full(12, 0.2), **splits}
    display = ss.CVDisplay(results, best_index=8).plot()
    assert drawn(display) == {
        "gamma = 1": ([1.0, 2.0, 3.0], [2.0, 4.0, 5.0]),
        "gamma = 10": ([1.0, 2.0, 3.0], [2.5, 4.5, 5.5]),
    }
    assert display.ax_.get_xlabel() == "budget k"
    assert display.ax_.get_legend().get_title().get_text() == "each at its best refit_gamma"
    assert "chosen (refit_gamma = same)" in display.ax_.get_legend_handles_labels()[1]
    star = next(line for line in display.ax_.get_lines() if line.get_marker() == "*")
    assert (star.get_xdata().item(), star.get_ydata().item()) == (2.0, 4.5)
    low, high = display.ax_.containers[0].lines[2][0].get_segments()[0][:, 1]
    assert high - low == pytest.approx(2 * 0.2 / np.sqrt(4))


def test_cv_is_drawn_along_sizes_even_if_there_are_more_ridges():
    params = three_parameters(k=(1, 2), gamma=(1.0, 3.0, 9.0))
    results = {"params": params, "mean_test_score": np.arange(12.0), "std_test_score": np.zeros(12)}
    display = ss.CVDisplay(results).plot()
    assert display.ax_.get_xlabel() == "budget k"
    assert len(drawn(display)) == 3


def test_cv_of_second_ridges_alone():
    """The one that is the same as that of the choice has its place."""
    params = three_parameters(k=(2,), gamma=(1.0,), refit=("same", 30.0, 10.0))
    results = {"params": params, "mean_test_score": [1.0, 2.0, 3.0], "std_test_score": np.zeros(3)}
    display = ss.CVDisplay(results, 2).plot()
    (line,) = drawn(display).values()
    assert line == ([1.0, 10.0, 30.0], [1.0, 3.0, 2.0])
    assert display.ax_.get_xlabel() == "refit_gamma"


def test_cv_of_a_criterion():
    values = np.array([30.0, 25.0, 20.0, 22.0, 28.0, 27.0])
    fitted = SimpleNamespace(
        cv_results_={
            "params": three_parameters(refit=("cv",)),
            "mean_test_score": -values,
            "std_test_score": np.zeros(6),
            "criterion": values,
        },
        best_index_=2,
        scoring=None,
        criterion="ebic",
    )
    display = ss.CVDisplay.from_estimator(fitted)
    assert display.ax_.get_ylabel() == "EBIC (smaller is better)"
    assert drawn(display)["gamma = 1"] == ([1.0, 2.0, 3.0], [30.0, 25.0, 20.0])
    assert not display.ax_.containers[0].has_yerr
    star = next(line for line in display.ax_.get_lines() if line.get_marker() == "*")
    assert star.get_ydata().item() == 20.0


def test_cv_of_the_estimator(data):
    model = ss.L0LogisticRegressionCV(k=[1, 2, 3], gamma=[1.0, 10.0], cv=3, refit=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.GridEdgeWarning)
        model.fit(*data)
    display = ss.CVDisplay.from_estimator(model)
    assert display.ax_.get_ylabel() == "neg log loss (mean ± standard error)"
    assert {"gamma = 1", "gamma = 10"} == set(drawn(display))


def test_cv_refuses_what_it_cannot_draw():
    with pytest.raises(ValueError, match="cv_results lacks mean_test_score, std_test_score"):
        ss.CVDisplay({"params": []})
    with pytest.raises(ValueError, match="fit it first"):
        ss.CVDisplay.from_estimator(object())
    words = {"params": [{"a": "x"}, {"a": "y"}], "mean_test_score": [0, 1], "std_test_score": [0, 0]}
    with pytest.raises(ValueError, match="no numeric parameter"):
        ss.CVDisplay(words).plot()


@pytest.mark.parametrize("make", [ss.ConvergenceDisplay, ss.PathDisplay])
def test_drawn_once_however_often_it_is_asked(make, problem, path):
    display = make.from_path(path) if make is ss.PathDisplay else make.from_solution(ss.solve(problem))
    figure, axes, size = display.figure_, np.ravel(display.ax_).size, display.figure_.get_size_inches().tolist()
    assert display.plot().plot(linewidth=7.0) is display
    assert plt.get_fignums() == [figure.number]
    assert display.figure_ is figure
    assert figure.axes == np.ravel(display.ax_).tolist()
    assert (len(figure.axes), figure.get_size_inches().tolist()) == (axes, size)
    assert np.ravel(display.ax_)[0].get_lines()[-1].get_linewidth() == 7.0


def test_drawn_again_when_its_figure_is_gone(problem):
    display = ss.ConvergenceDisplay.from_solution(ss.solve(problem))
    first = display.figure_
    plt.close(first)
    other = plt.figure()
    assert other.number == first.number
    display.plot()
    assert display.figure_ not in (first, other)
    assert other.axes == []
    assert len(plt.get_fignums()) == 2


def test_axes_of_others_are_not_emptied(problem):
    _, ax = plt.subplots()
    display = ss.ConvergenceDisplay.from_solution(ss.solve(problem), ax=ax)
    display.plot()
    assert display.ax_ is not ax
    assert len(ax.get_lines()) == 2


def test_a_notebook_shows_one_picture(path):
    """As IPython does: the object itself, and then every figure that is open."""
    formatting = pytest.importorskip("IPython.core.formatters")
    display = ss.PathDisplay.from_path(path).plot()
    shown, _ = formatting.DisplayFormatter().format(display)
    assert list(shown) == ["text/plain"]
    assert len(plt.get_fignums()) == 1


def test_without_matplotlib(monkeypatch, problem):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'safescreen\[plot\]'"):
        ss.ScreeningDisplay.from_problem(problem)


def test_stability(data):
    X, y = data
    stability = ss.L0LogisticRegression(k=2).fit(X, y).stability(X, y, n_resamples=5)
    display = ss.StabilityDisplay.from_stability(stability, top=3)
    bars = {bar.get_y() + 0.35: bar.get_width() for bar in display.ax_.patches}
    shown = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert {*stability.names(stability.support)} <= {*shown}
    assert len(bars) == len(shown) <= 5
    assert [bars[place] for place in sorted(bars)] == pytest.approx(100.0 * display.frequency)
    assert "5 resamples" in display.ax_.get_xlabel()
    with pytest.raises(ValueError, match="top is 0"):
        ss.StabilityDisplay.from_stability(stability, top=0)


def test_names_with_dollars_are_not_mathematics():
    display = ss.StabilityDisplay(["$a$", "b"], [0.5, 0.1], [True, False]).plot()
    assert display.ax_.get_yticklabels()[0].get_text() == r"\$a\$"
    display.figure_.canvas.draw()


def test_alternatives(data):
    others = ss.alternatives(plain(*data, mu=0.005), within=0.01)
    display = ss.AlternativesDisplay.from_alternatives(others)
    models, prices = display.ax_
    [image] = models.get_images()
    shown = others.to_frame()["index"].to_numpy()[:30]
    np.testing.assert_array_equal(image.get_array(), np.sign(others.coefs.toarray()[:200, shown]).T)
    assert [label.get_text() for label in models.get_yticklabels()] == others.problem.names(shown)
    drawn = {bar.get_y() + bar.get_height() / 2: bar.get_width() for bar in prices.containers[1]}
    expected = 100.0 * others.price_without[shown] / others.best.objective
    np.testing.assert_allclose([drawn[place] for place in sorted(drawn)], expected, rtol=1e-4, atol=1e-4)
    assert models.get_xlabel() == f"{len(others)} models, best first"


def test_alternatives_say_what_is_left_out(data):
    others = ss.alternatives(plain(*data, mu=0.005), within=0.01)
    _, axes = plt.subplots(1, 2)
    display = ss.AlternativesDisplay.from_alternatives(others, top=2, most_models=3, ax=axes, alpha=0.5)
    assert list(display.ax_) == list(axes)
    total = others.order().size
    assert axes[0].get_xlabel() == f"the best 3 of {len(others):,} models, best first\n2 of {total:,} features"
    assert axes[0].get_images()[0].get_array().shape == (2, 3)
    assert len(axes[1].get_yticklabels()) == 2  # axes of others may not share theirs
    with pytest.raises(ValueError, match="most_models is 0, but must be an integer >= 1"):
        ss.AlternativesDisplay.from_alternatives(others, most_models=0)


@pytest.mark.parametrize("asked", [{"mu": 5.0}, {"k": 3, "limit": 0.0}, {"k": 1, "include": [2]}])
def test_alternatives_with_little_to_show(data, asked):
    terms = {name: value for name, value in asked.items() if name != "limit"}
    others = ss.alternatives(plain(*data, **terms), within=0.0, time_limit=asked.get("limit"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display = ss.AlternativesDisplay.from_alternatives(others)
        display.figure_.canvas.draw()
    assert len(display.names) == others.order().size


def test_alternatives_that_are_priced_by_bounds_alone():
    signs = [[1, 1], [-1, 0], [1, 0], [0, 1]]
    display = ss.AlternativesDisplay(
        list("abcd"), signs, [np.inf, 0.02, np.nan, 0.0], [0.01, 0.005, np.nan, 0.0]
    ).plot()
    _, prices = display.ax_
    open_part, proved = prices.containers
    np.testing.assert_allclose([bar.get_width() for bar in proved], [1.0, 0.5, 0.0, 0.0])
    np.testing.assert_allclose([bar.get_width() for bar in open_part], [0.0, 1.5, 0.0, 0.0])
    np.testing.assert_allclose(prices.collections[0].get_offsets(), [[1.0, 0.0]])


def test_the_size_of_a_core(problem):
    core = ss.core(problem, within=0.0)
    display = ss.CoreDisplay.from_core(core, within=[0.0, 0.01, 1000.0], color="red")
    (line,) = display.ax_.lines
    assert line.get_xdata().tolist() == [0.0, 1.0]
    assert line.get_ydata()[0] == len(core)
    assert line.get_color() == "red"
    assert np.isnan(display.size[2])
    assert "at least 1" in display.ax_.get_title()
