"""The paper's real data from their public sources, kept in scikit-learn's data home.

The folder named by ``SAFESCREEN_DATA`` is read first. What is downloaded is checked against what is known about it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import urllib.error
import urllib.request
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from safescreen.datasets.geo import read_series_matrix
from safescreen.datasets.local import DATA_VARIABLE, load_local
from safescreen.files import write_whole

ARCENE_URL = "https://archive.ics.uci.edu/static/public/167/arcene.zip"
GENOMIC_URL = "https://ftp.ncbi.nlm.nih.gov/geo/series/GSE10nnn/GSE10072/matrix/GSE10072_series_matrix.txt.gz"

_ARCENE_PARTS = {
    "train": ("arcene_train", "arcene"),
    "validation": ("arcene_valid", "arcene_valid"),
}
_ARCENE_DIGESTS = {
    "train": "317d34a821d2c63fb4553749910564628dde2d739d956fd9874f0ea9a971f336",
    "validation": "51778eccfcbbafa085819ef8f0bb647c70d2d2d3edb27a1f2139ad97554ce983",
}
"""SHA-256 of the values as little-endian 32-bit integers, row by row, followed by the labels as bytes."""

_NEWSGROUPS = ("rec.autos", "sci.space")
_NEWSGROUPS_SHAPE = (1977, 28467)
_GENOMIC_SHAPE = (107, 22283)
_AGENT = {"User-Agent": "Mozilla/5.0 (compatible; safescreen)"}  # GEO turns nameless programs away
_SECONDS = 60.0


def fetch_arcene(
    *,
    subset: str = "train",
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Arcene: cancer or not from mass spectra, 100 samples and 10,000 features (UCI, CC BY 4.0).

    Parameters
    ----------
    subset : {"train", "validation"}
        The 100 training samples (the paper's) or the 100 validation samples.
    data_home : path-like, optional
        Where downloads are kept; scikit-learn's data home by default.
    download_if_missing : bool, default True
        Whether to download what is not on this computer.
    return_X_y : bool, default False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch
        ``data`` (100 × 10,000), ``target`` (-1 normal, 1 cancer) and ``target_names``.

    Raises
    ------
    FileNotFoundError
        If the data are not here and cannot be downloaded; says where to put them.
    ValueError
        If the file is not what it should be.
    """
    if subset not in _ARCENE_PARTS:
        raise ValueError(f"subset is {subset!r}, but must be 'train' or 'validation'.")
    stem, local = _ARCENE_PARTS[subset]
    if _in_local_folder(f"{local}.npz"):
        X, y = load_local(local)
    else:
        path = _obtain("arcene.zip", ARCENE_URL, f"{local}.npz", data_home, download_if_missing)
        X, y = _read_arcene(path, stem, _ARCENE_DIGESTS[subset])
    return _bunch(X, y, ["normal", "cancer"], None, return_X_y)


