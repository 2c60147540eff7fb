"""The reproduction: published tables, resumable runs, honest tables, and the baseline against the solver."""

from __future__ import annotations

import csv
import io
import json
import multiprocessing
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import safescreen as ss
from safescreen.cli import app
from safescreen.cli.failures import INTERRUPTED
from safescreen.reproduction.baseline.conic import rounded_model
from safescreen.reproduction.experiments import (
    MODES,
    SYNTHETIC,
    TARGETS,
    Choice,
    Instance,
    Task,
    card_settings,
    published,
    published_table,
    real_settings,
    reg_settings,
    tasks,
)
from safescreen.reproduction.figures import draw
from safescreen.reproduction.measure import measure
from safescreen.reproduction.results import FAILED, LIMIT, OPTIMAL, Results
from safescreen.reproduction.runner import Display, _new_pool, run
from safescreen.reproduction.tables import build
from safescreen.reproduction.writing import OPEN, as_csv, as_markdown, as_report, as_rich, number
from safescreen.testing.conic import conic_model

runner = CliRunner()


class Silent:
    """A display that only remembers."""

    def __init__(self):
        self.seen = []

    def update(self, waiting, running):
        self.seen.append((len(waiting), len(running)))


def tiny(kind="nodes", count=3, gap=1e-4, time_limit=20.0, n=12, m=25):
    return [Task(Instance(SYNTHETIC, 2.0, k=3, n=n, m=m, seed=seed), kind, gap, time_limit) for seed in range(count)]


def result(status=OPTIMAL, seconds=2.0, **more):
    return {
        "status": status, "seconds": seconds, "nodes": 10, "objective": 0.5, "lower_bound": 0.4999, "wall": seconds,
        "conic_bound": 0.4998, "big_m_bound": 0.45, "screened_percent": 90.0, "screened_percent_best": 95.0,
        "n": 500, "m": 200, **more,
    }  # fmt: skip


def filled(path, choice, change=lambda task: {}):
    """Results for every task, without measuring anything."""
    results = Results(path)
    for task in tasks(choice):
        results.add(task, result(**change(task)))
    return results


# -- the paper -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "settings"),
    [
        ("table1", reg_settings()),
        ("table3", reg_settings()),
        ("table2", [s for s in card_settings() if s.n != 200]),
        ("table4", [s for s in card_settings() if s.n != 200]),
        ("table5", [s for s in real_settings() if s.data != "chowdary"]),
    ],
)
def test_our_settings_are_those_of_the_paper(table, settings):
    found = [published(table, setting) for setting in settings]
    assert sorted(map(id, found)) == sorted(map(id, published_table(table)))


def test_published_numbers():
    assert [len(published_table(f"table{number}")) for number in range(1, 6)] == [18, 27, 18, 27, 18]
    reg, card = Instance(SYNTHETIC, 1.0, mu=5e-4, n=500, m=200), Instance(SYNTHETIC, 1.8, k=50, n=2941, m=500)
    assert published("table1", reg)["bigm_gap_percent"] == 12.91
    assert published("table2", card)["conic_gap_percent"] is None
    assert published("table4", replace(card, m=1000, gamma=1.0))["speedup"] == 19.9
    assert published("table2", replace(card, n=200)) == published("table2", replace(card, n=500))  # both readings
    assert published("table5", Instance("chowdary", 1.0, mu=5e-4)) == {}
    row = published("table5", Instance("newsgroups", 1.0, mu=5e-4))
    assert (row["bnb_seconds"], row["bnb_screening_seconds"], row["screened_percent"]) == (None, None, 99.0)


