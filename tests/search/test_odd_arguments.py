"""Odd arguments: numbers of other kinds, huge numbers, labels and names that are hard to write down."""

from __future__ import annotations

import csv
import datetime
import json

import numpy as np
import pytest

import safescreen as ss
from problems import synthetic
from safescreen.cli.output.files import write_records
from safescreen.kernels import exploration
from safescreen.search import Settings
from safescreen.tables import read_table


@pytest.fixture(scope="module")
def problem() -> ss.Problem:
    return synthetic(60, 30, k=5, gamma=100.0)


@pytest.fixture(scope="module")
def expected(problem) -> ss.Solution:
    return ss.solve(problem)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.longdouble, np.float16])
def test_settings_are_pythons_own_numbers(kind):
    settings = Settings(
        rel_gap=kind(1e-3), time_limit=kind(10), node_limit=np.uint64(7), n_threads=np.int8(2)
    ).checked()
    found = (settings.rel_gap, settings.time_limit, settings.node_limit, settings.n_threads)
    assert [type(value) for value in found] == [float, float, int, int]


@pytest.mark.parametrize(
    "options",
    [
        {"rel_gap": np.float32(1e-4)},
        {"node_limit": 10**30},
        {"node_limit": np.uint64(2**63 + 5)},
        {"time_limit": 10**400},
        {"time_limit": np.float32(100.0)},
        {"n_threads": np.int8(1)},
    ],
)
def test_numbers_of_other_kinds_compile_nothing(problem, expected, options):
    before = list(exploration.run.signatures)
    solution = ss.solve(problem, **options)
    assert solution.status == "optimal"
    assert solution.objective == pytest.approx(expected.objective, rel=1e-6)
    assert exploration.run.signatures == before


@pytest.mark.parametrize("n_threads", [257, 10_000, 10**30])
def test_too_many_threads(problem, n_threads):
    with pytest.raises(ValueError, match=f"n_threads is {n_threads}, but must be at most 256"):
        ss.solve(problem, n_threads=n_threads)


@pytest.mark.parametrize("size", [1e-320, 1e150, 1e300, 1.7e308])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.filterwarnings("error")
def test_warm_starts_of_any_size(size, standardize):
    X, y, _ = ss.datasets.make_sparse_logistic(60, 30, 5, 1.0, random_state=0)
    problem = ss.Problem(1e3 * X, y, k=5, gamma=100.0, standardize=standardize)
    start = size * np.sign(np.arange(30) - 14.5)
    assert ss.solve(problem, warm_start=start).objective == pytest.approx(ss.solve(problem).objective, rel=1e-3)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([b"no", b"yes"], "bytes_"),
        (np.array([b"no", b"yes"], dtype=object), "bytes"),
        (np.array(["2020-01-01", "2021-01-01"], "M8[D]"), "datetime64"),
        (np.array([1, 2], "m8[s]"), "timedelta64"),
        ([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)], "date"),
        ([1j, 2], "complex"),
    ],
)
def test_labels_that_no_file_gives_back(labels, kind):
    y = np.asarray(labels)[np.arange(20) % 2]
    with pytest.raises((TypeError, ValueError), match=f"y has (labels of type {kind}|dtype complex)"):
        ss.Problem(np.random.default_rng(0).standard_normal((20, 3)), y, k=1)


def test_labels_that_are_tuples():
    with pytest.raises(ValueError, match=r"y has shape \(20, 2\)"):
        ss.Problem(np.ones((20, 3)), [(1, 2), (3, 4)] * 10, k=1)
    y = np.empty(20, dtype=object)
    y[:] = [(1, 2), (3, 4)] * 10
    with pytest.raises(TypeError, match="y has labels of type tuple"):
        ss.Problem(np.ones((20, 3)), y, k=1)


def test_half_surrogate_pairs_in_names(tmp_path, problem):
    names = ["\ud83d half", "\udc80", *(f"x{j}" for j in range(28))]
    X, y = problem.design.columns(np.arange(30)), problem.y
    solution = ss.solve(ss.Problem(X, y, k=3, include=[0, 1], feature_names=names), proof=tmp_path / "proof.npz")
    ss.save_model(solution, tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))["feature_names"] == names
    assert ss.load_model(tmp_path / "model.json").feature_names_in_.tolist() == names
    ss.report(solution, tmp_path / "report.html")
    assert "half" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_half_surrogate_pairs_in_files(tmp_path):
    np.savez(tmp_path / "data.npz", X=np.ones((2, 2)), y=["\ud83d", "é"], feature_names=["a\udc80", "b"])
    table = read_table(str(tmp_path / "data.npz"))
    assert table.names == ["a?", "b"]
    assert table.arrays["y"].tolist() == ["?", "é"]


def test_formulas_in_tables(tmp_path):
    texts = ['=HYPERLINK("http://a")', "+x", "-x", "@x", "\tx", "plain", "-1.5", "+2", "a=b", "-1e5"]
    write_records(tmp_path / "a.csv", [{"label": text, "number": -1.0} for text in texts])
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == [*(f"'{text}" for text in texts[:5]), *texts[5:]]
    assert {row["number"] for row in rows} == {"-1.0"}
