"""The report in a browser: it opens quietly, fits, sorts, filters and prints."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import browser
import safescreen as ss
from pages import NASTY, data
from safescreen.search import TracePoint

needs_browser = pytest.mark.skipif(browser.CHROMIUM is None, reason="no Chromium is installed")
NAMES = "[...document.querySelectorAll('#explorer tbody th')].map(cell => cell.textContent)"
FEATURES = "[...document.querySelectorAll('#explorer tbody tr')].map(row => Number(row.dataset.feature))"
SHOWN = "document.getElementById('shown').textContent"


def click(selector: str) -> str:
    return f"document.querySelector({selector!r}).click()"


def search(text: str) -> str:
    return (
        f"(() => {{ const box = document.getElementById('needle'); box.value = {json.dumps(text)};"
        " box.dispatchEvent(new Event('input')); })()"
    )


@pytest.fixture(scope="module")
def chromium():
    if browser.CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    with browser.Browser() as started:
        yield started


@pytest.fixture(scope="module")
def large_file(large, tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("pages") / "large.html"
    ss.report(large, file)
    return file


@pytest.fixture(scope="module")
def full_file(path, tmp_path_factory) -> Path:
    """A page with all charts but cross-validation's, bounds over time included."""
    X, y = data()
    file = tmp_path_factory.mktemp("pages") / "full.html"
    trace = [TracePoint(0.01 * i, i, 0.3 + 0.01 * i, 0.5 - 0.005 * i) for i in range(1, 9)]
    last = replace(path[-1], nodes=8, trace=trace)
    ss.report(replace(path, solutions=(*path.solutions[:-1], last)), file, test=(X, y))
    return file


@needs_browser
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, False), (1280, True)])
def test_opens_quietly_and_fits(chromium, full_file, width, dark):
    chromium.open(full_file, width, dark=dark)
    assert chromium.complaints() == []
    assert chromium.requests() == [full_file.resolve().as_uri()]
    assert chromium.run("document.documentElement.scrollWidth") <= width
    paper = chromium.run("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", paper)[:3])) / 3
    assert (brightness < 60) == dark


@needs_browser
def test_charts_are_drawn_inside_their_frames(chromium, full_file):
    chromium.open(full_file)
    charts = chromium.run("""[...document.querySelectorAll('.chart')].map(chart => {
        const frame = chart.querySelector('svg').getBoundingClientRect();
        const marks = [...chart.querySelectorAll('svg path:not(.grid)')].map(path => path.getBoundingClientRect());
        return {name: chart.dataset.chart, width: frame.width, height: frame.height, marks: marks.length,
                inside: marks.every(m => m.left > frame.left - 9 && m.right < frame.right + 9 &&
                                         m.top > frame.top - 9 && m.bottom < frame.bottom + 9)};
    })""")
    assert {chart["name"] for chart in charts} == {"path", "scores", "margins", "bounds", "roc", "calibration"}
    for chart in charts:
        assert chart["width"] > 250
        assert chart["height"] >= 200
        assert chart["marks"] > 0
        assert chart["inside"]
    assert chromium.run("document.querySelectorAll('.matrix td.plus, .matrix td.minus').length") == 1 + 2 + 3 + 4 + 5


@needs_browser
def test_cross_validation_chart(chromium, tmp_path):
    X, y = data()
    model = ss.L0LogisticRegressionCV(k=[1, 2, 3], gamma=[0.5, 5.0], cv=3).fit(X, y)
    ss.report(model, tmp_path / "cv.html")
    chromium.open(tmp_path / "cv.html")
    assert chromium.complaints() == []
    assert chromium.run("document.querySelectorAll('[data-chart=crossvalidation] .dot').length") == 6 + 1


