"""A status is a string wherever it is shown or stored, and a sentence for people."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from safescreen.status import Status


@pytest.mark.parametrize("status", Status)
def test_a_status_is_the_string_it_was(status):
    word = status.value
    assert status == word
    assert (str(status), f"{status:16}", repr(status)) == (word, f"{word:16}", repr(word))
    assert json.dumps({"status": status}) == json.dumps({"status": word})
    assert {word: 1}[status] == 1
    assert type(str(status)) is str
    assert pickle.loads(pickle.dumps(status)) is copy.deepcopy(status) is Status(word) is status


@pytest.mark.parametrize("status", Status)
def test_one_sentence_each(status):
    assert status.sentence.endswith(".")
    assert status.sentence.count(".") == 1