def fetch_newsgroups(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """20 Newsgroups, rec.autos against sci.space: 1,977 posts and 28,467 words, tf-idf, sparse.

    All posts, nothing removed, scikit-learn's default vocabulary: this is what has the size the paper states. In a
    local folder it is ``newsgroups_tfidf.npz``.

    Parameters
    ----------
    data_home : path-like, optional
        Where downloads are kept; scikit-learn's data home by default.
    download_if_missing : bool, default True
        Whether to download what is not on this computer.
    return_X_y : bool, default False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch
        ``data`` (CSR, 1,977 × 28,467), ``target`` (-1 rec.autos, 1 sci.space), ``target_names``, ``feature_names``.

    Raises
    ------
    FileNotFoundError
        If the data are not here and cannot be downloaded; says where to put them.
    ValueError
        If the posts or the vocabulary are not the expected ones.
    """
    if _in_local_folder("newsgroups_tfidf.npz"):
        X, y = load_local("newsgroups_tfidf")
        with np.load(_local_folder() / "newsgroups_tfidf.npz", allow_pickle=False) as archive:
            names = archive.get("feature_names")
    else:
        X, y, names = _vectorised_posts(data_home, download_if_missing)
    if X.shape != _NEWSGROUPS_SHAPE:
        raise ValueError(f"newsgroups has shape {X.shape}, but {_NEWSGROUPS_SHAPE} is expected.")
    return _bunch(X, y, list(_NEWSGROUPS), names, return_X_y)


def fetch_genomic(
    path: str | os.PathLike[str] | None = None,
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Lung tumours against normal lung, GEO series GSE10072: 107 samples and 22,283 probes.

    The paper's *genomic* must be this series (it prints 22,883 features; the array has 22,283).

    Parameters
    ----------
    path : path-like, optional
        A series-matrix file (``.txt`` or ``.txt.gz``) you have, of this series or another one with tumours and normal
        tissue.
    data_home : path-like, optional
        Where downloads are kept; scikit-learn's data home by default.
    download_if_missing : bool, default True
        Whether to download what is not on this computer.
    return_X_y : bool, default False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch
        ``data`` (samples × probes, missing values replaced by the mean of their probe), ``target`` (-1 normal, 1
        tumour), ``target_names``, ``feature_names`` (probes), ``sample_names`` and ``n_missing``.

    Raises
    ------
    FileNotFoundError
        If the file is not here and cannot be downloaded; says where to put it.
    ValueError
        If the file is damaged, no series matrix, or not the expected series.
    """
    expected = path is None
    if path is None:
        path = _genomic_file(data_home, download_if_missing)
    matrix = read_series_matrix(path)
    if expected and matrix.values.shape != _GENOMIC_SHAPE:
        raise ValueError(f"{Path(path).name} has shape {matrix.values.shape}, but GSE10072 has {_GENOMIC_SHAPE}.")
    y = matrix.tumour_labels()
    result = _bunch(matrix.filled(), y, ["normal", "tumour"], matrix.probes, return_X_y)
    if not return_X_y:
        result.sample_names = matrix.samples
        result.n_missing = int(np.count_nonzero(np.isnan(matrix.values)))
    return result


def _genomic_file(data_home: Any, download: bool) -> Path:
    name = GENOMIC_URL.rpartition("/")[2]
    for candidate in (name, name.removesuffix(".gz")):
        if _in_local_folder(candidate):
            return _local_folder() / candidate
    return _obtain(name, GENOMIC_URL, name, data_home, download)


# -- where files are -------------------------------------------------------------------------------------


def _local_folder() -> Path:
    return Path(os.environ.get(DATA_VARIABLE) or os.devnull)


def _in_local_folder(name: str) -> bool:
    return (_local_folder() / name).is_file()


def _home(data_home: Any) -> Path:
    from sklearn.datasets import get_data_home

    return Path(get_data_home(data_home)) / "safescreen"


def _obtain(name: str, url: str, local: str, data_home: Any, download: bool) -> Path:
    """The file in the data home, downloaded if it is not there yet."""
    path = _home(data_home) / name
    if path.is_file():
        return path
    ways = f"put that file at {path}, or {local} into a folder that {DATA_VARIABLE} names"
    if not download:
        raise FileNotFoundError(f"{name} is not on this computer: download {url}, or {ways}.")
    try:
        _download(url, path)
    except (urllib.error.URLError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise FileNotFoundError(f"{name} could not be downloaded from {url} ({reason}): go online, {ways}.") from None
    return path


def _download(url: str, path: Path) -> None:
    """Download a file; half a one is never taken for a whole one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    request = urllib.request.Request(url, headers=_AGENT)
    with (
        urllib.request.urlopen(request, timeout=_SECONDS) as source,
        write_whole(path) as temporary,
        temporary.open("xb") as target,
    ):
        shutil.copyfileobj(source, target)


# -- what is in them -------------------------------------------------------------------------------------


def _read_arcene(path: Path, stem: str, digest: str) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int8]]:
    """One part of the archive; its values must be those of the original."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {name.rpartition("/")[2]: name for name in archive.namelist()}
            values = np.array(archive.read(members[f"{stem}.data"]).split(), dtype=np.int64)
            labels = np.array(archive.read(members[f"{stem}.labels"]).split(), dtype=np.int64)
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ValueError(f"{path} is not the Arcene archive ({error}): delete it and try again.") from None
    X, y = values.astype("<i4"), labels.astype(np.int8)
    if X.size != 10_000 * y.size or arcene_digest(X, y) != digest:
        raise ValueError(f"{path} does not hold the values of Arcene (wrong checksum): delete it and try again.")
    return X.reshape(y.size, -1).astype(np.float32), y


def arcene_digest(X: npt.NDArray[Any], y: npt.NDArray[Any]) -> str:
    """Checksum of values and labels, whatever file they come from."""
    return hashlib.sha256(X.astype("<i4").tobytes() + y.astype(np.int8).tobytes()).hexdigest()


def _vectorised_posts(data_home: Any, download: bool) -> tuple[Any, npt.NDArray[np.int8], npt.NDArray[Any]]:
    from sklearn.datasets import fetch_20newsgroups
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # one sentence is enough, below
            posts = fetch_20newsgroups(
                data_home=data_home,
                subset="all",
                categories=list(_NEWSGROUPS),
                remove=(),
                download_if_missing=download,
                n_retries=1,
            )
    except (urllib.error.URLError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise FileNotFoundError(
            f"the newsgroups are not on this computer and could not be downloaded by scikit-learn ({reason}): go "
            f"online, or put newsgroups_tfidf.npz into a folder that {DATA_VARIABLE} names."
        ) from None
    vectorizer = TfidfVectorizer()
    X = vectorizer.fit_transform(posts.data)
    names = [posts.target_names[t] for t in posts.target]
    y = np.where(np.array(names) == _NEWSGROUPS[1], 1, -1).astype(np.int8)
    return X, y, vectorizer.get_feature_names_out()


def _bunch(X: Any, y: Any, classes: list[str], names: Any, return_X_y: bool) -> Any:
    if return_X_y:
        return X, y
    from sklearn.utils import Bunch

    result = Bunch(data=X, target=y, target_names=classes)
    if names is not None:
        result.feature_names = names
    return result
