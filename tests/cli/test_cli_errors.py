"""Bad input on the command line: one sentence that says what to do, exit status 2, never a traceback."""

from __future__ import annotations

import gzip
import inspect
import json
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from safescreen import cli
from safescreen.estimation import Estimate
from safescreen.saving import record

_SEPARATE = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
runner = CliRunner(**_SEPARATE)  # older versions mix the streams

GOOD = "age,colour,n,w,label\n" + "".join(
    f"{20 + i},{'red' if i % 3 else 'blue'},{i % 4},{1 + i % 2},{'yes' if i % 5 < 2 else 'no'}\n" for i in range(30)
)
NUMBERS = "a,b,label\n" + "".join(f"{i},{i * i % 7},{i % 2}\n" for i in range(20))
FIT = ["fit", "data.csv", "--target", "label"]


def numbers(folder: Path) -> None:
    (folder / "data.csv").write_text(NUMBERS)


def text(content: str, name: str = "data.csv") -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_text(content, encoding="utf-8") and None


def raw(content: bytes, name: str = "data.csv") -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(content) and None


def archive(**arrays: object) -> Callable[[Path], None]:
    return lambda folder: np.savez(folder / "data.npz", **arrays)


def truncated_archive(folder: Path) -> None:
    np.savez(folder / "data.npz", X=np.ones((50, 4)), y=np.arange(50) % 2)
    content = (folder / "data.npz").read_bytes()
    (folder / "data.npz").write_bytes(content[: len(content) // 2])


def truncated_gzip(folder: Path) -> None:
    content = gzip.compress((NUMBERS * 200).encode())
    (folder / "data.csv.gz").write_bytes(content[: len(content) // 2])


def truncated_parquet(folder: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    pyarrow.parquet.write_table(pa.table({"a": list(range(99)), "label": [0, 1, 1] * 33}), folder / "data.parquet")
    content = (folder / "data.parquet").read_bytes()
    (folder / "data.parquet").write_bytes(content[: len(content) // 2])


def model(folder: Path, **changes: object) -> None:
    """A model of the columns a and b, with a checksum that fits."""
    numbers(folder)
    names = ("class_weight", "fit_intercept", "gamma", "k", "mu", "n_threads", "rel_gap", "standardize", "time_limit")
    record.Record(
        parameters={**dict.fromkeys((*names, "verbose", "warm_start")), "gamma": 10.0, "refit_gamma": 100.0},
        n_features=2,
        feature_names=np.array(["a", "b"], dtype=object),
        classes=np.array([0, 1]),
        estimate=Estimate(
            10.0, np.array([0, 1]), np.array([0.5, -1.0]), 0.25, *np.ones((2, 2)), np.zeros(2, bool), np.ones(2)
        ),
        selection=record.Chosen(10.0, np.array([0.4, -0.9]), 0.25, 3),
        objective=0.5,
        lower_bound=0.5,
        gap=0.0,
        status="optimal",
        n_iter=1,
    ).write(folder / "model.json")
    if changes:
        document = {**json.loads((folder / "model.json").read_text()), **changes}
        content = {name: value for name, value in document.items() if name not in ("format", "version", "sha256")}
        document["sha256"] = record.digest(content)
        (folder / "model.json").write_text(json.dumps(document))


def model_and(name: str, content: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        model(folder)
        (folder / name).write_text(content)

    return make


def numbers_and(name: str, content: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        numbers(folder)
        (folder / name).write_text(content)

    return make


def unreadable(folder: Path) -> None:
    numbers(folder)
    (folder / "data.csv").chmod(0)
    if os.access(folder / "data.csv", os.R_OK):
        pytest.skip("this user may read everything")


TABLE: dict[str, tuple[Callable[[Path], None], list[str], str]] = {
    # the words typed
    "unknown command": (numbers, ["fitt", "data.csv"], "no command 'fitt': did you mean 'fit'?"),
    "unknown option": (numbers, [*FIT, "--gama", "1"], "has no option --gama: did you mean --gamma?"),
    "option without a value": (numbers, [*FIT, "--k"], "'--k' requires an argument"),
    "no data": (numbers, ["fit", "--k", "2"], "Missing argument 'DATA'"),
    "too many arguments": (numbers, [*FIT, "more.csv", "--k", "2"], "unexpected extra argument", "(more.csv)"),
    "k is no number": (numbers, [*FIT, "--k", "five"], "--k", "'five'", "integer"),
    "gamma is no number": (numbers, [*FIT, "--k", "1", "--gamma", "x"], "--gamma", "'x'"),
    # the problem
    "k zero": (numbers, [*FIT, "--k", "0"], "--k is 0, but must be an integer >= 1"),
    "k negative": (numbers, [*FIT, "--k", "-3"], "--k is -3, but must be an integer >= 1"),
    "mu negative": (numbers, [*FIT, "--mu", "-0.5"], "--mu is -0.5, but must be a finite number >= 0"),
    "mu nan": (numbers, [*FIT, "--mu", "nan"], "--mu is nan"),
    "gamma zero": (numbers, [*FIT, "--k", "1", "--gamma", "0"], "--gamma is 0.0, but must be a finite number > 0"),
    "gamma infinite": (numbers, [*FIT, "--k", "1", "--gamma", "inf"], "--gamma is inf"),
    "no such ridge of the estimates": (numbers, [*FIT, "--refit-gamma", "x"], "--refit-gamma is 'x', but must be"),
    "ridge of the estimates zero": (numbers, [*FIT, "--refit-gamma", "0"], "--refit-gamma is 0.0, but must be", "'cv'"),
    "no such ridge in cv": (numbers, ["cv", *FIT[1:], "--refit-gamma", "x"], "--refit-gamma is 'x', but must be"),
    "gap of one": (numbers, [*FIT, "--k", "1", "--gap", "1"], "--gap is 1.0, but must be a number >= 0 and < 1"),
    "time limit negative": (numbers, [*FIT, "--k", "1", "--time-limit", "-1"], "--time-limit is -1.0, but must be"),
    "node limit negative": (numbers, [*FIT, "--k", "1", "--node-limit", "-1"], "--node-limit is -1, but must be"),
    "no threads": (numbers, [*FIT, "--k", "1", "--threads", "0"], "--threads is 0, but must be an integer >= 1"),
    "unknown screening": (numbers, [*FIT, "--k", "1", "--screening", "all"], "--screening is 'all', but must be"),
    "unknown imputation": (numbers, [*FIT, "--k", "1", "--impute", "mean"], "--impute is 'mean', but must be 'median'"),
    # features
    "unknown include": (numbers, [*FIT, "--k", "1", "--include", "bb"], "--include is 'bb', but data.csv has no such"),
    "unknown exclude": (numbers, [*FIT, "--k", "1", "--exclude", "A"], "--exclude is 'A', but", "did you mean 'a'?"),
    "include and exclude": (
        numbers,
        [*FIT, "--k", "1", "--include", "a", "--exclude", "a,b"],
        "--include and --exclude share 'a', but must be disjoint",
    ),
    "include more than k": (numbers, [*FIT, "--k", "1", "--include", "a,b"], "include has 2 features, but the budget"),
    "target among include": (numbers, [*FIT, "--k", "1", "--include", "label"], "'label', but that is the target"),
    "target among exclude": (numbers, [*FIT, "--k", "1", "--exclude", "label"], "'label', but that column is the targ"),
    "everything excluded": (numbers, [*FIT, "--k", "1", "--exclude", "a,b"], "at least one feature"),
    "include of a category": (
        text(GOOD),
        [*FIT, "--k", "1", "--one-hot", "--include", "colour"],
        "'colour', but that is a column of categories (name one of them, such as 'colour=red')",
    ),
    "unknown category": (
        text(GOOD),
        [*FIT, "--k", "1", "--one-hot", "--exclude", "colour=rad"],
        "'colour=rad', but data.csv has no such column: did you mean 'colour=red'?",
    ),
    # files
    "missing file": (numbers, ["fit", "daat.csv", "--k", "1"], "daat.csv does not exist: did you mean 'data.csv'?"),
    "missing folder": (numbers, ["fit", "no/data.csv", "--k", "1"], "no/data.csv does not exist."),
    "folder": (lambda folder: (folder / "data").mkdir(), ["fit", "data", "--k", "1"], "data is a folder"),
    "unreadable file": (unreadable, [*FIT, "--k", "1"], "data.csv cannot be used: permission denied"),
    "empty file": (text(""), [*FIT, "--k", "1"], "data.csv is empty"),
    "white space only": (text(" \n\n \t\n"), [*FIT, "--k", "1"], "data.csv is empty"),
    "byte order mark only": (raw(b"\xef\xbb\xbf"), [*FIT, "--k", "1"], "data.csv is empty"),
    "header only": (text("a,b,label\n"), [*FIT, "--k", "1"], "has a header but no rows"),
    "binary garbage": (raw(bytes(range(256)) * 9), [*FIT, "--k", "1"], "binary file of an unknown kind", "can be read"),
    "JSON": (text('{"a": 1}'), [*FIT, "--k", "1"], "is JSON: save it as CSV"),
    "web page": (text("<!DOCTYPE html><html>"), [*FIT, "--k", "1"], "is a web page"),
    "Excel": (raw(b"PK\x03\x04" + bytes(50), "data.xlsx"), ["fit", "data.xlsx", "--k", "1"], "damaged Excel workbook"),
    "not UTF-8": (raw(b"a,label\n1,caf\x81\n2,the\n"), [*FIT, "--k", "1"], "not UTF-8", "0x81", "--encoding"),
    "not ASCII": (raw(b"a,label\n1,caf\xe9\n2,the\n"), [*FIT, "--encoding", "ascii"], "not ASCII", "0xe9"),
    "no encoding": (numbers, [*FIT, "--encoding", "utf-9"], "--encoding is 'utf-9', but must be one that Python knows"),
    "no delimiter": (numbers, [*FIT, "--delimiter", "ab"], "--delimiter is 'ab', but must be a character"),
    "no decimal point": (numbers, [*FIT, "--decimal", "x"], "--decimal is 'x', but must be '.' or ','"),
    "one character twice": (numbers, [*FIT, "--decimal", ",", "--delimiter", ","], "are both ','", "different"),
    "ragged rows": (
        text("a,b,label\n1,2,0\n1,2\n3,4,1\n"),
        [*FIT, "--k", "1"],
        "2 fields in line 3, but 3 in the first line",
    ),
    "duplicate names": (text("a,a,label\n1,2,0\n3,4,1\n"), [*FIT, "--k", "1"], "more than one column named 'a'"),
    "truncated gzip": (truncated_gzip, ["fit", "data.csv.gz", "--k", "1"], "truncated or damaged"),
    "truncated parquet": (truncated_parquet, ["fit", "data.parquet", "--k", "1"], "truncated or damaged"),
    "parquet by name": (raw(b"a,b\n1,2\n", "data.parquet"), ["fit", "data.parquet", "--k", "1"], "no .parquet file"),
    "archive with pickles": (
        archive(X=np.array([[1, "a"], [None, 2]], dtype=object), y=[0, 1]),
        ["fit", "data.npz", "--k", "1"],
        "pickled Python objects",
    ),
    "archive without y": (archive(X=np.ones((4, 2))), ["fit", "data.npz", "--k", "1"], "--target", "labels"),
    "archive without matrix": (archive(y=[0, 1, 0]), ["fit", "data.npz", "--k", "1"], "no matrix, only y"),
    "archive of text": (archive(X=np.array([["a"], ["b"]]), y=[0, 1]), ["fit", "data.npz", "--k", "1"], "dtype <U1"),
    "truncated archive": (truncated_archive, ["fit", "data.npz", "--k", "1"], "data.npz is"),
    "damaged sparse matrix": (
        archive(data=np.ones(3), indices=np.arange(3), indptr=np.array([0, 9]), shape=np.array([1, 3]), y=[1]),
        ["fit", "data.npz", "--k", "1"],
        "damaged sparse matrix",
    ),
    "svmlight syntax": (
        text("1 1:2 3:x\n-1 1:1\n", "data.svm"),
        ["fit", "data.svm", "--k", "1"],
        "not in SVMlight format in line 1: 'x' is not a number",
    ),
    "svmlight without colon": (
        text("1 1:2\n-1 1:1 7\n", "data.svm"),
        ["fit", "data.svm", "--k", "1"],
        "not in SVMlight format in line 2",
    ),
    "svmlight index": (text("1 -1:2\n-1 1:1\n", "data.svm"), ["fit", "data.svm", "--k", "1"], "the index -1"),
    # columns
    "no target": (numbers, ["fit", "data.csv", "--k", "1"], "--target is missing", "'a', 'b', 'label'"),
    "unknown target": (
        numbers,
        ["fit", "data.csv", "--target", "lable", "--k", "1"],
        "--target is 'lable', but data.csv has no such column: did you mean 'label'?",
    ),
    "target out of range": (
        numbers,
        ["fit", "data.csv", "--target", "7", "--k", "1"],
        "--target is 7, but data.csv has 3 columns: indices from 0 to 2",
    ),
    "target by name without header": (
        text("1,2,0\n3,4,1\n"),
        [*FIT, "--k", "1"],
        "has no column names: give an index from 0 to 2",
    ),
    "one class": (text("a,label\n1,yes\n2,yes\n"), [*FIT, "--k", "1"], "'label' of data.csv has only one class, yes"),
    "three classes": (
        text("a,label\n1,x\n2,y\n3,z\n"),
        [*FIT, "--k", "1"],
        "has 3 classes (x, y, z), but exactly two are needed",
    ),
    "missing labels": (text("a,label\n1,x\n2,y\n3,\n"), [*FIT, "--k", "1"], "1 row without a target", "--drop-missing"),
    "missing values": (
        text("a,b,c,label\n1,,2,0\n2,3,NA,1\n3,4,5,0\n"),
        [*FIT, "--k", "1"],
        "missing values in 2 rows, columns 'b', 'c': fill them with --impute median",
    ),
    "nothing left": (
        text("a,b,label\n1,,0\n,3,1\n"),
        [*FIT, "--k", "1", "--drop-missing"],
        "no row without missing values",
    ),
    "empty column": (
        text("a,b,label\n1,,0\n2,,1\n"),
        [*FIT, "--k", "1", "--impute", "median"],
        "no value at all in column 'b': leave it out with --exclude 'b'",
    ),
    "text column": (
        text(GOOD),
        [*FIT, "--k", "1"],
        "text in column 'colour' (such as 'blue' in line 2)",
        "--one-hot",
        "--exclude 'colour'",
    ),
    "too many categories": (
        text("id,n,label\n" + "".join(f"p{i % 39},{i},{i % 2}\n" for i in range(40))),
        [*FIT, "--k", "1", "--one-hot"],
        "39 different texts in column 'id', too many",
    ),
    "infinity": (text("a,label\ninf,0\n2,1\n"), [*FIT, "--k", "1"], "infinite or far too large numbers in column 'a'"),
    "huge integer": (text(f"a,label\n{'9' * 400},0\n2,1\n"), [*FIT, "--k", "1"], "far too large numbers in column 'a'"),
    "huge number": (text("a,label\n1e200,0\n2,1\n"), [*FIT, "--k", "1"], "magnitude 1e+200"),
    "single column": (text("label\n0\n1\n"), [*FIT, "--k", "1"], "at least one feature"),
    "weights not found": (text(GOOD), [*FIT, "--k", "1", "--weights", "ww"], "--weights is 'ww'", "did you mean 'w'?"),
    "weights negative": (
        text("a,w,label\n1,1,0\n2,-3,1\n"),
        [*FIT, "--k", "1", "--weights", "w"],
        "that column has the negative value -3",
    ),
    "weights of text": (
        text(GOOD),
        [*FIT, "--k", "1", "--weights", "colour"],
        "that column holds text (such as 'blue' in line 2)",
    ),
    "transposed": (
        text("gene,s1,s2,s3\na,1,2,3\nlabel,0,1,0\n"),
        [*FIT, "--k", "1"],
        "no such column: is the file transposed, with a row 'label' where each row has to be a sample?",
    ),
    "transposed without a name": (text(",s1,s2\na,1,2\nlabel,0,1\n"), FIT, "is the file transposed"),
    "nothing like it": (numbers, ["fit", "data.csv", "-t", "outcome"], "no such column: there are 'a', 'b', 'label'."),
    "an option unlike all": (numbers, [*FIT, "--zzz"], "has no option --zzz: safescreen fit --help shows all"),
    "a command unlike all": (numbers, ["zzz"], "no command 'zzz': there are 'demo', 'fit'"),
    "weights zero": (text("a,w,label\n1,0,0\n2,0,1\n"), [*FIT, "--k", "1", "--weights", "w"], "zero for all samples"),
    "weights are the target": (numbers, [*FIT, "--k", "1", "--weights", "label"], "are both 'label'"),
    # outputs
    "no folder for the model": (numbers, [*FIT, "--k", "1", "--model", "no/m.json"], "there is no folder no: make it"),
    "model is a folder": (numbers, [*FIT, "--k", "1", "--model", "."], "that is a folder"),
    "model over the data": (numbers, [*FIT, "--k", "1", "--model", "data.csv"], "that is an input already"),
    "one file for two": (
        numbers,
        [*FIT, "--k", "1", "--model", "x", "--report", "x"],
        "--report is x, but that is the file of --model already",
    ),
    "no folder for decisions": (numbers, ["screen", *FIT[1:], "--k", "1", "--output", "no/f.csv"], "no folder no"),
    # held-out data
    "test data without target": (
        numbers_and("test.csv", "a,b\n1,2\n"),
        [*FIT, "--k", "1", "--test", "test.csv"],
        "--target is 'label', but test.csv has no such column",
    ),
    "test data with another label": (
        numbers_and("test.csv", "a,b,label\n1,2,5\n"),
        [*FIT, "--k", "1", "--test", "test.csv"],
        "the label 5, which the training data do not have",
    ),
    # prediction
    "model missing": (numbers, ["predict", "modl.json", "data.csv"], "modl.json does not exist"),
    "model not JSON": (text(NUMBERS, "model.json"), ["predict", "model.json", "model.json"], "it is not JSON"),
    "model of another kind": (text("{}", "model.json"), ["predict", "model.json", "x"], "not a safescreen model"),
    "model of another version": (
        lambda folder: model(folder, version=99),
        ["predict", "model.json", "data.csv"],
        "it has format version 99", "update safescreen",
    ),
    "model with a wrong encoding": (
        lambda folder: model(folder, encoding={"inputs": 3}),
        ["predict", "model.json", "data.csv"],
        "its encoding cannot be read",
    ),
    "new data without columns": (
        model_and("new.csv", "a,c\n1,2\n"),
        ["predict", "model.json", "new.csv"],
        "lacks 1 column that the model needs, 'b'",
    ),
    "new data with text": (
        model_and("new.csv", "a,b\n1,red\n"),
        ["predict", "model.json", "new.csv"],
        "text where the model needs numbers, in column 'b' (such as 'red' in line 2)",
    ),
    "new data with gaps": (
        model_and("new.csv", "a,b\n1,\n2,3\n"),
        ["predict", "model.json", "new.csv"],
        "missing values in 1 row", "--impute median",
    ),
    "new data with infinity": (
        model_and("new.csv", "a,b\n1,inf\n2,3\n"),
        ["predict", "model.json", "new.csv"],
        "infinite or far too large",
    ),
    "new data without names": (
        model_and("new.csv", "1,2,3\n4,5,6\n"),
        ["predict", "model.json", "new.csv"],
        "has 3 columns, but 2 are needed",
    ),
    "output over the model": (
        model,
        ["predict", "model.json", "data.csv", "--output", "model.json"],
        "that is an input already",
    ),
    # paths and cross-validation
    "bad range": (numbers, ["path", *FIT[1:], "--k", "1-5"], "--k is '1-5', but must be a range or list of integers"),
    "empty range": (numbers, ["path", *FIT[1:], "--k", "5:1"], "its end comes before its start"),
    "range from zero": (numbers, ["path", *FIT[1:], "--k", "0:3"], "--k is 0, but must be an integer >= 1"),
    "range with step zero": (numbers, ["path", *FIT[1:], "--k", "1:3:0"], "must be a range or list of integers"),
    "two ranges": (numbers, ["path", *FIT[1:], "--k", "1:2", "--gamma", "1,2"], "--k and --gamma have several values"),
    "no range": (numbers, ["path", *FIT[1:]], "One of --k, --mu and --gamma must have several values"),
    "bad prices": (numbers, ["path", *FIT[1:], "--mu", "1;2"], "--mu is '1;2', but must be a number or a list"),
    "bad picture": (numbers, ["path", *FIT[1:], "--k", "1:2", "--plot", "p.doc"], "end in one of .png, .svg, .pdf"),
    "one fold": (numbers, ["cv", *FIT[1:], "--k", "1:2", "--folds", "1"], "--folds is 1, but must be an integer >= 2"),
    "unknown scoring": (
        numbers,
        ["cv", *FIT[1:], "--k", "1:2", "--scoring", "rocauc"],
        "--scoring is 'rocauc', which is unknown: did you mean 'roc_auc'?",
    ),
    "no jobs": (numbers, ["cv", *FIT[1:], "--k", "1:2", "--jobs", "0"], "--jobs is 0"),
    "grid of both": (numbers, ["cv", *FIT[1:], "--k", "1:2", "--mu", "1,2"], "--k and --mu both have several values"),
    # proofs
    "proof missing": (numbers, ["verify", "proof.npz", "data.csv", "--target", "label"], "proof.npz does not exist"),
    "demo": (numbers, ["demo", "--k", "0"], "--k is 0, but must be an integer >= 1"),
    "demo without a folder": (numbers, ["demo", "--svg", "no/demo.svg"], "no folder no"),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLE)
def test_bad_input(case, tmp_path, monkeypatch):
    make, arguments, *words = TABLE[case]
    monkeypatch.chdir(tmp_path)
    make(tmp_path)
    before = sorted(tmp_path.iterdir())
    result = runner.invoke(cli.app, arguments, prog_name="safescreen")
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("safescreen: ")
    sentence, _, advice = result.stderr.partition("\nTry: ")
    assert re.fullmatch(r"[^\n]+[.?]\n?", sentence), result.stderr
    assert not re.search(r"[.?!] [A-Z]", sentence), result.stderr
    for word in words:
        assert word in sentence
    assert sorted(tmp_path.iterdir()) == before
    if advice:  # a command that works, to be copied
        name, *advised = shlex.split(advice)
        assert (name, advised[: len(arguments)]) == ("safescreen", arguments)
        assert runner.invoke(cli.app, advised, prog_name="safescreen").exit_code == 0, advice


def test_table_is_long_enough():
    assert len(TABLE) >= 45