def test_the_default_run():
    """10 seeds for REG and for CARD up to n = 1,000, 3 for n = 2,941, every measurement once."""
    wanted = tasks(Choice())
    assert (Choice().gap, Choice().time_limit, Choice().targets) == (1e-4, 300.0, TARGETS)
    assert len({task.key for task in wanted}) == len(wanted)
    seeds = {
        (form, n): {t.instance.seed for t in wanted if t.instance.n == n and (t.instance.k is None) == (form == "REG")}
        for form, n in (("REG", 500), ("CARD", 200), ("CARD", 500), ("CARD", 1000), ("CARD", 2941))
    }
    assert seeds.pop(("CARD", 2941)) == set(range(3))
    assert all(found == set(range(10)) for found in seeds.values())
    ours = [task for task in wanted if task.kind in (*MODES, "roots")]
    assert len(ours) == 4 * (180 + 3 * 90 + 27 + 24)


def test_tables_share_their_instances():
    alone = sum(len(tasks(Choice((target,)))) for target in TARGETS)
    assert len(tasks(Choice())) < 0.7 * alone
    both = {task.key for task in tasks(Choice(("table1",)))} & {task.key for task in tasks(Choice(("table3",)))}
    assert len(both) == 180


def test_missing_data_are_left_out():
    wanted = tasks(Choice(("table5",)), frozenset({"genomic", "arcene"}))
    assert {task.instance.data for task in wanted} == {"newsgroups", "chowdary"}


# -- results on disk -------------------------------------------------------------------------------------


def test_torn_last_line(tmp_path):
    path = tmp_path / "results.jsonl"
    wanted = tiny()
    results = Results(path)
    for task in wanted:
        results.add(task, result())
    whole = path.read_bytes()
    path.write_bytes(whole[:-25])
    torn = Results(path)
    assert [torn.find(task) is not None for task in wanted] == [True, True, False]
    torn.add(wanted[2], result(nodes=77))
    again = Results(path)
    assert again.find(wanted[2])["nodes"] == 77
    assert again.find(wanted[1]) is not None
    assert path.read_bytes().startswith(whole[:-25] + b"\n")


@pytest.mark.parametrize("junk", [b"", b"{}\n", b"null\n[1]\n", b"\xff\xfe\n", b'{"key": 3}\n'])
def test_lines_that_are_no_results(tmp_path, junk):
    path = tmp_path / "results.jsonl"
    path.write_bytes(junk)
    results = Results(path)
    results.add(tiny()[0], result())
    assert Results(path).find(tiny()[0]) is not None


def test_what_a_stored_result_is_good_for(tmp_path):
    results = Results(tmp_path / "results.jsonl")
    first, second, third = tiny(time_limit=20.0)
    results.add(first, result(seconds=5.0))
    results.add(second, result(LIMIT, seconds=20.0))
    results.add(third, result(FAILED))
    assert results.find(replace(first, time_limit=300.0)) is not None
    assert results.find(replace(first, time_limit=3.0)) is None
    assert results.find(replace(first, gap=1e-6)) is None
    assert results.find(second) is not None
    assert results.find(replace(second, time_limit=300.0)) is None
    assert results.find(third) is None  # is tried again
    assert results.shown(third)["status"] == FAILED  # and shown until then


def test_results_of_another_version_do_not_count(tmp_path):
    results = Results(tmp_path / "results.jsonl")
    results.add(tiny()[0], result())
    record = json.loads(results.path.read_text())
    assert record["version"] == ss.__version__
    results.path.write_text(json.dumps(record | {"version": "0"}) + "\n")
    assert Results(results.path).find(tiny()[0]) is None


# -- runs ------------------------------------------------------------------------------------------------


def test_run_measures_once_and_resumes(tmp_path):
    wanted = [*tiny("roots", 2), *tiny("nodes", 3), *tiny("none", 2)]
    results, display = Results(tmp_path / "results.jsonl"), Silent()
    run(wanted[:4], results, 2, Silent())
    before = results.path.read_bytes()
    run(wanted, Results(results.path), 2, display)
    assert results.path.read_bytes().startswith(before)
    assert results.path.read_bytes().count(b"\n") == len(wanted)
    assert display.seen[0] == (3, 0)
    assert display.seen[-1] == (0, 0)
    for task in wanted:
        found = Results(results.path).find(task)
        assert found["status"] == OPTIMAL
        if task.kind != "roots":
            direct = measure(task)
            assert found["objective"] == pytest.approx(direct["objective"], rel=1e-12)
            assert found["nodes"] == direct["nodes"]


_KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_reproduction import Silent, tiny
from safescreen.reproduction.results import Results
from safescreen.reproduction.runner import run
if __name__ == "__main__":
    run(tiny("conic", 20, n=30, m=60, gap=1e-5), Results(Path(sys.argv[1])), 1, Silent())
"""


def test_run_that_was_killed_continues(tmp_path):
    pytest.importorskip("cvxpy")
    psutil = pytest.importorskip("psutil")
    path, script = tmp_path / "results.jsonl", tmp_path / "killed.py"
    script.write_text(_KILLED)
    process = subprocess.Popen([sys.executable, str(script), str(path), str(Path(__file__).parent)])
    try:
        deadline = time.monotonic() + 120.0
        while time.monotonic() < deadline and not (path.exists() and path.read_bytes().count(b"\n") >= 2):
            assert process.poll() is None
            time.sleep(0.01)
        children = psutil.Process(process.pid).children(recursive=True)
    finally:
        process.kill()
        process.wait()
    assert children
    psutil.wait_procs(children, timeout=30.0)
    assert not any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children)
    kept = path.read_bytes()
    wanted = tiny("conic", 20, n=30, m=60, gap=1e-5)
    done = sum(Results(path).find(task) is not None for task in wanted)
    assert 2 <= done < 20
    run(wanted, Results(path), 1, Silent())
    assert path.read_bytes().startswith(kept)
    assert all(Results(path).find(task) is not None for task in wanted)


def test_failures_are_kept_and_do_not_stop_the_run(tmp_path):
    bad = Task(Instance("nonsense", 1.0, mu=1e-3), "nodes", 1e-4, 20.0)
    results = Results(tmp_path / "results.jsonl")
    run([bad, *tiny(count=1)], results, 1, Silent())
    assert results.shown(bad)["status"] == FAILED
    assert "the data set is 'nonsense'" in results.shown(bad)["reason"]
    assert results.find(tiny()[0])["status"] == OPTIMAL


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_process_that_dies_is_replaced(tmp_path, jobs):
    """Only its own measurement fails, and is made again by the next run."""
    others = multiprocessing.active_children()

    class Murderous(Silent):
        killed = False

        def update(self, waiting, running):
            super().update(waiting, running)
            children = [child for child in multiprocessing.active_children() if child not in others]
            if running and not self.killed and children:
                self.killed = True
                children[0].kill()

    display = Murderous()
    results = Results(tmp_path / "results.jsonl")
    wanted = tiny(count=6)
    run(wanted, results, jobs, display)
    assert display.killed
    statuses = [results.shown(task)["status"] for task in wanted]
    assert sorted(statuses) == [FAILED] + [OPTIMAL] * 5
    run(wanted, results, jobs, Silent())
    assert all(results.find(task) is not None for task in wanted)


def test_a_process_that_dies_between_tasks_is_replaced(tmp_path):
    others = multiprocessing.active_children()

    class Slow(Results):
        def add(self, task, found):
            super().add(task, found)
            for child in multiprocessing.active_children():
                if child not in others:
                    child.kill()
                    child.join()
            time.sleep(0.5)

    results = Slow(tmp_path / "results.jsonl")
    run(tiny(count=2), results, 1, Silent())
    assert results.path.read_bytes().count(b"\n") == 2


def test_interruption_ends_the_processes_at_once(tmp_path):
    others = multiprocessing.active_children()

    class Interrupting(Silent):
        def update(self, waiting, running):
            if running:
                time.sleep(0.5)
                raise KeyboardInterrupt

    results = Results(tmp_path / "results.jsonl")
    with pytest.raises(KeyboardInterrupt):
        run(tiny(count=3), results, 2, Interrupting())
    assert [child for child in multiprocessing.active_children() if child not in others] == []
    run(tiny(count=3), results, 2, Silent())
    assert all(results.find(task) is not None for task in tiny(count=3))


def _threads():
    import numba
    from threadpoolctl import threadpool_info

    return {pool["num_threads"] for pool in threadpool_info()} | {numba.get_num_threads()}


def test_workers_use_one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    before = dict(os.environ)
    with _new_pool() as pool:
        assert pool.submit(_threads).result() == {1}
    assert dict(os.environ) == before


def test_a_line_now_and_then_without_a_terminal():
    now = [0.0]
    wanted = tiny(count=10)
    console = Console(file=io.StringIO(), width=100, get_time=lambda: now[0])
    with Display(wanted, console) as display:
        for done in range(8):
            now[0] = 10.0 * done
            display.update(wanted[done:], [])
    lines = console.file.getvalue().splitlines()
    expected = ["3 of 10 measured in 30 s, about 70 s left", "6 of 10 measured in 60 s, about 40 s left"]
    assert [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines] == expected


# -- tables ----------------------------------------------------------------------------------------------


def cells(table, heading):
    column = next(c for c in table.columns if c.heading.replace("\n", " ") == heading)
    return [column.text(row) for row in table.rows]


def test_gaps_are_relative_to_the_optimum(tmp_path):
    choice = Choice(("table1",), quick=True)
    results = filled(tmp_path / "r", choice, lambda task: {"big_m_bound": 0.45 + 0.01 * task.instance.seed})
    table = build("table1", results, choice, {})
    assert set(cells(table, "big-M gap % ours")) == {"9.00 ± 1.41"}
    assert set(cells(table, "conic gap % ours")) == {"0.0400"}
    assert cells(table, "big-M gap % paper") == ["15.81", "20.34", "9.88", "13.51"]


def test_limits_are_shown_and_never_dropped(tmp_path):
    def change(task):
        late = task.kind == "none" and task.instance.m == 200 and task.instance.seed == 1
        return {"status": LIMIT, "seconds": 20.0, "lower_bound": 0.4} if late else {"seconds": 0.5}

    choice = Choice(("table3",), quick=True, time_limit=20.0)
    table = build("table3", filled(tmp_path / "r", choice, change), choice, {})
    assert cells(table, "ours none") == ["≥ 10.2 (1/2)"] * 2 + ["0.500"] * 2
    assert cells(table, "speed-up root") == ["≥ 20.5"] * 2 + ["1.00"] * 2
    assert any("2 of 24 solves hit the time limit of 20 s" in note for note in table.notes)
    assert any("largest relative gap left at a limit is 0.20" in note for note in table.notes)
    assert "≥ 10.2 (1/2)" in as_markdown(table)
    rows = list(csv.DictReader(as_csv(table).splitlines()))
    assert [row["none_at_limit"] for row in rows] == ["1", "1", "0", "0"]
    assert all(row["none_instances"] == "2" for row in rows)


def test_failures_and_gaps_in_the_results_are_shown(tmp_path):
    choice = Choice(("table3",), quick=True)
    results = Results(tmp_path / "r")
    assert set(cells(build("table3", results, choice, {}), "ours none")) == {OPEN}
    for task in tasks(choice):
        results.add(task, {"status": FAILED, "reason": "x"} if task.instance.seed else result())
    assert set(cells(build("table3", results, choice, {}), "ours none")) == {"2.00 (1/2 failed)"}


def test_stand_in_is_never_called_genomic(tmp_path):
    choice = Choice(("table5",), quick=True)
    table = build("table5", filled(tmp_path / "r", choice), choice, {"genomic": "not here."})
    names, seconds = cells(table, "data"), cells(table, "ours nodes")
    assert {"genomic", "chowdary (stand-in)", "arcene", "newsgroups"} == set(names)
    for name, text, row in zip(names, seconds, table.rows, strict=True):
        assert (text == "no data") == (name == "genomic")
        if name.startswith("chowdary"):
            assert row["published_screened_percent"] is None
            assert row["published_bnb_seconds"] is None
    assert any("is not genomic" in note for note in table.notes)
    both = build("table5", filled(tmp_path / "r", choice), choice, {"genomic": "no.", "chowdary": "no."})
    assert set(cells(both, "data")) == {"genomic", "arcene", "newsgroups"}


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_is_written_and_drawn(tmp_path, target):
    pytest.importorskip("matplotlib")
    choice = Choice((target,), quick=True)

    def change(task):
        return {"status": LIMIT, "seconds": 20.0} if task.kind in ("none", "conic") else {}

    table = build(target, filled(tmp_path / "r", choice, change), choice, {})
    assert len(table.rows) == len(choice.settings(target))
    text = as_markdown(table)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == len(table.rows) + 2
    assert len({line.count("|") for line in lines}) == 1
    assert as_rich(table).row_count == len(table.rows)
    (tmp_path / "figures").mkdir()
    assert draw(table, tmp_path / "figures").stat().st_size > 5000
    assert draw(table, tmp_path / "figures", "png").read_bytes().startswith(b"\x89PNG")
    assert sorted(p.name for p in (tmp_path / "figures").iterdir()) == [f"{target}.png", f"{target}.svg"]


def test_report_of_everything(tmp_path):
    choice = Choice(("table1", "figure1"), quick=True)
    results = filled(tmp_path / "r", choice)
    tables = [build(target, results, choice, {}) for target in choice.targets]
    text = as_report(tables, "safescreen ...", results.machines(tasks(choice)), results.seconds(tasks(choice)), True)
    assert "## Table 1" in text
    assert "(figure1.svg)" in text
    assert f"safescreen {ss.__version__}" in text
    assert results.seconds(tasks(choice)) == 2.0 * len(tasks(choice))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, OPEN),
        (np.nan, OPEN),
        (0.0, "0"),
        (0.0123, "0.0123"),
        (12.3, "12.3"),
        (12345.6, "12,346"),
        (1e-7, "1.00e-07"),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


# -- the command -----------------------------------------------------------------------------------------


def test_small_run_from_the_command_line(tmp_path):
    pytest.importorskip("matplotlib")
    arguments = ["reproduce", "figure1", "--quick", "--seeds", "1", "--out", str(tmp_path)]
    first = runner.invoke(app, arguments)
    assert first.exit_code == 0, first.output
    assert "Figure 1" in first.output
    expected = [f"figure1.{suffix}" for suffix in ("csv", "md", "svg")] + ["results.jsonl"]
    assert sorted(path.name for path in tmp_path.iterdir()) == expected
    rows = list(csv.DictReader((tmp_path / "figure1.csv").read_text().splitlines()))
    assert len(rows) == 4
    assert all(70.0 < float(row["screened_percent"]) <= float(row["screened_percent_best"]) <= 100.0 for row in rows)
    before = (tmp_path / "results.jsonl").read_bytes()
    assert runner.invoke(app, arguments).exit_code == 0
    assert (tmp_path / "results.jsonl").read_bytes() == before


def test_limit_from_the_command_line(tmp_path):
    arguments = ["reproduce", "table3", "--quick", "--seeds", "1", "--time-limit", "0", "--out", str(tmp_path)]
    found = runner.invoke(app, arguments)
    assert found.exit_code == 1, found.output
    assert "(1/1)" in found.output
    rows = list(csv.DictReader((tmp_path / "table3.csv").read_text().splitlines()))
    assert sum(int(row["nodes_at_limit"]) for row in rows) > 0
    assert all(row["nodes_instances"] == "1" for row in rows)


@pytest.mark.parametrize(
    "arguments",
    [["table9"], ["table1", "--seeds", "0"], ["table1", "--jobs", "0"], ["baseline", "--backend", "gurobi"]],
)
def test_bad_options(arguments):
    assert runner.invoke(app, ["reproduce", *arguments]).exit_code == 2


def test_bad_genomic_file(tmp_path):
    wrong = tmp_path / "x.txt"
    wrong.write_text("nothing")
    found = runner.invoke(app, ["reproduce", "table5", "--quick", "--genomic", str(wrong), "--out", str(tmp_path)])
    assert found.exit_code == 2
    assert "x.txt has no line !series_matrix_table_begin" in found.output
    assert "Traceback" not in found.output


def test_interruption_is_explained(tmp_path, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("safescreen.reproduction.runner.run", interrupted)
    found = runner.invoke(app, ["reproduce", "figure1", "--quick", "--out", str(tmp_path)])
    assert found.exit_code == INTERRUPTED
    assert "0 of 8 measurements kept; the same command continues" in found.output


def test_without_mosek(monkeypatch, tmp_path):
    pytest.importorskip("cvxpy")
    monkeypatch.setitem(sys.modules, "mosek", None)
    found = runner.invoke(app, ["reproduce", "baseline", "--backend", "mosek", "--out", str(tmp_path)])
    assert found.exit_code == 2
    assert "MOSEK is not installed" in found.output
    assert "Traceback" not in found.output


# -- measurements ----------------------------------------------------------------------------------------


def problem(seed=0, n=12, m=40, gamma=3.0, **terms):
    X, y, _ = ss.datasets.make_sparse_logistic(m, n, 4, 2.0, rho=0.3, random_state=seed)
    return ss.Problem(X, y, gamma=gamma, fit_intercept=False, standardize=False, **(terms or {"k": 4}))


TERMS = [{"mu": 5e-3}, {"k": 4}, {"mu": 2e-3, "k": 5}]


@pytest.mark.parametrize("terms", TERMS)
def test_rounded_bound_is_an_upper_bound(terms):
    one = problem(**terms)
    upper = rounded_model(one, ss.relax(one).z).objective
    best = ss.solve(one, rel_gap=0.0 + 1e-9).objective
    assert best * (1.0 - 1e-9) <= upper <= 1.05 * best


def test_rounded_bound_of_nothing():
    one = problem(mu=10.0)
    assert rounded_model(one, ss.relax(one).z).objective == pytest.approx(np.log(2.0))


# -- the baseline ---------------------------------------------------------------------------------------


@pytest.fixture
def conic():
    pytest.importorskip("cvxpy")
    from safescreen.reproduction.baseline import conic

    return conic


@pytest.mark.parametrize("screening", [False, True])
@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("seed", [0, 1])
def test_baseline_agrees_with_the_solver(conic, seed, terms, screening):
    one = problem(seed, n=25, **terms)
    theirs = conic.conic_search(one, screening, rel_gap=1e-6)
    ours = ss.solve(one, rel_gap=1e-9)
    assert theirs.status == "optimal"
    assert theirs.objective - theirs.lower_bound <= 1e-6 * theirs.objective
    assert theirs.nodes > 0
    assert theirs.objective == pytest.approx(ours.objective, rel=1.1e-6)
    assert theirs.lower_bound <= ours.objective * (1.0 + 1e-9)
    assert (theirs.screened_percent > 0.0) == screening


@pytest.mark.parametrize("terms", [*TERMS, {"k": 1}, {"mu": 0.05}, {"k": 4, "include": [0, 5], "exclude": [2]}])
def test_screening_of_the_baseline_against_brute_force(conic, terms):
    from safescreen.testing.reference import brute_force

    decided = 0
    for seed in range(3):
        one = problem(seed, n=8, **terms)
        pipeline = conic.Pipeline(one)
        truth = brute_force(one)
        relaxed = ss.relax(one)
        bound, _, fixed, _ = pipeline.root(relaxed.coef, relaxed.z, screening=True)
        assert bound <= truth.value * (1.0 + 1e-9)
        for support in truth.supports:
            assert set(np.flatnonzero(fixed.chosen)) <= set(support)
            assert not set(np.flatnonzero(fixed.out)) & set(support)
        decided += np.count_nonzero(fixed.chosen | fixed.out)
    assert decided > 0


def test_baseline_stops_at_the_time_limit(conic):
    one = problem(n=60, m=80, gamma=20.0, k=8)
    found = conic.conic_search(one, False, rel_gap=1e-9, time_limit=0.3)
    best = ss.solve(one).objective
    assert found.status == "time_limit"
    assert 0.0 < found.lower_bound <= best <= found.objective * (1.0 + 1e-4)
    nothing = conic.conic_search(one, False, time_limit=0.0)
    assert nothing.status == "time_limit"
    assert nothing.lower_bound == -np.inf
    assert nothing.nodes == 0


def test_baseline_has_no_intercept(conic):
    X, y, _ = ss.datasets.make_sparse_logistic(30, 5, 2, 1.0, random_state=0)
    with pytest.raises(ValueError, match="no intercept"):
        conic.conic_search(ss.Problem(X, y, k=2, fit_intercept=True, standardize=False), True)


@pytest.mark.parametrize("terms", TERMS)
def test_conic_model_against_our_relaxation(conic, terms):
    free = problem(n=15, **terms)
    fixed = problem(n=15, **terms, include=[1, 4], exclude=[0, 2])
    for one in (free, fixed):
        pipeline = conic.Pipeline(one)
        x, z, _ = pipeline.relax(pipeline.start, 60.0)
        bound = pipeline.dual(x, pipeline.start)
        ours = ss.relax(one)
        assert bound == pytest.approx(ours.value, rel=1e-6)
        np.testing.assert_allclose(z, ours.z, atol=2e-3)


# -- the mixed-integer model -----------------------------------------------------------------------------


@pytest.fixture
def mixed():
    pytest.importorskip("cvxpy")
    from safescreen.reproduction.baseline import mosek as module

    return module


@pytest.mark.parametrize("terms", [*TERMS, {"k": 4, "include": [0, 5], "exclude": [2]}])
def test_relaxed_mixed_integer_model_is_our_relaxation(mixed, terms):
    one = problem(**terms)
    model = conic_model(one, one.excluded, one.included)
    assert not model.model.is_mixed_integer()
    mixed.solve_model(model, "CLARABEL", 1e-4, 60.0)
    assert model.model.value == pytest.approx(ss.relax(one).value, rel=1e-6)
    whole = conic_model(one, one.excluded, one.included, integer=True)
    assert whole.model.is_mixed_integer()
    assert whole.z.size == np.count_nonzero(~one.excluded)


@pytest.mark.parametrize("screening", [False, True])
@pytest.mark.parametrize("terms", TERMS)
def test_mixed_integer_model_solved_by_another_solver(mixed, terms, screening):
    pytest.importorskip("ecos")
    one = problem(**terms)
    found = mixed.mosek_search(one, screening, rel_gap=1e-6, solver="ECOS_BB")
    assert found.status == "optimal"
    assert found.objective == pytest.approx(ss.solve(one, rel_gap=1e-9).objective, rel=2e-6)
    assert (found.screened_percent > 0.0) == screening


def test_mosek_lacks_nothing_but_a_licence(mixed):
    mosek = pytest.importorskip("mosek")
    one = problem()
    try:
        found = mixed.mosek_search(one, True)
    except ImportError as error:
        sentence = str(error)
    else:
        assert found.objective == pytest.approx(ss.solve(one).objective, rel=1.1e-4)
        return
    assert "licence" in sentence
    with pytest.raises(mosek.Error) as raised:  # model and options are accepted: the licence is asked for last
        mixed.solve_model(conic_model(one, one.excluded, one.included, integer=True), "MOSEK", 1e-4, 10.0)
    assert raised.value.errno == mosek.rescode.err_missing_license_file
