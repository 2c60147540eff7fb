"""Downloads: kept, checked, explained when they fail, and not made when the data are here."""

from __future__ import annotations

import io
import os
import urllib.error
import urllib.request
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils import Bunch

from safescreen.datasets import fetch_arcene, fetch_genomic, fetch_newsgroups, fetching, load_local


@pytest.fixture
def offline(monkeypatch):
    """No local folder, no network."""

    def refuse(*args, **kwargs):
        raise urllib.error.URLError("no route to host")

    monkeypatch.delenv("SAFESCREEN_DATA", raising=False)
    monkeypatch.setattr(urllib.request, "urlopen", refuse)


@pytest.fixture
def online(monkeypatch):
    """A network that answers every request with the bytes in ``answers``, and notes the addresses."""
    answers, asked = [], []

    def answer(request, timeout):
        asked.append(request.full_url)
        return io.BytesIO(answers[-1])

    monkeypatch.delenv("SAFESCREEN_DATA", raising=False)
    monkeypatch.setattr(urllib.request, "urlopen", answer)
    return answers, asked


def arcene_zip(values, labels, stem="arcene_train"):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        rows = "\n".join(" ".join(str(int(value)) for value in row) + " " for row in values)
        archive.writestr(f"ARCENE/{stem}.data", rows)
        archive.writestr(f"ARCENE/{stem}.labels", "\n".join(str(int(label)) for label in labels))
    return buffer.getvalue()


@pytest.mark.parametrize("fetch", [fetch_arcene, fetch_genomic])
def test_offline_is_one_clear_sentence(fetch, offline, tmp_path):
    with pytest.raises(FileNotFoundError, match="no route to host") as raised:
        fetch(data_home=tmp_path)
    message = str(raised.value)
    assert "https://" in message
    assert str(tmp_path) in message
    assert "SAFESCREEN_DATA" in message
    assert "\n" not in message
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("fetch", [fetch_arcene, fetch_genomic, fetch_newsgroups])
def test_no_download_unless_wanted(fetch, offline, tmp_path):
    with pytest.raises(FileNotFoundError, match="not on this computer"):
        fetch(data_home=tmp_path, download_if_missing=False)


def test_newsgroups_offline(monkeypatch, tmp_path, offline):
    def refuse(**kwargs):
        raise urllib.error.URLError("no route to host")

    monkeypatch.setattr("sklearn.datasets.fetch_20newsgroups", refuse)
    with pytest.raises(FileNotFoundError, match=r"no route to host.*SAFESCREEN_DATA"):
        fetch_newsgroups(data_home=tmp_path)


def test_arcene_with_other_values_is_refused(online, tmp_path):
    answers, _ = online
    answers.append(arcene_zip(np.zeros((2, 10_000)), [1, -1]))
    with pytest.raises(ValueError, match="wrong checksum"):
        fetch_arcene(data_home=tmp_path)


@pytest.mark.parametrize("content", [b"<html>sorry</html>", arcene_zip(np.zeros((1, 3)), [1], stem="other")])
def test_arcene_archive_that_is_none(content, online, tmp_path):
    answers, _ = online
    answers.append(content)
    with pytest.raises(ValueError, match="is not the Arcene archive"):
        fetch_arcene(data_home=tmp_path)


@pytest.mark.parametrize("subset", ["train", "validation"])
@pytest.mark.skipif("SAFESCREEN_DATA" not in os.environ, reason="needs the folder SAFESCREEN_DATA")
def test_arcene_is_downloaded_once(subset, tmp_path, request):
    stem, local = fetching._ARCENE_PARTS[subset]
    X, y = load_local(local)
    answers, asked = request.getfixturevalue("online")
    answers.append(arcene_zip(X, y, stem))
    for _ in range(2):
        bunch = fetch_arcene(subset=subset, data_home=tmp_path)
        np.testing.assert_array_equal(bunch.data, X)
        np.testing.assert_array_equal(bunch.target, y)
    assert asked == [fetching.ARCENE_URL]
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["arcene.zip"]


def test_interrupted_download_leaves_nothing(monkeypatch, tmp_path):
    class Broken(io.BytesIO):
        def read(self, *args):
            raise ConnectionResetError("connection reset")

    monkeypatch.delenv("SAFESCREEN_DATA", raising=False)
    monkeypatch.setattr(urllib.request, "urlopen", lambda *args, **kwargs: Broken(b"..."))
    with pytest.raises(FileNotFoundError, match="connection reset"):
        fetch_arcene(data_home=tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_local_folder_goes_first(monkeypatch, tmp_path, offline):
    y = np.array([-1, 1], dtype=np.int8)
    np.savez(tmp_path / "arcene.npz", X=np.eye(2), y=y)
    words = sparse.random_array((1977, 28467), density=1e-5, random_state=0, format="csr")
    np.savez(
        tmp_path / "newsgroups_tfidf.npz",
        data=words.data,
        indices=words.indices,
        indptr=words.indptr,
        shape=words.shape,
        y=np.resize(y, 1977),
        feature_names=np.arange(28467).astype(str),
    )
    monkeypatch.setenv("SAFESCREEN_DATA", str(tmp_path))
    np.testing.assert_array_equal(fetch_arcene(data_home=tmp_path / "home").data, np.eye(2))
    bunch = fetch_newsgroups(data_home=tmp_path / "home")
    assert bunch.data.shape == (1977, 28467)
    assert bunch.feature_names[-1] == "28466"
    assert bunch.target_names == ["rec.autos", "sci.space"]


def test_newsgroups_are_vectorised_by_scikit_learn(monkeypatch, tmp_path, offline):
    asked = {}

    def posts(**options):
        asked.update(options)
        return Bunch(
            data=["the car", "the moon and the car", "moon"],
            target=np.array([0, 1, 1]),
            target_names=["rec.autos", "sci.space"],
        )

    monkeypatch.setattr("sklearn.datasets.fetch_20newsgroups", posts)
    monkeypatch.setattr(fetching, "_NEWSGROUPS_SHAPE", (3, 4))
    bunch = fetch_newsgroups(data_home=tmp_path)
    assert bunch.target.tolist() == [-1, 1, 1]
    assert bunch.feature_names.tolist() == ["and", "car", "moon", "the"]
    assert (asked["subset"], asked["remove"]) == ("all", ())
    monkeypatch.setattr(fetching, "_NEWSGROUPS_SHAPE", (3, 5))
    with pytest.raises(ValueError, match=r"shape \(3, 4\), but \(3, 5\)"):
        fetch_newsgroups(data_home=tmp_path)


def test_unknown_subset():
    with pytest.raises(ValueError, match="subset is 'test'"):
        fetch_arcene(subset="test")
