"""Good models as sentences, cards, tables and documents."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import safescreen as ss
from safescreen.good_models import telling

ODD = ["a<b>&", 'q"uote', "$m$", "=1+1", "näme\u2028", "x" * 90, "", "tab\there", "ordinary", "\ud800half"]


@pytest.fixture(scope="module")
def data():
    X, y, _ = ss.datasets.make_sparse_logistic(80, 10, 3, 1.0, random_state=0)
    return X, y


@pytest.fixture(scope="module")
def priced(data):
    return ss.alternatives(ss.Problem(*data, mu=0.004, gamma=10.0), within=0.02)


@pytest.fixture(scope="module")
def minimal(data):
    return ss.alternatives(ss.Problem(*data, k=5, gamma=10.0), within=0.005)


def spoken(others):
    return others.describe().replace("\u00a0", " ")


def test_all_models(priced):
    said = spoken(priced)
    assert said.startswith(f"{len(priced)} models are within 2 % of the best. Proved: no other is.")
    assert "inimal" not in said
    assert f"{priced.always.size} in all of them, {priced.sometimes.size} in some" in said
    assert repr(priced).startswith(f"Alternatives({len(priced)} models within 2 % of the best, complete; features: ")


def test_minimal_models(minimal):
    said = spoken(minimal)
    assert f"{len(minimal)} minimal models are within 0.5 % of the best; every model as good as that contains" in said
    assert said.count("none of its features can be left out") == 1
    assert "minimal models" in repr(minimal)


def test_the_best_model_may_have_features_to_spare(data):
    spare = ss.alternatives(ss.Problem(*data, k=4), within=0.5)
    assert "features to spare" in spoken(spare)
    assert not spare.counts[spare.best.support].all()
    assert set(spare.best.support) <= set(spare.to_frame()["index"])  # shown all the same
    tight = ss.alternatives(ss.Problem(*data, k=1), within=0.0)
    assert "features to spare" not in spoken(tight)
    assert spoken(tight).startswith(
        "1 minimal model is within 0 % of the best; every model as good as that contains it."
    )


def test_the_best_so_many(data):
    some = ss.alternatives(ss.Problem(*data, k=4), n_best=5)
    assert spoken(some).startswith("The 5 models with the smallest objective, the last ")
    assert "Proved: no other is better." in spoken(some)
    all_of_them = ss.alternatives(ss.Problem(data[0][:, :3], data[1], k=3), n_best=100)
    assert spoken(all_of_them).startswith("8 models: all that there are. Proved: none is missing.")
    few = ss.alternatives(ss.Problem(*data, mu=0.004, gamma=10.0), n_best=10_000, within=0.001)
    assert "within 0.1 % of the best. Proved: no other is." in spoken(few)


@pytest.mark.parametrize("limits", [{"time_limit": 0.0}, {"max_models": 5}])
@pytest.mark.parametrize("terms", [{"k": 5}, {"mu": 0.02}])
def test_what_is_not_complete_says_what_is_proved(limits, terms):
    X, y, _ = ss.datasets.load_breast_cancer_interactions()
    others = ss.alternatives(ss.Problem(X, y, gamma=10.0, **terms), within=0.01, **limits)
    assert not others.complete
    said = spoken(others)
    assert "others may be missing" in said
    assert others.status.sentence in said
    assert "Proved: no model that is missing is better" in said or "Proved: every model that is missing is at" in said
    assert "no other is" not in said
    assert f"not complete ({others.status})" in repr(others)
    assert others._repr_html_()
    assert json.loads(others.to_json())["complete"] is False


def test_how_far_missing_models_are_from_the_best(priced):
    from dataclasses import replace

    best = priced.best.objective
    above = replace(priced, listed=replace(priced.listed, missing_bound=1.00999 * best, status=ss.Status.TIME_LIMIT))
    assert "every model that is missing is at least 0.99 % above the best" in spoken(above)
    below = replace(above, listed=replace(above.listed, missing_bound=0.98999 * best))
    assert "is better than the best one found by more than 1.1 %" in spoken(below)


def test_features(priced):
    frame = priced.to_frame()
    assert frame.index.name == "feature"
    assert frame["share"].is_monotonic_decreasing
    assert set(frame["index"]) == set(np.flatnonzero(priced.counts))
    np.testing.assert_array_equal(frame["in_best"], np.isin(frame["index"], priced.best.support))
    dense = priced.coefs.toarray()
    for row in frame.to_dict("records"):
        used = dense[dense[:, row["index"]] != 0.0, row["index"]]
        assert (used.min(), used.max()) == (row["lowest"], row["highest"])
    assert (frame["price_without_bound"] <= frame["price_without"]).all()
    assert "price_with" in frame  # read off the list
    assert "price_with" not in priced.to_frame(price_with=False)


def test_a_price_that_takes_searches_is_asked_for(minimal):
    assert "price_with" not in minimal.to_frame()
    frame = minimal.to_frame(price_with=True)
    assert np.isfinite(frame["price_with"]).all()
    assert (frame.loc[frame["in_best"], "price_with"] == 0.0).all()


def test_models(priced):
    frame = priced.to_frame("models")
    assert len(frame) == len(priced)
    assert frame["objective"].is_monotonic_increasing
    assert frame["excess"].iloc[0] == pytest.approx(0.0, abs=1e-9)
    row = frame.iloc[3]
    coef = np.zeros(10)
    coef[row["indices"]] = row["coefficients"]
    assert priced.problem.objective(coef, row["intercept"]) == pytest.approx(row["objective"], rel=1e-9)
    assert row["features"] == priced.problem.names(row["indices"])
    assert row["size"] == len(row["features"])


def test_samples_and_exchanges(priced, minimal):
    for others in (priced, minimal):
        samples = others.to_frame("samples")
        assert len(samples) == 80
        assert (samples["lowest"] <= samples["probability"]).all()
        assert (samples["probability"] <= samples["highest"]).all()
        assert samples["share_other"].between(0.0, 1.0).all()
        pairs = others.to_frame("exchanges")
        assert pairs["cost"].is_monotonic_increasing
        assert len(pairs)
        assert set(pairs["index"]) <= set(others.best.support)
        assert not set(pairs["replaced_by_index"]) & set(others.best.support)
    assert "can be replaced by" in telling.exchanges(priced)[0]


def test_an_unknown_table(priced):
    with pytest.raises(
        ValueError, match="of is 'rows', but must be one of 'features', 'models', 'samples', 'exchanges'"
    ):
        priced.to_frame("rows")


def test_document(minimal, tmp_path):
    path = tmp_path / "others.json"
    text = minimal.to_json(path)
    assert path.read_text(encoding="utf-8") == text

    def refuse(token):
        raise AssertionError(token)

    read = json.loads(text, parse_constant=refuse)
    assert read == minimal.to_dict()
    assert (read["format"], read["version"]) == ("safescreen-alternatives", 1)
    assert read["terms"]["k"] == 5
    assert read["terms"]["include"] == []
    assert read["wish"] == {"within": 0.005, "n_best": None, "max_models": 10_000}
    assert read["complete"] is read["minimal"] is True
    assert len(read["models"]) == read["n_models"] == len(minimal)
    assert len(read["samples"]["probability"]) == read["n_samples"] == 80
    assert {one["name"] for one in read["best"]["features"]} == set(minimal.best.feature_names)
    together = [*read["always"], *read["sometimes"], *read["never"], *read["undecided"]]
    assert sorted(together) == list(range(10))


def test_one_model_and_none(data):
    nothing = ss.alternatives(ss.Problem(*data, mu=5.0))
    assert len(nothing) == 1
    assert nothing.to_frame().empty
    assert nothing.to_frame("exchanges").empty
    assert list(nothing.to_frame("models")["size"]) == [0]
    assert "1 model is within 1 % of the best. Proved: no other is." in spoken(nothing)
    assert "All of them predict the same class" in telling.contested(nothing)
    assert nothing._repr_html_()
    empty = ss.alternatives(ss.Problem(*data, k=2), time_limit=0.0)
    assert len(empty) == 0
    assert empty.to_frame("models").empty
    assert len(empty.to_frame("samples")) == 80
    assert set(empty.to_frame()["index"]) == set(empty.best.support)
    assert json.loads(empty.to_json())["models"] == []


class _Texts(HTMLParser):
    def __init__(self):
        super().__init__()
        self.texts, self.tags = [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.texts.append(data)


def test_names_of_any_kind(data):
    others = ss.alternatives(ss.Problem(*data, mu=0.001, gamma=10.0, feature_names=ODD), within=0.05)
    page = _Texts()
    page.feed(others._repr_html_())
    assert "b" not in page.tags
    assert "a<b>&" in page.texts
    others._repr_html_().encode()
    names = {row["name"] for row in json.loads(others.to_json())["features"]}
    assert names <= set(ODD)
    assert "a<b>&" in names


def test_frames_sparse_matrices_and_weights(data):
    X, y = data
    names = [f"column {j}" for j in range(10)]
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=80)
    asked = {"mu": 0.004, "gamma": 10.0, "sample_weight": weights}
    dense = ss.alternatives(ss.Problem(X, y, feature_names=names, **asked), within=0.02)
    framed = ss.alternatives(ss.Problem(pd.DataFrame(X, columns=names), y, **asked), within=0.02)
    thin = ss.alternatives(ss.Problem(sparse.csr_array(X), y, feature_names=names, **asked), within=0.02)
    for others in (framed, thin):
        pd.testing.assert_frame_equal(others.to_frame(), dense.to_frame(), atol=1e-5, rtol=1e-4)
        samples = others.to_frame("samples")
        pd.testing.assert_frame_equal(samples, dense.to_frame("samples"), atol=1e-6, rtol=1e-5)
    new = dense.disagreement(pd.DataFrame(X[:5], columns=names))
    np.testing.assert_allclose(new.probability, dense.disagreement().probability[:5])
    with pytest.raises(ValueError, match="X has 3 features, but the models were fitted to 10"):
        dense.disagreement(X[:, :3])


def test_the_card_waits_for_nobody(minimal, monkeypatch):
    from safescreen.good_models import prices

    seen = []
    monkeypatch.setattr(prices, "solve", lambda problem, **settings: seen.append(settings) or ss.solve(problem))
    fresh = type(minimal)(minimal.problem, minimal.wish, minimal.settings, minimal.listed)
    fresh._repr_html_()
    assert seen
    assert all(settings["time_limit"] <= telling._PATIENCE for settings in seen)
    seen.clear()
    fresh.to_frame()
    assert all(settings["time_limit"] is None for settings in seen)
    seen.clear()
    assert "%" in fresh._repr_html_()
    assert not seen  # known by now


def test_prices_as_they_are_shown(priced):
    from dataclasses import replace

    from safescreen.good_models.prices import Prices

    best = priced.best.objective
    shown = replace(priced)
    cost = np.array([np.nan, 0.0, np.inf, 0.0123, 0.0123, *np.zeros(5)]) * best
    bound = np.array([np.nan, 0.0, 0.0109, 0.0123, 0.0041, *np.zeros(5)]) * best
    vars(shown)["prices_without"] = Prices(cost, bound)
    told = [telling.price(shown, j).replace("\u00a0", " ") for j in range(5)]
    assert told == ["required", "0 %", "at least 1 %", "1.3 %", "0.41 % to 1.3 %"]


def test_the_others_of_a_fitted_estimator(data):
    model = ss.L0LogisticRegression(k=2).fit(*data)
    others = ss.alternatives(model.solution_.problem, n_best=3)
    assert set(others.best.support) == set(np.flatnonzero(model.coef_[0]))


def test_exchanges_know_whether_they_are_all(priced, minimal):
    from dataclasses import replace

    assert priced.exchanges_complete
    assert minimal.exchanges_complete
    for others, time in ((priced, True), (minimal, False)):  # a list of all models has them, others take searches
        hurried = type(others)(others.problem, others.wish, replace(others.settings, time_limit=0.0), others.listed)
        assert hurried.exchanges_complete is time
        assert bool(hurried.exchanges) is time
    open_list = replace(priced, listed=replace(priced.listed, missing_bound=priced.best.objective))
    assert not open_list.exchanges_complete
