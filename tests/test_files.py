"""Files appear whole or not at all, and what goes wrong names the file that was asked for."""

from __future__ import annotations

import errno
import os

import pytest

from safescreen.files import write_whole
from safescreen.text import count, listed, nearest


def test_a_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "a.json"
    with write_whole(path) as temporary:
        temporary.write_bytes(b"\x00new")
        assert temporary.suffix == ".json"
        assert temporary.parent == tmp_path
        assert not path.exists()
    assert path.read_bytes() == b"\x00new"
    assert os.listdir(tmp_path) == ["a.json"]


def test_an_existing_file_survives_a_failure(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError), write_whole(str(path)) as temporary:
        temporary.write_text("half a t\u00e9xt", encoding="ascii")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_errors_name_the_file_and_not_the_temporary_one(tmp_path):
    path = tmp_path / "nowhere" / "a.txt"
    with pytest.raises(FileNotFoundError) as caught, write_whole(path) as temporary:
        temporary.write_text("text")
    assert caught.value.filename == str(path)
    assert ".part" not in str(caught.value)


def test_a_full_disk_names_the_file(tmp_path):
    with pytest.raises(OSError, match="No space left on device: ") as caught, write_whole(tmp_path / "a.txt"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.filename == str(tmp_path / "a.txt")
    assert list(tmp_path.iterdir()) == []


def test_errors_about_other_files_are_left_alone(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, write_whole(tmp_path / "a.txt"):
        (tmp_path / "b.txt").read_text()
    assert caught.value.filename == str(tmp_path / "b.txt")


def test_a_folder_in_the_way(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder") as caught, write_whole(tmp_path / "folder") as temporary:
        temporary.write_text("text")
    assert caught.value.filename == str(tmp_path / "folder")
    assert os.listdir(tmp_path) == ["folder"]


def test_words():
    assert nearest("Lable", ["age", "label"]) == "label"
    assert nearest("x", []) == ""
    assert nearest("zzz", ["abc"], cutoff=0.75) == ""
    assert listed(["a", "b"]) == "'a', 'b'"
    assert listed(list("abcdefg"), limit=2) == "'a', 'b' and 5 more"
    assert (count(1, "row"), count(2000, "row")) == ("1 row", "2,000 rows")
