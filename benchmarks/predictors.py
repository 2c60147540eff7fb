"""What `prediction.py` compares: one small function per method, from a split to probabilities on its test part.

Every method sees the same training part and makes all its choices there. A library that is not installed is announced
and left out. FasterRisk 0.1.10 asks for NumPy 1 and scikit-learn 1.2, so it has an environment of its own; its fits run
there, in a process that also ends them after `PATIENCE` seconds.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import harness
import numpy as np
from harness import Row
from scipy import sparse
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from safescreen import L0LogisticRegression, L0LogisticRegressionCV
from safescreen.datasets import load_local

TEST_SHARE = 0.25
FOLDS = 5
SMALL = 20
"""Features a model of moderate size has at most."""
CLIP = 1e-6
PATIENCE = 300.0
WIDEST_BINARY = 2_000
"""Beyond this many columns, 100 thresholds for each are more than FasterRisk can take."""
FASTERRISK = Path(os.environ.get("FASTERRISK_PYTHON") or harness.HERE.parent / ".venv/fasterrisk/bin/python")
"""The interpreter of the environment that has FasterRisk."""


@dataclass(frozen=True)
class Split:
    """A part to learn from and a part to predict; labels are 0 and 1."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray

    @property
    def sparse(self) -> bool:
        """Whether the values are stored sparse; centring would fill them in."""
        return bool(sparse.issparse(self.X))


@dataclass(frozen=True)
class Fitted:
    """Probabilities of the positive class on the test part, the features used, and what else a method says."""

    probability: np.ndarray
    features: int
    gap: float | None = None
    status: str | None = None
    chosen: Row = field(default_factory=dict)
    seconds: float | None = None
    """Where the fit times itself, because it runs in another process."""


Method = Callable[[Split], Fitted]


class UnsuitableError(Exception):
    """A method was not tried on a data set, or not to its end; the message says why."""


def cv(split: Split) -> Fitted:
    """Everything chosen by the library: nothing is set."""
    return _fitted(L0LogisticRegressionCV(), split)


def default(split: Split) -> Fitted:
    """One fit, nothing set."""
    return _fitted(L0LogisticRegression(), split)


def one_ridge(split: Split) -> Fitted:
    """Ten features, chosen and estimated at the same strong ridge."""
    model = L0LogisticRegression(k=10, gamma=1.0)
    if "refit_gamma" in model.get_params():
        model.set_params(refit_gamma="same")
    return _fitted(model, split)


def _fitted(model: Any, split: Split) -> Fitted:
    model.fit(split.X, split.y)
    probability = model.predict_proba(split.X_test)[:, 1]
    chosen = dict(getattr(model, "best_params_", {}))
    return Fitted(probability, int(model.support_.size), float(model.gap_), str(model.status_), chosen)


def sklearn_l1(split: Split) -> Fitted:
    """Twenty penalties, the best by log-loss."""
    scaler, search = _l1_search(split)
    probability = search.predict_proba(scaler.transform(split.X_test))[:, 1]
    return Fitted(probability, np.count_nonzero(search.coef_), chosen={"C": float(search.C_)})


def sklearn_l1_small(split: Split) -> Fitted:
    """The best by log-loss of those penalties that leave a model of moderate size."""
    scaler, search = _l1_search(split)
    scores = np.asarray(search.scores_).reshape(FOLDS, -1).mean(axis=0)
    X = scaler.transform(split.X)
    for penalty in search.Cs_[np.argsort(-scores)]:
        model = LogisticRegression(C=penalty, l1_ratio=1.0, **_L1).fit(X, split.y)
        features = np.count_nonzero(model.coef_)
        if features <= SMALL:
            probability = model.predict_proba(scaler.transform(split.X_test))[:, 1]
            return Fitted(probability, features, chosen={"C": float(penalty)})
    raise UnsuitableError(f"no penalty leaves {SMALL} features or fewer")


_L1: Row = {"solver": "liblinear", "random_state": 0}


def _l1_search(split: Split) -> tuple[StandardScaler, LogisticRegressionCV]:
    scaler = StandardScaler(with_mean=not split.sparse).fit(split.X)
    search = LogisticRegressionCV(
        Cs=20, l1_ratios=(1.0,), cv=FOLDS, scoring="neg_log_loss", use_legacy_attributes=False, **_L1
    )
    return scaler, search.fit(scaler.transform(split.X), split.y)


def abess(split: Split) -> Fitted:
    """The library as it comes, without ridge: its own support sizes, by its own cross-validation."""
    from abess import LogisticRegression as Abess

    fold_of = np.empty(len(split.y), dtype=np.int32)
    for number, (_, held_out) in enumerate(StratifiedKFold(FOLDS).split(split.X, split.y)):
        fold_of[held_out] = number
    model = Abess(cv=FOLDS, cv_score="test_loss")
    return _abess(split, model, cv_fold_id=fold_of)


def abess_ridge(split: Split) -> Fitted:
    """Support size and ridge by log-loss; its own cross-validation adds the ridge to the loss on held-out samples."""
    from abess import LogisticRegression as Abess

    grid = {
        "support_size": [size for size in (2, 5, 10, SMALL) if size <= split.X.shape[1]],
        "alpha": [len(split.y) / gamma for gamma in (10.0, 100.0, 1000.0)],  # it sums where we average
    }
    return _abess(split, GridSearchCV(Abess(), grid, scoring="neg_log_loss", cv=FOLDS))


