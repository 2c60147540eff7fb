"""One look at a file finds everything that is wrong with it, and what is advised works."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safescreen.tables import Prepared, Reading, prepare, read_table
from safescreen.tables.findings import UnusableError

N_ROWS = 40
COLUMNS = {
    "x": lambda i: str(i * i % 11),
    "age": lambda i: "n/a" if i in (6, 13) else str(20.5 + i),
    "code": lambda i: "4+" if i % 4 == 3 else str(i % 4),
    "colour": lambda i: ("red", "blue", "green")[i % 3],
    "when": lambda i: f"2024-03-{1 + i % 28:02}",
    "patient": lambda i: f"P{i:04}",
    "comment": lambda i: f"words {i % 30}",
    "gap": lambda i: "" if i % 7 == 2 else str(i % 5),
    "nothing": lambda i: "?",
    "infinite": lambda i: "inf" if i == 4 else str(i),
    "same": lambda i: "3",
    "again": lambda i: str(i * i % 11),
    "shade, in words": lambda i: "" if i == 3 else f"shade {i % 29}",
    "label": lambda i: "" if i == 30 else "yes" if i % 2 else "no",
}


def found(path, *names: str, **said: object) -> Prepared:
    """What is made of a file with some of the columns above."""
    rows = [[f'"{name}"' for name in names], *([COLUMNS[name](i) for name in names] for i in range(N_ROWS))]
    path.write_text("".join(",".join(row) + "\n" for row in rows))
    return prepare(read_table(str(path), labels=("label",)), Reading(target="label", **said))


def follow(path, *names: str) -> Prepared:
    """The same, with the options that are advised."""
    try:
        return found(path, *names)
    except UnusableError as error:
        words = iter(error.words)
    said: dict[str, object] = {}
    for option in words:
        if option == "--exclude":
            excluded = next(words)
            said["exclude"] = (*said.get("exclude", ()), *([excluded] if ", " in excluded else excluded.split(",")))
        else:
            said[option[2:].replace("-", "_")] = next(words) if option == "--impute" else True
    assert said
    return found(path, *names, **said)


def test_everything_at_once(tmp_path):
    with pytest.raises(UnusableError) as caught:
        found(tmp_path / "data.csv", *COLUMNS)
    message = str(caught.value)
    for words in (
        "2 values that are not numbers in column 'age' ('n/a' in line 8, 'n/a' in line 15)",
        "10 values that are not numbers in column 'code' ('4+' in line 5, '4+' in line 9, '4+' in line 13, ...)",
        "dates in column 'when' (such as '2024-03-01' in line 2)",
        "30 different texts in column 'comment', too many to be categories",
        "text in column 'colour' (such as 'red' in line 2)",
        "no value at all in column 'nothing'",
        "infinite or far too large numbers in column 'infinite'",
        "missing values in 6 rows, column 'gap'",
        "1 row without a target",
        "one value only in column 'same'",
        "copies of other columns in column 'again'",
        ": add --one-hot --impute median --drop-missing --exclude age,when,comment,nothing,infinite,same,again "
        "--exclude 'shade, in words'.",
    ):
        assert words in message
    assert "patient" not in message
    data = follow(tmp_path / "data.csv", *COLUMNS)
    assert data.encoding.names == ["x", "code=0", "code=1", "code=2", "code=4+", *COLOURS, "gap"]
    assert data.X.shape == (N_ROWS - 1, 9)


COLOURS = ("colour=blue", "colour=green", "colour=red")


@settings(max_examples=60, deadline=None)
@given(names=st.lists(st.sampled_from(sorted({*COLUMNS} - {"x", "label"})), unique=True))
def test_the_advice_works(tmp_path_factory, names):
    data = follow(tmp_path_factory.mktemp("advice") / "data.csv", "x", *names, "label")
    assert np.isfinite(data.X).all()
    assert "x" in data.encoding.names


def test_ids_are_left_out(tmp_path):
    data = found(tmp_path / "data.csv", "x", "patient", "label", drop_missing=True)
    assert data.encoding.names == ["x"]
    assert any("'patient', whose texts are all different" in note for note in data.notes)
    assert data.encoding.reading.exclude == ("patient",)
    again = found(tmp_path / "data.csv", "x", "patient", "label", drop_missing=True, exclude=("patient",))
    assert not any("patient" in note for note in again.notes)


def test_few_rows_have_no_ids(tmp_path):
    (tmp_path / "data.csv").write_text("colour,n,label\nred,1,0\nblue,2,1\ngreen,3,0\n")
    table = read_table(str(tmp_path / "data.csv"), labels=("label",))
    with pytest.raises(ValueError, match="text in column 'colour'"):
        prepare(table, Reading(target="label"))


def test_almost_numbers_are_no_categories(tmp_path):
    with pytest.raises(ValueError, match=r"2 values that are not numbers in column 'age'.*: correct them, or leave"):
        found(tmp_path / "data.csv", "x", "age", "label", drop_missing=True, one_hot=True)
    coded = found(tmp_path / "data.csv", "x", "code", "label", drop_missing=True, one_hot=True)
    assert "code=4+" in coded.encoding.names


def test_lines_are_those_of_the_file(tmp_path):
    text = '# made by hand\n\na,b,label\n"1","2\n",0\n\n3,4,1\n# more\n5,six,0\n7,8,1\n'
    (tmp_path / "data.csv").write_text(text)
    table = read_table(str(tmp_path / "data.csv"), labels=("label",))
    with pytest.raises(ValueError, match="'six' in line 9"):
        prepare(table, Reading(target="label"))


def test_columns_without_names(tmp_path):
    (tmp_path / "data.csv").write_text("".join(f"{i},2024-03-{1 + i:02},{i % 2}\n" for i in range(9)))
    table = read_table(str(tmp_path / "data.csv"), labels=("2",), header=False)
    reading = Reading(target="2")
    with pytest.raises(UnusableError) as caught:
        prepare(table, reading)
    assert caught.value.words == ["--exclude", "1"]
    assert prepare(table, replace(reading, exclude=("1",))).X.shape == (9, 1)


def test_nothing_left(tmp_path):
    with pytest.raises(ValueError, match="no column is left"):
        found(tmp_path / "data.csv", "when", "nothing", "label")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("{},5", r"not numbers in column 'a' \('0,5' in line 2.*read decimal commas with --decimal ','"),
        ("{} mg", "30 different texts in column 'a', too many"),
        ("$ {}", "30 different texts in column 'a', too many"),
        ("<{}.5", "30 different texts in column 'a', too many"),
    ],
)
def test_quantities_are_no_ids(tmp_path, value, words):
    rows = "".join(f'"{value.format(i)}",{i},{i % 2}\n' for i in range(30))
    (tmp_path / "data.csv").write_text("a,b,label\n" + rows)
    with pytest.raises(ValueError, match=words):
        prepare(read_table(str(tmp_path / "data.csv"), labels=("label",)), Reading(target="label"))
    read = read_table(str(tmp_path / "data.csv"), decimal=",")
    assert (0 in read.texts) is ("," not in value)
