"""The report's section on all models that are as good."""

from __future__ import annotations

import numpy as np
import pytest

import safescreen as ss
from pages import NASTY, Page, data
from safescreen.good_models import telling


def others_of(**asked):
    terms = {name: asked.pop(name) for name in ("k", "mu") if name in asked}
    return ss.alternatives(ss.Problem(*data(), gamma=5.0, **terms), **asked)


@pytest.mark.parametrize("terms", [{"k": 4}, {"mu": 0.01}])
def test_all_good_models(terms):
    others = others_of(**terms, within=0.01)
    page = Page(ss.report(others))
    assert ("section", {"id": "alternatives"}) in page.tags
    assert f"Which other models are as good: {telling.kind(others)}" in page.text
    assert " ".join(others.describe().split()) in page.text
    assert "and which other models are as good?" in page.text
    assert "Complete: proved" in page.text
    cells = [attributes for tag, attributes in page.tags if tag == "td" and "model " in (attributes.get("title") or "")]
    assert len(cells) == others.coefs[:60].nnz
    for name in others.to_frame().index:
        assert name in page.text
    if len(others) > 1:
        assert "How much the models disagree." in page.text
    assert (
        "the first models" not in page.text or others.best.nodes == 0
    )  # no search is said to be needless that was not


def test_a_list_that_is_not_complete():
    page = Page(ss.report(others_of(k=4, time_limit=0.0)))
    assert "Not complete" in page.text
    assert "Complete: proved" not in page.text
    assert "No exchange of a feature of the best model was found." in page.text


def test_nothing_to_show():
    page = Page(ss.report(others_of(mu=5.0)))
    assert "1 model is within" in page.text
    assert "The best model uses no feature" in page.text


def test_names_that_no_page_should_trust(tmp_path):
    X, y = data(n=len(NASTY))
    labels = np.where(y == "ill", NASTY[0], NASTY[1])
    others = ss.alternatives(ss.Problem(X, labels, mu=0.01, gamma=5.0, feature_names=NASTY), within=0.02)
    file = tmp_path / "page.html"
    page = Page(ss.report(others, file, test=(X, labels)))
    assert file.stat().st_size
    assert "img" not in {tag for tag, _ in page.tags}
    assert "heldout" in {attributes.get("id") for _, attributes in page.tags}


def test_other_results_have_no_such_section(page):
    assert "alternatives" not in {attributes.get("id") for _, attributes in page.tags}