def _abess(split: Split, model: Any, **options: Any) -> Fitted:
    """On dense columns, which it takes several times faster than sparse ones; constant ones it refuses."""
    scaler = make_pipeline(VarianceThreshold(), StandardScaler(with_mean=not split.sparse))  # scaled as for sklearn_l1
    model.fit(scaler.fit_transform(_dense(split.X)), split.y, is_normal=False, **options)
    final = getattr(model, "best_estimator_", model)
    chosen = dict(getattr(model, "best_params_", {}))
    probability = model.predict_proba(scaler.transform(_dense(split.X_test)))[:, 1]
    return Fitted(probability, np.count_nonzero(final.coef_), chosen=chosen)


def fasterrisk(split: Split) -> Fitted:
    """Whole-number points for ten standardised columns."""
    scaler = StandardScaler().fit(_dense(split.X))
    return _fasterrisk(scaler.transform(_dense(split.X)), split.y, scaler.transform(_dense(split.X_test)), "as-is")


def fasterrisk_binary(split: Split) -> Fitted:
    """Whole-number points for ten conditions "column at most threshold", as its documentation recommends."""
    if split.X.shape[1] > WIDEST_BINARY:
        raise UnsuitableError(f"more than {WIDEST_BINARY} columns with 100 thresholds each")
    return _fasterrisk(_dense(split.X), split.y, _dense(split.X_test), "binary")


def _fasterrisk(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, form: str) -> Fitted:
    with tempfile.TemporaryDirectory() as folder:
        data, answer = Path(folder) / "data.npz", Path(folder) / "answer.json"
        np.savez(data, X=X, y=np.where(y > 0, 1.0, -1.0), X_test=X_test)
        command = [str(FASTERRISK), str(harness.HERE / "fasterrisk_fit.py"), str(data), str(answer), form]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise UnsuitableError(f"not done after {PATIENCE:g} s") from None
        except subprocess.CalledProcessError as error:
            raise RuntimeError((error.stderr.strip().splitlines() or [str(error)])[-1]) from None
        found = json.loads(answer.read_text(encoding="utf-8"))
    return Fitted(np.array(found["probability"]), found["features"], seconds=found["seconds"])


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sparse.issparse(X) else X)


METHODS: dict[str, Method] = {
    method.__name__: method
    for method in (
        cv, default, one_ridge, sklearn_l1, sklearn_l1_small, abess, abess_ridge, fasterrisk, fasterrisk_binary
    )
}  # fmt: skip


def available(names: Iterable[str]) -> list[str]:
    """The methods that can run here."""
    missing = {"abess": importlib.util.find_spec("abess") is None, "fasterrisk": not FASTERRISK.is_file()}
    for library in (name for name, is_missing in missing.items() if is_missing):
        harness.console.print(f"[yellow]without {library}: not installed, see benchmarks/README.md[/yellow]")
    return [name for name in names if not missing.get(name.partition("_")[0], False)]


@lru_cache(maxsize=1)
def _data(name: str) -> tuple[Any, np.ndarray]:
    X, y = load_local(name)
    if sparse.issparse(X):  # scikit-learn's liblinear wants small indices
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    else:
        X = np.asarray(X, dtype=np.float64)
    return X, (y > 0).astype(np.int64)


def make_split(data: str, number: int) -> Split:
    """The stratified split with this number; the first ones are the same however many there are."""
    X, y = _data(data)
    splitter = StratifiedShuffleSplit(number + 1, test_size=TEST_SHARE, random_state=0)
    train, test = list(splitter.split(np.zeros(len(y)), y))[number]
    return Split(X[train], y[train], X[test], y[test])


def measure(data: str, number: int, method: str) -> Row:
    """One fit: its scores on the test part, or why there are none."""
    row: Row = {"data": data, "split": number, "method": method}
    split = make_split(data, number)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a search did not reach is in the table
            start = time.perf_counter()
            fitted = METHODS[method](split)
            seconds = time.perf_counter() - start
        return row | scores(fitted, split.y_test) | {"seconds": fitted.seconds or seconds}
    except Exception as error:  # a rival that fails is a line of the table, not the end of a run of hours
        reason = str(error) if isinstance(error, UnsuitableError) else f"{type(error).__name__}: {error}"
        return row | {"failure": reason}


def scores(fitted: Fitted, y: np.ndarray) -> Row:
    """The figures of one fit, as JSON can hold them."""
    return {
        "accuracy": float(accuracy_score(y, fitted.probability > 0.5)),
        "log_loss": float(log_loss(y, np.clip(fitted.probability, CLIP, 1 - CLIP))),
        "features": int(fitted.features),
        "gap": fitted.gap,
        "status": fitted.status,
        "chosen": {key: value.item() if hasattr(value, "item") else value for key, value in fitted.chosen.items()},
    }


def warm_up(methods: Iterable[str]) -> None:
    """Import and compile before anything is timed, for dense and for sparse data."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 30))
    y = (X[:, :3].sum(axis=1) + rng.standard_normal(80) > 0).astype(np.int64)
    for form in (np.asarray, sparse.csr_array):
        split = Split(form(X[:60]), y[:60], form(X[60:]), y[60:])
        for name in methods:
            if not name.startswith("fasterrisk"):  # a new process each time
                with warnings.catch_warnings(), suppress(Exception):  # what cannot run says so when it is measured
                    warnings.simplefilter("ignore")
                    METHODS[name](split)