@needs_browser
def test_table_sorts(chromium, large_file, large):
    chromium.open(large_file)
    assert chromium.complaints() == []
    margin = large.screening.margin
    first = chromium.run(FEATURES)
    assert set(first[: large.support.size]) == set(large.support.tolist())
    fallback = re.findall(
        r'<tr><td class="number">(\d+)</td><th', large_file.read_text(encoding="utf-8").split("<noscript>")[1]
    )
    assert first == [int(j) for j in fallback[:25]]
    chromium.run(click("[data-key=margin] button"))
    falling = chromium.run(FEATURES)
    assert margin[falling[0]] == pytest.approx(margin.max(), rel=1e-3)
    chromium.run(click("[data-key=margin] button"))
    rising = chromium.run(FEATURES)
    assert margin[rising[0]] == pytest.approx(margin.min(), rel=1e-3)
    assert chromium.run("document.querySelector('[data-key=margin]').getAttribute('aria-sort')") == "ascending"
    chromium.run(click("[data-key=column] button"))
    assert chromium.run(FEATURES) == list(range(25))
    chromium.run(click("[data-key=name] button"))
    names = chromium.run(NAMES)
    assert names[0] == min(large.problem.feature_names)
    for key in ("effect", "decision", "share"):
        chromium.run(click(f"[data-key={key}] button"))
        assert len(chromium.run(FEATURES)) == 25
    assert chromium.complaints() == []


@needs_browser
def test_table_filters_and_pages(chromium, large_file, large):
    chromium.open(large_file)
    assert chromium.run(SHOWN) == "1–25 of 30,000"
    chromium.run(click("[data-turn='1']"))
    assert chromium.run(SHOWN) == "26–50 of 30,000"
    name = large.problem.feature_names[12_345]
    chromium.run(search(name[4:12].lower()))
    assert chromium.run(NAMES) == [name]
    assert chromium.run(SHOWN) == "1–1 of 1"
    chromium.run(search("12345"))
    assert 12_345 in chromium.run(FEATURES)
    chromium.run(search("no such feature"))
    assert "No feature matches." in chromium.run("document.querySelector('#explorer tbody').textContent")
    chromium.run(search(""))
    chromium.run(click("[data-group=model]"))
    assert set(chromium.run(FEATURES)) == set(large.support.tolist())
    chromium.run(click("[data-group=out]"))
    assert chromium.run(SHOWN) == f"1–25 of {large.screening.excluded.size:,}"
    assert chromium.complaints() == []


@needs_browser
def test_hostile_names_in_the_browser(chromium, nasty, tmp_path):
    (tmp_path / "nasty.html").write_text(nasty, encoding="utf-8")
    for width in (1280, 390):
        chromium.open(tmp_path / "nasty.html", width)
        assert chromium.complaints() == []
        assert chromium.requests() == [(tmp_path / "nasty.html").as_uri()]
        assert chromium.run("window.hacked") is None
        shown = chromium.run(NAMES)
        assert {NASTY[0], NASTY[1], NASTY[2], NASTY[3], NASTY[4], NASTY[6]} <= set(shown)
        assert chromium.run("document.documentElement.scrollWidth") <= width
    chromium.run(search("</script>"))
    assert chromium.run(NAMES) == [NASTY[0]]


@needs_browser
def test_without_scripts(chromium, large_file):
    chromium.open(large_file, scripts=False)
    try:
        chromium.call("Emulation.setScriptExecutionDisabled", value=False)  # for the questions below
        assert chromium.run("document.querySelectorAll('noscript table tbody tr').length") == 50
        assert chromium.run("document.getElementById('explorer').hidden")
    finally:
        chromium.call("Emulation.setScriptExecutionDisabled", value=False)


@needs_browser
def test_prints(chromium, full_file, tmp_path):
    chromium.open(full_file, dark=True)
    chromium.pdf(tmp_path / "page.pdf")
    content = (tmp_path / "page.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type /Page\b", content)) <= 12
    chromium.call("Emulation.setEmulatedMedia", media="print", features=[])
    assert chromium.run("getComputedStyle(document.querySelector('.controls')).display") == "none"
    assert chromium.run("getComputedStyle(document.documentElement).getPropertyValue('--ink')").strip() == "#1d2226"
