"""The report's section on what all good models use."""

from __future__ import annotations

import re

import numpy as np
import pytest

import safescreen as ss
from pages import NASTY, Page, data, solved


def problem_of(**terms):
    return ss.Problem(*data(), **{"k": 3, "gamma": 50.0, **terms})


def anchors(page):
    return {attributes.get("id") for tag, attributes in page.tags if tag == "section"}


@pytest.mark.parametrize("at_least", [1, 2])
@pytest.mark.parametrize("terms", [{"k": 3}, {"mu": 0.01, "k": None}])
def test_a_core_alone(at_least, terms):
    core = ss.core(problem_of(**terms), within=0.01, at_least=at_least)
    page = Page(ss.report(core))
    assert "core" in anchors(page)
    assert f"What all good models use: {len(core)} feature" in page.text
    assert core.sentence in page.text
    assert "and what do all good models use?" in page.text
    for name in core.names:
        assert name in page.text


def test_a_model_that_nobody_searched_for_is_said_to_be_no_more():
    noise = np.random.default_rng(0)
    core = ss.core(ss.Problem(noise.normal(size=(60, 12)), noise.random(60) < 0.5, k=3, gamma=100.0), within=0.01)
    assert core.best.status == "node_limit"
    assert not core.is_searched
    page = Page(ss.report(core))
    assert "A good model, not searched for a better one" in page.text
    assert "Not proved: that this choice of features is the best one." in page.text
    assert "limit on nodes" not in page.text
    assert "There was none: one dual point proves" in page.text


def test_how_the_list_grows():
    core = ss.core(problem_of(), within=0.005)
    page = ss.report(core)
    drawn = re.findall(r"<title>within ([^<]*?) %: ([\d,]+) features?</title>", page)
    curve = core.curve([float(share) / 100.0 for share, _ in drawn])
    assert 0.005 in curve.within
    assert [int(size) for _, size in drawn] == curve.size.tolist()


def test_beside_a_solution():
    solution = solved(gamma=50.0)
    core = ss.core(solution.problem, within=0.01, upper_bound=solution)
    assert core.best is solution
    assert core.is_searched
    page = Page(ss.report(solution, core=core))
    assert {"answer", "core", "search"} <= anchors(page)
    assert "Proved optimal" in page.text
    assert "not searched" not in page.text
    bold = [attributes for tag, attributes in page.tags if tag == "tr" and attributes.get("class") == "best"]
    assert len(bold) == np.isin(core.features, solution.support).sum()


def test_beside_an_estimator_and_alternatives():
    X, y = data()
    core = ss.core(ss.Problem(X, y, k=3, gamma=50.0), within=0.01)
    fitted = ss.L0LogisticRegression(k=3, gamma=50.0).fit(X, y)
    assert "core" in anchors(Page(ss.report(fitted, core=core)))
    others = ss.alternatives(problem_of(), within=0.01)
    page = Page(ss.report(others, core=core))
    assert {"alternatives", "core"} <= anchors(page)


def test_names_that_no_page_should_trust(tmp_path):
    X, y = data(n=len(NASTY))
    labels = np.where(y == "ill", NASTY[0], NASTY[1])
    core = ss.core(ss.Problem(X, labels, k=3, gamma=50.0, feature_names=NASTY), proof=tmp_path / "core.npz")
    file = tmp_path / "page.html"
    page = Page(ss.report(core, file, proof=tmp_path / "core.npz", test=(X, labels)))
    assert file.stat().st_size
    assert "img" not in {tag for tag, _ in page.tags}
    assert "It claims:" in page.text


@pytest.mark.parametrize(
    ("result", "core", "error", "words"),
    [
        (lambda: ss.core(problem_of(), upper_bound=0.65, within=0.0), None, ValueError, "measured against a number"),
        (lambda: solved(gamma=50.0), 7, TypeError, "core is a int, but must be a Core"),
        (lambda: solved(gamma=50.0), ss.core, TypeError, "must be a Core"),
        (lambda: ss.core(problem_of()), "core", ValueError, "give a Solution with it, or the Core alone"),
        (lambda: solved(gamma=49.0), "core", ValueError, "core is that of another problem"),
    ],
)
def test_what_does_not_belong_together(result, core, error, words):
    with pytest.raises(error, match=words):
        ss.report(result(), core=ss.core(problem_of()) if core == "core" else core)


def test_other_results_have_no_such_section(page):
    assert "core" not in anchors(page)
