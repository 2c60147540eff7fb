"""The report: says what is proved and no more, holds any names safely, and needs nothing but a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

import safescreen as ss
from pages import NASTY, Page, data, solved
from safescreen.estimation import estimate
from safescreen.formatting import digits
from safescreen.reporting.content import sentences
from safescreen.reporting.content.features import deviations
from safescreen.reporting.content.held_out import HeldOut, Model, evaluated
from safescreen.reporting.content.subject import subject_of
from safescreen.reporting.sections.answer import training_losses

# -- the function ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["safescreen.reporting", "safescreen.reporting.sections.features", "safescreen.cli"])
def test_report_is_the_function_in_every_import_order(first):
    code = f"import {first}, safescreen; from safescreen import report; assert safescreen.report is report; report(1)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "TypeError: result is a int, but must be a Solution" in done.stderr


def test_writes_what_it_returns(solution, tmp_path):
    target = tmp_path / "a report.html"
    target.write_text("old")
    text = ss.report(solution, target)
    assert target.read_bytes() == text.encode("utf-8")
    assert os.listdir(tmp_path) == [target.name]


def test_a_failed_write_leaves_the_old_page(solution, tmp_path, monkeypatch):
    target = tmp_path / "report.html"
    target.write_text("old")

    def broken(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="disk full"):
        ss.report(solution, target)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == [target.name]


def test_same_result_same_page(solution, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    text = ss.report(solution)
    assert text == ss.report(solution)
    assert "1 January 1970" in text


def test_wrong_results():
    with pytest.raises(TypeError, match="result is a list, but must be a Solution"):
        ss.report([])
    with pytest.raises(NotFittedError):
        ss.report(ss.L0LogisticRegression())
    X, y = data()
    model = ss.L0LogisticRegressionCV(k=[2], cv=2, refit=False).fit(X, y)
    with pytest.raises(NotFittedError):
        ss.report(model)


def test_loaded_estimators_have_no_data_to_report(tmp_path):
    X, y = data()
    ss.save_model(ss.L0LogisticRegression(k=2).fit(X, y), tmp_path / "model.json")
    with pytest.raises(ValueError, match="was copied or loaded"):
        ss.report(ss.load_model(tmp_path / "model.json"))


# -- complete in itself, and safe --------------------------------------------------------------------------


def test_loads_nothing(page):
    for tag, attributes in page.tags:
        assert "src" not in attributes
        assert tag not in ("iframe", "object", "embed", "base", "form")
        assert not any(name.startswith("on") for name in attributes)
        target = attributes.get("href") or "#"
        if tag == "a":
            assert target == "https://arxiv.org/abs/2202.00467"
        else:
            assert target in ("#", "data:,")
    style = ss.report(solved()).split("<style>")[1].split("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style


def test_only_its_own_script_may_run(page):
    policy = next(a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
    assert policy.startswith("default-src 'none';")
    assert f"script-src 'sha256-{digest}';" in policy


def test_hostile_names_stay_text(nasty):
    page = Page(nasty)
    assert [tag for tag, _ in page.tags].count("script") == 2
    assert "img" not in {tag for tag, _ in page.tags}
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert nasty.encode("utf-8")
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", nasty)
    names = page.data["names"]
    assert names[0] == NASTY[0]
    assert names[4] == NASTY[4]
    assert names[5] == "\ufffd half a pair \ufffd nul \ufffd escape"
    assert len(names[7]) == 200
    assert "</script" not in page.scripts[0]
    assert NASTY[1] in page.text


@pytest.mark.parametrize("kind", ["usual", "none", "long", "wide", "hostile"])
def test_size_for_30000_features(large, kind):
    solution = large
    if kind != "usual":
        problem = large.problem.with_parameters()
        names = {
            "none": None,
            "long": np.array([f"{'a very long name ' * 12}{j}" for j in range(30_000)], dtype=object),
            "hostile": np.array([f"{'<' * 100}{j}" for j in range(30_000)], dtype=object),
            "wide": np.array(
                [f"基因表达水平测量值编号{j}的对数标准化结果与其他说明文字" for j in range(30_000)], dtype=object
            ),
        }[kind]
        vars(problem).update(feature_names=names)
        solution = replace(large, problem=problem)
    text = ss.report(solution)
    assert len(text.encode()) < 2_000_000
    found = Page(text).data
    assert found["count"] == len(found["codes"]) == len(found["margins"]) == 30_000
    if kind == "long":
        assert max(map(len, found["names"])) < 200
        assert len(set(found["names"])) == 30_000  # their ends tell them apart


# -- what it says ------------------------------------------------------------------------------------------


def test_question_and_answer(page, solution):
    assert "Which 3 or fewer of 12 features predict best whether a sample is “ill” rather than “healthy”?" in page.text
    assert "The answer: 3 features" in page.text
    assert "Proved optimal" in page.text
    assert "Among all logistic models with at most 3 of 12 features, this one is optimal up to" in page.text
    assert "Not proved" not in page.text
    assert solution.status == "optimal"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("time_limit", "The search stopped at its time limit"),
        ("node_limit", "The search stopped at its limit on nodes"),
        ("interrupted", "The search was interrupted"),
        ("numerical_limit", "double precision cannot express as small a gap"),
    ],
)
def test_unfinished_searches_claim_no_more_than_is_proved(solution, status, words):
    text = Page(ss.report(replace(solution, status=status, lower_bound=0.75 * solution.objective))).text
    assert "Best model found, not proved optimal" in text
    assert words in text
    assert "Not proved: that this choice of features is the best one." in text
    assert "Proved optimal" not in text
    assert "this one is optimal" not in text
    assert "(25 %)" in text


def test_coefficients_and_odds_ratios(page, solution):
    spread = solution.problem.design.scales
    for j in solution.support:
        effect = solution.coef[j] * spread[j]
        assert f"x{j}" in page.text
        assert digits.signed(effect) in page.text
        assert digits.padded(math.exp(effect)) in page.text


@pytest.mark.parametrize("storage", [np.asarray, sparse.csc_array])
def test_standard_deviations_without_standardisation(storage):
    X, y = data()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, y.size)
    features = np.array([0, 3, 11])
    expected = np.sqrt(np.cov(X[:, features].T, aweights=weights, ddof=0).diagonal())
    for standardize in (False, True):
        problem = ss.Problem(storage(X), y, k=2, sample_weight=weights, standardize=standardize, fit_intercept=False)
        assert deviations(problem, features) == pytest.approx(expected)
    assert deviations(problem, np.empty(0, np.int64)).size == 0


def test_training_loss(solution):
    X, y = data()
    log_odds = X @ solution.coef + solution.intercept
    loss, null = training_losses(solution, Model.of(solution, None))
    assert loss == pytest.approx(log_loss(y == "ill", 1.0 / (1.0 + np.exp(-log_odds))), abs=1e-9)
    share = np.mean(y == "ill")
    assert null == pytest.approx(log_loss(y == "ill", np.full(y.size, share)))


def test_features_match_the_screening(page, solution):
    found, screening = page.data, solution.screening
    assert [j for j in range(12) if found["codes"][j] == "o"] == screening.excluded.tolist()
    assert [j for j in range(12) if found["codes"][j] == "i"] == screening.included.tolist()
    assert [j for j in range(12) if found["codes"][j] == "u"] == screening.undecided.tolist()
    assert found["margins"] == pytest.approx(screening.margin.tolist(), rel=2e-3)
    assert all(shown <= true for shown, true in zip(found["margins"], screening.margin, strict=True))
    assert found["support"] == solution.support.tolist()
    assert found["names"] is None


def test_decisions_of_the_user():
    X, y = data()
    X[:, 5] = 7.0
    problem = ss.Problem(X, y, k=3, gamma=5.0, standardize=True, include=[8], exclude=[1, 2], fit_intercept=False)
    page = Page(ss.report(ss.solve(problem)))
    codes = page.data["codes"]
    assert (codes[8], codes[1], codes[2], codes[5]) == ("r", "f", "f", "c")
    assert [page.data["margins"][j] for j in (1, 2, 5, 8)] == [None] * 4
    assert "1 was required by the user, 2 were excluded by the user, 1 was left out for being constant" in page.text
    assert "with the 1 required feature and none of the 2 excluded features" in page.text


def test_a_budget_used_up_leaves_no_margin():
    page = Page(ss.report(solved(k=2, include=[0, 1])))
    assert page.data["codes"] == "rr" + "o" * 10
    assert page.data["margins"] == [None] * 12


def test_without_screening():
    X, y = data()
    solution = ss.solve(ss.Problem(X, y, k=3, gamma=5.0, standardize=True, fit_intercept=False), screening="none")
    page = Page(ss.report(solution))
    assert page.data["codes"] == "n" * 12
    assert "Screening was switched off" in page.text
    assert "ruled out" not in page.text.lower()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k": 1}, "Which one of 12 features predicts best whether"),
        ({"k": None, "mu": 0.01}, "Which of 12 features, each at a price of 0.01, predict best"),
        ({"k": 2, "mu": 0.001}, "Which of 12 features, at most 2, each at a price of 0.001, predict best"),
        ({"k": 12}, "How do 12 features, all of them allowed, predict best"),
        ({"k": None, "mu": 10.0}, "The best model uses no feature"),
        ({"k": None, "mu": 10.0, "fit_intercept": False}, "there is no intercept"),
        ({"standardize": False}, "Features were used in their own units"),
    ],
)
def test_kinds_of_problems(options, words):
    assert words in Page(ss.report(solved(**options))).text


def test_a_single_feature_and_few_samples():
    solution = ss.solve(ss.Problem([[0.0], [1.0], [2.0]], [0, 1, 1], k=1, fit_intercept=True, standardize=False))
    page = Page(ss.report(solution, test=([[0.5]], [1])))
    assert page.data["count"] == 1
    assert "With one class only there is no ROC curve." in page.text


def test_zero_gap_and_close_calls():
    exact = replace(solved(), lower_bound=solved().objective)
    assert "this one is optimal up to 0 %" in Page(ss.report(exact)).text


# -- held-out data -------------------------------------------------------------------------------------------


def test_scores_against_scikit_learn(solution):
    X, y = data(seed=3, m=200)
    held_out = evaluated(solution, Model.of(solution, None), (X, y))
    positive, probability = y == "ill", held_out.probability
    assert held_out.log_loss == pytest.approx(log_loss(positive, probability))
    assert held_out.brier == pytest.approx(brier_score_loss(positive, probability))
    assert held_out.auc == pytest.approx(roc_auc_score(positive, probability))


def test_area_with_ties_and_its_interval():
    rng = np.random.default_rng(5)
    positive = rng.random(60) < 0.4
    score = np.round(rng.standard_normal(60) + positive, 0)
    held_out = HeldOut(score, positive, 0.5)
    area, (low, high) = held_out.auc, held_out.auc_interval()
    assert area == pytest.approx(roc_auc_score(positive, score))
    wins = (score[positive][:, None] > score[~positive]) + 0.5 * (score[positive][:, None] == score[~positive])
    variance = wins.mean(axis=1).var(ddof=1) / positive.sum() + wins.mean(axis=0).var(ddof=1) / (~positive).sum()
    error = 1.959964 * math.sqrt(variance) / (area * (1 - area))
    logit = [math.log(p / (1 - p)) for p in (low, area, high)]
    assert np.diff(logit) == pytest.approx([error, error], rel=1e-5)


def test_calibration_covers_every_sample_once():
    rng = np.random.default_rng(0)
    score = np.round(3 * rng.standard_normal(173), 1)
    held_out = HeldOut(score, rng.random(173) < 1 / (1 + np.exp(-score)), 0.5)
    bins = held_out.calibration()
    assert sum(group.size for group in bins) == 173
    assert 5 <= len(bins) <= 10
    assert [group.predicted for group in bins] == sorted(group.predicted for group in bins)
    assert sum(group.size * group.observed for group in bins) == pytest.approx(held_out.positive.sum())
    assert all(group.low <= group.observed <= group.high for group in bins)
    constant = HeldOut(np.zeros(100), np.arange(100) < 30, 0.3).calibration()
    assert [(group.size, group.predicted, group.observed) for group in constant] == [(100, 0.5, 0.3)]
    assert (constant[0].low, constant[0].high) == pytest.approx((0.2189, 0.3958), abs=1e-4)  # Wilson's interval


def test_held_out_section(solution):
    X, y = data(seed=3, m=200)
    page = Page(ss.report(solution, test=(X, y)))
    assert f"200 samples given as held-out data, {np.sum(y == 'ill')} of them “ill”." in page.text
    assert {a.get("data-chart") for _, a in page.tags} >= {"roc", "calibration"}


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.coo_array, sparse.bsr_array])
def test_training_samples_are_not_called_unseen(solution, form):
    X, y = data()
    assert "All of them are training data, too" in Page(ss.report(solution, test=(form(X), y))).text
    fresh, others = data(seed=3, m=200)
    mixed = form(np.vstack((fresh, X[:7]))), np.concatenate((others, y[:7]))
    assert "7 of them are training data, too" in Page(ss.report(solution, test=mixed)).text
    assert "training data, too" not in Page(ss.report(solution, test=(form(fresh), others))).text


def test_samples_that_are_all_alike_say_nothing():
    X, y = np.tile([[0.0], [1.0]], (20, 1)), np.tile([0, 0, 1, 1, 1], 8)
    alike = ss.solve(ss.Problem(X, y, k=1))
    assert "training data, too" not in Page(ss.report(alike, test=(X, y))).text


def test_a_feature_that_separates_the_classes_is_pointed_out():
    X, y = data()
    X[:, 4] = np.where(y == "ill", 2.0, 1.0) + 0.1 * np.arange(len(y)) / len(y)
    sentence = "'x4' tells the classes apart alone, without a mistake: make sure that it is known before the outcome"
    model = ss.L0LogisticRegression(k=2).fit(X, y)
    assert sentence in Page(ss.report(model)).text
    assert sentence in " ".join(str(model.summary()).split())
    X[np.flatnonzero(y == "ill")[:1], 4] = 0.0  # one mistake
    assert "apart" not in str(ss.L0LogisticRegression(k=2).fit(X, y).summary())


def test_parameters_that_are_not_set_are_said_to_be(solution):
    X, y = data()
    page = Page(ss.report(ss.L0LogisticRegression(k=2).fit(X, y)))
    assert "time_limit not set" in page.text
    assert "None" not in page.text


def test_notes_about_the_data_and_the_command_that_checks(solution, tmp_path):
    assert "What was done to the data" not in Page(ss.report(solution)).text
    page = Page(ss.report(solution, notes=["Left out 3 rows.", NASTY[0]]))
    assert "What was done to the data" in page.text
    assert "Left out 3 rows." in page.text
    assert NASTY[0] in page.text
    write_proof(tmp_path / "p.npz", {"fingerprint": {}, "claims": {}})
    checked = Page(
        ss.report(solution, proof=tmp_path / "p.npz", check="safescreen verify p.npz 'my data.csv' -t 'a<b'")
    )
    assert "safescreen verify p.npz 'my data.csv' -t 'a<b'" in checked.text
    assert "data.csv --target label" not in checked.text


def test_held_out_forms_agree(solution):
    pd = pytest.importorskip("pandas")
    X, y = data(seed=3)
    dense = evaluated(solution, Model.of(solution, None), (X, y)).log_odds
    assert evaluated(solution, Model.of(solution, None), (sparse.csr_array(X), list(y))).log_odds == pytest.approx(
        dense
    )
    assert evaluated(solution, Model.of(solution, None), (pd.DataFrame(X), pd.Series(y))).log_odds == pytest.approx(
        dense
    )
    assert ss.solve(solution.problem).coef == pytest.approx(solution.coef)


def test_wrong_held_out_data(solution):
    pd = pytest.importorskip("pandas")
    X, y = data()
    named = ss.L0LogisticRegression(k=2).fit(pd.DataFrame(X).add_prefix("gene"), y)
    with pytest.raises(TypeError, match=r"test is a ndarray, but must be a pair \(X, y\)"):
        ss.report(solution, test=X)
    with pytest.raises(ValueError, match="test has 11 features, but the model was fitted to 12"):
        ss.report(solution, test=(X[:, :11], y))
    with pytest.raises(ValueError, match="test has 120 rows in X, but 119 labels in y"):
        ss.report(solution, test=(X, y[:-1]))
    with pytest.raises(ValueError, match="test has the label 'dead' in y, but the model knows 'healthy' and 'ill'"):
        ss.report(solution, test=(X, ["dead", *y[1:]]))
    with pytest.raises(ValueError, match="test has 'gene1' as column 0, but the model was fitted to 'gene0' there"):
        ss.report(named, test=(pd.DataFrame(X[:, ::-1], columns=[f"gene{(i + 1) % 12}" for i in range(12)]), y))
    with pytest.raises(ValueError, match="Input X contains NaN"):
        ss.report(solution, test=(np.full_like(X, np.nan), y))


# -- paths, cross-validation, estimators -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "values", [{"k": [4, 1, 2]}, {"mu": [1e-3, 0.3, 1e-2], "k": 4}, {"gamma": [0.1, 10.0], "k": 2}]
)
def test_paths(values):
    X, y = data()
    path = ss.l0_path(X, y, **{"gamma": 5.0, **values})
    page = Page(ss.report(path, test=data(seed=2)))
    assert f"The path: {len(path)} models" in page.text
    assert f"All {len(path)} models are proved optimal" in page.text
    assert {a.get("data-chart") for _, a in page.tags} >= {"path", "scores", "entries"}
    focus = max(path, key=lambda one: (one.support.size, one.problem.gamma))
    assert page.data["support"] == focus.support.tolist()
    times = dict(zip(page.data["models"]["features"], page.data["models"]["times"], strict=True))
    assert times == {j: sum(j in one.support for one in path) for j in times}
    for one in path:
        assert digits.above(one.objective, 5, padded=True) in page.text


def test_path_with_open_points(path):
    solutions = (*path.solutions[:-1], replace(path[-1], status="time_limit", lower_bound=path[-1].objective / 2))
    text = Page(ss.report(replace(path, solutions=solutions))).text
    assert "4 of 5 models are proved optimal" in text
    assert "the worst with a gap of 50 %" in text
    assert "Best model found, not proved optimal" in text


def test_path_of_one_point_and_of_empty_models():
    X, y = data()
    assert "The path: 1 model" in Page(ss.report(ss.l0_path(X, y, k=[2]))).text
    assert "The best model uses no feature" in Page(ss.report(ss.l0_path(X, y, mu=[50.0, 20.0]))).text


@pytest.mark.parametrize("grid", [{"k": [1, 2, 3]}, {"mu": [1e-3, 1e-2]}, {"k": [2]}])
@pytest.mark.parametrize("gamma", [3.0, [0.5, 5.0]])
def test_cross_validation(grid, gamma):
    X, y = data()
    model = ss.L0LogisticRegressionCV(**grid, gamma=gamma, cv=3, scoring="roc_auc").fit(X, y)
    page = Page(ss.report(model, test=(X, y)))
    tried = len(model.cv_results_["params"])
    assert f"was chosen out of {tried} candidates for the best mean score in 3 folds" in page.text
    assert "the choice itself rests on the data and is not proved" in page.text
    varied = len({(*one.values(),)[:2] for one in model.cv_results_["params"]}) > 1  # sizes and ridges of the choice
    assert ("crossvalidation" in {a.get("data-chart") for _, a in page.tags}) == varied
    assert page.text.count("★") == varied
    assert "L0LogisticRegressionCV" in page.text


def test_cross_validation_with_failed_folds():
    X, y = data()

    def undefined(*_):
        return math.nan

    model = ss.L0LogisticRegressionCV(k=[1, 2], cv=2, scoring=undefined).fit(X, y)
    assert "best mean score in 2 folds" in Page(ss.report(model)).text


def test_cross_validation_tells_the_edge_and_what_is_undone():
    X, y = data()
    model = ss.L0LogisticRegressionCV(k=[1, 2, 3], gamma=3.0, refit_gamma=["same", "cv", 10.0], cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    model.undone_ = "Cross-validation was cut short <b>: 1 of 3 folds were left out."
    model.edges_ = ["k=3 is the largest value tried"]
    page = Page(ss.report(model))
    assert "Cross-validation was cut short <b>: 1 of 3 folds were left out." in page.text
    assert "At the edge of the grid: k=3 is the largest value tried." in page.text
    chosen = model.best_params_["refit_gamma"]
    shown = chosen if isinstance(chosen, str) else f"{chosen:g}"
    assert f"γ = 3, γ of the estimates = {shown} was chosen out of 9 candidates" in page.text


def test_a_criterion_has_no_folds():
    X, y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ss.L0LogisticRegressionCV(k=[1, 2], gamma=3.0, criterion="ebic").fit(X, y)
    page = Page(ss.report(model))
    assert "candidates for the lowest EBIC on all data." in page.text
    assert "folds" not in page.text.partition("All candidates in numbers")[0].partition("How size and ridges")[2]
    assert f"{model.cv_results_['criterion'].min():.1f}" in page.text


def test_estimator_parameters_are_shown():
    X, y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ss.L0LogisticRegression(k=2, class_weight={"ill": 2.0, "healthy": 1.0}).fit(X, y)
    text = Page(ss.report(model)).text
    assert "class_weight {'ill': 2.0, 'healthy': 1.0}" in text
    assert "weighted mean log-loss" in text
    assert f"safescreen {ss.__version__}" in text
    assert f"numpy {np.__version__}" in text


# -- proofs --------------------------------------------------------------------------------------------------


def write_proof(file: Path, header: object) -> None:
    np.savez(file, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8))


def test_proof(solution, tmp_path):
    file = tmp_path / "my proof.npz"
    fingerprint = {"matrix": "a1" * 32, "labels": "b2" * 32, "weights": "c3" * 32}
    write_proof(file, {"fingerprint": fingerprint, "claims": {"objective": solution.objective, "<b>": NASTY[0]}})
    page = Page(ss.report(solution, proof=file))
    assert hashlib.sha256(file.read_bytes()).hexdigest() in page.text
    assert all(digest in page.text for digest in fingerprint.values())
    assert "safescreen verify 'my proof.npz' data.csv --target label" in page.text
    assert "ss.verify('my proof.npz', X, y)" in page.text
    assert "<b>" in page.text
    assert NASTY[0] in page.text


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 nonsense", b"just text"])
def test_files_that_are_no_proofs(solution, tmp_path, content):
    file = tmp_path / "proof.npz"
    file.write_bytes(content)
    with pytest.raises(ValueError, match="which is no proof file"):
        ss.report(solution, proof=file)


@pytest.mark.parametrize("header", [[], {"claims": {}}, {"fingerprint": 3, "claims": {}}])
def test_proofs_with_wrong_headers(solution, tmp_path, header):
    write_proof(tmp_path / "proof.npz", header)
    with pytest.raises(ValueError, match="which is no proof file"):
        ss.report(solution, proof=tmp_path / "proof.npz")


def test_proofs_of_other_models(solution, path, tmp_path):
    file = tmp_path / "proof.npz"
    write_proof(file, {"fingerprint": {}, "claims": {"objective": path[1].objective}})
    with pytest.raises(
        ValueError, match=r"proof is 'proof.npz', which claims an objective of .* but that of the result"
    ):
        ss.report(solution, proof=file)
    assert hashlib.sha256(file.read_bytes()).hexdigest() in ss.report(path, proof=file)


def test_missing_proof(solution, tmp_path):
    with pytest.raises(FileNotFoundError):
        ss.report(solution, proof=tmp_path / "nowhere.npz")


# -- words ---------------------------------------------------------------------------------------------------


def test_words_are_about_the_right_subject(path):
    assert subject_of(path).solution is path[-1]
    assert sentences.title(subject_of(path)) == "The best 1 to 5 of 12 features"
    assert sentences.title(subject_of(path[1])) == "The best 2 of 12 features"


def test_every_term_is_told(solution, page):
    for title, value in solution.problem.terms.facts():
        assert f"{title} {value}" in page.text


# -- two ridges --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_ridges() -> ss.L0LogisticRegression:
    return ss.L0LogisticRegression(k=3, gamma=5.0, refit_gamma=80.0).fit(*data())


def test_the_model_on_the_page_is_the_estimate(two_ridges):
    X, y = data(seed=3, m=200)
    page = Page(ss.report(two_ridges, test=(X, y)))
    solution, support = two_ridges.solution_, two_ridges.support_
    spreads = deviations(solution.problem, support)
    for coefficient, proved in zip(
        two_ridges.coef_[0, support] * spreads, solution.coef[support] * spreads, strict=True
    ):
        assert digits.signed(coefficient) in page.text
        assert digits.signed(proved) not in page.text
    assert page.data["effects"] == pytest.approx(two_ridges.coef_[0, support] * spreads, rel=1e-3)
    held_out = log_loss(y == "ill", two_ridges.predict_proba(X)[:, 1])
    assert f"Log-loss {digits.nearest(held_out, 4)}" in page.text
    trained = log_loss(data()[1] == "ill", two_ridges.predict_proba(data()[0])[:, 1])
    assert f"Training log-loss {digits.nearest(trained, 4)}" in page.text


def test_the_page_says_which_ridge_is_which(two_ridges, tmp_path):
    proof = tmp_path / "proof.npz"
    solution = ss.solve(two_ridges.solution_.problem, proof=proof)
    page = Page(ss.report(solution, estimate=estimate(solution, 80.0), proof=proof)).text
    assert "Chosen at γ = 5: proved that no other choice of at most" in page
    assert "coefficients estimated at γ = 80. The model below is the estimate." in page
    assert "this choice of features, at γ = 5, is optimal up to" in page
    assert "The proof is about the choice of features at γ = 5, not about the estimates." in page
    assert "ridge γ of the estimates 80" in page


def test_a_choice_that_is_not_proved_is_said_to_be_one(two_ridges):
    early = replace(two_ridges.solution_, status="time_limit", lower_bound=0.5 * two_ridges.objective_)
    page = Page(ss.report(early, estimate=two_ridges.estimate_)).text
    assert "So none can be better than this choice of features, at γ = 5," in page
    assert "Chosen at γ = 5: the best choice found, not proved" in page


def test_with_one_ridge_nothing_is_said_of_another(solution, page, path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")  # pages made a second apart differ
    for text in (page.text, Page(ss.report(path)).text):
        assert "estimated at" not in text
        assert "estimates" not in text
    same = ss.report(solution, estimate=estimate(solution, "same"))
    assert Page(same).text == Page(ss.report(solution)).text


def test_a_path_shows_its_estimates(path):
    weak = replace(path, refit_gamma=80.0)
    X, y = data(seed=3, m=200)
    page = Page(ss.report(weak, test=(X, y))).text
    assert "The proofs are about the choices of features; coefficients and held-out scores are those of" in page
    log_odds = X @ weak.coefs[:, -1] + weak.intercepts[-1]
    assert f"Log-loss {digits.nearest(log_loss(y == 'ill', 1.0 / (1.0 + np.exp(-log_odds))), 4)}" in page


def test_only_a_solution_needs_an_estimate(two_ridges, path):
    for result in (two_ridges, path):
        with pytest.raises(ValueError, match="only a Solution needs one"):
            ss.report(result, estimate=two_ridges.estimate_)
